#include "kinds.hpp"

#include <functional>
#include <utility>

namespace sensor {
namespace {

Kind varied(const std::string& name, const std::function<void(Kind&)>& change) {
  Kind kind;
  change(kind);
  kind.name = name;
  return kind;
}

void add_corners(std::vector<Kind>& kinds) {
  for (const double dwell : {30.0, 3000.0})
    for (const double memory : {0.0, 0.7})
      for (const std::size_t laws : {2U, 4U}) {
        const std::string name = std::string("dwell ") + (dwell == 30.0 ? "30" : "3000") +
                                 (memory == 0.0 ? " white" : " AR") + " k " + std::to_string(laws) +
                                 " x 0.999";
        kinds.push_back(varied(name, [&](Kind& kind) {
          kind.dwell = dwell;
          kind.memory = memory;
          kind.laws = laws;
          kind.wander = 0.999;
        }));
      }
}

}  // namespace

std::vector<Kind> stationary_kinds() {
  std::vector<Kind> kinds{Kind{}};
  for (const auto& [name, dwell] : std::vector<std::pair<std::string, double>>{
           {"1", 1}, {"3", 3}, {"10", 10}, {"100", 100}, {"1000", 1000}, {"10000", 10000}})
    kinds.push_back(varied("dwell " + name, [&, value = dwell](Kind& kind) { kind.dwell = value; }));
  kinds.push_back(varied("x independent", [](Kind& kind) { kind.wander = 0.0; }));
  kinds.push_back(varied("x 0.999", [](Kind& kind) { kind.wander = 0.999; }));
  kinds.push_back(varied("noise AR 0.7", [](Kind& kind) { kind.memory = 0.7; }));
  kinds.push_back(varied("y rounded", [](Kind& kind) { kind.rounded = true; }));
  kinds.push_back(varied("noise sd 1", [](Kind& kind) { kind.noise = 1.0; }));
  kinds.push_back(varied("k 2", [](Kind& kind) { kind.laws = 2; }));
  kinds.push_back(varied("k 4", [](Kind& kind) { kind.laws = 4; }));
  kinds.push_back(varied("d 2", [](Kind& kind) { kind.map = "1,u"; }));
  kinds.push_back(varied("d 8", [](Kind& kind) { kind.map = "1,a,b,c,e,f,u,v"; }));
  kinds.push_back(varied("n 20000", [](Kind& kind) { kind.rows = 20000; }));
  kinds.push_back(varied("n 1000000", [](Kind& kind) { kind.rows = 1000000; }));
  kinds.push_back(varied("weights 0.9", [](Kind& kind) { kind.weights = {0.9, 0.05, 0.05}; }));
  add_corners(kinds);
  kinds.push_back(varied("dwell 10000 n 1000000", [](Kind& kind) {
    kind.dwell = 10000;
    kind.rows = 1000000;
  }));
  return kinds;
}

std::vector<Kind> changing_kinds() {
  return {varied("laws change", [](Kind& kind) { kind.change = Change::laws; }),
          // Some 150 changes of law on either side of a change of weights are 4 to 6 deviations between them,
          // about as much as chance shows once in 200 streams: such a change needs twice the rows.
          varied("weights change",
                 [](Kind& kind) {
                   kind.change = Change::weights;
                   kind.rows = 200000;
                 }),
          varied("dwell changes", [](Kind& kind) { kind.change = Change::dwell; })};
}

std::vector<Kind> smoke_kinds() {
  std::vector<Kind> kinds;
  for (const Kind& kind : stationary_kinds())
    for (const char* name : {"base", "dwell 1", "dwell 10", "x 0.999", "noise AR 0.7", "k 2"})
      if (kind.name == name) kinds.push_back(kind);
  kinds.push_back(changing_kinds().front());
  for (Kind& kind : kinds) kind.rows = 30000;
  kinds.back().rows = 60000;
  return kinds;
}

Kind labels_kind() {
  return varied("labels", [](Kind& kind) {
    kind.noise = 1.0;
    kind.dwell = 100.0;
  });
}

}  // namespace sensor
