// Golden files of the numpy reference: a line `shape`, then named lists of numbers.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "mixstream/core/settings.hpp"
#include "mixstream/rows/row.hpp"

struct Golden {
  std::size_t d = 0, k = 0, rows = 0;
  std::size_t sample_rows = 0;  ///< 0 and -1 where the file does not say
  int constant = -1;
  mixstream::NoiseModel noise = mixstream::NoiseModel::shared;
  std::map<std::string, std::vector<double>> lists;

  mixstream::Row row(std::size_t i) const {
    return {{lists.at("features").data() + i * d, d}, lists.at("responses")[i]};
  }
};

/// `shape` has d, k and rows, perhaps sample rows and the constant, and the noise model at the end.
inline void read_shape(std::istringstream& words, Golden& golden) {
  words >> golden.d >> golden.k >> golden.rows;
  std::string noise;
  words >> noise;
  if (std::isdigit(static_cast<unsigned char>(noise[0])) != 0) {
    golden.sample_rows = std::stoul(noise);
    words >> golden.constant >> noise;
  }
  golden.noise = noise == "shared" ? mixstream::NoiseModel::shared : mixstream::NoiseModel::per_component;
}

inline Golden read_golden(const std::filesystem::path& path) {
  Golden golden;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "shape") {
      read_shape(words, golden);
      continue;
    }
    double number = 0.0;
    while (words >> number) golden.lists[name].push_back(number);
  }
  return golden;
}

/// The files of one kind; at least one.
inline std::vector<std::filesystem::path> golden_files(const char* kind) {
  const char* folder = std::getenv("MIXSTREAM_GOLDEN");
  REQUIRE_MESSAGE(folder != nullptr, "MIXSTREAM_GOLDEN must name tests/golden");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / kind))
    files.push_back(entry.path());
  REQUIRE(!files.empty());
  return files;
}

inline double largest_difference(const std::vector<double>& ours, const std::vector<double>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < ours.size(); ++i)
    largest = std::max(largest, std::abs(ours[i] - theirs[i]) / std::max(1.0, std::abs(theirs[i])));
  return largest;
}
