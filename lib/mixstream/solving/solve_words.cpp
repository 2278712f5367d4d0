#include "mixstream/solving/solve_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "mixstream/core/noise_words.hpp"

namespace mixstream {
namespace {

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

}  // namespace

Done SolveWords::check_words() const {
  const auto one_of = [this](const std::optional<std::string>& word, std::string_view name,
                             std::initializer_list<std::string_view> known) -> Done {
    if (!word || std::ranges::find(known, *word) != known.end()) return std::monostate{};
    std::string list;
    for (const std::string_view one : known) list += (list.empty() ? "" : ", ") + std::string(one);
    return refuse(named(name) + " takes one of " + list + "; not '" + *word + "'");
  };
  const Done words[] = {one_of(method, "method", {"default", "paper", "em"}),
                        one_of(modes, "modes", {"auto", "independent", "persistent", "gated"}),
                        one_of(objective, "objective", {"printed", "published"}),
                        one_of(lambda, "lambda", {"given", "theory"}),
                        one_of(polish, "polish", {"scoring", "stepwise-em", "off"}),
                        one_of(guard, "guard", {"auto", "off"})};
  for (const Done& done : words) {
    if (!done) return done;
  }
  return std::monostate{};
}

Done SolveWords::read_components(SolveSettings& solve) const {
  if (!components) return std::monostate{};
  if (*components == "auto") {
    solve.component_count = 0;
    return std::monostate{};
  }
  const char* end = components->data() + components->size();
  const auto [at, error] = std::from_chars(components->data(), end, solve.component_count);
  const bool sound = error == std::errc() && at == end && solve.component_count >= 1;
  if (sound && solve.component_count <= 32) return std::monostate{};
  return refuse(dashes.substr(0, 1) + "k takes a whole number from 1 to 32, or auto; not '" + *components +
                "'");
}

Done SolveWords::read_noise(SolveSettings& solve) const {
  if (noise) {
    const Outcome<Noise> words = parse_noise(*noise);
    if (!words) return refuse(named("noise ") + words.refusal().text);
    solve.noise = words.value().model;
    solve.noise_shape = words.value().shape;
    solve.noise_variance.reset();
    solve.choice.noise = words.value().chosen_by_rows;
  }
  if (!noise_variance) return std::monostate{};
  if (solve.noise == NoiseModel::per_component)
    return refuse(named("noise-variance and ") + named("noise per-component contradict each other"));
  if (!std::isfinite(*noise_variance)) return refuse(named("noise-variance must be finite"));
  solve.noise = NoiseModel::known;
  solve.noise_variance = noise_variance;
  return std::monostate{};
}

Outcome<SolveSettings> SolveWords::settings(const SolveSettings& base) const {
  static const std::map<std::string, FitMethod> methods{
      {"default", FitMethod::standard}, {"paper", FitMethod::paper}, {"em", FitMethod::em}};
  SolveSettings solve = base;
  if (const Done done = check_words(); !done) return done.refusal();
  if (const Done done = read_components(solve); !done) return done.refusal();
  if (const Done done = read_noise(solve); !done) return done.refusal();
  if (method) solve.method = methods.at(*method);
  for (const Modes kind : {Modes::independent, Modes::persistent, Modes::gated}) {
    if (modes != name_of(kind)) continue;
    solve.modes = kind;
    solve.choice.modes = false;
  }
  if (modes == "auto") {
    solve.modes = Modes::independent;
    solve.choice.modes = true;
  }
  if (solve.modes != Modes::gated) solve.gate.clear();
  if (gate && solve.modes != Modes::gated) return refuse(named("gate goes with ") + named("modes gated"));
  solve.noise_third = noise_third.value_or(base.noise_third);
  solve.second_penalty = lambda2.value_or(base.second_penalty);
  solve.third_penalty = lambda3.value_or(base.third_penalty);
  if (objective)
    solve.objective = *objective == "published" ? PaperObjective::published : PaperObjective::printed;
  if (lambda) solve.penalty = *lambda == "theory" ? PaperPenalty::theory : PaperPenalty::given;
  solve.allow_singular = allow_singular || base.allow_singular;
  for (const PolishKind kind : {PolishKind::off, PolishKind::scoring, PolishKind::stepwise_em}) {
    if (polish == name_of(kind)) solve.polish = kind;
  }
  if (guard) solve.guard = *guard == "auto";
  solve.seed = seed.value_or(base.seed);
  solve.tolerance = tolerance.value_or(base.tolerance);
  return solve;
}

Done SolveWords::resolve_gate(const std::vector<std::string>& features, SolveSettings& solve) const {
  if (!gate) return std::monostate{};
  Outcome<std::vector<std::size_t>> places = parse_gate(*gate, features);
  if (!places) return refuse(named("gate ") + places.refusal().text);
  solve.gate = std::move(places).value();
  return std::monostate{};
}

}  // namespace mixstream
