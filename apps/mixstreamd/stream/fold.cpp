#include "fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "columns/read_columns.hpp"
#include "input/text.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/sections.hpp"
#include "mixstream/moments/state.hpp"
#include "sources/topic_filter.hpp"

namespace mixstream {
namespace {

constexpr std::uint32_t taken_part = first_guest_type;
constexpr std::uint32_t devices_part = first_guest_type + 16;
constexpr std::uint32_t values_part = first_guest_type + 17;
constexpr std::uint32_t groups_part = first_guest_type + 18;

std::string words_of(const Memory& memory) {
  switch (memory.kind) {
    case Memory::Kind::everything:
      return "everything";
    case Memory::Kind::half_life_rows:
      return fmt::format("half-life of {} rows", memory.length);
    case Memory::Kind::half_life_seconds:
      return fmt::format("half-life of {} s", memory.length);
    case Memory::Kind::window_rows:
      return fmt::format("window of {} rows", memory.length);
    case Memory::Kind::three_parts:
      return "everything, in three data sets";
  }
  return "";
}

/// Whether the state is of the model that the configuration asks for.
Done compare(const StateSettings& state, const StateSettings& wanted) {
  const auto differs = [](const std::string& what, const auto& has, const auto& wants) -> Done {
    return Refusal{
        Reason::bad_settings,
        fmt::format("its state has {} {}, the configuration says {}: give the stream another name, or "
                    "move its state folder away to begin anew",
                    what, has, wants)};
  };
  if (state.feature_map != wanted.feature_map)
    return differs("features", state.feature_map, wanted.feature_map);
  if (state.response != wanted.response) return differs("response", state.response, wanted.response);
  if (!(state.memory == wanted.memory))
    return differs("memory", words_of(state.memory), words_of(wanted.memory));
  if (wanted.reservoir_rows != 0 && state.reservoir_rows != wanted.reservoir_rows)
    return differs("sample_rows", state.reservoir_rows, wanted.reservoir_rows);
  if (state.seed != wanted.seed) return differs("seed", state.seed, wanted.seed);
  return std::monostate{};
}

StreamStateSettings settings_of(const StreamConfig& config) {
  return {.estimator = config.estimator, .payload = config.payload, .identity = config.identity};
}

bool is_by_line(const StreamConfig& config) {
  return config.topic.empty() && config.payload.format == PayloadFormat::json;
}

}  // namespace

std::string replay_source(std::string_view file, std::uint64_t offset) {
  return fmt::format("{}@{}", file, offset);
}

std::uint64_t fingerprint_of(const StreamConfig& config) {
  const std::uint64_t rows =
      fingerprint(settings_of(config)) + static_cast<std::uint64_t>(is_by_line(config));
  ByteWriter out;
  out.put(rows);
  if (config.group.enabled) {
    out.put_text("group");
    out.put(static_cast<std::uint64_t>(config.group.level));
    out.put(static_cast<std::uint64_t>(config.group.most_models));
    return checksum(out.written());
  }
  if (!config.columns.topics.empty()) {
    for (const ColumnTopic& topic : config.columns.topics) {
      out.put_text(topic.column);
      out.put_text(topic.filter);
    }
    out.put_text(config.columns.trigger);
    out.put(config.columns.tolerance);
    return checksum(out.written());
  }
  if (!config.devices.enabled) return rows;
  out.put(static_cast<std::uint64_t>(config.identity.sensor_level));
  out.put(config.devices.held_bytes);
  out.put(config.devices.most_rows);
  out.put(config.devices.most_weight);
  return checksum(out.written());
}

Fold::Fold(const StreamConfig& config, StreamState state)
    : state_(std::move(state)),
      device_level_(config.identity.sensor_level),
      by_line_(is_by_line(config)),
      replayed_(!config.replay.empty()) {
  if (!config.columns.topics.empty())
    joiner_.emplace(config.columns, value_fields(config), config.identity.most_sensors,
                    config.identity.clock_tolerance);
  if (config.group.enabled) groups_ = std::make_unique<GroupModels>(config.estimator, config.group);
  if (!config.devices.enabled) return;
  devices_.emplace(sized_state(config.estimator), config.devices, config.identity.most_sensors,
                   config.identity.largest_jump);
}

Outcome<Fold> Fold::create(const StreamConfig& config) {
  Outcome<StreamState> state = StreamState::create(settings_of(config));
  if (!state) return state.refusal();
  return Fold(config, std::move(state).value());
}

Outcome<Fold> Fold::restore(const std::vector<Section>& sections, const StreamConfig& config) {
  Outcome<StreamState> state = StreamState::restore(sections, settings_of(config));
  if (!state) return state.refusal();
  const StateSettings& settings = state.value().estimator().state().settings();
  if (const Done done = compare(settings, config.estimator.state); !done) return done.refusal();
  Fold fold(config, std::move(state).value());
  if (const Done done = fold.restore_parts(sections); !done) return done.refusal();
  return fold;
}

/// What is not of the stream's own rows. Refuses damage, and parts that the configuration has no place for.
Done Fold::restore_parts(const std::vector<Section>& sections) {
  const auto part = [&](std::uint32_t type) -> const Section* {
    const auto found = std::ranges::find(sections, type, &Section::type);
    return found == sections.end() ? nullptr : &*found;
  };
  const auto damaged = [](const char* what) -> Done {
    return Refusal{Reason::bad_snapshot, fmt::format("the snapshot is damaged: {}", what)};
  };
  const auto differs = [](const char* made_of, const char* key) -> Done {
    return Refusal{Reason::bad_settings,
                   fmt::format("its state was made of {}, the configuration says otherwise ({}): give the "
                               "stream another name, or move its state folder away to begin anew",
                               made_of, key)};
  };
  const Section* const taken = part(taken_part);
  const Section* const devices = part(devices_part);
  const Section* const values = part(values_part);
  const Section* const groups = part(groups_part);
  if (taken != nullptr && !read_taken(taken->bytes)) return damaged("how far files were replayed");
  if ((devices != nullptr) != devices_.has_value())
    return differs(devices != nullptr ? "states of devices" : "rows", "format");
  if ((groups != nullptr) != (groups_ != nullptr))
    return differs(groups != nullptr ? "rows with a model for each group" : "rows with one model for all",
                   "group");
  if (joiner_ && values != nullptr && !joiner_->restore(values->bytes))
    return damaged("the newest values of columns");
  if (devices != nullptr && !devices_->restore(devices->bytes)) return damaged("the states of devices");
  if (groups != nullptr && !groups_->restore(groups->bytes)) return damaged("the models of groups");
  return std::monostate{};
}

std::vector<Section> Fold::sections() const {
  std::vector<Section> sections = state_.sections();
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(taken_.size()));
  for (const auto& [file, offset] : taken_) {
    out.put_text(file);
    out.put(offset);
  }
  sections.push_back({taken_part, std::move(out).take()});
  if (joiner_) sections.push_back({values_part, joiner_->encode()});
  if (devices_) sections.push_back({devices_part, devices_->encode()});
  if (groups_) sections.push_back({groups_part, groups_->encode()});
  return sections;
}

bool Fold::read_taken(const Bytes& bytes) {
  ByteReader in(bytes);
  const auto files = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < files; ++i) {
    std::string file = in.take_text();
    taken_[std::move(file)] = in.take<std::uint64_t>();
  }
  return in.ok() && in.at_end();
}

std::uint64_t Fold::taken_of(const std::string& file) const {
  const auto found = taken_.find(file);
  return found == taken_.end() ? 0 : found->second;
}

/// The file of a replay without the offset, which is remembered; any other source as it is.
std::string_view Fold::note_taken(std::string_view source) {
  const std::size_t at = source.rfind('@');
  if (!replayed_ || at == std::string_view::npos) return source;
  std::uint64_t offset = 0;
  std::from_chars(source.data() + at + 1, source.data() + source.size(), offset);
  taken_[std::string(source.substr(0, at))] = offset;
  return source.substr(0, at);
}

/// A state that is refused counts as one row, under the name of the reason.
void Fold::take_state(const Message& message) {
  const std::string_view device =
      device_level_ > 0 ? level_of(message.source, device_level_) : std::string_view();
  StateEffect effect = devices_->take(device, message.payload);
  if (effect.fate != StateFate::refused) return;
  state_.apply(Rejection{message.source, name_of(effect.fault)});
  refusal_ = fmt::format("{}: {}", printable(message.source), effect.words);
}

/// The row that a value completes goes on as a message of its sensor.
void Fold::take_value(const Message& message) {
  const Joined joined = joiner_->take(message.source, message.payload, message.arrival);
  const std::string_view sensor = joined.sensor.empty() ? message.source : joined.sensor;
  if (joined.refused != nullptr) return state_.apply(Rejection{sensor, joined.refused});
  if (!joined.row.empty()) state_.apply(Message{sensor, joined.row, message.arrival});
}

void Fold::take(const Reset& reset) {
  if (devices_)
    devices_->forget(reset.sensor);
  else
    state_.apply(reset);
}

FoldCounts Fold::counts() const {
  FoldCounts counts = state_.counts();
  if (!devices_) return counts;
  counts.folded += devices_->rows();
  counts.duplicate += devices_->repeated();
  counts.rows = counts.folded + counts.duplicate + counts.refused;
  return counts;
}

std::size_t Fold::sensor_count() const noexcept {
  if (joiner_) return joiner_->sensor_count();
  return devices_ ? devices_->device_count() : state_.sensors().sensor_count();
}

Outcome<Estimator> with_devices(Estimator estimator, const std::vector<DeviceStates::Part>& parts,
                                std::vector<std::string>& left_out) {
  Outcome<MergedStates> merged = merge_states(parts, estimator.state().settings());
  if (!merged) return merged.refusal();
  const Outcome<Estimator> whole = Estimator::decode(encode(merged.value().state), estimator.settings());
  if (!whole) return whole.refusal();
  left_out = std::move(merged.value().left_out);
  if (const Done added = estimator.merge(whole.value()); !added) return added.refusal();
  return estimator;
}

void Fold::take(const Rejection& rejection) {
  note_taken(rejection.source);
  state_.apply(rejection);
}

void Fold::take(const Message& message) {
  if (devices_) return take_state(message);
  if (joiner_) return take_value(message);
  Message part = message;
  part.source = note_taken(message.source);
  if (!by_line_) {
    if (!part.payload.empty()) state_.apply(part, groups_.get());
    return;
  }
  std::string_view text(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    part.payload = std::as_bytes(std::span(line));
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) state_.apply(part, groups_.get());
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

Done Fold::take(const FedMessage& fed) {
  if (Done done = state_.apply(fed.before); !done) return done;
  take(fed.message);
  return std::monostate{};
}

Done Fold::take(const Content& content) {
  return std::visit(
      [this]<class Held>(const Held& held) -> Done {
        if constexpr (std::is_same_v<decltype(take(held)), Done>) {
          return take(held);
        } else {
          take(held);
          return std::monostate{};
        }
      },
      content);
}

Done Fold::take(const Record& record) {
  if (const std::optional<FedMessage> fed = fed_message_in(record)) return take(*fed);
  if (const std::optional<Rejection> rejection = rejection_in(record)) {
    take(*rejection);
    return std::monostate{};
  }
  if (const std::optional<Reset> reset = reset_in(record)) {
    take(*reset);
    return std::monostate{};
  }
  const std::optional<Message> message = message_in(record);
  if (!message) return state_.apply(record);
  take(*message);
  return std::monostate{};
}

}  // namespace mixstream
