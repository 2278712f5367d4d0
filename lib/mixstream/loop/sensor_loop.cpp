#include "mixstream/sensor_loop.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/estimator/parts.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/loop/fiber.hpp"
#include "mixstream/moments/absorb.hpp"

namespace mixstream {
namespace {

enum class Owner : std::uint8_t { solver, loop };

/// What goes to and fro. To the loop: an empty interval, and what the last refit says. To the solver: a full
/// interval, and the polish as it stood then.
struct Exchange {
  MomentState interval;
  std::optional<PolishDriver> polish;
  std::optional<PolishDriver> room;  // as large as a polish that is new, for the loop to copy it into later
  std::vector<DriftEvent> drift;
  Mixture fit;  // no components: none
  std::uint64_t next_every = 0;
  bool fit_is_new = false;
  bool polish_is_new = false;    // began or began anew: the loop's own gives way
  bool schedule_is_new = false;  // the polish was checked
};

/// Whether copying `from` into `to` will find room for everything.
bool has_room_for(const std::optional<PolishDriver>& to, const std::optional<PolishDriver>& from) noexcept {
  if (!to || !from) return false;
  if (from->modes() != nullptr)
    return to->modes() != nullptr && (from->modes()->polish() == nullptr || to->modes()->polish() != nullptr);
  if (from->polish() == nullptr) return true;
  return to->polish() != nullptr &&
         to->polish()->shape().parameters() == from->polish()->shape().parameters();
}

}  // namespace

struct SensorLoop::Core {
  RefitPolicy policy;
  bool watches;  // the policy asks for more than counts: the clock or the drift
  std::size_t stack_bytes;

  // The loop thread's.
  Estimator::Parts front;  // the interval, and the living polish
  Mixture fit;
  bool exchange_at_hand = false;
  std::uint64_t last_hand_over_rows = 0;
  double last_hand_over_time = -std::numeric_limits<double>::infinity();
  double latest_time = 0.0;
  std::uint64_t due_at_rows = 0;   // the least count at which the policy asks
  std::uint64_t look_at_rows = 0;  // the same; 0 while every row must look whether there is more to do

  // The solver thread's.
  alignas(64) Estimator whole_total;
  Estimator::Parts& total;  // its parts
  bool taken = false;       // the exchange's interval stands in the total
  std::unique_ptr<Fiber> fiber;
  std::optional<Report> fiber_report;
  std::exception_ptr fiber_failure;

  // Whoever `owner` names may touch `exchange`; a store with release hands it over, a load with acquire
  // takes it.
  alignas(64) Exchange exchange;
  alignas(64) std::atomic<Owner> owner{Owner::loop};
  std::atomic<bool> asked{false};

  Core(Estimator::Parts front_half, Estimator::Parts total_half, MomentState spare,
       const LoopSettings& settings)
      : policy(settings.policy),
        watches(policy.every_seconds > 0.0 || policy.on_drift),
        stack_bytes(settings.stack_bytes),
        front(std::move(front_half)),
        whole_total(std::move(total_half)),
        total(whole_total.parts()),
        exchange{std::move(spare), front.polish_, {}, {}, {}} {
    front.reserve_events();
    total.reserve_events();
    exchange.drift.reserve(front.drift_.capacity());
    exchange.interval.prepare_interval(total.state_);
    schedule();
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() { end_slices(); }  // for the stack of a refit holds memory

  void schedule() noexcept;
  void set_hand(bool exchange_is_at_hand) noexcept;
  [[gnu::noinline]] RowFault absorb_and_polish(const Row& row) noexcept;
  [[gnu::noinline]] RowFault end_step(const Row& row, BulkStep step) noexcept;
  [[gnu::noinline]] RowFault end_row(const Row& row, RowFault fault) noexcept;
  bool may_go_on() const noexcept;
  bool due() const noexcept;
  void receive() noexcept;
  void hand_over() noexcept;
  void exchange_rows() noexcept;
  bool try_snapshot() noexcept;
  std::optional<Report> refit();
  Report solve();
  void give_back();
  void end_slices() {
    while (fiber && fiber->running()) fiber->run(std::chrono::hours(1));
  }
};

/// To be called when the counts that the policy asks at may have changed: once a refit, not once a row.
void SensorLoop::Core::schedule() noexcept {
  due_at_rows = std::numeric_limits<std::uint64_t>::max();
  if (policy.every_rows > 0) due_at_rows = front.next_every_;
  if (policy.for_polish && front.polish_) due_at_rows = std::min(due_at_rows, front.polish_->next_check());
  set_hand(exchange_at_hand);
}

void SensorLoop::Core::set_hand(bool exchange_is_at_hand) noexcept {
  exchange_at_hand = exchange_is_at_hand;
  look_at_rows = exchange_at_hand && !watches ? due_at_rows : 0;
}

/// The short answer of nearly all rows: nothing to give, nothing to take.
inline bool SensorLoop::Core::may_go_on() const noexcept {
  return front.state_.row_count() < look_at_rows && !asked.load(std::memory_order_relaxed);
}

bool SensorLoop::Core::due() const noexcept {
  if (asked.load(std::memory_order_relaxed)) return true;
  if (front.state_.row_count() >= due_at_rows) return true;
  if (policy.every_seconds > 0.0 && latest_time >= last_hand_over_time + policy.every_seconds) return true;
  return policy.on_drift && !front.drift_.empty() && front.drift_.back().row > last_hand_over_rows;
}

/// Takes what the solver gave: the fit for classification, a polish that began, the next row counts.
void SensorLoop::Core::receive() noexcept {
  set_hand(true);
  if (exchange.fit_is_new) std::swap(fit, exchange.fit);
  if (exchange.schedule_is_new) {
    if (exchange.polish_is_new) {
      std::swap(front.polish_, exchange.polish);
      std::swap(exchange.polish, exchange.room);
    } else if (front.polish_ && exchange.polish)
      front.polish_->take_schedule(exchange.polish->schedule());
    front.next_every_ = exchange.next_every;
    schedule();
  }
  exchange.fit_is_new = exchange.polish_is_new = exchange.schedule_is_new = false;
}

/// Gives the rows away and goes on with the empty interval.
void SensorLoop::Core::hand_over() noexcept {
  exchange.interval.continue_from(front.state_);
  std::swap(exchange.interval, front.state_);
  if (has_room_for(exchange.polish, front.polish_)) exchange.polish = front.polish_;
  exchange.drift.assign(front.drift_.begin(), front.drift_.end());  // within what is reserved
  last_hand_over_rows = front.state_.row_count();
  last_hand_over_time = latest_time;
  set_hand(false);
  asked.store(false, std::memory_order_relaxed);
  owner.store(Owner::solver, std::memory_order_release);
}

/// Takes what the solver gave back, if it did, and gives rows away, if a refit is due.
void SensorLoop::Core::exchange_rows() noexcept {
  if (!exchange_at_hand) {
    if (owner.load(std::memory_order_acquire) != Owner::loop) return;
    receive();
  }
  if (due() && front.state_.pilot_is_fixed()) hand_over();
}

RowFault SensorLoop::Core::absorb_and_polish(const Row& row) noexcept {
  return end_row(row, front.absorb_and_polish(row));
}

RowFault SensorLoop::Core::end_step(const Row& row, BulkStep step) noexcept {
  return end_row(row, front.state_.end_step(row, step));
}

RowFault SensorLoop::Core::end_row(const Row& row, RowFault fault) noexcept {
  if (fault == RowFault::none) latest_time = row.time;
  if (!may_go_on()) exchange_rows();
  return fault;
}

Outcome<SensorLoop> SensorLoop::create(const LoopSettings& settings) {
  Outcome<Estimator> estimator = Estimator::create(settings.estimator);
  if (!estimator) return estimator.refusal();
  return resume(std::move(estimator).value(), settings);
}

Outcome<SensorLoop> SensorLoop::resume(Estimator estimator, const LoopSettings& settings) {
  if (!(settings.policy.every_seconds >= 0.0))
    return Refusal{Reason::bad_settings, "a refit policy cannot count backwards: seconds must be 0 or more"};
  Estimator::Parts& front = estimator.parts();
  const std::uint64_t rows = front.state_.row_count();
  front.settings_.every = settings.policy.every_rows;
  front.next_every_ = settings.policy.every_rows;
  while (settings.policy.every_rows > 0 && front.next_every_ <= rows)
    front.next_every_ += settings.policy.every_rows;
  Outcome<MomentState> nothing = MomentState::create(front.state_.settings());
  if (!nothing) return nothing.refusal();
  Estimator::Parts total = front;
  total.state_ = nothing.value();
  Mixture fit = front.last_fit_.value_or(Mixture{});
  SensorLoop loop(
      std::make_unique<Core>(std::move(front), std::move(total), std::move(nothing).value(), settings));
  loop.core_->fit = std::move(fit);
  return loop;
}

SensorLoop::SensorLoop(std::unique_ptr<Core> core) noexcept : core_(std::move(core)) {}
SensorLoop::SensorLoop(SensorLoop&&) noexcept = default;
SensorLoop& SensorLoop::operator=(SensorLoop&&) noexcept = default;
SensorLoop::~SensorLoop() = default;

RowFault SensorLoop::absorb(const Row& row) noexcept {
  Core& core = *core_;
  if (core.front.polish_is_under_way()) return core.absorb_and_polish(row);
  const BulkStep step = core.front.state_.step_into_bulk<LastRow::lost>(row);
  if (step != BulkStep::done) return core.end_step(row, step);
  core.latest_time = row.time;
  return core.may_go_on() ? RowFault::none : core.end_row(row, RowFault::none);
}

std::optional<std::size_t> SensorLoop::classify(const Row& row) const noexcept {
  const Mixture& fit = core_->fit;
  const int constant = core_->front.state_.settings().layout.constant_feature;
  if (fit.component_count() == 0 || check(row, fit.feature_count, constant) != RowFault::none) return {};
  return most_likely_component(fit, row);
}

bool SensorLoop::probabilities(const Row& row, std::span<double> probabilities) const noexcept {
  const Mixture& fit = core_->fit;
  if (probabilities.size() != fit.component_count() || !classify(row)) return false;
  responsibilities(fit, row, probabilities);
  return true;
}

bool SensorLoop::modes(std::uint64_t sensor, std::span<double> probabilities, unsigned ahead) const noexcept {
  return core_->front.modes(sensor, probabilities, ahead);
}

std::optional<double> SensorLoop::rows_left(std::uint64_t sensor) const noexcept {
  return core_->front.rows_left(sensor);
}

const Mixture& SensorLoop::fit() const noexcept {
  return core_->fit;
}
std::uint64_t SensorLoop::rows() const noexcept {
  return core_->front.state_.row_count();
}
const RowCounts& SensorLoop::row_counts() const noexcept {
  return core_->front.state_.row_counts();
}
bool SensorLoop::refit_is_due() const noexcept {
  return core_->due();
}
void SensorLoop::request_refit() noexcept {
  core_->asked.store(true, std::memory_order_relaxed);
}
const Estimator& SensorLoop::total() const noexcept {
  return core_->whole_total;
}

bool SensorLoop::try_snapshot() noexcept {
  return core_->try_snapshot();
}

bool SensorLoop::Core::try_snapshot() noexcept {
  if (taken || owner.load(std::memory_order_acquire) != Owner::solver) return false;
  taken = true;
  total.state_.append(exchange.interval);
  std::swap(total.polish_, exchange.polish);
  std::swap(total.drift_, exchange.drift);
  return true;
}

/// Solves, and notes for the loop what has changed.
Report SensorLoop::Core::solve() {
  const bool had_polish = total.polish_ && total.polish_->begun();
  const std::uint64_t resets = total.polish_ ? total.polish_->resets() : 0;
  Report report = total.scheduled_fit();
  const bool has_polish = total.polish_ && total.polish_->begun();
  exchange.polish_is_new = has_polish && (!had_polish || total.polish_->resets() != resets);
  exchange.schedule_is_new = true;
  exchange.next_every = total.next_every_;
  exchange.fit_is_new = is_usable(report.status) && total.last_fit_.has_value();
  if (exchange.fit_is_new) exchange.fit = *total.last_fit_;
  return report;
}

void SensorLoop::Core::give_back() {
  exchange.polish = total.polish_;  // the news, or room for the next copy
  if (exchange.polish_is_new) exchange.room = total.polish_;
  exchange.interval.prepare_interval(total.state_);
  taken = false;
  owner.store(Owner::loop, std::memory_order_release);
}

std::optional<Report> SensorLoop::refit() {
  return core_->refit();
}

std::optional<Report> SensorLoop::Core::refit() {
  if (!taken && !try_snapshot()) return {};
  yield_point();
  Report report = solve();
  yield_point();
  give_back();
  return report;
}

void SensorLoop::release_snapshot() {
  if (core_->taken) core_->give_back();
}

std::optional<Report> SensorLoop::refit_step(std::chrono::nanoseconds budget) {
  Core& core = *core_;
  if (!core.fiber) core.fiber = std::make_unique<Fiber>(core.stack_bytes);
  const bool ended = core.fiber_report || core.fiber_failure;  // by whole()
  if (!ended && !core.fiber->running()) {
    if (core.owner.load(std::memory_order_acquire) != Owner::solver) return {};  // nothing to do
    core.fiber->begin([&core] {  // out of which no exception may go
      try {
        core.fiber_report = core.refit();
      } catch (...) {
        core.fiber_failure = std::current_exception();
      }
    });
  }
  if (!ended && !core.fiber->run(budget)) return {};
  if (core.fiber_failure) std::rethrow_exception(std::exchange(core.fiber_failure, nullptr));
  return std::exchange(core.fiber_report, {});
}

bool SensorLoop::refit_is_under_way() const noexcept {
  return core_->fiber && core_->fiber->running();
}

Estimator SensorLoop::whole() const {
  core_->end_slices();  // in the midst of which the total is not whole
  const Core& core = *core_;
  Estimator copy = core.whole_total;
  Estimator::Parts& all = copy.parts();
  const bool with_solver = core.owner.load(std::memory_order_acquire) == Owner::solver;
  if (with_solver && !core.taken) {
    MomentState interval = core.exchange.interval;
    all.state_.append(interval);
  }
  MomentState interval = core.front.state_;
  all.state_.append(interval);
  const bool not_received = !with_solver && !core.exchange_at_hand && core.exchange.polish_is_new;
  all.polish_ = not_received ? core.exchange.polish : core.front.polish_;
  all.drift_ = core.front.drift_;
  if (!all.last_fit_ && core.fit.component_count() > 0) all.last_fit_ = core.fit;
  return copy;
}

}  // namespace mixstream
