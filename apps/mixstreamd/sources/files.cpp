#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "../alarm_words.hpp"
#include "../descriptor.hpp"
#include "../log.hpp"
#include "../urgency.hpp"
#include "wake.hpp"

namespace mixstream {
namespace {

constexpr std::size_t chunk = 1 << 16;

/// A file to read from an offset on.
struct Reading {
  Descriptor file;
  std::string name;
  std::uint64_t offset = 0;
  std::shared_ptr<Cutter> cutter = nullptr;  ///< one that goes on; null: a new one from the offset on
};

/// Reads one descriptor after the other in a thread of its own.
class FileSource final : public Source {
 public:
  FileSource(std::vector<Reading> readings, const CutterSettings& cutting, std::string header, Take take)
      : readings_(std::move(readings)),
        cutting_(cutting),
        header_(std::move(header)),
        take_(std::move(take)),
        thread_([this] { run(); }) {}

  ~FileSource() override { FileSource::stop(); }

  SourceState state() const override {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  void ask_to_stop() override { wake_.raise(); }
  bool stop() override {
    wake_.raise();
    if (thread_.joinable()) thread_.join();
    return true;
  }

 private:
  void run() {
    be_prompt();
    for (const Reading& reading : readings_) {
      if (!read_all(reading)) return;
    }
    set_state({true, true, "all read"});
  }

  void set_state(SourceState state) {
    const std::lock_guard lock(mutex_);
    state_ = std::move(state);
  }

  /// Waits for bytes, or for the end of the daemon.
  bool wait(int descriptor) const {
    std::array<::pollfd, 2> entries{::pollfd{descriptor, POLLIN, 0}, wake_.poll_entry()};
    while (::poll(entries.data(), entries.size(), -1) < 0 && errno == EINTR) {
    }
    return !wake_.raised();
  }

  bool read_all(const Reading& reading) {
    const std::shared_ptr<Cutter> kept =
        reading.cutter ? reading.cutter : std::make_shared<Cutter>(cutting_, reading.offset);
    Cutter& cutter = *kept;
    const Cutter::Give give = [&](std::string_view piece, std::uint64_t end, bool too_long) {
      if (!header_.empty() && end == piece.size()) drop_header(piece);
      const Arrival arrival{piece, reading.name, end, too_long};
      return take_({&arrival, 1});
    };
    std::array<char, chunk> bytes;  // filled by read
    for (;;) {
      if (!wait(reading.file.number())) return false;
      const ::ssize_t count = ::read(reading.file.number(), bytes.data(), bytes.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) {
        const std::string words = alarm_words::unreadable(reading.name, std::strerror(errno));
        log(LogLevel::error, words);
        set_state({false, true, words});
        return false;
      }
      if (count == 0) return cutter.finish(give);
      if (!cutter.add({bytes.data(), static_cast<std::size_t>(count)}, give)) return false;
    }
  }

  /// The first piece of a file may begin with the names of its columns.
  void drop_header(std::string_view& piece) const {
    const std::string_view line = piece.substr(0, piece.find_first_of("\r\n"));
    if (line != header_) return;
    piece.remove_prefix(std::min(piece.size(), piece.find('\n') + 1));
  }

  std::vector<Reading> readings_;
  CutterSettings cutting_;
  std::string header_;
  Take take_;
  Wake wake_;
  mutable std::mutex mutex_;
  SourceState state_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<Source> read_standard_input(std::shared_ptr<Cutter> cutter, Take take) {
  std::vector<Reading> readings;
  Descriptor copy(::dup(STDIN_FILENO));  // standard input itself is not ours to close
  readings.push_back({std::move(copy), "stdin", 0, std::move(cutter)});
  return std::make_unique<FileSource>(std::move(readings), CutterSettings{}, "", std::move(take));
}

Outcome<std::unique_ptr<Source>> replay_files(const ReplaySettings& settings, Take take) {
  std::vector<Reading> readings;
  const auto refuse = [](const std::string& file, const std::string& what) {
    return Refusal{Reason::input_output, fmt::format("cannot replay {}: {}", file, what)};
  };
  for (const std::string& file : settings.files) {
    const std::uint64_t taken = settings.taken(file);
    Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!open.is_open()) return refuse(file, std::strerror(errno));
    struct ::stat status {};
    if (::fstat(open.number(), &status) != 0 || !S_ISREG(status.st_mode))
      return refuse(file, "it is no plain file");
    if (static_cast<std::uint64_t>(status.st_size) < taken) {
      return refuse(
          file, fmt::format("{} bytes of it were taken before, and now it has {}: it is another file", taken,
                            status.st_size));
    }
    if (::lseek(open.number(), static_cast<::off_t>(taken), SEEK_SET) < 0)
      return refuse(file, std::strerror(errno));
    readings.push_back({std::move(open), file, taken});
  }
  return std::unique_ptr<Source>(
      std::make_unique<FileSource>(std::move(readings), settings.cutting, settings.header, std::move(take)));
}

}  // namespace mixstream
