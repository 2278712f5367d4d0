#include "input/window.hpp"

#include <cstring>
#include <utility>

namespace mixstream {

Window::Window(std::unique_ptr<ByteSource> source, std::uint64_t offset, bool text, std::size_t chunk)
    : source_(std::move(source)),
      chunk_(chunk),
      capacity_(chunk),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_ + padding)),
      offset_(offset),
      text_(text) {}

Outcome<Arrival> Window::more() {
  if (ended_) return Arrival{0, true};
  make_room();
  auto arrival = source_->read({buffer_.get() + end_, capacity_ - end_});
  if (!arrival) return arrival;
  end_ += arrival.value().bytes;
  ended_ = arrival.value().end;
  if (ended_ && text_ && size() > 0 && *(end() - 1) != '\n') buffer_[end_++] = '\n';
  std::memset(buffer_.get() + end_, 0, padding);
  return arrival;
}

void Window::make_room() {
  const std::size_t unread = size();
  if (capacity_ - unread < chunk_ / 2) {
    auto larger = std::make_unique_for_overwrite<char[]>(2 * capacity_ + padding);
    std::memcpy(larger.get(), begin(), unread);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  } else {
    std::memmove(buffer_.get(), begin(), unread);
  }
  begin_ = 0;
  end_ = unread;
}

}  // namespace mixstream
