#include "mixstream/doubts/look.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mixstream/doubts/held.hpp"
#include "mixstream/doubts/law_count.hpp"
#include "mixstream/doubts/look_search.hpp"
#include "mixstream/doubts/refit.hpp"
#include "mixstream/doubts/response.hpp"

namespace mixstream {
namespace {

constexpr std::size_t most_rounds = 6;
constexpr std::size_t fewest_rows = 100;       // below it nothing is looked for
constexpr double persistence_excluded = 0.05;  // its p, from which on gates are tested by single rows
constexpr double sign_of_a_law = 0.1;          // p times looks, below which a further law is searched for
// Of rows in stretches of 50: five stretches and more are expected in 5,120 rows, none at all in fewer than
// one stream of a hundred. Values that people wrote down repeat by preference for round ones, anywhere.
constexpr double largest_unseen_share = 0.05;
constexpr double coarse_step = 0.05;  // of the noise: memory alone repeats values that are rounded so

/// What a doubt explains beyond what any extension of its size would: BIC's measure, a row. Residuals that
/// are too seldom large are a sign, and no model: Student's t has none for them. It explains nothing.
double merit(const Doubt& doubt, double rows) {
  if (doubt.kind == DoubtKind::tails && doubt.size < 0.0) return 0.0;
  return doubt.explained - 0.5 * static_cast<double>(doubt.dof) * std::log(std::max(rows, 2.0)) / rows;
}

/// A whole look at a fit.
class Looking {
 public:
  Looking(const ModeModel& model, const ModeShape& shape, const DoubtRows& rows,
          const DoubtSettings& settings)
      : model_(model),
        shape_(shape),
        settings_(settings),
        units_(rows, shape.feature_count),
        stream_rows_(static_cast<double>(rows.rows)),
        all_rows_(rows.effective_rows > 0.0 ? rows.effective_rows : stream_rows_) {
    const std::vector<Term> terms = missing_terms(units_.names(), settings.most_terms);
    std::vector<PlacedRow> in_order = weighed_runs(rows);
    const bool has_runs = in_order.size() >= fewest_rows;
    const bool has_sample = rows.sample != nullptr && rows.sample->size() >= fewest_rows;
    if (has_runs) begin_order(in_order);
    if (has_sample && !(shape.remembers() && has_runs))
      begin_rows(single_rows(weighed_sample(*rows.sample, rows), in_order, stream_rows_), terms);
    else if (has_runs)
      begin_rows(std::move(in_order), terms);
    if (rows.sample != nullptr) find_step(rows);
    terms_ = terms;
    runs_ = rows.runs;
  }

  std::vector<Doubt> all() {
    if (!rows_) return {};
    log_densities_.clear();
    rows_->see([&](const Sight& sight, const RowBefore&, std::size_t) {
      log_densities_.push_back(sight.log_density);
    });
    Repeats repeats(model_, step_ / units_.response_scale());
    if (order_)
      order_->see([&](const Sight& sight, const RowBefore& before, std::size_t t) {
        repeats.watch(sight, before, order_->design().rows[t]);
      });
    looks_ = rows_->look_count() + (order_ ? order_->look_count() : 0) + 4;
    look_at_order();
    look_at_rows();
    look_at_laws();
    look_at_response(repeats);
    refit_strongest();
    heed_the_response();
    weigh_a_further_law();
    return ranked();
  }

 private:
  double level() const noexcept { return settings_.level / static_cast<double>(looks_); }

  /// Rows that are the stream count by their own weights, rows drawn from it as equal ones.
  std::vector<PlacedRow> weighed_runs(const DoubtRows& rows) const {
    if (rows.runs == nullptr) return {};
    std::vector<PlacedRow> placed = placed_runs(*rows.runs);
    const bool are_stream = static_cast<double>(placed.size()) >= stream_rows_;
    count_for(placed, are_stream ? all_rows_ : equal_rows(placed));
    return placed;
  }
  static std::vector<PlacedRow> weighed_sample(const RowTable& sample, const DoubtRows& rows) {
    std::vector<PlacedRow> placed = placed_sample(sample);
    count_for(placed, rows.sample_rows > 0.0 ? rows.sample_rows : equal_rows(placed));
    return placed;
  }
  void begin_order(const std::vector<PlacedRow>& placed) {
    HeldDesign design = design_of(placed, units_, {}, shape_);
    order_.emplace(model_, shape_, units_, std::move(design), Concern::order, all_rows_);
  }
  void begin_rows(std::vector<PlacedRow> placed, const std::vector<Term>& terms) {
    HeldDesign design = design_of(std::move(placed), units_, terms, shape_);
    rows_.emplace(model_, shape_, units_, std::move(design), Concern::rows, all_rows_);
  }
  void find_step(const DoubtRows& rows) {
    for (const double response : rows.sample->responses) responses_.push_back(units_.response(response));
    std::ranges::sort(responses_);
    step_ = rounding_step(responses_);
  }

  void run(LookSearch& search, bool dependent, bool gates_by_stretches) {
    search.test(dependent, gates_by_stretches);
    for (LookFamily& family : search.families()) family.doubt.p = family.doubt.adjusted_p;
    for (std::size_t round = 0; round < most_rounds && search.take_strongest(level()); ++round)
      search.test(dependent, gates_by_stretches);
  }

  void look_at_order() {
    if (!order_) return;
    run(*order_, false, false);
    for (const LookFamily& family : order_->families()) {
      if (family.doubt.kind == DoubtKind::persistence) persistence_p_ = family.doubt.p;
      const bool of_order =
          family.doubt.kind == DoubtKind::persistence || family.doubt.kind == DoubtKind::memory;
      dependent_ |= of_order && family.doubt.raised;
      remembers_ |= family.doubt.kind == DoubtKind::memory && family.doubt.raised;
    }
  }

  /// Where rows depend on each other the runs decide, by stretches.
  void look_at_rows() {
    const bool unsure = shape_.modes == Modes::independent && persistence_p_ < persistence_excluded;
    if ((dependent_ || unsure) && order_ && !shape_.remembers()) {
      std::vector<PlacedRow> in_order = order_->design().rows;
      LookSearch by_runs(model_, shape_, units_, design_of(std::move(in_order), units_, terms_, shape_),
                         Concern::rows, all_rows_);
      by_runs.see({});
      run(by_runs, dependent_, true);
      run(*rows_, false, false);
      keep_what_both_say(by_runs);
      return;
    }
    run(*rows_, dependent_, unsure);
  }

  /// A doubt of single rows stands where the stretches of the runs raise it alone, too.
  void keep_what_both_say(LookSearch& by_runs) {
    for (LookFamily& family : rows_->families()) {
      if (!dependent_ && family.doubt.kind != DoubtKind::gate) continue;
      const auto same = std::ranges::find_if(by_runs.families(), [&](const LookFamily& other) {
        return other.doubt.kind == family.doubt.kind && other.doubt.term == family.doubt.term;
      });
      const double p = same == by_runs.families().end() ? 1.0 : same->doubt.p;
      family.doubt.p = std::max(family.doubt.p, p);
      family.doubt.adjusted_p = std::max(family.doubt.adjusted_p, p);
      family.doubt.raised = family.doubt.raised && family.doubt.p < level();
    }
  }

  /// A law that rows miss shows in their residuals, too: without any sign of that none is searched for.
  bool seems_wrong() {
    return std::ranges::any_of(rows_->families(), [&](const LookFamily& family) {
      return family.doubt.p * static_cast<double>(looks_) < sign_of_a_law;
    });
  }
  static Doubt untested(DoubtKind kind) {
    Doubt doubt;
    doubt.kind = kind;
    return doubt;
  }

  /// The model with the weights that its gate gives the laws over the rows, in place of those at one point.
  ModeModel with_seen_weights() const {
    ModeModel seen = model_;
    if (shape_.modes != Modes::gated) return seen;
    std::vector<double> here(shape_.component_count);
    std::ranges::fill(seen.laws.weights, 0.0);
    for (const PlacedRow& placed : rows_->design().rows) {
      open_gate(model_, shape_, placed.row.features, here);
      for (std::size_t h = 0; h < here.size(); ++h)
        seen.laws.weights[h] += placed.row.weight * here[h] / rows_->design().weight;
    }
    return seen;
  }

  void look_at_laws() {
    DenseMatrix covariance = rows_->projection().covariance();
    const double held = rows_->design().weight;
    const double all = std::max(all_rows_, held);
    for (double& value : covariance.values) value *= held / all;
    const ModeModel seen = with_seen_weights();
    if (shape_.component_count > 1)
      others_.push_back(too_many_laws(seen, shape_, covariance, rows_->design().features, all));
    if (!settings_.few_laws || shape_.noise == NoiseModel::known) return;
    Doubt few = untested(DoubtKind::too_few_laws);
    if (seems_wrong()) {
      few = too_few_laws(seen, shape_, rows_->design().rows, log_densities_, rows_->projection().own_gain(),
                         rows_->design().features);
      few.raised = few.p < level();
    }
    if (!few.raised)
      few.shift = std::max(few.shift, shift_if_split(model_, shape_, rows_->design().rows, log_densities_,
                                                     rows_->design().features));
    others_.push_back(few);
  }

  /// Whether so large a share of rows in stretches must show in the runs: always where these are the stream.
  bool shows_in_runs(double share) const noexcept {
    const bool all = static_cast<double>(order_->design().rows.size()) >= stream_rows_;
    return all || share > largest_unseen_share;
  }
  void look_at_response(const Repeats& repeats);
  void weigh_a_further_law();
  void withdraw_rows();
  void heed_the_response();
  void look_again(const Refitted& refitted, const Doubt& strongest);
  void refit_strongest();
  std::vector<Doubt> ranked();

  const ModeModel& model_;
  const ModeShape& shape_;
  const DoubtSettings& settings_;
  RawUnits units_;
  double stream_rows_;  // counted
  double all_rows_;     // by their weights
  std::vector<Term> terms_;
  const Runs* runs_ = nullptr;
  std::optional<LookSearch> rows_;
  std::optional<LookSearch> order_;
  std::vector<double> log_densities_;
  std::vector<double> responses_;  // of the sample, raw, sorted
  double step_ = 0.0;              // of rounding, raw
  std::size_t looks_ = 1;
  double persistence_p_ = 1.0;
  bool dependent_ = false;
  bool remembers_ = false;
  std::vector<Doubt> others_;
};

void Looking::look_at_response(const Repeats& repeats) {
  const double least_variance = *std::ranges::min_element(model_.laws.noise_variances);
  const double noise = std::sqrt(least_variance) * units_.response_scale();
  Doubt rounding;
  rounding.kind = DoubtKind::rounding;
  rounding.size = step_;
  // Rounding adds step^2 / 12 to the variance: what is left is the noise itself.
  const double own = std::sqrt(std::max(noise * noise - step_ * step_ / 12.0, 1e-4 * noise * noise));
  rounding.statistic = step_ / own;
  rounding.raised = step_ > own;
  rounding.p = rounding.adjusted_p = rounding.raised ? 0.0 : 1.0;
  if (rounding.raised && shape_.is_plain())
    rounding.refitted =
        refit_rounding(model_, shape_, rows_->design(), step_ / units_.response_scale(), rounding);
  others_.push_back(rounding);

  Doubt stuck;
  stuck.kind = DoubtKind::stuck;
  if (!rounding.raised && !(remembers_ && step_ > coarse_step * noise)) {
    EqualPairs pairs = equal_pairs(responses_);
    const double by_runs = order_ ? repeats.log_p() : 0.0;
    const bool runs_say_so = by_runs < std::log(level());
    if (order_ && !runs_say_so && shows_in_runs(pairs.share)) pairs = {};
    const double log_p = std::min(0.0, std::log(2.0) + std::min(by_runs, pairs.log_p));
    stuck.p = stuck.adjusted_p = std::exp(log_p);
    stuck.size = runs_say_so ? repeats.share() : pairs.share;
    stuck.statistic =
        -2.0 * log_p;  // beyond 1e-300, too: values that repeat must not lose against what they bring
    stuck.raised = stuck.p < level();
    if (order_ && !repeats.pull().empty()) {
      const auto laws = shape_.who_at();
      std::vector<double> moves(shape_.parameters()), none(shape_.component_count);
      const DenseMatrix& inverse = order_->projection().covariance();
      for (std::size_t q = 0; q < moves.size(); ++q) {
        for (std::size_t e = 0; e < moves.size(); ++e) moves[q] += inverse(q, e) * repeats.pull()[e];
      }
      stuck.shift = law_shift(std::span(moves).first(laws), none, model_, order_->design().features);
    }
    stuck.explained = 0.5 * stuck.statistic / static_cast<double>(rows_->design().rows.size());
  }
  others_.push_back(stuck);
}

/// Sizes by refits, strongest doubt first; then what the strongest refit does not explain stays raised.
void Looking::refit_strongest() {
  std::vector<std::pair<LookSearch*, Doubt*>> raised;
  for (std::optional<LookSearch>* search : {&order_, &rows_}) {
    if (!*search) continue;
    for (LookFamily& family : (*search)->families()) {
      if (family.doubt.raised) raised.emplace_back(&**search, &family.doubt);
    }
  }
  std::ranges::sort(raised, std::ranges::greater{}, [](const auto& pair) { return pair.second->explained; });
  std::optional<Refitted> best;
  const Doubt* told = nullptr;
  double most = -1e300;
  for (std::size_t i = 0, refits = 0; i < raised.size() && refits < settings_.most_refits; ++i) {
    Doubt& doubt = *raised[i].second;
    const HeldDesign& design = raised[i].first->design();
    std::optional<Refitted> refitted;
    if (doubt.kind == DoubtKind::growing_noise)
      refits += refit_spread(model_, shape_, design, doubt) ? 1 : 0;
    else if (doubt.kind == DoubtKind::skewed_noise)
      refits += refit_skew(model_, shape_, design, units_, doubt) ? 1 : 0;
    else if ((refitted = refit(model_, shape_, design, units_, doubt)))
      ++refits;
    if (merit(doubt, design.weight) <= most) continue;
    most = merit(doubt, design.weight);
    best = std::move(refitted);
    told = &doubt;
  }
  if (best && raised.size() > 1) look_again(*best, *told);
}

/// The doubts that are raised beside the strongest, asked again at the model that has it.
void Looking::look_again(const Refitted& refitted, const Doubt& strongest) {
  const RawUnits units = refitted.more.empty() ? units_ : units_.with(refitted.more);
  const std::vector<Term> terms = missing_terms(units_.names(), settings_.most_terms);
  for (const Concern concern : {Concern::rows, Concern::order}) {
    std::optional<LookSearch>& search = concern == Concern::rows ? rows_ : order_;
    std::vector<PlacedRow> placed = refitted.rows->placed();
    const bool in_order = std::ranges::any_of(placed, [](const PlacedRow& row) { return row.steps > 0; });
    if (!search || (concern == Concern::order && !in_order)) continue;
    LookSearch again(refitted.model, refitted.shape, units,
                     design_of(std::move(placed), units,
                               concern == Concern::rows ? terms : std::vector<Term>{}, refitted.shape),
                     concern, all_rows_);
    again.see({});
    again.test(false, false);
    for (LookFamily& family : search->families()) {
      if (!family.doubt.raised || &family.doubt == &strongest) continue;
      const auto same = std::ranges::find_if(again.families(), [&](const LookFamily& other) {
        return other.doubt.kind == family.doubt.kind && other.doubt.term == family.doubt.term;
      });
      family.doubt.adjusted_p = same == again.families().end() ? 1.0 : same->doubt.adjusted_p;
      family.doubt.raised = family.doubt.adjusted_p < level();
    }
  }
}

/// A further law explains something of whatever is wrong, and where it is what is wrong everything else seems
/// so. It is raised where it explains more than any cause with a name, and then alone beside what concerns
/// order.
void Looking::weigh_a_further_law() {
  const auto few = std::ranges::find(others_, DoubtKind::too_few_laws, &Doubt::kind);
  if (few == others_.end() || !few->raised) return;
  const double rows = rows_->design().weight;
  double most = -1.0;
  for (std::optional<LookSearch>* search : {&order_, &rows_}) {
    if (!*search) continue;
    for (const LookFamily& family : (*search)->families()) {
      if (family.doubt.raised) most = std::max(most, merit(family.doubt, rows));
    }
  }
  for (const Doubt& other : others_) {
    if (other.raised && &other != &*few)
      most = std::max(most, other.kind == DoubtKind::rounding ? 1e300 : merit(other, rows));
  }
  if (merit(*few, rows) < most) {
    few->raised = false;
    few->adjusted_p = 1.0;
    return;
  }
  withdraw_rows();
}

/// Where laws were looked for in the wrong place nothing else about single rows is said.
void Looking::withdraw_rows() {
  for (LookFamily& family : rows_->families()) {
    if (family.doubt.raised) family.doubt.adjusted_p = 1.0;
    family.doubt.raised = false;
  }
}

/// A response that is late, or rounded until it is no number any more, makes everything else seem wrong.
void Looking::heed_the_response() {
  const auto rounding = std::ranges::find(others_, DoubtKind::rounding, &Doubt::kind);
  bool wrong_place = rounding != others_.end() && rounding->raised;
  double most = -1e300;
  const double rows = rows_->design().weight;
  for (const LookFamily& family : rows_->families()) {
    if (family.doubt.raised) most = std::max(most, merit(family.doubt, rows));
  }
  for (std::size_t f = 0; order_ && f < order_->families().size(); ++f) {
    const Doubt& doubt = order_->families()[f].doubt;
    if (doubt.kind != DoubtKind::delay || !doubt.raised || merit(doubt, rows) <= most) continue;
    wrong_place = true;
    for (Doubt& other : others_) {  // of features that come late nobody can tell how many laws there are
      if (other.kind != DoubtKind::too_many_laws) continue;
      other.raised = false;
      other.adjusted_p = 1.0;
    }
  }
  if (wrong_place) withdraw_rows();
}

/// Facts about rows and laws first, then by what they explain; those not raised by p.
std::vector<Doubt> Looking::ranked() {
  std::vector<Doubt> doubts;
  for (std::optional<LookSearch>* search : {&rows_, &order_}) {
    if (!*search) continue;
    for (const LookFamily& family : (*search)->families()) doubts.push_back(family.doubt);
  }
  doubts.insert(doubts.end(), others_.begin(), others_.end());
  const double rows = rows_->design().weight;
  const auto is_fact = [](const Doubt& doubt) {
    return doubt.kind == DoubtKind::rounding || doubt.kind == DoubtKind::too_many_laws;
  };
  std::ranges::stable_sort(doubts, [&](const Doubt& one, const Doubt& other) {
    if (one.raised != other.raised) return one.raised;
    if (!one.raised) return one.p < other.p;
    if (is_fact(one) != is_fact(other)) return is_fact(one);
    return merit(one, rows) > merit(other, rows);
  });
  return doubts;
}

}  // namespace

std::vector<Doubt> look_for_doubts(const ModeModel& model, const ModeShape& shape, const DoubtRows& rows,
                                   const DoubtSettings& settings) {
  const bool fits = (rows.sample == nullptr || rows.sample->feature_count == shape.feature_count) &&
                    (rows.runs == nullptr || rows.runs->state().feature_count == shape.feature_count) &&
                    model.laws.component_count() == shape.component_count;
  if (!fits) throw std::invalid_argument("the held rows have another shape than the model");
  return Looking(model, shape, rows, settings).all();
}

}  // namespace mixstream
