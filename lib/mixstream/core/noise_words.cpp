#include "mixstream/core/noise_words.hpp"

#include <algorithm>
#include <string>

namespace mixstream {

Outcome<Noise> parse_noise(std::string_view words) {
  Noise noise;
  noise.chosen_by_rows = words == "auto";
  if (noise.chosen_by_rows) return noise;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    at = end + 1;
    if (word == "per-law" || word == "per-component")
      noise.model = NoiseModel::per_component;
    else if (word == "tails")
      noise.shape.tails = true;
    else if (word == "memory")
      noise.shape.memory = true;
    else if (word != "shared")
      return Refusal{
          Reason::bad_settings,
          "takes auto, or a list of shared, per-law, tails and memory, such as per-law,tails; not '" +
              std::string(word) + "'"};
  }
  return noise;
}

Outcome<std::vector<std::size_t>> parse_gate(std::string_view words,
                                             const std::vector<std::string>& features) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    at = end + 1;
    const auto found = std::ranges::find(features, word);
    if (found == features.end())
      return Refusal{Reason::bad_settings,
                     "takes features of the map: '" + std::string(word) + "' is none; add it there, too"};
    places.push_back(static_cast<std::size_t>(found - features.begin()));
  }
  return places;
}

std::string noise_words(NoiseModel noise, const NoiseShape& shape) {
  std::string words;
  const auto add = [&](bool there, const char* word) {
    if (there) words += (words.empty() ? "" : ",") + std::string(word);
  };
  add(noise == NoiseModel::per_component, "per-law");
  add(shape.tails, "tails");
  add(shape.memory, "memory");
  return words.empty() ? "shared" : words;
}

}  // namespace mixstream
