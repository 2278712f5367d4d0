#include "mixstream/model/model.hpp"
#include "mixstream/rows/row.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/estimator/model_budget.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/sections.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t packed_magic = 0x53574f524d58494dULL;  // "MIXMROWS"
constexpr std::uint32_t packed_version = 2;
enum class PackedKind : std::uint32_t { rows = 0, state = 1, unnumbered_rows = 2 };
constexpr std::uint32_t numbers_section = first_guest_type + 2;
constexpr std::uint64_t any_budget = std::numeric_limits<std::uint64_t>::max() >> 1;

bool is_packed(std::span<const std::byte> bytes) noexcept {
  return ByteReader(bytes).take<std::uint64_t>() == packed_magic;
}

/// Whether rows of the one may enter the other.
bool same_state(StateSettings one, const StateSettings& other) {
  one.memory_budget = other.memory_budget;
  return one == other;
}

/// The beginning of a packed model, and what follows it.
struct Packed {
  std::uint64_t width;  ///< one more than the rows', 0: no row has told
  PackedKind kind;
  std::span<const std::byte> content;
};

struct PackedRows {
  std::size_t feature_count;
  std::string options;
  std::uint64_t next_position;
  FewRows rows;
};

Refusal damaged() {
  return {Reason::bad_snapshot, "the packed rows are damaged or cut short"};
}

Outcome<Packed> unpack(std::span<const std::byte> bytes) {
  constexpr std::size_t checksum_bytes = 8;
  if (bytes.size() < sizeof packed_magic + checksum_bytes) return damaged();
  const std::span<const std::byte> content = bytes.first(bytes.size() - checksum_bytes);
  if (ByteReader(bytes.last(checksum_bytes)).take<std::uint64_t>() != checksum(content)) return damaged();
  ByteReader in(content.subspan(sizeof packed_magic));
  if (in.take<std::uint32_t>() != packed_version)
    return Refusal{Reason::unknown_version, "the rows were packed by another version of mixstream"};
  const auto width = in.take<std::uint64_t>();
  const auto kind = in.take<std::uint32_t>();
  if (!in.ok() || kind > static_cast<std::uint32_t>(PackedKind::unnumbered_rows)) return damaged();
  return Packed{width, static_cast<PackedKind>(kind), in.take_bytes(in.left())};
}

Outcome<PackedRows> unpack_rows(std::span<const std::byte> content) {
  ByteReader in(content);
  const auto feature_count = static_cast<std::size_t>(in.take<std::uint64_t>());
  std::string options = in.take_text();
  const auto next_position = in.take<std::uint64_t>();
  std::optional<FewRows> rows = FewRows::decode(in);
  if (!rows || !in.at_end()) return damaged();
  return PackedRows{feature_count, std::move(options), next_position, std::move(*rows)};
}

/// The saved estimator, solving as it was saved but for what the options change.
Outcome<Estimator> decode_estimator(std::span<const std::byte> bytes, std::string_view options) {
  Outcome<SolveSettings> saved = Estimator::saved_solve_settings(bytes);
  if (!saved) return saved.refusal();
  EstimatorSettings settings;
  settings.solve = saved.value();
  settings.state.memory_budget = any_budget;
  Outcome<Estimator> estimator = Estimator::decode(bytes, settings);
  if (!estimator || options.empty()) return estimator;
  const std::vector<std::string> names = estimator.value().settings().solve.feature_names;
  Outcome<SolveSettings> solve = read_solve_options(saved.value(), names, options);
  if (!solve) return solve.refusal();
  settings.solve = std::move(solve).value();
  return Estimator::decode(bytes, settings);
}

}  // namespace

Model::Model(ModelOptions options, FewRows few)
    : options_(std::move(options)),
      few_(std::move(few)),
      source_(few_.source()),
      features_(feature_count(), 1.0) {}

Model::Model(ModelOptions options, Estimator all)
    : options_(std::move(options)),
      few_(feature_count(), -1, 0),
      source_(options_.source.value_or(0)),
      features_(feature_count(), 1.0) {
  grow(std::move(all));
}

Outcome<Model> Model::create(ModelOptions options) {
  Outcome<Estimator> tried = Estimator::create(options.estimator);  // refuses what cannot be
  if (!tried) return tried.refusal();
  const Layout& layout = options.estimator.state.layout;
  FewRows rows(static_cast<std::size_t>(layout.feature_count), layout.constant_feature,
               options.source.value_or(0));
  const bool everything = options.estimator.state.memory.kind == Memory::Kind::everything;
  const std::size_t given = options.given_features;
  Model model = everything ? Model(std::move(options), std::move(rows))
                           : Model(std::move(options), std::move(tried).value());
  if (given < model.feature_count()) model.settle_width(given);  // the constant was asked for beside them
  return model;
}

Outcome<Model> Model::decode(std::span<const std::byte> bytes, std::string_view options) {
  if (is_packed(bytes)) {
    Outcome<Packed> packed = unpack(bytes);
    if (!packed) return packed.refusal();
    const PackedKind kind = packed.value().kind;
    const std::span<const std::byte> content = packed.value().content;
    Outcome<Model> model = kind == PackedKind::state
                               ? decode(content, options)
                               : decode_rows(content, kind == PackedKind::unnumbered_rows, options);
    const std::uint64_t width = packed.value().width;
    if (model && width > 0 && !model.value().settle_width(static_cast<std::size_t>(width - 1)))
      return damaged();
    return model;
  }
  Outcome<Estimator> estimator = decode_estimator(bytes, options);
  if (!estimator) return estimator.refusal();
  ModelOptions made;
  made.estimator = estimator.value().settings();
  Model model(std::move(made), std::move(estimator).value());
  const MomentState& state = model.all_->state();
  model.go_on_at(state.next_position(), state.source());
  if (const auto numbers = guest_of(bytes, numbers_section)) {
    if (const Done done = model.take_numbers(*numbers); !done) return done.refusal();
  }
  return model;
}

Outcome<Model> Model::decode_rows(std::span<const std::byte> content, bool unnumbered,
                                  std::string_view options) {
  Outcome<PackedRows> packed = unpack_rows(content);
  if (!packed) return packed.refusal();
  Outcome<ModelOptions> made = read_model_options(packed.value().feature_count, packed.value().options);
  if (!made) return made.refusal();
  Model model(std::move(made).value(), packed.value().rows);
  model.go_on_at(packed.value().next_position, packed.value().rows.source());
  if (unnumbered && model.rows() > 0) model.first_content_ = model.few_.positions().front();
  if (options.empty()) return model;
  return decode(model.encode(), options);
}

void Model::go_on_at(std::uint64_t position, std::uint64_t source) noexcept {
  next_position_ = position;
  source_ = source;
}

Done Model::take_numbers(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  first_content_ = in.take<std::uint64_t>();
  contents_ = RepeatedContents::decode(in);
  if (!contents_ || !in.at_end()) return Refusal{Reason::bad_snapshot, "the numbers of the rows are damaged"};
  return std::monostate{};
}

std::size_t Model::feature_count() const noexcept {
  return static_cast<std::size_t>(options_.estimator.state.layout.feature_count);
}

bool Model::settle_width(std::size_t features) noexcept {
  if (width_) return features == *width_;
  const bool without_constant = options_.estimator.state.layout.constant_feature == 0;
  const bool fits = features == feature_count() || (without_constant && features + 1 == feature_count());
  if (fits) width_ = features;
  return fits;
}

std::uint64_t Model::rows() const noexcept {
  return is_small() ? few_.rows() : all_->state().row_count();
}

std::size_t Model::bytes() const noexcept {
  return sizeof *this + options_.text.size() + (is_small() ? few_.bytes() : bytes_of_estimator_) +
         (contents_ ? RepeatedContents::bytes : 0);
}

Estimator Model::poured() const {
  Estimator estimator = Estimator::create(options_.estimator).value();  // as when the model was made
  few_.pour_into(estimator);
  estimator.go_on_at({next_position_, source_});
  return estimator;
}

/// From here on there are moments.
void Model::grow(Estimator estimator) {
  if (const Outcome<std::uint64_t> bytes = model_bytes(options_.estimator))
    bytes_of_estimator_ = bytes.value();
  all_ = std::make_unique<Estimator>(std::move(estimator));
  if (first_content_) remember(few_);
  few_ = FewRows(feature_count(), -1, 0);
}

/// With the constant, where the caller leaves it out. A row of another width than those before has no
/// features, and check() refuses it by that.
const Row& Model::whole(const Row& row) noexcept {
  row_ = row;
  if (!settle_width(row.features.size())) {
    row_.features = {};
  } else if (row.features.size() + 1 == features_.size()) {
    for (std::size_t f = 0; f < row.features.size(); ++f) features_[f + 1] = row.features[f];
    row_.features = features_;
  }
  return row_;
}

/// For a row that brings none: what it holds; if that has been here before, its place.
std::uint64_t Model::number_of(const Row& row) {
  const std::uint64_t content = content_number(row);
  if (!first_content_) first_content_ = content;
  if (is_small()) {
    const bool repeats = std::ranges::find(few_.positions(), content) != few_.positions().end();
    return repeats ? RepeatedContents::of_place(*first_content_, next_position_) : content;
  }
  if (!contents_) contents_.emplace();
  return contents_->number(content, *first_content_, next_position_);
}

void Model::remember(const FewRows& rows) {
  if (!contents_) contents_.emplace();
  for (const std::uint64_t number : rows.positions()) contents_->notice(number);
}

/// A state that is saved says where the next row stands, whatever the numbers of the last ones.
void Model::keep_place() noexcept {
  if (!is_small()) all_->go_on_at({next_position_, source_});
}

RowFault Model::absorb(const Row& given, std::optional<std::uint64_t> position) {
  const Row& row = whole(given);
  const std::uint64_t number = position ? *position : number_of(row);
  next_position_ = position.value_or(next_position_) + 1;
  if (is_small() && few_.full()) grow(poured());
  if (is_small()) {
    const RowFault fault = check(row, feature_count(), options_.estimator.state.layout.constant_feature);
    if (fault == RowFault::none)
      few_.add(row, number);
    else
      few_.count_refused(name_of(fault));
    return fault;
  }
  const RowFault fault = all_->absorb(row, {number, source_});
  keep_place();
  if (fault == RowFault::none && all_->fit_is_due()) all_->scheduled_fit(SolveDetail::fit);
  return fault;
}

void Model::count_refused(std::string_view reason, std::optional<std::uint64_t> sensor) {
  ++next_position_;
  if (is_small())
    few_.count_refused(std::string(reason));
  else
    all_->count_refused(reason, sensor);
  keep_place();
}

Done Model::merge(const Model& other) {
  const bool had_rows = rows() > 0;
  if (!is_small() && !other.is_small()) {
    if (Done done = all_->merge(*other.all_); !done) return done;
  } else if (!same_state(sized_state(options_.estimator), sized_state(other.options_.estimator))) {
    return Refusal{Reason::cannot_merge,
                   "the two models differ in features, response, sample, seed or memory of the past: make "
                   "them with the same options"};
  } else {
    take_rows_of(other);
  }
  if (!had_rows) source_ = other.source_;  // rows that come go on where the other's ended
  if (!first_content_) first_content_ = other.first_content_;
  next_position_ = std::max(next_position_, other.next_position_);
  take_contents_of(other);
  keep_place();
  if (is_small())
    few_.begin_run(source_);
  else
    all_->begin_chains();
  return std::monostate{};
}

/// One of the two has few rows: they enter the other, whose coordinates stay.
void Model::take_rows_of(const Model& other) {
  if (is_small() && other.is_small() && few_.append(other.few_)) return;
  if (other.is_small()) {
    if (is_small()) grow(poured());
    all_->begin_chains();
    return other.few_.pour_into(*all_);
  }
  Estimator all = *other.all_;
  all.begin_chains();
  few_.pour_into(all);
  grow(std::move(all));
}

void Model::take_contents_of(const Model& other) {
  if (contents_ && other.contents_)
    contents_->merge(*other.contents_);
  else if (other.contents_)
    contents_ = other.contents_;
  if (!is_small() && other.is_small() && other.first_content_) remember(other.few_);
}

Outcome<Report> Model::fit(std::string_view options) const {
  Report report;
  if (options.empty()) {
    report = with_estimator([](const Estimator& estimator) { return estimator.fit(); });
  } else {
    Outcome<Estimator> other = decode_estimator(encode(), options);
    if (!other) return other.refusal();
    report = other.value().fit();
  }
  report.final = true;
  return report;
}

Bytes Model::encode() const {
  Bytes bytes = with_estimator([](const Estimator& estimator) { return estimator.encode(); });
  if (!first_content_) return bytes;
  RepeatedContents contents = contents_.value_or(RepeatedContents());
  for (const std::uint64_t number : few_.positions()) contents.notice(number);
  ByteWriter numbers;
  numbers.put(*first_content_);
  contents.encode(numbers);
  return with_guest(bytes, {numbers_section, std::move(numbers).take()});
}

Bytes Model::pack() const {
  const PackedKind kind = !is_small()      ? PackedKind::state
                          : first_content_ ? PackedKind::unnumbered_rows
                                           : PackedKind::rows;
  ByteWriter out;
  out.put(packed_magic);
  out.put(packed_version);
  out.put(static_cast<std::uint64_t>(width_ ? *width_ + 1 : 0));
  out.put(static_cast<std::uint32_t>(kind));
  if (is_small()) {
    out.put(static_cast<std::uint64_t>(options_.given_features));
    out.put_text(options_.text);
    out.put(next_position_);
    few_.encode(out);
  } else {
    out.put(std::span<const std::byte>(encode()));
  }
  out.put(checksum(out.written()));
  return std::move(out).take();
}

}  // namespace mixstream
