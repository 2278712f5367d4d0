#include "experiments/page.hpp"

#include <fmt/format.h>

#include "experiments/page_assets.hpp"
#include "mixstream/report/page.hpp"
#include "mixstream/report/page_assets.hpp"

namespace experiments {
namespace {

/// JSON inside a script element: '<' could end it.
std::string embedded(const Json& json) {
  std::string text;
  for (const char c : json.dump()) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

mixstream::Outcome<std::string> page_of(const Json& results) {
  namespace report = mixstream::page_assets;  // uPlot and what draws with it
  if (!mixstream::has_page()) {
    return mixstream::Refusal{mixstream::Reason::bad_settings,
                              "built without the page: run apps/setup build, then build again"};
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "script-src '{}' '{}'; style-src '{}' '{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>The evidence \u00b7 mixstream</title>\n<style>{}</style>\n<style>{}</style>\n</head>\n<body>\n"
      "<div id=\"page\"></div>\n<noscript>The plots need JavaScript; the tables stand in "
      "docs/evaluation.</noscript>\n<script type=\"application/json\" id=\"results\">{}</script>\n"
      "<script type=\"text/plain\" id=\"licence\">uPlot "
      "{}</script>\n<script>{}</script>\n<script>{}</script>\n"
      "</body>\n</html>\n",
      report::script_hash, page_assets::script_hash, report::style_hash, page_assets::style_hash,
      report::style, page_assets::style, embedded(results), report::licence, report::script,
      page_assets::script);
}

}  // namespace experiments
