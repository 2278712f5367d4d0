#include "live_page.hpp"

#include <fmt/format.h>

#include "mixstream/report/page.hpp"
#include "mixstream/report/page_assets.hpp"

namespace mixstream::web {
namespace {

constexpr std::string_view without_plots =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mixstreamd</title></head><body>"
    "<h1>mixstreamd</h1><p>This daemon was built without the live page: run apps/setup build, then build "
    "again. "
    "The <a href=\"api/v1/streams\">streams</a> and <a href=\"metrics\">metrics</a> are "
    "there.</p></body></html>\n";

}  // namespace

Response live_page() {
  if (!has_page()) return response_of(std::string(without_plots), "text/html; charset=utf-8");
  Response page = response_of(
      fmt::format(
          "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
          "<title>mixstreamd</title>\n<style>{}</style>\n<style>{}</style>\n</head>\n<body>\n"
          "<div id=\"page\"></div>\n<noscript><h1>mixstreamd</h1><p>The live page needs JavaScript. Without "
          "it: "
          "<a href=\"api/v1/streams\">streams</a> as JSON, <a href=\"metrics\">metrics</a>.</p></noscript>\n"
          "<script type=\"text/plain\" id=\"licence\">uPlot {}</script>\n"
          "<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
          page_assets::style, live_assets::style, page_assets::licence, page_assets::script,
          live_assets::script),
      "text/html; charset=utf-8");
  page.headers.emplace_back(
      "Content-Security-Policy",
      fmt::format(
          "default-src 'none'; img-src data:; connect-src 'self'; script-src '{}' '{}'; style-src '{}' '{}'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          page_assets::script_hash, live_assets::script_hash, page_assets::style_hash,
          live_assets::style_hash));
  return page;
}

}  // namespace mixstream::web
