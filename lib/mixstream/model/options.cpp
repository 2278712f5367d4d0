#include "mixstream/model/options.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/estimator/model_budget.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/feature_spelling.hpp"
#include "mixstream/solving/solve_words.hpp"

namespace mixstream {
namespace {

using Json = nlohmann::json;

/// What JSON says, before it becomes settings.
struct Read {
  SolveWords words;
  std::optional<std::string> features;            ///< a map's text
  std::optional<std::vector<std::string>> names;  ///< of features as they are
  std::optional<std::string> response;
  bool intercept = false;
  int constant = -1;
  std::optional<std::uint64_t> source;
  std::optional<std::uint64_t> model_memory;  ///< KiB
  StateSettings state;
  ChainSettings chains;
};

/// Thrown by readers of values; becomes a refusal.
struct WrongValue {
  const char* wanted;
};

std::string text_of(const Json& value) {
  if (!value.is_string()) throw WrongValue{"a text"};
  return value.get<std::string>();
}

double number_of(const Json& value) {
  if (!value.is_number()) throw WrongValue{"a number"};
  return value.get<double>();
}

std::uint64_t count_of(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  const double number = value.is_number() ? value.get<double>() : -1.0;  // 5e3 is a whole number, too
  if (!(number >= 0.0 && number < 0x1p53 &&
        number == static_cast<double>(static_cast<std::uint64_t>(number))))
    throw WrongValue{"a whole number"};
  return static_cast<std::uint64_t>(number);
}

bool flag_of(const Json& value) {
  if (!value.is_boolean()) throw WrongValue{"true or false"};
  return value.get<bool>();
}

std::vector<std::string> list_of(const Json& value) {
  if (!value.is_array()) throw WrongValue{"a list of texts"};
  std::vector<std::string> list;
  for (const Json& one : value) list.push_back(text_of(one));
  return list;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : ",") + one;
  return text;
}

void past(Read& read, Memory::Kind kind, double length) {
  read.state.memory.kind = kind;
  read.state.memory.length = length;
}

using Reader = std::function<void(Read&, const Json&)>;

/// Words of a solve: those that a saved state takes, too.
const std::map<std::string, Reader, std::less<>>& solve_readers() {
  static const std::map<std::string, Reader, std::less<>> readers{
      {"k",
       [](Read& read, const Json& value) {
         read.words.components = value.is_string() ? text_of(value) : std::to_string(count_of(value));
       }},
      {"method", [](Read& read, const Json& value) { read.words.method = text_of(value); }},
      {"noise", [](Read& read, const Json& value) { read.words.noise = text_of(value); }},
      {"modes", [](Read& read, const Json& value) { read.words.modes = text_of(value); }},
      {"gate", [](Read& read, const Json& value) { read.words.gate = joined(list_of(value)); }},
      {"noise_variance", [](Read& read, const Json& value) { read.words.noise_variance = number_of(value); }},
      {"tolerance", [](Read& read, const Json& value) { read.words.tolerance = number_of(value); }},
      {"noise_third", [](Read& read, const Json& value) { read.words.noise_third = number_of(value); }},
      {"lambda2", [](Read& read, const Json& value) { read.words.lambda2 = number_of(value); }},
      {"lambda3", [](Read& read, const Json& value) { read.words.lambda3 = number_of(value); }},
      {"objective", [](Read& read, const Json& value) { read.words.objective = text_of(value); }},
      {"lambda", [](Read& read, const Json& value) { read.words.lambda = text_of(value); }},
      {"allow_singular", [](Read& read, const Json& value) { read.words.allow_singular = flag_of(value); }},
      {"polish", [](Read& read, const Json& value) { read.words.polish = text_of(value); }},
      {"guard", [](Read& read, const Json& value) { read.words.guard = text_of(value); }},
      {"seed", [](Read& read, const Json& value) { read.words.seed = count_of(value); }},
  };
  return readers;
}

/// Words that only a new model takes.
const std::map<std::string, Reader, std::less<>>& shape_readers() {
  static const std::map<std::string, Reader, std::less<>> readers{
      {"features",
       [](Read& read, const Json& value) {
         if (value.is_string())
           read.features = text_of(value);
         else
           read.names = list_of(value);
       }},
      {"response", [](Read& read, const Json& value) { read.response = text_of(value); }},
      {"intercept", [](Read& read, const Json& value) { read.intercept = flag_of(value); }},
      {"constant",
       [](Read& read, const Json& value) { read.constant = static_cast<int>(count_of(value) & 0xffff); }},
      {"sample", [](Read& read, const Json& value) { read.state.reservoir_rows = count_of(value); }},
      {"pilot_rows", [](Read& read, const Json& value) { read.state.pilot_rows = count_of(value); }},
      {"source", [](Read& read, const Json& value) { read.source = count_of(value); }},
      {"half_life_rows",
       [](Read& read, const Json& value) { past(read, Memory::Kind::half_life_rows, number_of(value)); }},
      {"half_life_seconds",
       [](Read& read, const Json& value) { past(read, Memory::Kind::half_life_seconds, number_of(value)); }},
      {"window_rows",
       [](Read& read, const Json& value) { past(read, Memory::Kind::window_rows, number_of(value)); }},
      {"gap_seconds", [](Read& read, const Json& value) { read.chains.gap_seconds = number_of(value); }},
      {"model_memory", [](Read& read, const Json& value) { read.model_memory = count_of(value); }},
  };
  return readers;
}

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

Done read_into(Read& read, std::string_view text, bool with_shape) {
  read.words.dashes.clear();
  if (text.empty()) return std::monostate{};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return refuse("the options are no JSON object, such as {\"k\": 3}");
  for (const auto& [name, value] : json.items()) {
    if (value.is_null()) continue;  // not said
    const Reader* reader = nullptr;
    if (const auto found = solve_readers().find(name); found != solve_readers().end())
      reader = &found->second;
    if (const auto found = shape_readers().find(name); found != shape_readers().end()) {
      if (!with_shape) return refuse("\"" + name + "\" is settled when a model is made: leave it out here");
      reader = &found->second;
    }
    if (reader == nullptr) return refuse("there is no option \"" + name + "\"");
    try {
      (*reader)(read, value);
    } catch (const WrongValue& wrong) {
      return refuse("\"" + name + "\" takes " + wrong.wanted + ", not " + value.dump());
    }
  }
  return std::monostate{};
}

/// A column's name as the feature language reads it: odd ones between backquotes.
std::string spelled(std::string name) {
  std::ranges::replace(name, '`', '\'');
  const bool plain = !name.empty() && std::ranges::all_of(name, is_name_character) &&
                     std::isdigit(static_cast<unsigned char>(name[0])) == 0 && name[0] != '.';
  return plain ? name : "`" + name + "`";
}

/// The features' text: what was said, or x1, x2, ...; with the constant where it stands.
Outcome<std::string> map_text(const Read& read, std::size_t given, int constant) {
  const std::size_t count = given + (read.intercept ? 1 : 0);
  std::string text = read.features.value_or("");
  if (read.features && read.intercept) text = text.empty() ? "1" : "1," + text;
  if (read.names && read.names->size() != given)
    return refuse("\"features\" names " + std::to_string(read.names->size()) + " features, a row has " +
                  std::to_string(given));
  std::size_t next = 0;
  for (std::size_t f = 0; !read.features && f < count; ++f) {
    if (f > 0) text += ",";
    if (static_cast<int>(f) == constant) {
      text += "1";
      next += read.intercept ? 0 : 1;
      continue;
    }
    text += read.names ? spelled((*read.names)[next]) : "x" + std::to_string(next + 1);
    ++next;
  }
  const Outcome<FeatureMap> map = FeatureMap::parse(text);
  if (!map) return refuse("\"features\": " + map.refusal().text);
  if (map.value().feature_count() != count)
    return refuse("\"features\" makes " + std::to_string(map.value().feature_count()) +
                  " features, a row has " + std::to_string(count));
  if (constant >= 0 && map.value().constant_feature() != constant)
    return refuse("the constant is not where \"features\" has its 1");
  return text;
}

/// The constant's place: said, or where the names have a 1; -1: none.
int constant_of(const Read& read) {
  if (read.intercept) return 0;
  if (read.constant >= 0) return read.constant;
  if (read.names) {
    const auto found = std::ranges::find(*read.names, "1");
    return found == read.names->end() ? -1 : static_cast<int>(found - read.names->begin());
  }
  if (!read.features) return -1;
  const Outcome<FeatureMap> map = FeatureMap::parse(*read.features);
  return map ? map.value().constant_feature() : -1;
}

Done fit_into_budget(std::uint64_t kibibytes, EstimatorSettings& settings) {
  const Outcome<std::size_t> rows = sample_rows_within(settings, kibibytes << 10);
  if (!rows) return rows.refusal();
  settings.state.reservoir_rows = rows.value();
  return std::monostate{};
}

}  // namespace

Outcome<ModelOptions> read_model_options(std::size_t feature_count, std::string_view json) {
  Read read;
  if (const Done done = read_into(read, json, true); !done) return done.refusal();
  if (feature_count == 0 && !read.intercept) return refuse("a model needs at least one feature");
  ModelOptions options;
  EstimatorSettings& settings = options.estimator;
  settings.solve.choice = {true, true};
  Outcome<SolveSettings> solve = read.words.settings(settings.solve);
  if (!solve) return solve.refusal();
  settings.solve = std::move(solve).value();
  settings.state = read.state;
  settings.state.seed = settings.solve.seed;
  settings.state.response = read.response.value_or("y");
  const int constant = constant_of(read);
  if (constant >= static_cast<int>(feature_count) + (read.intercept ? 1 : 0))
    return refuse("\"constant\" is the place of a feature, from 0 on");
  settings.state.layout = {static_cast<int>(feature_count) + (read.intercept ? 1 : 0), constant};
  Outcome<std::string> text = map_text(read, feature_count, constant);
  if (!text) return text.refusal();
  settings.state.feature_map = std::move(text).value();
  const std::vector<std::string> names = FeatureMap::parse(settings.state.feature_map).value().names();
  if (const Done done = read.words.resolve_gate(names, settings.solve); !done) return done.refusal();
  settings.chains = read.chains;
  if (read.model_memory) {
    if (const Done done = fit_into_budget(*read.model_memory, settings); !done) return done.refusal();
  }
  options.source = read.source;
  options.given_features = feature_count;
  options.text = json;
  return options;
}

Outcome<SolveSettings> read_solve_options(const SolveSettings& base, const std::vector<std::string>& features,
                                          std::string_view json) {
  Read read;
  if (const Done done = read_into(read, json, false); !done) return done.refusal();
  Outcome<SolveSettings> solve = read.words.settings(base);
  if (!solve) return solve;
  if (const Done done = read.words.resolve_gate(features, solve.value()); !done) return done.refusal();
  return solve;
}

}  // namespace mixstream
