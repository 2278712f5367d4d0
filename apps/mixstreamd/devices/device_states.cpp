#include "device_states.hpp"

#include <algorithm>
#include <utility>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/device_message.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t overhead = 256;  // bytes that a device takes beside its states, about

StateEffect refused(StateFault fault, std::string_view device, const std::string& words) {
  std::string text = device.empty() ? "a state" : "a state of device '" + std::string(device) + "'";
  text += std::string(" is refused (") + name_of(fault) + ")";
  if (!words.empty()) text += ": " + words;
  return {StateFate::refused, fault, text + "; " + std::string(advice_on_state(name_of(fault)))};
}

}  // namespace

DeviceStates::DeviceStates(StateSettings model, const DeviceSettings& settings, std::size_t most_devices,
                           std::uint64_t largest_jump)
    : model_(std::move(model)),
      settings_(settings),
      most_devices_(most_devices),
      largest_jump_(largest_jump) {}

StateEffect DeviceStates::take(std::string_view device, std::span<const std::byte> message) {
  const Outcome<DeviceMessage> decoded = decode_device_message(message);
  if (!decoded) return refused(StateFault::bad_state, device, decoded.refusal().text);
  const DeviceMessage& said = decoded.value();
  const std::string name(device.empty() ? said.device : device);
  if (name.empty()) return refused(StateFault::no_device, name, "");
  if (name.size() > longest_device) return refused(StateFault::no_device, "", "its name is too long");
  const auto known = devices_.find(name);
  const Device* const before = known == devices_.end() ? nullptr : &known->second;
  if (const StateFault fault = judge_numbers(before, said.epoch, said.generation); fault != StateFault::none)
    return refused(fault, name, "");
  if (before != nullptr) {
    const auto same = std::ranges::find(before->open, said.epoch, &Held::epoch);
    if (same != before->open.end() && said.generation <= same->generation) {
      ++repeated_;
      return {StateFate::repeated, StateFault::none, ""};
    }
  }
  JudgedState judged = judge_state(said.state, model_, settings_);
  if (judged.fault != StateFault::none) return refused(judged.fault, name, judged.words);
  const StateFault fault = keep(name, {said.epoch, said.generation, judged.rows, std::move(judged.bytes)});
  return fault == StateFault::none ? StateEffect{} : refused(fault, name, "");
}

/// What epoch and generation say without a look at the state.
StateFault DeviceStates::judge_numbers(const Device* device, std::uint64_t epoch,
                                       std::uint64_t generation) const {
  if (device == nullptr) {
    if (devices_.size() >= most_devices_) return StateFault::too_many_devices;
    return generation > largest_jump_ ? StateFault::generation_jump : StateFault::none;
  }
  const std::vector<Held>& open = device->open;
  if (device->closed.state && epoch <= device->closed.epoch) return StateFault::epoch_closed;
  const auto same = std::ranges::find(open, epoch, &Held::epoch);
  if (same == open.end() && open.size() == open_epochs && epoch < open.front().epoch)
    return StateFault::epoch_closed;
  if (epoch > open.back().epoch && epoch - open.back().epoch > largest_epoch_jump)
    return StateFault::epoch_jump;
  const std::uint64_t last = same == open.end() ? 0 : same->generation;
  return generation > last && generation - last > largest_jump_ ? StateFault::generation_jump
                                                                : StateFault::none;
}

/// On a copy of the device, which holds no copy of a state: a refusal changes nothing.
StateFault DeviceStates::keep(const std::string& name, Held held) {
  const auto known = devices_.find(name);
  Device next = known == devices_.end() ? Device{} : known->second;
  const auto same = std::ranges::find(next.open, held.epoch, &Held::epoch);
  if (same != next.open.end()) {
    if (held.rows < same->rows) return StateFault::fewer_rows;
    *same = std::move(held);
  } else {
    next.open.push_back(std::move(held));
    std::ranges::sort(next.open, {}, &Held::epoch);
    if (next.open.size() > open_epochs) {
      if (const StateFault fault = close_oldest(next); fault != StateFault::none) return fault;
    }
  }
  const Share old = known == devices_.end() ? Share{} : share_of(known->second);
  const Share share = share_of(next);
  if (share.bytes > old.bytes && held_bytes_ - old.bytes + share.bytes > settings_.held_bytes)
    return StateFault::no_room;
  rows_ = rows_ - old.rows + share.rows;
  held_bytes_ = held_bytes_ - old.bytes + share.bytes;
  devices_[name] = std::move(next);
  return StateFault::none;
}

/// Adds the oldest open epoch to the closed ones.
StateFault DeviceStates::close_oldest(Device& device) const {
  const Held oldest = device.open.front();
  std::vector<Part> parts;
  if (device.closed.state) parts.push_back({"", device.closed.state});
  parts.push_back({"", oldest.state});
  const Outcome<MergedStates> merged = merge_states(parts, model_);
  if (!merged || !merged.value().left_out.empty()) return StateFault::impossible_state;
  device.closed = {oldest.epoch, oldest.generation, device.closed.rows + oldest.rows,
                   std::make_shared<const Bytes>(mixstream::encode(merged.value().state))};
  device.open.erase(device.open.begin());
  return StateFault::none;
}

DeviceStates::Share DeviceStates::share_of(const Device& device) {
  Share share{device.closed.rows, overhead + (device.closed.state ? device.closed.state->size() : 0)};
  for (const Held& held : device.open) {
    share.rows += held.rows;
    share.bytes += held.state->size();
  }
  return share;
}

bool DeviceStates::forget(std::string_view device) {
  const auto known = devices_.find(device);
  if (known == devices_.end()) return false;
  const Share share = share_of(known->second);
  rows_ -= share.rows;
  held_bytes_ -= share.bytes;
  devices_.erase(known);
  return true;
}

std::vector<DeviceStates::Part> DeviceStates::parts() const {
  std::vector<Part> parts;
  for (const auto& [name, device] : devices_) {
    if (device.closed.state) parts.push_back({name, device.closed.state});
    for (const Held& held : device.open) parts.push_back({name, held.state});
  }
  return parts;
}

Bytes DeviceStates::encode() const {
  ByteWriter out;
  const auto put = [&](const Held& held) {
    for (const std::uint64_t number : {held.epoch, held.generation, held.rows}) out.put(number);
    out.put(static_cast<std::uint64_t>(held.state ? held.state->size() : 0));
    if (held.state) out.put(std::span<const std::byte>(*held.state));
  };
  out.put(repeated_);
  out.put(static_cast<std::uint64_t>(devices_.size()));
  for (const auto& [name, device] : devices_) {
    out.put_text(name);
    out.put(static_cast<std::uint32_t>(device.open.size()));
    put(device.closed);
    for (const Held& held : device.open) put(held);
  }
  return std::move(out).take();
}

bool DeviceStates::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto take_held = [&] {
    Held held;
    for (std::uint64_t* number : {&held.epoch, &held.generation, &held.rows})
      *number = in.take<std::uint64_t>();
    const std::span<const std::byte> state = in.take_bytes(in.take<std::uint64_t>());
    if (!state.empty()) held.state = std::make_shared<const Bytes>(state.begin(), state.end());
    return held;
  };
  repeated_ = in.take<std::uint64_t>();
  const auto devices = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < devices; ++i) {
    std::string name = in.take_text();
    const auto open = in.take<std::uint32_t>();
    Device device;
    device.closed = take_held();
    for (std::uint32_t epoch = 0; in.ok() && epoch < open; ++epoch) device.open.push_back(take_held());
    const bool sound =
        in.ok() && open >= 1 && open <= open_epochs && !devices_.contains(name) &&
        std::ranges::all_of(device.open, [](const Held& held) { return held.state != nullptr; });
    if (!sound) return false;
    const Share share = share_of(device);
    rows_ += share.rows;
    held_bytes_ += share.bytes;
    devices_[std::move(name)] = std::move(device);
  }
  return in.ok() && in.at_end();
}

Outcome<MergedStates> merge_states(const std::vector<DeviceStates::Part>& parts, const StateSettings& model) {
  Outcome<MomentState> empty = MomentState::create(model);
  if (!empty) return empty.refusal();
  MergedStates merged{std::move(empty).value(), {}};
  for (const DeviceStates::Part& part : parts) {
    const Outcome<Snapshot> snapshot = decode(*part.state, {.memory_budget = model.memory_budget});
    const Done added = snapshot ? merged.state.merge(snapshot.value().state) : Done(snapshot.refusal());
    if (!added) merged.left_out.push_back("device '" + part.device + "': " + added.refusal().text);
  }
  return merged;
}

}  // namespace mixstream
