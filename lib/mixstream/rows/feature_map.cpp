#include "mixstream/rows/feature_map.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "mixstream/rows/feature_spelling.hpp"

namespace mixstream {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

double power_of(double base, int power) noexcept {
  double product = 1.0;
  for (; power > 0; power >>= 1) {  // by squaring
    if ((power & 1) != 0) product *= base;
    base *= base;
  }
  return product;
}

char lower(char c) noexcept {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t change = diagonal + (lower(one[i - 1]) == lower(other[j - 1]) ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known) {
  std::string best;
  // Some letter must agree: no one-letter name is like another.
  std::size_t best_distance = std::min(std::max<std::size_t>(2, wanted.size() / 3) + 1, wanted.size());
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(wanted.substr(0, 60), std::string_view(name).substr(0, 60));
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = name;
  }
  if (!best.empty() || wanted.empty()) return best;
  const auto begins = [&](const std::string& name) {  // "Flow" of "Flow (m3/h)"
    return name.size() > wanted.size() &&
           std::ranges::equal(wanted, std::string_view(name).substr(0, wanted.size()), {}, lower, lower) &&
           !is_name_character(name[wanted.size()]);
  };
  const auto found = std::ranges::find_if(known, begins);
  return found == known.end() ? "" : *found;
}

Outcome<FeatureMap> FeatureMap::plain(const std::vector<std::string>& columns) {
  std::string text = "1";
  for (const std::string& column : columns) text += "," + backquoted(column);
  return parse(text, columns);
}

std::string FeatureMap::text() const {
  std::string result;
  for (std::size_t feature = 0; feature < names_.size();) {
    const auto category = category_text_.find(feature);
    result += (result.empty() ? "" : ",");
    result += category == category_text_.end() ? names_[feature] : category->second;
    feature += category == category_text_.end() ? 1 : category_size_.at(feature);
  }
  return result;
}

bool FeatureMap::uses(std::size_t column) const noexcept {
  return std::ranges::find(factors_, column, &Factor::input) != factors_.end();
}

std::vector<std::string> FeatureMap::text_columns() const {
  std::vector<std::string> names;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (is_text(column)) names.push_back(columns_[column]);
  }
  return names;
}

double FeatureMap::code_of(std::size_t column, std::string_view text) const noexcept {
  const std::vector<std::string>& texts = texts_[column];
  return static_cast<double>(std::ranges::find(texts, text) - texts.begin());
}

int FeatureMap::evaluate(std::span<const double> values, std::span<double> features) const noexcept {
  if (products_) {
    evaluate_products(values, features);
    return -1;
  }
  int fault = -1;
  std::size_t factor = 0;
  for (std::size_t feature = 0; feature < names_.size(); ++feature) {
    double product = 1.0;
    for (; factor < ends_[feature]; ++factor) {
      const double value = power_of(value_of(factors_[factor], values), std::abs(factors_[factor].power));
      product = factors_[factor].power > 0 ? product * value : value == 0.0 ? no_value : product / value;
    }
    features[feature] = product;
    if (fault < 0 && std::isnan(product)) fault = static_cast<int>(feature);
  }
  return fault;
}

void FeatureMap::evaluate_products(std::span<const double> values,
                                   std::span<double> features) const noexcept {
  std::size_t factor = 0;
  for (std::size_t feature = 0; feature < names_.size(); ++feature) {
    double product = 1.0;
    for (; factor < ends_[feature]; ++factor) {
      double base = values[factors_[factor].input];
      if (factors_[factor].power == 1) {
        product *= base;
        continue;
      }
      for (int power = factors_[factor].power; power > 0; power >>= 1) {  // by squaring
        if ((power & 1) != 0) product *= base;
        base *= base;
      }
    }
    features[feature] = product;
  }
}

double FeatureMap::argument(const Factor& factor, std::span<const double> values) const noexcept {
  const double value = values[factor.input];
  return (factor.minus ? -value : value) + factor.shift;
}

double FeatureMap::value_of(const Factor& factor, std::span<const double> values) const noexcept {
  const double x = argument(factor, values);
  switch (factor.function) {
    case Function::column:
      return x;
    case Function::log:
      return x > 0.0 ? std::log(x) : no_value;
    case Function::sqrt:
      return x >= 0.0 ? std::sqrt(x) : no_value;
    case Function::max:
      return std::isnan(x) ? x : std::max(x, factor.bound);
    case Function::equals:
      return x == factor.bound ? 1.0 : 0.0;
    case Function::level:  // a text that is none of them has the code behind the last
      if (x >= static_cast<double>(texts_[factor.input].size())) return no_value;
      return x == factor.bound ? 1.0 : 0.0;
  }
  return no_value;
}

std::string FeatureMap::fault_words(int feature, std::span<const double> values) const {
  const auto index = static_cast<std::size_t>(feature);
  const FeatureSpelling spelling(*this);
  for (std::size_t i = index == 0 ? 0 : ends_[index - 1]; i < ends_[index]; ++i) {
    const Factor& factor = factors_[i];
    const double value = value_of(factor, values);
    const bool zero_below = factor.power < 0 && value == 0.0;
    if (!std::isnan(value) && !zero_below) continue;
    const std::string argument = spelling.argument(factor);
    const std::string is = argument + " is " + FeatureSpelling::number(this->argument(factor, values));
    if (zero_below) return names_[index] + ": " + argument + " is 0, and nothing is divided by it";
    if (factor.function == Function::level)
      return names_[index] + ": a value that " + columns_[factor.input] +
             " did not have where its values were looked at; write the indicators that you want, such as " +
             names_[index];
    if (factor.function == Function::log)
      return names_[index] + ": " + is + ", and only positive numbers have a log";
    if (factor.function == Function::sqrt)
      return names_[index] + ": " + is + ", and negative numbers have no square root";
    return names_[index] + ": there is no row so far back";
  }
  return names_[index] + " has no value";
}

LagMemory::LagMemory(const FeatureMap& map) : lags_(map.lags()), columns_(map.columns().size()) {
  std::size_t size = 0;
  for (const FeatureMap::Lag& lag : lags_) {
    begins_.push_back(size);
    size += lag.steps;
  }
  values_.assign(size, no_value);
}

bool LagMemory::fill(std::span<double> values) noexcept {
  bool there = true;
  for (std::size_t i = 0; i < lags_.size(); ++i) {
    double& held = values_[begins_[i] + rows_ % lags_[i].steps];  // the oldest one
    values[columns_ + i] = std::exchange(held, values[lags_[i].column]);
    there = there && !std::isnan(values[columns_ + i]);
  }
  ++rows_;
  return there;
}

void LagMemory::gap() noexcept {
  for (std::size_t i = 0; i < lags_.size(); ++i) values_[begins_[i] + rows_ % lags_[i].steps] = no_value;
  ++rows_;
}

void LagMemory::clear() noexcept {
  std::ranges::fill(values_, no_value);
  rows_ = 0;
}

}  // namespace mixstream
