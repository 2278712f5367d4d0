// One client: reads requests, hands them on, sends the answers, and never waits for either.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "channel.hpp"
#include "request.hpp"
#include "response.hpp"

namespace mixstream::web {

using Clock = std::chrono::steady_clock;

struct ConnectionTimes {
  std::chrono::milliseconds request{10'000};  ///< for a whole request to come, and for its answer to go
  std::chrono::milliseconds idle{30'000};     ///< between requests
  std::chrono::milliseconds farewell{1'000};  ///< after a last answer, for the client to take it
};

/// Answers a request. Called for each, also for those that could not be read (then with their refusal).
struct Handler {
  std::function<Response(const Request&)> answer;
  std::function<void(const Response&)> sent;  ///< told of every answer, for the counters
};

class Connection {
 public:
  Connection(std::unique_ptr<Channel> channel, const RequestLimits& limits, const ConnectionTimes& times,
             const Handler& handler, Clock::time_point now);

  int descriptor() const noexcept { return channel_->descriptor(); }
  short events() const noexcept { return wait_for_; }   ///< that poll is to wait for
  bool has_more() const noexcept { return has_more_; }  ///< can go on without waiting
  bool finished() const noexcept { return step_ == Step::finished; }
  Clock::time_point deadline() const noexcept { return deadline_; }
  Clock::time_point begun() const noexcept { return begun_; }  ///< of what it is doing now
  bool idle() const noexcept {
    return step_ == Step::reading && served_ && !reader_.has_begun();
  }  ///< between requests

  /// Goes on until it would have to wait, or has answered a few requests in a row. No throw.
  void advance(Clock::time_point now);
  /// The deadline is over: tells the client if it still can, then ends.
  void expire(Clock::time_point now);

 private:
  enum class Step { reading, writing, leaving, finished };

  void advance_one(Clock::time_point now);
  void read(Clock::time_point now);
  void write(Clock::time_point now);
  void leave();
  void look_at_request(Clock::time_point now);
  void send(const Response& response, bool keep_alive, bool with_body, Clock::time_point now);
  void finish_answer(Clock::time_point now);
  void enter(Step step, std::chrono::milliseconds time, Clock::time_point now);
  bool went_on(const Moved& moved);

  std::unique_ptr<Channel> channel_;
  const ConnectionTimes& times_;
  const Handler& handler_;
  RequestReader reader_;
  Step step_ = Step::reading;
  Clock::time_point begun_;
  Clock::time_point deadline_;
  short wait_for_ = 0;
  bool has_more_ = false;
  std::string head_;
  std::shared_ptr<const std::string> body_;
  std::size_t sent_ = 0;  // of head and body together
  bool keep_alive_ = true;
  bool served_ = false;   // at least one request
  bool interim_ = false;  // what is being sent is not the answer yet
};

}  // namespace mixstream::web
