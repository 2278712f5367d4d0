// The figures as Prometheus reads them (text format 0.0.4).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../view.hpp"
#include "loop.hpp"

namespace mixstream::web {

/// Writes families one after the other; escapes label values; leaves out what is not finite.
class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  void family(std::string_view name, std::string_view type, std::string_view help);
  void histogram(const Labels& labels, const Histogram& times);
  void sample(const Labels& labels, double value);  ///< of the last family
  const std::string& text() const noexcept { return text_; }

 private:
  std::string name_;
  std::string text_;
};

struct HttpCounts {
  LoopCounts loop;
  std::map<int, std::uint64_t> answers;  ///< by status
};

std::string metrics_text(const DaemonView& daemon, const HttpCounts& http);

}  // namespace mixstream::web
