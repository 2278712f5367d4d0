// Refused rows in words, and which of them end the run.
#pragma once

#include <map>
#include <string>

#include "fit_session.hpp"

namespace mixstream {

struct RefusalPolicy {
  bool strict = false;            ///< any refused row ends the run
  bool missing_is_error = false;  ///< a missing value does
};

struct RefusedWords {
  RowPlace place;
  std::string words;     ///< without the place
  bool fatal = false;    ///< the run ends here
  bool missing = false;  ///< a missing value that is skipped: counted, not told
  std::string cause{};   ///< what rows refused for the same reason share: a name, and perhaps a column
  std::string remedy{};  ///< what to do about it, as the end of a sentence; empty: nothing in particular
};

/// Refused rows by cause.
class RefusalCauses {
 public:
  void add(const RefusedWords& refused);
  std::uint64_t rows() const noexcept { return rows_; }  ///< refused, in all
  std::uint64_t told() const noexcept { return told_; }  ///< but those with a missing value
  /// The cause of most rows, with the first remedy for it: 'column "x" is not a number in 12 of 12 refused
  /// rows: say --decimal ,'.
  std::string words() const;
  const std::string& remedy() const;  ///< of that cause

 private:
  struct Cause {
    std::uint64_t rows = 0;
    RefusedWords first;
  };
  const Cause* most() const;

  std::map<std::string, Cause> causes_;
  std::uint64_t rows_ = 0;
  std::uint64_t told_ = 0;
};

/// "line 7: ..."; in a range the line number is looked up in the file.
std::string with_place(const RefusedWords& refused, const std::string& path);

/// Turns every way in which a row can be refused into words.
class RefusalListener : public SessionListener {
 public:
  explicit RefusalListener(RefusalPolicy policy) : policy_(policy) {}

  bool refused(const RefusedRow& row) final;
  bool refused(RowFault fault, const RowPlace& place) final;
  bool refused_group(std::string_view group, const RowPlace& place) final;
  bool refused_feature(std::string words, const RowPlace& place, bool expected) final;

 protected:
  virtual void tell(const RefusedWords& refused) = 0;

 private:
  bool judge(RefusedWords refused);

  RefusalPolicy policy_;
};

}  // namespace mixstream
