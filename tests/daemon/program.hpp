// A daemon in small over the simulated disk: folds numbered messages, each once, and remembers which it
// acknowledged. Shares nothing with the store but its interface; the judge is a plain list of numbers.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "store/deduplication.hpp"
#include "store/store.hpp"

namespace disk_shim {

/// The text of message `number`: long enough for several sectors, and every byte is known.
inline std::string text_of_message(int number) {
  std::string text = std::to_string(number) + ":";
  const std::size_t size = 40 + static_cast<std::size_t>(number * 397 % 1900);
  while (text.size() < size)
    text += static_cast<char>('a' + (text.size() * 7 + static_cast<std::size_t>(number)) % 26);
  return text;
}

/// What a fit might feed back: also long, and known.
inline std::string text_of_feedback(int number) {
  return "fed" + text_of_message(number + 7);
}

struct ProgramSettings {
  bool deduplicates = true;  // false: what if nobody did
  std::uint64_t segment_bytes = 2000;
};

class Program {
 public:
  explicit Program(ProgramSettings settings = {}) : settings_(settings) {}

  /// Opens the store and restores. False: refused for now. Any other refusal is a broken promise.
  bool start() {
    stop();
    folded_.clear();
    fed_.clear();
    feedback_.reset();
    sensors_ = mixstream::Deduplication();
    auto opened = mixstream::Store::open(
        {.folder = "/disk/stream", .segment_bytes = settings_.segment_bytes, .record_bytes = 4000});
    if (!opened) {
      if (opened.refusal().reason != mixstream::Reason::input_output) complain(opened.refusal().text);
      return false;
    }
    store_ = std::move(opened).value();
    if (const auto& snapshot = store_->recovered().snapshot) restore(*snapshot);
    const mixstream::Done replayed = store_->replay([&](const mixstream::Record& record) {
      if (const auto message = message_in(record)) {
        fold(text_in(message->payload));
      } else if (const auto fed = fed_message_in(record)) {
        take_back(fed->before);
        fold(text_in(fed->message.payload));
      } else {
        complain("a record of a kind that was never written");
      }
      return mixstream::Done(std::monostate{});
    });
    if (!replayed) {
      if (replayed.refusal().reason != mixstream::Reason::input_output) complain(replayed.refusal().text);
      stop();
      return false;
    }
    judge();
    return true;
  }

  void stop() { store_.reset(); }
  bool runs() const { return store_ != nullptr; }

  /// Journal, acknowledge, fold; several messages together. False: refused, the source keeps them. Before
  /// every third new message a fit leaves something to go with it.
  bool take(int first, int count = 1) {
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) texts.push_back(text_of_message(first + i));
    std::vector<mixstream::Content> contents;
    for (const std::string& text : texts)
      contents.push_back(mixstream::Message{"source", std::as_bytes(std::span(text)), 0.0});
    for (int i = 0; i < count; ++i) {
      if (sent_.insert(first + i).second && (first + i) % 3 == 1) feedback_ = first + i;
    }
    const std::string left = feedback_ ? text_of_feedback(*feedback_) : "";
    const mixstream::Feedback feedback{folded_.size(), std::as_bytes(std::span(left))};
    if (feedback_)
      contents.front() = mixstream::FedMessage{feedback, std::get<mixstream::Message>(contents.front())};
    if (!store_->append(contents)) {
      if (store_->health().ok) complain("a refused append left the store healthy");
      return false;
    }
    if (feedback_) {
      stored_feedback_.insert(*feedback_);
      take_back(feedback);
    }
    feedback_.reset();
    for (int i = 0; i < count; ++i) acknowledged_.insert(first + i);
    for (const std::string& text : texts) fold(text);
    return true;
  }

  bool snapshot() {
    mixstream::ByteWriter out;
    for (const int number : folded_) out.put(static_cast<std::uint32_t>(number));
    mixstream::ByteWriter fed;
    for (const int number : fed_) fed.put(static_cast<std::uint32_t>(number));
    auto pending = store_->begin_snapshot(
        {{1, std::move(out).take()}, {2, sensors_.encode()}, {3, std::move(fed).take()}});
    return static_cast<bool>(store_->write_snapshot(pending));
  }

  /// Nothing acknowledged is missing, nothing is there twice, nothing came from nowhere.
  void judge() {
    std::map<int, int> times;
    for (const int number : folded_) ++times[number];
    for (const int number : acknowledged_) {
      if (times[number] == 0) complain("message " + std::to_string(number) + " was acknowledged and is lost");
    }
    for (const auto& [number, count] : times) {
      if (count > 1) complain("message " + std::to_string(number) + " was folded twice");
      if (!sent_.contains(number)) complain("message " + std::to_string(number) + " was never sent");
    }
    for (const int number : stored_feedback_) {
      if (std::ranges::count(fed_, number) != 1)
        complain("feedback " + std::to_string(number) + " was stored and is lost, or there twice");
    }
  }

  const mixstream::Store& store() const { return *store_; }
  const std::set<int>& acknowledged() const { return acknowledged_; }
  const std::set<int>& sent() const { return sent_; }
  const std::vector<int>& folded() const { return folded_; }
  const std::string& complaint() const { return complaint_; }  // the first broken promise; empty: none
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }

 private:
  static std::string_view text_in(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void take_back(const mixstream::Feedback& feedback) {
    int number = -1;
    const std::string text(text_in(feedback.bytes));
    if (std::sscanf(text.c_str(), "fed%d:", &number) != 1 || text_of_feedback(number - 7) != text)
      return complain("feedback came back changed");
    if (feedback.row != folded_.size()) complain("feedback came back at another row");
    fed_.push_back(number - 7);
  }

  void fold(std::string_view text) {
    int number = -1;
    if (std::sscanf(std::string(text.substr(0, 10)).c_str(), "%d:", &number) != 1 || number < 0 ||
        text_of_message(number) != text) {
      return complain("a message came back changed");
    }
    const auto verdict = sensors_.take("source", 0, static_cast<std::uint64_t>(number));
    if (verdict == mixstream::SequenceFate::fresh || !settings_.deduplicates) folded_.push_back(number);
  }

  void restore(const mixstream::StreamSnapshot& snapshot) {
    if (snapshot.sections.size() != 3 || snapshot.sections[0].bytes.size() % 4 != 0)
      return complain("a snapshot came back changed");
    mixstream::ByteReader in(snapshot.sections[0].bytes);
    while (!in.at_end()) folded_.push_back(static_cast<int>(in.take<std::uint32_t>()));
    mixstream::ByteReader fed(snapshot.sections[2].bytes);
    while (!fed.at_end()) fed_.push_back(static_cast<int>(fed.take<std::uint32_t>()));
    auto sensors = mixstream::Deduplication::decode(snapshot.sections[1].bytes, {});
    if (!sensors) return complain("the table of a snapshot came back changed");
    sensors_ = std::move(sensors).value();
  }

  ProgramSettings settings_;
  std::unique_ptr<mixstream::Store> store_;
  std::vector<int> folded_;
  std::vector<int> fed_;         // feedback taken
  std::optional<int> feedback_;  // left by a fit, waiting for a message
  std::set<int> stored_feedback_;
  mixstream::Deduplication sensors_;
  std::set<int> sent_;
  std::set<int> acknowledged_;
  std::string complaint_;
};

}  // namespace disk_shim
