// When a polish of rows in order begins, when it is believed, and when it begins anew.
//
// Rows are held in runs from the first one on. At growing row counts the sample's likeliest laws are settled
// on the runs and the sample; a polish begins once those rows ask for as many laws, by BIC, and begins anew
// where other laws explain them far better than its own do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mixstream/following/mode_drift.hpp"
#include "mixstream/modes/mode_polish.hpp"
#include "mixstream/modes/runs.hpp"
#include "mixstream/modes/start.hpp"

namespace mixstream {

struct ModeDriverSettings {
  ModeShape shape;
  ModePolishSettings polish;
  ChainSettings chains;
  ModeDriftSettings drift;
  std::size_t run_rows = 5120;  ///< held in runs
  double better_by = 10.0;      ///< nats beside the parameters, by which other laws must win

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
  /// A row of this sensor was refused or left out of the fit. No throw, no allocation.
  void skip(std::uint64_t sensor) noexcept { chains_.skip(sensor); }
  void forget(double keep) noexcept {
    if (polish_) polish_->forget(keep);
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

  Verdict merge(const ModeDriver& other);
  ModeDriver branch() const;  ///< for rows that another thread reads: same anchor, nothing learnt yet

  const ModeDriverSettings& settings() const noexcept { return settings_; }
  const ModePolish* polish() const noexcept { return polish_ ? &*polish_ : nullptr; }
  const ModeDrift* drift() const noexcept { return drift_ ? &*drift_ : nullptr; }
  const ChainTable& chains() const noexcept { return chains_; }
  const Runs& runs() const noexcept { return runs_; }
  std::uint64_t resets() const noexcept { return resets_; }
  bool too_many_laws() const noexcept { return too_many_laws_; }  ///< see ModeDriverState

 private:
  HeldRows held(const RowTable& sample, std::uint64_t rows) const noexcept;
  std::optional<SettledModel> best_of(std::span<const Mixture> laws, const HeldRows& held) const;
  bool one_too_many(const SettledModel& settled, const HeldRows& held) const;
  void begin(const ModeModel& model, const HeldRows& held, const Mixture* labels);

  ModeDriverSettings settings_;
  ChainTable chains_;
  Runs runs_;
  std::optional<ModePolish> polish_;
  std::optional<ModeDrift> drift_;
  std::uint64_t resets_ = 0;
  bool too_many_laws_ = false;
};

}  // namespace mixstream
