// mixstreamd: only wires words and signals to the daemon.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
#include "mixstream/moments/state_file.hpp"
#include "notify.hpp"
#include "operate/stored_stream.hpp"

using namespace mixstream;

namespace {

struct Words {
  std::string config = "/etc/mixstream/mixstreamd.toml";
  std::string stream;  // of verify, export and backup
  std::string target;
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

/// Streams hold two descriptors each, their sessions three: as many as we may.
void raise_descriptors() {
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
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
  const Done done = config ? daemon.reload(std::move(config).value()) : Done(config.refusal());
  if (done) {
    log(LogLevel::info, "the new configuration is in force");
  } else {
    daemon.note_failed_reload();
    log(LogLevel::error, "the old configuration stays: " + done.refusal().text);
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

/// With the states of devices, where a stream has them.
Outcome<Bytes> whole_state(const Fold& fold) {
  if (fold.devices() == nullptr) return fold.estimator().encode();
  std::vector<std::string> left_out;
  const Outcome<Estimator> merged = with_devices(fold.estimator(), fold.devices()->parts(), left_out);
  for (const std::string& device : left_out) log(LogLevel::warning, "left out: " + device);
  if (!merged) return merged.refusal();
  return merged.value().encode();
}

/// What the word says of a stream that lies on the disk, whether a daemon keeps it or not.
int operate(const Config& config, const std::string& word, const Words& words) {
  const auto found = std::ranges::find(config.streams, words.stream, &StreamConfig::name);
  if (found == config.streams.end())
    return complain({Reason::bad_settings, fmt::format("{} has no stream '{}'", config.path, words.stream)});
  const std::string folder = config.state_folder + "/" + found->name;
  if (word == "backup") {
    const Done done = back_up(*found, folder, words.target);
    if (!done) return complain(done.refusal());
    fmt::print("{}\n", words.target);
    return 0;
  }
  const Outcome<StoredStream> stored = read_stored(*found, folder);
  if (!stored) return complain(stored.refusal());
  if (word == "export") {
    const Outcome<Bytes> whole = whole_state(stored.value().fold);
    const Done written = whole ? write_file(words.target, whole.value()) : Done(whole.refusal());
    if (!written) return complain(written.refusal());
  }
  fmt::print("{}\n", to_json(stored.value(), found->name));
  return 0;
}

/// The words that are no flags, and what they need.
void add_commands(CLI::App& app, Words& words) {
  const auto add = [&](const char* name, const char* help, const char* target) {
    CLI::App* const command = app.add_subcommand(name, help);
    command->add_option("STREAM", words.stream, "Name of the stream in the configuration")->required();
    if (target != nullptr) command->add_option("TARGET", words.target, target)->required();
    command->fallthrough();
  };
  add("verify", "Read a stream's files, say whether they are sound and what they hold, and end", nullptr);
  add("export", "Write a stream's state as a file that mixstream reads (inspect, refit, merge)", "The file");
  add("backup", "Copy a stream's files, of a running daemon too, so that a daemon can start from them",
      "The folder, which must not exist");
  app.require_subcommand(0, 1);
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
  add_commands(app, words);
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
  if (!app.get_subcommands().empty())
    return operate(config.value(), app.get_subcommands().front()->get_name(), words);
  watch_signals();
  raise_descriptors();
  Outcome<std::unique_ptr<Daemon>> daemon = Daemon::start(std::move(config).value());
  if (!daemon) return complain(daemon.refusal());
  notify_manager("READY=1");
  return run(*daemon.value(), words);
}
