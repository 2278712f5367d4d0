#include "mixstream/moments/codec.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "mixstream/moments/pane.hpp"
#include "mixstream/moments/sections.hpp"

namespace mixstream {
namespace {

constexpr FileKind state_file{0x455441545358494DULL, state_version, "state"};  // "MIXSTATE" in little-endian

enum SectionType : std::uint32_t {
  settings_section = 1,
  progress_section = 2,
  first_block_section = 3,
  pane_section = 4
};

Refusal damaged(const std::string& what) {
  return damaged_file(state_file, what);
}

// A sound state stays below this with room for all rows to come.
constexpr double largest_sum = 1e300;
constexpr double largest_total_weight = 1e60;
constexpr std::uint64_t largest_row_number = 0xffffffff;  // also fits the size_t of 32-bit processors

bool all_within(std::span<const double> values, double limit) {
  return std::ranges::all_of(values, [limit](double value) { return std::abs(value) <= limit; });
}

}  // namespace

/// Writes and reads the private parts of a state, section by section.
class StateCodec {
 public:
  static void settings(ByteWriter& out, const StateSettings& s) {
    out.put(static_cast<std::uint32_t>(s.layout.feature_count));
    out.put(static_cast<std::uint32_t>(s.layout.constant_feature + 1));
    out.put(static_cast<std::uint32_t>(s.memory.kind));
    out.put(static_cast<std::uint32_t>(s.memory.panes));
    out.put(s.memory.length);
    out.put(static_cast<std::uint64_t>(s.reservoir_rows));
    out.put(static_cast<std::uint64_t>(s.pilot_rows));
    out.put(s.seed);
    out.put_text(s.feature_map);
    out.put_text(s.response);
  }

  static Outcome<StateSettings> settings(ByteReader in, std::uint64_t memory_budget) {
    StateSettings s;
    const auto feature_count = in.take<std::uint32_t>();
    const auto constant = in.take<std::uint32_t>();
    const auto kind = in.take<std::uint32_t>();
    const auto panes = in.take<std::uint32_t>();
    s.memory.length = in.take_double();
    const auto reservoir_rows = in.take<std::uint64_t>();
    const auto pilot_rows = in.take<std::uint64_t>();
    s.seed = in.take<std::uint64_t>();
    s.feature_map = in.take_text();
    s.response = in.take_text();
    s.memory_budget = memory_budget;
    if (!in.ok() || !in.at_end()) return damaged("the settings are cut short");
    if (feature_count > largest_variable_count || constant > feature_count || kind > 4 || panes > 1024 ||
        !std::isfinite(s.memory.length) || reservoir_rows == 0 ||
        std::max(reservoir_rows, pilot_rows) > largest_row_number) {
      return damaged("impossible settings");
    }
    s.layout = {static_cast<int>(feature_count), static_cast<int>(constant) - 1};
    s.memory.kind = static_cast<Memory::Kind>(kind);
    s.memory.panes = static_cast<int>(panes);
    s.reservoir_rows = static_cast<std::size_t>(reservoir_rows);
    s.pilot_rows = static_cast<std::size_t>(pilot_rows);
    return s;
  }

  static void progress(ByteWriter& out, const MomentState& s) {
    out.put(static_cast<std::uint32_t>(state_fault_count));
    for (const std::uint64_t count : s.row_counts_) out.put(count);
    for (const std::uint64_t number : {s.source_, s.position_, s.filed_, s.rows_in_pane_}) out.put(number);
    out.put(static_cast<std::uint32_t>(s.active_));
    out.put(static_cast<std::uint32_t>(s.pilot_fixed_));
    out.put(s.forgetting_.clock().reference);
    out.put(s.forgetting_.clock().latest);
    out.put(s.forgetting_.clock().suspicions);
    out.put(static_cast<std::uint32_t>(s.forgetting_.clock().started));
    out.put(std::span<const double>(s.pilot_.shift));
    out.put(std::span<const double>(s.pilot_.scale));
  }

  static Done progress(ByteReader in, MomentState& s) {
    if (in.take<std::uint32_t>() != state_fault_count) return damaged("impossible progress");
    for (std::uint64_t& count : s.row_counts_) count = in.take<std::uint64_t>();
    for (std::uint64_t* number : {&s.source_, &s.position_, &s.filed_, &s.rows_in_pane_})
      *number = in.take<std::uint64_t>();
    s.active_ = in.take<std::uint32_t>();
    const auto fixed = in.take<std::uint32_t>();
    Forgetting::Clock clock;
    clock.reference = in.take_double();
    clock.latest = in.take_double();
    clock.suspicions = in.take<std::uint32_t>();
    const auto started = in.take<std::uint32_t>();
    clock.started = started != 0;
    in.take(s.pilot_.shift);
    in.take(s.pilot_.scale);
    if (!in.ok() || !in.at_end()) return damaged("the progress is cut short");
    s.forgetting_.restore(clock);
    const double growth = s.forgetting_.growth_now();
    const bool sound = s.active_ < s.panes_.size() && s.rows_in_pane_ <= s.rows_of_a_pane_ && fixed <= 1 &&
                       started <= 1 && std::isfinite(clock.reference) && std::isfinite(clock.latest) &&
                       clock.suspicions < Forgetting::enough_rows && growth >= 0.5 && growth <= 0x1p66 &&
                       is_sound(s.pilot_, s.settings_.layout);
    if (!sound) return damaged("impossible progress");
    s.use_pilot();
    s.pilot_fixed_ = fixed != 0;
    s.open_bulk();
    s.source_hash_ = source_hash(s.settings_.seed, s.source_);
    return std::monostate{};
  }

  static void first_block(ByteWriter& out, const MomentState& s) {
    const MomentState::FirstBlock& block = s.first_block_;
    out.put(static_cast<std::uint64_t>(block.size()));
    out.put(std::span<const double>(block.rows.features));
    out.put(std::span<const double>(block.rows.responses));
    out.put(std::span<const double>(block.rows.weights));
    out.put(std::span<const double>(block.times));
    for (const std::uint64_t hash : block.hashes) out.put(hash);
  }

  static Done first_block(ByteReader in, MomentState& s) {
    const auto rows = in.take<std::uint64_t>();
    const std::size_t d = s.first_block_.rows.feature_count;
    if (rows >= s.settings_.pilot_rows || (rows > 0 && s.pilot_fixed_) || in.left() != rows * (d + 4) * 8) {
      return damaged("the first block has an impossible size");
    }
    const auto count = static_cast<std::size_t>(rows);
    std::vector<double> numbers(count * (d + 3));  // features, then responses, weights and times
    in.take(numbers);
    const auto part = [&](std::size_t column, std::size_t i) { return numbers[count * (d + column) + i]; };
    for (std::size_t i = 0; i < count; ++i) {
      const Row row{{numbers.data() + i * d, d}, part(0, i), part(1, i), part(2, i)};
      if (check(row, d, s.settings_.layout.constant_feature) != RowFault::none)
        return damaged("a row of the first block is not sound");
      s.first_block_.add(row, in.take<std::uint64_t>());
    }
    return std::monostate{};
  }

  static void pane(ByteWriter& out, const Pane& pane) {
    for (const MomentSet& bin : pane.bins) put_bin(out, row_moments(bin));
    out.put(static_cast<std::uint64_t>(pane.reservoir.entries().size()));
    for (const Reservoir::Entry& entry : pane.reservoir.entries()) {
      out.put(entry.key);
      out.put(entry.hash);
      out.put(entry.weight);
      out.put(static_cast<std::uint32_t>(entry.bin));
      out.put(pane.reservoir.values(entry));
    }
  }

  static Done pane(ByteReader in, MomentState& s, Pane& pane) {
    for (MomentSet& set : pane.bins) {
      RowMoments& bin = held_moments(set);
      if (!take_bin(in, s, bin)) return damaged("a tensor is cut short or not sound");
      if (bin.rows > 0 && !s.pilot_fixed_) return damaged("there are moments without a pilot");
    }
    const auto rows = in.take<std::uint64_t>();
    std::vector<double> values(pane.reservoir.feature_count() + 1);
    if (!in.ok() || rows > pane.reservoir.capacity() + 1 || in.left() != rows * (28 + 8 * values.size())) {
      return damaged("the sample has an impossible size");
    }
    for (std::uint64_t i = 0; i < rows; ++i) {
      Reservoir::Entry entry{};
      entry.key = in.take_double();
      entry.hash = in.take<std::uint64_t>();
      entry.weight = in.take_double();
      const auto bin = in.take<std::uint32_t>();
      in.take(values);
      entry.bin = static_cast<std::uint8_t>(bin);
      if (bin >= bin_count || !is_row(values, s) || !pane.reservoir.restore(entry, values))
        return damaged("a row of the sample is not sound");
    }
    return std::monostate{};
  }

  static Outcome<MomentState> create(const StateSettings& settings) { return MomentState::create(settings); }
  static std::vector<Pane>& panes(MomentState& state) { return state.panes_; }
  static const std::vector<Pane>& panes(const MomentState& state) { return state.panes_; }

 private:
  /// Whether features and response could have been accepted.
  static bool is_row(std::span<const double> values, const MomentState& s) {
    const Row row{values.first(values.size() - 1), values.back()};
    return check(row, row.features.size(), s.settings_.layout.constant_feature) == RowFault::none;
  }

  static void put_bin(ByteWriter& out, const RowMoments& bin) {
    out.put(bin.rows);
    if (bin.rows == 0) return;
    out.put(bin.weight_squares);
    out.put(std::span<const double>(bin.sums));
    out.put(std::span<const double>(bin.compensation));
    out.put(static_cast<std::uint32_t>(bin.pending.rows()));
    std::vector<double> z(bin.pending.variables());
    for (std::size_t row = 0; row < bin.pending.rows(); ++row) {
      bin.pending.copy_row(row, z.data());
      out.put(std::span<const double>(z));
      out.put(bin.pending.weights()[row]);
    }
  }

  /// A version with longer blocks may have left more rows than a block now holds: those are folded in.
  static bool take_bin(ByteReader& in, MomentState& s, RowMoments& bin) {
    bin.rows = in.take<std::uint64_t>();
    if (bin.rows == 0) return in.ok();
    bin.weight_squares = in.take_double();
    in.take(bin.sums);
    in.take(bin.compensation);
    const auto pending = in.take<std::uint32_t>();
    const bool sound = in.ok() && bin.weight_squares >= 0.0 && bin.weight_squares <= largest_sum &&
                       bin.sums[0] >= 0.0 && bin.sums[0] <= largest_total_weight &&
                       all_within(bin.sums, largest_sum) && all_within(bin.compensation, largest_sum) &&
                       pending < largest_block_rows && pending <= bin.rows;
    if (!sound) return false;
    std::vector<double> z(bin.pending.variables());
    for (std::uint32_t row = 0; row < pending; ++row) {
      in.take(z);
      const double weight = in.take_double();
      const bool fits = in.ok() && z[0] == 1.0 && all_within(z, largest_variable) && weight >= 0.0 &&
                        weight <= 0x1p66 * largest_weight;
      if (!fits) return false;
      bin.pending.append(z.data(), weight);
      if (bin.pending.full()) bin.fold(*s.kernel_, s.workspace_.data());
    }
    return true;
  }
};

Bytes encode(const MomentState& state, std::span<const Section> guests) {
  ByteWriter out;
  begin_file(out, state_file);
  put_section(out, settings_section, [&] { StateCodec::settings(out, state.settings()); });
  put_section(out, progress_section, [&] { StateCodec::progress(out, state); });
  put_section(out, first_block_section, [&] { StateCodec::first_block(out, state); });
  for (const Pane& pane : StateCodec::panes(state)) {
    put_section(out, pane_section, [&] { StateCodec::pane(out, pane); });
  }
  for (const Section& guest : guests) {
    put_section(out, guest.type, [&] { out.put(std::span<const std::byte>(guest.bytes)); });
  }
  end_file(out);
  return std::move(out).take();
}

Bytes with_guest(std::span<const std::byte> snapshot, const Section& guest) {
  ByteWriter out;
  begin_again(out, snapshot);
  put_section(out, guest.type, [&] { out.put(std::span<const std::byte>(guest.bytes)); });
  end_file(out);
  return std::move(out).take();
}

std::optional<std::span<const std::byte>> guest_of(std::span<const std::byte> snapshot, std::uint32_t type) {
  const Outcome<std::span<const std::byte>> content = sections_of(snapshot, state_file, false);
  if (!content) return {};
  ByteReader in(content.value());
  while (const std::optional<FoundSection> section = next_section(in)) {
    if (section->type == type) return section->payload;
  }
  return {};
}

namespace {

/// Our own sections stand in a fixed order: settings, progress, first block, every pane.
Done read_state_sections(ByteReader& in, MomentState& state) {
  std::vector<Pane>& panes = StateCodec::panes(state);
  for (std::size_t number = 0; number < 2 + panes.size(); ++number) {
    const std::uint32_t wanted =
        number == 0 ? progress_section : (number == 1 ? first_block_section : pane_section);
    const std::optional<FoundSection> section = next_section(in);
    if (!section || section->type != wanted) return damaged("a section is missing");
    const ByteReader payload(section->payload);
    const Done done = number == 0   ? StateCodec::progress(payload, state)
                      : number == 1 ? StateCodec::first_block(payload, state)
                                    : StateCodec::pane(payload, state, panes[number - 2]);
    if (!done) return done;
  }
  return std::monostate{};
}

}  // namespace

Outcome<Snapshot> decode(std::span<const std::byte> bytes, const DecodeSettings& settings) {
  const Outcome<std::span<const std::byte>> content = sections_of(bytes, state_file, settings.trust_checksum);
  if (!content) return content.refusal();
  ByteReader in(content.value());
  const std::optional<FoundSection> first = next_section(in);
  if (!first || first->type != settings_section) return damaged("the settings are missing");
  Outcome<StateSettings> found = StateCodec::settings(ByteReader(first->payload), settings.memory_budget);
  if (!found) return found.refusal();
  Outcome<MomentState> created = StateCodec::create(found.value());
  if (!created) return created.refusal();
  Snapshot snapshot{std::move(created).value(), {}};
  if (const Done done = read_state_sections(in, snapshot.state); !done) return done.refusal();
  while (!in.at_end()) {
    const std::optional<FoundSection> guest = next_section(in);
    if (!guest) return damaged("a section is cut short");
    if (guest->type < first_guest_type)
      return Refusal{Reason::unknown_version, "the state holds a section of a later version"};
    snapshot.guests.push_back({guest->type, Bytes(guest->payload.begin(), guest->payload.end())});
  }
  return snapshot;
}

}  // namespace mixstream
