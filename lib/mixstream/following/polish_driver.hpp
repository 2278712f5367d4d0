// When a polish begins, when it is believed, and when it begins anew.
//
// A polish that began at a bad fit never recovers, and says nothing of it. So a fit refined from all moments
// is held against it at growing row counts: where the two disagree, the sample of rows decides. A fit
// that is the likeliest of all rows so far begins it anew: nothing knows more of them. A fit
// that was not accepted neither begins nor ends a polish, but for one that only lacks another start that
// comes back to it: rows that pass are lost to a polish not yet begun, so it begins there, tentatively.
// Where the moments contradict every fit, the sample's likeliest laws stand in for it, and only the sample
// can end a polish.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "mixstream/core/settings.hpp"
#include "mixstream/following/drift.hpp"
#include "mixstream/following/extensions.hpp"
#include "mixstream/following/mode_driver.hpp"
#include "mixstream/likelihood/likelihood_gain.hpp"
#include "mixstream/polish/polish.hpp"
#include "mixstream/polish/stepwise_em.hpp"
#include "mixstream/refinement/hausman.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {

/// How the rows of the stream bring a refined fit to maximum-likelihood accuracy.
const char* name_of(PolishKind kind) noexcept;  ///< "off", "scoring" or "stepwise-em"

struct PolishDriverSettings {
  PolishKind kind = PolishKind::scoring;
  std::uint64_t first_check = 5000;  ///< rows; then twice and 4 times as many, then at every fourfold;
                                     ///< in doubt or tentative at every twofold
  std::uint64_t memory_rows = 0;     ///< that the stream remembers, 0: everything; checked at least as often
  double distance_limit = limits::largest_parting;      ///< of parting, for many parameters; wider for few
  double likelihood_limit = limits::likelihood_errors;  ///< by which a likelihood difference is believed
  PolishSettings scoring;
  DriftSettings drift;
  std::optional<ModeDriverSettings> modes;  ///< rows in order: then nothing of the polish above begins
};

enum class Reconciled : std::uint8_t {
  not_started,  ///< there is no polish, and the fit was none to begin at
  started,      ///< a polish began at the fit
  kept,         ///< the polish goes on
  reset,        ///< the polish disagreed with the fit and began anew at it
};
const char* name_of(Reconciled reconciled) noexcept;  ///< "not_started", "started", "kept" or "reset"

inline constexpr std::size_t largest_bin_count = 32;

/// What a check decides of the rows to come.
struct PolishSchedule {
  std::uint64_t next_check = 0;
  std::uint32_t bins = 1;  ///< bit b: rows of magnitude bin b enter
  bool in_doubt = false;   ///< see PolishDriverState
  bool tentative = false;

  friend bool operator==(const PolishSchedule&, const PolishSchedule&) = default;
};

/// All that a driver remembers beside its settings, as plain numbers.
struct PolishDriverState {
  std::optional<PolishState> polish;
  std::optional<DriftState> drift;
  std::optional<StepwiseEmState> stepwise;
  std::optional<ModeDriverState> modes;
  std::uint64_t rows = 0;  ///< given, left out ones included
  std::uint64_t next_check = 0;
  std::uint64_t resets = 0;
  std::uint32_t bins = 1;                                     ///< bit b: rows of magnitude bin b enter
  std::array<std::uint64_t, largest_bin_count> entered = {};  ///< rows of each bin in the polish
  bool in_doubt = false;   ///< the last check met other laws that its rows did not exclude
  bool tentative = false;  ///< no other start has come back yet to the laws where the polish began

  friend bool operator==(const PolishDriverState&, const PolishDriverState&) = default;
};

/// Owns the polish and its drift detector. One thread at a time.
class PolishDriver {
 public:
  explicit PolishDriver(const PolishDriverSettings& settings = {});

  static Outcome<PolishDriver> restore(const PolishDriverState& state, const PolishDriverSettings& settings);
  PolishDriverState state() const;

  /// Takes a row in pilot coordinates, of the given magnitude bin. No throw, no allocation; bounded as
  /// AnchoredPolish::absorb and DriftDetector::add are. An event when the row completes a block that drifted.
  std::optional<DriftEvent> absorb(const Row& row, std::size_t bin = 0) noexcept {
    ++state_.rows;
    if (modes_) {
      const std::optional<DriftEvent> event = follow(row, bin);
      if (modes_->is_in_use()) return event;
    }
    if (!polish_ || bin >= largest_bin_count || (state_.bins >> bin & 1U) == 0) return {};
    ++state_.entered[bin];
    if (stepwise_) stepwise_->add(row);
    if (!polish_->absorb(row)) return {};
    return judge_block();
  }

  /// The same before the pilot is fixed, as the row came: rows in order are held from the first on. Once
  /// there is a pilot, those are brought to its coordinates. No throw, no allocation.
  void absorb_raw(const Row& row) noexcept {
    if (modes_) modes_->absorb_raw(row);
  }
  bool holds_raw_rows() const noexcept { return modes_ && modes_->holds_raw_rows(); }
  void take_pilot(const Layout& layout, const Pilot& pilot) noexcept {
    if (modes_) modes_->take_pilot(layout, pilot);
  }

  /// Whether rows are to be given: a polish is under way, or rows in order are followed from the first on.
  bool wants_rows() const noexcept { return polish_.has_value() || modes_.has_value(); }
  /// Whether a polish of either kind is under way.
  bool begun() const noexcept { return polish_.has_value() || (modes_ && modes_->polish() != nullptr); }
  /// A row of this sensor was refused: its chain goes on without it. No throw, no allocation.
  void skip(std::uint64_t sensor) noexcept {
    if (modes_) modes_->skip(sensor);
  }
  /// Another source follows: chains begin anew. No throw, no allocation.
  void cut() noexcept {
    if (modes_) modes_->cut();
  }

  /// Passed on to the polish, if there is one: see AnchoredPolish. No throw, no allocation.
  void forget(double keep) noexcept;
  void turn_pane() noexcept;

  /// Whether a refined fit is due: by row count only, so that a resumed run asks where a continuous one did.
  bool should_check(std::uint64_t row_count) const noexcept { return row_count >= state_.next_check; }
  std::uint64_t next_check() const noexcept { return state_.next_check; }  ///< the row count it is due at
  void skip_check(std::uint64_t row_count) noexcept;  ///< there is no fit to hold it against: ask again later

  /// When the next check is and which bins enter; and both taken over from a copy that was held against a
  /// fit. No throw.
  PolishSchedule schedule() const noexcept {
    return {state_.next_check, state_.bins, state_.in_doubt, state_.tentative};
  }
  void take_schedule(const PolishSchedule& schedule) noexcept {
    state_.next_check = schedule.next_check;
    if (modes_) modes_->checked();
    state_.bins = schedule.bins;
    state_.in_doubt = schedule.in_doubt;
    state_.tentative = schedule.tentative;
  }

  /// Adds another driver's polish, in the same coordinates. Refuses unless both have one of the same shape,
  /// or follow rows in order.
  Done merge(const PolishDriver& other);
  /// Of another driver in the same coordinates only what is held of rows in order. Allocates.
  void hold(const PolishDriver& other);
  /// From now on in other coordinates, which this pilot leads to from those it has. A polish of independent
  /// rows ends. Refuses what ModeDriver::take_coordinates refuses. Allocates.
  Done take_coordinates(const Layout& layout, const Pilot& pilot);

  /// A driver for rows that another thread reads, see AnchoredPolish::branch; and what it learnt, added back.
  PolishDriver branch() const;
  Done merge_branch(const PolishDriver& branch);

  /// Holds the polish against a fit refined from the moments of all rows so far, `row_count` of them; the
  /// sample and the bins are those of the fit. A polish that holds rows of a bin now left out begins anew.
  Reconciled reconcile(const RefinedFit& refined, const RowTable& sample, std::uint64_t row_count,
                       std::uint32_t bins = 1);

  /// The same for rows in order that are followed, see ModeDriver::reconcile.
  Reconciled reconcile(std::span<const Mixture> laws, const RowTable& sample, std::uint64_t row_count,
                       const Mixture* labels);
  const ModeDriver* modes() const noexcept { return modes_ ? &*modes_ : nullptr; }
  /// Whether rows in order are what is followed, and not independent rows with equal noise.
  bool follows_modes() const noexcept { return modes_ && modes_->is_in_use(); }

  /// Where the rows may choose the model: puts on trial what the doubts about the laws in use (pilot
  /// coordinates) call for, and ends a trial whose rows have passed. True where a larger model took over:
  /// then everything before belongs to another model. Allocates.
  bool choose(std::span<const Doubt> doubts, std::span<const Mixture> laws, const RowTable& sample,
              std::uint64_t row_count, const Mixture* labels, const Layout& layout);

  const AnchoredPolish* polish() const noexcept { return polish_ ? &*polish_ : nullptr; }
  const DriftDetector* drift() const noexcept { return drift_ ? &*drift_ : nullptr; }
  std::uint64_t resets() const noexcept { return state_.resets + (modes_ ? modes_->resets() : 0); }
  bool in_doubt() const noexcept { return state_.in_doubt; }    ///< see PolishDriverState
  bool tentative() const noexcept { return state_.tentative; }  ///< likewise

  /// The polished fit, unless there is none, it is not finite, it has just begun and knows far less than an
  /// accepted refined fit, or the sample finds that one better beyond chance: then report the refined one.
  /// Allocates.
  std::optional<PolishedFit> fit_to_report(const RefinedFit& refined, const RowTable& sample) const;

 private:
  std::optional<DriftEvent> judge_block() noexcept;
  std::optional<DriftEvent> follow(const Row& row, std::size_t bin) noexcept;
  bool disagrees(const RefinedFit& refined, const RowTable& sample) const;
  Done add(const PolishDriver& other, Done (AnchoredPolish::*way)(const AnchoredPolish&));
  bool holds_left_out_rows(std::uint32_t bins) const noexcept;
  void begin(const RefinedFit& refined, const RowTable& sample);
  void begin_path();

  PolishDriverSettings settings_;
  PolishDriverState state_;  // without polish, drift and stepwise, which stand below
  std::optional<AnchoredPolish> polish_;
  std::optional<DriftDetector> drift_;
  std::optional<StepwiseEm> stepwise_;
  std::optional<ModeDriver> modes_;
};

}  // namespace mixstream
