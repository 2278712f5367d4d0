// Which signs speak against a fit, as a study prints them: "J, standard errors".
#pragma once

#include <string>

#include "mixstream/verdict/judge.hpp"

inline std::string text_of(const mixstream::Complaints& complaints) {
  std::string text;
  const auto add = [&](bool bad, const char* name) {
    if (bad) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(complaints.distance, "J");
  add(complaints.standard_errors, "standard errors");
  add(complaints.likelihood, "sample likelihood");
  add(complaints.noise, "noise of each law's own");
  add(complaints.count, "one law more");
  add(complaints.search, "not met again");
  return text;
}
