#include "mixstream/report/text.hpp"
#include "mixstream/report/gate_words.hpp"

#include "mixstream/core/noise_words.hpp"
#include "mixstream/core/plain_number.hpp"
#include "mixstream/doubts/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mixstream/report/counted.hpp"

namespace mixstream {
namespace {

constexpr std::size_t smallest_width = 30;  // narrower terminals break the lines themselves

enum class Ink { plain, bold, good, bad, faint };

class TextReport {
 public:
  TextReport(const Report& report, const TextSettings& settings) : report_(report), settings_(settings) {}

  std::string text() {
    heading();
    for (std::size_t h = 0; h < report_.components.size(); ++h) sentence(h);
    if (!report_.components.empty()) laws();
    verdict();
    model();
    gate();
    details();
    return std::move(out_);
  }

 private:
  std::string inked(Ink ink, const std::string& text) const {
    if (!settings_.colour || ink == Ink::plain) return text;
    const char* code = ink == Ink::bold ? "1" : ink == Ink::good ? "32" : ink == Ink::bad ? "31" : "2";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  bool lasts() const { return report_.modes && report_.modes->kind == Modes::persistent; }
  bool gates() const { return report_.modes && report_.modes->kind == Modes::gated; }

  void heading() {
    const std::string group = report_.group ? *report_.group + ": " : "";
    const std::string model = fmt::format(
        "{}{} {} of {} ~ {}", group, report_.component_count, report_.component_count == 1 ? "law" : "laws",
        report_.response.empty() ? "y" : report_.response, joined(report_.features));
    const std::string rows =
        fmt::format("{}{}", counted(report_.rows, "row"), report_.final ? "" : " so far");
    const bool one_line = fits(shown(model) + 3 + shown(rows));
    out_ += paragraph(model, Ink::bold, "", "    ") + (one_line ? "   " : "\n  ") + inked(Ink::faint, rows) +
            "\n";
  }

  bool fits(std::size_t characters) const {
    return settings_.width == 0 || characters <= std::max(settings_.width, smallest_width);
  }

  /// The text broken between words to fit the width; its first line begins with `first`, others with `rest`.
  std::string paragraph(const std::string& text, Ink ink, const std::string& first,
                        const std::string& rest) const {
    std::string result = first;
    std::string line;
    std::size_t indent = shown(first);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      if (!line.empty() && !fits(indent + shown(line) + 1 + shown(word))) {
        result += inked(ink, line) + "\n" + rest;
        indent = shown(rest);
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
      at = end + 1;
    }
    return result + inked(ink, line);
  }

  static std::string joined(const std::vector<std::string>& names) {
    std::string result;
    for (const std::string& name : names) result += (result.empty() ? "" : " + ") + name;
    return result;
  }

  /// A value with as many digits as its error supports, and the error.
  static std::string measured(double value, double error) {
    if (!(error > 0.0) || !std::isfinite(error)) return plain_number(value, 5);
    const int digits = std::clamp(1 - static_cast<int>(std::floor(std::log10(error))), 0, 12);
    if (std::abs(value) >= 1e9 || digits == 12) return fmt::format("{:.5g} \u00b1 {:.2g}", value, error);
    return fmt::format("{:.{}f} \u00b1 {:.{}f}", value, digits, error, digits);
  }

  /// A law as a formula: law 1, 50 % of the rows: power = 4.00 + 3.00 flow, give or take 0.20.
  void sentence(std::size_t h) {
    const ComponentReport& component = report_.components[h];
    std::string formula;
    for (std::size_t f = 0; f < component.coefficients.size(); ++f) {
      const double error = component.coefficient_errors.empty() ? 0.0 : component.coefficient_errors[f];
      const double value = component.coefficients[f];
      const std::string sign = formula.empty() ? (value < 0.0 ? "-" : "") : value < 0.0 ? " - " : " + ";
      formula += sign + rounded(std::abs(value), error);
      if (report_.features[f] != "1") formula += " " + report_.features[f];
    }
    const std::string text =
        fmt::format("law {}, {:.0f} % of the rows: {} = {}, give or take {}", h + 1, 100.0 * component.weight,
                    report_.response.empty() ? "y" : report_.response, formula,
                    plain_number(std::sqrt(component.noise_variance), 2));
    out_ += paragraph(text, Ink::plain, "  ", "      ") + "\n";
  }

  /// As many digits as the error supports.
  static std::string rounded(double value, double error) {
    if (!(error > 0.0) || !std::isfinite(error)) return plain_number(value, 4);
    const int digits = std::clamp(-static_cast<int>(std::floor(std::log10(error))), 0, 12);
    return value >= 1e9 || digits == 12 ? fmt::format("{:.4g}", value)
                                        : fmt::format("{:.{}f}", value, digits);
  }

  void laws() {
    std::vector<std::vector<std::string>> columns;
    columns.push_back({"", "weight"});
    for (const std::string& feature : report_.features)
      columns[0].push_back(feature == "1" ? "constant" : feature);
    columns[0].push_back("noise sd");
    if (lasts()) columns[0].push_back("lasts, rows");
    for (std::size_t w = 0; gates() && w < report_.modes->gate.size(); ++w)
      columns[0].push_back("gate " + (report_.modes->gate[w] == "1" ? "constant" : report_.modes->gate[w]));
    for (std::size_t h = 0; h < report_.components.size(); ++h) columns.push_back(law_column(h));
    for (std::size_t first = 1; first < columns.size();) first = block_of_laws(columns, first);
  }

  /// Writes as many laws, from the given one on, as fit beside each other; returns the next.
  std::size_t block_of_laws(const std::vector<std::vector<std::string>>& columns, std::size_t first) {
    const auto width_of = [](const std::vector<std::string>& column) {
      std::size_t width = 0;
      for (const std::string& cell : column) width = std::max(width, shown(cell));
      return width;
    };
    std::size_t total = 2 + width_of(columns[0]);
    std::size_t last = first;
    while (last < columns.size() && (last == first || fits(total + 3 + width_of(columns[last]))))
      total += 3 + width_of(columns[last++]);
    for (std::size_t line = 0; line < columns[0].size(); ++line) {
      std::string row =
          "  " + columns[0][line] + std::string(width_of(columns[0]) - shown(columns[0][line]), ' ');
      for (std::size_t c = first; c < last; ++c)
        row += "   " + std::string(width_of(columns[c]) - shown(columns[c][line]), ' ') + columns[c][line];
      out_ += (line == 0 ? inked(Ink::bold, row) : row) + "\n";
    }
    return last;
  }

  std::vector<std::string> law_column(std::size_t h) const {
    const ComponentReport& component = report_.components[h];
    std::vector<std::string> column{fmt::format("law {}", h + 1),
                                    measured(component.weight, component.weight_error.value_or(0.0))};
    for (std::size_t f = 0; f < component.coefficients.size(); ++f) {
      const double error = component.coefficient_errors.empty() ? 0.0 : component.coefficient_errors[f];
      column.push_back(measured(component.coefficients[f], error));
    }
    const double deviation = std::sqrt(component.noise_variance);
    const double error = component.noise_variance_error.value_or(0.0) / (2.0 * std::max(deviation, 1e-300));
    column.push_back(measured(deviation, error));
    if (lasts()) column.push_back(measured(report_.modes->dwells[h], report_.modes->dwell_errors[h]));
    for (std::size_t w = 0; gates() && w < report_.modes->gate.size(); ++w)
      column.push_back(measured(report_.modes->gate_coefficients(h, w), report_.modes->gate_errors(h, w)));
    return column;
  }

  /// Characters on the screen: bytes that neither continue a UTF-8 sequence nor belong to a colour.
  static std::size_t shown(const std::string& text) {
    std::size_t count = 0;
    bool colour = false;
    for (const char c : text) {
      if (c == '\x1b') colour = true;
      if (!colour && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++count;
      if (c == 'm') colour = false;
    }
    return count;
  }

  void verdict() {
    const bool good = is_usable(report_.status);
    const std::string name = name_of(report_.status);
    out_ += paragraph(report_.words, Ink::plain, "  " + inked(good ? Ink::good : Ink::bad, name) + "  ",
                      "      ") +
            "\n";
  }

  /// Who chose a model other than independent rows with equal noise, and how clearly.
  void model() {
    if (!report_.model || (report_.model->chosen.empty() && !report_.model->by_held_rows)) return;
    const ModelReport& model = *report_.model;
    std::string line = fmt::format("model: {} modes, {} noise, ", name_of(model.modes),
                                   noise_words(model.noise, model.noise_shape));
    if (model.chosen.empty())
      line += "which the rows at hand prefer.";
    else
      line += fmt::format("which predicted rows better from row {} on.", grouped(model.chosen.back().row));
    out_ += paragraph(line, Ink::faint, "  ", "    ") + "\n";
  }

  /// Where a feature hands over from one law to the next.
  void gate() {
    if (!gates()) return;
    for (const std::string& words : takeovers(*report_.modes)) out_ += "  " + words + "\n";
  }

  /// What was looked for, what was found and how large: the raised doubts, then the nearest to it.
  void doubts() {
    constexpr std::size_t most_shown = 12;
    if (report_.doubts.empty()) return;
    out_ +=
        fmt::format("  looked for {} things that could be missing; the strongest:\n", report_.doubts.size());
    std::size_t width = 0;
    const std::size_t count = std::min(report_.doubts.size(), most_shown);
    for (std::size_t i = 0; i < count; ++i) width = std::max(width, shown(doubt_title(report_.doubts[i])));
    for (std::size_t i = 0; i < count; ++i) {
      const Doubt& doubt = report_.doubts[i];
      const std::string title = doubt_title(doubt);
      const auto length = static_cast<std::size_t>(std::lround(std::min(20.0, 20.0 * doubt.shift)));
      out_ +=
          fmt::format("  {} {}{}  p {:<8.2g} {:.2f} noise sd {}\n", doubt.raised ? '*' : ' ', title,
                      std::string(width - shown(title), ' '), doubt.p, doubt.shift, std::string(length, '#'));
    }
    out_ += fmt::format("  the held rows leave open that the laws are off by up to {} noise sd\n",
                        plain_number(report_.misfit.open, 2));
  }

  static const char* choice_words(Modes modes) {
    if (modes == Modes::persistent) return "   laws that last";
    return modes == Modes::gated ? "   a gate" : "";
  }

  /// The numbers of laws that were tried; which won, and why where another one is likelier.
  void candidates() {
    for (const Candidate& candidate : report_.candidates) {
      const std::string noise = noise_words(candidate.noise, candidate.noise_shape);
      out_ += fmt::format("  {} k = {}   BIC {:.5f} a row   probability {:.2f}{}{}{}\n",
                          candidate.chosen ? "*" : " ", candidate.component_count, candidate.bic,
                          candidate.probability, choice_words(candidate.modes),
                          noise == "shared" ? "" : "   noise " + noise,
                          candidate.j_per_dof ? fmt::format("   J/dof {:.2f}", *candidate.j_per_dof) : "");
    }
    if (const std::string reason = count_reason(report_); !reason.empty()) out_ += "    " + reason + "\n";
  }

  void details() {
    if (settings_.explain) doubts();
    std::string line = fmt::format("  stage {}", name_of(report_.stage));
    if (report_.moment_test) {
      line += fmt::format(", J {:.1f} on {} degrees of freedom, p {:.2g}", report_.moment_test->value,
                          report_.moment_test->dof, report_.moment_test->p_value);
    }
    if (!report_.identifiability.powers.empty() && !report_.identifiability.spectral) {
      line += ", spectral start not identified";
    }
    if (report_.noise_memory)
      line += fmt::format(", noise keeps {} of the row before",
                          measured(*report_.noise_memory, report_.noise_memory_error.value_or(0.0)));
    if (report_.degrees_of_freedom)
      line += fmt::format(", noise of Student t with {:.1f} degrees of freedom", *report_.degrees_of_freedom);
    if (settings_.explain) out_ += paragraph(line.substr(2), Ink::faint, "  ", "    ") + "\n";
    candidates();
    if (report_.set_aside > 0)
      out_ += fmt::format("  {} set aside as outliers\n", counted(report_.set_aside, "row"));
    for (const auto& [reason, count] : report_.refused)
      out_ += fmt::format("  {} refused: {}\n", counted(count, "row"), reason);
    if (report_.stream) {
      for (const auto& [reason, count] : report_.stream->refused)
        out_ += fmt::format("  {} of the stream refused: {}\n", counted(count, "row"), reason);
    }
    for (const DriftEvent& event : report_.drift) {
      out_ += inked(Ink::bad, fmt::format("  drift at row {} ({}, {:.1f} standard deviations)",
                                          grouped(event.row), name_of(event.sign), event.deviations)) +
              "\n";
    }
  }

  const Report& report_;
  TextSettings settings_;
  std::string out_;
};

}  // namespace

std::string to_text(const Report& report, const TextSettings& settings) {
  return TextReport(report, settings).text();
}

}  // namespace mixstream
