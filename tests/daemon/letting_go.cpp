// A stream that is let go while its own threads are at work, as a reload does it: whoever opens its files
// next finds them whole.
#include <doctest/doctest.h>

#include <future>
#include <string>
#include <thread>

#include "daemon/disk.hpp"
#include "daemon/stream_on_disk.hpp"

using namespace disk_shim;
using namespace std::chrono_literals;

namespace {

constexpr int messages = 40;

std::unique_ptr<Stream> stream_with_rows() {
  disk.format();
  std::unique_ptr<Stream> stream = open_stream();
  for (int number = 0; number < messages; ++number) REQUIRE(take(*stream, number));
  return stream;
}

/// Holds every snapshot at the moment before it takes its name.
struct HeldSnapshots {
  std::promise<void> begun;
  std::promise<void> released;
  HeldSnapshots() {
    disk.before_rename = [this, once = false](const std::string& to) mutable {
      if (to.find("snapshot-") == std::string::npos || std::exchange(once, true)) return;
      begun.set_value();
      released.get_future().wait();
    };
  }
  ~HeldSnapshots() { disk.before_rename = nullptr; }
};

}  // namespace

TEST_CASE("a stream is let go only when the snapshot that is being written is whole") {
  std::unique_ptr<Stream> old = stream_with_rows();
  {
    HeldSnapshots held;
    std::future<bool> kept = std::async(std::launch::async, [&] { return bool(old->snapshot()); });
    held.begun.get_future().wait();
    REQUIRE(take(*old, messages));  // rows go on meanwhile
    std::future<void> closed = std::async(std::launch::async, [&] { old->close(); });
    CHECK(closed.wait_for(300ms) == std::future_status::timeout);
    held.released.set_value();
    CHECK(kept.get());
    closed.get();
  }
  CHECK_FALSE(take(*old, messages + 1));
  const std::unique_ptr<Stream> next = open_stream();  // while the old one is still in somebody's hands
  CHECK(next->view()->rows.folded == (messages + 1) * rows_of_message);
}

TEST_CASE("a solve that goes on behind the end of its stream changes nothing of the next one") {
  bool outlived = false;
  for (int attempt = 0; attempt < 20 && !outlived; ++attempt) {
    std::unique_ptr<Stream> old = stream_with_rows();
    old->refit();  // its feedback waits for a message
    std::thread solver([&] { old->refit(); });
    while (!old->view()->refit_running) std::this_thread::yield();
    old->close();
    outlived = old->view()->refit_running;
    const std::unique_ptr<Stream> next = open_stream();
    CHECK(take(*next, messages));
    solver.join();
    CHECK(next->view()->rows.folded == (messages + 1) * rows_of_message);
    CHECK(next->view()->journal_bytes > 0);
  }
  CHECK(outlived);
}
