#include "topic_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mixstream {
namespace {

constexpr std::string_view shared_prefix = "$share/";
constexpr std::size_t longest_filter = 65535;  // bytes, by the protocol

/// Takes levels off the front of a text, one by one; "a//b" has three.
class Levels {
 public:
  explicit Levels(std::string_view text) noexcept : rest_(text) {}

  bool next(std::string_view& level) noexcept {
    if (done_) return false;
    const std::size_t slash = rest_.find('/');
    level = rest_.substr(0, slash);
    done_ = slash == std::string_view::npos;
    if (!done_) rest_.remove_prefix(slash + 1);
    return true;
  }

 private:
  std::string_view rest_;
  bool done_ = false;
};

Refusal unsound(std::string_view filter, std::string_view why) {
  return {Reason::bad_settings, fmt::format("'{}' is no topic filter: {}", filter, why)};
}

}  // namespace

Done check_filter(std::string_view filter) {
  const std::string_view plain = plain_filter(filter);
  if (filter.starts_with(shared_prefix)) {
    const std::string_view group = level_of(filter, 2);
    if (group.empty() || group.find_first_of("+#") != std::string_view::npos || plain.empty())
      return unsound(filter, "a shared one is $share/GROUP/FILTER");
  }
  if (plain.empty()) return unsound(filter, "it is empty");
  if (filter.size() > longest_filter) return unsound(filter.substr(0, 40), "it is too long");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(filter, is_control)) return unsound("...", "it has control characters");
  Levels levels(plain);
  bool after_last = false;
  for (std::string_view level; levels.next(level);) {
    if (after_last) return unsound(filter, "# must be the last level");
    after_last = level == "#";
    if (level.size() > 1 && level.find_first_of("+#") != std::string_view::npos)
      return unsound(filter, "+ and # stand for whole levels");
  }
  return std::monostate{};
}

std::string_view plain_filter(std::string_view filter) noexcept {
  if (!filter.starts_with(shared_prefix)) return filter;
  const std::size_t slash = filter.find('/', shared_prefix.size());
  return slash == std::string_view::npos ? std::string_view() : filter.substr(slash + 1);
}

bool filter_matches(std::string_view filter, std::string_view topic) noexcept {
  const std::string_view plain = plain_filter(filter);
  if (topic.starts_with('$') && !plain.starts_with('$')) return false;  // wildcards do not reach these
  Levels wanted(plain);
  Levels given(topic);
  for (;;) {
    std::string_view pattern;
    std::string_view level;
    const bool more = wanted.next(pattern);
    if (more && pattern == "#") return true;
    const bool has = given.next(level);
    if (!more || !has) return more == has;
    if (pattern != "+" && pattern != level) return false;
  }
}

bool filters_overlap(std::string_view one, std::string_view two) noexcept {
  Levels left(plain_filter(one));
  Levels right(plain_filter(two));
  for (;;) {
    std::string_view a;
    std::string_view b;
    const bool more_left = left.next(a);
    const bool more_right = right.next(b);
    if ((more_left && a == "#") || (more_right && b == "#")) return true;
    if (!more_left || !more_right) return more_left == more_right;
    if (a != b && a != "+" && b != "+") return false;
  }
}

std::string_view level_of(std::string_view topic, std::size_t number) noexcept {
  Levels levels(topic);
  std::string_view level;
  for (std::size_t i = 0; i < number; ++i) {
    if (!levels.next(level)) return {};
  }
  return level;
}

bool filter_has_level(std::string_view filter, std::size_t number) noexcept {
  Levels levels(plain_filter(filter));
  std::size_t sure = 0;
  for (std::string_view level; levels.next(level) && level != "#";) ++sure;
  return number >= 1 && number <= sure;
}

}  // namespace mixstream
