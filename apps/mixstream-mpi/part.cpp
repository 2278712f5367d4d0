#include "part.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "mixstream/rows/feature_map.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::size_t refusals_kept = 16;  // of a round

double processor_seconds() {
  ::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void put(ByteWriter& out, const RefusedInFile& one) {
  const RefusedWords& refused = one.refused;
  for (const std::uint64_t number :
       {one.file, refused.place.row, refused.place.line, refused.place.offset,
        static_cast<std::uint64_t>(refused.fatal), static_cast<std::uint64_t>(refused.missing)}) {
    out.put(number);
  }
  out.put_text(refused.words);
}

RefusedInFile take_refused(ByteReader& in) {
  RefusedInFile one;
  one.file = in.take<std::uint64_t>();
  RefusedWords& refused = one.refused;
  for (auto* number : {&refused.place.row, &refused.place.line, &refused.place.offset})
    *number = in.take<std::uint64_t>();
  refused.fatal = in.take<std::uint64_t>() != 0;
  refused.missing = in.take<std::uint64_t>() != 0;
  refused.words = in.take_text();
  return one;
}

}  // namespace

Bytes PartReport::encode() const {
  ByteWriter out;
  for (const std::uint64_t number :
       {rows, bytes, static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(signal)}) {
    out.put(number);
  }
  out.put(busy_seconds);
  out.put(static_cast<std::uint64_t>(refused.size()));
  for (const RefusedInFile& one : refused) put(out, one);
  out.put_text(failure);
  return std::move(out).take();
}

PartReport PartReport::decode(const Bytes& bytes) {
  ByteReader in(bytes);
  PartReport report;
  report.rows = in.take<std::uint64_t>();
  report.bytes = in.take<std::uint64_t>();
  report.done = in.take<std::uint64_t>() != 0;
  report.signal = static_cast<int>(in.take<std::uint64_t>());
  report.busy_seconds = in.take_double();
  const auto refused = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < refused; ++i) report.refused.push_back(take_refused(in));
  report.failure = in.take_text();
  return report;
}

void Part::take_work(Work work, std::size_t rank, std::uint64_t source) {
  share_ = work.shares[rank];
  work_ = std::move(work);
  work_.shares.clear();
  source_ = source;
  segment_ = 0;
  if (!share_.empty()) offset_ = share_[0].range.begin;
}

Done Part::begin_branch(std::span<const std::byte> bytes) {
  Outcome<SolveSettings> solve = Estimator::saved_solve_settings(bytes);
  if (!solve) return solve.refusal();
  EstimatorSettings settings;
  settings.solve = std::move(solve).value();
  settings.state.memory_budget = settings_.memory_budget;
  Outcome<Estimator> branch = Estimator::decode(bytes, settings);
  if (!branch) return branch.refusal();
  const EstimatorSettings& known = branch.value().settings();
  if (!session_) {
    Outcome<FeatureMap> map = FeatureMap::parse(known.state.feature_map);
    if (!map) return map.refusal();
    session_.emplace(RowPlan{std::move(map).value(), known.state.response, settings_.weight, settings_.time,
                             "", settings_.sensor},
                     known, 1);
  }
  session_->resume(std::move(branch).value());
  session_->begin_part(source_, segment_ < share_.size() ? share_[segment_].position : 0);
  report_.rows = 0;
  report_.bytes = 0;
  return std::monostate{};
}

bool Part::goes_on(const RoundLimits& limits) const {
  return segment_ < share_.size() && report_.rows < limits.rows && report_.bytes < limits.bytes &&
         report_.failure.empty() && !fatal_ && end_requested() == 0;
}

PartReport Part::read(const RoundLimits& limits) {
  const double began = processor_seconds();
  report_.refused.clear();
  // what was read before this round does not count against it
  const std::uint64_t rows = report_.rows;
  const std::uint64_t bytes = report_.bytes;
  const auto until = [](std::uint64_t before, std::uint64_t more) {
    return before + std::min(more, ~std::uint64_t{0} - before);
  };
  const RoundLimits ends{until(rows, limits.rows), until(bytes, limits.bytes)};
  while (goes_on(ends)) {
    if (!reader_ && !open_segment()) continue;
    if (batch_is_over() && (!next_batch() || batch_is_over())) continue;
    absorb(ends.rows - report_.rows, ends.bytes - report_.bytes);
  }
  report_.done = segment_ == share_.size();
  report_.signal = end_requested();
  report_.busy_seconds += processor_seconds() - began;
  return report_;
}

std::vector<std::uint64_t> Part::count() const {
  std::vector<std::uint64_t> counts;
  for (const Segment& segment : share_) {
    const auto rows = count_rows(work_.files[segment.file].path, settings_of(segment));
    counts.push_back(rows ? rows.value() : 0);
  }
  return counts;
}

InputSettings Part::settings_of(const Segment& segment) const {
  InputSettings settings = settings_.input;
  if (!work_.files[segment.file].compressed)  // an end below the default one says that only a part is wanted
    settings.range = {segment.range.begin, std::min(segment.range.end, ByteRange{}.end - 1)};
  return settings;
}

bool Part::open_segment() {
  const Segment& segment = share_[segment_];
  path_ = work_.files[segment.file].path;
  Outcome<Input> opened = open_input(path_, settings_of(segment));
  if (!opened) {
    fail(opened.refusal().text);
    return false;
  }
  session_->begin_part(source_, segment.position);
  Outcome<std::unique_ptr<RowReader>> reader = std::move(opened.value()).select(session_->plan().selection());
  if (!reader) {
    fail(reader.refusal().text);
    return false;
  }
  reader_ = std::move(reader).value();
  batch_ = {};
  row_ = refused_row_ = 0;
  return true;
}

void Part::close_segment() {
  reader_.reset();
  batch_ = {};
  rows_done_ = 0;
  row_ = refused_row_ = 0;
  if (++segment_ < share_.size()) offset_ = share_[segment_].range.begin;
}

/// False when there is none: the segment is over, or its file is broken.
bool Part::next_batch() {
  const Outcome<Batch> batch = reader_->next();
  if (!batch) {
    fail(batch.refusal().text);
    return false;
  }
  if (batch.value().end) {
    close_segment();
    return false;
  }
  batch_ = batch.value();
  row_ = refused_row_ = 0;
  skip_rows_before(offset_);
  return true;
}

/// Of a compressed file that was read before up to there.
void Part::skip_rows_before(std::uint64_t offset) {
  while (row_ < batch_.rows && batch_.places[row_].offset < offset) ++row_;
  while (refused_row_ < batch_.refused.size() && batch_.refused[refused_row_].place.offset < offset)
    ++refused_row_;
}

/// Absorbs the next rows of the batch, refused ones among them in their order, up to the limits: what is
/// taken and what counts as read does not depend on where batches end.
void Part::absorb(std::uint64_t most_rows, std::uint64_t most_bytes) {
  const std::uint64_t stop = offset_ + std::min(most_bytes, ~std::uint64_t{0} - offset_);
  const std::size_t first = row_;
  std::uint64_t behind = stop;  // where no row begins before it
  refused_rows_.clear();
  while (row_ - first < most_rows) {
    const bool refused =
        refused_row_ < batch_.refused.size() && batch_.refused[refused_row_].rows_before <= row_;
    if (!refused && row_ == batch_.rows) break;
    const std::uint64_t offset =
        refused ? batch_.refused[refused_row_].place.offset : batch_.places[row_].offset;
    if (offset >= stop) break;
    behind = offset + 1;
    rows_done_ = refused ? batch_.refused[refused_row_].place.row : batch_.places[row_].row;
    if (refused) {
      refused_rows_.push_back(batch_.refused[refused_row_++]);
      refused_rows_.back().rows_before = row_ - first;
    } else {
      ++row_;
    }
  }
  Batch slice = batch_;
  slice.rows = row_ - first;
  slice.numbers = batch_.numbers + first * batch_.width;
  slice.places = batch_.places.subspan(first, slice.rows);
  slice.refused = refused_rows_;
  session_->absorb(slice, *this);
  report_.bytes += behind - offset_;
  offset_ = behind;
  report_.rows = branch().state().row_count();
}

Share Part::left() const {
  Share left(share_.begin() + static_cast<std::ptrdiff_t>(segment_), share_.end());
  if (left.empty()) return left;
  left[0].range.begin = std::min(std::max(left[0].range.begin, offset_), left[0].range.end);
  if (!work_.files[left[0].file].compressed) left[0].position += rows_done_;
  return left;
}

void Part::tell(const RefusedWords& refused) {
  fatal_ = fatal_ || refused.fatal;
  const bool told = refused.fatal || (!refused.missing && report_.refused.size() < refusals_kept);
  if (told) report_.refused.push_back({share_[segment_].file, refused});
}

void Part::fail(const std::string& text) {
  report_.failure = path_ + ": " + text;
}

}  // namespace mixstream
