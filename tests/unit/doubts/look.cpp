// Looking as a whole: nothing where nothing is wrong, the planted fault where there is one.
#include "mixstream/doubts/look.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "mixstream/core/random.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/likelihood/em.hpp"

using namespace mixstream;

namespace {

/// Two laws in 1, u, v with noise 0.5; a fault may change y.
struct Held {
  RowTable table;
  Runs runs{3, 5120};
  Layout layout{3, 0};
  ModeShape shape{2, 3, Modes::independent, {}, NoiseModel::shared, {}};
  ModeModel model;
  DoubtRows rows;

  using Fault = std::function<double(double y, double u, double v, std::size_t law, double z)>;
  explicit Held(const Fault& fault, std::size_t count = 5000, std::uint64_t seed = 11) {
    Random random(seed);
    table.feature_count = 3;
    for (std::size_t t = 0; t < count; ++t) {
      const double x[] = {1.0, random.uniform(-1, 1), random.uniform(-1, 1)};
      const std::size_t law = random.uniform() < 0.6 ? 0 : 1;
      const double z = random.normal();
      const double y = law == 0 ? 1.0 + 2.0 * x[1] - x[2] : -1.0 - x[1] + 1.5 * x[2];
      table.add({x, fault(y, x[1], x[2], law, z)});
      runs.add(table.row(t), {0, t == 0 ? 0U : 1U});
    }
    Mixture start{3, {0.6, 0.4}, {1, 2, -1, -1, -1, 1.5}, {0.25, 0.25}};
    model =
        model_from(fit_em(table, start, {.max_iterations = 3000, .stop_below_gain = 1e-12}).mixture, shape);
    rows = {&table, &runs, count, &layout, nullptr, {"1", "u", "v"}};
  }

  std::vector<Doubt> look() const { return look_for_doubts(model, shape, rows); }
};

double plain(double y, double, double, std::size_t, double z) {
  return y + 0.5 * z;
}

std::size_t raised(const std::vector<Doubt>& doubts) {
  return static_cast<std::size_t>(std::ranges::count_if(doubts, &Doubt::raised));
}

}  // namespace

TEST_CASE("a right model raises no doubt, and everything looked for is told") {
  const auto doubts = Held(plain).look();
  CHECK(raised(doubts) == 0);
  for (std::size_t kind = 0; kind < doubt_kind_count; ++kind) {
    INFO(name_of(static_cast<DoubtKind>(kind)));
    CHECK(std::ranges::count(doubts, static_cast<DoubtKind>(kind), &Doubt::kind) > 0);
  }
  for (const Doubt& doubt : doubts) {
    CHECK(std::isfinite(doubt.statistic));
    CHECK(doubt.p >= 0.0);
    CHECK(doubt.p <= 1.0);
  }
}

TEST_CASE("a curved law is named with its coefficient") {
  const auto all = Held([](double y, double u, double, std::size_t, double z) {
                     return y + 0.6 * u * u + 0.5 * z;
                   }).look();
  CHECK(all.front().kind == DoubtKind::missing_term);
  CHECK(all.front().term == "u^2");
  CHECK(all.front().size == doctest::Approx(0.6).epsilon(0.15));
  CHECK(all.front().shift == doctest::Approx(0.6 * std::sqrt(4.0 / 45.0) / 0.5).epsilon(0.15));
  CHECK(raised(all) == 1);
  const auto one = Held([](double y, double u, double, std::size_t law, double z) {
                     return y + (law == 1 ? 0.8 * u * u : 0.0) + 0.5 * z;
                   }).look();
  CHECK(one.front().kind == DoubtKind::missing_term_of_one_law);
  CHECK(one.front().law == 1);
  CHECK(one.front().size == doctest::Approx(0.8).epsilon(0.2));
}

TEST_CASE("noise that differs between laws is sized by a refit") {
  const auto doubts = Held([](double y, double, double, std::size_t law, double z) {
                        return y + (law == 0 ? 1.0 : 0.5) * z;
                      }).look();
  CHECK(doubts.front().kind == DoubtKind::unequal_noise);
  CHECK(doubts.front().refitted);
  CHECK(doubts.front().size == doctest::Approx(2.0).epsilon(0.1));
}

TEST_CASE("noise that follows a column is sized by a refit") {
  const auto doubts = Held([](double y, double, double v, std::size_t, double z) {
                        return y + 0.5 * std::exp(0.5 * v) * z;
                      }).look();
  CHECK(doubts.front().kind == DoubtKind::growing_noise);
  CHECK(doubts.front().term == "v");
  CHECK(doubts.front().size == doctest::Approx(0.5).epsilon(0.15));
}

TEST_CASE("noise that remembers is named by the runs, and not looked for without them") {
  double last = 0.0;
  Held held([&](double y, double, double, std::size_t, double z) {
    last = 0.7 * last + std::sqrt(1.0 - 0.49) * z;
    return y + 0.5 * last;
  });
  const auto doubts = held.look();
  CHECK(doubts.front().kind == DoubtKind::memory);
  CHECK(doubts.front().size == doctest::Approx(0.7).epsilon(0.1));
  held.rows.runs = nullptr;
  CHECK(std::ranges::count(held.look(), DoubtKind::memory, &Doubt::kind) == 0);
}

TEST_CASE("a coarse step is a fact, a fine one is none") {
  const auto coarse = Held([](double y, double, double, std::size_t, double z) {
                        return std::round((y + 0.5 * z) / 1.5) * 1.5;
                      }).look();
  CHECK(coarse.front().kind == DoubtKind::rounding);
  CHECK(coarse.front().raised);
  CHECK(coarse.front().size == doctest::Approx(1.5));
  CHECK(raised(Held([](double y, double, double, std::size_t, double z) {
                 return std::round((y + 0.5 * z) * 10) / 10;
               }).look()) == 0);
}

TEST_CASE("units are the user's: a pilot changes no doubt but its coordinates") {
  Held held([](double y, double u, double, std::size_t, double z) { return y + 0.6 * u * u + 0.5 * z; });
  const auto raw = held.look();
  const Pilot pilot{{0.0, 7.0, -3.0, 50.0}, {1.0, 4.0, 0.5, 2.0}};  // of 1, u, v, y
  held.rows.pilot = &pilot;  // the rows now stand for u' = 7 + 4 u, v' = -3 + v / 2, y' = 50 + 2 y
  const auto moved = held.look();
  REQUIRE(moved.size() == raw.size());
  CHECK(moved.front().term == "u^2");
  CHECK(moved.front().size == doctest::Approx(raw.front().size * 2.0 / 16.0).epsilon(1e-5));
  CHECK(moved.front().shift == doctest::Approx(raw.front().shift).epsilon(1e-5));
  CHECK(moved.front().statistic == doctest::Approx(raw.front().statistic).epsilon(1e-5));
}

TEST_CASE("tails, skew, a gate, laws that last, a late response and a stuck one are named and sized") {
  Random random(21);
  const auto heavy = Held([&](double y, double, double, std::size_t, double z) {
                       double chi = 0.0;
                       for (int i = 0; i < 4; ++i) chi += std::pow(random.normal(), 2);
                       return y + 0.5 * z / std::sqrt(chi / 4.0);
                     }).look();
  CHECK(heavy.front().kind == DoubtKind::tails);
  CHECK(heavy.front().size == doctest::Approx(0.25).epsilon(0.2));
  const auto skewed = Held([&](double y, double, double, std::size_t, double z) {
                        return y + 0.5 * (0.5 * (z * z + std::pow(random.normal(), 2)) - 1.0);  // exponential
                      }).look();
  CHECK(skewed.front().kind == DoubtKind::skewed_noise);
  CHECK(skewed.front().size == doctest::Approx(2.0).epsilon(0.25));
  const auto turned =
      Held([&](double y, double, double, std::size_t, double z) {  // chi-square of 4, downwards
        double chi = z * z;
        for (int i = 0; i < 3; ++i) chi += std::pow(random.normal(), 2);
        return y - 0.5 * (chi - 4.0) / std::sqrt(8.0);
      })
          .look();
  CHECK(turned.front().kind == DoubtKind::skewed_noise);
  CHECK(turned.front().size == doctest::Approx(-std::sqrt(2.0)).epsilon(0.25));

  // The law follows u: odds change by exp(2 * 1.5) from u = -1 to 1. Laws as in Held.
  const auto says = [](bool first, double u, double v) {
    return first ? 1.0 + 2.0 * u - v : -1.0 - u + 1.5 * v;
  };
  const auto gated = Held([&](double, double u, double v, std::size_t, double z) {
                       return says(random.uniform() < 1.0 / (1.0 + std::exp(-1.5 * u)), u, v) + 0.5 * z;
                     }).look();
  CHECK(gated.front().kind == DoubtKind::gate);
  CHECK(gated.front().term == "u");
  CHECK(gated.front().size == doctest::Approx(1.5).epsilon(0.15));
  bool first = true;
  const auto lasting = Held([&](double, double u, double v, std::size_t, double z) {
                         if (random.uniform() < 0.1) first = !first;
                         return says(first, u, v) + 0.5 * z;
                       }).look();
  CHECK(lasting.front().kind == DoubtKind::persistence);
  CHECK(lasting.front().size == doctest::Approx(10.0).epsilon(0.15));
  double before = 0.0;
  const auto late = Held([&](double y, double, double, std::size_t, double z) {
                      return std::exchange(before, y) + 0.5 * z;
                    }).look();
  CHECK(late.front().kind == DoubtKind::delay);
  CHECK(late.front().size == 1.0);
  double held = 0.0;
  std::size_t count = 0;
  const auto stuck = Held([&](double y, double, double, std::size_t, double z) {
                       if (count++ % 500 >= 25 || count % 500 == 1) held = y + 0.5 * z;
                       return held;
                     }).look();
  CHECK(stuck.front().kind == DoubtKind::stuck);
  CHECK(stuck.front().size == doctest::Approx(0.05).epsilon(0.1));
}

TEST_CASE("a strong curve of one law is not told as one of all") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto doubts = Held([](double y, double u, double, std::size_t law,
                                double z) { return y + (law == 0 ? 2.5 * u * u : 0.0) + 0.5 * z; },
                             5000, seed)
                            .look();
    CHECK(doubts.front().kind == DoubtKind::missing_term_of_one_law);
    CHECK(doubts.front().law == 0);
    CHECK(doubts.front().size == doctest::Approx(2.5).epsilon(0.1));
  }
}

TEST_CASE("rows of sample and runs count once, and the sample alone where rows cannot be told apart") {
  Random random(9);
  std::vector<double> x;
  for (int i = 0; i < 300; ++i) x.push_back(random.normal());
  const auto placed = [&](std::size_t from, std::size_t to, double step) {
    std::vector<PlacedRow> rows;
    for (std::size_t i = from; i < to; ++i)
      rows.push_back(
          {{std::span(x).subspan(i, 1), step > 0.0 ? step : x[i] + 1.0}, 0, from > 0 && i > from ? 1U : 0U});
    return rows;
  };
  // 0 .. 199 and 150 .. 299 of 300 rows: 50 are in both, where chance lets expect 100.
  const auto rows = single_rows(placed(0, 200, 0.0), placed(150, 300, 0.0), 300.0);
  CHECK(rows.size() == 300);
  CHECK(std::ranges::all_of(rows, [](const PlacedRow& row) { return row.steps == 0; }));
  std::ranges::fill(x, 1.0);
  CHECK(single_rows(placed(0, 200, 1.0), placed(150, 300, 1.0), 1e6).size() == 200);
}

TEST_CASE("two laws that coincide are told, and a law without rows") {
  Held held(plain);
  held.shape.component_count = 3;
  Mixture three{3, {0.6, 0.2, 0.2}, {1, 2, -1, -1, -1, 1.5, -1.02, -1, 1.5}, {0.25, 0.25, 0.25}};
  held.model = model_from(fit_em(held.table, three, {.max_iterations = 300}).mixture, held.shape);
  const auto doubts = held.look();
  CHECK(doubts.front().kind == DoubtKind::too_many_laws);
  CHECK(doubts.front().raised);
}

TEST_CASE("a law too few is told with its weight") {
  Random random(77);
  Held held([&](double y, double, double, std::size_t, double z) {
    return (random.uniform() < 0.1 ? 6.0 : y) + 0.5 * z;
  });
  const auto doubts = held.look();
  CHECK(doubts.front().kind == DoubtKind::too_few_laws);
  CHECK(doubts.front().size == doctest::Approx(0.1).epsilon(0.15));
}

TEST_CASE("two close laws fitted as one: a law too few, and not residuals that are seldom large") {
  Held held([](double, double u, double, std::size_t law, double z) {
    return (law == 0 ? 0.45 : -0.45) - 0.3 * u + 0.3 * z;
  });
  held.shape.component_count = 1;
  held.model = model_from(fit_em(held.table, Mixture{3, {1.0}, {0, 0, 0}, {1.0}}, {}).mixture, held.shape);
  CHECK(held.look().front().kind == DoubtKind::too_few_laws);
}

TEST_CASE(
    "noise that is wider in one law may be two laws: in most streams how far they are off is left open") {
  int open = 0;
  for (std::uint64_t seed = 31; seed < 41; ++seed) {
    Random random(seed);
    Held held(
        [&](double y, double, double, std::size_t law, double z) {
          const double apart = random.uniform() < 0.5 ? 0.5 : -0.5;
          return y + (law == 0 ? apart : 0.0) + 0.5 * z;
        },
        1000);
    held.shape.noise = NoiseModel::per_component;
    held.model = model_from(
        fit_em(held.table, held.model.laws, {.noise = NoiseModel::per_component, .max_iterations = 3000})
            .mixture,
        held.shape);
    const auto doubts = held.look();
    const auto few = std::ranges::find(doubts, DoubtKind::too_few_laws, &Doubt::kind);
    REQUIRE(few != doubts.end());
    open += few->raised || few->shift > 0.4 ? 1 : 0;
  }
  CHECK(open > 5);
}

TEST_CASE("one law, few rows and rows of another shape are no trouble") {
  Held held(plain, 60);
  CHECK(held.look().empty());
  Held more(plain, 1000);
  more.shape.component_count = 1;
  more.model = model_from(fit_em(more.table, Mixture{3, {1.0}, {0, 0, 0}, {1.0}}, {}).mixture, more.shape);
  CHECK(more.look().front().raised);
  more.shape.feature_count = 2;
  CHECK_THROWS_AS(more.look(), std::invalid_argument);
}

TEST_CASE(
    "while the held rows are the stream a weight of 1.5 is a row and a half, in every doubt about rows and "
    "order") {
  const Held once(plain, 3000);
  Held heavier = once;
  heavier.rows.sample = &heavier.table;
  for (double& weight : heavier.table.weights) weight = 1.5;
  heavier.runs = Runs(3, 5120);
  for (std::size_t t = 0; t < heavier.table.size(); ++t)
    heavier.runs.add(heavier.table.row(t), {0, t == 0 ? 0U : 1U});
  heavier.rows.runs = &heavier.runs;
  heavier.rows.layout = &heavier.layout;
  heavier.rows.effective_rows = heavier.rows.sample_rows = 4500.0;
  const auto light = once.look();
  const auto heavy = heavier.look();
  std::size_t compared = 0;
  for (const Doubt& one : light) {
    for (const Doubt& other : heavy) {
      if (one.kind != other.kind || one.term != other.term || one.dof != other.dof || one.law != other.law)
        continue;
      CHECK_FALSE(other.raised);
      if (one.kind == DoubtKind::delay && (one.size > 0.0) != (other.size > 0.0)) continue;
      if (one.kind == DoubtKind::rounding || one.kind == DoubtKind::stuck ||
          one.kind == DoubtKind::too_few_laws || one.kind == DoubtKind::too_many_laws)
        continue;
      CAPTURE(std::string(name_of(one.kind)));
      ++compared;
      CHECK(other.statistic == doctest::Approx(1.5 * one.statistic).epsilon(1e-6));
      CHECK(other.shift == doctest::Approx(one.shift).epsilon(1e-6));
      CHECK(other.prediction == doctest::Approx(one.prediction).epsilon(1e-6));
      CHECK(other.shift_in_errors == doctest::Approx(std::sqrt(1.5) * one.shift_in_errors).epsilon(1e-6));
    }
  }
  CHECK(compared >= 4);
}

TEST_CASE("predictions move with a gate that laws hardly notice, and with a term that every law lacks") {
  Random random(5);
  Held gated([&](double, double u, double, std::size_t, double z) {
    const bool first = random.uniform() < 1.0 / (1.0 + std::exp(-1.5 * u));
    return (first ? 3.0 : -3.0) + 0.5 * z;
  });
  const auto doubts = gated.look();
  CHECK(doubts.front().kind == DoubtKind::gate);
  CHECK(doubts.front().shift < 0.05);
  // P = 0.5 + 0.33 u nearly, laws 6 apart: 6 * 0.33 * rms(u), in the sd of a response that is +-3 and noise
  CHECK(doubts.front().prediction ==
        doctest::Approx(6.0 * 0.33 * std::sqrt(1.0 / 3.0) / std::sqrt(9.25)).epsilon(0.15));
  const auto curved = Held([](double y, double u, double, std::size_t, double z) {
                        return y + 0.6 * u * u + 0.5 * z;
                      }).look();
  // The laws differ by 2 + 3 u - 2.5 v, with weights 0.6 and 0.4.
  const double spread = 0.24 * (4.0 + 9.0 / 3.0 + 6.25 / 3.0);
  CHECK(curved.front().prediction ==
        doctest::Approx(0.6 * std::sqrt(4.0 / 45.0) / std::sqrt(0.25 + spread)).epsilon(0.15));
}
