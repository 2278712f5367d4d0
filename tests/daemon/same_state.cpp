// Compares what two daemons kept: same_state ONE.toml TWO.toml [--exactly]. Prints both as JSON; ends with 1
// where moments, sample, counts (of rows that are no repetition) or deduplication differ; --exactly: where
// anything does, polish, labels and repetitions included.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

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
  const Done replayed =
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

/// Whether everything is equal that a restart must bring back: moments, sample, polish, labels, schedule,
/// sensors, clocks and every count. For two readings of one stream: the folds of two daemons differ in when
/// they solved.
bool are_equal(const Fold& one, const Fold& two) {
  const std::vector<Section> left = one.sections();
  const std::vector<Section> right = two.sections();
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i)
    if (!(left[i] == right[i])) fmt::print("section {} differs\n", left[i].type);
  return left == right;
}

}  // namespace

int main(int count, char** words) {
  const bool exactly = count == 4 && std::string(words[3]) == "--exactly";
  if (count != 3 && !exactly) return 2;
  const std::optional<Fold> one = read_state(words[1]);
  const std::optional<Fold> two = read_state(words[2]);
  if (!one || !two) return 3;
  print(words[1], *one);
  print(words[2], *two);
  if (exactly) return are_equal(*one, *two) ? 0 : 1;
  const bool moments =
      one->estimator().state() == two->estimator().state();  // sample and row counts included
  const FoldCounts& left = one->state().counts();
  const FoldCounts& right = two->state().counts();
  const bool numbers = one->state().sensors().gaps() == two->state().sensors().gaps() &&
                       one->state().sensors().encode() == two->state().sensors().encode();
  const bool counts = left.folded == right.folded &&
                      left.rows - left.duplicate == right.rows - right.duplicate &&
                      left.refused == right.refused && left.unnumbered == right.unnumbered &&
                      one->state().refused() == two->state().refused();
  fmt::print("{{\"moments_and_sample\":{},\"deduplication\":{},\"counts\":{}}}\n", moments, numbers, counts);
  return moments && numbers && counts ? 0 : 1;
}
