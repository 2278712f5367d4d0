// The words that studies of streams share: STUDY [ROWS [SEEDS [SETTING [FIRST_SEED]]]].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct StudyWords {
  std::size_t rows = 500000;  ///< of a stream
  std::size_t seeds = 20;
  std::string setting;
  std::uint64_t first_seed;

  /// Reads what is there; `setting` and `first_seed` stand for what is not. Throws where a number is none.
  StudyWords(int count, char** words, const char* default_setting, std::uint64_t default_seed)
      : setting(default_setting), first_seed(default_seed) {
    if (count > 1) rows = std::stoul(words[1]);
    if (count > 2) seeds = std::stoul(words[2]);
    if (count > 3) setting = words[3];
    if (count > 4) first_seed = std::stoul(words[4]);
  }
};
