// mixstream look: what a file holds, and the call that fits it.
#pragma once

#include "fit_options.hpp"

namespace mixstream {

struct LookCommand {
  InputOptions input;
  bool json = false;
  bool names = false;
  std::vector<std::string> files;

  void add_to(CLI::App& command);
  int run() const;

 private:
  Outcome<std::string> words_on(const std::string& path, const InputSettings& settings) const;
};

}  // namespace mixstream
