// The estimator: rows in, laws out. The whole way on one screen.
//
//   Estimator estimator = Estimator::create(settings).value();
//   while (sensor >> row) {
//     estimator.absorb(row);                                     // no allocation, no lock, bounded
//     if (estimator.fit_is_due()) estimator.scheduled_fit();     // by row count; feeds the polish
//   }
//   Report report = estimator.fit();                             // leaves no trace
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/report/report.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

class MomentState;    // moments/state.hpp
struct FitFeedback;   // estimator/feedback.hpp
struct ModesNow;      // modes/modes_now.hpp
struct Pilot;         // rows/pilot.hpp
struct ScheduledFit;  // estimator/feedback.hpp

/// The state's settings, with the sample that the model needs where no other is asked for (parameters.hpp).
StateSettings sized_state(const EstimatorSettings& settings);

/// Whether such a solve can be made of such a state. Allocates only the words of a refusal.
Done check(const SolveSettings& solve, const StateSettings& state);

/// The one check at the border: whether an estimator can be made of these settings. Allocates only the words
/// of a refusal.
Done check(const EstimatorSettings& settings);

/// What of the model the rows may choose: nothing where such a model could not be followed. No throw.
ModelChoice choice_of(const SolveSettings& solve, const StateSettings& state);

/// One thread at a time; copy it to solve elsewhere:
///   Estimator copy = estimator;                  // the thread of the rows
///   ScheduledFit fit = copy.fit_apart();         // another thread; rows go on meanwhile
///   estimator.take(fit.feedback);                // the thread of the rows, at a row number worth storing
class Estimator {
 public:
  /// Allocates the state. Refuses settings that contradict each other or do not fit the memory budget.
  static Outcome<Estimator> create(const EstimatorSettings& settings);

  /// Adds a row, or refuses it by name and counts it. No throw, no allocation, no lock; bounded, see
  /// MomentState and PolishDriver.
  RowFault absorb(const Row& row) noexcept;
  /// The same for a row that says where it stands: in any order, and divided among estimators in any way, the
  /// rows make the same sample.
  RowFault absorb(const Row& row, RowPosition position) noexcept;
  /// Where the next row stands that does not say so itself. States that will be merged should have different
  /// sources. No throw, no allocation.
  void go_on_at(RowPosition next) noexcept;
  /// Takes another state's pilot, before the first row: states of one pilot merge their polishes, too.
  Done take_pilot(const Pilot& pilot);

  /// Counts a row that was refused before it became numbers, under the name of the reason. Allocates for new
  /// names. `sensor`: whose row it was, where that is known: its chain goes on without the row.
  void count_refused(std::string_view reason, std::optional<std::uint64_t> sensor = {});
  /// Filtered probabilities of the mode that a sensor is in after its last row, laws as reported, into k
  /// numbers; false, and untouched, before a polish of rows in order has begun, for an unknown sensor or
  /// another length. No throw, no allocation; one look-up.
  /// `ahead`: so many rows after it; k^2 products each, fewer where nothing changes any more.
  bool modes(std::uint64_t sensor, std::span<double> probabilities, unsigned ahead = 0) const noexcept;
  /// Rows that a sensor's mode is expected to last from now on; nothing for an unknown sensor, or where modes
  /// do not persist. No throw, no allocation; one look-up.
  std::optional<double> rows_left(std::uint64_t sensor) const noexcept;
  /// Where all sensors stand, into room that is used again; false, and untouched, before a polish of rows in
  /// order has begun.
  bool describe_modes(ModesNow& now) const;
  /// Another source follows: rows in order begin new chains. No throw, no allocation.
  void begin_chains() noexcept;
  /// Refused rows by reason, here and before; only reasons that occurred.
  std::vector<std::pair<std::string, std::uint64_t>> refused() const;

  /// Whether a scheduled fit is due: by row count only, so that a resumed run asks where a continuous one
  /// did.
  bool fit_is_due() const noexcept;
  bool every_is_due() const noexcept;             ///< because of EstimatorSettings::every
  std::uint64_t rows_until_due() const noexcept;  ///< at least 1 unless one is due now

  /// Solves, keeps the fit as the next start and the labels, and holds the polish against it. `detail`: of
  /// the report; what is kept does not depend on it.
  Report scheduled_fit(SolveDetail detail = SolveDetail::everything);

  /// scheduled_fit(), and what of it another estimator that had the same rows is to take.
  ScheduledFit fit_apart();
  /// Takes what a scheduled fit of a copy left. Refuses feedback of another model; then nothing changes.
  Done take(const FitFeedback& feedback);

  /// Solves and leaves no trace. `settings`: other ones than the estimator's own, such as another k.
  Report fit() const { return fit(settings().solve); }
  Report fit(const SolveSettings& settings) const;

  /// Adds another estimator's rows. Checks first, changes after. Two polishes in the same coordinates add;
  /// else the polish begins anew at the next scheduled fit.
  Done merge(const Estimator& other, MergeAs as = MergeAs::one_stream);

  /// An estimator without rows, with this one's pilot, last fit and polish anchor, for a part of the stream
  /// that another thread reads; and its rows, added back. Only with a memory of everything, and once the
  /// pilot is fixed.
  Outcome<Estimator> branch() const;
  Done merge_branch(const Estimator& branch);

  const MomentState& state() const noexcept;
  const EstimatorSettings& settings() const noexcept;
  const std::optional<Mixture>& last_fit() const noexcept;  ///< the last scheduled one, raw
  std::vector<DriftEvent> drift() const;                    ///< the last 64 events of each kind, by row

  /// Everything as bytes; restore goes on bit for bit on the same processor.
  Bytes encode() const;
  /// `settings`: solve, polish and every are taken from here; the state's settings from the bytes.
  static Outcome<Estimator> decode(std::span<const std::byte> bytes, const EstimatorSettings& settings);
  /// How the saved estimator solved; the defaults if the bytes hold moments only.
  static Outcome<SolveSettings> saved_solve_settings(std::span<const std::byte> bytes);

  Estimator(const Estimator& other);
  Estimator& operator=(const Estimator& other);
  Estimator(Estimator&& other) noexcept;  ///< what is left can only be assigned to, or go
  Estimator& operator=(Estimator&& other) noexcept;
  ~Estimator();

  class Parts;  ///< what it is made of: for the library's own rooms (estimator/parts.hpp)
  explicit Estimator(Parts parts);
  Parts& parts() noexcept { return *parts_; }
  const Parts& parts() const noexcept { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace mixstream
