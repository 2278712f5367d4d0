// Which groups share their laws, and which stand out.
#pragma once

#include <string>
#include <vector>

#include "mixstream/report/report.hpp"

namespace mixstream {

/// Sentences about the fits of groups. Two groups share laws where no coefficient, matched law by law,
/// differs by more than its errors explain: a chi-square of the differences within 1 in 1,000, errors taken
/// as normal. Groups that are not ok are counted, not compared. Empty for fewer than two.
std::vector<std::string> summary_of_groups(const std::vector<Report>& reports);

/// Of a report what summary_of_groups reads, so that nobody holds those of ten thousand groups.
Report laws_of(const Report& report);

}  // namespace mixstream
