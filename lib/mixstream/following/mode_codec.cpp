// One list of fields for both directions: what is written is what is read.
#include "mixstream/following/mode_codec.hpp"

#include <type_traits>

namespace mixstream {
namespace {

constexpr std::uint64_t largest_list = 1ULL << 26;  // entries; no list here comes near

class Writing {
 public:
  explicit Writing(ByteWriter& out) : out_(out) {}

  void number(double value) { out_.put(value); }
  void number(std::uint64_t value) { out_.put(value); }
  template <typename Small>
  requires(std::is_enum_v<Small> || std::is_same_v<Small, bool> ||
           std::is_same_v<Small, std::uint32_t>) void number(Small value) {
    out_.put(static_cast<std::uint64_t>(value));
  }
  void text(const std::string& words) { out_.put_text(words); }
  void list(const std::vector<double>& values) {
    out_.put(static_cast<std::uint64_t>(values.size()));
    out_.put(std::span<const double>(values));
  }
  template <typename Value, typename Visit>
  void each(const std::vector<Value>& values, Visit visit) {
    out_.put(static_cast<std::uint64_t>(values.size()));
    for (const Value& value : values) visit(*this, value);
  }
  template <typename Value, typename Visit>
  void maybe(const std::optional<Value>& value, Visit visit) {
    number(value.has_value());
    if (value) visit(*this, *value);
  }

 private:
  ByteWriter& out_;
};

class Reading {
 public:
  explicit Reading(ByteReader& in) : in_(in) {}

  void number(double& value) { value = in_.take_double(); }
  void number(std::uint64_t& value) { value = in_.take<std::uint64_t>(); }
  void number(bool& value) { value = in_.take<std::uint64_t>() != 0; }
  void number(std::uint32_t& value) { value = static_cast<std::uint32_t>(in_.take<std::uint64_t>()); }
  void number(Modes& value) { value = named<Modes>(Modes::gated); }
  void number(ChainNext& value) { value = named<ChainNext>(ChainNext::begins_after_cut); }
  void number(NoiseModel& value) { value = named<NoiseModel>(NoiseModel::known); }
  void text(std::string& words) { words = in_.take_text(); }
  void list(std::vector<double>& values) {
    values.resize(count(sizeof(double)));
    in_.take(values);
  }
  template <typename Value, typename Visit>
  void each(std::vector<Value>& values, Visit visit) {
    values.resize(count(8));
    for (Value& value : values) {
      if (in_.ok()) visit(*this, value);
    }
  }
  template <typename Value, typename Visit>
  void maybe(std::optional<Value>& value, Visit visit) {
    bool there = false;
    number(there);
    if (there && in_.ok()) visit(*this, value.emplace());
  }

 private:
  std::size_t count(std::size_t least_bytes) {
    const auto size = in_.take<std::uint64_t>();
    if (size <= largest_list && size * least_bytes <= in_.left()) return size;
    in_.fail();
    return 0;
  }
  template <typename Enum>
  Enum named(Enum largest) {
    const auto number = in_.take<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(largest)) in_.fail();
    return in_.ok() ? static_cast<Enum>(number) : Enum{};
  }

  ByteReader& in_;
};

constexpr auto words = [](auto& archive, auto& text) { archive.text(text); };
constexpr auto whole = [](auto& archive, auto& number) { archive.number(number); };

constexpr auto chain_entry = [](auto& a, auto& entry) {
  a.number(entry.sensor);
  a.number(entry.time);
  a.number(entry.spoke);
  a.number(entry.missing);
  a.number(entry.next);
};

constexpr auto chains = [](auto& a, auto& state) {
  a.number(state.settings.most_chains);
  a.number(state.settings.gap_seconds);
  a.each(state.entries, chain_entry);
  a.number(state.rows);
  a.number(state.cut_by_gap);
  a.number(state.ran_back);
  a.number(state.evicted);
};

constexpr auto runs = [](auto& a, auto& state) {
  a.number(state.feature_count);
  a.number(state.run_rows);
  a.number(state.most_runs);
  a.number(state.apart);
  a.number(state.runs);
  a.each(state.held, whole);
  a.number(state.open_rows);
  a.list(state.rows);
  a.number(state.raw);
};

constexpr auto shape = [](auto& a, auto& state) {
  a.number(state.component_count);
  a.number(state.feature_count);
  a.number(state.modes);
  a.each(state.gate, whole);
  a.number(state.noise);
  a.number(state.noise_shape.tails);
  a.number(state.noise_shape.memory);
};

constexpr auto sums = [](auto& a, auto& state) {
  a.list(state.information);
  a.list(state.gradient);
  a.list(state.counts);
  a.number(state.weight);
};

constexpr auto batch = [](auto& a, auto& state) {
  a.number(state.weight);
  a.list(state.score);
  a.list(state.information);
};

constexpr auto polish = [](auto& a, auto& state) {
  a.number(state.settings.first_move);
  a.number(state.settings.move_every);
  a.number(state.settings.most_chains);
  shape(a, state.shape);
  a.list(state.parameters);
  a.list(state.known_variances);
  sums(a, state.sums);
  sums(a, state.older);
  a.list(state.free);
  a.list(state.visits);
  a.each(state.batches, batch);
  a.number(state.batch_weight);
  a.list(state.block);
  a.list(state.block_weights);
  a.list(state.block_use);
  a.list(state.chains);
  a.number(state.growth);
  a.number(state.rows);
  a.number(state.rows_since_move);
  a.number(state.moves);
  a.number(state.refused_moves);
  a.number(state.fades);
  a.number(state.changes);
  a.number(state.log_likelihood);
  a.number(state.weight);
};

constexpr auto fading = [](auto& a, auto& state) {
  a.list(state.score);
  a.list(state.information);
  a.number(state.weight);
  a.number(state.weight_squares);
};

constexpr auto drift = [](auto& a, auto& state) {
  a.number(state.settings.block_rows);
  a.number(state.settings.settle_rows);
  a.number(state.settings.limit);
  a.number(state.settings.enough_changes);
  a.number(state.settings.change_limit);
  for (auto& recent : state.recent) fading(a, recent);
  fading(a, state.block);
  a.list(state.counts);
  a.list(state.ways.counts);
  a.number(state.ways.stretch_blocks);
  a.number(state.ways.open_blocks);
  a.number(state.block_rows);
  a.number(state.out);
  a.number(state.deviations);
};

constexpr auto trial = [](auto& a, auto& state) {
  a.each(state.entrants, polish);
  a.list(state.before);
  a.number(state.rows);
  a.each(state.because, words);
};

constexpr auto chosen = [](auto& a, auto& state) {
  a.number(state.row);
  a.number(state.modes);
  a.number(state.noise);
  a.number(state.noise_shape.tails);
  a.number(state.noise_shape.memory);
  a.number(state.gain);
  a.text(state.because);
};

constexpr auto stay = [](auto& a, auto& state) {
  a.number(state.mode);
  a.number(state.rows);
  a.number(state.whole);
};

constexpr auto trace = [](auto& a, auto& state) {
  a.number(state.stretches);
  a.number(state.stretch_rows);
  a.number(state.open_rows);
  a.list(state.shares);
  a.each(state.stays, whole);
  a.each(state.now, stay);
  a.each(state.last, whole);
  a.number(state.rows);
};

constexpr auto driver = [](auto& a, auto& state) {
  chains(a, state.chains);
  runs(a, state.runs);
  a.maybe(state.polish, polish);
  a.maybe(state.drift, drift);
  a.number(state.resets);
  a.number(state.too_many_laws);
  a.maybe(state.trial, trial);
  a.each(state.chosen, chosen);
  a.maybe(state.trace, trace);
};

}  // namespace

void put(ByteWriter& out, const ModeDriverState& state) {
  Writing archive(out);
  driver(archive, state);
}

ModeDriverState take_mode_driver(ByteReader& in) {
  Reading archive(in);
  ModeDriverState state;
  driver(archive, state);
  return state;
}

}  // namespace mixstream
