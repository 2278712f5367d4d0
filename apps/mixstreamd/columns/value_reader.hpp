// One value from the bytes of a message: a number, or an object with "value" and maybe its time and number.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "column_settings.hpp"

namespace mixstream {

struct ReadValue {
  const char* fault = nullptr;  ///< why it is none, by a stable name; null: it is sound
  double value = 0.0;
  double time = 0.0;      ///< NaN: the message says none
  double sequence = 0.0;  ///< likewise
  double epoch = 0.0;     ///< likewise
};

/// One thread at a time.
class ValueReader {
 public:
  explicit ValueReader(ValueFields fields);
  ValueReader(ValueReader&& other) noexcept;
  ValueReader& operator=(ValueReader&& other) noexcept;
  ~ValueReader();

  /// No allocation after the first messages of a size.
  ReadValue read(std::span<const std::byte> payload);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace mixstream
