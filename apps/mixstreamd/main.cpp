// mixstreamd: only wires words and signals to the daemon.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "config/config.hpp"
#include "daemon.hpp"
#include "exit_codes.hpp"
#include "log.hpp"
#include "notify.hpp"

using namespace mixstream;

namespace {

struct Words {
  std::string config = "/etc/mixstream/mixstreamd.toml";
  bool check_config = false;
  bool exit_when_done = false;
};

int signal_pipe[2] = {-1, -1};

extern "C" void on_signal(int number) {
  const int error = errno;
  const char byte = static_cast<char>(number);
  [[maybe_unused]] const auto written = ::write(signal_pipe[1], &byte, 1);
  errno = error;
}

/// Signals become bytes of a pipe. (Not signalfd: libraries begin threads before main, which do not block
/// them.)
void watch_signals() {
  if (::pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct ::sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a refusal like a full disk
}

/// The next signal, or 0 after a while without one.
int next_signal() {
  ::pollfd entry{signal_pipe[0], POLLIN, 0};
  ::poll(&entry, 1, 100);
  char number = 0;
  return ::read(signal_pipe[0], &number, 1) == 1 ? number : 0;
}

int complain(const Refusal& refusal) {
  log(LogLevel::error, refusal.text);
  notify_manager("STATUS=" + refusal.text);
  return refusal.reason == Reason::input_output ? exit_failed : exit_refused;
}

void reload(Daemon& daemon, const std::string& path) {
  notify_reloading();
  Outcome<Config> config = load_config(path);
  const Verdict verdict = config ? daemon.reload(std::move(config).value()) : Verdict(config.refusal());
  if (verdict) {
    log(LogLevel::info, "the new configuration is in force");
  } else {
    daemon.note_failed_reload();
    log(LogLevel::error, "the old configuration stays: " + verdict.refusal().text);
  }
  notify_manager("READY=1");
}

/// Saving has ten seconds; what hangs then would hang for ever, and the journal holds everything anyway.
int end(Daemon& daemon) {
  notify_manager("STOPPING=1");
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(9));
    log(LogLevel::error, "something hangs; leaving without a last snapshot, the journal has all rows");
    std::_Exit(exit_failed);
  }).detach();
  const bool saved = daemon.stop();
  log(saved ? LogLevel::info : LogLevel::error,
      saved ? "all saved, ending" : "ending without having saved all");
  std::_Exit(saved ? exit_stopped : exit_failed);  // what still hangs is not waited for
}

int run(Daemon& daemon, const Words& words) {
  for (;;) {
    switch (next_signal()) {
      case SIGTERM:
      case SIGINT:
        return end(daemon);
      case SIGHUP:
        reload(daemon, words.config);
        break;
      case SIGUSR1:
        daemon.refit_all();
        break;
      default:
        break;
    }
    if (daemon.is_broken()) return end(daemon);
    daemon.tick();
    if (words.exit_when_done && daemon.is_done()) return end(daemon);
  }
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Keeps fitting the hidden linear laws of sensor streams, and says when they change.\n");
  Words words;
  app.set_version_flag("--version", "mixstreamd " MIXSTREAM_VERSION);
  app.add_option("-c,--config", words.config, "Configuration file; default: /etc/mixstream/mixstreamd.toml");
  app.add_flag("--check-config", words.check_config,
               "Read the configuration, say what is wrong with it, and end");
  app.add_flag("--exit-when-done", words.exit_when_done,
               "End when every source has (stdin and replays do), with all rows solved and saved");
  app.footer("Signals: TERM ends, HUP reads the configuration again, USR1 solves now. See mixstreamd(8).");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  Outcome<Config> config = load_config(words.config);
  if (!config) return complain(config.refusal());
  set_log(config.value().log);
  if (words.check_config) {
    const std::size_t streams = config.value().streams.size();
    fmt::print("{}: {} stream{}, all sound\n", words.config, streams, streams == 1 ? "" : "s");
    return 0;
  }
  ::umask(077);  // rows and what they say are their owner's
  watch_signals();
  Outcome<std::unique_ptr<Daemon>> daemon = Daemon::start(std::move(config).value());
  if (!daemon) return complain(daemon.refusal());
  notify_manager("READY=1");
  return run(*daemon.value(), words);
}
