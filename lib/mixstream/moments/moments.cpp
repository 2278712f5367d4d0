#include "mixstream/moments/moments.hpp"

#include <utility>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {

Moments::Moments(MomentState state) : state_(std::make_unique<MomentState>(std::move(state))) {}
Moments::Moments(const Moments& other) : Moments(*other.state_) {}
Moments::Moments(Moments&&) noexcept = default;
Moments& Moments::operator=(Moments&&) noexcept = default;
Moments::~Moments() = default;

Moments& Moments::operator=(const Moments& other) {
  if (this != &other) state_ = std::make_unique<MomentState>(*other.state_);
  return *this;
}

Outcome<Moments> Moments::create(const StateSettings& settings) {
  Outcome<MomentState> state = MomentState::create(settings);
  if (!state) return state.refusal();
  return Moments(std::move(state).value());
}

Outcome<Moments> Moments::decode(std::span<const std::byte> bytes, std::uint64_t memory_budget) {
  Outcome<Snapshot> snapshot = mixstream::decode(bytes, {.memory_budget = memory_budget});
  if (!snapshot) return snapshot.refusal();
  return Moments(std::move(snapshot.value().state));
}

RowFault Moments::absorb(const Row& row) noexcept {
  return state_->absorb(row);
}

RowFault Moments::absorb(const Row& row, RowPosition position) noexcept {
  go_on_at(position);
  return state_->absorb(row);
}

void Moments::go_on_at(RowPosition next) noexcept {
  state_->begin_source(next.source, next.row);
}

Done Moments::merge(const Moments& other, MergeAs as) {
  return state_->merge(*other.state_, as);
}

std::uint64_t Moments::row_count() const noexcept {
  return state_->row_count();
}

const RowCounts& Moments::row_counts() const noexcept {
  return state_->row_counts();
}

const StateSettings& Moments::settings() const noexcept {
  return state_->settings();
}

Bytes Moments::encode() const {
  return mixstream::encode(*state_);
}

bool operator==(const Moments& one, const Moments& other) {
  return *one.state_ == *other.state_;
}

}  // namespace mixstream
