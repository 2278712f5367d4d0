#include "connection.hpp"

#include <poll.h>

namespace mixstream::web {
namespace {

constexpr std::size_t piece = 16 * 1024;  // read at once
constexpr int most_steps = 32;            // before others get their turn

}  // namespace

Connection::Connection(std::unique_ptr<Channel> channel, const RequestLimits& limits,
                       const ConnectionTimes& times, const Handler& handler, Clock::time_point now)
    : channel_(std::move(channel)), times_(times), handler_(handler), reader_(limits) {
  enter(Step::reading, times_.request, now);
  wait_for_ = POLLIN;
}

void Connection::enter(Step step, std::chrono::milliseconds time, Clock::time_point now) {
  step_ = step;
  begun_ = now;
  deadline_ = now + time;
}

void Connection::advance(Clock::time_point now) {
  wait_for_ = 0;
  for (int steps = 0; steps < most_steps && wait_for_ == 0 && !finished(); ++steps) advance_one(now);
  has_more_ = wait_for_ == 0 && !finished();
}

void Connection::advance_one(Clock::time_point now) {
  switch (step_) {
    case Step::reading:
      return read(now);
    case Step::writing:
      return write(now);
    case Step::leaving:
      return leave();
    case Step::finished:
      return;
  }
}

/// Whether bytes moved; else the connection waits or is over.
bool Connection::went_on(const Moved& moved) {
  if (moved.bytes > 0) return true;
  if (moved.closed)
    step_ = Step::finished;
  else
    wait_for_ = moved.wait_for;
  return false;
}

void Connection::read(Clock::time_point now) {
  char room[piece];
  const Moved moved = channel_->read(room);
  if (!went_on(moved)) return;
  if (!reader_.has_begun()) enter(Step::reading, times_.request, now);
  reader_.take({room, moved.bytes});
  look_at_request(now);
}

void Connection::look_at_request(Clock::time_point now) {
  switch (reader_.state()) {
    case RequestReader::State::reading:
      if (!reader_.take_continue()) return;
      interim_ = true;
      head_ = "HTTP/1.1 100 Continue\r\n\r\n";
      body_.reset();
      sent_ = 0;
      step_ = Step::writing;  // the request's deadline stays
      return;
    case RequestReader::State::complete: {
      const Request& request = reader_.request();
      return send(handler_.answer(request), request.keep_alive, request.method != "HEAD", now);
    }
    case RequestReader::State::refused:
      return send(error_response(reader_.refusal().status, reader_.refusal().text), false, true, now);
  }
}

void Connection::send(const Response& response, bool keep_alive, bool with_body, Clock::time_point now) {
  handler_.sent(response);
  head_ = head_of(response, keep_alive);
  body_ = with_body ? response.body : nullptr;
  sent_ = 0;
  keep_alive_ = keep_alive;
  interim_ = false;
  enter(Step::writing, times_.request, now);
}

void Connection::write(Clock::time_point now) {
  const std::size_t body_size = body_ ? body_->size() : 0;
  if (sent_ == head_.size() + body_size) return finish_answer(now);
  const bool in_head = sent_ < head_.size();
  const std::string& part = in_head ? head_ : *body_;
  const std::size_t at = in_head ? sent_ : sent_ - head_.size();
  const Moved moved = channel_->write(std::span(part).subspan(at));
  if (went_on(moved)) sent_ += moved.bytes;
}

void Connection::finish_answer(Clock::time_point now) {
  body_.reset();
  served_ = !interim_ || served_;
  if (interim_) {
    interim_ = false;
    step_ = Step::reading;
  } else if (keep_alive_) {
    reader_.next();
    enter(Step::reading, reader_.has_begun() ? times_.request : times_.idle, now);
    if (reader_.has_begun()) look_at_request(now);
  } else {
    channel_->end_writing();
    enter(Step::leaving, times_.farewell, now);
  }
}

/// What the client still sends is read and dropped: closing with unread bytes would reset the connection and
/// could take the answer with it.
void Connection::leave() {
  char room[piece];
  went_on(channel_->read(room));
}

void Connection::expire(Clock::time_point now) {
  if (step_ != Step::reading || !reader_.has_begun()) {
    step_ = Step::finished;
    return;
  }
  send(error_response(408, "the request did not come whole in time: send it faster"), false, true, now);
  deadline_ = now + times_.farewell;
  advance(now);
}

}  // namespace mixstream::web
