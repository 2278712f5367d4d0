// Which columns a fit takes, where the words leave it open, and why not the others.
#pragma once

#include <string>
#include <vector>

#include "input/input.hpp"
#include "input/survey.hpp"
#include "mixstream/rows/feature_map.hpp"

namespace mixstream {

struct WantedColumns {
  std::string response;             ///< empty: the last column of numbers
  std::string features;             ///< empty: 1 and every other column of numbers
  std::vector<std::string> others;  ///< weight, time, group: they are no features
};

struct ColumnChoice {
  FeatureMap map;  ///< over the columns in use
  std::string response;
  std::vector<std::string> notes;  ///< what was taken and left out, in sentences
};

/// Reads ahead as far as the choice needs: nothing where the words name all columns and these hold numbers,
/// else some rows, which stay to be read.
Outcome<ColumnChoice> choose_columns(Input& input, const WantedColumns& wanted, const NumberRules& rules);

/// The column that looks like the response: the one called y, target or response, or the last one of numbers
/// that is neither a code nor a part of a date.
std::string likely_response(const std::vector<ColumnSurvey>& columns, const std::vector<std::string>& others);

/// 1 and the first columns, as many as a call to copy should have.
std::string proposed_features(const std::vector<std::string>& columns);

/// A name as the shell and the feature map take it.
std::string as_word(const std::string& name);

}  // namespace mixstream
