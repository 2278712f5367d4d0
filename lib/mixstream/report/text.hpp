// The report as a readable table for a terminal.
#pragma once

#include <string>

#include "mixstream/report/report.hpp"

namespace mixstream {

struct TextSettings {
  bool colour = false;    ///< ANSI colours for the verdict and the headings
  bool explain = false;   ///< how the fit came about: stage, J, what is identified
  std::size_t width = 0;  ///< characters of a line: laws that do not fit stand below each other; 0: any
};

/// Several lines, each ended by a newline: a sentence for each law, laws with standard errors, noise, verdict
/// in words, what was refused.
std::string to_text(const Report& report, const TextSettings& settings = {});

}  // namespace mixstream
