#include "input/read_ahead.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace mixstream {
namespace {

constexpr int large_batches_first = 32;  // in a row, before a thread is worth it
constexpr std::size_t large_share = 8;  // an eighth of a full batch: a pipe hands out less than was asked for
constexpr std::size_t fewest_slots = 4;

/// A batch with its own memory.
struct Slot {
  std::optional<Outcome<Batch>> outcome;
  std::vector<double> numbers;
  std::vector<RowPlace> places;
  std::vector<RefusedRow> refused;
  std::vector<std::string_view> texts;
  std::vector<std::string_view> lines;
  std::string characters;  // of the texts and lines
  std::uint64_t bytes_taken = 0;
  std::uint64_t offset = 0;
  std::exception_ptr failure;

  void fill(RowReader& reader) noexcept try {
    outcome = reader.next();
    bytes_taken = reader.bytes_taken();
    offset = reader.offset();
    if (!*outcome) return;
    Batch& batch = outcome->value();
    numbers.assign(batch.numbers, batch.numbers + batch.rows * batch.width);
    places.assign(batch.places.begin(), batch.places.end());
    refused.assign(batch.refused.begin(), batch.refused.end());
    batch.numbers = numbers.data();
    batch.places = places;
    keep_texts(batch);
    batch.refused = refused;
  } catch (...) {
    failure = std::current_exception();
  }

  /// Texts lie in the reader's memory, which its next batch takes.
  void keep_texts(Batch& batch) {
    std::size_t size = 0;
    for (const std::string_view text : batch.texts) size += text.size();
    for (const std::string_view line : batch.lines) size += line.size();
    for (const RefusedRow& row : refused) size += row.text.size() + row.line.size();
    characters.clear();
    characters.reserve(size);  // views into it stay
    const auto kept = [&](std::string_view text) {
      const std::size_t begin = characters.size();
      characters.append(text);
      return std::string_view(characters).substr(begin);
    };
    texts.clear();
    lines.clear();
    for (const std::string_view text : batch.texts) texts.push_back(kept(text));
    for (const std::string_view line : batch.lines) lines.push_back(kept(line));
    for (RefusedRow& row : refused) {
      row.text = kept(row.text);
      row.line = kept(row.line);
    }
    batch.texts = texts;
    batch.lines = lines;
  }

  bool last() const noexcept { return failure || !*outcome || outcome->value().end; }
};

class ReadAhead final : public RowReader {
 public:
  ReadAhead(std::unique_ptr<RowReader> reader, const ReadAheadSettings& settings)
      : reader_(std::move(reader)), settings_(settings) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  ~ReadAhead() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_one();
    settings_.wake();
    thread_.join();
  }

  Outcome<Batch> next() override {
    if (!thread_.joinable()) return next_here();
    std::unique_lock lock(mutex_);
    if (holds_one_) {  // the caller is done with it
      ++taken_;
      holds_one_ = false;
      if (filled_ - taken_ == ring_.size() / 2) room_.notify_one();
    }
    rows_.wait(lock, [&] { return filled_ > taken_; });
    const Slot& slot = ring_[taken_ % ring_.size()];
    holds_one_ = !slot.last();  // the last is handed out for ever
    bytes_taken_ = slot.bytes_taken;
    offset_ = slot.offset;
    if (slot.failure) std::rethrow_exception(slot.failure);
    return *slot.outcome;
  }

  std::uint64_t bytes_taken() const noexcept override {
    return thread_.joinable() ? bytes_taken_ : reader_->bytes_taken();
  }
  std::uint64_t offset() const noexcept override { return thread_.joinable() ? offset_ : reader_->offset(); }

 private:
  /// Reads as if there were no thread, and starts one behind many large batches.
  Outcome<Batch> next_here() {
    if (large_batches_ == large_batches_first) {
      const std::size_t batch = settings_.batch_rows * (settings_.width * sizeof(double) + sizeof(RowPlace));
      ring_.resize(std::max(settings_.most_bytes / batch, fewest_slots));
      thread_ = std::thread([this] { run(); });
      return next();
    }
    Outcome<Batch> outcome = reader_->next();
    const bool large = outcome && outcome.value().rows * large_share >= settings_.batch_rows;
    large_batches_ = large && std::thread::hardware_concurrency() > 1 ? large_batches_ + 1 : 0;
    return outcome;
  }

  /// Once the ring is full it sleeps until half of it is free: to wake for every slot would cost more than
  /// to parse its rows.
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (filled_ - taken_ == ring_.size())
        room_.wait(lock, [&] { return stopping_ || filled_ - taken_ <= ring_.size() / 2; });
      if (stopping_) return;
      Slot& slot = ring_[filled_ % ring_.size()];
      lock.unlock();
      slot.fill(*reader_);
      lock.lock();
      ++filled_;
      rows_.notify_one();
      if (slot.last()) return;
    }
  }

  std::unique_ptr<RowReader> reader_;
  ReadAheadSettings settings_;
  int large_batches_ = 0;
  std::uint64_t bytes_taken_ = 0;  // up to the batch handed out last
  std::uint64_t offset_ = 0;       // likewise
  bool holds_one_ = false;         // the caller reads slot taken_

  std::vector<Slot> ring_;  // memory comes to a slot when it is used
  std::mutex mutex_;
  std::condition_variable rows_;  // there is a batch to take
  std::condition_variable room_;  // there is room for more
  std::size_t filled_ = 0;        // batches read; under the mutex, as all below
  std::size_t taken_ = 0;         // batches that the caller is done with
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<RowReader> read_ahead(std::unique_ptr<RowReader> reader, const ReadAheadSettings& settings) {
  return std::make_unique<ReadAhead>(std::move(reader), settings);
}

}  // namespace mixstream
