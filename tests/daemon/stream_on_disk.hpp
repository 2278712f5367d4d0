// A real stream on the simulated disk, and messages of two laws for it.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "config/config.hpp"
#include "stream/stream.hpp"
#include "support/folder.hpp"

namespace disk_shim {

using namespace mixstream;

inline constexpr const char* stream_folder = "/disk/pump";
inline constexpr int rows_of_message = 50;

inline StreamConfig stream_config(const std::string& more = "") {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/mixstreamd.toml";
  std::ofstream(path)
      << "[mqtt]\n[[stream]]\nname = \"pump\"\ntopic = \"plant/pump\"\ncolumns = [\"t\", \"y\"]\n"
         "features = \"1,t\"\nk = 2\nrefit_interval = 0\n"
      << more;
  const Outcome<Config> config = load_config(path);
  REQUIRE_MESSAGE(static_cast<bool>(config), (config ? "" : config.refusal().text));
  return config.value().streams.front();
}

/// Rows of y = 1 + 2t and y = -1 + t/2.
inline std::string message(int number) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  std::uniform_real_distribution<> uniform(-1.0, 1.0);
  std::normal_distribution<> noise(0.0, 0.1);
  std::string rows;
  for (int i = 0; i < rows_of_message; ++i) {
    const double t = uniform(random);
    const double y = uniform(random) < 0.0 ? 1.0 + 2.0 * t : -1.0 + 0.5 * t;
    rows += (i == 0 ? "[" : ",[") + std::to_string(t) + "," + std::to_string(y + noise(random)) + "]";
  }
  return R"({"sensor":"a","seq":)" + std::to_string(number * rows_of_message) + R"(,"rows":[)" + rows + "]}";
}

inline bool take(Stream& stream, int number) {
  const std::string text = message(number);
  const Arrival arrival{text, "plant/pump"};
  return stream.take({&arrival, 1});
}

inline std::unique_ptr<Stream> open_stream(const std::string& more = "") {
  auto opened = Stream::open(stream_config(more), stream_folder);
  REQUIRE_MESSAGE(static_cast<bool>(opened), (opened ? "" : opened.refusal().text));
  return std::move(opened).value();
}

}  // namespace disk_shim
