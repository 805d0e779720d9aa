#include "replay/displaced_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/bursts.h"

namespace farscale {
namespace {

constexpr double kShare = 0.01;  // share of the largest useful time, as far as factors may change without a word
// Fewer others show no range that is usual.
constexpr std::size_t kFewestAlike = 5;
// The distance from the range of the others, in widths of it. A computation that the system interrupts becomes longer
// and the wait behind it shorter, so that late begins of calls are usual: those in real and simulated runs with noise
// lie up to 18 widths apart. All other edges lie within one.
constexpr double kWidths = 1, kWidthsWhenLate = 20;

// Edges of calls are numbered through: the enter of call c is 2 c, its leave 2 c + 1. Before an edge lies a
// computation and behind it a call, or the other way round.
struct CallEdge {
  std::uint64_t key = 0;  // the same for edges that are alike
  std::size_t rank = 0;
  std::size_t index = 0;
  std::size_t occurrence = 0;  // among its kind on the rank
  Tick before = 0, after = 0;

  bool IsEnter() const { return index % 2 == 0; }
};

Tick TickOf(const RankTimeline& timeline, std::size_t edge) {
  return edge % 2 == 0 ? timeline.enter(edge / 2) : timeline.leave(edge / 2);
}

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

// Everything that a call does, but for its peers.
std::uint64_t KeyOfCall(const RankTimeline& timeline, std::size_t call) {
  std::uint64_t key = Mix(1, timeline.region(call));
  for (std::size_t record = timeline.first_record(call); record < timeline.first_record(call + 1); ++record) {
    key = Mix(Mix(key, static_cast<std::uint64_t>(timeline.record_kind(record))), timeline.record_bytes(record));
  }
  return key;
}

// Keys of edges by the calls before, around and behind; the first and last of a rank have no such neighbours. Edges are
// mostly asked for in turn.
class EdgeKeys {
 public:
  explicit EdgeKeys(const RankTimeline& timeline) : timeline_(timeline) {}

  std::uint64_t At(std::size_t edge) {
    const std::size_t call = edge / 2;
    if (call != call_) {
      const bool is_next = call == call_ + 1 && call_ > 0;
      before_ = is_next ? own_ : KeyOfCall(timeline_, call - 1);
      own_ = is_next ? after_ : KeyOfCall(timeline_, call);
      after_ = KeyOfCall(timeline_, call + 1);
      call_ = call;
    }
    return Mix(Mix(Mix(edge % 2, before_), own_), after_);
  }

 private:
  const RankTimeline& timeline_;
  std::size_t call_ = 0;  // none yet
  std::uint64_t before_ = 0, own_ = 0, after_ = 0;
};

template <typename Body>
void ForEdges(const RankTimeline& timeline, const Body& body) {
  if (timeline.calls() < 3) return;
  for (std::size_t edge = 2; edge < 2 * timeline.calls() - 2; ++edge) {
    const Tick tick = TickOf(timeline, edge);
    body(edge, tick - TickOf(timeline, edge - 1), TickOf(timeline, edge + 1) - tick);
  }
}

double LargestUseful(const Trace& trace) {
  Tick largest = 0;
  for (const RankTimeline& timeline : trace.timelines) {
    Tick useful = 0;
    for (std::size_t call = 0; call <= timeline.calls(); ++call) {
      useful += BurstEnd(timeline, call) - BurstBegin(timeline, call);
    }
    largest = std::max(largest, useful);
  }
  return static_cast<double>(largest);
}

// Edges that may decide something, with all that are like them.
std::vector<CallEdge> EdgesLikeLongOnes(const Trace& trace, double least) {
  std::vector<std::vector<CallEdge>> of_ranks(trace.size());
  std::vector<std::unordered_set<std::uint64_t>> keys_of_ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    EdgeKeys keys_of_edges(trace.timelines[rank]);
    ForEdges(trace.timelines[rank], [&](std::size_t edge, Tick before, Tick after) {
      if (static_cast<double>(before + after) >= least) keys_of_ranks[rank].insert(keys_of_edges.At(edge));
    });
  });
  std::unordered_set<std::uint64_t> keys;
  for (const auto& of_rank : keys_of_ranks) keys.insert(of_rank.begin(), of_rank.end());
  if (keys.empty()) return {};
  ParallelFor(trace.size(), [&](std::size_t rank) {
    EdgeKeys keys_of_edges(trace.timelines[rank]);
    std::unordered_map<std::uint64_t, std::size_t> occurrences;
    ForEdges(trace.timelines[rank], [&](std::size_t edge, Tick before, Tick after) {
      const std::uint64_t key = keys_of_edges.At(edge);
      if (keys.contains(key)) of_ranks[rank].push_back({key, rank, edge, occurrences[key]++, before, after});
    });
  });
  std::vector<CallEdge> edges;
  for (const auto& of_rank : of_ranks) edges.insert(edges.end(), of_rank.begin(), of_rank.end());
  return edges;
}

// The distance of a length outside the range of the others, in widths of that; negative within it. `sorted`:
// two or more lengths that should be alike, this one among them.
double WidthsOutside(const std::vector<Tick>& sorted, Tick length) {
  const Tick low = sorted[length == sorted.front() ? 1 : 0];
  const Tick high = sorted[sorted.size() - (length == sorted.back() ? 2 : 1)];
  return static_cast<double>(std::max(low - length, length - high)) / std::max(1.0, static_cast<double>(high - low));
}

// `later`: in every set of edges alike that is large enough.
struct Verdict {
  bool is_known = false, fits = false;
  double later = 0;
};

// Compares the edges of one rank, or of other ranks at the same occurrence, that are alike. An edge is displaced if its
// times before and behind are usual together, but not how the edge divides them.
void Judge(const std::vector<CallEdge>& edges, std::size_t CallEdge::*set, double least,
           std::vector<Verdict>& verdicts) {
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<const CallEdge*>> sets;
  for (const CallEdge& edge : edges) sets[{edge.key, edge.*set}].push_back(&edge);
  for (const auto& [key, alike] : sets) {
    if (alike.size() < kFewestAlike) continue;
    std::vector<Tick> before, after;
    for (const CallEdge* edge : alike) {
      before.push_back(edge->before);
      after.push_back(edge->after);
    }
    std::ranges::sort(before);
    std::ranges::sort(after);
    const std::size_t middle = alike.size() / 2;
    for (const CallEdge* edge : alike) {
      const auto later = static_cast<double>(edge->before - before[middle]);
      const auto shorter = static_cast<double>(after[middle] - edge->after);
      const double outside_before = WidthsOutside(before, edge->before), outside = WidthsOutside(after, edge->after);
      const double limit = edge->IsEnter() && later > 0 ? kWidthsWhenLate : kWidths;
      const bool is_displaced = std::abs(later) >= least && std::abs(later - shorter) <= 0.5 * std::abs(later) &&
                                std::min(outside_before, outside) > 0 && std::max(outside_before, outside) >= limit;
      Verdict& verdict = verdicts[static_cast<std::size_t>(edge - edges.data())];
      verdict.is_known = true;
      verdict.fits |= !is_displaced;
      verdict.later = later;
    }
  }
}

std::string Describe(const Trace& trace, const CallEdge& edge, double later) {
  const RankTimeline& timeline = trace.timelines[edge.rank];
  return fmt::format("rank {} {} {} at {}, {} {} than usual", edge.rank, edge.IsEnter() ? "enters" : "leaves",
                     trace.regions[timeline.region(edge.index / 2)].name,
                     FormatSeconds(trace.Seconds(TickOf(timeline, edge.index) - trace.begin())),
                     FormatSeconds(std::abs(later) / trace.ticks_per_second), later > 0 ? "later" : "earlier");
}

}  // namespace

Diagnostics FindDisplacedTimes(const Trace& trace) {
  Diagnostics diagnostics;
  const double least = kShare * LargestUseful(trace);
  const std::vector<CallEdge> edges = EdgesLikeLongOnes(trace, least);
  std::vector<Verdict> verdicts(edges.size());
  Judge(edges, &CallEdge::rank, least, verdicts);
  Judge(edges, &CallEdge::occurrence, least, verdicts);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (!verdicts[i].is_known || verdicts[i].fits) continue;
    diagnostics.Add(anomaly::kTimeDisplaced, 1, Describe(trace, edges[i], verdicts[i].later));
  }
  return diagnostics;
}

}  // namespace farscale
