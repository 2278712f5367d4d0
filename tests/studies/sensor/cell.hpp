// What one stream gave: named lists of numbers, kept in a small text file so that a study can be stopped,
// resumed and shared by processes.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sensor {

using Cell = std::map<std::string, std::vector<double>>;

/// The cell of a finished stream; empty where there is none yet.
inline Cell read_cell(const std::filesystem::path& path) {
  std::ifstream file(path);
  Cell cell;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (std::string number; words >> number;) cell[name].push_back(std::stod(number));
    cell[name];
  }
  return cell;
}

/// Writes it beside its place first, so that a file is whole or is not there. Throws where that fails.
inline void write_cell(const std::filesystem::path& path, const Cell& cell) {
  std::filesystem::create_directories(path.parent_path());
  const std::filesystem::path unfinished = path.string() + ".tmp";
  {
    std::ofstream file(unfinished);
    file.precision(10);
    for (const auto& [name, numbers] : cell) {
      file << name;
      for (const double number : numbers) file << ' ' << number;
      file << '\n';
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + unfinished.string());
  }
  std::filesystem::rename(unfinished, path);
}

/// The yardstick's cells of a table, by name: a line a stream, its name and four numbers, tabs between them.
/// Throws where the file cannot be read or a line is none.
inline std::map<std::string, Cell> read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::map<std::string, Cell> table;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::getline(words, name, '\t');
    Cell& cell = table[name];
    for (const char* column : {"chain", "chance", "chain_decrement", "chance_decrement"}) {
      double value = 0.0;
      if (!(words >> value)) throw std::runtime_error("a line of " + path.string() + " is none: " + line);
      cell[column] = {value};
    }
  }
  return table;
}

/// The only number of that name; throws where there is none.
inline double number(const Cell& cell, const std::string& name) {
  return cell.at(name).at(0);
}

}  // namespace sensor
