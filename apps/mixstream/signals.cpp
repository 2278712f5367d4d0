#include "signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace mixstream {
namespace {

std::atomic<int> end_signal{0};
std::atomic<bool> fit_wanted{false};
int wake_pipe[2] = {-1, -1};

extern "C" void on_signal(int number) {
  if (number == SIGUSR1)
    fit_wanted = true;
  else
    end_signal = number;
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);  // full: the reader is awake already
}

}  // namespace

void watch_signals() {
  if (::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = 0;  // reads shall return
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) ::sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int wake_descriptor() noexcept {
  return wake_pipe[0];
}

int end_requested() noexcept {
  return end_signal;
}

bool take_fit_request() noexcept {
  return fit_wanted.exchange(false);
}

void clear_wake() noexcept {
  char bytes[64];
  while (::read(wake_pipe[0], bytes, sizeof bytes) > 0) {
  }
}

}  // namespace mixstream
