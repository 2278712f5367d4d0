// The polish of rows in order: maximum likelihood of any model of this folder, in one pass.
//
// As in polish/polish.hpp every row adds its score s, taken at the anchor, and s s'; the estimate is
// theta_a + H^-1 gradient, and the anchor moves there now and then. Here s is the filter's score given the
// past (filter.hpp). Three things are new.
//
// Rare changes of mode. The score of log A_ij leads straight to the answer only once i -> j has been seen
// often. A cell that was seen less is kept out of H and follows expected counts, C_ij = S_ij + A_ij n_i (S:
// its sum of scores, n_i: how often the chain was in i): the step of EM, which cannot leave the simplex.
//
// Older rows in doubt. Scores of anchors far from the answer would mislead for ever: where the rows since the
// last move contradict the older ones' sums beyond chance, the older ones fade.
//
// Batches. Sums of scores over 32 to 64 stretches of rows show how much they vary in truth: 1 for a right
// model, more where rows depend on each other in a way that the model lacks. A stretch may lie in one mode
// and at one place of x, so each is held against its own information, law by law.
//
// Everything here is in pilot coordinates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/modes/chains.hpp"
#include "mixstream/modes/filter.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/modes/score_batches.hpp"
#include "mixstream/rows/pilot.hpp"

namespace mixstream {

struct ModePolishSettings {
  std::uint64_t first_move = 1000;   ///< rows before the anchor first moves; then twice as many each time,
  std::uint64_t move_every = 12500;  ///< up to so many
  std::size_t most_chains = 64;      ///< as in ChainSettings

  friend bool operator==(const ModePolishSettings&, const ModePolishSettings&) = default;
};

/// What scores have summed to: of all rows, or of those before the last move.
struct ScoreSums {
  std::vector<double> information;  ///< H, packed
  std::vector<double> gradient;     ///< left at the anchor
  std::vector<double> counts;       ///< expected transitions, k x k: persistent
  double weight = 0.0;              ///< of the rows behind

  friend bool operator==(const ScoreSums&, const ScoreSums&) = default;
};

/// All that a polish remembers, as plain numbers: restoring it continues bit for bit on the same processor.
struct ModePolishState {
  ModePolishSettings settings;
  ModeShape shape;
  std::vector<double> parameters;       ///< theta of the anchor
  std::vector<double> known_variances;  ///< s2_h: NoiseModel::known
  ScoreSums sums;
  ScoreSums older;             ///< as of the last move
  std::vector<double> free;    ///< 1: moved by scores; 0: a cell too rare for them
  std::vector<double> visits;  ///< rows spent in each mode, expected
  std::vector<ScoreBatch> batches;
  double batch_weight = 64.0;  ///< of a full batch
  std::vector<double> block;   ///< scores of rows not yet in the sums
  std::vector<double> block_weights;
  std::vector<double> block_use;  ///< modes left or kept in the block: k numbers
  std::vector<double> chains;     ///< of every slot, see ModeFilter::chain_size
  double growth = 1.0;            ///< sums are this many times too large: see forget
  std::uint64_t rows = 0;
  std::uint64_t rows_since_move = 0;
  std::uint64_t moves = 0;
  std::uint64_t refused_moves = 0;  ///< whose step was not finite
  std::uint64_t fades = 0;          ///< times that older rows were doubted
  double changes = 0.0;             ///< of mode, expected, over all rows ever absorbed
  double log_likelihood = 0.0;      ///< sum of w log p(y | x, past), each at its anchor
  double weight = 0.0;              ///< of all rows ever absorbed: sum of w

  friend bool operator==(const ModePolishState&, const ModePolishState&) = default;
};

/// Sets to zero what a score vector and a packed matrix say of the ways between persistent modes: laws, noise
/// and gate stay. No throw, no allocation.
void leave_out_chain(const ModeShape& shape, std::span<double> vector, std::span<double> packed) noexcept;

/// Adds the expected transitions of rows whose scores sum to `score` at a chain that used its modes `use`
/// times, k x k: C_ij = S_ij + A_ij n_i, where S_ii = - sum S_il. No throw, no allocation.
void add_transitions(const ModeShape& shape, const DenseMatrix& transitions, std::span<const double> score,
                     std::span<const double> use, std::span<double> counts) noexcept;

/// What a full block of rows says at its anchor: for drift detection.
struct ModeBlock {
  double weight = 0.0;
  std::span<const double> score;        ///< sum w s
  std::span<const double> information;  ///< sum w^2 s s', packed; without rare cells
  std::span<const double> use;          ///< modes left or kept
};

/// The estimate and how well it is known.
struct ModeFit {
  ModeModel model;
  std::vector<double> parameters;
  DenseMatrix covariance;       ///< of theta
  DenseMatrix counts;           ///< expected transitions: persistent
  std::vector<double> visits;   ///< rows spent in each mode
  double changes = 0.0;         ///< of mode that were seen
  double dispersion = 1.0;      ///< variance of batch sums over what the scores promise: 1 for a right model
  double dispersion_dof = 0.0;  ///< independent squares behind it
  double rows = 0.0;            ///< weight of all rows
};

/// Allocates at construction; absorb and forget never do. One thread at a time.
class ModePolish {
 public:
  static constexpr std::size_t block_rows = 64;
  static constexpr std::size_t most_batches = 64;
  /// A way between modes seen fewer times than this is moved by counts: the error of log A_ij is then above
  /// 1/4, and the quadratic that scoring relies on does not hold (method section 8).
  static constexpr double enough_seen = 20.0;

  /// Begins at a model, knowing nothing. Throws std::invalid_argument when shapes disagree.
  ModePolish(const ModeModel& start, const ModeShape& shape, const ModePolishSettings& settings = {});

  ModePolish(const ModePolish& other);  ///< with the same room
  ModePolish& operator=(const ModePolish& other) = default;
  ModePolish(ModePolish&&) noexcept = default;
  ModePolish& operator=(ModePolish&&) noexcept = default;
  ~ModePolish() = default;

  /// Continues from a stored state; refuses one whose parts do not fit together or are not finite.
  static Outcome<ModePolish> restore(const ModePolishState& stored);
  const ModePolishState& state() const noexcept { return state_; }

  /// Adds a row of the chain in this slot. True when it completed a block (then last_block() is new). No
  /// throw, no allocation; the cost of ModeFilter::advance, once in 64 rows 64 P^2 / 2 products, once in
  /// move_every rows P^3 / 3.
  bool absorb(const Row& row, const ChainTable::Step& step) noexcept;
  ModeBlock last_block() const noexcept;  ///< until the next block

  /// As ModeFilter::begin_in, until told otherwise; copies forget it. No throw, no allocation.
  void begin_chains_in(std::span<const double> modes) noexcept { filter_.begin_in(modes); }

  /// Multiplies everything absorbed so far by keep, 0 < keep <= 1. No throw, no allocation.
  void forget(double keep) noexcept;

  /// Moves the anchor to the estimate. Called by absorb. No throw, no allocation.
  void move_anchor() noexcept;

  /// From now on the anchor moves as these settings say, as it does at once. No throw, no allocation.
  void begin_moving(const ModePolishSettings& settings) noexcept;

  /// Adds another polish of the same shape, its laws matched to these; its chains are cut. Refuses others.
  Done merge(const ModePolish& other);

  /// The same polish in other coordinates, which this pilot leads to from those it has; its chains are cut.
  /// Refuses a gate without a constant where its features are shifted: that is no gate. Allocates.
  Done take_coordinates(const Layout& layout, const Pilot& pilot);

  /// Takes over what an older polish knew of those laws that both agree on within their errors: the rows
  /// behind it need not be lost because another law of it was wrong. `share`: of its rows that this polish
  /// has not seen. Allocates.
  void take_over(const ModeFit& older, double share);

  const ModeShape& shape() const noexcept { return state_.shape; }
  const ModeModel& anchor() const noexcept { return filter_.anchor(); }
  const std::vector<double>& parameters() const noexcept { return state_.parameters; }
  std::uint64_t rows() const noexcept { return state_.rows; }
  double log_likelihood() const noexcept { return state_.log_likelihood; }
  double weight() const noexcept { return state_.weight; }  ///< that the log-likelihood is the sum of
  double log_likelihood_of_last_row() const noexcept { return last_log_density_; }
  std::span<const double> modes_of(std::size_t slot) const noexcept {  ///< filtered probabilities of a chain
    return {state_.chains.data() + slot * filter_.chain_size(), state_.shape.component_count};
  }

  ModeFit fit() const;  ///< of all rows so far. Allocates

 private:
  explicit ModePolish(ModePolishState state);

  std::size_t size() const noexcept { return state_.parameters.size(); }
  std::size_t k() const noexcept { return state_.shape.component_count; }
  bool persists() const noexcept { return state_.shape.modes == Modes::persistent; }
  void flush() noexcept;
  void count_transitions() noexcept;
  void add_to_batches() noexcept;
  void add_batch(double weight, std::span<const double> score, std::span<const double> information) noexcept;
  void join_batches() noexcept;
  void carry_batches(std::span<const double> step) noexcept;
  void rescale() noexcept;
  void find_step() noexcept;
  void rare_steps() noexcept;
  bool doubt_older_rows() noexcept;
  void take_step() noexcept;
  void admit_cells() noexcept;
  std::uint64_t rows_until_move() const noexcept;
  DenseMatrix covariance() noexcept;
  void find_dispersion(ModeFit& fit);
  double share_of_all(const ScoreGroup& group, std::span<const double> information) const noexcept;
  void tell_rare(std::size_t i, std::size_t j) noexcept;
  bool take_over_law(const ModeFit& now, std::size_t h, const ModeFit& older, std::size_t other,
                     double share);
  void take_over_ways(std::size_t i, std::size_t j, const ModeFit& older, std::span<const std::size_t> order,
                      double share);

  ModePolishState state_;
  ModeFilter filter_;
  ModeModel model_;
  PivotedCholesky solver_;
  std::vector<double> step_;
  std::vector<double> moved_;
  std::vector<double> product_;
  std::vector<double> work_;  // packed
  std::vector<double> block_score_;
  std::vector<double> block_information_;
  std::vector<double> scratch_;  // of the products
  std::vector<double> block_use_;
  std::vector<double> block_counts_;
  std::vector<ScoreGroup> groups_;  // what a batch keeps whole
  std::vector<double> batch_information_;
  double block_weight_ = 0.0;
  double last_log_density_ = 0.0;
};

}  // namespace mixstream
