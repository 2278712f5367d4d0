// What stands behind each address. One thread: the server's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "../view.hpp"
#include "access.hpp"
#include "metrics.hpp"
#include "request.hpp"
#include "response.hpp"

namespace mixstream::web {

class Site {
 public:
  /// `daemon` must outlive the site.
  Site(DaemonView& daemon, Access access);

  Response answer(const Request& request);  ///< no throw: what goes wrong inside is a 500
  void count(const Response& response) { ++http_.answers[response.status]; }
  LoopCounts& loop_counts() noexcept { return http_.loop; }

 private:
  /// What is made of a fit, once for all who ask.
  struct Drawn {
    std::shared_ptr<const FitView> fit;
    std::shared_ptr<const std::string> data;
    std::shared_ptr<const std::string> history;
  };

  Response routed(const Request& request);
  Response stream_route(const Request& request, std::string_view rest);
  Response stream_answer(const Request& request, const StreamView& stream, std::string_view leaf);
  Response unknown_stream(const std::string& name) const;
  Response models(const Request& request, const StreamView& stream) const;
  Response refit(const StreamView& stream);
  Response reset(const Request& request, const StreamView& stream);
  const Drawn& drawn(const StreamView& stream);

  DaemonView& daemon_;
  Access access_;
  Response page_;
  HttpCounts http_;
  std::map<std::string, Drawn, std::less<>> drawn_;
  std::map<std::string, std::chrono::steady_clock::time_point, std::less<>> refits_asked_;  // when last
};

}  // namespace mixstream::web
