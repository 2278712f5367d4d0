#include "orders.hpp"

#include <utility>

namespace mixstream {
namespace {

ByteWriter begun(Order order) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(order));
  return out;
}

void send(Ranks& ranks, ByteWriter out) {
  Bytes bytes = std::move(out).take();
  ranks.broadcast(bytes);
}

RoundLimits limits_of(ByteReader in, int rank) {
  RoundLimits limits;
  for (int r = 0; r <= rank; ++r) {
    limits.rows = in.take<std::uint64_t>();
    limits.bytes = in.take<std::uint64_t>();
  }
  return limits;
}

Bytes bytes_of(const Share& share) {
  ByteWriter out;
  put(out, share);
  return std::move(out).take();
}

Bytes bytes_of(const std::vector<std::uint64_t>& counts) {
  ByteWriter out;
  for (const std::uint64_t count : counts) out.put(count);
  return std::move(out).take();
}

/// One order, done by a rank that follows.
void obey(Order order, ByteReader in, Ranks& ranks, Part& part) {
  switch (order) {
    case Order::work: {
      const auto source = in.take<std::uint64_t>();
      part.take_work(take_work(in), static_cast<std::size_t>(ranks.rank()), source);
      break;
    }
    case Order::count:
      ranks.gather(bytes_of(part.count()));
      break;
    case Order::branch:
      if (const Done begun = part.begin_branch(in.take_bytes(in.left())); !begun)
        ranks.abandon("rank " + std::to_string(ranks.rank()) + ": " + begun.refusal().text);
      break;
    case Order::read:
      ranks.gather(part.read(limits_of(in, ranks.rank())).encode());
      break;
    case Order::combine: {
      CombineCost cost;
      [[maybe_unused]] const auto passed_on = combine(ranks, part.branch(), cost);
      break;
    }
    case Order::left:
      ranks.gather(bytes_of(part.left()));
      break;
    case Order::end:
      break;
  }
}

}  // namespace

void Orders::give_work(const Work& work, std::uint64_t source) {
  ByteWriter out = begun(Order::work);
  out.put(source);
  put(out, work);
  send(ranks_, std::move(out));
  part_.take_work(work, 0, source);
}

std::vector<std::vector<std::uint64_t>> Orders::count() {
  send(ranks_, begun(Order::count));
  std::vector<std::vector<std::uint64_t>> counts;
  for (const Bytes& bytes : ranks_.gather(bytes_of(part_.count()))) {
    ByteReader in(bytes);
    counts.emplace_back();
    while (in.ok() && in.left() > 0) counts.back().push_back(in.take<std::uint64_t>());
  }
  return counts;
}

Done Orders::begin_branch(const Estimator& leader) {
  const Outcome<Estimator> branch = leader.branch();
  if (!branch) return branch.refusal();
  const Bytes bytes = branch.value().encode();
  ByteWriter out = begun(Order::branch);
  out.put(std::span<const std::byte>(bytes));
  send(ranks_, std::move(out));
  return part_.begin_branch(bytes);
}

std::vector<PartReport> Orders::read(const std::vector<RoundLimits>& limits) {
  ByteWriter out = begun(Order::read);
  for (const RoundLimits& limit : limits) {
    out.put(limit.rows);
    out.put(limit.bytes);
  }
  send(ranks_, std::move(out));
  std::vector<PartReport> reports;
  for (const Bytes& bytes : ranks_.gather(part_.read(limits[0]).encode()))
    reports.push_back(PartReport::decode(bytes));
  return reports;
}

Outcome<Estimator> Orders::combine() {
  send(ranks_, begun(Order::combine));
  return mixstream::combine(ranks_, part_.branch(), cost_);
}

std::vector<Share> Orders::left() {
  send(ranks_, begun(Order::left));
  std::vector<Share> shares;
  for (const Bytes& bytes : ranks_.gather(bytes_of(part_.left()))) {
    ByteReader in(bytes);
    shares.push_back(take_share(in));
  }
  return shares;
}

void Orders::end() {
  send(ranks_, begun(Order::end));
}

void follow(Ranks& ranks, const PartSettings& settings) {
  Part part(settings);
  for (Order order = Order::work; order != Order::end;) {
    Bytes bytes;
    ranks.broadcast(bytes);
    ByteReader in(bytes);
    order = static_cast<Order>(in.take<std::uint32_t>());
    obey(order, in, ranks, part);
  }
}

}  // namespace mixstream
