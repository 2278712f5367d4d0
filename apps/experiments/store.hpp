// Finished cells, kept in a file of JSON lines so that a run can be stopped and resumed.
#pragma once

#include <fstream>
#include <map>
#include <string>

#include "experiments/json.hpp"

namespace experiments {

class Store {
 public:
  /// Reads FOLDER/cells.jsonl where it exists, a torn last line left out; an empty folder name keeps cells in
  /// memory alone. Throws std::runtime_error when the file cannot be written.
  explicit Store(const std::string& folder);

  const Json* find(const std::string& key) const;      ///< null: not yet done
  const Json& add(const std::string& key, Json cell);  ///< on disk before it returns

 private:
  std::map<std::string, Json> cells_;
  std::ofstream file_;
};

}  // namespace experiments
