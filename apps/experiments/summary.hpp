// Many instances of one setting as one row of a table.
#pragma once

#include <string>
#include <vector>

#include "experiments/json.hpp"

namespace experiments {

/// The columns of every table, as named in a cell, with what they are called in print.
struct Column {
  const char* name;
  const char* title;
};
const std::vector<Column>& columns();

/// For each column its errors over attempts, and counts of instances, an instance once whatever number of
/// attempts were wrong; of EM over starts: {count, refused, wrong, mean, sd, median},
/// the median of error / MLE error, how many err by more than twice the MLE, and what the verdict said:
/// {ratio, largest_ratio, beyond_twice, not_ok, wrong_as_ok, uncovered_as_ok, beyond_twice_as_ok}. Of a
/// column that was not computed only {count: 0, refused: 0}.
Json summary_of(const std::vector<Json>& cells);

/// A number with as many digits as a reader needs; likewise a column's field, "-" where it is not there.
std::string brief(double value);
std::string brief(const Json& column, const char* field);

/// A Markdown table: what the commands print is what the docs hold.
std::string markdown(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

}  // namespace experiments
