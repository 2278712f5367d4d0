// The figures in InfluxDB's line protocol, for whoever fetches them: Telegraf's http input, or a script.
#pragma once

#include <string>

#include "../view.hpp"

namespace mixstream::web {

/// A line for each stream (at `now`), and for each law and coefficient of its newest fit (at the fit's time).
/// What is not finite is left out.
std::string influx_text(const DaemonView& daemon, WallTime now);

}  // namespace mixstream::web
