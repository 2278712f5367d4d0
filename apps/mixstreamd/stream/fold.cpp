#include "fold.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>

namespace mixstream {
namespace {

constexpr std::uint32_t estimator_section = 1;
constexpr std::uint32_t deduplication_section = 2;
constexpr std::uint32_t counts_section = 3;
constexpr std::size_t most_sensors = 10000;

std::uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

Refusal refuse(const std::string& text) {
  return {Reason::bad_snapshot, text};
}

const Section* section_of(const std::vector<Section>& sections, std::uint32_t type) {
  for (const Section& section : sections) {
    if (section.type == type) return &section;
  }
  return nullptr;
}

std::string words_of(const Memory& memory) {
  switch (memory.kind) {
    case Memory::Kind::everything: return "everything";
    case Memory::Kind::half_life_rows: return fmt::format("half-life of {} rows", memory.length);
    case Memory::Kind::half_life_seconds: return fmt::format("half-life of {} s", memory.length);
    case Memory::Kind::window_rows: return fmt::format("window of {} rows", memory.length);
  }
  return "";
}

/// Whether the state is of the model that the configuration asks for.
Verdict compare(const StateSettings& state, const StateSettings& wanted) {
  const auto differs = [](const std::string& what, const auto& has, const auto& wants) -> Verdict {
    return Refusal{Reason::bad_settings,
                   fmt::format("its state has {} {}, the configuration says {}: give the stream another name, or "
                               "move its state folder away to begin anew",
                               what, has, wants)};
  };
  if (state.feature_map != wanted.feature_map) return differs("features", state.feature_map, wanted.feature_map);
  if (state.response != wanted.response) return differs("response", state.response, wanted.response);
  if (!(state.memory == wanted.memory)) return differs("memory", words_of(state.memory), words_of(wanted.memory));
  if (state.reservoir_rows != wanted.reservoir_rows)
    return differs("sample_rows", state.reservoir_rows, wanted.reservoir_rows);
  if (state.seed != wanted.seed) return differs("seed", state.seed, wanted.seed);
  return std::monostate{};
}

Bytes encode_counts(const FoldState& state) {
  ByteWriter out;
  for (const std::uint64_t count : {state.rows_in, state.duplicate, state.set_aside}) out.put(count);
  out.put(static_cast<std::uint64_t>(state.taken.size()));
  for (const auto& [file, offset] : state.taken) {
    out.put_text(file);
    out.put(offset);
  }
  return std::move(out).take();
}

bool decode_counts(const Bytes& bytes, FoldState& state) {
  ByteReader in(bytes);
  for (std::uint64_t* count : {&state.rows_in, &state.duplicate, &state.set_aside})
    *count = in.take<std::uint64_t>();
  const auto files = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < files; ++i) {
    std::string file = in.take_text();
    state.taken[std::move(file)] = in.take<std::uint64_t>();
  }
  return in.ok() && in.at_end();
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<Section> FoldState::sections() const {
  return {{estimator_section, estimator.encode()},
          {deduplication_section, seen.encode()},
          {counts_section, encode_counts(*this)}};
}

Outcome<FoldState> FoldState::restore(const std::vector<Section>& sections, const StreamConfig& config) {
  const Section* model = section_of(sections, estimator_section);
  const Section* seen = section_of(sections, deduplication_section);
  const Section* counts = section_of(sections, counts_section);
  if (model == nullptr || seen == nullptr || counts == nullptr) return refuse("the snapshot lacks a section");
  Outcome<Estimator> estimator = Estimator::decode(model->bytes, config.estimator);
  if (!estimator) return estimator.refusal();
  if (const Verdict verdict = compare(estimator.value().state().settings(), config.estimator.state); !verdict)
    return verdict.refusal();
  Outcome<Deduplication> numbers = Deduplication::decode(seen->bytes, most_sensors);
  if (!numbers) return numbers.refusal();
  FoldState state{std::move(estimator).value(), std::move(numbers).value()};
  if (!decode_counts(counts->bytes, state)) return refuse("the snapshot's counts are damaged");
  return state;
}

std::string replay_source(std::string_view file, std::uint64_t offset) {
  return fmt::format("{}@{}", file, offset);
}

std::uint64_t fingerprint_of(const StreamConfig& config) {
  const PayloadSettings& payload = config.payload;
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", static_cast<int>(payload.format), payload.map.text(),
                                 payload.response, payload.delimiter);
  for (const std::string& field : {payload.sensor, payload.epoch, payload.sequence, payload.time, payload.weight})
    text += field + "\n";
  for (const std::string& column : payload.columns) text += column + "\n";
  text += config.topic.empty() ? "lines" : "messages";
  return hash_of(text);
}

Fold::Fold(const StreamConfig& config, PayloadParser parser, FoldState state)
    : parser_(std::move(parser)),
      state_(std::move(state)),
      by_line_(config.topic.empty() && config.payload.format == PayloadFormat::json),
      replayed_(!config.replay.empty()) {}

Outcome<Fold> Fold::create(const StreamConfig& config) {
  Outcome<Estimator> estimator = Estimator::create(config.estimator);
  if (!estimator) return estimator.refusal();
  estimator.value().state().begin_source(hash_of(config.name));
  Outcome<PayloadParser> parser = PayloadParser::create(config.payload);
  if (!parser) return parser.refusal();
  return Fold(config, std::move(parser).value(), {std::move(estimator).value()});
}

Outcome<Fold> Fold::restore(const std::vector<Section>& sections, const StreamConfig& config) {
  Outcome<FoldState> state = FoldState::restore(sections, config);
  if (!state) return state.refusal();
  Outcome<PayloadParser> parser = PayloadParser::create(config.payload);
  if (!parser) return parser.refusal();
  return Fold(config, std::move(parser).value(), std::move(state).value());
}

void Fold::take(const Message& message) {
  std::string_view source = message.source;
  if (replayed_) {
    const std::size_t at = source.rfind('@');
    std::uint64_t offset = 0;
    std::from_chars(source.data() + at + 1, source.data() + source.size(), offset);
    source = source.substr(0, at);
    state_.taken[std::string(source)] = offset;
  }
  std::string_view payload = text_of(message.payload);
  if (!by_line_) {
    take_rows(payload, message.arrival, source);
    return;
  }
  while (!payload.empty()) {
    const std::size_t newline = payload.find('\n');
    const std::string_view line = payload.substr(0, newline);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) take_rows(line, message.arrival, source);
    payload.remove_prefix(newline == std::string_view::npos ? payload.size() : newline + 1);
  }
}

void Fold::take_rows(std::string_view payload, double arrival, std::string_view source) {
  for (const PayloadRow& row : parser_.parse(std::as_bytes(std::span(payload)), arrival)) take_row(row, source);
}

void Fold::take_row(const PayloadRow& row, std::string_view source) {
  ++state_.rows_in;
  if (row.numbered && !is_fresh(row, source)) return;
  if (row.fault == PayloadFault::none)
    state_.estimator.absorb(row.row);  // a row that it refuses, it counts
  else
    state_.estimator.count_refused(name_of(row.fault));
}

bool Fold::is_fresh(const PayloadRow& row, std::string_view source) {
  const std::string_view sensor = row.sensor.empty() ? source : row.sensor;
  const SequenceVerdict verdict = state_.seen.take(sensor, row.epoch, row.sequence);
  switch (verdict) {
    case SequenceVerdict::fresh: return true;
    case SequenceVerdict::duplicate: ++state_.duplicate; break;
    case SequenceVerdict::too_old:
    case SequenceVerdict::old_epoch: ++state_.set_aside; break;
    case SequenceVerdict::too_many_sensors: state_.estimator.count_refused(name_of(verdict)); break;
  }
  return false;
}

void Fold::take(const Rejection& rejection) {
  ++state_.rows_in;
  state_.estimator.count_refused(rejection.reason);
}

Verdict Fold::take(const Feedback& feedback) {
  const Outcome<FitFeedback> decoded = FitFeedback::decode(feedback.bytes);
  if (!decoded) return decoded.refusal();
  return state_.estimator.take(decoded.value());
}

Verdict Fold::take(const Record& record) {
  if (const auto message = message_in(record))
    take(*message);
  else if (const auto rejection = rejection_in(record))
    take(*rejection);
  else if (const auto feedback = feedback_in(record))
    static_cast<void>(take(*feedback));  // of a model that the configuration no longer asks for
  else
    return refuse(fmt::format("record {} of the journal is of an unknown kind", record.number));
  return std::monostate{};
}

}  // namespace mixstream
