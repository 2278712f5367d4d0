// What is planted: right models of every kind, and faults in three strengths each.
#pragma once

#include <string>
#include <vector>

#include "stream.hpp"

namespace doubts_study {

struct RightKind {
  std::string name;
  Recipe recipe;
};
std::vector<RightKind> right_kinds();

struct Fault {
  std::string name;
  int strength = 1;  ///< 1, 2, 3
  Recipe recipe;
  std::vector<mixstream::DoubtKind> kinds;  ///< that name it
  std::string term;                         ///< as well, unless empty
  double size = 0.0;                        ///< the truth in the doubt's unit; 0: it is not compared
};
std::vector<Fault> all_faults();

}  // namespace doubts_study
