#include "mixstream/estimator/inspection.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mixstream/moments/state.hpp"
#include "mixstream/regression/identifiability.hpp"

namespace mixstream {
namespace {

std::string memory_words(const Memory& memory) {
  switch (memory.kind) {
    case Memory::Kind::everything:
      return "everything";
    case Memory::Kind::half_life_rows:
      return fmt::format("half-life of {:g} rows", memory.length);
    case Memory::Kind::half_life_seconds:
      return fmt::format("half-life of {:g} seconds", memory.length);
    case Memory::Kind::window_rows:
      return fmt::format("window of {:g} rows in {} panes", memory.length, memory.panes);
    case Memory::Kind::three_parts:
      return "everything, in three data sets";
  }
  return "unknown";
}

}  // namespace

std::string inspection_json(const Estimator& estimator, std::size_t bytes) {
  const MomentState& state = estimator.state();
  const std::vector<std::string>& names = estimator.settings().solve.feature_names;
  const Identifiability found = diagnose(state.moments(), nullptr, names);
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["rows"] = state.row_count();
  json["refused"] = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : estimator.refused()) json["refused"][reason] = count;
  json["effective_rows"] = state.moments().effective_rows;
  json["features"] = names;
  json["response"] = state.settings().response;
  json["k"] = estimator.settings().solve.component_count;
  json["memory"] = memory_words(state.settings().memory);
  json["rows_by_magnitude"] = state.bin_rows();
  json["sample_rows"] = state.sample().rows.size();
  json["bytes"] = bytes;
  json["spectral"] = found.spectral;
  json["identifiability"] = nlohmann::ordered_json::array();
  for (const PowerDiagnosis& power : found.powers) {
    nlohmann::ordered_json one{{"degree", power.degree}, {"unknowns", power.unknowns}, {"rank", power.rank}};
    one["smallest_eigenvalue"] =
        power.smallest_eigenvalue ? nlohmann::ordered_json(*power.smallest_eigenvalue) : nullptr;
    one["condition"] = power.condition ? nlohmann::ordered_json(*power.condition) : nullptr;
    one["dependent"] = describe(power.dependences);
    json["identifiability"].push_back(one);
  }
  return json.dump();
}

}  // namespace mixstream
