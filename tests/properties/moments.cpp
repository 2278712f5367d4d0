// Laws of the moment state, on streams that rapidcheck makes up. Run with another seed:
// RC_PARAMS="seed=7 max_success=1000" build/tests/properties/properties
#include <rapidcheck.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state.hpp"
#include "support/streams.hpp"

using namespace mixstream;
using streams::Stream;

namespace {

Layout some_layout() {
  const int features = *rc::gen::inRange(1, 5);
  return {features, *rc::gen::inRange(-1, features)};
}

/// Whole numbers or real ones, few rows or many.
Stream some_stream(const Layout& layout, bool whole) {
  const auto rows = *rc::gen::inRange<std::size_t>(0, 400);
  const auto seed = *rc::gen::arbitrary<unsigned>();
  if (whole) return streams::whole_stream(rows, seed, layout);
  const double centre = *rc::gen::element(0.0, 0.5, 30.0, -400.0);
  const double spread = *rc::gen::element(0.01, 1.0, 20.0);
  return streams::random_stream(rows, seed, {layout, centre, spread});
}

Memory some_memory() {
  using Kind = Memory::Kind;
  return *rc::gen::element(Memory{}, Memory{Kind::half_life_rows, 2.5}, Memory{Kind::half_life_rows, 100.0},
                           Memory{Kind::half_life_seconds, 30.0}, Memory{Kind::window_rows, 60.0, 5});
}

MomentState filled(const Stream& stream, std::uint64_t source, const Memory& memory = {}) {
  StateSettings settings = streams::settings_for(stream);
  settings.memory = memory;
  MomentState state = streams::make_state(settings);
  state.begin_source(source);
  for (std::size_t i = 0; i < stream.size(); ++i) state.absorb(stream.row(i));
  return state;
}

MomentState merged(MomentState one, const MomentState& two, MergeAs as = MergeAs::one_stream) {
  RC_ASSERT(one.merge(two, as));
  return one;
}

/// Close as raw moments, relative to the absolute terms of the coordinates the sums were made in.
void assert_close(const MomentState& one, const MomentState& two) {
  const MomentTensor first = one.moments();
  RC_ASSERT(streams::worst_difference(first, two.moments().in_coordinates(first.pilot())) < 1e-9);
  RC_ASSERT(one.row_count() == two.row_count());
  RC_ASSERT(one.sample().rows.size() == two.sample().rows.size());
}

/// One state a part, with an equal pilot, row i of the whole always at position i.
std::vector<MomentState> split(const Stream& stream, const std::vector<std::size_t>& part_of_row,
                               std::size_t parts) {
  std::vector<MomentState> states(parts, streams::make_state(streams::settings_for(stream)));
  for (MomentState& state : states) RC_ASSERT(state.set_pilot(Pilot::identity(stream.layout.variables())));
  for (std::size_t i = 0; i < stream.size(); ++i) {
    states[part_of_row[i]].begin_source(0, i);
    RC_ASSERT(states[part_of_row[i]].absorb(stream.row(i)) == RowFault::none);
  }
  return states;
}

bool merge_is_commutative() {
  return rc::check("merging is commutative to rounding", [] {
    const Layout layout = some_layout();
    const MomentState one = filled(some_stream(layout, false), 1);
    const MomentState two = filled(some_stream(layout, false), 2);
    const MomentState forth = merged(one, two);
    const MomentState back = merged(two, one);
    assert_close(forth, back);
    RC_ASSERT(forth.sample().rows.responses == back.sample().rows.responses);
  });
}

bool merge_is_associative() {
  return rc::check("merging is associative to rounding", [] {
    const Layout layout = some_layout();
    const MomentState one = filled(some_stream(layout, false), 1);
    const MomentState two = filled(some_stream(layout, false), 2);
    const MomentState three = filled(some_stream(layout, false), 3);
    const MomentState left = merged(merged(one, two), three);
    const MomentState right = merged(one, merged(two, three));
    assert_close(left, right);
    RC_ASSERT(left.sample().rows.responses == right.sample().rows.responses);
  });
}

bool fresh_is_identity() {
  return rc::check("a fresh state is the identity of merging", [] {
    const Memory memory = some_memory();
    const Stream stream = some_stream(some_layout(), false);
    const Stream nothing{stream.layout, {}, {}, {}, {}};
    const MomentState state = filled(stream, 0, memory);
    MomentState fresh = filled(nothing, 0, memory);
    RC_ASSERT(merged(state, fresh, MergeAs::independent_streams) == state);
    fresh.begin_source(0, state.next_position());
    RC_ASSERT(merged(fresh, state, MergeAs::independent_streams) == state);
  });
}

bool any_split_merges_to_the_same() {
  return rc::check("any split of whole numbers merges to equal moments, bins and sample", [] {
    const Stream stream = some_stream(some_layout(), true);
    const auto parts = *rc::gen::inRange<std::size_t>(1, 6);
    const auto part_of_row =
        *rc::gen::container<std::vector<std::size_t>>(stream.size(), rc::gen::inRange<std::size_t>(0, parts));
    std::vector<MomentState> states = split(stream, part_of_row, parts);
    while (states.size() > 1) {  // in any order, as any tree
      const auto from = *rc::gen::inRange<std::size_t>(0, states.size());
      std::swap(states[from], states.back());
      const MomentState last = std::move(states.back());
      states.pop_back();
      const auto into = *rc::gen::inRange<std::size_t>(0, states.size());
      RC_ASSERT(states[into].merge(last));
    }
    const MomentState whole = split(stream, std::vector<std::size_t>(stream.size(), 0), 1)[0];
    RC_ASSERT(states[0].moments().sums() == whole.moments().sums());
    RC_ASSERT(states[0].moments().effective_rows == whole.moments().effective_rows);
    RC_ASSERT(states[0].bin_rows() == whole.bin_rows());
    RC_ASSERT(states[0].sample().rows == whole.sample().rows);
    RC_ASSERT(states[0].sample().bins == whole.sample().bins);
  });
}

bool order_does_not_matter() {
  return rc::check("the order of rows does not matter without forgetting", [] {
    const Stream stream = some_stream(some_layout(), true);
    std::vector<std::size_t> order(stream.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    std::ranges::shuffle(order, random);
    MomentState state = streams::make_state(streams::settings_for(stream));
    RC_ASSERT(state.set_pilot(Pilot::identity(stream.layout.variables())));
    for (const std::size_t i : order) {
      state.begin_source(0, i);
      state.absorb(stream.row(i));
    }
    const MomentState straight = split(stream, std::vector<std::size_t>(stream.size(), 0), 1)[0];
    RC_ASSERT(state.moments().sums() == straight.moments().sums());
    RC_ASSERT(state.bin_rows() == straight.bin_rows());
    RC_ASSERT(state.sample().rows == straight.sample().rows);
  });
}

bool snapshot_is_the_state() {
  return rc::check("decode(encode(s)) == s, and it goes on bit for bit", [] {
    const Memory memory = some_memory();
    const Layout layout = some_layout();
    const Stream stream = some_stream(layout, false);
    const Stream more = some_stream(layout, false);
    MomentState state = filled(stream, *rc::gen::arbitrary<std::uint64_t>(), memory);
    if (*rc::gen::arbitrary<bool>())
      state = merged(state, filled(some_stream(layout, false), 9, memory), MergeAs::independent_streams);
    std::vector<Section> guests;
    for (auto count = *rc::gen::inRange(0, 3); count > 0; --count) {
      guests.push_back({first_guest_type + *rc::gen::inRange<std::uint32_t>(0, 1000),
                        Bytes(*rc::gen::inRange<std::size_t>(0, 40), std::byte{5})});
    }
    Outcome<Snapshot> decoded = decode(encode(state, guests));
    RC_ASSERT(static_cast<bool>(decoded));
    RC_ASSERT(decoded.value().state == state);
    RC_ASSERT(decoded.value().guests == guests);
    for (std::size_t i = 0; i < more.size(); ++i)
      RC_ASSERT(state.absorb(more.row(i)) == decoded.value().state.absorb(more.row(i)));
    RC_ASSERT(encode(state) == encode(decoded.value().state));
  });
}

}  // namespace

int main() {
  const bool laws[] = {merge_is_commutative(),         merge_is_associative(),  fresh_is_identity(),
                       any_split_merges_to_the_same(), order_does_not_matter(), snapshot_is_the_state()};
  return std::ranges::all_of(laws, [](bool holds) { return holds; }) ? 0 : 1;
}
