// Rows through the C++ library's estimator. The same words and output as model.c.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mixstream/estimator.hpp"
#include "mixstream/moments/moment_tables.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/report/json.hpp"
#include "mixstream/rows/row.hpp"

using namespace mixstream;

namespace {

std::vector<double> read_rows(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<double> values(bytes.size() / sizeof(double));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(values.data()));
  return values;
}

EstimatorSettings settings_for(std::size_t columns) {
  EstimatorSettings settings;
  settings.state.layout = {static_cast<int>(columns), 0};
  settings.state.feature_map = "1,u,v";
  settings.state.response = "y";
  settings.solve.component_count = 3;
  settings.solve.polish = PolishKind::off;
  settings.solve.feature_names = {"1", "u", "v"};
  return settings;
}

void print(const Estimator& estimator) {
  const MomentTables tables = moment_tables(estimator.state().moments());
  std::string text = "{\"cross\": [";
  for (const DegreeMoments& degree : tables.degrees) {
    for (const double value : degree.cross) {
      char number[32];
      std::snprintf(number, sizeof number, "%.17g", value);
      text += (text.back() == '[' ? "" : ", ") + std::string(number);
    }
  }
  std::printf("%s], \"report\": %s}\n", text.c_str(), to_json(estimator.fit()).c_str());
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  const std::vector<double> values = read_rows(words[1]);
  const auto columns = static_cast<std::size_t>(std::atoi(words[2]));
  const bool numbered = std::string(words[3]) != "plain";
  Outcome<Estimator> made = Estimator::create(settings_for(columns));
  if (!made) return 1;
  Estimator estimator = std::move(made).value();
  const std::uint64_t source = numbered ? std::strtoull(words[3], nullptr, 10) : 0;
  std::vector<double> features(columns, 1.0);
  for (std::size_t at = 0; at + columns <= values.size(); at += columns) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(at), columns - 1, features.begin() + 1);
    const Row row{features, values[at + columns - 1]};
    const std::uint64_t number = numbered ? at / columns : content_number(row);
    if (estimator.absorb(row, {number, source}) != RowFault::none) return 1;
  }
  print(estimator);
  const Bytes bytes = estimator.encode();
  std::ofstream(words[4], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return 0;
}
