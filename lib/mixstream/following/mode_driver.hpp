// When a polish of rows in order begins, when it is believed, and when it begins anew.
//
// Rows are held in runs from the first one on. At growing row counts the sample's likeliest laws are settled
// on the runs and the sample; a polish begins once those rows ask for as many laws, by BIC, and begins anew
// where other laws explain them far better than its own do. What it knew of laws that stay is kept.
//
// Rows that contradict a polish are drift only where it can be taken to know every mode: while few changes
// were seen, a mode or a place of x that was never met before is likelier, and the polish is checked instead.
//
// Where the rows may choose the model, it begins as independent rows with equal noise, which others follow
// (polish_driver.hpp); the driver holds runs only. Once a doubt calls for a larger model, that runs beside it
// on trial, and takes over where it predicts the rows better.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mixstream/core/events.hpp"
#include "mixstream/following/mode_drift.hpp"
#include "mixstream/following/mode_trace.hpp"
#include "mixstream/following/trials.hpp"
#include "mixstream/modes/mode_polish.hpp"
#include "mixstream/modes/modes_now.hpp"
#include "mixstream/modes/runs.hpp"
#include "mixstream/modes/start.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {

struct ModeDriverSettings {
  ModeShape shape;
  ModePolishSettings polish;
  ChainSettings chains;
  ModeDriftSettings drift;
  std::size_t run_rows = 5120;        ///< held in runs
  double better_by = 10.0;            ///< nats beside the parameters, by which other laws must win
  std::uint64_t settle_rows = 25000;  ///< of a polish, before what it calls drift is an event
  ModelChoice choice;                 ///< what of the shape the rows may choose: then it begins plain
  std::uint64_t trial_rows = 4096;    ///< that a larger model must predict better

  friend bool operator==(const ModeDriverSettings&, const ModeDriverSettings&) = default;
};

/// All that a driver remembers beside its settings, as plain numbers.
struct ModeDriverState {
  ChainState chains;
  RunState runs;
  std::optional<ModePolishState> polish;
  std::optional<ModeDriftState> drift;
  std::uint64_t resets = 0;
  bool too_many_laws = false;  ///< at the last check one law fewer explained the held rows as well
  std::optional<TrialState> trial;
  std::vector<ChosenModel> chosen;
  std::optional<ModeTraceState> trace;

  friend bool operator==(const ModeDriverState&, const ModeDriverState&) = default;
};

/// Owns runs, chains, polish and drift. One thread at a time.
class ModeDriver {
 public:
  explicit ModeDriver(const ModeDriverSettings& settings);
  static Outcome<ModeDriver> restore(const ModeDriverState& state, const ModeDriverSettings& settings);
  ModeDriverState state() const;

  /// Takes a row in pilot coordinates. No throw, no allocation; bounded as ModePolish::absorb and
  /// ModeDrift::add are.
  std::optional<DriftEvent> absorb(const Row& row) noexcept;
  /// A row as it came, before the pilot is fixed; and the pilot, once it is. No throw, no allocation.
  void absorb_raw(const Row& row) noexcept;
  bool holds_raw_rows() const noexcept { return runs_.raw(); }
  void take_pilot(const Layout& layout, const Pilot& pilot) noexcept { runs_.take_pilot(layout, pilot); }
  /// A row of this sensor was refused or left out of the fit. No throw, no allocation.
  void skip(std::uint64_t sensor) noexcept { chains_.skip(sensor); }
  void forget(double keep) noexcept {
    if (polish_) polish_->forget(keep);
    if (trial_) trial_->forget(keep);
  }

  /// Every chain begins anew with its next row: another source follows. No throw, no allocation.
  void cut() noexcept { chains_.cut(); }

  /// Holds the polish against laws that the sample finds likely (pilot coordinates, likeliest first): begins
  /// it, keeps it, or begins it anew. `rows` in all; `labels`: the last fit, whose order the laws keep;
  /// without one the heavier law comes first. True where it began. Allocates.
  bool reconcile(std::span<const Mixture> laws, const RowTable& sample, std::uint64_t rows,
                 const Mixture* labels);

  /// What the held rows alone say, for a report before a polish has begun: nothing without rows in order.
  struct Preview {
    ModePolish polish;
    bool too_many_laws = false;
  };
  std::optional<Preview> preview(std::span<const Mixture> laws, const RowTable& sample, std::uint64_t rows,
                                 const Mixture* labels) const;

  /// While the runs are the whole stream and nothing was forgotten: the polish at the optimum of all rows,
  /// which one pass only comes near to where rows are few. Nothing else. Allocates.
  std::optional<ModePolish> settled(std::uint64_t rows) const;

  /// The likeliest model of a shape on the held rows, with BIC to compare shapes by: nothing without rows in
  /// order. Allocates.
  struct Candidate {
    ModeShape shape;
    ModeModel model;
    double log_likelihood = 0.0;  ///< of the held rows
    double bic = 0.0;
    double rows = 0.0;    ///< held
    std::string because;  ///< the name of the doubt that calls for it; empty: none does
  };
  std::optional<Candidate> candidate(const ModeShape& shape, std::span<const Mixture> laws,
                                     const RowTable& sample, std::uint64_t rows) const;
  /// Whether one law fewer explains the held rows as well. Allocates; settles k + 1 models.
  bool too_many_laws(const Candidate& candidate, const RowTable& sample, std::uint64_t rows) const;
  /// A polish of the candidate that knows the held rows. Allocates.
  ModePolish polish_of(const Candidate& candidate, const RowTable& sample, std::uint64_t rows,
                       const Mixture* labels) const;

  /// Whether the shape of the settings is followed here: not while the rows have not chosen one.
  bool is_in_use() const noexcept { return !settings_.shape.is_plain() || polish_.has_value(); }
  /// Lets the candidates run beside the model in use, `now`; and ends the trial once enough rows have passed:
  /// true where one of them took over. Allocates.
  void begin_trial(const Candidate& now, std::span<const Candidate> candidates, const RowTable& sample,
                   std::uint64_t rows, const Mixture* labels);
  bool end_trial(std::uint64_t rows);
  const Trial* trial() const noexcept { return trial_ ? &*trial_ : nullptr; }
  const std::vector<ChosenModel>& chosen() const noexcept { return chosen_; }

  /// Adds another driver in the same coordinates: polishes where both have begun, else the one that has; held
  /// runs, counts, and a trial of the same models. Refuses polishes of two models. Allocates.
  Done merge(const ModeDriver& other);
  /// Of another driver in the same coordinates the held runs and counts alone. Refuses one of more chains.
  /// Allocates.
  Done hold(const ModeDriver& other);
  /// From now on in other coordinates, which this pilot leads to from those it has: runs and polish go along,
  /// a trial ends, chains are cut. Refuses what ModePolish::take_coordinates refuses. Allocates.
  Done take_coordinates(const Layout& layout, const Pilot& pilot);
  /// Recent rows contradict a polish that is young, or that may not know every mode: nothing drifts, it
  /// should be held against the held rows now. Until the next reconcile.
  bool wants_check() const noexcept { return wants_check_; }
  void checked() noexcept { wants_check_ = false; }  ///< a copy was reconciled

  ModeDriver branch() const;  ///< for rows that another thread reads: same anchor, nothing learnt yet

  const ModeDriverSettings& settings() const noexcept { return settings_; }
  const ModePolish* polish() const noexcept { return polish_ ? &*polish_ : nullptr; }
  const ModeDrift* drift() const noexcept { return drift_ ? &*drift_ : nullptr; }
  const ChainTable& chains() const noexcept { return chains_; }
  const ModeTrace* trace() const noexcept { return trace_ ? &*trace_ : nullptr; }  ///< since the polish began
  /// Where the chains stand, into room that is used again; false, and untouched, before the polish began.
  bool describe_now(ModesNow& now) const;
  const Runs& runs() const noexcept { return runs_; }
  std::uint64_t resets() const noexcept { return resets_; }       ///< and trials begun or ended
  bool too_many_laws() const noexcept { return too_many_laws_; }  ///< see ModeDriverState
  /// Whether a mode may be yet to come, or a law be wrong: laws are too many, or few changes were seen.
  bool in_doubt() const noexcept {
    return too_many_laws_ || (polish_ && settings_.shape.modes == Modes::persistent &&
                              polish_->state().changes < limits::few_changes);
  }

 private:
  HeldRows held(const RowTable& sample, std::uint64_t rows) const;
  std::optional<SettledModel> best_of(std::span<const Mixture> laws, const ModeShape& shape,
                                      const HeldRows& held) const;
  bool one_too_many(const SettledModel& settled, const ModeShape& shape, const HeldRows& held) const;
  void begin(const ModeModel& model, const HeldRows& held, const Mixture* labels);
  void begin_trace();
  Done merge_polish(const ModeDriver& other);

  ModeDriverSettings settings_;
  ChainTable chains_;
  Runs runs_;
  std::optional<ModePolish> polish_;
  std::optional<ModeDrift> drift_;
  std::optional<ModeTrace> trace_;
  std::uint64_t resets_ = 0;
  bool too_many_laws_ = false;
  std::optional<Trial> trial_;
  std::vector<ChosenModel> chosen_;
  bool wants_check_ = false;
};

}  // namespace mixstream
