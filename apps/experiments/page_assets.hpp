// Files of the page that are embedded at build (lib/mixstream/report/page/embed.py).
#pragma once

#include <string_view>

namespace experiments::page_assets {

extern const std::string_view script;
extern const std::string_view style;
extern const std::string_view script_hash;  ///< "sha256-...", what the page's security policy lets run
extern const std::string_view style_hash;

}  // namespace experiments::page_assets
