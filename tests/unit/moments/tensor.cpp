#include "mixstream/moments/tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "mixstream/rows/reservoir.hpp"

using namespace mixstream;

namespace {

struct RandomRows {
  RowTable rows;
  Layout layout;
};

RandomRows random_rows(int features, int constant, int count, double centre, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  RandomRows sample{{static_cast<std::size_t>(features), {}, {}, {}}, {features, constant}};
  std::vector<double> x(static_cast<std::size_t>(features));
  for (int i = 0; i < count; ++i) {
    for (double& value : x) value = centre + normal(random);
    if (constant >= 0) x[static_cast<std::size_t>(constant)] = 1.0;
    sample.rows.add({x, normal(random), 0.5 + std::abs(normal(random))});
  }
  return sample;
}

/// Dense z^(6) sums over every index tuple, the slow and obvious way.
MomentTensor brute_force(const RandomRows& sample, const Pilot& pilot) {
  MomentTensor tensor(sample.layout, pilot);
  const int m = sample.layout.variables();
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    std::vector<double> z(static_cast<std::size_t>(m));
    to_pilot(sample.rows.row(i), sample.layout, pilot, z);
    SixIndices s{};
    const auto at = [&](int k) { return z[static_cast<std::size_t>(s[static_cast<std::size_t>(k)])]; };
    for (s[0] = 0; s[0] < m; ++s[0])
      for (s[1] = s[0]; s[1] < m; ++s[1])
        for (s[2] = s[1]; s[2] < m; ++s[2])
          for (s[3] = s[2]; s[3] < m; ++s[3])
            for (s[4] = s[3]; s[4] < m; ++s[4])
              for (s[5] = s[4]; s[5] < m; ++s[5])
                tensor.sums()[tensor.packing().position(s)] +=
                    sample.rows.weights[i] * at(0) * at(1) * at(2) * at(3) * at(4) * at(5);
  }
  return tensor;
}

}  // namespace

TEST_CASE("collapsed powers keep inner products of symmetric tensors") {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int d = 1; d <= 5; ++d) {
    for (int p = 0; p <= 6; ++p) {
      std::vector<double> a(static_cast<std::size_t>(d));
      std::vector<double> b(a.size());
      double inner = 0.0;
      for (std::size_t i = 0; i < a.size(); ++i) inner += (a[i] = normal(random)) * (b[i] = normal(random));
      const CollapsedPower power = collapsed_power(d, p);
      CHECK(power.tuples.size() ==
            *monomial_count(static_cast<std::uint64_t>(d), static_cast<std::uint64_t>(p)));
      double sum = 0.0;
      for (std::size_t t = 0; t < power.tuples.size(); ++t) {
        double left = power.root_multiplicity[t];
        double right = left;
        for (const int v : power.tuples[t]) {
          left *= a[static_cast<std::size_t>(v)];
          right *= b[static_cast<std::size_t>(v)];
        }
        sum += left * right;
      }
      CHECK(sum == doctest::Approx(std::pow(inner, p)).epsilon(1e-10));
    }
  }
}

TEST_CASE("changing coordinates equals summing in them") {
  for (const int constant : {0, 1, -1}) {
    const RandomRows sample = random_rows(3, constant, 40, 2.0, 11);
    const Pilot raw = Pilot::identity(sample.layout.variables());
    Pilot other = raw;
    for (std::size_t j = 1; j < other.scale.size(); ++j) {
      other.scale[j] = std::exp2(static_cast<double>(j) - 2.0);
      other.shift[j] = 0.75 * static_cast<double>(j);
    }
    const MomentTensor there = brute_force(sample, other);
    const MomentTensor moved = brute_force(sample, raw).in_coordinates(other);
    const MomentTensor back = there.in_raw_coordinates();
    const MomentTensor direct = brute_force(sample, raw);
    for (std::size_t i = 0; i < direct.sums().size(); ++i) {
      CHECK(moved.sums()[i] == doctest::Approx(there.sums()[i]).epsilon(1e-9).scale(1e3));
      CHECK(back.sums()[i] == doctest::Approx(direct.sums()[i]).epsilon(1e-9).scale(1e3));
    }
  }
}
