#include "mixstream/doubts/terms.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace mixstream {
namespace {

/// The places of a character outside backquotes, quotes and parentheses.
std::vector<std::size_t> places_of(const std::string& text, char wanted) {
  std::vector<std::size_t> places;
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '`' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    } else if (c == wanted && depth == 0) {
      places.push_back(i);
    }
  }
  return places;
}

/// "u^3" as u and 3; false for what is no power of a column with a positive whole exponent.
bool read_power(const std::string& factor, Powers& powers) {
  const auto caret = places_of(factor, '^');
  if (caret.empty()) {
    powers[factor] += 1;
    return true;
  }
  const std::string digits = factor.substr(caret.front() + 1);
  const bool whole = !digits.empty() && digits.size() < 4 &&
                     std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (caret.size() != 1 || !whole) return false;
  powers[factor.substr(0, caret.front())] += std::stoi(digits);
  return true;
}

int degree_of(const Powers& powers) {
  int degree = 0;
  for (const auto& [column, power] : powers) degree += power;
  return degree;
}

/// Gathers terms, none twice and none that the map has.
class TermList {
 public:
  TermList(const std::vector<std::string>& features, std::size_t most) : most_(most) {
    for (const std::string& feature : features) {
      powers_.push_back(powers_of(feature));
      known_.insert(powers_.back());
    }
  }

  void add(std::vector<std::size_t> factors) {
    Powers product;
    for (const std::size_t factor : factors) {
      for (const auto& [column, power] : powers_[factor]) product[column] += power;
    }
    if (terms_.size() == most_ || !known_.insert(product).second) return;
    std::vector<std::size_t> below;
    for (std::size_t t = 0; t < products_.size(); ++t) {
      if (divides(products_[t], product)) below.push_back(t);
    }
    terms_.push_back({name_of(product), std::move(factors), std::move(below)});
    products_.push_back(std::move(product));
  }

  std::vector<Term> take() { return std::move(terms_); }

 private:
  std::size_t most_;
  std::vector<Powers> powers_;
  std::set<Powers> known_;
  std::vector<Term> terms_;
  std::vector<Powers> products_;
};

}  // namespace

Powers powers_of(const std::string& feature) {
  Powers powers;
  if (feature == "1") return powers;
  if (!places_of(feature, '/').empty()) return {{feature, 1}};
  std::vector<std::size_t> cuts = places_of(feature, '*');
  cuts.push_back(feature.size());
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    if (!read_power(feature.substr(begin, cut - begin), powers)) return {{feature, 1}};
    begin = cut + 1;
  }
  return powers;
}

std::string name_of(const Powers& powers) {
  std::string name;
  for (const auto& [column, power] : powers) {
    if (!name.empty()) name += '*';
    name += column;
    if (power != 1) name += '^' + std::to_string(power);
  }
  return name.empty() ? "1" : name;
}

bool divides(const Powers& one, const Powers& other) noexcept {
  return one != other && std::ranges::all_of(one, [&](const auto& entry) {
           const auto place = other.find(entry.first);
           return place != other.end() && place->second >= entry.second;
         });
}

std::vector<std::size_t> column_features(const std::vector<std::string>& features) {
  std::map<std::string, std::size_t> best;
  for (std::size_t f = 0; f < features.size(); ++f) {
    const Powers powers = powers_of(features[f]);
    if (powers.size() != 1) continue;
    const auto [place, is_new] = best.try_emplace(powers.begin()->first, f);
    if (!is_new && degree_of(powers) < degree_of(powers_of(features[place->second]))) place->second = f;
  }
  std::vector<std::size_t> columns;
  for (const auto& [column, feature] : best) columns.push_back(feature);
  std::ranges::sort(columns);
  return columns;
}

std::vector<Term> missing_terms(const std::vector<std::string>& features, std::size_t most) {
  const std::vector<std::size_t> columns = column_features(features);
  TermList list(features, most);
  list.add({});
  for (const std::size_t a : columns) list.add({a, a});
  for (std::size_t a = 0; a < columns.size(); ++a) {
    for (std::size_t b = a + 1; b < columns.size(); ++b) list.add({columns[a], columns[b]});
  }
  for (const std::size_t a : columns) list.add({a, a, a});
  for (std::size_t a = 0; a < columns.size(); ++a) {
    for (std::size_t b = a; b < columns.size(); ++b) {
      for (std::size_t c = b; c < columns.size(); ++c) list.add({columns[a], columns[b], columns[c]});
    }
  }
  return list.take();
}

}  // namespace mixstream
