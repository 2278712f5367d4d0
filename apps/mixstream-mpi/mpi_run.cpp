#include "mpi_run.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "checkpoint.hpp"
#include "fit_run.hpp"
#include "mixstream/modes/modes_now.hpp"
#include "mixstream/moments/codec.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t round_bytes = 64ULL << 20;  // of a rank, before it reports
constexpr std::uint64_t moves_alone = 3;   // of the polish's anchor: which rows meet the first matters
constexpr std::uint64_t fewest_rows = 64;  // of a rank, before a fit that nobody asked to see

class MpiRun final : public FitRun {
 public:
  MpiRun(const MpiCommand& command, const FitCommand& with_files, Orders& orders, int ranks)
      : FitRun(with_files), mpi_(command), orders_(orders), ranks_(static_cast<std::size_t>(ranks)) {}

  /// The folder's file, and what must agree.
  void use_checkpoint(std::string path, std::string job) {
    checkpoint_ = std::move(path);
    job_ = std::move(job);
  }

  /// Nothing is left that a checkpoint could be good for.
  bool finished() const noexcept { return finished_; }
  void tell_times() const;

 protected:
  void read_files() override;
  bool hand_over(const RowReader& reader) override;
  bool modes_have_begun() const;
  void publish_all() override;
  std::uint64_t rows_seen() const override { return session().rows() + rows_in_branches_; }

 private:
  bool resume();
  bool plan_file(std::size_t number, bool begun, Share& all);
  bool plan_work();
  void read_in_rounds();
  std::vector<RoundLimits> limits();
  bool read_round();
  bool hear(const PartReport& report);
  bool round_is_due() const;
  bool begin_branches();
  std::uint64_t bytes_seen() const;
  bool take_branches();
  bool write();

  const MpiCommand& mpi_;
  Orders& orders_;
  std::size_t ranks_;
  std::string checkpoint_;
  std::string job_;
  Work work_;
  bool handed_over_ = false;
  std::uint64_t handed_at_ = 0;      // offset in the file that was being read
  std::vector<PartReport> reports_;  // of the last round
  std::uint64_t target_ = 0;         // rows at which the next fit is due
  std::uint64_t rows_in_branches_ = 0;
  std::uint64_t bytes_read_ = 0;  // by all ranks, into branches taken before
  bool finished_ = false;
  double combine_seconds_ = 0.0;
};

void MpiRun::read_files() {
  const bool resumed = !checkpoint_.empty() && resume();
  if (status() != exit_fitted) return leave_without_fit();
  if (!resumed) {
    for (std::size_t number = 0; number < files().size() && goes_on() && !handed_over_; ++number)
      read_file(number);
    if (!handed_over_) {
      finished_ = goes_on();
      return;
    }
    if (!plan_work()) return leave_without_fit();
  }
  orders_.give_work(work_, session().estimator().state().source());
  place(work_, orders_.count());
  orders_.give_work(work_, session().estimator().state().source());
  read_in_rounds();
}

bool MpiRun::hand_over(const RowReader& reader) {
  handed_at_ = reader.offset();
  const EstimatorSettings& settings = session().estimator().settings();
  const bool polishes =
      settings.solve.method == FitMethod::standard && settings.solve.polish != PolishKind::off;
  const std::uint64_t alone = settings.polish.first_check + moves_alone * settings.polish.move_every;
  return handed_over_ = ready_for_parts() && (!polishes || session().rows() >= alone) && modes_have_begun();
}

/// Ranks follow modes at the leader's anchor. Before there is one, what follows what would be lost.
bool MpiRun::modes_have_begun() const {
  const Estimator& estimator = session().estimator();
  ModesNow now;
  return estimator.settings().solve.modes == Modes::independent || estimator.describe_modes(now);
}

/// Goes on from the checkpoint, if there is one.
bool MpiRun::resume() {
  Outcome<std::optional<Checkpoint>> found = read_checkpoint(checkpoint_, job_);
  if (!found) return fail(exit_data, found.refusal().text);
  if (!found.value()) return false;
  Checkpoint& checkpoint = *found.value();
  Outcome<Estimator> estimator = decode(checkpoint.state);
  if (!estimator) return fail(exit_data, fmt::format("'{}': {}", checkpoint_, estimator.refusal().text));
  if (!go_on_from(std::move(estimator).value(), checkpoint_)) return false;
  work_ = std::move(checkpoint.work);
  if (work_.shares.size() != ranks_) {
    Share all;
    for (const Share& share : work_.shares) all.insert(all.end(), share.begin(), share.end());
    work_.shares = share_out(work_.files, all, ranks_);
  }
  if (!command().output.quiet)
    complain(fmt::format("going on from '{}' with {} rows", checkpoint_, session().rows()));
  return true;
}

/// Settles that a file's columns are those wanted.
bool MpiRun::plan_file(std::size_t number, bool begun, Share& all) {
  const std::string& path = files()[number];
  const auto refuse = [&](const Refusal& refusal) {
    return fail(exit_data, fmt::format("{}: {}", path, refusal.text));
  };
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return fail(exit_data, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  Outcome<Input> opened = open_input(path, input_settings());
  if (!opened) return refuse(opened.refusal());
  WorkFile file{path, opened.value().compressed(), static_cast<std::uint64_t>(status.st_size)};
  Segment segment{work_.files.size(), {begun ? handed_at_ : 0, ByteRange{}.end}};
  if (begun) segment.position = file.compressed ? session().first_position() : session().next_position();
  if (const auto reader = select(std::move(opened).value()); !reader) return refuse(reader.refusal());
  all.push_back(segment);
  work_.files.push_back(std::move(file));
  return true;
}

/// Shares out what is left of the file that was being read, and the files behind it.
bool MpiRun::plan_work() {
  Share all;
  if (!plan().map.lags().empty())
    return fail(exit_usage,
                "lag(...) looks back at rows that another process may have read: use mixstream fit");
  for (std::size_t number = file_number(); number < files().size(); ++number) {
    if (!plan_file(number, number == file_number(), all)) return false;
  }
  work_.shares = share_out(work_.files, all, ranks_);
  return true;
}

void MpiRun::read_in_rounds() {
  reports_.resize(ranks_);
  for (std::size_t rank = 0; rank < ranks_; ++rank) reports_[rank].done = work_.shares[rank].empty();
  if (!begin_branches()) return leave_without_fit();
  for (;;) {
    const auto began = Clock::now();
    const bool heard = read_round();
    count_ingest(seconds_since(began));
    if (!heard) return leave_without_fit();
    const bool all_done = std::ranges::all_of(reports_, &PartReport::done);
    if (all_done || !goes_on() || round_is_due()) {
      if (!take_branches()) return leave_without_fit();
      if (end_requested() == 0) session().fit_if_due(*this);
      if (!all_done && !write()) return leave_without_fit();
      if (all_done || !goes_on()) break;
      if (!begin_branches()) return leave_without_fit();
    }
    answer();
    renew_page();
    show_progress(rows_seen(), bytes_seen());
  }
  finished_ = goes_on();
  session().end_inputs_at(work_.end);
}

bool MpiRun::begin_branches() {
  const Done begun = orders_.begin_branch(session().estimator());
  return begun || fail(exit_data, begun.refusal().text);
}

std::uint64_t MpiRun::bytes_seen() const {
  return std::accumulate(reports_.begin(), reports_.end(), bytes_read_,
                         [](std::uint64_t sum, const PartReport& report) { return sum + report.bytes; });
}

/// Rows up to the next fit, shared evenly by the ranks that have some left; and not too many bytes.
std::vector<RoundLimits> MpiRun::limits() {
  std::vector<RoundLimits> limits(ranks_);
  const std::uint64_t until_fit = session().rows_until_fit();
  const std::uint64_t bytes = checkpoint_.empty() ? round_bytes : std::min(round_bytes, mpi_.piece);
  const auto active = static_cast<std::uint64_t>(std::ranges::count(reports_, false, &PartReport::done));
  target_ = until_fit > ~std::uint64_t{0} / 2 ? ~std::uint64_t{0} : session().rows() + until_fit;
  const std::uint64_t missing = target_ - std::min(target_, rows_seen());
  const std::uint64_t fewest = command().every > 0 ? 0 : fewest_rows;
  std::uint64_t number = 0;  // of the rank among the active ones
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (reports_[rank].done) continue;
    limits[rank].bytes = bytes;
    const std::uint64_t even = missing / active + (number++ < missing % active ? 1 : 0);
    if (target_ != ~std::uint64_t{0}) limits[rank].rows = std::max(even, fewest);
  }
  return limits;
}

/// False after a failure, which was said.
bool MpiRun::read_round() {
  reports_ = orders_.read(limits());
  rows_in_branches_ = 0;
  for (const PartReport& report : reports_) {
    if (!hear(report)) return false;
    rows_in_branches_ += report.rows;
    if (report.signal != 0) request_end(report.signal);
  }
  return true;
}

bool MpiRun::hear(const PartReport& report) {
  for (const RefusedInFile& one : report.refused) {
    set_path(work_.files[one.file].path);
    tell(one.refused);
    if (one.refused.fatal) return false;
  }
  return report.failure.empty() || fail(exit_data, report.failure);
}

bool MpiRun::round_is_due() const {
  const auto largest = std::ranges::max(reports_, {}, &PartReport::bytes).bytes;
  const bool for_checkpoint = !checkpoint_.empty() && largest >= mpi_.piece;
  return for_checkpoint || (target_ != ~std::uint64_t{0} && rows_seen() >= target_);
}

/// Adds all branches to the session's estimator.
bool MpiRun::take_branches() {
  const auto began = Clock::now();
  const Outcome<Estimator> sum = orders_.combine();
  if (!sum) return fail(exit_data, sum.refusal().text);
  if (const Done added = session().estimator().merge_branch(sum.value()); !added)
    return fail(exit_data, added.refusal().text);
  combine_seconds_ += seconds_since(began);
  for (PartReport& report : reports_) bytes_read_ += std::exchange(report.bytes, 0);
  rows_in_branches_ = 0;
  return true;
}

bool MpiRun::write() {
  if (checkpoint_.empty()) return true;
  work_.shares = orders_.left();
  const Done written = write_checkpoint(checkpoint_, session().estimator().encode(), work_, job_);
  return written || fail(exit_data, written.refusal().text);
}

/// A fit that was asked for leaves no trace: the branches live on, for what they are added to is a copy.
void MpiRun::publish_all() {
  if (rows_in_branches_ == 0) return FitRun::publish_all();
  const Outcome<Estimator> sum = orders_.combine();
  Estimator copy = session().estimator();
  const Done added = sum ? copy.merge_branch(sum.value()) : Done(sum.refusal());
  if (!added) {
    fail(exit_data, added.refusal().text);
    return;
  }
  publish(copy.fit());
}

void MpiRun::tell_times() const {
  double most = 0.0;
  double all = 0.0;
  for (const PartReport& report : reports_) {
    most = std::max(most, report.busy_seconds);
    all += report.busy_seconds;
  }
  const CombineCost& cost = orders_.cost();
  fmt::print(
      stderr,
      "{{\"ranks\":{},\"bytes_read\":{},\"reading_processor_seconds\":{{\"most\":{:.6f},\"all\":{:.6f}}},"
      "\"combining_seconds\":{:.6f},\"combining_messages\":{},\"combining_bytes\":{}}}\n",
      ranks_, bytes_seen(), most, all, combine_seconds_, cost.merges, cost.bytes);
}

}  // namespace

int lead(Ranks& ranks, const MpiCommand& command, const PartSettings& settings) {
  Orders orders(ranks, settings);
  const auto end_with = [&](int code) {
    orders.end();
    return code;
  };
  Outcome<std::vector<std::string>> files = command.files();
  if (!files) return end_with(fail_with(exit_data, files.refusal().text));
  FitCommand with_files = command.fit;
  with_files.files = files.value();
  // launchers give ranks a terminal that nobody sits at
  if (!with_files.output.table) with_files.output.json = true;
  if (with_files.output.colour == "auto") with_files.output.colour = "never";
  MpiRun run(command, with_files, orders, ranks.size());
  std::string checkpoint;
  if (!command.checkpoint.empty()) {
    Outcome<std::string> path = checkpoint_path(command.checkpoint);
    if (!path) return end_with(fail_with(exit_data, path.refusal().text));
    checkpoint = std::move(path).value();
    run.use_checkpoint(checkpoint, command.job(with_files.files));
    ranks.set_last_words(fmt::format("'{}' is whole: the same words again go on from it", checkpoint));
  } else {
    ranks.set_last_words("without --checkpoint the job begins anew");
  }
  const int code = run.run();
  if (command.times) run.tell_times();
  if (run.finished() && !checkpoint.empty() && (code == exit_fitted || code == exit_not_identifiable))
    ::unlink(checkpoint.c_str());
  return end_with(code);
}

}  // namespace mixstream
