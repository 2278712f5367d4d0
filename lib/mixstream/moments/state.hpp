// The mergeable state of a stream: moments, bins, sample, pilot, counts. Everything a solver or a snapshot
// needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/moments/bins.hpp"
#include "mixstream/moments/forgetting.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/monomials/kernel.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/reservoir.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

struct Pane;  // bins of moments and a sample (pane.hpp): Boost's accumulators stay behind the .cpp files

/// Bytes that a state with these settings and two copies of it will take: a merge makes two, a solver or a
/// snapshot fewer. Refuses settings out of range, and what goes beyond the budget, naming the bytes.
/// Allocates nothing but the text of a refusal.
Outcome<std::uint64_t> bytes_needed(const StateSettings& settings);

inline constexpr std::size_t part_count = 3;  ///< data sets of Memory::Kind::three_parts

enum class LastRow { kept, lost };

/// What became of a row on the short way: taken and nothing to do; taken, and a block or the sample waits for
/// it; not a row for it.
enum class BulkStep : std::uint8_t { done, to_end, refused };

class MomentState {
 public:
  /// Allocates everything the state will ever need.
  static Outcome<MomentState> create(const StateSettings& settings);

  MomentState(const MomentState& other);
  MomentState& operator=(const MomentState& other);
  MomentState(MomentState&& other) noexcept;
  MomentState& operator=(MomentState&& other) noexcept;
  ~MomentState();

  /// Adds one row, or refuses it by name and counts it. No throw, no allocation, no lock. N(m, 6) products a
  /// row on average; at most one block of rows is folded in, but the whole first block once, and four when a
  /// pane closes.
  RowFault absorb(const Row& row) noexcept;
  /// The same in two: the first is compiled into its caller, who includes moments/absorb.hpp; unless it says
  /// done, the second must follow. LastRow::lost: what last_variables and last_bin give then means nothing.
  template <LastRow last>
  BulkStep step_into_bulk(const Row& row) noexcept;
  [[gnu::noinline]] RowFault end_step(const Row& row, BulkStep step) noexcept;

  /// Rows that follow come from this source, beginning at this position; the sample depends on nothing else.
  /// States that will be merged should have different sources.
  void begin_source(std::uint64_t source, std::uint64_t position = 0) noexcept;

  /// Fixes the pilot before any row has come, so that states filled apart agree on bins and coordinates.
  Done set_pilot(const Pilot& pilot);

  /// Adds the other state's rows and counts. Checks first, changes after: a refusal leaves this state as it
  /// was. Different pilots are brought to that of the state with more rows. Allocates a copy of each.
  Done merge(const MomentState& other, MergeAs as = MergeAs::one_stream);

  // Intervals: a state whose rows will be appended to a total held elsewhere, so that a loop can give them
  // away by a swap instead of a copy (sensor_loop.hpp).

  /// Makes this an empty interval that may follow what `total` holds: same settings required, else this does
  /// nothing. No throw, no allocation; empties the tensors.
  void prepare_interval(const MomentState& total) noexcept;
  /// Goes on where `running` stands, whose rows have just been given away: a prepared interval takes over
  /// its pilot, which must be fixed, its clock, position and counts. No throw, no allocation; d numbers.
  void continue_from(const MomentState& running) noexcept;
  /// Adds an interval that went on from here; its waiting rows are folded in. A fresh state changes places
  /// with the interval. Equal to having absorbed the rows, but for rounding. No throw, no allocation.
  void append(MomentState& interval) noexcept;

  /// The moments of the chosen bins, rows that wait for a full block included; the state is not touched.
  MomentTensor moments(const BinMask& bins = all_bins) const;
  /// The same of the pane of a window that was closed last; without rows before one was, or without a window.
  MomentTensor closed_pane_moments(const BinMask& bins = all_bins) const;
  /// The same of one of the three data sets of Memory::Kind::three_parts, part 0, 1 or 2; elsewhere of all
  /// rows.
  MomentTensor part_moments(std::size_t part) const;
  Sample sample() const;  ///< of what the memory still holds
  Pilot pilot() const;    ///< fixed, or what it would be if the first block ended now

  const StateSettings& settings() const noexcept { return settings_; }
  std::uint64_t row_count() const noexcept { return row_counts_[0]; }   ///< accepted, forgotten ones included
  const RowCounts& row_counts() const noexcept { return row_counts_; }  ///< by RowFault
  std::array<std::uint64_t, bin_count> bin_rows() const;                ///< rows held, by bin
  bool pilot_is_fixed() const noexcept { return pilot_fixed_; }
  const Pilot& fixed_pilot() const noexcept { return pilot_; }  ///< meaningful once pilot_is_fixed()
  /// z of the row accepted last, in pilot coordinates, and its magnitude bin; until the pilot is fixed, of no
  /// row.
  std::span<const double> last_variables() const noexcept { return variables_; }
  std::uint8_t last_bin() const noexcept { return last_bin_; }
  std::size_t active_pane() const noexcept { return active_; }  ///< of a window: changes when a pane closes
  const Forgetting& forgetting() const noexcept { return forgetting_; }  ///< the clock of a half-life
  std::uint64_t source() const noexcept { return source_; }              ///< of the rows that come now
  std::uint64_t next_position() const noexcept { return position_; }

  friend bool operator==(const MomentState& one, const MomentState& two);

 private:
  friend class StateCodec;
  /// Rows kept as they came until the pilot is fixed.
  struct FirstBlock {
    RowTable rows;
    std::vector<double> times;
    std::vector<std::uint64_t> hashes;

    FirstBlock(std::size_t capacity, std::size_t feature_count);
    FirstBlock(const FirstBlock& other);  // a copy has the same room
    FirstBlock& operator=(const FirstBlock& other);
    FirstBlock(FirstBlock&& other) noexcept = default;
    FirstBlock& operator=(FirstBlock&& other) noexcept = default;
    ~FirstBlock() = default;

    std::size_t size() const noexcept { return hashes.size(); }
    Row row(std::size_t i) const noexcept;
    void add(const Row& row, std::uint64_t hash);
    void clear() noexcept;
    friend bool operator==(const FirstBlock&, const FirstBlock&) = default;
  };

  explicit MomentState(const StateSettings& settings);
  RowFault keep(const Row& row, std::uint64_t hash) noexcept;
  RowFault end_first_block() noexcept;
  void use_pilot() noexcept;
  void open_bulk() noexcept;
  template <LastRow last>
  bool write_into_bulk(const Row& row) noexcept;
  void end_bulk_row(const Row& row) noexcept;
  RowFault judge_and_file(const Row& row) noexcept;
  double transform(const Row& row) noexcept;
  RowFault file(const Row& row, std::uint64_t hash) noexcept;
  double growth_at(double clock) noexcept;
  void make_room_in_window() noexcept;
  void settle() noexcept;
  MomentState settled() const;
  MomentTensor moments_of(std::span<const Pane> panes, const BinMask& bins) const;
  Done may_merge(const MomentState& other, MergeAs as) const;
  bool is_fresh() const noexcept;
  bool same_pane_as(const MomentState& earlier) const noexcept;
  void join(MomentState other, MergeAs as);
  void take(const FirstBlock& block) noexcept;
  void add_row_counts(const RowCounts& counts) noexcept;
  void bring_to(const Pilot& pilot);
  double align_clocks(const MomentState& other, MergeAs as) noexcept;
  void add_panes(MomentState& other, MergeAs as) noexcept;
  void flush() noexcept;
  bool finite() const noexcept;

  StateSettings settings_;
  std::shared_ptr<const BlockKernel> kernel_;
  FirstBlock first_block_;
  std::vector<Pane> panes_;
  Pilot pilot_;
  bool pilot_fixed_ = false;
  bool bulk_is_open_ = false;             // rows of bin 0 may go the short way, see absorb
  std::vector<double> inverse_scale_;     // 1 / pilot_.scale
  std::size_t features_before_constant_;  // all of them where there is none
  Forgetting forgetting_;
  RowCounts row_counts_{};
  std::uint64_t source_ = 0;
  std::uint64_t source_hash_;
  std::uint64_t position_ = 0;  // of the next row in its source
  std::uint64_t filed_ = 0;     // rows put into panes: the clock of a half-life in rows
  std::uint64_t rows_in_pane_ = 0;
  std::uint64_t rows_of_a_pane_;
  std::size_t active_ = 0;  // the pane that rows enter
  double rescaled_ = 1.0;   // what an interval's weights were multiplied by since it began, see Forgetting
  AlignedDoubles workspace_;
  std::vector<double> variables_;  // z of the row at hand
  std::uint8_t last_bin_ = 0;
  std::vector<double> scratch_;  // for the pilot
};

}  // namespace mixstream
