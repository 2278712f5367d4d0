#include "mixstream/core/bytes.hpp"

namespace mixstream {

// Not inline: where GCC 12 sees the writer's size, it takes the growth of the vector for an overflow.
void ByteWriter::put(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

}  // namespace mixstream
