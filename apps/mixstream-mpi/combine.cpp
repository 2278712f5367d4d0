#include "combine.hpp"

#include <chrono>
#include <optional>

#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

enum Kind : std::uint32_t { nothing, state, failure };

bool is_empty(const Estimator& branch) {
  return branch.state().row_count() == 0 && branch.refused().empty();
}

Bytes message_of(const Outcome<Estimator>& branch) {
  ByteWriter out;
  if (!branch) {
    out.put(std::uint32_t{failure});
    out.put_text(branch.refusal().text);
  } else if (is_empty(branch.value())) {
    out.put(std::uint32_t{nothing});
  } else {
    out.put(std::uint32_t{state});
    out.put(std::span<const std::byte>(branch.value().encode()));
  }
  return std::move(out).take();
}

/// Adds what the message holds to the branch.
void add(const Bytes& message, Outcome<Estimator>& branch) {
  ByteReader in(message);
  const auto kind = in.take<std::uint32_t>();
  if (!branch || kind == nothing) return;
  if (kind == failure) {
    branch = Refusal{Reason::cannot_merge, in.take_text()};
    return;
  }
  Outcome<Estimator> more = Estimator::decode(in.take_bytes(in.left()), branch.value().settings());
  if (!more) {
    branch = more.refusal();
  } else if (const Done done = branch.value().merge_branch(more.value()); !done) {
    branch = done.refusal();
  }
}

}  // namespace

Outcome<Estimator> combine(Ranks& ranks, Estimator branch, CombineCost& cost) {
  const auto began = std::chrono::steady_clock::now();
  Outcome<Estimator> sum = std::move(branch);
  for (int step = 1; step < ranks.size(); step *= 2) {
    if (ranks.rank() % (2 * step) == step) {
      const Bytes message = message_of(sum);
      ranks.send(message, ranks.rank() - step);
      cost.bytes += message.size();
      break;
    }
    if (ranks.rank() + step >= ranks.size()) continue;
    const Bytes message = ranks.receive(ranks.rank() + step);
    add(message, sum);
    cost.bytes += message.size();
    ++cost.merges;
  }
  cost.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return sum;
}

}  // namespace mixstream
