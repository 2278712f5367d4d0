#include "moments_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mixstream/moments/moment_tables.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

using Json = nlohmann::ordered_json;

Json degree_json(const DegreeMoments& moments, const std::vector<std::string>& features) {
  Json json{{"degree", moments.degree},
            {"products", product_names(moments, features)},
            {"root_multiplicity", moments.products.root_multiplicity},
            {"sigma", Json::array()},
            {"cross", moments.cross},
            {"mean", moments.mean}};
  const std::size_t columns = moments.covariance.columns;
  for (std::size_t row = 0; row < moments.covariance.rows; ++row) {
    const double* begin = moments.covariance.values.data() + row * columns;
    json["sigma"].push_back(std::vector<double>(begin, begin + columns));
  }
  return json;
}

/// A field that may hold a comma or a quote.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

}  // namespace

std::string moments_json(const Estimator& estimator) {
  const MomentTables tables = moment_tables(estimator.state().moments());
  const std::vector<std::string>& features = estimator.settings().solve.feature_names;
  Json json{{"schema", 1},
            {"rows", estimator.state().row_count()},
            {"effective_rows", tables.effective_rows},
            {"weight", tables.total_weight},
            {"features", features},
            {"response", estimator.state().settings().response},
            {"response_means", tables.response},
            {"moments", Json::array()}};
  for (const DegreeMoments& moments : tables.degrees)
    json["moments"].push_back(degree_json(moments, features));
  return json.dump() + "\n";
}

std::string moments_csv(const Estimator& estimator) {
  const MomentTables tables = moment_tables(estimator.state().moments());
  std::string out = "moment,degree,left,right,value\n";
  for (std::size_t q = 0; q < tables.response.size(); ++q)
    out += fmt::format("response,{},,,{}\n", q + 1, tables.response[q]);
  for (const DegreeMoments& moments : tables.degrees) {
    const std::vector<std::string> names = product_names(moments, estimator.settings().solve.feature_names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      out += fmt::format("mean,{},{},,{}\n", moments.degree, field(names[i]), moments.mean[i]);
      out += fmt::format("cross,{},{},,{}\n", moments.degree, field(names[i]), moments.cross[i]);
      for (std::size_t j = 0; j < names.size(); ++j)
        out += fmt::format("sigma,{},{},{},{}\n", moments.degree, field(names[i]), field(names[j]),
                           moments.covariance(i, j));
    }
  }
  return out;
}

}  // namespace mixstream
