// Part two of the benchmark `pipe`: whole programs on the same bytes through a real pipe.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

/// Compares `mixstream fit` on CSV rows of four features with wc -l, fast_float parsing alone, awk and R, in
/// turns; then the fast ones on ten times the rows, which shows what a row costs beside the fits at 5000 rows
/// and each doubling; then its memory over ever more rows, up to 1e8 of them in the long mode. False when a
/// run failed.
bool compare_pipes(const std::string& tool, const std::string& self, std::size_t rows, bool in_full);

/// The rival: parses CSV from standard input with fast_float and sums the columns.
int parse_standard_input();

}  // namespace bench
