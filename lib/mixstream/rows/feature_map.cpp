#include "mixstream/rows/feature_map.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace mixstream {
namespace {

constexpr int largest_power = 32;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

/// A column's name as the parser reads it: odd names between backquotes.
std::string spelled(const std::string& name) {
  const bool plain =
      std::ranges::all_of(name, is_name_character) && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  return plain ? name : "`" + name + "`";
}

std::string joined(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += (result.empty() ? "" : ", ") + name;
  return result;
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known) {
  std::string best;
  // Some letter must agree: no one-letter name is like another.
  std::size_t best_distance = std::min(std::max<std::size_t>(2, wanted.size() / 3) + 1, wanted.size());
  for (const std::string& name : known) {
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j <= name.size(); ++j) {
        const std::size_t change = diagonal + (wanted[i - 1] == name[j - 1] ? 0 : 1);
        diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = name;
    }
  }
  return best;
}

/// Reads one character after the other; every refusal says where in the text it stands.
class FeatureMapParser {
 public:
  FeatureMapParser(std::string_view text, const std::vector<std::string>* columns)
      : text_(text), known_(columns) {
    if (columns != nullptr) map_.columns_ = *columns;
  }

  Outcome<FeatureMap> parse() {
    if (text_.find_first_not_of(" \t") == std::string_view::npos) return refuse("the feature map is empty");
    do {
      if (Verdict verdict = parse_feature(); !verdict) return verdict.refusal();
    } while (accept(','));
    if (!at_end()) return refuse("unexpected " + quoted(text_.substr(at_, 1)));
    return std::move(map_);
  }

 private:
  Verdict parse_feature() {
    std::vector<FeatureMap::Factor> factors;
    do {
      if (Verdict verdict = parse_factor(factors); !verdict) return verdict;
    } while (accept('*'));
    std::ranges::sort(factors, {}, &FeatureMap::Factor::column);
    std::string name = name_of(factors);
    if (std::ranges::find(map_.names_, name) != map_.names_.end())
      return refuse("the feature " + quoted(name) + " stands twice");
    if (factors.empty()) map_.constant_feature_ = static_cast<int>(map_.names_.size());
    map_.names_.push_back(std::move(name));
    map_.factors_.insert(map_.factors_.end(), factors.begin(), factors.end());
    map_.ends_.push_back(map_.factors_.size());
    return std::monostate{};
  }

  /// "1", a name, or a name with ^power; equal names in one product add their powers.
  Verdict parse_factor(std::vector<FeatureMap::Factor>& factors) {
    skip_blanks();
    const bool backquoted = at_ < text_.size() && text_[at_] == '`';
    const std::string name = backquoted ? take_backquoted() : take_name();
    if (name.empty()) return refuse("a column name or 1 is expected");
    if (name == "1" && !backquoted) return std::monostate{};
    if (!backquoted && std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
      return refuse(quoted(name) +
                    " is not a feature: the constant is written 1, and names begin with a letter");
    }
    Outcome<std::size_t> column = column_of(name);
    if (!column) return column.refusal();
    int power = 1;
    if (accept('^')) {
      power = take_power();
      if (power < 1) return refuse("a power is a whole number from 1 to " + std::to_string(largest_power));
    }
    const auto same = std::ranges::find(factors, column.value(), &FeatureMap::Factor::column);
    if (same == factors.end()) {
      factors.push_back({column.value(), power});
    } else {
      same->power += power;
      if (same->power > largest_power) return refuse("a power is at most " + std::to_string(largest_power));
    }
    return std::monostate{};
  }

  Outcome<std::size_t> column_of(const std::string& name) {
    const auto found = std::ranges::find(map_.columns_, name);
    if (found != map_.columns_.end()) return static_cast<std::size_t>(found - map_.columns_.begin());
    if (known_ == nullptr) {
      map_.columns_.push_back(name);
      return map_.columns_.size() - 1;
    }
    const std::string near = nearest_name(name, *known_);
    return refuse("there is no column " + quoted(name) +
                  (near.empty() ? "" : "; did you mean " + quoted(near) + "?") +
                  " (columns: " + joined(*known_) + ")");
  }

  std::string name_of(const std::vector<FeatureMap::Factor>& factors) const {
    std::string name;
    for (const auto& [column, power] : factors) {
      name += (name.empty() ? "" : "*") + spelled(map_.columns_[column]);
      if (power > 1) name += "^" + std::to_string(power);
    }
    return name.empty() ? "1" : name;
  }

  std::string take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// Column names with other characters stand between backquotes.
  std::string take_backquoted() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) return "";
    std::string name(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return name;
  }

  int take_power() {
    skip_blanks();
    int power = 0;
    std::size_t digits = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_, ++digits) {
      power = std::min(power * 10 + (text_[at_] - '0'), largest_power + 1);
    }
    return digits == 0 || power > largest_power ? 0 : power;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  Refusal refuse(const std::string& what) const {
    return {Reason::bad_feature_map,
            "feature map " + quoted(text_) + ", character " + std::to_string(at_ + 1) + ": " + what};
  }

  std::string_view text_;
  const std::vector<std::string>* known_;
  std::size_t at_ = 0;
  FeatureMap map_;
};

Outcome<FeatureMap> FeatureMap::parse(std::string_view text) {
  return FeatureMapParser(text, nullptr).parse();
}

Outcome<FeatureMap> FeatureMap::parse(std::string_view text, const std::vector<std::string>& columns) {
  return FeatureMapParser(text, &columns).parse();
}

Outcome<FeatureMap> FeatureMap::plain(const std::vector<std::string>& columns) {
  std::string text = "1";
  for (const std::string& column : columns) text += ",`" + column + "`";
  return parse(text, columns);
}

std::string FeatureMap::text() const {
  std::string result;
  for (const std::string& name : names_) result += (result.empty() ? "" : ",") + name;
  return result;
}

void FeatureMap::evaluate(std::span<const double> values, std::span<double> features) const noexcept {
  std::size_t factor = 0;
  for (std::size_t feature = 0; feature < names_.size(); ++feature) {
    double product = 1.0;
    for (; factor < ends_[feature]; ++factor) {
      double base = values[factors_[factor].column];
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

}  // namespace mixstream
