// Files of the page that are embedded at build (page/embed.py).
#pragma once

#include <string_view>

namespace mixstream::page_assets {

extern const std::string_view script;       ///< uPlot and ours
extern const std::string_view style;        ///< likewise
extern const std::string_view licence;      ///< uPlot's
extern const std::string_view script_hash;  ///< "sha256-...", what the page's security policy lets run
extern const std::string_view style_hash;

}  // namespace mixstream::page_assets
