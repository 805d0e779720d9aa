// Traces of programs written as one function of the rank, at any number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale::test {

// A network file whose messages take long enough to tell it from others.
inline constexpr const char* kSlowNetwork = R"(name = "n"
[remote]
latency_us = 3
bandwidth_MBps = 2000
overhead_us = 0.5
)";

// What the ranks of a run share: its functions, and the communicators that the program makes.
struct SpmdDefinitions {
  TraceBuilder builder;
  std::map<std::string, std::uint32_t> functions;
  std::map<std::vector<std::int32_t>, std::uint32_t> communicators;
};

// What a rank does. Calls take no time, computation takes nanoseconds.
class SpmdRank {
 public:
  SpmdRank(SpmdDefinitions& definitions, std::int32_t rank, std::int32_t ranks);

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }

  void Compute(Tick ticks) { tick_ += ticks; }
  void BeginIteration();
  void EndIteration();
  // The region "sweep".
  void BeginSweep();
  void EndSweep();
  // Calls from here on are made on the communicator of these world ranks, which has the same members on each of them;
  // of all ranks with none. Peers and roots are world ranks nevertheless.
  void Use(const std::vector<std::int32_t>& members = {});
  void Send(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  void Receive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  void PostSend(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  void PostReceive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  // A negative rank stands for MPI_PROC_NULL.
  void SendReceive(std::int32_t to, std::int32_t from, std::uint64_t bytes, std::uint32_t tag = 0);
  void WaitAll();
  void AllReduce(std::uint64_t bytes);
  void Broadcast(std::int32_t root, std::uint64_t bytes);
  void AllToAll(std::uint64_t bytes);                   // that every rank sends and receives in all
  void Gather(std::int32_t root, std::uint64_t bytes);  // of every rank
  void AllGather(std::uint64_t bytes);                  // of every rank

  RankBuilder& builder() { return builder_; }

 private:
  struct Posted {
    bool is_send = false;
    std::int32_t peer = 0;
    std::uint32_t communicator = 0, tag = 0;
    std::uint64_t bytes = 0, request = 0;
  };

  template <typename Records>
  void Call(const std::string& function, const Records& records);
  std::uint32_t Local(std::int32_t world_rank) const;
  std::uint64_t Members() const { return members_.empty() ? static_cast<std::uint64_t>(ranks_) : members_.size(); }

  SpmdDefinitions& definitions_;
  RankBuilder builder_;
  std::int32_t rank_, ranks_;
  Tick tick_ = 0;
  std::uint64_t requests_ = 0;
  std::vector<Posted> pending_;
  std::vector<std::int32_t> members_;  // of the communicator in use; none: all
  std::uint32_t communicator_ = 0;
};

// A run of the program. Its iterations are those of the region "step".
Trace RunSpmd(std::int32_t ranks, const std::function<void(SpmdRank&)>& program);

// The first call in which two traces differ (function, partners, tags, communicators, bytes), in words; empty where
// there is none.
std::string CallDifference(const Trace& a, const Trace& b);

}  // namespace farscale::test
