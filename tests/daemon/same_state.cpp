// Compares what two daemons kept: same_state ONE.toml TWO.toml. Prints both as JSON; ends with 1 where
// moments, sample, counts or deduplication differ.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "config/config.hpp"
#include "store/store.hpp"
#include "stream/fold.hpp"

using namespace mixstream;

namespace {

/// The first stream's state, from its snapshot and journal.
std::optional<Fold> read_state(const char* path) {
  const Outcome<Config> config = load_config(path);
  if (!config) {
    fmt::print(stderr, "{}\n", config.refusal().text);
    return std::nullopt;
  }
  const StreamConfig& stream = config.value().streams.front();
  const auto store = Store::open(
      {.folder = config.value().state_folder + "/" + stream.name, .configuration = fingerprint_of(stream)});
  if (!store) {
    fmt::print(stderr, "{}\n", store.refusal().text);
    return std::nullopt;
  }
  const Recovered& recovered = store.value()->recovered();
  Outcome<Fold> fold =
      recovered.snapshot ? Fold::restore(recovered.snapshot->sections, stream) : Fold::create(stream);
  if (!fold) {
    fmt::print(stderr, "{}\n", fold.refusal().text);
    return std::nullopt;
  }
  const Verdict replayed =
      store.value()->replay([&](const Record& record) { return fold.value().take(record); });
  if (!replayed) fmt::print(stderr, "{}\n", replayed.refusal().text);
  if (!replayed) return std::nullopt;
  return std::move(fold).value();
}

void print(const char* path, const Fold& fold) {
  const FoldCounts& counts = fold.state().counts();
  fmt::print(
      "{{\"config\":\"{}\",\"rows\":{},\"folded\":{},\"duplicate\":{},\"refused\":{},\"gaps\":{},"
      "\"feedbacks\":{}}}\n",
      path, counts.rows, counts.folded, counts.duplicate, counts.refused, fold.state().sensors().gaps(),
      counts.feedbacks);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::optional<Fold> one = read_state(words[1]);
  const std::optional<Fold> two = read_state(words[2]);
  if (!one || !two) return 3;
  print(words[1], *one);
  print(words[2], *two);
  const bool moments =
      one->estimator().state() == two->estimator().state();  // sample and row counts included
  const bool numbers = one->state().sensors() == two->state().sensors();
  const bool counts = one->state().counts().folded == two->state().counts().folded &&
                      one->state().refused() == two->state().refused();
  fmt::print("{{\"moments_and_sample\":{},\"deduplication\":{},\"counts\":{}}}\n", moments, numbers, counts);
  return moments && numbers && counts ? 0 : 1;
}
