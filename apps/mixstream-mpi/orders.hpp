// What the leader tells all ranks to do; every rank, the leader's own part too, does it at once.
#pragma once

#include <optional>

#include "combine.hpp"
#include "part.hpp"
#include "ranks.hpp"

namespace mixstream {

enum class Order : std::uint32_t {
  work,     ///< files and shares
  count,    ///< ranks tell how many rows their segments have
  branch,   ///< begin a new branch
  read,     ///< read a round; ranks report
  combine,  ///< branches are added up, in the leader
  left,     ///< ranks tell what is left of their shares
  end
};

/// The leader's side. Each call takes part in what all ranks do, and must be made on rank 0 alone.
class Orders {
 public:
  Orders(Ranks& ranks, PartSettings settings) : ranks_(ranks), part_(std::move(settings)) {}

  void give_work(const Work& work, std::uint64_t source);
  std::vector<std::vector<std::uint64_t>> count();  ///< rows of the segments, by rank
  Done begin_branch(const Estimator& leader);
  std::vector<PartReport> read(const std::vector<RoundLimits>& limits);
  Outcome<Estimator> combine();  ///< the branches live on
  std::vector<Share> left();
  void end();

  const CombineCost& cost() const noexcept { return cost_; }

 private:
  Ranks& ranks_;
  Part part_;
  CombineCost cost_;
};

/// The other ranks' side: does what is ordered until the end.
void follow(Ranks& ranks, const PartSettings& settings);

}  // namespace mixstream
