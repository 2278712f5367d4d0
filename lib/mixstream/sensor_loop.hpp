// mixstream inside a control or acquisition loop that cannot wait.
//
//   loop thread                                solver thread
//   loop.absorb(row);    // every few us       while (running) {
//   loop.classify(row);  // by the last fit      auto report = loop.refit();
//                                                if (!report) sleep_a_little();
//                                              }
// A single thread calls refit_step(budget) between rows instead.
//
// How it works: rows enter an interval, a state of their own. When a refit is due and the solver has given an
// empty interval, the loop exchanges the two at a row boundary: a few pointers, not the tensors. The solver
// appends the interval to the total, solves, and gives the fit back together with the emptied interval. One
// object, Exchange, goes to and fro; an atomic says whose it is, and neither side ever waits for the other.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "mixstream/estimator.hpp"

namespace mixstream {

/// When the loop gives its rows to the solver. Everything off: only when asked (request_refit).
struct RefitPolicy {
  std::uint64_t every_rows = 0;  ///< rows; 0: not by count
  double every_seconds = 0.0;    ///< on the rows' own clock (Row::time); 0: not by time
  bool on_drift = false;         ///< when the polish's detector speaks
  bool for_polish = true;        ///< at the row counts at which the polish begins and is checked
};

struct LoopSettings {
  EstimatorSettings estimator;  ///< its `every` is taken from the policy
  RefitPolicy policy;
  std::size_t stack_bytes = 1U << 20;  ///< of refit_step, allocated at its first call
};

class SensorLoop {
 public:
  /// Allocates all that the loop thread will ever need: two intervals and the total.
  static Outcome<SensorLoop> create(const LoopSettings& settings);
  /// Goes on with an estimator, such as one that was saved at shutdown.
  static Outcome<SensorLoop> resume(Estimator estimator, const LoopSettings& settings);

  SensorLoop(SensorLoop&&) noexcept;  ///< before the threads begin
  SensorLoop& operator=(SensorLoop&&) noexcept;
  ~SensorLoop();

  // ---- The loop thread. No throw, no allocation, no lock, no system call; nothing here waits. ----

  /// Adds a row, or refuses it by name and counts it. Cost of Estimator::absorb, and d numbers and the
  /// polish's P^2 copied when the rows are given to the solver.
  RowFault absorb(const Row& row) noexcept;

  /// The component that the row most likely belongs to; nothing before the first fit, and for a row that
  /// absorb would refuse. k d products.
  std::optional<std::size_t> classify(const Row& row) const noexcept;
  /// P(h | x, y) into `probabilities`, which must be k long; false, and untouched, where classify gives
  /// nothing or the length is wrong. k d products and k exponentials.
  bool probabilities(const Row& row, std::span<double> probabilities) const noexcept;

  /// Filtered probabilities of the mode that the sensor is in after its last row, into k numbers; false, and
  /// untouched, before a polish of rows in order has begun, for an unknown sensor or another length. One
  /// look-up.
  bool modes(std::uint64_t sensor, std::span<double> probabilities, unsigned ahead = 0) const noexcept;
  std::optional<double> rows_left(std::uint64_t sensor) const noexcept;  ///< likewise

  /// The fit that classify uses, raw coordinates; no components before the first.
  const Mixture& fit() const noexcept;
  std::uint64_t rows() const noexcept;  ///< accepted
  const RowCounts& row_counts() const noexcept;
  bool refit_is_due() const noexcept;  ///< by the policy; the solver may still be at work

  // ---- Any thread. ----

  /// Asks the loop to give its rows away at the next row. No throw, no lock.
  void request_refit() noexcept;

  // ---- The solver thread. ----

  /// Takes the rows that the loop has given away, if it has. True: total() now holds them. No throw, no
  /// allocation, no lock; adds the tensors.
  bool try_snapshot() noexcept;
  /// All rows taken so far, as one estimator: to solve, to save, to merge elsewhere.
  const Estimator& total() const noexcept;
  /// Gives an emptied interval back without solving, after a snapshot that was only to be saved or sent.
  void release_snapshot();
  /// try_snapshot, unless one was taken, and if there was something: solve and give the fit back. A fit whose
  /// status is not ok is reported but does not replace the last one.
  std::optional<Report> refit();

  // ---- One thread for both. ----

  /// Works at a refit until it ends or `budget` is used; returns the report when it ends here, nothing when
  /// there is none or it is not done. Rows absorbed meanwhile wait for the next refit. The answer is that of
  /// refit(), and throws what that throws. Do not mix with refit() while one is under way.
  std::optional<Report> refit_step(std::chrono::nanoseconds budget);
  bool refit_is_under_way() const noexcept;

  // ---- When both threads have stopped. ----

  /// Everything absorbed, as one estimator: to save, to merge, to resume. Allocates a copy. A refit under way
  /// in slices is ended first; the next refit_step gives its report.
  Estimator whole() const;

 private:
  struct Core;
  explicit SensorLoop(std::unique_ptr<Core> core) noexcept;

  std::unique_ptr<Core> core_;
};

/// The same with the number of features known to the compiler: a row of the wrong width does not compile.
template <std::size_t feature_count>
class FixedSensorLoop {
 public:
  using Features = std::array<double, feature_count>;

  static Outcome<FixedSensorLoop> create(LoopSettings settings) {
    settings.estimator.state.layout.feature_count = static_cast<int>(feature_count);
    Outcome<SensorLoop> core = SensorLoop::create(settings);
    if (!core) return core.refusal();
    return FixedSensorLoop(std::move(core).value());
  }

  RowFault absorb(const Features& features, double response, double weight = 1.0,
                  double time = 0.0) noexcept {
    return core_.absorb({features, response, weight, time});
  }
  std::optional<std::size_t> classify(const Features& features, double response) const noexcept {
    return core_.classify({features, response});
  }
  bool probabilities(const Features& features, double response, std::span<double> into) const noexcept {
    return core_.probabilities({features, response}, into);
  }
  SensorLoop& core() noexcept { return core_; }  ///< everything else
  const SensorLoop& core() const noexcept { return core_; }

 private:
  explicit FixedSensorLoop(SensorLoop core) noexcept : core_(std::move(core)) {}
  SensorLoop core_;
};

}  // namespace mixstream
