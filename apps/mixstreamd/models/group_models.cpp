#include "group_models.hpp"

#include <algorithm>
#include <utility>

#include "mixstream/estimator/model_budget.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/rows/source.hpp"
#include "payload/payload.hpp"
#include "sources/topic_filter.hpp"

namespace mixstream {
namespace {

/// Rows in any order, and no fit that a later one builds on.
EstimatorSettings without_traces(EstimatorSettings settings) {
  settings.every = 0;
  SolveSettings& solve = settings.solve;
  solve.polish = PolishKind::off;
  solve.modes = Modes::independent;
  solve.gate.clear();
  solve.noise_shape = {};
  solve.choice = {};
  return settings;
}

/// One who counts rows in order tells groups apart by their sources.
std::uint64_t source_of_row(const Row& row, int constant) {
  std::vector<double> numbers;
  for (std::size_t f = 0; f < row.features.size(); ++f)
    if (static_cast<int>(f) != constant) numbers.push_back(row.features[f]);
  numbers.push_back(row.response);
  return source_of(numbers);
}

void put(ByteWriter& out, const FewRows* rows) {
  out.put(static_cast<std::uint32_t>(rows != nullptr ? 1 : 0));
  if (rows != nullptr) rows->encode(out);
}

/// False: damaged.
bool take_rows(ByteReader& in, const Layout& layout, std::unique_ptr<FewRows>& rows) {
  if (in.take<std::uint32_t>() == 0) return in.ok();
  std::optional<FewRows> decoded = FewRows::decode(in);
  if (!decoded || !decoded->has_features_of(layout)) return false;
  rows = std::make_unique<FewRows>(std::move(*decoded));
  return true;
}

}  // namespace

GroupModels::GroupModels(const EstimatorSettings& stream, const GroupSettings& settings)
    : model_(without_traces(stream)),
      settings_(settings),
      holds_few_(stream.state.memory.kind == Memory::Kind::everything) {
  if (const Outcome<std::uint64_t> bytes = model_bytes(model_)) grown_bytes_ = bytes.value();
}

std::string_view GroupModels::group_of(const RowName& name) const noexcept {
  return settings_.level > 0 ? level_of(name.source, settings_.level) : name.sensor;
}

const char* GroupModels::refusal(const RowName& name) const {
  const std::string_view group = group_of(name);
  if (group.empty() || group.size() > longest_sensor) return "bad_group";
  const bool fits = models_.size() < settings_.most_models || models_.contains(group);
  return fits ? nullptr : "too_many_models";
}

FewRows GroupModels::few_rows(std::uint64_t source) const {
  const Layout& layout = model_.state.layout;
  return {static_cast<std::size_t>(layout.feature_count), layout.constant_feature, source};
}

GroupModels::Model& GroupModels::model_of(std::string_view group, const Row& row) {
  const auto known = models_.find(group);
  if (known != models_.end()) {
    touch(*known);
    return known->second;
  }
  Model model;
  model.source = source_of_row(row, model_.state.layout.constant_feature);
  model.few = std::make_unique<FewRows>(few_rows(model.source));
  if (!holds_few_) grow(model);
  const auto made = models_.emplace(group, std::move(model)).first;
  touch(*made);
  return made->second;
}

void GroupModels::touch(Models::value_type& entry) {
  if (std::exchange(entry.second.touched, true)) return;
  touched_.push_back(&entry);
}

/// From here on there are moments, and of the rows only the newest.
void GroupModels::grow(Model& model) const {
  model.grown = std::make_unique<Estimator>(Estimator::create(model_).value());  // as the stream's was
  model.grown->go_on_at({0, model.source});
  model.few->pour_into(*model.grown);
  RowTable recent;
  recent.feature_count = static_cast<std::size_t>(model_.state.layout.feature_count);
  model.few->copy_last(recent_rows / 2, recent);
  model.few.reset();
  model.before = std::make_unique<FewRows>(few_rows(model.source));
  model.recent = std::make_unique<FewRows>(few_rows(model.source));
  for (std::size_t i = 0; i < recent.size(); ++i) model.before->add(recent.row(i), 0);
}

void GroupModels::remember(Model& model, const Row& row) const {
  Row bare = row;  // of a look back only what the laws are made of
  bare.time = 0.0;
  bare.sensor = 0;
  model.recent->add(bare, 0);
  if (model.recent->rows() < recent_rows / 2) return;
  model.before = std::exchange(model.recent, std::make_unique<FewRows>(few_rows(model.source)));
}

void GroupModels::take(const RowName& name, const Row& row, double arrival) {
  const std::string_view group = group_of(name);
  Model& model = model_of(group, row);
  Row own = row;
  if (group == name.sensor) own.sensor = 0;  // the only one of its model
  if (!model.grown && model.few->full()) grow(model);
  if (holds_few_) own.time = 0.0;  // nothing is forgotten by it
  if (model.grown) {
    model.grown->absorb(own, {model.rows, model.source});
    remember(model, own);
  } else {
    model.few->add(own, model.rows);
  }
  ++model.rows;
  model.last_arrival = arrival;
}

std::vector<GroupFigures> GroupModels::take_touched() {
  std::vector<GroupFigures> figures;
  figures.reserve(touched_.size());
  for (Models::value_type* const entry : touched_) {
    Model& model = entry->second;
    model.touched = false;
    figures.push_back({entry->first, model.rows, model.last_arrival, model.grown != nullptr});
  }
  touched_.clear();
  return figures;
}

GroupCopy GroupModels::copy_of(std::string_view name) const {
  GroupCopy copy;
  copy.recent.feature_count = static_cast<std::size_t>(model_.state.layout.feature_count);
  const auto found = models_.find(name);
  if (found == models_.end()) return copy;
  const Model& model = found->second;
  copy.rows = model.rows;
  if (!model.grown) {
    copy.few = std::make_unique<FewRows>(*model.few);
    model.few->copy_last(recent_rows, copy.recent);
    return copy;
  }
  copy.grown = std::make_unique<Estimator>(*model.grown);
  model.before->copy_last(recent_rows, copy.recent);
  model.recent->copy_last(recent_rows, copy.recent);
  return copy;
}

std::unique_ptr<Estimator> estimator_in(GroupCopy& copy, const EstimatorSettings& settings) {
  if (copy.grown) return std::move(copy.grown);
  auto made = std::make_unique<Estimator>(Estimator::create(settings).value());
  if (copy.few) copy.few->pour_into(*made);
  return made;
}

std::unique_ptr<Estimator> GroupModels::estimator_of(std::string_view name) const {
  if (!models_.contains(name)) return nullptr;
  GroupCopy copy = copy_of(name);
  return estimator_in(copy, model_);
}

std::vector<std::string> GroupModels::names() const {
  std::vector<std::string> names;
  for (const auto& [name, model] : models_) names.push_back(name);
  return names;
}

std::size_t GroupModels::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, model] : models_) {
    bytes += sizeof(Models::value_type) + name.capacity();
    for (const FewRows* rows : {model.few.get(), model.before.get(), model.recent.get()})
      bytes += rows == nullptr ? 0 : rows->bytes();
    bytes += model.grown ? grown_bytes_ : 0;
  }
  return bytes;
}

void GroupModels::encode(ByteWriter& out, const Model& model) {
  out.put(model.rows);
  out.put(model.source);
  out.put(model.last_arrival);
  for (const FewRows* rows : {model.few.get(), model.before.get(), model.recent.get()}) put(out, rows);
  const Bytes grown = model.grown ? model.grown->encode() : Bytes{};
  out.put(static_cast<std::uint64_t>(grown.size()));
  if (!grown.empty()) out.put(std::span<const std::byte>(grown));
}

Bytes GroupModels::encode() const {
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(models_.size()));
  for (const auto& [name, model] : models_) {
    out.put_text(name);
    encode(out, model);
  }
  return std::move(out).take();
}

bool GroupModels::restore(ByteReader& in, Model& model) const {
  model.rows = in.take<std::uint64_t>();
  model.source = in.take<std::uint64_t>();
  model.last_arrival = in.take_double();
  for (std::unique_ptr<FewRows>* rows : {&model.few, &model.before, &model.recent})
    if (!take_rows(in, model_.state.layout, *rows)) return false;
  const std::span<const std::byte> grown = in.take_bytes(in.take<std::uint64_t>());
  if (!in.ok()) return false;
  if (grown.empty()) return model.few && !model.before && !model.recent && model.rows == model.few->rows();
  Outcome<Estimator> estimator = Estimator::decode(grown, model_);
  if (!estimator || model.few || !model.before || !model.recent) return false;
  const Layout& layout = estimator.value().state().settings().layout;
  if (!(layout == model_.state.layout)) return false;
  model.grown = std::make_unique<Estimator>(std::move(estimator).value());
  return true;
}

bool GroupModels::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto count = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < count; ++i) {
    std::string name = in.take_text();
    Model model;
    if (!restore(in, model)) return false;
    const auto [entry, is_new] = models_.emplace(std::move(name), std::move(model));
    if (!is_new) return false;
    touch(*entry);
  }
  return in.ok() && in.at_end();
}

}  // namespace mixstream
