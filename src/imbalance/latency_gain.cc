// What a phase would gain if the calls of one call path were as short as the shortest of them, waits apart: messages
// without latency [docs/formulas.md, causes and gains].
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "imbalance/find_causes.h"
#include "imbalance/measured_program.h"

namespace farscale {
namespace {

constexpr std::size_t kPathsTried = 4;  // those that take longest; chosen

// Functions in which messages or collectives may be under way.
bool HasLatency(MpiCall call) {
  switch (call) {
    case MpiCall::kSend:
    case MpiCall::kSynchronousSend:
    case MpiCall::kReceive:
    case MpiCall::kSendReceive:
    case MpiCall::kWait:
    case MpiCall::kCollective: return true;
    default: return IsWindowSynchronisation(call);
  }
}

// Calls visit(rank, call, path, ticks) for every call of the phase, with what it takes beyond its waiting.
template <typename Visit>
void ForEachCall(const CauseInput& input, Visit visit) {
  for (std::uint32_t rank = 0; rank < input.trace.size(); ++rank) {
    const RankActivities& own = input.activities.ranks[rank];
    const std::vector<WaitState>& waits = input.states.ranks[rank].waits;
    std::size_t wait = 0;
    for (std::uint32_t call = 0; own.present && call < own.calls; ++call) {
      while (wait < waits.size() && waits[wait].call < call) ++wait;
      const bool has_waited = wait < waits.size() && waits[wait].call == call;
      const Tick waited = has_waited ? waits[wait].length : 0;
      visit(rank, call, own.path_of_call(call), own.leave(call) - own.enter(call) - waited);
    }
  }
}

struct PathLatency {
  PathId path = 0;
  Tick least = std::numeric_limits<Tick>::max();  // of its calls
  Tick all = 0;
  std::int64_t calls = 0;

  Tick Excess() const { return calls == 0 ? 0 : all - calls * least; }
};

std::vector<PathLatency> LongestPaths(const CauseInput& input) {
  const CallPaths& paths = input.diagnosis.paths;
  std::vector<PathLatency> latencies(paths.size());
  for (PathId path = 0; path < paths.size(); ++path) latencies[path].path = path;
  ForEachCall(input, [&](std::uint32_t, std::uint32_t, PathId path, Tick ticks) {
    PathLatency& latency = latencies[path];
    latency.least = std::min(latency.least, ticks);
    latency.all += ticks;
    ++latency.calls;
  });
  std::erase_if(latencies, [&](const PathLatency& latency) {
    const PathId path = latency.path;
    const bool counts = paths.is_mpi(path) && !paths.is_before_phase(path) && !input.diagnosis.IsOutside(path);
    return !counts || latency.Excess() <= 0 || !HasLatency(ClassifyMpiCall(paths.region_name(path)));
  });
  std::ranges::stable_sort(latencies, std::greater(), &PathLatency::Excess);
  latencies.resize(std::min(kPathsTried, latencies.size()));
  return latencies;
}

}  // namespace

std::optional<LatencyGain> FindLatencyGain(const CauseInput& input) {
  const std::vector<PathLatency> paths = LongestPaths(input);
  if (paths.empty()) return std::nullopt;
  MeasuredProgram program(input.trace, input.matching, input.activities, input.states, input.collectives,
                          Transit::kOfReceivers);
  std::vector<Fix> fixes = {nullptr};
  for (const PathLatency& latency : paths) {
    fixes.push_back([&](const Save& save) {
      ForEachCall(input, [&](std::uint32_t rank, std::uint32_t call, PathId path, Tick ticks) {
        if (path == latency.path && ticks > latency.least) save({rank, call + 1, ticks - latency.least});
      });
    });
  }
  const std::vector<Tick> durations = program.Replay(fixes);
  const std::size_t best =
      static_cast<std::size_t>(std::min_element(durations.begin() + 1, durations.end()) - durations.begin());
  const Tick whole = durations.front(), gain = whole - durations[best];
  const auto length = static_cast<double>(input.activities.end - input.activities.begin);
  const bool is_as_measured = std::abs(static_cast<double>(whole) - length) <= kMeasuredPrecision * length;
  if (!is_as_measured || static_cast<double>(gain) < kLeastGain * length) return std::nullopt;
  const PathLatency& path = paths[best - 1];
  const auto mean = static_cast<double>(path.all) / static_cast<double>(path.calls);
  return LatencyGain{input.diagnosis.paths.Name(path.path), input.trace.Seconds(gain),
                     mean / input.trace.ticks_per_second, input.trace.Seconds(path.least)};
}

}  // namespace farscale
