#include "device_state.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/sections.hpp"

namespace mixstream {
namespace {

constexpr double rounding = 1e-6;  // of moments in pilot coordinates, generously

struct FaultWords {
  StateFault fault;
  const char* name;
  const char* advice;
};

constexpr FaultWords faults[] = {
    {StateFault::none, "none", ""},
    {StateFault::no_device, "no_device",
     "name the device in its message, or take it from the topic (sensor = \"topic:2\")"},
    {StateFault::bad_state, "bad_state", "send what mixstream_device_message makes, whole"},
    {StateFault::other_model, "other_model",
     "let the device and its stream have the same features, response and sample size, and a memory of "
     "everything"},
    {StateFault::too_many_rows, "too_many_rows", "look at the device, or raise device_rows"},
    {StateFault::too_heavy, "too_heavy", "look at the device's weights, or raise device_weight"},
    {StateFault::impossible_state, "impossible_state",
     "no rows have such moments: look at the device, and at who may publish for it"},
    {StateFault::fewer_rows, "fewer_rows",
     "let the device raise its epoch when it begins without its former rows, and only then"},
    {StateFault::epoch_closed, "epoch_closed",
     "states of an epoch before the device's last two come too late: look at what delays them"},
    {StateFault::epoch_jump, "epoch_jump",
     "epochs are counts or seconds or milliseconds; look at the device, or POST its name to /reset"},
    {StateFault::generation_jump, "generation_jump",
     "a generation far ahead of the last: look at the device, or raise largest_jump"},
    {StateFault::too_many_devices, "too_many_devices", "raise most_sensors"},
    {StateFault::no_room, "no_room", "raise devices_mib, or give devices a smaller sample"},
};

JudgedState refused(StateFault fault, std::string words) {
  return {fault, std::move(words), 0, nullptr};
}

/// Second moments of products: diagonal not negative, and Cauchy's and Schwarz's inequality.
bool is_of_squares(const DenseMatrix& matrix) {
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (!(matrix(i, i) >= 0.0)) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const double most = std::sqrt(matrix(i, i)) * std::sqrt(matrix(j, j));
      if (!(std::abs(matrix(i, j)) <= most * (1.0 + rounding) + rounding)) return false;
    }
  }
  return true;
}

/// Where the settings of a state begin: behind the file's header and that of the first section. Before their
/// texts stand four numbers of 4 bytes and four of 8 (docs/reference/state-format.md).
constexpr std::size_t file_header = 24;
constexpr std::size_t numbers_of_settings = 4 * 4 + 4 * 8;

/// The same state with the stream's names, where it has none, as those of the C interface's loops have none;
/// nothing where it has some, or is no whole state.
std::optional<Bytes> with_names(std::span<const std::byte> bytes, const StateSettings& wanted) {
  if (bytes.size() < file_header + 8) return std::nullopt;
  const std::span<const std::byte> body = bytes.first(bytes.size() - 8);
  if (ByteReader(bytes.last(8)).take<std::uint64_t>() != checksum(body)) return std::nullopt;
  ByteReader in(body.subspan(file_header));
  const std::optional<FoundSection> first = next_section(in);
  if (!first || first->payload.size() != numbers_of_settings + 8) return std::nullopt;  // two empty texts
  ByteWriter out;
  out.put(body.first(file_header));
  put_section(out, first->type, [&] {
    out.put(first->payload.first(numbers_of_settings));
    out.put_text(wanted.feature_map);
    out.put_text(wanted.response);
  });
  out.put(body.last(in.left()));
  out.put_at(file_header - 8, out.size() + 8);
  out.put(checksum(out.written()));
  return std::move(out).take();
}

}  // namespace

const char* name_of(StateFault fault) noexcept {
  return std::ranges::find(faults, fault, &FaultWords::fault)->name;
}

std::string_view advice_on_state(std::string_view name) noexcept {
  const auto* const found =
      std::ranges::find_if(faults, [&](const FaultWords& words) { return name == words.name; });
  return found == std::end(faults) ? std::string_view() : found->advice;
}

bool could_be_rows(const MomentState& state) {
  const std::array<std::uint64_t, bin_count> bins = state.bin_rows();
  const std::uint64_t held = std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
  if (held > state.row_count()) return false;
  if (held == 0) return true;
  for (std::size_t bin = 0; bin < bin_count; ++bin) {
    BinMask mask{};
    mask[bin] = true;
    if (bins[bin] == 0) continue;
    const MomentTensor moments = state.moments(mask);
    if (!(moments.total_weight() > 0.0)) return false;
    for (const int power : {0, 2, 4, 6}) {
      const int degree = (6 - power) / 2;
      if (!is_of_squares(moments.view(power, degree, degree, Variables::extended))) return false;
    }
  }
  return true;
}

JudgedState judge_state(std::span<const std::byte> bytes, const StateSettings& wanted,
                        const DeviceSettings& settings) {
  const Outcome<std::uint64_t> room = bytes_needed(wanted);
  if (!room) return refused(StateFault::other_model, room.refusal().text);
  const std::optional<Bytes> named = with_names(bytes, wanted);
  Outcome<Snapshot> snapshot =
      decode(named ? std::span<const std::byte>(*named) : bytes, {.memory_budget = room.value()});
  if (!snapshot) {
    const bool larger = snapshot.refusal().reason == Reason::too_large;
    return refused(larger ? StateFault::other_model : StateFault::bad_state, snapshot.refusal().text);
  }
  const MomentState& state = snapshot.value().state;
  Outcome<MomentState> empty = MomentState::create(wanted);
  if (!empty) return refused(StateFault::other_model, empty.refusal().text);
  if (const Done merged = empty.value().merge(state); !merged)
    return refused(StateFault::other_model, merged.refusal().text);
  const std::uint64_t rows = state.row_count();
  if (rows > settings.most_rows)
    return refused(StateFault::too_many_rows,
                   std::to_string(rows) + " rows, device_rows is " + std::to_string(settings.most_rows));
  if (!could_be_rows(state))
    return refused(StateFault::impossible_state, "its moments contradict each other");
  const double weight = rows == 0 ? 0.0 : state.moments().total_weight();
  if (!(weight <= static_cast<double>(rows) * settings.most_weight * (1.0 + rounding)))
    return refused(StateFault::too_heavy,
                   "its " + std::to_string(rows) + " rows weigh " + std::to_string(weight));
  return {StateFault::none, "", rows, std::make_shared<const Bytes>(encode(state))};
}

}  // namespace mixstream
