#include "mixstream/moments/device_message.hpp"

#include <string>

#include "mixstream/moments/sections.hpp"

namespace mixstream {
namespace {

constexpr FileKind device_message{0x535645445358494DULL, 1, "device message"};  // "MIXSDEVS" in little-endian
constexpr std::uint32_t identity_section = 1;
constexpr std::uint32_t state_section = 2;

Refusal damaged(const std::string& what) {
  return damaged_file(device_message, what);
}

}  // namespace

Bytes encode(const DeviceMessage& message) {
  ByteWriter out;
  begin_file(out, device_message);
  put_section(out, identity_section, [&] {
    out.put_text(message.device);
    out.put(message.epoch);
    out.put(message.generation);
  });
  put_section(out, state_section, [&] { out.put(message.state); });
  end_file(out);
  return std::move(out).take();
}

Outcome<DeviceMessage> decode_device_message(std::span<const std::byte> bytes) {
  const Outcome<std::span<const std::byte>> content = sections_of(bytes, device_message);
  if (!content) return content.refusal();
  ByteReader in(content.value());
  const std::optional<FoundSection> identity = next_section(in);
  const std::optional<FoundSection> state = next_section(in);
  if (!identity || identity->type != identity_section || !state || state->type != state_section ||
      !in.at_end())
    return damaged("it holds other sections than a device's name and its state");
  DeviceMessage message;
  ByteReader names(identity->payload);
  const std::span<const std::byte> device = names.take_bytes(names.take<std::uint32_t>());
  message.epoch = names.take<std::uint64_t>();
  message.generation = names.take<std::uint64_t>();
  if (!names.ok() || !names.at_end()) return damaged("the device's name is cut short");
  if (device.size() > longest_device || message.epoch > largest_epoch || message.generation > largest_epoch)
    return damaged("its name has more than 256 bytes, or a number is beyond 2^53");
  message.device = {reinterpret_cast<const char*>(device.data()), device.size()};
  message.state = state->payload;
  return message;
}

}  // namespace mixstream
