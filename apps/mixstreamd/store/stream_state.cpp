#include "store/stream_state.hpp"

#include <algorithm>
#include <array>

#include "mixstream/estimator/feedback.hpp"
#include "mixstream/moments/sections.hpp"
#include "mixstream/moments/state.hpp"
#include "sources/topic_filter.hpp"

namespace mixstream {
namespace {

Refusal damaged(const std::string& what) {
  return {Reason::bad_snapshot, "the snapshot is damaged: " + what};
}

Refusal impossible(const Record& record, const std::string& what) {
  return {Reason::bad_snapshot, "record " + std::to_string(record.number) + " of the journal " + what};
}

std::array<std::uint64_t FoldCounts::*, 8> all_counts() {
  return {
      &FoldCounts::messages, &FoldCounts::rows,       &FoldCounts::folded,    &FoldCounts::duplicate,
      &FoldCounts::refused,  &FoldCounts::unnumbered, &FoldCounts::feedbacks, &FoldCounts::feedbacks_refused};
}

const Section* find(std::span<const Section> sections, std::uint32_t type) {
  const auto found = std::ranges::find(sections, type, &Section::type);
  return found == sections.end() ? nullptr : &*found;
}

/// In seconds; 0 where nothing is forgotten by time.
double half_life_of(const Estimator& estimator) {
  const Memory& memory = estimator.state().settings().memory;
  return memory.kind == Memory::Kind::half_life_seconds ? memory.length : 0.0;
}

}  // namespace

StreamState::StreamState(Estimator estimator, PayloadParser parser, const StreamStateSettings& settings)
    : estimator_(std::move(estimator)),
      parser_(std::move(parser)),
      identity_(settings.identity),
      sensors_(settings.identity),
      clocks_(half_life_of(estimator_), settings.identity, settings.estimator.chains.gap_seconds) {}

Outcome<StreamState> StreamState::create(const StreamStateSettings& settings) {
  Outcome<PayloadParser> parser = PayloadParser::create(settings.payload);
  if (!parser) return parser.refusal();
  Outcome<Estimator> estimator = Estimator::create(settings.estimator);
  if (!estimator) return estimator.refusal();
  return StreamState(std::move(estimator).value(), std::move(parser).value(), settings);
}

Outcome<StreamState> StreamState::restore(std::span<const Section> sections,
                                          const StreamStateSettings& settings) {
  const Section* const estimator_bytes = find(sections, estimator_part);
  const Section* const sensors_bytes = find(sections, sensors_part);
  const Section* const counts_bytes = find(sections, counts_part);
  if (estimator_bytes == nullptr || sensors_bytes == nullptr || counts_bytes == nullptr)
    return damaged("a section is missing");
  Outcome<PayloadParser> parser = PayloadParser::create(settings.payload);
  if (!parser) return parser.refusal();
  Outcome<Estimator> estimator = Estimator::decode(estimator_bytes->bytes, settings.estimator);
  if (!estimator) return estimator.refusal();
  Outcome<Deduplication> sensors = Deduplication::decode(sensors_bytes->bytes, settings.identity);
  if (!sensors) return sensors.refusal();
  StreamState state(std::move(estimator).value(), std::move(parser).value(), settings);
  state.sensors_ = std::move(sensors).value();
  const Section* const notes = find(sections, sensor_notes_part);  // states of before have none
  if (notes != nullptr && !state.sensors_.read_notes(notes->bytes)) return damaged("its sensors");
  const Section* const clocks = find(sections, clocks_part);
  if (clocks != nullptr && !state.clocks_.restore(clocks->bytes)) return damaged("its clocks");
  if (const Done done = state.read_counts(counts_bytes->bytes); !done) return done.refusal();
  return state;
}

Done StreamState::read_counts(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  for (const auto count : all_counts()) counts_.*count = in.take<std::uint64_t>();
  const bool sound = in.ok() && in.at_end() &&
                     counts_.rows == counts_.folded + counts_.duplicate + counts_.refused &&
                     counts_.folded == estimator_.state().row_count();
  if (!sound) return damaged("its counts do not add up");
  return std::monostate{};
}

std::vector<Section> StreamState::sections() const {
  ByteWriter counts;
  for (const auto count : all_counts()) counts.put(counts_.*count);
  return {{estimator_part, estimator_.encode()},
          {sensors_part, sensors_.encode()},
          {counts_part, std::move(counts).take()},
          {sensor_notes_part, sensors_.encode_notes()},
          {clocks_part, clocks_.encode()}};
}

Done StreamState::apply(const Record& record) {
  if (const std::optional<Message> message = message_in(record)) {
    apply(*message);
    return std::monostate{};
  }
  const std::optional<Feedback> feedback = feedback_in(record);
  const std::optional<FedMessage> fed = fed_message_in(record);
  if (feedback || fed) {
    if (const Done done = feedback ? apply(*feedback) : apply(*fed); !done)
      return impossible(record, "does not fit the state: " + done.refusal().text);
    return std::monostate{};
  }
  if (const std::optional<Rejection> rejection = rejection_in(record)) {
    apply(*rejection);
    return std::monostate{};
  }
  if (const std::optional<Reset> reset = reset_in(record)) {
    apply(*reset);
    return std::monostate{};
  }
  return impossible(record, "is of no known kind, or damaged");
}

MessageEffect StreamState::apply(const Message& message, RowTaker* taker) {
  MessageEffect effect;
  ++counts_.messages;
  for (const PayloadRow& row : parser_.parse(message.payload, message.arrival)) {
    counts_.rows += row.repeats;
    for (std::uint64_t i = 1; i < row.repeats; ++i) estimator_.count_refused(reason_of(row));
    effect.refused += row.repeats - 1;
    switch (fold(row, message, taker)) {
      case Fate::folded:
        ++effect.folded;
        break;
      case Fate::duplicate:
        ++effect.duplicate;
        break;
      case Fate::refused:
        ++effect.refused;
        if (effect.first_refusal.empty() && row.fault != RowFault::none) effect.first_refusal = describe(row);
        break;
    }
  }
  counts_.duplicate += effect.duplicate;
  counts_.folded = estimator_.state().row_count();  // the first block's end may refuse rows taken before
  counts_.refused = counts_.rows - counts_.folded - counts_.duplicate;
  return effect;
}

/// `sensor`: whose chain goes on without the row, where that is sure.
StreamState::Fate StreamState::refuse(const char* reason, std::string_view sensor) {
  estimator_.count_refused(reason, sensor.empty() ? std::nullopt : std::optional(sensor_number(sensor)));
  return Fate::refused;
}

/// A refused row with a sequence number is remembered as well: it must leave no gap, and when it comes again
/// it is a duplicate.
StreamState::Fate StreamState::fold(const PayloadRow& row, const Message& message, RowTaker* taker) {
  const std::string_view sensor = identity_.sensor_level > 0
                                      ? level_of(message.source, identity_.sensor_level)
                                  : row.sensor.empty() ? message.source
                                                       : row.sensor;
  if (row.numbered) {
    if (sensor.size() > longest_sensor) return refuse(name_of(RowFault::bad_sensor));
    const SequenceFate fate = sensors_.take(sensor, row.epoch, row.sequence, message.arrival);
    if (fate == SequenceFate::duplicate) return Fate::duplicate;
    if (fate != SequenceFate::fresh) return refuse(name_of(fate));
  }
  if (row.fault != RowFault::none) return refuse(reason_of(row), sensor);
  const ClockFate clock = clocks_.judge(sensor, row.row.time, message.arrival);
  if (clock != ClockFate::fine) return refuse(name_of(clock), sensor);
  const RowName name{message.source, sensor};
  if (const char* const why = taker == nullptr ? nullptr : taker->refusal(name); why != nullptr)
    return refuse(why, sensor);
  Row named = row.row;
  named.sensor = sensor_number(sensor);
  if (estimator_.absorb(named) != RowFault::none) return Fate::refused;
  if (taker != nullptr) taker->take(name, named, message.arrival);
  clocks_.folded(row.row.time);
  if (!row.numbered) ++counts_.unnumbered;
  return Fate::folded;
}

void StreamState::apply(const Rejection& rejection) {
  ++counts_.messages;
  ++counts_.rows;
  ++counts_.refused;
  estimator_.count_refused(rejection.reason);
}

Done StreamState::apply(const Feedback& feedback) {
  if (feedback.row != estimator_.state().row_count())
    return Refusal{Reason::bad_snapshot, "feedback for row " + std::to_string(feedback.row) +
                                             ", but the state is at row " +
                                             std::to_string(estimator_.state().row_count())};
  const Outcome<FitFeedback> decoded = FitFeedback::decode(feedback.bytes);
  if (!decoded) return decoded.refusal();
  ++(estimator_.take(decoded.value()) ? counts_.feedbacks : counts_.feedbacks_refused);
  return std::monostate{};
}

Done StreamState::apply(const FedMessage& fed) {
  if (Done done = apply(fed.before); !done) return done;
  apply(fed.message);
  return std::monostate{};
}

std::uint64_t fingerprint(const StreamStateSettings& settings) {
  const PayloadSettings& payload = settings.payload;
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(payload.format));
  out.put(static_cast<std::uint32_t>(static_cast<unsigned char>(payload.delimiter)));
  for (const std::string& text : {payload.map.text(), payload.response, payload.sensor, payload.epoch,
                                  payload.sequence, payload.time, payload.weight}) {
    out.put_text(text);
  }
  for (const std::string& column : payload.columns) out.put_text(column);
  const IdentitySettings& identity = settings.identity;
  if (!(identity == IdentitySettings{})) {  // journals of before know only the defaults
    out.put(static_cast<std::uint64_t>(identity.most_sensors));
    out.put(identity.sensor_expiry);
    out.put(identity.largest_jump);
    out.put(identity.clock_tolerance);
  }
  return checksum(out.written());
}

}  // namespace mixstream
