#include "signals.hpp"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "exit_codes.hpp"

namespace mixstream {
namespace {

std::atomic<int> end_signal{0};
std::atomic<bool> fit_wanted{false};
int wake_pipe[2] = {-1, -1};

extern "C" void on_signal(int number) {
  const int error = errno;
  if (number == SIGUSR1) fit_wanted = true;
  if (number == SIGINT || number == SIGTERM) end_signal = number;
  mixstream::wake();
  errno = error;
}

}  // namespace

void watch_signals() {
  if (::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = 0;  // reads shall return
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGALRM}) ::sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void wake_every(double seconds) {
  const double largest = 1e8;
  const auto micros = static_cast<long long>(std::clamp(seconds, 1e-3, largest) * 1e6);
  const ::timeval period{static_cast<::time_t>(micros / 1000000),
                         static_cast<::suseconds_t>(micros % 1000000)};
  const ::itimerval timer{period, period};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

int wake_descriptor() noexcept {
  return wake_pipe[0];
}

int end_requested() noexcept {
  return end_signal;
}

void request_end(int number) noexcept {
  end_signal = number;
}

bool take_fit_request() noexcept {
  return fit_wanted.exchange(false);
}

int exit_code_of_signal() noexcept {
  const int number = end_signal;
  return number == 0 ? 0 : number == SIGINT ? exit_interrupted : exit_terminated;
}

void wake() noexcept {
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);  // full: the reader is awake already
}

void clear_wake() noexcept {
  char bytes[64];
  while (::read(wake_pipe[0], bytes, sizeof bytes) > 0) {
  }
}

}  // namespace mixstream
