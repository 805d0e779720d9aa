// Programs written step by step, on ranks with clocks of their own: computation takes what the test says, messages and
// collectives a few ticks, and who waits for whom comes out by itself. Steps must come in an order in which a machine
// could have done them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale::test {

class ClockedProgram {
 public:
  // `noise`: computation takes up to this share longer, by chance; the same for the same seed.
  explicit ClockedProgram(int ranks, std::uint64_t seed = 1, double noise = 0);

  int ranks() const { return static_cast<int>(ranks_.size()); }
  // A number from 0 to 1.
  double Chance();

  void Enter(int rank, const std::string& region);
  void Leave(int rank, const std::string& region);
  // Within a region of its own, when it has a name.
  void Compute(int rank, double ticks, const std::string& region = "");

  // An eager message, sent and received by blocking calls; or its two halves, with others' steps between.
  void Send(int from, int to, std::uint64_t bytes = 1000);
  void Receive(int from, int to, std::uint64_t bytes = 1000);
  void Message(int from, int to) {
    Send(from, to);
    Receive(from, to);
  }
  // MPI_Sendrecv of every rank with its two partners, to the first and from the second; a negative one is none.
  void Shift(const std::vector<int>& ranks, const std::vector<std::pair<int, int>>& to_and_from);
  // MPI_Irecv and MPI_Isend for every neighbour, then MPI_Waitall; neighbours are mutual.
  void Exchange(const std::vector<std::vector<int>>& neighbours);

  // Of these ranks, which get a communicator of their own; all of them for an empty list.
  void Collective(const std::string& function, CollectiveKind kind, const std::vector<int>& ranks = {});
  // Any other call.
  void Call(int rank, const std::string& function, double ticks);

  Trace Finish();

 private:
  std::uint32_t RegionOf(const std::string& name);
  Tick& Clock(int rank) { return clocks_[static_cast<std::size_t>(rank)]; }
  RankBuilder& Of(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  void EnterCall(int rank, const std::string& function);
  void LeaveCall(int rank, const std::string& function, Tick tick);
  std::uint32_t CommunicatorOf(const std::vector<int>& ranks);

  TraceBuilder builder_;
  std::uint32_t world_ = 0;
  std::uint64_t random_;
  double noise_;
  std::map<std::string, std::uint32_t> regions_;
  std::map<std::vector<int>, std::uint32_t> communicators_;
  std::vector<std::unique_ptr<RankBuilder>> ranks_;
  std::vector<Tick> clocks_;
  std::map<std::pair<int, int>, std::vector<Tick>> sent_;  // messages on their way
};

}  // namespace farscale::test
