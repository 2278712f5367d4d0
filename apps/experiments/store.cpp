#include "experiments/store.hpp"

#include <filesystem>
#include <stdexcept>

namespace experiments {

Store::Store(const std::string& folder) {
  if (folder.empty()) return;
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = std::filesystem::path(folder) / "cells.jsonl";
  std::ifstream before(path);
  for (std::string line; std::getline(before, line);) {
    Json cell = Json::parse(line, nullptr, false);
    if (cell.is_discarded() || !cell.contains("key")) continue;
    const std::string key = cell["key"];
    cells_[key] = std::move(cell["result"]);
  }
  file_.open(path, std::ios::app);
  if (!file_) throw std::runtime_error("cannot write " + path.string());
  file_ << '\n' << std::flush;  // ends a line that was torn
}

const Json* Store::find(const std::string& key) const {
  const auto cell = cells_.find(key);
  return cell == cells_.end() ? nullptr : &cell->second;
}

const Json& Store::add(const std::string& key, Json cell) {
  if (file_.is_open()) {
    file_ << Json{{"key", key}, {"result", cell}}.dump() << '\n' << std::flush;
    if (!file_) throw std::runtime_error("cannot write cells.jsonl: is the disk full?");
  }
  return cells_[key] = std::move(cell);
}

}  // namespace experiments
