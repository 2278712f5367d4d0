#include "mixstream/solving/task.hpp"

#include "mixstream/solving/labels.hpp"
#include "mixstream/verdict/words.hpp"

namespace mixstream::solving {
namespace {

constexpr std::uint32_t every_bin = (1U << bin_count) - 1;

double refused_share(const MomentState& state, std::uint64_t refused_before) {
  std::uint64_t refused = refused_before;
  for (std::size_t v = 1; v < state_fault_count; ++v) refused += state.row_counts()[v];
  const auto all = static_cast<double>(refused + state.row_count());
  return all > 0.0 ? static_cast<double>(refused) / all : 0.0;
}

}  // namespace

Task::Task(const MomentState& from, const SolveSettings& how, const SolveMemory& memory)
    : state(from),
      settings(how),
      last(memory.last),
      polish(memory.polish),
      paper(memory.paper),
      layout(from.settings().layout),
      tensor(from.moments()),
      sample(from.sample()) {
  solution.sample = to_pilot(sample.rows, layout, tensor.pilot());
  if (polish != nullptr && polish->holds_raw_rows()) {
    young_modes = *polish->modes();
    young_modes->take_pilot(layout, tensor.pilot());
  }
  solution.bins = every_bin;
  evidence.tolerance = how.tolerance;
  evidence.refused_share = refused_share(from, memory.refused_rows);
}

double Task::pilot_noise() const {
  const double scale = tensor.pilot().scale.back();
  return settings.noise_variance.value_or(1.0) / (scale * scale);
}

SpectralSettings Task::spectral_settings() const {
  SpectralSettings spectral;
  spectral.noise_variance = settings.noise_variance;
  spectral.noise_third = settings.noise_third;
  spectral.second_penalty = settings.second_penalty;
  spectral.third_penalty = settings.third_penalty;
  spectral.objective = settings.objective;
  spectral.penalty = settings.penalty;
  spectral.allow_singular = settings.allow_singular;
  spectral.feature_names = settings.feature_names;
  spectral.seed = settings.seed;
  return spectral;
}

ModeShape Task::shape() const {
  const ModeDriver* driver = modes();
  const bool chosen = driver != nullptr && driver->settings().choice.any() && driver->is_in_use();
  return chosen ? driver->settings().shape : shape_of(settings, layout);
}

bool Task::follows_modes() const {
  return (modes() != nullptr && modes()->is_in_use()) || !shape_of(settings, layout).is_plain();
}

void Task::refuse(const Refusal& refusal) {
  report().status =
      refusal.reason == Reason::too_few_rows ? FitStatus::too_few_rows : FitStatus::not_identifiable;
  report().words = refusal.text;
}

std::vector<Mixture> spectral_starts(Task& task) {
  Outcome<SpectralFit> fit = rank_start(task.tensor, static_cast<int>(task.settings.component_count),
                                        task.spectral_settings(), task.workspace);
  if (!fit) return {};
  task.report().spectral = std::make_shared<const SpectralFit>(fit.value());
  Mixture start = task.in_pilot(fit.value().mixture);
  if (task.settings.noise == NoiseModel::known) std::ranges::fill(start.noise_variances, task.pilot_noise());
  return {std::move(start)};
}

void take(Task& task, const Mixture& mixture, const MixtureErrors* errors) {
  take(task, mixture, errors, labels_for(mixture, errors, task.last));
}

void take(Task& task, const Mixture& mixture, const MixtureErrors* errors,
          std::span<const std::size_t> order) {
  task.solution.mixture = relabelled(mixture, order);
  const std::size_t d = mixture.feature_count;
  task.report().components.clear();
  for (const std::size_t h : order) {
    ComponentReport component;
    component.weight = mixture.weights[h];
    component.coefficients.assign(mixture.law(h).begin(), mixture.law(h).end());
    component.noise_variance = mixture.noise_variances[h];
    if (errors != nullptr) {
      component.weight_error = errors->weights[h];
      const double* first = errors->coefficients.data() + h * d;
      component.coefficient_errors.assign(first, first + d);
      if (task.settings.noise != NoiseModel::known)
        component.noise_variance_error = errors->noise_variances[h];
    }
    task.report().components.push_back(std::move(component));
  }
}

namespace {

/// The law that may not be there. Errors of a chain's weights know how seldom modes change: there visits
/// count, not weights.
void find_faintest(const Report& report, Evidence& evidence) {
  const bool persistent = report.modes && report.modes->kind == Modes::persistent;
  if (persistent || report.components.size() < 2) return;
  const auto certain = [](double weight, double error) { return weight - limits::weight_errors * error; };
  for (const ComponentReport& component : report.components) {
    const double error = component.weight_error.value_or(0.0);
    if (certain(component.weight, error) >= certain(evidence.least_weight, evidence.least_weight_error))
      continue;
    evidence.least_weight = component.weight;
    evidence.least_weight_error = error;
  }
}

void describe_model(Task& task) {
  const ModeShape& shape = task.solution.shape;
  ModelReport model{shape.modes, shape.noise, shape.noise_shape};
  if (const ModeDriver* modes = task.modes(); modes != nullptr && modes->settings().choice.any()) {
    model.chosen = modes->chosen();
    model.by_held_rows = model.chosen.empty() && !(shape == shape_of(task.settings, task.layout));
  }
  task.report().model = std::move(model);
}

}  // namespace

void conclude(Task& task) {
  Evidence& evidence = task.evidence;
  look_for_doubts(task);
  evidence.component_count = task.report().components.size();
  evidence.count_chosen = !task.report().candidates.empty();
  find_faintest(task.report(), evidence);
  describe_model(task);
  task.report().tolerance = evidence.tolerance;
  task.report().misfit = misfit_of(evidence);
  pass_judgement(task);
}

void pass_judgement(Task& task) {
  const Judgement judgement = judge(task.evidence);
  task.report().status = judgement.status;
  task.report().findings = judgement.findings;
  task.report().words = words_of(judgement, task.evidence);
}

}  // namespace mixstream::solving
