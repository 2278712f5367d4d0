// What every part of the study shares: its words, its seeds, and files of finished streams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace doubts_study {

struct Words {
  std::string what;
  std::size_t streams = 20;
  std::string commit = "development";
  std::filesystem::path folder = "study-doubts";
  std::string only;  ///< a part of a kind's name; empty: all kinds
  bool verbose = false;

  Words(int count, char** words);
  bool wants(const std::string& kind) const { return kind.find(only) != std::string::npos; }
};

/// One line a stream: those that the kind's file holds already, and missing ones, which are measured with
/// seeds from the commit's hash. A study that was stopped goes on.
std::vector<std::string> lines_of(const Words& words, const std::string& kind,
                                  const std::function<std::string(std::size_t, std::uint64_t)>& measure);

double median(std::vector<double> values);

}  // namespace doubts_study
