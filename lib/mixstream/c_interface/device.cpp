// The C interface of devices that send their states away.
#include <cstring>
#include <span>
#include <string_view>

#include "mixstream/c_interface/shared.hpp"
#include "mixstream/mixstream.h"
#include "mixstream/moments/device_message.hpp"

mixstream_status mixstream_device_message(const char* device, uint64_t epoch, uint64_t generation,
                                          const void* state, size_t state_size, void* bytes, size_t capacity,
                                          size_t* needed) {
  using namespace mixstream;
  if (device == nullptr || state == nullptr || needed == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  const std::string_view name(device);
  if (name.size() > longest_device || epoch > largest_epoch || generation > largest_epoch)
    return MIXSTREAM_BAD_ARGUMENT;
  return c_interface::guarded([&] {
    const std::span held(static_cast<const std::byte*>(state), state_size);
    const Bytes message = encode(DeviceMessage{name, epoch, generation, held});
    *needed = message.size();
    if (bytes == nullptr || capacity < message.size()) return MIXSTREAM_TOO_LARGE;
    std::memcpy(bytes, message.data(), message.size());
    return MIXSTREAM_OK;
  });
}
