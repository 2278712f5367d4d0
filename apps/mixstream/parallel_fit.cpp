#include "parallel_fit.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>

#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::size_t refusals_kept = 16;

struct Totals {
  std::atomic<std::uint64_t> rows{0};
  std::atomic<std::uint64_t> bytes{0};
};

/// One range of the file on its way into its own session.
class Part final : public RefusalListener {
 public:
  Part(const ParallelPlan& plan, ByteRange range, Estimator branch, std::uint64_t source)
      : RefusalListener(plan.policy), plan_(plan), session_(plan.rows, branch.settings(), 1) {
    session_.resume(std::move(branch));
    source_ = source;
    input_ = plan.input;
    input_.range = range;
    input_.wake_descriptor = -1;
  }

  bool fitted(const Report&) override { return true; }  // none falls due in a branch

  /// How many rows there are, refused ones too; a failure is told when they are read.
  std::uint64_t count() const {
    const Outcome<std::uint64_t> rows = count_rows(plan_.path, input_);
    return rows ? rows.value() : 0;
  }

  void begin_at(std::uint64_t position) { session_.begin_part(source_, position); }

  void run(Totals& totals) {
    Outcome<Input> opened = open_input(plan_.path, input_);
    if (!opened) return fail(opened.refusal());
    auto reader = std::move(opened.value()).select(plan_.rows.selection());
    if (!reader) return fail(reader.refusal());
    std::uint64_t bytes = 0;
    while (end_requested() == 0) {
      const Outcome<Batch> batch = reader.value()->next();
      if (!batch) return fail(batch.refusal());
      if (batch.value().end || !session_.absorb(batch.value(), *this)) return;
      totals.rows += batch.value().rows;
      totals.bytes += reader.value()->bytes_taken() - bytes;
      bytes = reader.value()->bytes_taken();
    }
  }

  const Estimator& estimator() const { return session_.estimator(); }
  const std::vector<RefusedWords>& refused_rows() const noexcept { return refused_; }
  const std::string& failure() const noexcept { return failure_; }
  std::uint64_t end() const noexcept { return session_.next_position(); }
  bool broken() const noexcept { return fatal_ || !failure_.empty(); }

 private:
  void tell(const RefusedWords& refused) override {
    fatal_ = fatal_ || refused.fatal;
    if (refused.fatal || (!refused.missing && refused_.size() < refusals_kept)) refused_.push_back(refused);
  }
  void fail(const Refusal& refusal) { failure_ = refusal.text; }

  const ParallelPlan& plan_;
  InputSettings input_;
  FitSession session_;
  std::vector<RefusedWords> refused_;
  std::string failure_;
  std::uint64_t source_ = 0;
  bool fatal_ = false;
};

std::vector<ByteRange> cut(ByteRange range, std::size_t parts) {
  std::vector<ByteRange> ranges;
  const std::uint64_t step = (range.end - range.begin) / parts;
  for (std::size_t i = 0; i < parts; ++i)
    ranges.push_back({range.begin + step * i, range.begin + step * (i + 1)});
  ranges.back().end = ByteRange{}.end;
  return ranges;
}

void count_all(std::vector<std::unique_ptr<Part>>& parts, std::uint64_t position) {
  std::vector<std::future<std::uint64_t>> counts;
  for (auto& part : parts)
    counts.push_back(std::async(std::launch::async, [&part] { return part->count(); }));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i]->begin_at(position);
    position += counts[i].get();
  }
}

void run_all(std::vector<std::unique_ptr<Part>>& parts, const ParallelProgress& progress) {
  Totals totals;
  std::vector<std::future<void>> runs;
  for (auto& part : parts)
    runs.push_back(std::async(std::launch::async, [&part, &totals] { part->run(totals); }));
  for (auto& run : runs) {
    while (run.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready)
      progress(totals.rows, totals.bytes);
  }
  for (auto& run : runs) run.get();
}

}  // namespace

ParallelOutcome absorb_in_parallel(Estimator& estimator, const ParallelPlan& plan,
                                   const ParallelProgress& progress) {
  ParallelOutcome outcome;
  const MomentState& state = estimator.state();
  outcome.end = plan.position;
  std::vector<std::unique_ptr<Part>> parts;
  for (const ByteRange& range : cut(plan.range, plan.threads)) {
    Outcome<Estimator> branch = estimator.branch();
    if (!branch) {
      outcome.failure = branch.refusal().text;
      return outcome;
    }
    parts.push_back(std::make_unique<Part>(plan, range, std::move(branch).value(), state.source()));
  }
  count_all(parts, plan.position);
  run_all(parts, progress);
  for (const auto& part : parts) {
    if (const Done done = estimator.merge_branch(part->estimator()); !done)
      outcome.failure = done.refusal().text;
    outcome.end = std::max(outcome.end, part->end());
    outcome.refused.insert(outcome.refused.end(), part->refused_rows().begin(), part->refused_rows().end());
    if (outcome.failure.empty()) outcome.failure = part->failure();
    if (part->broken() || !outcome.failure.empty()) break;
  }
  if (estimator.fit_is_due()) estimator.scheduled_fit(SolveDetail::fit);
  return outcome;
}

}  // namespace mixstream
