// What an estimator is made of: the state, the polish, the last fit, and what they know of drift. A sensor
// loop holds the same parts, one set for each thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstream/estimator.hpp"
#include "mixstream/estimator/feedback.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/solving/solve.hpp"

namespace mixstream {

/// The settings of the polish: what is set, and what follows from model and memory. Allocates little.
PolishDriverSettings polish_settings(const EstimatorSettings& settings);

/// estimator.hpp says what each call does.
class Estimator::Parts {
 public:
  Parts(const EstimatorSettings& settings, MomentState state);

  RowFault absorb(const Row& row) noexcept {
    return polish_is_under_way() ? absorb_and_polish(row) : state_.absorb(row);
  }
  void count_refused(std::string_view reason, std::optional<std::uint64_t> sensor);
  bool modes(std::uint64_t sensor, std::span<double> probabilities, unsigned ahead) const noexcept;
  std::optional<double> rows_left(std::uint64_t sensor) const noexcept;
  bool describe_modes(ModesNow& now) const;
  std::vector<std::pair<std::string, std::uint64_t>> refused() const;
  bool fit_is_due() const noexcept;
  bool every_is_due() const noexcept { return settings_.every > 0 && state_.row_count() >= next_every_; }
  std::uint64_t rows_until_due() const noexcept;
  Report scheduled_fit(SolveDetail detail = SolveDetail::everything);
  ScheduledFit fit_apart();
  Done take(const FitFeedback& feedback);
  Report fit(const SolveSettings& settings) const;
  Done merge(const Parts& other, MergeAs as);
  Outcome<Parts> branch() const;
  Done merge_branch(const Parts& branch);
  std::vector<DriftEvent> drift() const;
  Bytes encode() const;
  static Outcome<Parts> decode(std::span<const std::byte> bytes, const EstimatorSettings& settings);

  bool polishes() const noexcept;
  std::optional<std::span<const double>> modes_of(std::uint64_t sensor) const noexcept;
  void fade_polish(const Forgetting::Clock& before) noexcept;
  double present_weight(const Row& row) const noexcept;
  std::span<const double> last_features() noexcept;
  bool polish_is_under_way() const noexcept { return polish_ && polish_->wants_rows(); }
  void reserve_events();
  [[gnu::noinline]] RowFault absorb_and_polish(const Row& row) noexcept;
  void polish(const Row& row) noexcept;
  Report report_of(Solution solution) const;
  SolveMemory solve_memory() const;
  Done restore(std::span<const std::byte> bytes);
  bool same_model(const PolishDriverState& driver) const noexcept;
  std::optional<Pilot> pilot_if_fixed() const;
  void merge_polish(const Parts& other, const std::optional<Pilot>& ours);
  bool brought_here(PolishDriver& driver, const std::optional<Pilot>& from) const;
  void add_counts(const Parts& other);
  std::optional<Mixture> labels_in_pilot() const;
  void watch_moments(const Solution& solution);
  bool fits_tensor(const RememberedFit& fit) const;
  std::optional<MomentTensor> recent_moments(const MomentTensor& now, const BinMask& bins) const;

  EstimatorSettings settings_;
  PolishDriverSettings polish_settings_;  // what the settings come to
  MomentState state_;
  std::optional<PolishDriver> polish_;
  std::optional<Mixture> last_fit_;
  std::optional<PaperStart> paper_;  // what the last scheduled fit of the paper's method left
  std::vector<DriftEvent> drift_;    // of the polish
  MomentWatch watch_;
  std::map<std::string, std::uint64_t, std::less<>> refused_before_;  // they never became rows
  std::uint64_t next_every_ = 0;
  std::vector<double> pilot_features_;  // of the row at hand; the constant's place stays 1
};

}  // namespace mixstream
