// Runs whose ranks lie with several processes, which are threads of the test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "parallel/exchange.h"
#include "replay/part_matching.h"
#include "replay/part_replay.h"
#include "support/thread_processes.h"

namespace farscale::test {

// Which of so many processes has every rank: in turn, in blocks, or drawn; with most of the ranks on one of them.
enum class Sharing { kInTurn, kBlocks, kDrawn, kOneHasMost };
std::vector<std::uint32_t> ShareRanks(std::size_t ranks, std::size_t processes, Sharing sharing, std::uint64_t seed);

// Calls body(part, exchange) in every process, which has the timelines of its ranks and no others.
void InParts(const Trace& trace, const std::vector<std::uint32_t>& members, std::size_t processes,
             const std::function<void(const TracePart&, Exchange&)>& body);

// What differs between a matching and those of the processes, in words; empty when nothing does.
std::string MatchingDifference(const Trace& trace, const Matching& whole, const std::vector<std::uint32_t>& members,
                               const std::vector<PartMatching>& parts);

// The replay by so many processes, put together: times of every rank, diagnostics and calls.
ReplayResult ReplayInParts(const Trace& trace, const PhaseCut& cut, const ReplayOptions& options,
                           const std::vector<std::uint32_t>& members, std::size_t processes);

}  // namespace farscale::test
