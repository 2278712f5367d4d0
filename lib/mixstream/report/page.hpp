// The report as one HTML page that needs nothing else: data and laws, the stream, residuals, diagnosis.
#pragma once

#include <string>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/report/history.hpp"
#include "mixstream/report/report.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/reservoir.hpp"

namespace mixstream {

/// One model: of all rows, or of one group.
struct PageModel {
  Report report;       ///< the newest fit
  FitHistory history;  ///< the fits before it
  Sample sample;       ///< rows as the state keeps them
  FeatureMap map;      ///< what made the sample's features from columns
};

struct PageInput {
  std::vector<PageModel> models;
  std::string version;              ///< of the program, for the foot of the page
  std::size_t models_left_out = 0;  ///< that the page is not to show, only to mention
};

struct PageSettings {
  std::size_t most_points = 20000;  ///< numbers drawn as points, over all models and axes
};

/// Whether this build holds the page's plots.
bool has_page() noexcept;

/// What the page draws, as one JSON object in ASCII without `<`: safe inside a script element. A live page
/// fetches the same. Numbers of points and curves are rounded to six digits; never NaN.
std::string page_data(const PageInput& input, const PageSettings& settings = {});

/// The whole page. Refuses in a build without the plots.
Outcome<std::string> to_html(const PageInput& input, const PageSettings& settings = {});

}  // namespace mixstream
