// The live page: the report page's scripts and styles with what fetches and shows a running daemon.
#pragma once

#include <string_view>

#include "response.hpp"

namespace mixstream::web {

namespace live_assets {  // embedded at build, see meson.build

extern const std::string_view script;
extern const std::string_view style;
extern const std::string_view script_hash;
extern const std::string_view style_hash;

}  // namespace live_assets

/// The whole page with a policy that lets nothing run or load but its own parts. In a build without plots a
/// page that says so.
Response live_page();

}  // namespace mixstream::web
