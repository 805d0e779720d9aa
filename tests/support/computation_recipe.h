// Traces of bursts with counters, worked out by hand, for the tests of clean computation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "phases/phase_cut.h"
#include "replay/computation.h"
#include "trace/trace_builder.h"

namespace farscale::test {

inline constexpr Tick kCall = 10;                 // a call takes 10 ticks,
inline constexpr std::int64_t kCountsInCall = 7;  // of which no source may take notice

// A burst: ticks by the clock, counts by the counter.
struct Burst {
  Tick ticks;
  std::int64_t counts;
};

// Ranks that compute and call MPI_Barrier in turn, in the region "main", with the same counts in every counter; ticks
// are nanoseconds and the first is 100. There is no call after the last burst.
struct Recipe {
  std::vector<std::string> counters;
  std::string unit = "#";
  std::size_t iterations = 0;             // of the region "loop", from the first burst on,
  std::size_t in_iteration = 2;           // of so many bursts and the calls behind them,
  Tick gap = 0;                           // and with so much between them
  std::optional<std::size_t> other_call;  // in place of this barrier
  std::vector<Interruption> interruptions;
  std::optional<std::size_t> rank_without_counter;
  std::size_t edges_a_sample = 1;
};

class RankMaker {
 public:
  RankMaker(const Recipe& recipe, RankBuilder& events, std::size_t rank)
      : recipe_(recipe), events_(events), has_counters_(rank != recipe.rank_without_counter) {}

  void Add(const std::vector<Burst>& bursts) {
    Edge(kMain, true);
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      AddLoopEdges(i);
      now_ += bursts[i].ticks;
      count_ += bursts[i].counts;
      if (i + 1 < bursts.size()) AddCall(i == recipe_.other_call ? kOther : kBarrier);
    }
    Edge(kMain, false);
  }

  enum Region : std::uint32_t { kMain, kLoop, kBarrier, kOther };

 private:
  void AddLoopEdges(std::size_t burst) {
    if (burst % recipe_.in_iteration != 0) return;
    const std::size_t iteration = burst / recipe_.in_iteration;
    if (iteration > 0 && iteration <= recipe_.iterations) {
      Edge(kLoop, false);
      now_ += recipe_.gap;
    }
    if (iteration < recipe_.iterations) Edge(kLoop, true);
  }

  void AddCall(Region region) {
    Edge(region, true);
    now_ += kCall;
    count_ += kCountsInCall;
    if (region == kBarrier) events_.Collective(CollectiveKind::kBarrier, 0, std::nullopt, 0, 0);
    Edge(region, false);
  }

  void AddInterruptions() {
    for (; interrupted_ < recipe_.interruptions.size(); ++interrupted_) {
      const Interruption& next = recipe_.interruptions[interrupted_];
      if (next.begin >= now_) break;
      if (next.is_flush) {
        events_.BufferFlush(next.begin, next.end);
      } else {
        events_.MeasurementOff(next.begin);
        events_.MeasurementOn(next.end);
      }
    }
  }

  void Edge(Region region, bool is_enter) {
    AddInterruptions();
    for (std::uint32_t counter = 0; counter < recipe_.counters.size(); ++counter) {
      if (has_counters_ && edges_ % recipe_.edges_a_sample == 0) events_.SetCounter(now_, counter, count_);
    }
    ++edges_;
    if (is_enter) events_.Enter(now_, region);
    if (!is_enter) events_.Leave(now_, region);
  }

  const Recipe& recipe_;
  RankBuilder& events_;
  bool has_counters_;
  Tick now_ = 100;
  std::int64_t count_ = 1000;
  std::size_t edges_ = 0;
  std::size_t interrupted_ = 0;
};

inline Trace Make(const Recipe& recipe, const std::vector<std::vector<Burst>>& ranks) {
  TraceBuilder builder;
  builder.trace().path = "test.otf2";
  for (const char* region : {"main", "loop", "MPI_Barrier", "MPI_Comm_rank"}) builder.AddRegion(region);
  for (const std::string& counter : recipe.counters) builder.AddCounter({counter, "", recipe.unit, 1, false, true});
  builder.AddWorld(static_cast<std::int32_t>(ranks.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankBuilder events(builder.definitions(), static_cast<std::int32_t>(rank));
    RankMaker(recipe, events, rank).Add(ranks[rank]);
    builder.SetTimeline(events);
  }
  return std::move(builder).Finish();
}

inline Trace WithCounter(const std::string& counter, const std::vector<std::vector<Burst>>& ranks,
                         const std::string& unit = "#") {
  Recipe recipe;
  if (!counter.empty()) recipe.counters = {counter};
  recipe.unit = unit;
  return Make(recipe, ranks);
}

inline ComputationOptions From(ComputationSource source) {
  ComputationOptions options;
  options.source = source;
  return options;
}

inline Computation OverLoop(const Trace& trace, std::optional<ComputationSource> source = std::nullopt) {
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
  ComputationOptions options;
  options.source = source;
  options.iterations = &cut;
  return CleanComputation(trace, options);
}

}  // namespace farscale::test
