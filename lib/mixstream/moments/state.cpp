#include "mixstream/moments/state.hpp"
#include "mixstream/core/yield_point.hpp"
#include "mixstream/moments/pane.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mixstream {
namespace {

constexpr double vanishing_squares = 1e-290;

std::uint64_t rows_of_a_pane(const Memory& memory) {
  return memory.kind == Memory::Kind::window_rows
             ? static_cast<std::uint64_t>(std::ceil(memory.length / memory.panes))
             : 0;
}

/// As many panes as the window needs: fewer than asked for where its length does not divide evenly.
std::size_t pane_count(const Memory& memory) {
  if (memory.kind == Memory::Kind::three_parts) return part_count;
  if (memory.kind != Memory::Kind::window_rows) return 1;
  return static_cast<std::size_t>(std::ceil(memory.length / static_cast<double>(rows_of_a_pane(memory))));
}

Refusal bad_settings(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

Done check_memory(const Memory& memory) {
  if (memory.kind == Memory::Kind::everything || memory.kind == Memory::Kind::three_parts)
    return std::monostate{};
  if (!(memory.length >= 1e-9 && memory.length <= 1e15))
    return bad_settings("a half-life or window must lie between 1e-9 and 1e15");
  if (memory.kind != Memory::Kind::window_rows) return std::monostate{};
  if (memory.length != std::floor(memory.length)) return bad_settings("a window is a whole number of rows");
  if (memory.panes < 2 || memory.panes > 1024) return bad_settings("a window has 2 to 1024 panes");
  if (memory.length < memory.panes)
    return bad_settings("a window needs at least one row a pane: make it longer or use fewer panes");
  return std::monostate{};
}

Done check_settings(const StateSettings& settings) {
  const Layout& layout = settings.layout;
  if (layout.feature_count < 1 || layout.constant_feature < -1 ||
      layout.constant_feature >= layout.feature_count) {
    return bad_settings("a row needs at least one feature, and the constant must be one of them");
  }
  if (layout.feature_count > largest_variable_count || layout.variables() > largest_variable_count) {
    return Refusal{Reason::too_large, std::to_string(layout.feature_count) +
                                          " features are too many: with constant and response at most " +
                                          std::to_string(largest_variable_count) +
                                          " variables are supported"};
  }
  if (settings.reservoir_rows > 10'000'000) return bad_settings("the sample holds at most 10,000,000 rows");
  if (settings.pilot_rows < 1 || settings.pilot_rows > 65'536)
    return bad_settings("the first block has 1 to 65,536 rows");
  return check_memory(settings.memory);
}

std::size_t sample_rows(const StateSettings& settings) {
  return settings.reservoir_rows > 0 ? settings.reservoir_rows : usual_sample_rows;
}

}  // namespace

Outcome<std::uint64_t> bytes_needed(const StateSettings& settings) {
  if (const Done done = check_settings(settings); !done) return done.refusal();
  const auto m = static_cast<std::uint64_t>(settings.layout.variables());
  const std::uint64_t d = m;  // features and response of a stored row, at most
  constexpr std::uint64_t number = sizeof(double), entry = sizeof(Reservoir::Entry);
  const std::uint64_t block_rows = rows_of_a_block(settings.layout.variables());
  const std::uint64_t tensors = 2 * *monomial_count(m, 6);  // sums and compensation
  const std::uint64_t bin = number * (tensors + (m + 1) * (block_rows + 8));
  const std::uint64_t sample = (sample_rows(settings) + 1) * (d * number + entry);
  const std::uint64_t first_block = settings.pilot_rows * (d + 4) * number;
  const std::uint64_t columns =
      *monomial_count(m, 3);  // of the kernel's workspace, twice, and its panel, sums and plan
  const std::uint64_t scratch =
      number * ((2 * columns + 2) * (block_rows + 8) + variants::panel_doubles + 48 * columns);
  const std::uint64_t state =
      pane_count(settings.memory) * (bin_count * bin + sample + sizeof(Pane)) + first_block + scratch;
  const std::uint64_t bytes = 3 * state;
  if (bytes > settings.memory_budget) {
    return Refusal{
        Reason::too_large,
        "the state of " + std::to_string(m) + " variables and the two copies that a merge makes would take " +
            std::to_string(bytes) + " bytes, the budget is " + std::to_string(settings.memory_budget) +
            ": raise the memory budget, or use fewer features, panes or sample rows"};
  }
  return bytes;
}

Outcome<MomentState> MomentState::create(const StateSettings& settings) {
  if (const auto bytes = bytes_needed(settings); !bytes) return bytes.refusal();
  return MomentState(settings);
}

MomentState::MomentState(const StateSettings& settings)
    : settings_(settings),
      kernel_(std::make_shared<const BlockKernel>(settings.layout.variables())),
      first_block_(settings.pilot_rows, static_cast<std::size_t>(settings.layout.feature_count)),
      pilot_(Pilot::identity(settings.layout.variables())),
      inverse_scale_(pilot_.scale),
      features_before_constant_(static_cast<std::size_t>(
          settings.layout.has_constant() ? settings.layout.constant_feature : settings.layout.feature_count)),
      forgetting_(settings.memory.forgets() ? settings.memory.length : 0.0),
      source_hash_(source_hash(settings.seed, source_)),
      rows_of_a_pane_(rows_of_a_pane(settings.memory)),
      workspace_(kernel_->workspace_size()),
      variables_(pilot_.scale.size(), 1.0),
      scratch_(settings.pilot_rows) {
  settings_.reservoir_rows = sample_rows(settings);
  panes_.reserve(pane_count(settings.memory));
  while (panes_.size() < pane_count(settings.memory))
    panes_.emplace_back(*kernel_, settings_.reservoir_rows, settings.layout);
}

MomentState::MomentState(const MomentState& other) = default;
MomentState& MomentState::operator=(const MomentState& other) = default;
MomentState::MomentState(MomentState&& other) noexcept = default;
MomentState& MomentState::operator=(MomentState&& other) noexcept = default;
MomentState::~MomentState() = default;

MomentState::FirstBlock::FirstBlock(std::size_t capacity, std::size_t feature_count)
    : rows{feature_count, {}, {}, {}} {
  rows.reserve(capacity);
  times.reserve(capacity);
  hashes.reserve(capacity);
}

MomentState::FirstBlock::FirstBlock(const FirstBlock& other)
    : FirstBlock(other.hashes.capacity(), other.rows.feature_count) {
  for (std::size_t i = 0; i < other.size(); ++i) add(other.row(i), other.hashes[i]);
}

MomentState::FirstBlock& MomentState::FirstBlock::operator=(const FirstBlock& other) {
  return *this = FirstBlock(other);
}

Row MomentState::FirstBlock::row(std::size_t i) const noexcept {
  Row row = rows.row(i);
  row.time = times[i];
  return row;
}

void MomentState::FirstBlock::add(const Row& row, std::uint64_t hash) {
  rows.add(row);
  times.push_back(row.time);
  hashes.push_back(hash);
}

void MomentState::FirstBlock::clear() noexcept {
  rows.features.clear();
  rows.responses.clear();
  rows.weights.clear();
  times.clear();
  hashes.clear();
}

void MomentState::begin_source(std::uint64_t source, std::uint64_t position) noexcept {
  position_ = position;
  if (source == source_) return;
  source_ = source;
  source_hash_ = source_hash(settings_.seed, source);
}

Done MomentState::set_pilot(const Pilot& pilot) {
  if (pilot_fixed_ || !first_block_.hashes.empty())
    return bad_settings("the pilot can be given only before the first row");
  if (pilot.scale.size() != pilot_.scale.size() || pilot.shift.size() != pilot_.shift.size()) {
    return Refusal{Reason::wrong_shape, "the pilot needs one shift and one scale for every variable"};
  }
  if (!is_sound(pilot, settings_.layout)) {
    return bad_settings(
        "a pilot has powers of two from 2^-160 to 2^160 as scales, shifts only beside a constant, and leaves "
        "variable 0 alone");
  }
  pilot_ = pilot;
  use_pilot();
  return std::monostate{};
}

/// Fixes the pilot from the rows kept so far and files them; returns the last one's verdict. A row whose time
/// is not believed moves from the accepted to its own count.
RowFault MomentState::end_first_block() noexcept {
  find_pilot(first_block_.rows, settings_.layout, scratch_, pilot_);
  use_pilot();
  if (settings_.memory.kind == Memory::Kind::half_life_seconds && first_block_.size() > 0) {
    const std::span<double> times = std::span(scratch_).first(first_block_.size());
    std::ranges::copy(first_block_.times, times.begin());
    forgetting_.start(quantile(times, 0.5));  // not the first: it may be wrong
  }
  RowFault fault = RowFault::none;
  for (std::size_t i = 0; i < first_block_.size(); ++i) {
    fault = file(first_block_.row(i), first_block_.hashes[i]);
    if (i + 1 == first_block_.size() || fault == RowFault::none) continue;
    --row_counts_[0];
    ++row_counts_[static_cast<std::size_t>(fault)];
  }
  first_block_.clear();
  return fault;
}

void MomentState::use_pilot() noexcept {
  for (std::size_t j = 0; j < inverse_scale_.size(); ++j) inverse_scale_[j] = 1.0 / pilot_.scale[j];
  pilot_fixed_ = true;
  open_bulk();
}

/// The short way is open once the pilot is fixed, where nothing is forgotten and no row of bin 0 is beyond
/// largest_magnitude.
void MomentState::open_bulk() noexcept {
  bulk_is_open_ = pilot_fixed_ && settings_.memory.kind == Memory::Kind::everything;
  for (std::size_t j = 0; j < inverse_scale_.size(); ++j) {
    const double farthest = std::abs(pilot_.shift[j]) + bin_limits[0] * pilot_.scale[j];
    bulk_is_open_ = bulk_is_open_ && farthest <= 0.5 * largest_magnitude;
  }
}

void MomentState::flush() noexcept {
  for (Pane& pane : panes_) pane.flush(*kernel_, workspace_.data());
}

/// Ends the first block as if it were full.
void MomentState::settle() noexcept {
  if (pilot_fixed_) return;
  const RowFault last = end_first_block();
  if (last == RowFault::none) return;
  --row_counts_[0];
  ++row_counts_[static_cast<std::size_t>(last)];
}

MomentState MomentState::settled() const {
  MomentState copy = *this;
  copy.settle();
  return copy;
}

MomentTensor MomentState::moments(const BinMask& bins) const {
  if (!pilot_fixed_) return settled().moments(bins);
  return moments_of(panes_, bins);
}

MomentTensor MomentState::closed_pane_moments(const BinMask& bins) const {
  if (!pilot_fixed_) return settled().closed_pane_moments(bins);
  if (settings_.memory.kind != Memory::Kind::window_rows) return moments_of({}, bins);
  return moments_of({&panes_[(active_ + panes_.size() - 1) % panes_.size()], 1}, bins);
}

MomentTensor MomentState::part_moments(std::size_t part) const {
  if (!pilot_fixed_) return settled().part_moments(part);
  if (settings_.memory.kind != Memory::Kind::three_parts) return moments_of(panes_, all_bins);
  return moments_of({&panes_[part % part_count], 1}, all_bins);
}

MomentTensor MomentState::moments_of(std::span<const Pane> panes, const BinMask& bins) const {
  MomentTensor tensor(settings_.layout, pilot_);
  double weight_squares = 0.0;
  double rows = 0.0;
  std::vector<double> rest(tensor.sums().size());
  AlignedDoubles workspace(workspace_.size());
  for (const Pane& pane : panes) {
    for (std::size_t b = 0; b < bin_count; ++b) {
      if (!bins[b] || pane.moments(b).rows == 0) continue;
      yield_point();
      RowMoments bin = pane.moments(b);
      yield_point();
      kernel_->accumulate(bin.pending, workspace.data(), bin.sums.data(), bin.compensation.data());
      yield_point();
      for (std::size_t i = 0; i < rest.size(); ++i) {
        add_compensated(tensor.sums()[i], rest[i], bin.sums[i]);
        rest[i] += bin.compensation[i];
      }
      weight_squares += bin.weight_squares;
      rows += static_cast<double>(bin.rows);
    }
  }
  const double unit = forgetting_.growth_now();
  for (std::size_t i = 0; i < rest.size(); ++i) tensor.sums()[i] = (tensor.sums()[i] + rest[i]) / unit;
  const double total = tensor.total_weight() * unit;
  tensor.effective_rows = weight_squares > 0.0 ? total / weight_squares * total : 0.0;
  // rows that have all but vanished: their squares are rounded, and there are no more of them than came
  if (weight_squares < vanishing_squares) tensor.effective_rows = std::min(rows, tensor.effective_rows);
  tensor.row_count = row_count();
  return tensor;
}

Sample MomentState::sample() const {
  if (!pilot_fixed_) return settled().sample();
  if (panes_.size() == 1) return panes_.front().reservoir.sample(forgetting_.growth_now());
  Reservoir all(settings_.reservoir_rows, first_block_.rows.feature_count);
  for (const Pane& pane : panes_) all.merge(pane.reservoir, 1.0);
  return all.sample(forgetting_.growth_now());
}

Pilot MomentState::pilot() const {
  return pilot_fixed_ ? pilot_ : pilot_from(first_block_.rows, settings_.layout);
}

std::array<std::uint64_t, bin_count> MomentState::bin_rows() const {
  if (!pilot_fixed_) return settled().bin_rows();
  std::array<std::uint64_t, bin_count> rows{};
  for (const Pane& pane : panes_) {
    for (std::size_t b = 0; b < bin_count; ++b) rows[b] += pane.moments(b).rows;
  }
  return rows;
}

bool operator==(const MomentState& one, const MomentState& two) {
  return one.settings_ == two.settings_ && one.pilot_ == two.pilot_ && one.pilot_fixed_ == two.pilot_fixed_ &&
         one.forgetting_ == two.forgetting_ && one.row_counts_ == two.row_counts_ &&
         one.source_ == two.source_ && one.position_ == two.position_ && one.filed_ == two.filed_ &&
         one.rows_in_pane_ == two.rows_in_pane_ && one.active_ == two.active_ &&
         one.first_block_ == two.first_block_ && one.panes_ == two.panes_;
}

}  // namespace mixstream
