#include "model_file.hpp"

#include <fstream>

namespace mixstream {

Outcome<FittedLaws> read_model(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Refusal{Reason::input_output, "cannot open '" + path + "'"};
  std::string line;
  std::string last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  Outcome<FittedLaws> laws = laws_from_json(last);
  if (!laws) return Refusal{laws.refusal().reason, path + ": " + laws.refusal().text};
  return laws;
}

}  // namespace mixstream
