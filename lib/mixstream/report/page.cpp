#include "mixstream/report/page.hpp"

#include <fmt/format.h>

#include "mixstream/report/page_assets.hpp"
#include "mixstream/report/text.hpp"

namespace mixstream {
namespace {

/// Text as HTML shows it, in elements and in attributes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string title_of(const PageInput& input) {
  if (input.models.empty()) return "mixstream";
  const Report& report = input.models.front().report;
  return fmt::format("{} {} of {} \u00b7 mixstream", report.component_count,
                     report.component_count == 1 ? "law" : "laws",
                     report.response.empty() ? "y" : report.response);
}

/// For readers without scripts: the tables of the terminal.
std::string plain_report(const PageInput& input) {
  std::string text;
  for (const PageModel& model : input.models) text += to_text(model.report) + "\n";
  return text;
}

}  // namespace

bool has_page() noexcept {
  return !page_assets::script.empty();
}

Outcome<std::string> to_html(const PageInput& input, const PageSettings& settings) {
  if (!has_page()) {
    return Refusal{Reason::bad_settings,
                   "this mixstream was built without the page: run apps/setup build, then build again"};
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<div id=\"page\"></div>\n"
      "<noscript><h1>{}</h1><p>The plots need JavaScript; this is what they "
      "show.</p><pre>{}</pre></noscript>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n"
      "<script type=\"text/plain\" id=\"licence\">uPlot {}</script>\n<script>{}</script>\n</body>\n</html>\n",
      page_assets::script_hash, page_assets::style_hash, escaped(title_of(input)), page_assets::style,
      escaped(title_of(input)), escaped(plain_report(input)), page_data(input, settings),
      page_assets::licence, page_assets::script);
}

}  // namespace mixstream
