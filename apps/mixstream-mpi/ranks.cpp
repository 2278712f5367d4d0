#include "ranks.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "exit_codes.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t largest_message = 1 << 30;  // bytes: MPI counts with int
constexpr auto patience_after_signal = milliseconds(200);
constexpr auto longest_wait_after_signal = seconds(60);

int as_count(std::size_t bytes) {
  return static_cast<int>(bytes);
}

}  // namespace

Ranks::Ranks(int& count, char**& words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Ranks::~Ranks() {
  MPI_Finalize();
}

void Ranks::abandon(const std::string& words) {
  complain(words);
  MPI_Abort(MPI_COMM_WORLD, exit_data);
  std::abort();
}

void Ranks::wait(MPI_Request& request, bool moving) {
  const auto began = Clock::now();
  auto pause = microseconds(20);
  for (int done = 0;;) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      abandon("a rank does not answer any more: the job ends here. " + last_words_);
    if (done != 0) return;
    if (moving || Clock::now() - began < microseconds(50)) {
      ::sched_yield();
      if (moving) worry(began);
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, microseconds(1000));
    worry(began);
  }
}

/// After a signal the other ranks should come soon; if not, one may be gone for good.
void Ranks::worry(Clock::time_point waiting_since) {
  if (end_requested() == 0) return;
  const auto waited = Clock::now() - waiting_since;
  if (rank_ == 0 && !worried_ && waited > patience_after_signal) {
    worried_ = true;
    complain("a signal came, and another rank does not answer: it was lost, or is ending too. " +
             last_words_);
  }
  if (waited > longest_wait_after_signal) abandon("a rank was lost: the job ends here. " + last_words_);
}

void Ranks::broadcast(Bytes& bytes) {
  std::uint64_t size = bytes.size();
  MPI_Request request;
  MPI_Ibcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request);
  wait(request);
  bytes.resize(size);
  for (std::size_t at = 0; at < size; at += largest_message) {
    MPI_Ibcast(bytes.data() + at, as_count(std::min(largest_message, size - at)), MPI_BYTE, 0, MPI_COMM_WORLD,
               &request);
    wait(request, true);
  }
}

std::vector<Bytes> Ranks::gather(const Bytes& bytes) {
  const std::size_t ranks = leads() ? static_cast<std::size_t>(size_) : 0;
  const int size = as_count(bytes.size());
  std::vector<int> sizes(ranks);
  MPI_Request request;
  MPI_Igather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  wait(request);
  std::vector<int> places(ranks);
  std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
  Bytes all(ranks == 0 ? 0 : static_cast<std::size_t>(places.back() + sizes.back()));
  MPI_Igatherv(bytes.data(), size, MPI_BYTE, all.data(), sizes.data(), places.data(), MPI_BYTE, 0,
               MPI_COMM_WORLD, &request);
  wait(request);
  std::vector<Bytes> parts;
  for (std::size_t r = 0; r < ranks; ++r)
    parts.emplace_back(all.begin() + places[r], all.begin() + places[r] + sizes[r]);
  return parts;
}

void Ranks::send(std::span<const std::byte> bytes, int to) {
  const std::uint64_t size = bytes.size();
  MPI_Request request;
  MPI_Isend(&size, 1, MPI_UINT64_T, to, 0, MPI_COMM_WORLD, &request);
  wait(request);
  for (std::size_t at = 0; at < size; at += largest_message) {
    MPI_Isend(bytes.data() + at, as_count(std::min(largest_message, size - at)), MPI_BYTE, to, 0,
              MPI_COMM_WORLD, &request);
    wait(request, true);
  }
}

Bytes Ranks::receive(int from) {
  std::uint64_t size = 0;
  MPI_Request request;
  MPI_Irecv(&size, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, &request);
  wait(request);
  Bytes bytes(size);
  for (std::size_t at = 0; at < size; at += largest_message) {
    MPI_Irecv(bytes.data() + at, as_count(std::min(largest_message, size - at)), MPI_BYTE, from, 0,
              MPI_COMM_WORLD, &request);
    wait(request, true);
  }
  return bytes;
}

}  // namespace mixstream
