// States that travel between processors. One machine writes, another reads and compares with what it makes
// itself of the same rows.  usage: state-exchange write|read FOLDER
//
// Promised, and checked here:
// - what is read holds every number as written: encoded again, it gives the same bytes;
// - of the same rows, two processors make the same counts and the same sample; their sums agree to rounding,
//   and bit for bit where all products are whole numbers that a double holds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state_file.hpp"

using namespace mixstream;

namespace {

int failures = 0;

void expect(bool holds, const std::string& name, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s: %s\n", name.c_str(), what);
}

/// Rows that are the same everywhere: integers divided by `unit`, whose rounding every processor agrees on.
struct Stream {
  Layout layout;
  double unit;
  std::uint64_t seed;

  void absorb_into(MomentState& state, int first, int last) const {
    std::vector<double> features(static_cast<std::size_t>(layout.feature_count));
    for (int i = first; i < last; ++i) {
      Random random(seed * 1'000'003 + static_cast<std::uint64_t>(i));
      const auto whole = [&] { return static_cast<double>(random.bits() % 15) - 7.0; };
      for (double& feature : features) feature = whole() / unit;
      if (layout.has_constant()) features[static_cast<std::size_t>(layout.constant_feature)] = 1.0;
      const double response = (i % 50 == 49 ? 40.0 : 1.0) * whole() / unit;  // some for the tail bins
      state.absorb({features, response, 1.0, 1e6 + i});
    }
  }
};

struct Case {
  std::string name;
  StateSettings settings;
  Stream stream;
  int rows;
  bool exact;  // every sum is a whole number of units
};

std::vector<Case> every_case() {
  using Kind = Memory::Kind;
  const std::vector<Memory> memories{
      {}, {Kind::half_life_rows, 40.0}, {Kind::half_life_seconds, 25.0}, {Kind::window_rows, 100.0, 8}};
  std::vector<Case> cases;
  for (const Layout layout : {Layout{2, 0}, Layout{3, -1}, Layout{5, 2}}) {
    for (const Memory& memory : memories) {
      for (const double unit : {1.0, 3.0}) {
        for (const int rows : {0, 31, 33, 700}) {
          const StateSettings settings{
              .layout = layout, .feature_map = "f", .memory = memory, .reservoir_rows = 50, .pilot_rows = 32};
          const std::string name = std::to_string(cases.size()) + ".state";
          cases.push_back({name, settings, {layout, unit, 7}, rows, unit == 1.0 && !memory.forgets()});
        }
      }
    }
  }
  return cases;
}

MomentState made_of(const Case& one, int rows) {
  MomentState state = MomentState::create(one.settings).value();
  one.stream.absorb_into(state, 0, rows);
  return state;
}

void compare(const Case& one, const MomentState& theirs, const MomentState& ours) {
  expect(theirs.settings() == ours.settings() && theirs.row_counts() == ours.row_counts(), one.name,
         "counts differ");
  expect(theirs.pilot() == ours.pilot(), one.name, "pilots differ");
  const auto same = [&](double a, double b) {
    return one.exact ? a == b : std::abs(a - b) <= 1e-12 * (1.0 + std::abs(b));
  };
  const MomentTensor left = theirs.moments();
  const MomentTensor right = ours.moments();
  expect(std::ranges::equal(left.sums(), right.sums(), same), one.name, "sums differ");
  expect(theirs.sample().rows.features == ours.sample().rows.features, one.name, "samples differ");
}

void write(const Case& one, const std::string& folder) {
  expect(static_cast<bool>(write_file(folder + "/" + one.name, encode(made_of(one, one.rows)))), one.name,
         "cannot be written");
}

void read(const Case& one, const std::string& folder) {
  const Outcome<Bytes> bytes = read_file(folder + "/" + one.name);
  if (!bytes) return expect(false, one.name, bytes.refusal().text.c_str());
  Outcome<Snapshot> decoded = decode(bytes.value());
  if (!decoded) return expect(false, one.name, decoded.refusal().text.c_str());
  MomentState theirs = std::move(decoded.value().state);
  expect(encode(theirs) == bytes.value(), one.name, "encoded again, the bytes differ");
  MomentState ours = made_of(one, one.rows);
  compare(one, theirs, ours);
  one.stream.absorb_into(theirs, one.rows, one.rows + 300);  // it goes on here
  compare(one, theirs, made_of(one, one.rows + 300));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool writes = std::strcmp(argv[1], "write") == 0;
  for (const Case& one : every_case()) writes ? write(one, argv[2]) : read(one, argv[2]);
  if (!writes) std::printf("%zu states read, %d failures\n", every_case().size(), failures);
  return failures == 0 ? 0 : 1;
}
