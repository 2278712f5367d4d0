// The payload parser on any message. The first byte chooses the format and the columns. What a parser has
// seen before must not matter.
#include "payload/payload.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "fuzz/target.hpp"
#include "store/deduplication.hpp"

using namespace mixstream;

namespace {

PayloadSettings settings_of(unsigned choice) {
  PayloadSettings settings;
  settings.format = static_cast<PayloadFormat>(choice % 3);
  settings.map = FeatureMap::parse("1,t,t^2").value();
  if (choice % 3 != 0 || (choice & 4) != 0) settings.columns = {"sensor", "seq", "t", "y", "note"};
  if ((choice & 8) != 0) settings.delimiter = ';';
  if ((choice & 16) != 0) settings.time = "t";
  if ((choice & 32) != 0) settings.sequence = "";
  return settings;
}

bool same(const PayloadRow& a, const PayloadRow& b) {
  if (a.fault != b.fault || a.numbered != b.numbered || a.sensor != b.sensor || a.epoch != b.epoch ||
      a.sequence != b.sequence || a.row.features.size() != b.row.features.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.row.features.size(); ++i) {
    if (!(a.row.features[i] == b.row.features[i])) return false;
  }
  return a.row.response == b.row.response && a.row.weight == b.row.weight && a.row.time == b.row.time;
}

void judge(const PayloadRow& row, std::size_t index) {
  require(row.index == index && row.sensor.size() <= longest_sensor);
  require(row.epoch <= largest_sequence && row.sequence <= largest_sequence);
  if (row.fault != RowFault::none) return require(!describe(row).empty());
  require(row.row.features.size() == 3 && row.row.features[0] == 1.0);
  require(std::isfinite(row.row.features[1]) && std::isfinite(row.row.response));
  require(std::isfinite(row.row.weight) && std::isfinite(row.row.time));
}

}  // namespace

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const unsigned choice = static_cast<unsigned char>(bytes[0]) % 64;
  static std::vector<PayloadParser> used;   // one of each kind, with all that it has seen
  static std::vector<PayloadParser> young;  // and one that has seen little
  static unsigned inputs = 0;
  for (auto next = static_cast<unsigned>(used.size()); next < 64; ++next) {
    used.push_back(PayloadParser::create(settings_of(next)).value());
    young.push_back(PayloadParser::create(settings_of(next)).value());
  }
  if (++inputs % 16 == 0) young[choice] = PayloadParser::create(settings_of(choice)).value();
  const auto payload = std::as_bytes(std::span(bytes.substr(1)));
  const auto rows = young[choice].parse(payload, 7.0);
  const auto again = used[choice].parse(payload, 7.0);
  require(rows.size() == again.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    judge(rows[i], i);
    require(same(rows[i], again[i]));
  }
}
