#include "input/read_ahead.hpp"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace mixstream {
namespace {

constexpr int full_batches_first = 16;  // in a row, before a thread is worth it
constexpr std::size_t slots = 4;

/// A batch with its own memory.
struct Slot {
  std::optional<Outcome<Batch>> outcome;
  std::vector<double> numbers;
  std::vector<RowPlace> places;
  std::vector<RefusedRow> refused;
  std::uint64_t bytes_taken = 0;
  std::exception_ptr failure;

  void fill(RowReader& reader) noexcept try {
    outcome = reader.next();
    bytes_taken = reader.bytes_taken();
    if (!*outcome) return;
    Batch& batch = outcome->value();
    numbers.assign(batch.numbers, batch.numbers + batch.rows * batch.width);
    places.assign(batch.places.begin(), batch.places.end());
    refused.assign(batch.refused.begin(), batch.refused.end());
    batch.numbers = numbers.data();
    batch.places = places;
    batch.refused = refused;
  } catch (...) {
    failure = std::current_exception();
  }

  bool last() const noexcept { return failure || !*outcome || outcome->value().end; }
};

class ReadAhead final : public RowReader {
 public:
  ReadAhead(std::unique_ptr<RowReader> reader, std::size_t batch_rows, void (*wake)())
      : reader_(std::move(reader)), batch_rows_(batch_rows), wake_(wake) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  ~ReadAhead() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    wake_();
    thread_.join();
  }

  Outcome<Batch> next() override {
    if (!thread_.joinable()) return next_here();
    std::unique_lock lock(mutex_);
    if (holds_one_) {  // the caller is done with it
      ++taken_;
      holds_one_ = false;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return filled_ > taken_; });
    const Slot& slot = ring_[taken_ % slots];
    holds_one_ = !slot.last();  // the last is handed out for ever
    bytes_taken_ = slot.bytes_taken;
    if (slot.failure) std::rethrow_exception(slot.failure);
    return *slot.outcome;
  }

  std::uint64_t bytes_taken() const noexcept override {
    return thread_.joinable() ? bytes_taken_ : reader_->bytes_taken();
  }

 private:
  /// Reads as if there were no thread, and starts one behind the last of many full batches.
  Outcome<Batch> next_here() {
    if (full_batches_ == full_batches_first) {
      thread_ = std::thread([this] { run(); });
      return next();
    }
    Outcome<Batch> outcome = reader_->next();
    const bool full = outcome && outcome.value().rows == batch_rows_;
    full_batches_ = full && std::thread::hardware_concurrency() > 1 ? full_batches_ + 1 : 0;
    return outcome;
  }

  void run() {
    for (std::size_t number = 0;; ++number) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || number < taken_ + slots; });
        if (stopping_) return;
      }
      Slot& slot = ring_[number % slots];
      slot.fill(*reader_);
      const std::lock_guard lock(mutex_);
      filled_ = number + 1;
      changed_.notify_all();
      if (slot.last() || stopping_) return;
    }
  }

  std::unique_ptr<RowReader> reader_;
  std::size_t batch_rows_;
  void (*wake_)();
  int full_batches_ = 0;
  std::uint64_t bytes_taken_ = 0;  // up to the batch handed out last
  bool holds_one_ = false;         // the caller reads slot taken_

  std::array<Slot, slots> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // batches read; under the mutex, as all below
  std::size_t taken_ = 0;   // batches that the caller is done with
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<RowReader> read_ahead(std::unique_ptr<RowReader> reader, std::size_t batch_rows,
                                      void (*wake)()) {
  return std::make_unique<ReadAhead>(std::move(reader), batch_rows, wake);
}

}  // namespace mixstream
