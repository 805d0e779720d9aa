#include "replay/replayed_trace.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "phases/phase_cut.h"
#include "trace/anomalies.h"
#include "trace/timeline_feed.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// Operations of one rank that are wanted, by class and number.
using OperationSet = std::array<std::vector<bool>, 3>;

std::vector<bool>& OfClass(OperationSet& operations, OperationClass type) {
  return operations[static_cast<std::size_t>(type)];
}

// The operations of every rank that have a part in the window of any rank. All parts of these are kept, so that they
// are matched among each other in the same order as among all.
std::vector<OperationSet> OperationsToKeep(const Trace& trace, const Matching& matching, const PhaseCut& cut) {
  std::vector<OperationSet> keep(trace.size());
  // Operations that post or complete something in the rank's own window.
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    for (const OperationClass type : {OperationClass::kSend, OperationClass::kReceive, OperationClass::kCollective}) {
      OfClass(keep[rank], type).resize(timeline.posts(type));
    }
    if (!cut.ranks[rank].present) return;
    const std::size_t first = timeline.first_record(cut.ranks[rank].window.begin.call);
    const std::size_t end = timeline.first_record(cut.ranks[rank].window.end.call);
    Posts posts;
    for (std::size_t record = 0; record < end; ++record) {
      const OperationPart operation = posts.Next(timeline, record);
      if (record >= first) OfClass(keep[rank], operation.type)[operation.ordinal] = true;
    }
  });
  std::vector<bool> messages(matching.messages), collectives(matching.collectives.size());
  const auto for_each = [&](auto visit) {
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const RankMatching& numbers = matching.ranks[rank];
      visit(OfClass(keep[rank], OperationClass::kSend), numbers.sends, messages);
      visit(OfClass(keep[rank], OperationClass::kReceive), numbers.receives, messages);
      visit(OfClass(keep[rank], OperationClass::kCollective), numbers.collectives, collectives);
    }
  };
  static_assert(kNoMessage == kNoCollective);
  for_each([](const std::vector<bool>& own, const std::vector<std::uint32_t>& numbers, std::vector<bool>& all) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] && numbers[i] != kNoMessage) all[numbers[i]] = true;
    }
  });
  for_each([](std::vector<bool>& own, const std::vector<std::uint32_t>& numbers, const std::vector<bool>& all) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (numbers[i] != kNoMessage && all[numbers[i]]) own[i] = true;
    }
  });
  return keep;
}

// Regions open before an event, the outermost first.
std::vector<std::uint32_t> OpenRegions(const RankTimeline& timeline, std::size_t event) {
  std::vector<std::uint32_t> open;
  for (std::size_t i = 0; i < event; ++i) {
    const RankTimeline::RegionEvent e = timeline.region_event(i);
    if (e.is_leave) {
      open.pop_back();
    } else {
      open.push_back(e.region);
    }
  }
  return open;
}

TimelineWindow WindowOf(const Trace& trace, const RankTimeline& timeline, const RankCut& cut, Tick begin_of_all) {
  // All records of a rank without the phase lie outside.
  const Edge behind{begin_of_all, static_cast<std::uint32_t>(timeline.calls()),
                    static_cast<std::uint32_t>(timeline.region_events())};
  const Edge &begin = cut.present ? cut.window.begin : behind, &end = cut.present ? cut.window.end : behind;
  TimelineWindow window{begin.tick, end.tick, begin.call, end.call, begin.event, end.event};
  if (!cut.present) return window;
  window.entered = OpenRegions(timeline, begin.event);
  window.left = OpenRegions(timeline, end.event);
  std::ranges::reverse(window.left);
  // Counters at the window's edges. In a call that is cut they stand still.
  const std::size_t first = begin.call, last = end.call - 1;
  const bool has_calls = begin.call < end.call;
  const bool cuts_first = has_calls && timeline.enter(first) < begin.tick;
  const bool cuts_last = has_calls && timeline.leave(last) > end.tick;
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    std::int64_t at_begin = 0, at_end = 0;
    if (timeline.has_counter(i)) {
      const bool is_double = trace.counters[i].is_double;
      at_begin = cuts_first ? timeline.raw_counter_at_leave(i, first) : RawCounterAt(timeline, i, is_double, begin);
      at_end = cuts_last ? timeline.raw_counter_at_enter(i, last) : RawCounterAt(timeline, i, is_double, end);
      if (cuts_first && cuts_last && first == last) at_end = at_begin;
    }
    window.counters_begin.push_back(at_begin);
    window.counters_end.push_back(at_end);
  }
  return window;
}

std::uint32_t RegionNamed(TraceBuilder& builder, const Region& region) {
  const std::vector<Region>& regions = builder.definitions().regions;
  const auto found = std::find_if(regions.begin(), regions.end(), [&](const Region& other) {
    return other.name == region.name && other.is_outside == region.is_outside && other.IsUser() == region.IsUser();
  });
  if (found != regions.end()) return static_cast<std::uint32_t>(found - regions.begin());
  return builder.AddRegion(region);
}

}  // namespace

Trace CutTrace(const Trace& trace, const Matching& matching, const PhaseCut& cut) {
  TraceBuilder builder;
  builder.CopyHeader(trace);
  Trace& copy = builder.trace();
  copy.communicators = trace.communicators;
  copy.topologies = trace.topologies;
  copy.counters = trace.counters;
  for (const Rank& rank : trace.ranks) builder.AddRank(rank);
  // Nothing lies outside a whole run, and so one that is copied as a whole is still known as one.
  if (cut.spec.kind != PhaseSpec::Kind::kWholeRun) {
    RegionNamed(builder, {std::string(kOutsideRegion), false, MpiCall::kNone, true});
  }
  // Calls that the trace lacks, the part may lack, too. Which of them is unknown, so they stand among those of the run.
  for (const Finding& finding : trace.diagnostics.findings()) {
    if (finding.id != anomaly::kMpiOnWorkerThread.id) continue;
    copy.diagnostics.Add(anomaly::kMpiOnWorkerThread, finding.count, finding.example);
    copy.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, finding.population);
  }
  const std::vector<OperationSet> keep = OperationsToKeep(trace, matching, cut);
  std::vector<TimelineWindow> windows(trace.size());
  std::vector<char> has_bare_edges(trace.size());
  const Tick begin_of_all = cut.begin();
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    const TimelineWindow& edges = windows[rank] = WindowOf(trace, timeline, cut.ranks[rank], begin_of_all);
    if (!cut.ranks[rank].present) return;
    // Bare edges: no event lies at the begin of the window, or none at its end.
    const auto& [begin, end] = cut.ranks[rank].window;
    const bool has_events = begin.event < end.event, has_calls = begin.call < end.call;
    const bool begins = !edges.entered.empty() || (has_events && timeline.event_tick(begin.event) == begin.tick) ||
                        (has_calls && timeline.enter(begin.call) <= begin.tick);
    const bool ends = !edges.left.empty() || (has_events && timeline.event_tick(end.event - 1) == end.tick) ||
                      (has_calls && timeline.leave(end.call - 1) >= end.tick);
    has_bare_edges[rank] = !begins || !ends;
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!has_bare_edges[rank]) continue;
    // The region goes around everything else of the window.
    const std::uint32_t region = RegionNamed(builder, {kWindowRegion, false, MpiCall::kNone, false});
    windows[rank].entered.insert(windows[rank].entered.begin(), region);
    windows[rank].left.push_back(region);
  }
  const LocalRanks local_ranks(trace);
  std::vector<std::unique_ptr<RankBuilder>> ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    ranks[rank] = std::make_unique<RankBuilder>(builder.definitions(), static_cast<std::int32_t>(rank));
    windows[rank].keep_outside = [&keep, rank](const OperationPart& operation) -> bool {
      return keep[rank][static_cast<std::size_t>(operation.type)][operation.ordinal];
    };
    FeedTimeline(builder.definitions(), trace.timelines[rank], local_ranks, static_cast<std::int32_t>(rank),
                 windows[rank], *ranks[rank]);
  });
  for (const std::unique_ptr<RankBuilder>& rank : ranks) builder.SetTimeline(*rank);
  return std::move(builder).Finish();
}

}  // namespace farscale
