// Which threads of a rank form which OpenMP teams: forks, the threads that take part, and the barriers inside.
//
// What is understood are teams that are not nested, as in [Boehme13, section 4.2]. Everything else is counted and left
// without partners; nothing is guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/diagnostics.h"
#include "trace/trace.h"

namespace farscale {

inline constexpr std::uint32_t kNoFork = std::numeric_limits<std::uint32_t>::max();

// What a thread does in one team.
struct TeamSpan {
  TeamEvent begin, end;
  std::uint32_t fork = kNoFork;         // that it belongs to, of RankTeams::forks
  std::vector<std::uint32_t> barriers;  // region events that enter one
};

struct TeamFork {
  TeamEvent fork, begin, join;       // of the main thread
  std::vector<std::size_t> threads;  // that take part, rising: 0 is the main thread, i + 1 worker i of the rank
  bool is_whole = false;             // they are all of the team, and more than one
  bool barriers_agree = false;       // every thread enters as many of the same kinds
};

struct RankTeams {
  std::vector<TeamFork> forks;               // in the order of time
  std::vector<std::vector<TeamSpan>> spans;  // of every thread, in the order of time
  Diagnostics diagnostics;
};

// The main thread of a rank or one of its workers.
struct ThreadInput {
  const RankTimeline* timeline;
  const std::vector<TeamEvent>* team_events;
  Location location;
};

// `threads`: the main one first.
RankTeams PlanTeams(const std::vector<Region>& regions, const std::vector<ThreadTeam>& teams,
                    const std::vector<ThreadInput>& threads);

}  // namespace farscale
