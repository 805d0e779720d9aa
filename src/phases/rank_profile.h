// The work of every rank of a phase, as far as it distinguishes one kind from another: in which regions it
// computes, between which kinds of MPI calls, and which of them it makes. Clustering ranks by such profiles finds the
// programs of an MPMD run [Huck10; docs/formulas.md, groups of ranks].
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Work of one rank, or the mean of several: useful time in one region alone or between two kinds of calls, or calls.
struct Work {
  std::uint32_t kind = 0;  // index into RankProfiles::regions or functions, kind of calls, or a pair of such kinds
  double amount = 0;       // ticks, or calls
  // The same with its two longest stretches taken to be as long as the third: what noise and a set-up make long does
  // not recur. Nothing for fewer than three stretches.
  double recurring = 0;
  double entries = 0;    // into a region
  double inclusive = 0;  // for a region: useful ticks with those of the regions in it
};

// All lists are in the order of their kinds and have no kind twice.
struct RankProfile {
  bool present = false;         // in the phase
  double useful = 0;            // ticks
  double burst = 0;             // ticks: half of the useful time is in longer bursts, within a factor of two
  std::vector<Work> regions;    // innermost regions of the program
  std::vector<Work> bursts;     // kinds: pairs of kinds of calls, before and behind
  std::vector<Work> calls;      // kinds without messages
  std::vector<Work> functions;  // kinds: MPI functions, messages too
};

struct RankProfiles {
  std::vector<std::string> regions;    // names; the last is "", around all others
  std::vector<std::string> functions;  // names
  std::vector<std::uint32_t> name_of;  // for every region of the trace, into `regions` or `functions`
  std::vector<std::uint32_t> kind_of;  // likewise: kinds of calls
  std::vector<RankProfile> ranks;      // one a rank of the trace
};

// Kinds of calls. All sends, receives and waits are one: ranks at the edge of a domain only send where others only
// receive. Calls that neither communicate nor wait are none and part nothing.
std::string NameOfCallKind(std::uint32_t kind);                                // "messages", "alltoall"
std::pair<std::uint32_t, std::uint32_t> CallKindsOfBurst(std::uint32_t kind);  // before and behind

RankProfiles ProfileRanks(const Trace& trace, const PhaseCut& cut);

// The mean of some ranks, for each of the lists.
RankProfile MeanProfile(const RankProfiles& profiles, const std::vector<std::size_t>& ranks);

// With whom a rank exchanges messages within a phase.
struct MessageCounts {
  std::vector<std::pair<std::int32_t, std::uint64_t>> by_peer;  // in the order of peers
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

MessageCounts CountMessages(const Trace& trace, const PhaseCut& cut, std::size_t rank);

}  // namespace farscale
