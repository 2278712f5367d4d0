// The streams of study-sensor: a base stream, one thing varied at a time, corners, and streams that change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sensor {

enum class Change : std::uint8_t { none, laws, weights, dwell };

struct Kind {
  std::string name = "base";
  std::size_t rows = 100000;
  std::size_t laws = 3;              ///< k
  std::string map = "1,u,v";         ///< of d features
  double noise = 0.3;                ///< standard deviation
  double dwell = 300.0;              ///< rows that a law lasts in the mean; 1: every row draws its law anew
  double wander = 0.99;              ///< of every column
  double memory = 0.0;               ///< of the noise
  bool rounded = false;              ///< y, to multiples of the noise's standard deviation
  std::vector<double> weights = {};  ///< empty: equal
  Change change = Change::none;      ///< half-way

  double changes() const noexcept { return static_cast<double>(rows) / dwell; }  ///< of law, expected
  bool has_few_changes() const noexcept { return changes() < 50.0; }
};

std::vector<Kind> stationary_kinds();  ///< what accuracy, errors, verdicts and silence are measured on
std::vector<Kind> changing_kinds();    ///< what must be seen
std::vector<Kind> smoke_kinds();       ///< a few of both, with few rows
Kind labels_kind();                    ///< overlapping laws, where a row alone says little

}  // namespace sensor
