// The states of many groups in one file: an index of names, then one state behind the other.
#pragma once

#include <map>
#include <span>
#include <string>

#include "mixstream/moments/bytes.hpp"
#include "mixstream/outcome.hpp"

namespace mixstream {

struct GroupFile {
  std::string column;                   ///< whose values are the groups
  std::map<std::string, Bytes> states;  ///< by group, each as Estimator::encode wrote it

  Bytes encode() const;
  /// Refuses bytes that encode() did not make; the states are judged when they are decoded.
  static Outcome<GroupFile> decode(std::span<const std::byte> bytes);
};

/// Whether a file's bytes are those of groups; else they are one state. No throw.
bool holds_groups(std::span<const std::byte> bytes) noexcept;

}  // namespace mixstream
