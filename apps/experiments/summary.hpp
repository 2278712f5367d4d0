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

/// For each column its errors over instances and attempts: {count, refused, wrong, mean, sd, median}, and for
/// our own stages the median of error / MLE error and what the verdict said: {ratio, not_ok, wrong_as_ok,
/// uncovered_as_ok}.
Json summary_of(const std::vector<Json>& cells);

/// "mean ± sd; median; wrong/count" of a column of a summary.
std::string text_of(const Json& column);

/// "2.45 ± 3.68", with as many digits as a reader needs.
std::string plus_minus(double mean, double deviation);

/// A Markdown table: what the commands print is what the docs hold.
std::string markdown(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

}  // namespace experiments
