#include "cutter.hpp"

#include <algorithm>
#include <utility>

namespace mixstream {

/// Bytes of held_ that are whole rows.
std::size_t Cutter::whole() const noexcept {
  if (settings_.row_bytes > 0) return held_.size() - held_.size() % settings_.row_bytes;
  const std::size_t newline = held_.rfind('\n');
  return newline == std::string::npos ? 0 : newline + 1;
}

bool Cutter::give_whole(const Give& give) {
  const std::size_t size = whole();
  if (size == 0) return true;
  if (!give(std::string_view(held_).substr(0, size), end_ - (held_.size() - size), false)) return false;
  held_.erase(0, size);
  return true;
}

bool Cutter::add(std::string_view bytes, const Give& give) {
  end_ += bytes.size();
  if (discarding_) {
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) return true;
    bytes.remove_prefix(newline + 1);
    if (!give_beginning(end_ - bytes.size(), give)) return false;
  }
  held_.append(bytes);
  if (!give_whole(give)) return false;
  if (settings_.row_bytes > 0 || held_.size() <= settings_.longest_line) return true;
  discarding_ = true;
  held_.resize(40);
  return true;
}

/// Of a line that is too long and has come to its end. Only now: a restart must not begin inside it.
bool Cutter::give_beginning(std::uint64_t end, const Give& give) {
  const std::string beginning = std::exchange(held_, {});
  discarding_ = false;
  return give(beginning, end, true);
}

bool Cutter::finish(const Give& give) {
  if (discarding_) return give_beginning(end_, give);
  if (held_.empty()) return true;
  const std::string last = std::move(held_);
  held_.clear();
  return give(last, end_, false);
}

}  // namespace mixstream
