#include "mixstream/estimator.hpp"

#include <utility>

#include "mixstream/estimator/parts.hpp"

namespace mixstream {

Outcome<Estimator> Estimator::create(const EstimatorSettings& settings) {
  if (const Done done = check(settings); !done) return done.refusal();
  Outcome<MomentState> state = MomentState::create(sized_state(settings));
  if (!state) return state.refusal();
  return Estimator(Parts(settings, std::move(state).value()));
}

Estimator::Estimator(Parts parts) : parts_(std::make_unique<Parts>(std::move(parts))) {}
Estimator::Estimator(const Estimator& other) : parts_(std::make_unique<Parts>(*other.parts_)) {}
Estimator::Estimator(Estimator&&) noexcept = default;
Estimator& Estimator::operator=(Estimator&&) noexcept = default;
Estimator::~Estimator() = default;

Estimator& Estimator::operator=(const Estimator& other) {
  if (this == &other) return *this;
  if (parts_)
    *parts_ = *other.parts_;  // into the memory that is there
  else
    parts_ = std::make_unique<Parts>(*other.parts_);
  return *this;
}

RowFault Estimator::absorb(const Row& row) noexcept {
  return parts_->absorb(row);
}

RowFault Estimator::absorb(const Row& row, RowPosition position) noexcept {
  go_on_at(position);
  return parts_->absorb(row);
}

void Estimator::go_on_at(RowPosition next) noexcept {
  parts_->state_.begin_source(next.source, next.row);
}

Done Estimator::take_pilot(const Pilot& pilot) {
  return parts_->state_.set_pilot(pilot);
}

void Estimator::count_refused(std::string_view reason, std::optional<std::uint64_t> sensor) {
  parts_->count_refused(reason, sensor);
}

bool Estimator::modes(std::uint64_t sensor, std::span<double> probabilities, unsigned ahead) const noexcept {
  return parts_->modes(sensor, probabilities, ahead);
}

std::optional<double> Estimator::rows_left(std::uint64_t sensor) const noexcept {
  return parts_->rows_left(sensor);
}

bool Estimator::describe_modes(ModesNow& now) const {
  return parts_->describe_modes(now);
}

void Estimator::begin_chains() noexcept {
  if (parts_->polish_) parts_->polish_->cut();
}

std::vector<std::pair<std::string, std::uint64_t>> Estimator::refused() const {
  return parts_->refused();
}

bool Estimator::fit_is_due() const noexcept {
  return parts_->fit_is_due();
}

bool Estimator::every_is_due() const noexcept {
  return parts_->every_is_due();
}

std::uint64_t Estimator::rows_until_due() const noexcept {
  return parts_->rows_until_due();
}

Report Estimator::scheduled_fit(SolveDetail detail) {
  return parts_->scheduled_fit(detail);
}

ScheduledFit Estimator::fit_apart() {
  return parts_->fit_apart();
}

Done Estimator::take(const FitFeedback& feedback) {
  return parts_->take(feedback);
}

Report Estimator::fit(const SolveSettings& settings) const {
  return parts_->fit(settings);
}

Done Estimator::merge(const Estimator& other, MergeAs as) {
  return parts_->merge(*other.parts_, as);
}

Outcome<Estimator> Estimator::branch() const {
  Outcome<Parts> branch = parts_->branch();
  if (!branch) return branch.refusal();
  return Estimator(std::move(branch).value());
}

Done Estimator::merge_branch(const Estimator& branch) {
  return parts_->merge_branch(*branch.parts_);
}

const MomentState& Estimator::state() const noexcept {
  return parts_->state_;
}

const EstimatorSettings& Estimator::settings() const noexcept {
  return parts_->settings_;
}

const std::optional<Mixture>& Estimator::last_fit() const noexcept {
  return parts_->last_fit_;
}

std::vector<DriftEvent> Estimator::drift() const {
  return parts_->drift();
}

Bytes Estimator::encode() const {
  return parts_->encode();
}

Outcome<Estimator> Estimator::decode(std::span<const std::byte> bytes, const EstimatorSettings& settings) {
  Outcome<Parts> parts = Parts::decode(bytes, settings);
  if (!parts) return parts.refusal();
  return Estimator(std::move(parts).value());
}

}  // namespace mixstream
