// What every experiment is given: where finished cells are, how large to be, and where to tell progress.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/instance.hpp"
#include "experiments/store.hpp"

namespace experiments {

struct Context {
  Store& store;
  bool quick = false;           ///< small sizes: a smoke run of minutes
  std::uint64_t seed = 130000;  ///< of the first instance; the others follow
  std::size_t instances = 0;    ///< a setting; 0: as the experiment says
  std::string only;             ///< rows of tables whose label holds this; empty: all
};

inline bool wanted(const Context& context, const std::string& label) {
  return label.find(context.only) != std::string::npos;
}

/// The cell from the store, or from `run` and then stored; tells progress on stderr.
const Json& finished(Context& context, const std::string& key, const std::function<Json()>& run);

/// The instances of one setting: seeds follow each other from the context's.
std::vector<InstancePlan> instances_of(const Context& context, const Setting& setting, std::size_t count,
                                       std::size_t rows, int attempts);

/// Their cells, in order.
std::vector<Json> finished(Context& context, const std::vector<InstancePlan>& plans);

}  // namespace experiments
