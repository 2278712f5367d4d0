#include "input/window.hpp"

#include <cstring>
#include <utility>

namespace mixstream {

Window::Window(std::unique_ptr<ByteSource> source, std::uint64_t offset, bool text)
    : source_(std::move(source)), buffer_(chunk + padding), offset_(offset), text_(text) {}

Outcome<Arrival> Window::more() {
  if (ended_) return Arrival{0, true};
  std::memmove(buffer_.data(), begin(), size());
  end_ = size();
  begin_ = 0;
  if (buffer_.size() - padding - end_ < chunk / 2) buffer_.resize(2 * buffer_.size());
  auto arrival = source_->read({buffer_.data() + end_, buffer_.size() - padding - end_});
  if (!arrival) return arrival;
  end_ += arrival.value().bytes;
  ended_ = arrival.value().end;
  if (ended_ && text_ && size() > 0 && *(end() - 1) != '\n') buffer_[end_++] = '\n';
  return arrival;
}

}  // namespace mixstream
