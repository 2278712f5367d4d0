#include "alarm_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "devices/device_state.hpp"
#include "sources/mqtt_setup.hpp"

using namespace mixstream;
using namespace mixstream::alarm_words;

namespace {

/// Of whoever reads it: one of these stands in every piece of advice.
constexpr std::array tells_to_do = {
    "look at ",  "look whether", "Look at ", "look at:", "make room", "set the",     "let it ", "let the ",
    "name the ", "raise ",       "send ",    "stop it",  "compare ",  "allow QoS 1", "POST ",   "restart "};

bool says_what_to_do(const std::string& words) {
  return std::ranges::any_of(tells_to_do,
                             [&](std::string_view sign) { return words.find(sign) != std::string::npos; });
}

std::vector<std::string> words_of_refused() {
  std::vector<std::string> all;
  for (const char* const reason :
       {"clock_ahead", "clock_jump", "sequence_jump", "too_old", "old_epoch", "too_many_sensors",
        "too_many_models", "no_value_yet", "stale_value", "message_too_large", "quarantined", "line_too_long",
        "not_a_number", "a reason that nobody knows yet"})
    all.push_back(refused({{reason, 3}}));
  for (auto fault = StateFault::no_device; fault <= StateFault::no_room;
       fault = static_cast<StateFault>(static_cast<int>(fault) + 1))
    all.push_back(refused({{name_of(fault), 3}}));
  all.push_back(refused({{"clock_ahead", 3}, {"not_a_number", 1}}));
  return all;
}

std::vector<std::string> words_of_source() {
  std::vector<std::string> all{connecting("b:1"),
                               waiting_for_answer("b:1"),
                               connection_refused("b:1", "Not authorized."),
                               unreachable("b:1", out_of_reach("Connection refused")),
                               connection_lost(cut_off("The connection was lost.")),
                               not_stored(),
                               unreadable("rows.csv", "Input/output error"),
                               closed_tls_words({}),
                               closed_tls_words({.certificate_file = "ours.pem"})};
  for (const char* const detail : {"certificate verify failed", "wrong version number",
                                   "alert bad certificate", "alert certificate required", "something else"})
    all.push_back(unreachable("b:1", tls_words(detail)));
  return all;
}

std::map<std::string, std::vector<std::string>> all_words() {
  const std::string verdict = "do not trust these laws: 3 of them explain the rows far better.";
  return {
      {"drift",
       {drift({7, DriftSign::likelihood, 9.0, 0.1}), drift({7, DriftSign::scores, 9.0, 0.1}),
        drift({7, DriftSign::moments, 9.0, 0.0})}},
      {"poor_fit", {poor_fit(verdict)}},
      {"no_fit", {no_fit("all responses are equal.")}},
      {"forgotten", {forgotten(5000.0, 20.0)}},
      {"gap", {gap(1, 2, 1)}},
      {"refused", words_of_refused()},
      {"sensors", {sensors(10000)}},
      {"model_drift", {model_drift("pump3 (law 2 moved by 3.1 noise sd)")}},
      {"model_departs", {model_departs("pump3 (law 2 lies 3.1 noise sd off)")}},
      {"model_silent", {model_silent("pump3 (no row for 700 s)")}},
      {"disk", {disk("cannot write 'x': No space left on device")}},
      {"quarantine", {quarantine(7, 3, "quarantine-7")}},
      {"source", words_of_source()},
      {"subscription", {subscription("plant/#", "not authorized: let the daemon's user subscribe to it")}},
      {"session_lost", {session_lost()}},
      {"session_taken", {session_taken("mixstreamd")}},
      {"broker_slow", {broker_silent(0.5), broker_was_silent(0.7)}}};
}

/// Those that the guide's table names.
std::set<std::string> documented_kinds() {
  const char* const docs = std::getenv("MIXSTREAM_DOCS");
  REQUIRE(docs != nullptr);
  std::ifstream guide(std::string(docs) + "/guide/daemon.md");
  std::set<std::string> kinds;
  bool inside = false;
  for (std::string line; std::getline(guide, line);) {
    if (line.starts_with("| Kind of alarm |")) inside = true;
    if (line.empty()) inside = false;
    if (inside && line.starts_with("| `")) kinds.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return kinds;
}

}  // namespace

TEST_CASE("every kind of alarm says what to do, in each of its cases") {
  for (const auto& [kind, cases] : all_words()) {
    for (const std::string& words : cases) {
      CAPTURE(kind);
      CAPTURE(words);
      CHECK(says_what_to_do(words));
    }
  }
}

TEST_CASE("these are the kinds that the guide names") {
  std::set<std::string> kinds;
  for (const auto& [kind, cases] : all_words()) kinds.insert(kind);
  CHECK(kinds == documented_kinds());
}

TEST_CASE("words of the library go on with ours") {
  CHECK(connection_lost(cut_off("The connection was lost."))
            .starts_with("connection lost: The connection was lost; "));
  CHECK(refused({{"clock_ahead", 3}, {"ragged", 1}})
            .find("4 rows refused, 3 clock_ahead, 1 ragged; clock_ahead: ") == 0);
}
