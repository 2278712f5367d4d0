#include "study.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace doubts_study {
namespace {

std::uint64_t seed_of(const Words& words, const std::string& kind, std::size_t stream) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : words.commit + '/' + kind + '/' + std::to_string(stream)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

Words::Words(int count, char** words) {
  if (count > 1) what = words[1];
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const std::string value = i + 1 < count ? words[i + 1] : "";
    if (word == "--verbose") verbose = true;
    if (word == "--streams") streams = std::stoul(value);
    if (word == "--commit") commit = value;
    if (word == "--folder") folder = value;
    if (word == "--only") only = value;
  }
}

std::vector<std::string> lines_of(const Words& words, const std::string& kind,
                                  const std::function<std::string(std::size_t, std::uint64_t)>& measure) {
  const std::filesystem::path file = words.folder / words.commit / (words.what + "-" + kind + ".txt");
  std::filesystem::create_directories(file.parent_path());
  std::vector<std::string> lines;
  std::ifstream in(file);
  bool torn = false;  // the last line has no end: its stream was not finished
  for (std::string line; lines.size() < words.streams && std::getline(in, line);) {
    lines.push_back(line);
    torn = in.eof();
  }
  in.close();
  if (torn) {
    lines.pop_back();
    std::ofstream whole(file);
    for (const std::string& line : lines) whole << line << '\n';
  }
  std::ofstream out(file, std::ios::app);
  while (lines.size() < words.streams) {
    lines.push_back(measure(lines.size(), seed_of(words, kind, lines.size())));
    out << lines.back() << std::endl;
  }
  return lines;
}

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::ranges::sort(values);
  return 0.5 * (values[(values.size() - 1) / 2] + values[values.size() / 2]);
}

}  // namespace doubts_study
