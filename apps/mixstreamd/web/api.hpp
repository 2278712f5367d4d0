// The JSON of the API (docs/reference/http.md): names are a contract.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../view.hpp"
#include "response.hpp"

namespace mixstream::web {

/// Which of the streams, in the order of the configuration.
struct StreamPage {
  std::size_t from = 0;
  std::size_t count = ~std::size_t{0};
};
/// Of "from=100&count=50", any of the two; nothing for other words.
std::optional<StreamPage> page_in(std::string_view query);

/// "2026-11-16T05:43:15.250Z"
std::string iso_time(WallTime time);

/// Of /api/v1/streams: the daemon and all its streams. `now`: the daemon's clock, for ages.
std::string streams_json(const DaemonView& daemon, WallTime now, const StreamPage& page = {});

/// Of /api/v1/streams/NAME: one stream without its fit's details.
std::string stream_json(const StreamView& stream);

/// Of /api/v1/streams/NAME/models: some of its groups.
std::string models_json(const StreamView& stream, const FleetPage& page);

/// What /healthz and /readyz answer: 200 or 503.
Response health_response(const Health& health);

/// Answers POST /api/v1/streams/NAME/predict: {"rows":[{"t":0.5,"y":1.2}],"level":0.95}.
Response predict_response(const StreamView& stream, const std::string& body);

/// Answers POST /api/v1/streams/NAME/forecast: {"ahead":[1,100],"sensor":"7"}.
Response forecast_response(const StreamView& stream, const std::string& body);

}  // namespace mixstream::web
