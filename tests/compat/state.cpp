// State files of every version must be read for ever, with the moments they were written with.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state_file.hpp"

using namespace mixstream;

TEST_CASE("a state of version 1 gives the moments it was written with") {
  const std::string folder = std::getenv("MIXSTREAM_COMPAT_FOLDER");
  const Outcome<Bytes> bytes = read_file(folder + "/version-1.state");
  REQUIRE(bytes);
  const Outcome<Snapshot> decoded = decode(bytes.value());
  REQUIRE(decoded);
  const MomentState& state = decoded.value().state;
  CHECK(state.settings().feature_map == "1,t");
  CHECK(state.settings().response == "y");
  CHECK(state.settings().memory == Memory{Memory::Kind::half_life_seconds, 40.0});
  CHECK(decoded.value().guests == std::vector<Section>{{300, Bytes(4, std::byte{9})}});
  std::ifstream expected(folder + "/version-1.txt");
  std::string number;
  const auto next = [&] {  // in hexadecimal, which streams cannot read
    REQUIRE(static_cast<bool>(expected >> number));
    return std::strtod(number.c_str(), nullptr);
  };
  CHECK(static_cast<double>(state.row_count()) == next());
  const MomentTensor moments = state.moments();
  CHECK(moments.effective_rows == doctest::Approx(next()).epsilon(1e-14));
  for (const double sum : moments.sums()) CHECK(sum == doctest::Approx(next()).epsilon(1e-13));
  const Sample sample = state.sample();
  REQUIRE(sample.rows.size() == 16);
  for (const double response : sample.rows.responses) CHECK(response == next());
  CHECK_FALSE(static_cast<bool>(expected >> number));
}
