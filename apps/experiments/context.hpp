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
  bool paper_only = false;      ///< the paper's own columns, not ours
  std::string only;             ///< rows of tables whose label holds this; empty: all
  bool stored = false;          ///< run nothing: only instances whose cells are in the store
};

/// A first seed from a text: beyond a thousand million, where no seed was ever chosen by hand. FNV-1a.
inline std::uint64_t seed_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return 1000000000ULL + hash % 1000000000000ULL;
}

inline bool wanted(const Context& context, const std::string& label) {
  return label.find(context.only) != std::string::npos;
}

/// Whether a cell may be asked for: it is in the store, or may be run.
inline bool may_have(const Context& context, const std::string& key) {
  return !context.stored || context.store.find(key) != nullptr;
}

/// The cell from the store, or from `run` and then stored; tells progress on stderr.
const Json& finished(Context& context, const std::string& key, const std::function<Json()>& run);

/// The instances of one setting: seeds follow each other from the context's.
std::vector<InstancePlan> instances_of(const Context& context, const Setting& setting, std::size_t count,
                                       std::size_t rows, int attempts);

/// Their cells, in order; of what may be had.
std::vector<Json> finished(Context& context, const std::vector<InstancePlan>& plans);

}  // namespace experiments
