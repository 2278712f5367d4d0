// Which record is being folded, in a page that outlives the process: one that ends it again and again is
// found out.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace mixstream {

/// One thread at a time. Costs no call to the system: the page is the file's own (a crash of the machine may
/// lose it, and that crash was not the record's fault). Where it cannot be had, nothing is marked.
class FoldMarker {
 public:
  static constexpr std::uint64_t most_attempts = 3;

  /// Reads what the last process left in `folder`/folding. A record that ended most_attempts of them is
  /// remembered in `folder`/quarantine.
  explicit FoldMarker(const std::string& folder);
  ~FoldMarker();
  FoldMarker(const FoldMarker&) = delete;
  FoldMarker& operator=(const FoldMarker&) = delete;

  void begin(std::uint64_t record) noexcept;
  void end() noexcept;
  bool is_quarantined(std::uint64_t record) const { return quarantined_.contains(record); }

 private:
  struct Page {
    std::uint64_t record;    // plus one; 0: none
    std::uint64_t attempts;  // processes that ended while they folded it, this one included
    std::uint64_t last;      // the record that `attempts` is of, plus one
  };
  void judge(const std::string& list);

  volatile Page* page_ = nullptr;
  std::set<std::uint64_t> quarantined_;
};

}  // namespace mixstream
