#include "fit_session.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "make_in_turn.hpp"
#include "mixstream/rows/row.hpp"
#include "mixstream/rows/source.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t first_look = 1024;  // rows, for the history
constexpr std::size_t fits_kept = 500;      // of one model's history
constexpr std::size_t fits_kept_of_group = 64;
constexpr std::size_t most_groups_on_page = 40;

std::string joined_names(const FeatureMap& map) {
  std::string text;
  for (const std::string& name : map.names()) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

std::vector<std::string> RowPlan::numbers() const {
  std::vector<std::string> names = map.columns();
  for (const std::string* name : {&response, &weight, &time}) {
    if (!name->empty() && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  }
  return names;
}

std::size_t RowPlan::place_of(const std::string& name) const {
  const std::vector<std::string> names = numbers();
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

Selection RowPlan::selection() const {
  Selection selection{numbers(), text(), false};
  selection.time = time;
  selection.coded = map.text_columns();
  selection.code = [](const void* context, std::size_t number, std::string_view text) noexcept {
    return static_cast<const FeatureMap*>(context)->code_of(number, text);
  };
  selection.code_context = &map;
  return selection;
}

FitSession::FitSession(RowPlan plan, EstimatorSettings settings, std::size_t most_groups,
                       std::size_t most_estimators)
    : plan_(std::move(plan)),
      settings_(std::move(settings)),
      most_groups_(most_groups),
      features_(plan_.map.feature_count()),
      response_at_(plan_.place_of(plan_.response)),
      weight_at_(plan_.place_of(plan_.weight)),
      time_at_(plan_.place_of(plan_.time)),
      columns_are_features_(plan_.map.is_products() && plan_.map.names() == plan_.map.columns()),
      inputs_(plan_.map.input_count()) {
  most_estimators_ = most_estimators;
  keeps_small_groups_ = settings_.every == 0 && settings_.state.memory.kind == Memory::Kind::everything;
  if (plan_.group.empty()) estimators_.emplace("", make_estimator());
}

Estimator FitSession::make_estimator() const {
  Outcome<Estimator> created = Estimator::create(settings_);
  if (!created) throw std::runtime_error(created.refusal().text);
  return std::move(created).value();
}

void FitSession::resume(Estimator estimator) {
  position_ = estimator.state().next_position();
  estimators_.insert_or_assign("", std::move(estimator));
}

void FitSession::resume_group(const std::string& group, GroupModel model) {
  auto* small = std::get_if<FewRows>(&model);
  if (small != nullptr && !keeps_small_groups_) model = poured(*small);
  small = std::get_if<FewRows>(&model);
  if (small != nullptr) {
    rows_ += small->rows();
    small_groups_.insert_or_assign(group, std::move(*small));
  } else {
    auto& estimator = std::get<Estimator>(model);
    rows_ += estimator.state().row_count();
    estimators_.insert_or_assign(group, std::move(estimator));
  }
  most_groups_ = std::max(most_groups_, estimators_.size() + small_groups_.size());
  most_estimators_ = std::max(most_estimators_, estimators_.size());
}

void FitSession::begin_input() {
  rows_of_input_ = 0;
  for (auto& [group, memory] : memories_) memory.clear();
  if (inputs_begun_++ == 0) return;  // a resumed stream goes on
  for (auto& [group, estimator] : estimators_) estimator.begin_chains();
}

void FitSession::end_inputs_at(std::uint64_t position) {
  position_ = position;
  rows_of_input_ = 0;
  for (auto& [group, estimator] : estimators_) estimator.go_on_at({position, estimator.state().source()});
}

void FitSession::begin_part(std::uint64_t source, std::uint64_t position) {
  position_ = position;
  rows_of_input_ = 0;
  estimator().go_on_at({0, source});
  estimator().begin_chains();
}

/// The group's own, if it has or gets one; a group of few rows gets it with its next row too many.
Estimator* FitSession::estimator_for(std::string_view group) {
  const auto found = estimators_.find(group);
  if (found != estimators_.end()) return &found->second;
  const auto small = small_groups_.find(group);
  const bool wanted = !keeps_small_groups_ || (small != small_groups_.end() && small->second.full());
  if (!wanted || estimators_.size() >= most_estimators_) return nullptr;
  if (small == small_groups_.end() && estimators_.size() >= most_groups_) return nullptr;
  Estimator& made = estimators_.emplace(group, make_estimator()).first->second;
  if (small != small_groups_.end()) {
    small->second.pour_into(made);
    small_groups_.erase(small);
  }
  return &made;
}

/// Null: there is no room for one more group, or for one more row of this one.
FewRows* FitSession::small_group_for(std::string_view group, std::span<const double> values) {
  const auto found = small_groups_.find(group);
  if (found != small_groups_.end()) return found->second.full() ? nullptr : &found->second;
  if (!keeps_small_groups_ || estimators_.size() + small_groups_.size() >= most_groups_) return nullptr;
  const int constant = settings_.state.layout.constant_feature;
  return &small_groups_.emplace(group, FewRows(features_.size(), constant, source_of(values))).first->second;
}

Estimator FitSession::poured(const FewRows& small) const {
  Estimator estimator = make_estimator();
  small.pour_into(estimator);
  return estimator;
}

std::vector<FitSession::GroupRef> FitSession::groups() const {
  std::vector<GroupRef> groups;
  for (const auto& [group, small] : small_groups_) groups.push_back({&group, &small});
  for (const auto& [group, estimator] : estimators_) groups.push_back({&group, nullptr, &estimator});
  std::ranges::sort(groups, [](const GroupRef& a, const GroupRef& b) { return *a.name < *b.name; });
  return groups;
}

Done FitSession::save_groups(const std::string& path) const {
  Estimator empty = make_estimator();
  empty.go_on_at({next_position()});
  Outcome<GroupWriter> writer = GroupWriter::create(path, plan_.group, empty);
  if (!writer) return writer.refusal();
  for (const GroupRef& group : groups()) {
    const Done added = group.small != nullptr ? writer.value().add(*group.name, *group.small)
                                              : writer.value().add(*group.name, *group.large);
    if (!added) return added.refusal();
  }
  return writer.value().finish();
}

bool FitSession::absorb(const Batch& batch, SessionListener& listener) {
  const bool grouped = !plan_.group.empty();
  std::size_t from = 0;
  const auto absorb_until = [&](std::size_t to) {
    const bool goes_on =
        grouped ? absorb_grouped_rows(batch, from, to, listener) : absorb_rows(batch, from, to, listener);
    from = to;
    return goes_on;
  };
  for (const RefusedRow& row : batch.refused) {
    if (!absorb_until(std::min(row.rows_before, batch.rows))) return false;
    rows_of_input_ = row.place.row;
    if (!plan_.map.lags().empty()) memory_of(row.text).gap();
    if (grouped)
      ++refused_[name_of(row.fault)];
    else
      estimator().count_refused(name_of(row.fault), sensor_of(row.text));
    if (!listener.refused(row)) return false;
  }
  return absorb_until(batch.rows);
}

bool FitSession::absorb_rows(const Batch& batch, std::size_t from, std::size_t to,
                             SessionListener& listener) {
  Estimator& only = estimator();
  if (from < to && only.state().source() == 0 && !plan_.unordered)
    only.go_on_at({0, source_of(batch.values(from))});
  while (from < to) {
    const std::uint64_t until_due = std::max<std::uint64_t>(rows_until_fit(), 1);
    const std::size_t stop = from + static_cast<std::size_t>(std::min<std::uint64_t>(to - from, until_due));
    // A row may ask for a fit at once: then it is made there, wherever the batch ends.
    for (bool due = false; from < stop && !due; ++from) {
      if (!absorb_row(only, batch, from, listener)) return false;
      due = only.fit_is_due();
    }
    if (!fit_if_due(listener)) return false;
  }
  return true;
}

std::uint64_t FitSession::rows_until_fit() const {
  return std::min(estimator().rows_until_due(), rows_until_look(estimator()));
}

bool FitSession::fit_if_due(SessionListener& listener) {
  Estimator& only = estimator();
  if (only.fit_is_due()) return scheduled_fit(only, "", listener);
  if (rows_until_look(only) == 0) {
    remember(only.fit());
    last_look_ = only.state().row_count();
  }
  return true;
}

/// Rows until the next fit that only the history asks for: at each doubling, where fits are not scheduled.
std::uint64_t FitSession::rows_until_look(const Estimator& estimator) const {
  if (!keeps_history_ || settings_.every > 0) return ~std::uint64_t{0};
  const std::uint64_t rows = estimator.state().row_count();
  const std::uint64_t next =
      std::max(first_look, std::bit_ceil(std::max<std::uint64_t>(rows, last_look_ + 1)));
  return next - rows;
}

bool FitSession::absorb_grouped_rows(const Batch& batch, std::size_t from, std::size_t to,
                                     SessionListener& listener) {
  for (; from < to; ++from) {
    const std::string_view group = batch.texts[from];
    Estimator* const estimator = estimator_for(group);
    if (estimator != nullptr && estimator->state().source() == 0)
      estimator->go_on_at({0, source_of(batch.values(from))});
    FewRows* const small = estimator == nullptr ? small_group_for(group, batch.values(from)) : nullptr;
    if (small != nullptr) {
      ++rows_;
      if (!absorb_small(*small, batch, from, listener)) return false;
      continue;
    }
    if (estimator == nullptr) {
      ++refused_["too_many_groups"];
      if (!listener.refused_group(group, batch.places[from])) return false;
      continue;
    }
    ++rows_;
    if (!absorb_row(*estimator, batch, from, listener)) return false;
    if (estimator->fit_is_due() && !scheduled_fit(*estimator, group, listener)) return false;
  }
  return true;
}

bool FitSession::absorb_row(Estimator& estimator, const Batch& batch, std::size_t i,
                            SessionListener& listener) {
  Row row;
  if (!make_row(estimator, batch, i, listener, row)) return goes_on_;
  const RowFault fault = estimator.absorb(row, {number_of(row), estimator.state().source()});
  return fault == RowFault::none || listener.refused(fault, batch.places[i]);
}

std::uint64_t FitSession::number_of(const Row& row) {
  const std::uint64_t place = position_ + rows_of_input_ - 1;
  if (!plan_.unordered) return place;
  const std::uint64_t content = content_number(row);
  if (!first_content_) first_content_ = content;
  return contents_.number(content, *first_content_, place);
}

bool FitSession::absorb_small(FewRows& small, const Batch& batch, std::size_t i, SessionListener& listener) {
  Row row;
  if (!make_row(small, batch, i, listener, row)) return goes_on_;
  const Layout& layout = settings_.state.layout;
  const RowFault fault = check(row, features_.size(), layout.constant_feature);
  if (fault != RowFault::none) {
    small.count_refused(name_of(fault));
    return listener.refused(fault, batch.places[i]);
  }
  small.add(row, position_ + rows_of_input_ - 1);
  return true;
}

/// False: the row was refused, and goes_on_ says what the listener answered.
template <class Counted>
bool FitSession::make_row(Counted& counted, const Batch& batch, std::size_t i, SessionListener& listener,
                          Row& row) {
  const std::span<const double> values = batch.values(i);
  const std::size_t columns = plan_.map.columns().size();
  rows_of_input_ = batch.places[i].row;
  if (!plan_.map.is_products()) {
    if (!find_features(counted, batch, i, listener)) return false;
  } else if (!columns_are_features_) {
    plan_.map.evaluate(values, features_);
  }
  row.features = columns_are_features_ ? values.first(columns) : features_;
  row.response = values[response_at_];
  if (!plan_.weight.empty()) row.weight = values[weight_at_];
  if (!plan_.time.empty()) row.time = time_unit_.in_seconds(values[time_at_]);
  if (!plan_.sensor.empty()) row.sensor = sensor_number(batch.texts[i]);
  return true;
}

/// The features of a row by functions and lags. False: the row was refused, and goes_on_ says what the
/// listener answered.
template <class Counted>
bool FitSession::find_features(Counted& counted, const Batch& batch, std::size_t i,
                               SessionListener& listener) {
  const FeatureMap& map = plan_.map;
  const std::span<const double> values = batch.values(i);
  std::copy_n(values.begin(), map.columns().size(), inputs_.begin());
  const std::string_view group = plan_.text().empty() ? std::string_view() : batch.texts[i];
  const bool reaches = map.lags().empty() || memory_of(group).fill(inputs_);
  const int fault = map.evaluate(inputs_, features_);
  if (fault < 0) return true;
  const std::string_view sensor = plan_.sensor.empty() ? std::string_view() : batch.texts[i];
  counted.count_refused(reaches ? "undefined_feature" : "no_earlier_row", sensor_of(sensor));
  goes_on_ = listener.refused_feature(map.fault_words(fault, inputs_), batch.places[i], !reaches);
  return false;
}

/// Whose chain goes on without a refused row: that of the only sensor, or of the named one if it is known.
std::optional<std::uint64_t> FitSession::sensor_of(std::string_view name) const {
  if (plan_.sensor.empty()) return 0;
  return name.empty() ? std::nullopt : std::optional(sensor_number(name));
}

LagMemory& FitSession::memory_of(std::string_view group) {
  const auto found = memories_.find(group);
  return found != memories_.end() ? found->second : memories_.emplace(group, plan_.map).first->second;
}

/// The polish needs some fits that nobody asked to see.
bool FitSession::scheduled_fit(Estimator& estimator, std::string_view group, SessionListener& listener) {
  const bool shown = estimator.every_is_due();
  Report report =
      estimator.scheduled_fit(shown || keeps_history_ ? SolveDetail::everything : SolveDetail::fit);
  solve_seconds_ += report.solve_seconds;
  describe(report, group);
  remember(report);
  return !shown || listener.fitted(report);
}

void FitSession::describe(Report& report, std::string_view group) const {
  if (plan_.map.text() != joined_names(plan_.map)) report.feature_map = plan_.map.text();
  if (plan_.group.empty()) return;
  report.group = group;
  report.stream = {rows_, estimators_.size() + small_groups_.size(), {refused_.begin(), refused_.end()}};
}

void FitSession::remember(const Report& report) {
  if (!keeps_history_) return;
  const std::size_t kept = plan_.group.empty() ? fits_kept : fits_kept_of_group;
  histories_.try_emplace(report.group.value_or(""), kept).first->second.add(report);
}

bool FitSession::each_fit(bool final, std::size_t threads, const std::function<bool(Report)>& visit) {
  const std::vector<GroupRef> all = groups();
  bool goes_on = true;
  make_in_turn(
      threads, all.size(),
      [&](std::size_t i) {
        Report report = all[i].small != nullptr ? poured(*all[i].small).fit() : all[i].large->fit();
        report.final = final;
        describe(report, *all[i].name);
        return report;
      },
      [&](Report report) {
        remember(report);
        return goes_on = visit(std::move(report));
      });
  return goes_on;
}

Sample FitSession::sample_of(const std::string& group) const {
  const auto small = small_groups_.find(group);
  return small == small_groups_.end() ? estimators_.at(group).state().sample()
                                      : poured(small->second).state().sample();
}

void PageReports::add(Report report) {
  ++seen_;
  const auto fewer =
      std::ranges::find_if(reports_, [&](const Report& other) { return other.rows < report.rows; });
  reports_.insert(fewer, std::move(report));
  if (reports_.size() > most_groups_on_page) reports_.pop_back();
}

PageInput FitSession::page(const PageReports& reports) const {
  PageInput input;
  input.models_left_out = reports.seen() - reports.list().size();
  for (const Report& report : reports.list()) {
    const std::string group = report.group.value_or("");
    const auto history = histories_.find(group);
    input.models.push_back(
        {report, history == histories_.end() ? FitHistory() : history->second, sample_of(group), plan_.map});
  }
  return input;
}

}  // namespace mixstream
