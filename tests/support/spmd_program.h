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

// What a rank does. Calls take no time, computation takes nanoseconds.
class SpmdRank {
 public:
  SpmdRank(TraceBuilder& definitions, const std::map<std::string, std::uint32_t>& functions, std::int32_t rank,
           std::int32_t ranks);

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }

  void Compute(Tick ticks) { tick_ += ticks; }
  void BeginIteration();
  void EndIteration();
  // The region "sweep".
  void BeginSweep();
  void EndSweep();
  void Send(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  void Receive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  void PostSend(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  void PostReceive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag = 0);
  // A negative rank stands for MPI_PROC_NULL.
  void SendReceive(std::int32_t to, std::int32_t from, std::uint64_t bytes, std::uint32_t tag = 0);
  void WaitAll();
  void AllReduce(std::uint64_t bytes);
  void Broadcast(std::int32_t root, std::uint64_t bytes);

  RankBuilder& builder() { return builder_; }

 private:
  struct Posted {
    bool is_send = false;
    std::int32_t peer = 0;
    std::uint32_t tag = 0;
    std::uint64_t bytes = 0, request = 0;
  };

  template <typename Records>
  void Call(const std::string& function, const Records& records);

  const std::map<std::string, std::uint32_t>& functions_;
  RankBuilder builder_;
  std::int32_t rank_, ranks_;
  Tick tick_ = 0;
  std::uint64_t requests_ = 0;
  std::vector<Posted> pending_;
};

// A run of the program. Its iterations are those of the region "step".
Trace RunSpmd(std::int32_t ranks, const std::function<void(SpmdRank&)>& program);

// The first call in which two traces differ (function, partners, tags, bytes), in words; empty where there is none.
std::string CallDifference(const Trace& a, const Trace& b);

}  // namespace farscale::test
