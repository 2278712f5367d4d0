// The one parser of feature maps. Every refusal says where in the text it stands.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/feature_spelling.hpp"

namespace mixstream {
namespace {

constexpr int largest_power = 32;
// Inputs from here on are lags, until columns are known.
constexpr std::size_t lag_inputs = std::size_t{1} << 30;
constexpr std::size_t columns_listed = 20;

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < std::min(names.size(), columns_listed); ++i)
    result += (i == 0 ? "" : ", ") + spelled_column(names[i]);
  if (names.size() > columns_listed)
    result += " and " + std::to_string(names.size() - columns_listed) + " more";
  return result;
}

bool is_function(std::string_view name) {
  return name == "log" || name == "sqrt" || name == "max" || name == "lag";
}

}  // namespace

class FeatureMapParser {
 public:
  FeatureMapParser(std::string_view text, const std::vector<std::string>* columns, const ColumnLevels* levels)
      : text_(text), known_(columns), levels_(levels) {
    if (columns != nullptr) map_.columns_ = *columns;
  }

  Outcome<FeatureMap> parse() {
    if (text_.find_first_not_of(" \t") == std::string_view::npos) return refuse("the feature map is empty");
    do {
      if (Done done = parse_feature(); !done) return done.refusal();
    } while (accept(','));
    if (!at_end()) return refuse_unexpected();
    return finished();
  }

 private:
  using Factor = FeatureMap::Factor;
  using Function = FeatureMap::Function;
  using Factors = std::vector<Factor>;

  /// Inputs get their places behind the columns, and features their names.
  Outcome<FeatureMap> finished() {
    map_.texts_.resize(map_.columns_.size());
    for (Factor& factor : map_.factors_) {
      if (factor.input >= lag_inputs) factor.input += map_.columns_.size() - lag_inputs;
      const bool plain =
          factor.function == Function::column && factor.power > 0 && factor.input < map_.columns_.size();
      map_.products_ = map_.products_ && plain;
      const bool text = factor.function == Function::equals || factor.function == Function::level;
      if (!text && map_.is_text(underlying(factor.input)))
        return refuse("the column " + quoted(map_.columns_[underlying(factor.input)]) +
                      " is used as a text and as a number");
    }
    const FeatureSpelling spelling(map_);
    std::size_t begin = 0;
    for (std::size_t f = 0; f < map_.ends_.size(); ++f) {
      const std::span<Factor> factors = std::span(map_.factors_).subspan(begin, map_.ends_[f] - begin);
      begin = map_.ends_[f];
      std::string name = spelling.product(factors);
      if (std::ranges::find(map_.names_, name) != map_.names_.end())
        return refuse("the feature " + quoted(name) + " stands twice");
      if (factors.empty()) map_.constant_feature_ = static_cast<int>(f);
      map_.names_.push_back(std::move(name));
    }
    for (const auto& [first, category] : categories_)
      map_.category_text_[first] = spelling.category(category.first, category.second);
    return std::move(map_);
  }

  std::size_t underlying(std::size_t input) const {
    return input < map_.columns_.size() ? input : map_.lags_[input - map_.columns_.size()].column;
  }

  Done parse_feature() {
    Factors factors;
    bool below = false;
    do {
      const std::size_t features = map_.ends_.size();
      if (Done done = parse_factor(factors, below); !done) return done;
      if (map_.ends_.size() == features) continue;  // it was no category
      if (!factors.empty() || below || next_is('*') || next_is('/'))
        return refuse("a category stands alone: multiply by one of its indicators, such as " +
                      spelled_column(map_.columns_[categories_.back().second.first]) + "==\"" +
                      categories_.back().second.second[1] + "\"");
      return std::monostate{};
    } while (accept_product_sign(below));
    std::ranges::stable_sort(factors, {},
                             [](const Factor& factor) { return std::pair(factor.power < 0, factor.input); });
    end_feature(factors);
    return std::monostate{};
  }

  void end_feature(const Factors& factors) {
    map_.factors_.insert(map_.factors_.end(), factors.begin(), factors.end());
    map_.ends_.push_back(map_.factors_.size());
  }

  bool accept_product_sign(bool& below) {
    if (accept('*')) {
      below = false;
      return true;
    }
    return below = accept('/');
  }

  /// "1", or an atom with ^power; equal ones in one product add their powers.
  Done parse_factor(Factors& factors, bool below) {
    skip_blanks();
    if (starts_one()) {
      ++at_;
      return std::monostate{};
    }
    Factor factor;
    bool category = false;
    if (Done done = parse_atom(factor, category); !done || category) return done;
    int power = 1;
    if (accept('^')) {
      power = take_power();
      if (power < 1) return refuse("a power is a whole number from 1 to " + std::to_string(largest_power));
    }
    factor.power = below ? -power : power;
    return add(factors, factor);
  }

  Done add(Factors& factors, const Factor& factor) {
    const auto same = std::ranges::find_if(factors, [&](Factor other) {
      other.power = factor.power;
      return other == factor;
    });
    if (same == factors.end()) {
      factors.push_back(factor);
      return std::monostate{};
    }
    same->power += factor.power;
    if (std::abs(same->power) > largest_power)
      return refuse("a power is at most " + std::to_string(largest_power));
    if (same->power == 0) factors.erase(same);
    return std::monostate{};
  }

  /// The constant: a 1 that no name goes on with.
  bool starts_one() const {
    if (at_ >= text_.size() || text_[at_] != '1') return false;
    if (known_ != nullptr && verbatim_name().size() > 1) return false;
    return at_ + 1 == text_.size() || !is_name_character(text_[at_ + 1]);
  }

  /// A column, a function of one, a comparison, or a category: that one is added to the map at once.
  Done parse_atom(Factor& factor, bool& category) {
    const std::size_t begin = at_;
    if (verbatim_name().empty() && begin < text_.size() && text_[begin] != '`') {
      const std::string_view name = text_.substr(begin, name_length());
      if (is_function(name) && begin + name.size() < text_.size() && text_[begin + name.size()] == '(') {
        at_ += name.size() + 1;
        return parse_function(name, factor);
      }
    }
    Outcome<std::size_t> column = parse_column();
    if (!column) return column.refusal();
    factor.input = column.value();
    if (accept("==")) return parse_comparison(factor);
    if (accept('{')) {
      category = true;
      return parse_category(column.value());
    }
    const auto levels =
        levels_ == nullptr ? ColumnLevels::const_iterator() : levels_->find(map_.columns_[column.value()]);
    if (levels_ == nullptr || levels == levels_->end()) return std::monostate{};
    category = true;
    return add_category(column.value(), levels->second);
  }

  /// log(a), sqrt(a), max(number,a), lag(column,steps), behind its parenthesis.
  Done parse_function(std::string_view name, Factor& factor) {
    Done done = std::monostate{};
    if (name == "lag") {
      done = parse_lag(factor);
    } else if (name == "max") {
      done = parse_max(factor);
    } else {
      factor.function = name == "log" ? Function::log : Function::sqrt;
      done = parse_argument(factor);
    }
    if (!done) return done;
    if (!accept(')')) return refuse("a closing parenthesis of " + std::string(name) + " is expected");
    return std::monostate{};
  }

  Done parse_lag(Factor& factor) {
    Outcome<std::size_t> column = parse_column();
    if (!column) return column.refusal();
    if (!accept(',')) return refuse("lag takes a column and a number of rows, such as lag(flow,3)");
    skip_blanks();
    std::size_t steps = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), steps);
    if (error != std::errc() || steps < 1 || steps > FeatureMap::longest_lag)
      return refuse("a lag is a whole number of rows from 1 to " + std::to_string(FeatureMap::longest_lag));
    at_ = static_cast<std::size_t>(end - text_.data());
    const FeatureMap::Lag lag{column.value(), steps};
    const auto found = std::ranges::find(map_.lags_, lag);
    factor.input = lag_inputs + static_cast<std::size_t>(found - map_.lags_.begin());
    if (found == map_.lags_.end()) map_.lags_.push_back(lag);
    return std::monostate{};
  }

  /// max(0,t-18) or max(t-18,0).
  Done parse_max(Factor& factor) {
    factor.function = Function::max;
    const std::size_t begin = at_;
    if (take_number(factor.bound) && accept(',')) return parse_argument(factor);
    at_ = begin;
    if (Done done = parse_argument(factor); !done) return done;
    if (accept(',') && take_number(factor.bound)) return std::monostate{};
    return refuse("max takes a number and a column, such as max(0,t-18)");
  }

  /// column, column+number, column-number or number-column; the column may be lag(...).
  Done parse_argument(Factor& factor) {
    if (take_number(factor.shift)) {
      if (!accept('-')) return refuse("a number before a column is followed by a minus, such as 18-t");
      factor.minus = true;
      return parse_input(factor);
    }
    if (Done done = parse_input(factor); !done) return done;
    const bool plus = accept('+');
    const bool minus = !plus && accept('-');
    if (!plus && !minus) return std::monostate{};
    if (!take_number(factor.shift)) return refuse("a number is expected behind the sign");
    if (minus) factor.shift = -factor.shift;
    return std::monostate{};
  }

  Done parse_input(Factor& factor) {
    skip_blanks();
    if (verbatim_name().empty() && text_.substr(at_).starts_with("lag(")) {
      at_ += 4;
      return parse_function("lag", factor);
    }
    Outcome<std::size_t> column = parse_column();
    if (!column) return column.refusal();
    factor.input = column.value();
    return std::monostate{};
  }

  Done parse_comparison(Factor& factor) {
    std::string value;
    if (!take_quoted(value)) return refuse("a text between double quotes is expected behind ==");
    factor.function = Function::equals;
    factor.bound = static_cast<double>(add_text(factor.input, value));
    return std::monostate{};
  }

  /// machine{"a","b","c"}: indicators of all but the first.
  Done parse_category(std::size_t column) {
    std::vector<std::string> levels;
    do {
      std::string level;
      if (!take_quoted(level)) return refuse("a text between double quotes is expected");
      if (std::ranges::find(levels, level) != levels.end())
        return refuse("the value " + quoted(level) + " stands twice");
      levels.push_back(std::move(level));
    } while (accept(','));
    if (!accept('}')) return refuse("a closing } is expected");
    return add_category(column, levels);
  }

  Done add_category(std::size_t column, const std::vector<std::string>& levels) {
    const std::string& name = map_.columns_[column];
    if (levels.size() < 2) return refuse("the column " + quoted(name) + " has one value only: leave it out");
    if (levels.size() > FeatureMap::most_levels) {
      return refuse("the column " + quoted(name) + " has more than " +
                    std::to_string(FeatureMap::most_levels) +
                    " values: take it for --group, or write the indicators that matter, such as " +
                    spelled_column(name) + "==\"" + levels[0] + "\"");
    }
    const std::size_t first = map_.ends_.size();
    for (const std::string& level : levels) {
      Factor factor{.input = column, .function = Function::level};
      factor.bound = static_cast<double>(add_text(column, level));
      if (&level != &levels.front()) end_feature({factor});
    }
    categories_.push_back({first, {column, levels}});
    map_.category_size_[first] = levels.size() - 1;
    return std::monostate{};
  }

  /// The code of a text of the column.
  std::size_t add_text(std::size_t column, const std::string& text) {
    if (map_.texts_.size() <= column) map_.texts_.resize(column + 1);
    std::vector<std::string>& texts = map_.texts_[column];
    const auto found = std::ranges::find(texts, text);
    if (found != texts.end()) return static_cast<std::size_t>(found - texts.begin());
    texts.push_back(text);
    return texts.size() - 1;
  }

  /// A column by its name: between backquotes, as it stands in the header, or plain.
  Outcome<std::size_t> parse_column() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '`') {
      const std::string name = take_backquoted();
      if (name.empty()) return refuse("a column name between two backquotes is expected");
      return column_of(name);
    }
    if (const std::string_view name = verbatim_name(); !name.empty()) {
      if (reads_otherwise(name))
        return refuse(quoted(name) + " is a column, and could be read as a formula too: write " +
                      spelled_column(std::string(name)) +
                      " for the column, blanks around the sign for the formula");
      at_ += name.size();
      return column_of(std::string(name));
    }
    const std::string name(text_.substr(at_, name_length()));
    if (name.empty()) return refuse("a column name or 1 is expected");
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0)
      return refuse(quoted(name) +
                    " is not a feature: the constant is written 1, and names begin with a letter");
    at_ += name.size();
    return column_of(name);
  }

  /// The longest known name with odd characters that stands here as it is.
  std::string_view verbatim_name() const {
    std::string_view best;
    if (known_ == nullptr) return best;
    const std::string_view rest = text_.substr(at_);
    for (const std::string& name : *known_) {
      if (name.size() <= best.size() || !rest.starts_with(name) || spelled_column(name) == name) continue;
      const std::string_view behind = rest.substr(name.size());
      const bool ends =
          behind.empty() || std::string_view(" \t,*/^()+-={").find(behind[0]) != std::string_view::npos;
      if (ends && name != "1") best = name;
    }
    return best;
  }

  /// Whether an odd name could be a formula of another column.
  bool reads_otherwise(std::string_view name) const {
    const std::size_t length = name_length();
    const std::string_view first = text_.substr(at_, length);
    const std::size_t sign = name.find_first_not_of(" \t", length);
    if (length >= name.size() || sign == std::string_view::npos) return false;
    if (is_function(first)) return name[sign] == '(';
    const bool column = std::ranges::find(*known_, first) != known_->end();
    return (column || first == "1") && std::string_view("*/^+-=,").find(name[sign]) != std::string_view::npos;
  }

  Outcome<std::size_t> column_of(const std::string& name) {
    const auto found = std::ranges::find(map_.columns_, name);
    if (found != map_.columns_.end()) return static_cast<std::size_t>(found - map_.columns_.begin());
    if (known_ == nullptr) {
      map_.columns_.push_back(name);
      return map_.columns_.size() - 1;
    }
    const std::string first = name + ".1";
    const std::string second = name + ".2";
    if (is_known(first) && is_known(second))
      return refuse("the header has " + quoted(name) + " several times: write " + spelled_column(first) +
                    " for the first, " + spelled_column(second) + " for the second");
    const std::string near = nearest_name(name, *known_);
    return refuse("there is no column " + quoted(name) +
                  (near.empty() ? "" : "; did you mean " + quoted(spelled_column(near)) + "?") +
                  " (columns: " + listed(*known_) + ")");
  }

  bool is_known(const std::string& name) const { return std::ranges::find(*known_, name) != known_->end(); }

  std::size_t name_length() const {
    std::size_t end = at_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    return end - at_;
  }

  /// Column names with other characters stand between backquotes; empty: nothing does.
  std::string take_backquoted() {
    std::string name;
    return take_between('`', name) ? name : "";
  }

  bool take_quoted(std::string& value) {
    skip_blanks();
    return take_between('"', value);
  }

  /// A text between two of these signs, in which the sign is written twice.
  bool take_between(char sign, std::string& value) {
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] != sign) {
        value += text_[i];
      } else if (i + 1 < text_.size() && text_[i + 1] == sign) {
        value += text_[i++];
      } else {
        at_ = i + 1;
        return true;
      }
    }
    return false;
  }

  /// A number that no name goes on with; nothing is taken otherwise.
  bool take_number(double& number) {
    skip_blanks();
    const std::string_view name = verbatim_name();
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    const auto length = static_cast<std::size_t>(end - begin);
    const bool digit = length > 0 && (std::isdigit(static_cast<unsigned char>(*begin)) != 0 ||
                                      *begin == '-' || *begin == '.');
    const bool goes_on = at_ + length < text_.size() && is_name_character(text_[at_ + length]);
    if (error != std::errc() || !digit || goes_on || !std::isfinite(number) || name.size() > length) {
      number = 0.0;
      return false;
    }
    at_ += length;
    return true;
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
  bool next_is(char wanted) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == wanted;
  }
  bool accept(char wanted) {
    if (!next_is(wanted)) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view wanted) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  Refusal refuse_unexpected() const {
    return refuse("unexpected " + quoted(text_.substr(at_, 1)) +
                  " (a column whose name has other characters than letters, digits, _ and . stands between "
                  "backquotes: `Flow (m3/h)`)");
  }
  Refusal refuse(const std::string& what) const {
    return {Reason::bad_feature_map,
            "feature map " + quoted(text_) + ", character " + std::to_string(at_ + 1) + ": " + what};
  }

  using Category = std::pair<std::size_t, std::vector<std::string>>;  // column, levels

  std::string_view text_;
  const std::vector<std::string>* known_;
  const ColumnLevels* levels_;
  std::size_t at_ = 0;
  std::vector<std::pair<std::size_t, Category>> categories_;  // by the first feature
  FeatureMap map_;
};

Outcome<FeatureMap> FeatureMap::parse(std::string_view text) {
  return FeatureMapParser(text, nullptr, nullptr).parse();
}

Outcome<FeatureMap> FeatureMap::parse(std::string_view text, const std::vector<std::string>& columns,
                                      const ColumnLevels& levels) {
  return FeatureMapParser(text, &columns, &levels).parse();
}

}  // namespace mixstream
