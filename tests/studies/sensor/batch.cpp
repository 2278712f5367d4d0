// Batch fits of rows in a file, for the rivals' table: doubles (u, v, y) row by row, features 1, u, v.
//   sensor-batch mle FILE LAWS STAY VARIANCE COEFFICIENT...   maximum likelihood of the chain, from the truth
//   sensor-batch em FILE LAWS SEED                            i.i.d. EM from a random start
// Prints {"laws":[...]}, law after law.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>

#include "dense.hpp"
#include "yardstick.hpp"

namespace {

using yardstick::Laws;
using yardstick::Rows;

constexpr std::size_t d = 3;

Rows rows_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  Rows rows{d, {}, {}};
  for (double row[3]; file.read(reinterpret_cast<char*>(row), sizeof row);) {
    rows.x.insert(rows.x.end(), {1.0, row[0], row[1]});
    rows.y.push_back(row[2]);
  }
  return rows;
}

Laws from_truth(const Rows& rows, std::size_t k, double stay, double variance,
                std::vector<double> coefficients) {
  const double elsewhere = (1.0 - stay) / static_cast<double>(k - 1);
  Laws truth{std::move(coefficients), std::vector<double>(k * k, elsewhere),
             std::vector<double>(k, variance)};
  for (std::size_t i = 0; i < k; ++i) truth.transitions[i * k + i] = stay;
  const yardstick::Fit fit = yardstick::fit({.laws = k, .features = d}, truth, rows);
  if (!fit.converged) throw std::runtime_error("the yardstick did not reach its optimum");
  return fit.laws;
}

/// One round of EM; returns the log likelihood before it.
double improve(const Rows& rows, std::size_t k, std::vector<double>& beta, std::vector<double>& weights,
               double& variance) {
  std::vector<double> gram(k * d * d), right(k * d), mass(k), density(k);
  double total = 0.0, squares = 0.0;
  for (std::size_t t = 0; t < rows.count(); ++t) {
    const double* x = &rows.x[t * d];
    double sum = 0.0;
    for (std::size_t h = 0; h < k; ++h) {
      const double e = rows.y[t] - beta[h * d] * x[0] - beta[h * d + 1] * x[1] - beta[h * d + 2] * x[2];
      sum += density[h] = weights[h] * std::exp(-0.5 * e * e / variance) + 1e-300;
    }
    total += std::log(sum) - 0.5 * std::log(variance);
    for (std::size_t h = 0; h < k; ++h) {
      const double share = density[h] / sum;
      mass[h] += share;
      for (std::size_t a = 0; a < d; ++a) {
        right[h * d + a] += share * x[a] * rows.y[t];
        for (std::size_t b = 0; b < d; ++b) gram[(h * d + a) * d + b] += share * x[a] * x[b];
      }
      const double e = rows.y[t] - beta[h * d] * x[0] - beta[h * d + 1] * x[1] - beta[h * d + 2] * x[2];
      squares += share * e * e;
    }
  }
  for (std::size_t h = 0; h < k; ++h) {
    const auto law = static_cast<std::ptrdiff_t>(h * d);
    const auto square = static_cast<std::ptrdiff_t>(h * d * d);
    const std::vector<double> solution =
        yardstick::solved_by_elimination({gram.begin() + square, gram.begin() + square + d * d},
                                         {right.begin() + law, right.begin() + law + d});
    std::ranges::copy(solution, beta.begin() + law);
    weights[h] = mass[h] / static_cast<double>(rows.count());
  }
  variance = squares / static_cast<double>(rows.count());
  return total;
}

std::vector<double> by_em(const Rows& rows, std::size_t k, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> beta(k * d);
  for (double& coefficient : beta) coefficient = normal(random);
  std::vector<double> weights(k, 1.0 / static_cast<double>(k));
  double variance = 1.0;
  double before = -INFINITY;
  for (int round = 0; round < 5000; ++round) {
    const double now = improve(rows, k, beta, weights, variance);
    if (now - before < 1e-9 * std::abs(now)) break;
    before = now;
  }
  return beta;
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string what = count > 4 ? words[1] : "";
    if (what != "mle" && what != "em") throw std::invalid_argument("sensor-batch mle|em FILE LAWS ...");
    const Rows rows = rows_of(words[2]);
    const std::size_t k = std::stoul(words[3]);
    std::vector<double> coefficients;
    for (int i = 6; i < count; ++i) coefficients.push_back(std::stod(words[i]));
    const std::vector<double> laws =
        what == "em"
            ? by_em(rows, k, static_cast<unsigned>(std::stoul(words[4])))
            : from_truth(rows, k, std::stod(words[4]), std::stod(words[5]), coefficients).coefficients;
    for (std::size_t i = 0; i < laws.size(); ++i)
      fmt::print("{}{:.10g}", i == 0 ? "{\"laws\":[" : ",", laws[i]);
    fmt::print("]}}\n");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sensor-batch: {}\n", error.what());
    return 2;
  }
}
