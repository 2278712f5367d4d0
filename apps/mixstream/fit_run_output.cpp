// What a run shows: fits, refused rows, progress, the page; and the state that it saves.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "fit_run.hpp"
#include "group_summary.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/report/counted.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::size_t complaints_shown = 10;
constexpr std::chrono::seconds page_interval{5};

}  // namespace

void FitRun::tell(const RefusedWords& refused) {
  causes_.add(refused);
  if (refused.fatal) {
    fail(exit_data, fmt::format("{}: {}", shown(path_), with_place(refused, path_)));
    return;
  }
  if (refused.missing || command_.output.quiet || complaints_ > complaints_shown) return;
  progress_.clear();
  if (complaints_++ < complaints_shown) {
    complain(fmt::format("{}: {}: row refused", shown(path_), with_place(refused, path_)));
    return;
  }
  complain("more refused rows follow; they are counted, not shown. " + causes_.words());
}

/// Lines that are no rows are told of too: the units at once, comments at the end.
void FitRun::tell_passed_over(const Batch& batch) {
  comments_ += batch.comments;
  if (batch.units_line > 0 && !command_.output.quiet) {
    progress_.clear();
    complain(fmt::format("{}: line {} holds units, and was passed over", shown(path_), batch.units_line));
  }
}

void FitRun::show_progress(std::uint64_t rows, std::uint64_t bytes) {
  progress_.show(rows, bytes, last_verdict_);
}

bool FitRun::publish(const Report& report) {
  progress_.clear();
  last_verdict_ = name_of(report.status);
  page_is_old_ = true;
  Report timed = report;
  timed.ingest_seconds = ingest_seconds_;
  if (output_.write(timed)) return true;
  if (!output_.closed()) status_ = exit_data;
  return false;
}

void FitRun::publish_all() {
  session_->each_fit(false, command_.threads, [this](const Report& report) { return publish(report); });
}

/// Does what signals and the clock ask for.
void FitRun::answer() {
  clear_wake();
  const auto show = [this] {
    rows_fitted_ = rows_seen();
    publish_all();
  };
  if (take_fit_request()) show();
  if (interval_ <= 0.0 || seconds_since(last_interval_) < interval_) return;
  if (rows_seen() == rows_fitted_) return;  // silence; the clock stays due
  last_interval_ = Clock::now();
  show();
}

/// The last fit and the saved state, whatever ended the reading.
int FitRun::finish() {
  progress_.clear();
  if (comments_ > 0 && !command_.output.quiet)
    complain(fmt::format("{} {} passed over", comments_, comments_ == 1 ? "comment was" : "comments were"));
  LastFits last;
  bool too_many = false;
  const bool looked = !output_.closed() || !command_.report.empty();
  if (looked) {
    session_->each_fit(true, command_.threads, [&](Report report) {
      if (!output_.closed()) publish(report);
      if (last.without_laws < complaints_shown) tell_unfitted(report);
      last.add(report, !plan_.group.empty());
      if (!command_.report.empty()) last.page.add(std::move(report));
      return true;
    });
    if (last.without_laws > complaints_shown && !command_.output.quiet)
      complain(fmt::format("{} have no laws; the words of each say why",
                           counted(last.without_laws - complaints_shown, "more group")));
    write_last_page(last.page);
    if (!plan_.group.empty() && !command_.output.quiet) {
      for (const std::string& line : summary_of_groups(last.laws)) complain(line);
    }
    too_many = too_many_refused(last);
  }
  save();
  if (status_ != exit_fitted) return status_;
  if (exit_code_of_signal() != 0) return exit_code_of_signal();
  if (looked && !last.fitted()) return exit_not_identifiable;
  return too_many ? exit_refused : exit_fitted;
}

void LastFits::add(const Report& report, bool keeps_laws) {
  const auto count = [](const auto& counts) {
    std::uint64_t sum = 0;
    for (const auto& [reason, number] : counts) sum += reason == "no_earlier_row" ? 0 : number;
    return sum;
  };
  ++fits;
  without_laws += report.components.empty() ? 1 : 0;
  rows += report.rows;
  refused += count(report.refused);
  if (report.stream) refused_of_no_group = count(report.stream->refused);
  if (!keeps_laws) return;
  laws.push_back(laws_of(report));
}

/// Rows that were refused beyond one in a hundred are told of, with their cause; true: beyond one in ten.
bool FitRun::too_many_refused(const LastFits& last) const {
  std::uint64_t rows = last.rows;
  std::uint64_t refused = last.refused + last.refused_of_no_group;
  refused -= std::min(refused, refused_before_);
  rows += refused;
  if (rows == refused || 100 * refused <= rows) return false;
  if (!command_.output.quiet)
    complain(fmt::format("{} of {} refused ({:.1f} %). {}", grouped(refused), counted(rows, "row"),
                         100.0 * static_cast<double>(refused) / static_cast<double>(rows), causes_.words()));
  return 10 * refused > rows;
}

Done FitRun::write_page(PageReports reports) {
  for (Report& report : reports.list()) report.ingest_seconds = ingest_seconds_;
  PageInput input = session_->page(reports);
  input.version = MIXSTREAM_VERSION;
  const Outcome<std::string> page = to_html(input);
  if (!page) return page.refusal();
  return write_file(command_.report, std::as_bytes(std::span(page.value())));
}

void FitRun::write_last_page(const PageReports& reports) {
  if (command_.report.empty()) return;
  if (const Done done = write_page(reports); !done) fail(exit_data, done.refusal().text);
}

/// A stream that never ends has a page too: renewed with its fits, but not all the time.
void FitRun::renew_page() {
  if (command_.report.empty() || !page_is_old_ || Clock::now() - last_page_ < page_interval) return;
  page_is_old_ = false;
  last_page_ = Clock::now();
  PageReports reports;
  session_->each_fit(false, command_.threads, [&](Report report) {
    reports.add(std::move(report));
    return true;
  });
  if (const Done done = write_page(std::move(reports)); !done && !page_failed_) {
    page_failed_ = true;
    complain(done.refusal().text);
  }
}

void FitRun::tell_unfitted(const Report& report) const {
  if (!report.components.empty() || command_.output.quiet) return;
  complain(report.group ? *report.group + ": " + report.words : report.words);
  if (report.rows == 0 && causes_.rows() > 0) complain("every row was refused. " + causes_.words());
}

void FitRun::save() {
  if (command_.save.empty()) return;
  const Done done = plan_.group.empty() ? write_file(command_.save, session_->estimator().encode())
                                        : session_->save_groups(command_.save);
  if (!done) fail(exit_data, done.refusal().text);
}

}  // namespace mixstream
