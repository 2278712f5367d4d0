// The processes of one job, and bytes between them.
//
// Every wait polls and sleeps in between, so that ranks that share a processor do not starve the one that
// reads, and hears signals: a launcher that lost a rank ends the others with one.
#pragma once

#include <mpi.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "mixstream/core/bytes.hpp"

namespace mixstream {

/// All of MPI that this program uses. One object in a process, from its beginning to its end.
class Ranks {
 public:
  Ranks(int& count, char**& words);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();  ///< waits for the other ranks

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool leads() const noexcept { return rank_ == 0; }

  /// Rank 0's bytes, on every rank.
  void broadcast(Bytes& bytes);
  /// On rank 0 every rank's bytes, in the order of ranks; elsewhere nothing.
  std::vector<Bytes> gather(const Bytes& bytes);
  void send(std::span<const std::byte> bytes, int to);
  Bytes receive(int from);

  /// Said once on rank 0's stderr when a signal comes and other ranks do not answer soon after it.
  void set_last_words(std::string words) { last_words_ = std::move(words); }

  /// Ends all ranks at once.
  [[noreturn]] void abandon(const std::string& words);

 private:
  /// moving: bytes are on their way, in small pieces that each want a look; sleeping would slow them down.
  void wait(MPI_Request& request, bool moving = false);
  void worry(std::chrono::steady_clock::time_point waiting_since);

  int rank_ = 0;
  int size_ = 1;
  std::string last_words_;
  bool worried_ = false;
};

}  // namespace mixstream
