#include "fit_session.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace mixstream {
namespace {

constexpr std::uint64_t first_look = 1024;  // rows, for the history
constexpr std::size_t fits_kept = 500;      // of one model's history
constexpr std::size_t fits_kept_of_group = 64;
constexpr std::size_t most_groups_on_page = 40;

}  // namespace

std::vector<std::string> RowPlan::numbers() const {
  std::vector<std::string> names = map.columns();
  names.push_back(response);
  if (!weight.empty()) names.push_back(weight);
  if (!time.empty()) names.push_back(time);
  return names;
}

FitSession::FitSession(RowPlan plan, EstimatorSettings settings, std::size_t most_groups)
    : plan_(std::move(plan)),
      settings_(std::move(settings)),
      most_groups_(most_groups),
      features_(plan_.map.feature_count()) {}

void FitSession::resume(Estimator estimator) {
  rows_ = estimator.state().row_count();
  estimators_.insert_or_assign("", std::move(estimator));
}

void FitSession::begin_source(std::uint64_t source) {
  source_ = source;
  for (auto& [name, estimator] : estimators_) estimator.state().begin_source(source);
}

Estimator* FitSession::estimator_for(std::string_view group) {
  const auto found = estimators_.find(group);
  if (found != estimators_.end()) return &found->second;
  if (estimators_.size() >= most_groups_) return nullptr;
  Outcome<Estimator> created = Estimator::create(settings_);
  if (!created) throw std::runtime_error(created.refusal().text);
  created.value().state().begin_source(source_);
  return &estimators_.emplace(group, std::move(created).value()).first->second;
}

bool FitSession::absorb(const Batch& batch, const Publish& publish) {
  if (!plan_.group.empty()) return absorb_groups(batch, publish);
  Estimator& estimator = *estimator_for("");
  std::size_t refused = 0;
  for (std::size_t i = 0; i <= batch.rows; ++i) {
    for (; refused < batch.refused.size() && batch.refused[refused].rows_before <= i; ++refused) {
      estimator.count_refused(name_of(batch.refused[refused].fault));
    }
    if (i < batch.rows && !absorb_row(estimator, "", batch.values(i), publish)) return false;
  }
  return true;
}

bool FitSession::absorb_groups(const Batch& batch, const Publish& publish) {
  for (std::size_t i = 0; i < batch.rows; ++i) {
    Estimator* estimator = estimator_for(batch.texts[i]);
    if (estimator == nullptr)
      ++refused_groups_;
    else if (!absorb_row(*estimator, batch.texts[i], batch.values(i), publish))
      return false;
  }
  return true;
}

bool FitSession::absorb_row(Estimator& estimator, std::string_view group, std::span<const double> values,
                            const Publish& publish) {
  plan_.map.evaluate(values, features_);
  std::size_t at = plan_.map.columns().size();
  Row row{features_, values[at++]};
  if (!plan_.weight.empty()) row.weight = values[at++];
  if (!plan_.time.empty()) row.time = values[at];
  const bool accepted = estimator.absorb(row) == RowVerdict::accepted;
  ++rows_;
  if (!estimator.fit_is_due()) {
    const std::uint64_t rows = estimator.state().row_count();
    const bool look =
        keeps_history_ && accepted && settings_.every == 0 && plan_.group.empty() && rows >= first_look;
    if (look && std::has_single_bit(rows)) remember(estimator.fit());
    return true;
  }
  const bool shown = estimator.every_is_due();
  Report report = estimator.scheduled_fit();
  report.group = group;
  remember(report);
  return !shown || publish(report);
}

void FitSession::remember(const Report& report) {
  if (!keeps_history_) return;
  const std::size_t kept = plan_.group.empty() ? fits_kept : fits_kept_of_group;
  histories_.try_emplace(report.group, kept).first->second.add(report);
}

std::vector<Report> FitSession::fits(bool final) {
  std::vector<Report> reports;
  for (const auto& [group, estimator] : estimators_) {
    reports.push_back(estimator.fit());
    reports.back().group = group;
    reports.back().final = final;
    remember(reports.back());
  }
  return reports;
}

PageInput FitSession::page(const std::vector<Report>& reports) const {
  std::vector<const Report*> order;
  for (const Report& report : reports) order.push_back(&report);
  std::ranges::stable_sort(order, [](const Report* a, const Report* b) { return a->rows > b->rows; });
  PageInput input;
  input.models_left_out = order.size() - std::min(order.size(), most_groups_on_page);
  order.resize(order.size() - input.models_left_out);
  for (const Report* report : order) {
    const auto history = histories_.find(report->group);
    input.models.push_back({*report, history == histories_.end() ? FitHistory() : history->second,
                            estimators_.at(report->group).state().sample(), plan_.map});
  }
  return input;
}

}  // namespace mixstream
