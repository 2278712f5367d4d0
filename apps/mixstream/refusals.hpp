// Refused rows in words, and which of them end the run.
#pragma once

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
};

/// "line 7: ..."; in a range the line number is looked up in the file.
std::string with_place(const RefusedWords& refused, const std::string& path);

/// Turns every way in which a row can be refused into words.
class RefusalListener : public SessionListener {
 public:
  explicit RefusalListener(RefusalPolicy policy) : policy_(policy) {}

  bool refused(const RefusedRow& row) final;
  bool refused(RowVerdict verdict, const RowPlace& place) final;
  bool refused_group(std::string_view group, const RowPlace& place) final;

 protected:
  virtual void tell(const RefusedWords& refused) = 0;

 private:
  bool judge(RefusedWords refused);

  RefusalPolicy policy_;
};

}  // namespace mixstream
