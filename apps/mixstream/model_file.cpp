#include "model_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace mixstream {

Outcome<Models> read_models(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return Refusal{Reason::input_output, "cannot open '" + path + "': " + std::string(std::strerror(errno))};
  Models models;
  Refusal last{Reason::bad_input, "it is empty: give the output of mixstream fit --json"};
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    Outcome<FittedLaws> laws = laws_from_json(line);
    if (laws)
      models.insert_or_assign(laws.value().group.value_or(""), std::move(laws).value());
    else
      last = laws.refusal();
  }
  if (models.empty()) return Refusal{last.reason, path + ": " + last.text};
  return models;
}

Outcome<FittedLaws> read_model(const std::string& path) {
  Outcome<Models> models = read_models(path);
  if (!models) return models.refusal();
  if (models.value().begin()->second.group)
    return Refusal{Reason::bad_settings, path + ": it holds a model for each group, not one"};
  return std::move(models.value().begin()->second);
}

}  // namespace mixstream
