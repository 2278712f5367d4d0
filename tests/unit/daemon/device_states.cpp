// States of devices: the newest of each epoch counts, whatever comes twice, late or damaged.
#include "devices/device_states.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/device_message.hpp"
#include "mixstream/moments/sections.hpp"

using namespace mixstream;

namespace {

constexpr std::uint64_t most_generations = 1000;

EstimatorSettings settings_of() {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.state.response = "y";
  settings.state.reservoir_rows = 500;
  settings.solve.component_count = 2;
  settings.solve.polish = PolishKind::off;
  return settings;
}

template <class State>
void absorb(State& state, std::uint64_t source, std::uint64_t from, std::uint64_t count) {
  Random numbers(source * 1000003);
  for (std::uint64_t i = 0; i < from + count; ++i) {
    const double x[2] = {1.0, 2.0 * numbers.uniform() - 1.0};
    const double y =
        (numbers.uniform() < 0.4 ? 1.0 + 2.0 * x[1] : -1.0 + 0.5 * x[1]) + 0.1 * numbers.normal();
    if (i >= from) state.absorb({x, y});
  }
}

MomentState state_of(std::uint64_t source, std::uint64_t rows,
                     const StateSettings& settings = settings_of().state) {
  MomentState state = MomentState::create(settings).value();
  state.begin_source(source);
  absorb(state, source, 0, rows);
  return state;
}

Bytes message_of(const std::string& device, std::uint64_t epoch, std::uint64_t generation,
                 const Bytes& state) {
  return encode(DeviceMessage{device, epoch, generation, state});
}

Bytes message_of(const std::string& device, std::uint64_t epoch, std::uint64_t generation,
                 std::uint64_t rows) {
  return message_of(device, epoch, generation,
                    encode(state_of(std::hash<std::string>{}(device) % 1000 * 10 + epoch, rows)));
}

DeviceStates table(const DeviceSettings& settings = {.enabled = true}, std::size_t most_devices = 100) {
  return {settings_of().state, settings, most_devices, most_generations};
}

StateFault fault_of(DeviceStates& devices, const Bytes& message) {
  return devices.take("", message).fault;
}

/// The same state with its doubles changed by `change`, and checksums that fit.
template <class Change>
Bytes forged(Bytes state, Change change) {
  change(state);
  state.resize(state.size() - 8);
  ByteWriter out;
  out.put(checksum(state));
  state.insert(state.end(), out.written().begin(), out.written().end());
  return state;
}

}  // namespace

TEST_CASE("a device message is what was sent, or refused") {
  const Bytes state = encode(state_of(1, 300));
  const Bytes message = message_of("pump-7", 3, 9, state);
  const DeviceMessage read = decode_device_message(message).value();
  CHECK(read.device == "pump-7");
  CHECK(read.epoch == 3);
  CHECK(read.generation == 9);
  CHECK(std::ranges::equal(read.state, state));
  for (std::size_t cut = 0; cut < message.size(); cut += 97)
    CHECK_FALSE(decode_device_message(std::span(message).first(cut)));
  for (std::size_t place = 0; place < message.size(); place += 61) {
    Bytes flipped = message;
    flipped[place] ^= std::byte{4};
    CHECK_FALSE(decode_device_message(flipped));
  }
  CHECK_FALSE(decode_device_message(message_of(std::string(257, 'x'), 1, 1, state)));
  CHECK_FALSE(decode_device_message(message_of("x", largest_epoch + 1, 1, state)));
}

TEST_CASE("the newest generation of each epoch counts once") {
  DeviceStates devices = table();
  CHECK(devices.take("", message_of("a", 1, 1, 400)).fate == StateFate::kept);
  CHECK(devices.take("", message_of("a", 1, 3, 900)).fate == StateFate::kept);
  CHECK(devices.take("", message_of("a", 1, 2, 600)).fate == StateFate::repeated);
  CHECK(devices.take("", message_of("a", 1, 3, 900)).fate == StateFate::repeated);
  CHECK(devices.rows() == 900);
  CHECK(devices.take("", message_of("a", 2, 1, 50)).fate == StateFate::kept);    // it began anew
  CHECK(devices.take("", message_of("a", 1, 4, 1000)).fate == StateFate::kept);  // late, of before
  CHECK(devices.take("", message_of("b", 1, 1, 10)).fate == StateFate::kept);
  CHECK(devices.rows() == 1060);
  CHECK(devices.take("", message_of("a", 3, 1, 70)).fate == StateFate::kept);  // closes the first epoch
  CHECK(devices.rows() == 1130);
  CHECK(fault_of(devices, message_of("a", 1, 5, 1100)) == StateFault::epoch_closed);
  CHECK(devices.rows() == 1130);
  CHECK(devices.repeated() == 2);
  CHECK(devices.device_count() == 2);
  CHECK(merge_states(devices.parts(), settings_of().state).value().state.row_count() == 1130);
}

TEST_CASE("a table read back is the table") {
  DeviceStates devices = table();
  for (std::uint64_t epoch = 1; epoch < 5; ++epoch)
    for (const char* const name : {"a", "b"}) devices.take("", message_of(name, epoch, 1, 300 + epoch));
  devices.take("", message_of("a", 4, 1, 300));
  const Bytes bytes = devices.encode();
  DeviceStates again = table();
  REQUIRE(again.restore(bytes));
  CHECK(again.encode() == bytes);
  CHECK(again.rows() == devices.rows());
  CHECK(again.held_bytes() == devices.held_bytes());
  CHECK(fault_of(again, message_of("a", 2, 7, 400)) == StateFault::epoch_closed);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 4001) {
    DeviceStates damaged = table();
    CHECK_FALSE(damaged.restore(std::span(bytes).first(cut)));
  }
}

TEST_CASE("a state without names is of the stream's, as those of loops in C") {
  StateSettings nameless = settings_of().state;
  nameless.feature_map.clear();
  nameless.response.clear();
  const JudgedState judged = judge_state(encode(state_of(1, 700, nameless)), settings_of().state, {});
  CHECK(judged.words.empty());
  REQUIRE(judged.bytes);
  CHECK(*judged.bytes == encode(state_of(1, 700)));
}

TEST_CASE("a forgotten device leaves, and comes back whole") {
  DeviceStates devices = table();
  devices.take("", message_of("a", 1, 5, 300));
  devices.take("", message_of("b", 1, 5, 300));
  CHECK(devices.forget("a"));
  CHECK_FALSE(devices.forget("a"));
  CHECK(devices.rows() == 300);
  CHECK(devices.take("", message_of("a", 1, 6, 400)).fate == StateFate::kept);
  CHECK(devices.rows() == 700);
}

TEST_CASE("what is not believed is refused by name and changes nothing") {
  DeviceSettings bounds{.enabled = true, .held_bytes = 200'000, .most_rows = 5000, .most_weight = 2.0};
  DeviceStates devices = table(bounds, 3);
  devices.take("", message_of("a", 1, 1, 900));
  devices.take("", message_of("a", 5, 1, 300));
  const Bytes before = devices.encode();
  const Bytes sound = encode(state_of(1, 300));

  CHECK(fault_of(devices, Bytes(100)) == StateFault::bad_state);
  CHECK(fault_of(devices, message_of("x", 1, 1, Bytes(100))) == StateFault::bad_state);
  CHECK(fault_of(devices, message_of("", 1, 1, sound)) == StateFault::no_device);
  CHECK(fault_of(devices, message_of("a", 1, 2, 300)) == StateFault::fewer_rows);
  CHECK(fault_of(devices, message_of("a", 0, 2, 300)) == StateFault::epoch_closed);
  CHECK(fault_of(devices, message_of("a", largest_epoch, 1, sound)) == StateFault::epoch_jump);
  CHECK(fault_of(devices, message_of("a", 5, 2 + most_generations, sound)) == StateFault::generation_jump);
  CHECK(fault_of(devices, message_of("x", 1, 1 + most_generations, sound)) == StateFault::generation_jump);
  CHECK(fault_of(devices, message_of("x", 1, 1, encode(state_of(1, 5001)))) == StateFault::too_many_rows);

  StateSettings other = settings_of().state;
  other.feature_map = "1,u";
  CHECK(fault_of(devices, message_of("x", 1, 1, encode(state_of(1, 300, other)))) == StateFault::other_model);
  other = settings_of().state;
  other.reservoir_rows = 400;
  CHECK(fault_of(devices, message_of("x", 1, 1, encode(state_of(1, 300, other)))) == StateFault::other_model);
  const std::uint64_t rows = 9'000'000;  // would take half a GiB
  const Bytes greedy =
      forged(sound, [&](Bytes& bytes) {  // header, section header, four numbers and the memory's length
        for (int i = 0; i < 8; ++i)
          bytes[24 + 16 + 16 + 8 + static_cast<std::size_t>(i)] = static_cast<std::byte>(rows >> (8 * i));
      });
  CHECK(fault_of(devices, message_of("x", 1, 1, greedy)) == StateFault::other_model);

  MomentState heavy = MomentState::create(settings_of().state).value();
  for (int i = 0; i < 300; ++i) {
    const double x[2] = {1.0, 0.01 * i};
    heavy.absorb({x, 1.0 + x[1], 3.0});
  }
  CHECK(fault_of(devices, message_of("x", 1, 1, encode(heavy))) == StateFault::too_heavy);

  CHECK(devices.encode() == before);
  CHECK(devices.take("", message_of("b", 1, 1, 300)).fate == StateFate::kept);
  CHECK(devices.take("", message_of("c", 1, 1, 300)).fate == StateFate::kept);
  CHECK(fault_of(devices, message_of("d", 1, 1, 300)) == StateFault::too_many_devices);
  bounds.held_bytes = 20'000;
  DeviceStates small = table(bounds, 100);
  StateFault last = StateFault::none;
  for (int i = 0; i < 20 && last == StateFault::none; ++i)
    last = fault_of(small, message_of("device" + std::to_string(i), 1, 1, 300));
  CHECK(last == StateFault::no_room);
  CHECK(small.held_bytes() <= bounds.held_bytes);
}

TEST_CASE("moments that no rows have are refused") {
  const Bytes sound = encode(state_of(1, 600));
  const MomentState state = decode(sound).value().state;
  CHECK(could_be_rows(state));
  // Every double of the file that looks like a sum is made larger or turned over, one at a time; a third of
  // the changes at least (squares turned over, products enlarged) are beyond what rows can do.
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (std::size_t place = 24; place + 16 <= sound.size(); place += 4) {
    double value = 0.0;
    std::memcpy(&value, sound.data() + place, 8);
    if (!(std::abs(value) > 100.0 && std::abs(value) < 1e4)) continue;
    for (const double factor : {-1.0, 1e6}) {
      const Bytes bytes = forged(sound, [&](Bytes& changed) {
        const double other = value * factor;
        std::memcpy(changed.data() + place, &other, 8);
      });
      ++tried;
      refused +=
          static_cast<std::size_t>(judge_state(bytes, settings_of().state, {}).fault != StateFault::none);
    }
  }
  CHECK(tried >= 10);
  CHECK(refused >= tried / 3);
}

TEST_CASE("fifty devices that reboot, repeat and reorder: the laws of all rows") {
  std::vector<Bytes> messages;
  Estimator all = Estimator::create(settings_of()).value();
  for (std::uint64_t d = 0; d < 50; ++d) {
    for (std::uint64_t epoch = 1; epoch <= 1 + d % 2; ++epoch) {
      const std::uint64_t source = 100 * d + epoch;
      MomentState state = MomentState::create(settings_of().state).value();
      state.begin_source(source);
      all.go_on_at({0, source});
      for (std::uint64_t generation = 1; generation <= 3; ++generation) {
        const std::uint64_t rows = d == 7 ? 40 : 200;  // one that is still in its first block
        absorb(state, source, (generation - 1) * rows, rows);
        absorb(all, source, (generation - 1) * rows, rows);
        messages.push_back(message_of("device" + std::to_string(d), epoch, generation, encode(state)));
        if (generation == 2) messages.push_back(messages.back());
      }
    }
  }
  std::mt19937_64 random(5);
  std::ranges::shuffle(messages, random);
  DeviceStates devices = table();
  for (const Bytes& message : messages) CHECK(devices.take("", message).fate != StateFate::refused);
  CHECK(devices.rows() == all.state().row_count());
  const MergedStates merged = merge_states(devices.parts(), settings_of().state).value();
  CHECK(merged.left_out.empty());
  const Estimator whole = Estimator::decode(encode(merged.state), settings_of()).value();
  const Report one = all.fit();
  const Report two = whole.fit();
  REQUIRE(one.components.size() == 2);
  REQUIRE(two.components.size() == 2);
  double largest = 0.0;
  for (std::size_t h = 0; h < 2; ++h) {
    largest = std::max(largest, std::abs(one.components[h].weight - two.components[h].weight));
    for (std::size_t j = 0; j < 2; ++j)
      largest =
          std::max(largest, std::abs(one.components[h].coefficients[j] - two.components[h].coefficients[j]));
  }
  MESSAGE("largest difference of weights and coefficients " << largest);
  CHECK(largest < 1e-9);
}
