// Streams of rows for tests, and their moments the slow and obvious way: long double, row by row.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "mixstream/moments/state.hpp"

namespace streams {

/// Rows that own what they hold.
struct Stream {
  mixstream::Layout layout;
  std::vector<std::vector<double>> features;
  std::vector<double> responses;
  std::vector<double> weights;
  std::vector<double> times;

  std::size_t size() const { return responses.size(); }
  mixstream::Row row(std::size_t i) const { return {features[i], responses[i], weights[i], times[i]}; }
  void add(const std::vector<double>& x, double y, double weight = 1.0, double time = 0.0) {
    features.push_back(x);
    responses.push_back(y);
    weights.push_back(weight);
    times.push_back(time);
  }
  void add(const Stream& other) {
    for (std::size_t i = 0; i < other.size(); ++i)
      add(other.features[i], other.responses[i], other.weights[i], other.times[i]);
  }
};

struct Kind {
  mixstream::Layout layout{2, 0};
  double centre = 0.5;
  double spread = 1.0;
  bool weighted = true;
  double first_time = 0.0;  // one second a row
};

inline Stream random_stream(std::size_t rows, unsigned seed, const Kind& kind = {}) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Stream stream{kind.layout, {}, {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> x;
    for (int j = 0; j < kind.layout.feature_count; ++j)
      x.push_back(j == kind.layout.constant_feature ? 1.0 : kind.centre + kind.spread * normal(random));
    const double y = kind.spread * normal(random) - 0.5 * x.back();
    stream.add(x, y, kind.weighted ? std::exp(normal(random)) : 1.0,
               kind.first_time + static_cast<double>(i));
  }
  return stream;
}

/// Whole numbers from -3 to 3, of weight 1.
inline Stream small_numbers(std::size_t rows, unsigned seed, mixstream::Layout layout) {
  std::mt19937_64 random(seed);
  const auto draw = [&] { return static_cast<double>(random() % 7) - 3.0; };
  Stream stream{layout, {}, {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> x;
    for (int j = 0; j < layout.feature_count; ++j) x.push_back(j == layout.constant_feature ? 1.0 : draw());
    stream.add(x, draw());
  }
  return stream;
}

/// Small whole numbers: their moments are exact in doubles, so sums in any order are equal to the last bit.
inline Stream whole_stream(std::size_t rows, unsigned seed, mixstream::Layout layout = {2, 0}) {
  std::mt19937_64 random(seed);
  const auto draw = [&] { return static_cast<double>(random() % 7) - 3.0; };
  Stream stream{layout, {}, {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> x;
    for (int j = 0; j < layout.feature_count; ++j) x.push_back(j == layout.constant_feature ? 1.0 : draw());
    const double tail = random() % 50 == 0 ? 20.0 : 1.0;  // some rows for the bins beyond the first
    stream.add(x, tail * draw(), static_cast<double>(1 + random() % 3), static_cast<double>(i));
  }
  return stream;
}

inline mixstream::StateSettings settings_for(const Stream& stream, std::size_t reservoir_rows = 16,
                                             std::size_t pilot_rows = 32) {
  mixstream::StateSettings settings;
  settings.layout = stream.layout;
  settings.reservoir_rows = reservoir_rows;
  settings.pilot_rows = pilot_rows;
  return settings;
}

inline mixstream::MomentState make_state(const mixstream::StateSettings& settings) {
  mixstream::Outcome<mixstream::MomentState> created = mixstream::MomentState::create(settings);
  if (!created) FAIL(created.refusal().text);
  return std::move(created).value();
}

/// Rows [begin, end) of source 0, each at its own position.
inline void absorb(mixstream::MomentState& state, const Stream& stream, std::size_t begin, std::size_t end) {
  state.begin_source(0, begin);
  for (std::size_t i = begin; i < end; ++i) {
    if (state.absorb(stream.row(i)) != mixstream::RowFault::none) FAIL("row " << i << " was refused");
  }
}

inline mixstream::MomentState filled(const mixstream::StateSettings& settings, const Stream& stream) {
  mixstream::MomentState state = make_state(settings);
  absorb(state, stream, 0, stream.size());
  return state;
}

/// z of a row in the pilot's coordinates.
inline std::vector<long double> variables_of(const Stream& stream, std::size_t i,
                                             const mixstream::Pilot& pilot) {
  std::vector<long double> z{1.0L};
  for (int j = 0; j < stream.layout.feature_count; ++j) {
    if (j != stream.layout.constant_feature) z.push_back(stream.features[i][static_cast<std::size_t>(j)]);
  }
  z.push_back(stream.responses[i]);
  for (std::size_t v = 1; v < z.size(); ++v)
    z[v] = (z[v] - static_cast<long double>(pilot.shift[v])) / static_cast<long double>(pilot.scale[v]);
  return z;
}

/// The largest error of the tensor against brute force over rows with these weights, relative to the sum of
/// absolute terms.
inline double worst_error(const mixstream::MomentTensor& tensor, const Stream& stream,
                          const std::vector<double>& weights) {
  const int m = stream.layout.variables();
  std::vector<long double> sums(tensor.sums().size());
  std::vector<long double> absolute(sums.size());
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (weights[i] == 0.0) continue;
    const std::vector<long double> z = variables_of(stream, i, tensor.pilot());
    const auto at = [&](int v) { return z[static_cast<std::size_t>(v)]; };
    for (int a = 0; a < m; ++a)
      for (int b = a; b < m; ++b)
        for (int c = b; c < m; ++c)
          for (int d = c; d < m; ++d)
            for (int e = d; e < m; ++e)
              for (int f = e; f < m; ++f) {
                const std::size_t position = tensor.packing().position({a, b, c, d, e, f});
                const long double term =
                    static_cast<long double>(weights[i]) * at(a) * at(b) * at(c) * at(d) * at(e) * at(f);
                sums[position] += term;
                absolute[position] += std::abs(term);
              }
  }
  long double worst = 0.0L;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    const long double error = std::abs(static_cast<long double>(tensor.sums()[p]) - sums[p]);
    if (!(error == 0.0L)) worst = std::max(worst, absolute[p] > 0.0L ? error / absolute[p] : 1.0L);
  }
  return static_cast<double>(worst);
}

inline bool all_finite(const mixstream::MomentTensor& tensor) {
  return std::ranges::all_of(tensor.sums(), [](double sum) { return std::isfinite(sum); });
}

inline double worst_error(const mixstream::MomentTensor& tensor, const Stream& stream) {
  return worst_error(tensor, stream, stream.weights);
}

/// The largest difference of two tensors relative to what the sums of even powers allow: |z^a z^b| summed is
/// at most the root of (sum z^2a)(sum z^2b), and those stand in the tensors themselves.
inline double worst_difference(const mixstream::MomentTensor& one, const mixstream::MomentTensor& two) {
  const int m = one.layout().variables();
  double worst = 0.0;
  for (int a = 0; a < m; ++a)
    for (int b = a; b < m; ++b)
      for (int c = b; c < m; ++c)
        for (int d = c; d < m; ++d)
          for (int e = d; e < m; ++e)
            for (int f = e; f < m; ++f) {
              const auto sum = [&](const mixstream::SixIndices& s) {
                return one.sums()[one.packing().position(s)];
              };
              const double size = std::sqrt(sum({a, a, b, b, c, c}) * sum({d, d, e, e, f, f}));
              const double difference =
                  std::abs(sum({a, b, c, d, e, f}) - two.sums()[two.packing().position({a, b, c, d, e, f})]);
              if (difference > 0.0) worst = std::max(worst, size > 0.0 ? difference / size : 1.0);
            }
  return worst;
}

}  // namespace streams
