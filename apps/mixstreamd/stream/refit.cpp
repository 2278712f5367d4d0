// The solver's side of a stream.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "../alarm_words.hpp"
#include "../log.hpp"
#include "../urgency.hpp"
#include "mixstream/report/json.hpp"
#include "stream.hpp"

namespace mixstream {
namespace {

/// The message that made a refit due is acknowledged after it has woken the solver: let that be done before
/// the copy takes the processor's caches and maybe its core.
constexpr std::chrono::microseconds acknowledged_by_then(300);

}  // namespace

/// Not while the last fit's feedback waits for a message, unless somebody asks: the next fit's would then
/// have to store it first, with a sync for which that message would wait.
bool Stream::refit_is_due() const {
  if (refit_wanted_) return row_count_ > 0;
  if (feedback_waits_) return false;
  if (rows_say_due_) return row_count_ > 0;
  if (config_.refit.interval <= 0.0 || row_count_ == rows_at_refit_) return false;
  const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(last_refit_.load());
  return since >= std::chrono::duration<double>(config_.refit.interval);
}

bool Stream::is_solved() const {
  const std::lock_guard lock(view_mutex_);
  return !fits_.running && rows_at_refit_ == row_count_;
}

Done Stream::request_refit() {
  if (row_count_ == 0) return Refusal{Reason::too_few_rows, "there are no rows yet"};
  refit_wanted_ = true;
  const std::lock_guard lock(view_mutex_);
  looks_asked_ = Clock::now();
  return std::monostate{};
}

void Stream::refit() {
  refit_wanted_ = false;
  set_running(true);
  std::this_thread::sleep_for(acknowledged_by_then);
  std::unique_lock rows(rows_mutex_);
  if (!copy_)
    copy_.emplace(fold_.estimator());
  else
    *copy_ = fold_.estimator();  // into memory that is there: rows wait
  Estimator& copy = *copy_;
  const Bytes waiting = feedback_;
  std::vector<DeviceStates::Part> parts;
  if (fold_.devices() != nullptr) parts = fold_.devices()->parts();
  rows_at_refit_ = row_count_.load();
  rows.unlock();
  try {
    add_devices(copy, parts);
    if (!waiting.empty()) static_cast<void>(copy.take(FitFeedback::decode(waiting).value()));
    ScheduledFit fit = in_background([&] { return copy.fit_apart(); });
    leave_feedback(fit.feedback, copy.rows_until_due());
    keep_fit(std::move(fit.report), copy);
  } catch (const std::exception& error) {
    const std::lock_guard lock(view_mutex_);
    ++fits_.refits;
    ++fits_.failed;
    fits_.stale = true;
    fits_.stale_words = fmt::format("the solve broke down: {}", error.what());
  }
  last_refit_ = Clock::now().time_since_epoch().count();
  set_running(false);
}

/// The states of devices meet here, outside of the rows' lock.
void Stream::add_devices(Estimator& copy, const std::vector<DeviceStates::Part>& parts) const {
  if (parts.empty()) return;
  std::vector<std::string> left_out;
  Outcome<Estimator> merged = with_devices(copy, parts, left_out);
  if (!merged) throw std::runtime_error(merged.refusal().text);
  copy = std::move(merged).value();
  for (const std::string& device : left_out)
    log(LogLevel::warning, "left out of the fit: " + device, config_.name);
}

void Stream::set_running(bool running) {
  const std::lock_guard lock(view_mutex_);
  fits_.running = running;
}

/// For the next message to take along. When none came since the fit before, that one's feedback goes to the
/// disk now.
void Stream::leave_feedback(const FitFeedback& feedback, std::uint64_t rows_until_due) {
  Bytes bytes = feedback.encode();
  const std::lock_guard rows(rows_mutex_);
  if (!store_) return;
  if (!feedback_.empty()) store_feedback();
  if (!feedback_.empty()) return;  // this one builds on that one, which the disk refuses
  set_feedback(std::move(bytes));
  feedback_since_ = Clock::now();
  rows_say_due_ = row_count_ - rows_at_refit_ >= rows_until_due;
}

/// With a record and a sync of its own; while the disk refuses, it goes on waiting. Called with the rows'
/// lock.
void Stream::store_feedback() {
  const Feedback record{fold_.estimator().state().row_count(), feedback_};
  const Outcome<std::uint64_t> number = store_->append(record);
  if (!number) return note_trouble(number.refusal().text, "; what a fit feeds back waits for the disk");
  ++record_count_;
  if (const Done done = fold_.take(record); !done) log(LogLevel::error, done.refusal().text, config_.name);
  set_feedback({});
  const std::lock_guard lock(view_mutex_);
  figures_.disk_trouble.clear();
}

/// Called with the rows' lock.
void Stream::set_feedback(Bytes feedback) {
  feedback_ = std::move(feedback);
  feedback_waits_ = !feedback_.empty();
}

void Stream::request_reset(const std::string& sensor) {
  const std::lock_guard lock(view_mutex_);
  resets_.push_back(sensor);
}

/// While the disk refuses, they wait.
void Stream::keep_resets() {
  std::vector<std::string> resets;
  {
    const std::lock_guard lock(view_mutex_);
    resets.swap(resets_);
  }
  for (const std::string& sensor : resets) {
    const std::lock_guard rows(rows_mutex_);
    if (!store_) return;
    if (!store_->append(Reset{sensor})) {
      request_reset(sensor);
      continue;
    }
    fold_.take(Reset{sensor});
    ++record_count_;
    note_rows(std::nullopt);
    log(LogLevel::warning,
        fold_.devices() != nullptr
            ? fmt::format("the states of device '{}' have left the sum, as asked", sensor)
            : fmt::format("the sequence numbers of sensor '{}' are forgotten, as asked", sensor),
        config_.name);
  }
}

void Stream::keep_feedback(Clock::duration patience) {
  const std::lock_guard rows(rows_mutex_);
  if (!store_ || feedback_.empty() || Clock::now() - feedback_since_ < patience) return;
  store_feedback();
}

/// The last fit with laws stays in view when a newer one has none. Copies are made before, and what they
/// replace is freed after the view's lock is held: rows wait for it.
void Stream::keep_fit(Report report, const Estimator& copy) {
  const bool fitted = !report.components.empty();
  auto history = std::make_shared<FitHistory>(*fits_.history);  // which no other thread changes
  if (fitted) history->add(report);
  std::shared_ptr<const FitHistory> new_history = std::move(history);
  std::shared_ptr<const FitView> view = std::make_shared<FitView>(
      FitView{{std::move(report), *new_history, copy.state().sample(), config_.payload.map},
              std::chrono::system_clock::now()});
  const Report& kept = view->model.report;
  const std::lock_guard lock(view_mutex_);
  ++fits_.refits;
  fits_.seconds += kept.solve_seconds;
  fits_.times.add(kept.solve_seconds);
  fits_.time_histogram.add(kept.solve_seconds);
  judge(kept);
  ++fits_.made;
  if (fitted) {
    fits_.stale = false;
    fits_.stale_words.clear();
    std::swap(fits_.history, new_history);
  } else {
    ++fits_.failed;
    const bool had_laws = fits_.view && !fits_.view->model.report.components.empty();
    fits_.stale = had_laws;
    fits_.stale_words = had_laws ? kept.words : "";
    if (had_laws) return;
  }
  std::swap(fits_.view, view);
}

/// Alarms of a fit. Called with the view's lock.
void Stream::judge(const Report& report) {
  const auto tell = [&](const std::string& kind, bool so, const std::string& words) {
    if (!so) {
      alarms_.over(kind);
    } else if (alarms_.holds(kind, report.rows, words)) {
      log(LogLevel::warning, fmt::format("{}: {}", kind, words), config_.name);
    }
  };
  const double before = std::exchange(fits_.effective_rows, report.effective_rows);
  if (report.effective_rows < before / 10.0) {
    const std::string words = alarm_words::forgotten(before, report.effective_rows);
    if (alarms_.goes_on("forgotten", report.rows, words)) log(LogLevel::warning, words, config_.name);
  }
  tell("poor_fit", report.status == FitStatus::poor_fit, alarm_words::poor_fit(report.words));
  const bool none = report.components.empty() && report.status != FitStatus::too_few_rows;
  tell("no_fit", none, alarm_words::no_fit(report.words));
}

std::optional<std::string> Stream::fit_to_publish(bool again) {
  std::shared_ptr<const FitView> view;
  bool stale = false;
  {
    const std::lock_guard lock(view_mutex_);
    if (!fits_.view || (fits_.published == fits_.made && !again)) return std::nullopt;
    fits_.published = fits_.made;
    view = fits_.view;
    stale = fits_.stale;
  }
  std::string json = to_json(view->model.report);
  json.pop_back();  // its brace: a few names of our own follow
  return json + fmt::format(R"(,"stream":"{}","time":"{:%FT%TZ}","stale":{}}})", config_.name,
                            fmt::gmtime(view->time), stale);
}

}  // namespace mixstream
