// A trace whose ranks are the threads of another, so that waiting among threads is measured like that among ranks
// [docs/formulas.md, threads].
//
// Threads of a rank stand one after the other, thread 0 first; Trace::locations says which is which. Fork and barriers
// of an OpenMP team are calls with collective records on a communicator of the team's threads: CollectiveKind::kFork
// from the main thread, on the others over all of their idle time before; kThreadBarrier and kImplicitBarrier. Where
// teams are not as they should be [PlanTeams], these calls have no records. While a thread is idle, it is in
// the regions in which its main thread forks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "trace/trace.h"

namespace farscale {

// The calls of forks; behind it ": " and the name of the parallel region, where it is known.
inline constexpr std::string_view kForkRegion = "OpenMP fork";

// The trace must hold threads. Threads that are in no team are left out, and so are counters. Its diagnostics are about
// threads alone.
Trace LocationTrace(const Trace& trace);

// "rank 3", or of a thread "rank 3, thread 1".
std::string NameOfRank(const Trace& trace, std::size_t rank);

// Which threads of a rank form which OpenMP teams: forks, the threads that take part, and the barriers inside. Teams
// must not be nested, as in [Boehme13, section 4.2]; all others are counted and left without partners.

inline constexpr std::uint32_t kNoFork = std::numeric_limits<std::uint32_t>::max();

// The part of a thread in one team.
struct TeamSpan {
  TeamEvent begin, end;
  std::uint32_t fork = kNoFork;         // index into RankTeams::forks
  std::vector<std::uint32_t> barriers;  // region events that enter one
};

// The main thread of a rank or one of its workers.
struct TeamThread {
  const RankTimeline* timeline = nullptr;
  const std::vector<TeamEvent>* events = nullptr;
  Location location;
  std::vector<TeamSpan> spans{};                                  // in the order of time
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nested{};  // region events of teams that it forks in its team
};

struct TeamFork {
  TeamEvent fork, begin, join;       // on the main thread
  std::vector<std::size_t> threads;  // that take part, rising: 0 is the main thread, i + 1 worker i of the rank
  bool is_whole = false;             // they are all of the team, and more than one
  bool barriers_agree = false;       // every thread enters as many of the same kinds
  // In the trace of locations:
  std::uint32_t region = 0;                     // region of the call that forks
  std::optional<std::uint32_t> communicator{};  // nothing: its team is not whole
  std::vector<std::uint32_t> open{};            // regions in which the main thread forks
};

struct RankTeams {
  std::vector<TeamThread> threads;
  std::vector<TeamFork> forks;  // in the order of time
  Diagnostics diagnostics;
};

// The main thread first; without teams.
std::vector<TeamThread> ThreadsOfRank(const Trace& trace, std::size_t rank);

RankTeams PlanTeams(const Trace& trace, std::vector<TeamThread> threads);

}  // namespace farscale
