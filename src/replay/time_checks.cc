#include "replay/clock_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/computation.h"

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
  bool is_known = false, fits = false;  // in a set of edges alike that is large enough
  double later = 0;                     // than usual there
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

// Edges are alike by the calls before, around and behind; the first and last of a rank have no such neighbours.
std::uint64_t KeyOfEdge(std::size_t edge, std::uint64_t before, std::uint64_t own, std::uint64_t after) {
  return Mix(Mix(Mix(edge % 2, before), own), after);
}

template <typename Body>
void ForEdges(const RankTimeline& timeline, const Body& body) {
  if (timeline.calls() < 3) return;
  for (std::size_t edge = 2; edge < 2 * timeline.calls() - 2; ++edge) {
    const Tick tick = TickOf(timeline, edge);
    body(edge, tick - TickOf(timeline, edge - 1), TickOf(timeline, edge + 1) - tick);
  }
}

// Edges that may decide something, with all that are like them.
std::vector<CallEdge> EdgesLikeLongOnes(const Trace& trace, double least) {
  std::vector<std::vector<CallEdge>> of_ranks(trace.size());
  std::vector<std::unordered_set<std::uint64_t>> keys_of_ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    ForEdges(timeline, [&](std::size_t edge, Tick before, Tick after) {
      if (static_cast<double>(before + after) < least) return;
      const auto key = [&](std::size_t call) { return KeyOfCall(timeline, call); };
      keys_of_ranks[rank].insert(KeyOfEdge(edge, key(edge / 2 - 1), key(edge / 2), key(edge / 2 + 1)));
    });
  });
  std::unordered_set<std::uint64_t> keys;
  for (const auto& of_rank : keys_of_ranks) keys.insert(of_rank.begin(), of_rank.end());
  if (keys.empty()) return {};
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    std::vector<std::uint64_t> of_calls(timeline.calls());
    for (std::size_t call = 0; call < of_calls.size(); ++call) of_calls[call] = KeyOfCall(timeline, call);
    std::unordered_map<std::uint64_t, std::size_t> occurrences;
    ForEdges(timeline, [&](std::size_t edge, Tick before, Tick after) {
      const std::size_t call = edge / 2;
      const std::uint64_t key = KeyOfEdge(edge, of_calls[call - 1], of_calls[call], of_calls[call + 1]);
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

// Compares the edges of one rank, or of other ranks at the same occurrence, that are alike. An edge is displaced if its
// times before and behind are usual together, but not how the edge divides them.
void Judge(std::vector<CallEdge>& edges, std::size_t CallEdge::*set, double least) {
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<CallEdge*>> sets;
  for (CallEdge& edge : edges) sets[{edge.key, edge.*set}].push_back(&edge);
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
    for (CallEdge* edge : alike) {
      const auto later = static_cast<double>(edge->before - before[middle]);
      const auto shorter = static_cast<double>(after[middle] - edge->after);
      const double outside_before = WidthsOutside(before, edge->before), outside = WidthsOutside(after, edge->after);
      const double limit = edge->index % 2 == 0 && later > 0 ? kWidthsWhenLate : kWidths;
      const bool is_displaced = std::abs(later) >= least && std::abs(later - shorter) <= 0.5 * std::abs(later) &&
                                std::min(outside_before, outside) > 0 && std::max(outside_before, outside) >= limit;
      edge->is_known = true;
      edge->fits |= !is_displaced;
      edge->later = later;
    }
  }
}

}  // namespace

Diagnostics FindDisplacedTimes(const Trace& trace) {
  Diagnostics diagnostics;
  Tick largest = 0;
  for (const RankTimeline& timeline : trace.timelines) {
    Tick useful = timeline.end() - timeline.begin();
    for (std::size_t call = 0; call < timeline.calls(); ++call) useful -= timeline.duration(call);
    largest = std::max(largest, useful);
  }
  const double least = kShare * static_cast<double>(largest);
  std::vector<CallEdge> edges = EdgesLikeLongOnes(trace, least);
  Judge(edges, &CallEdge::rank, least);
  Judge(edges, &CallEdge::occurrence, least);
  for (const CallEdge& edge : edges) {
    if (!edge.is_known || edge.fits) continue;
    const RankTimeline& timeline = trace.timelines[edge.rank];
    diagnostics.Add(
        anomaly::kTimeDisplaced, 1,
        fmt::format("rank {} {} {} at {}, {} {} than usual", edge.rank, edge.index % 2 == 0 ? "enters" : "leaves",
                    trace.regions[timeline.region(edge.index / 2)].name,
                    FormatSeconds(trace.Seconds(TickOf(timeline, edge.index) - trace.begin())),
                    FormatSeconds(std::abs(edge.later) / trace.ticks_per_second),
                    edge.later > 0 ? "later" : "earlier"));
  }
  return diagnostics;
}

// Processors: ranks that had none for a part of their computation, and counts that none can have.

namespace {

// As farscale measure has it: detours of a quiet operating system take less than a percent, a second process on the
// core takes half.
constexpr double kLeastShare = 0.95;
// In less time a single preemption is a large share, which says nothing; chosen.
constexpr double kLeastSeconds = 0.01;
constexpr double kLongSeconds = 100e-6;  // as in computation.cc: errors at the ends of a burst are a percent of it
// The clock of a processor changes, too, with the number of busy cores and with what they compute, but not to less than
// this of the highest one that many bursts of any rank on the node have: two processes on a core get half of it each.
constexpr double kSlowestClock = 0.52;
// Such changes come to most ranks of a node alike, though. A rank with less than this of the cycles per time that the
// first number of the others have at least did not have its core all the time. Chosen: two processes on a core get half
// of it each.
constexpr double kMostOthers = 0.75, kLeastOfOthers = 0.75;

struct RankTime {
  double outside = 0;  // outside MPI, ticks, without pauses
  double missing = 0;  // ticks of it without a processor
  // The ticks of its long bursts, and the same at the highest clock of the node.
  double in_long = 0, at_clock = 0;
};

// `own_clock`: of the rank, as a share of the highest on its node; 1 where lengths are CPU time.
RankTime FindTime(const Trace& trace, std::size_t rank, const Computation& computation, double own_clock,
                  const std::vector<PhaseCut>& cuts) {
  const RankTimeline& timeline = trace.timelines[rank];
  const std::vector<TickRange> counted = CountedTicks(cuts, rank);
  std::vector<TickRange> pauses;
  for (const Pause& pause : timeline.pauses()) {
    pauses.emplace_back(timeline.event_tick(pause.begin_event), timeline.event_tick(pause.end_event));
  }
  for (const Interruption& one : timeline.interruptions()) {
    if (!one.is_flush) pauses.emplace_back(one.begin, one.end);
  }
  std::ranges::sort(pauses);
  const auto long_from = static_cast<Tick>(kLongSeconds * trace.ticks_per_second);
  RankTime time;
  std::size_t next = 0;  // counted range
  for (std::size_t call = 0; call <= timeline.calls(); ++call) {
    const Tick begin = BurstBegin(timeline, call), end = BurstEnd(timeline, call), length = end - begin;
    if (length <= 0) continue;
    const Tick middle = begin + length / 2;
    while (next < counted.size() && counted[next].second <= middle) ++next;
    if (next == counted.size() || counted[next].first > middle) continue;
    const auto pause = std::ranges::partition_point(pauses, [&](const TickRange& one) { return one.second <= begin; });
    if (pause != pauses.end() && pause->first < end) continue;
    time.outside += static_cast<double>(length);
    if (length < long_from) continue;
    const double clean = own_clock * static_cast<double>(computation.lengths[rank][call]);
    const bool may_be_clock =
        computation.source == ComputationSource::kCycles && clean > kSlowestClock * static_cast<double>(length);
    if (!may_be_clock) time.missing += static_cast<double>(length) - clean;
    time.in_long += static_cast<double>(length);
    time.at_clock += clean;
  }
  return time;
}

// Finds the time lacking on ranks that have far fewer cycles in their time than most others on their node.
void CompareOnNodes(const Trace& trace, std::vector<RankTime>& times) {
  std::vector<std::vector<double>> shares(trace.nodes.size());
  const auto share = [&](std::size_t rank) { return times[rank].at_clock / times[rank].in_long; };
  const auto is_known = [&](std::size_t rank) { return times[rank].in_long > 0; };
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (is_known(rank)) shares[static_cast<std::size_t>(trace.ranks[rank].node)].push_back(share(rank));
  }
  for (std::vector<double>& of_node : shares) std::sort(of_node.begin(), of_node.end());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<double>& of_node = shares[static_cast<std::size_t>(trace.ranks[rank].node)];
    if (!is_known(rank) || of_node.size() < 2) continue;
    // The rank itself is among the lowest if anything is missing, so it is left out at the front.
    const double others = static_cast<double>(of_node.size() - 1);
    const double usual = of_node[1 + static_cast<std::size_t>(std::floor((1 - kMostOthers) * others))];
    if (share(rank) >= kLeastOfOthers * usual) continue;
    times[rank].missing = std::max(times[rank].missing, (1 - share(rank) / usual) * times[rank].in_long);
  }
}

// More a second than any processor counts; chosen, a few times what the fastest ones do. CPU time is read with an
// error, which is small in a run.
constexpr std::pair<CounterMeaning, double> kCeilings[] = {
    {CounterMeaning::kCpuTime, 1.05}, {CounterMeaning::kCycles, 10e9}, {CounterMeaning::kInstructions, 100e9}};
// Chosen: counter and clock are not read at the same moment. Between two edges more may come, as where a buffer is
// written; what matters is a share of all.
constexpr double kReadingError = 100e-6, kNoticeable = 0.01;

// The time from one edge to another that is furthest beyond what can be, or the whole time of the rank: its seconds,
// and how much is counted in them, seconds of CPU time or events. Nothing where all can be. Between edges without
// samples of their own nothing is known.
std::optional<std::pair<double, double>> Impossible(const Trace& trace, const RankTimeline& timeline,
                                                    std::size_t counter, double counts_of_unit, double per_second) {
  const auto beyond = [&](const std::pair<double, double>& part) {
    return part.second - per_second * (part.first + kReadingError);
  };
  std::pair<double, double> worst, all;
  const auto take = [&](Tick ticks, double counts) {
    const std::pair part(trace.Seconds(ticks), counts / counts_of_unit);
    all.first += part.first;
    all.second += part.second;
    if (beyond(part) > beyond(worst)) worst = part;
  };
  for (std::size_t call = 0; call <= timeline.calls(); ++call) {
    take(BurstEnd(timeline, call) - BurstBegin(timeline, call), timeline.counter_before_call(counter, call));
    if (call < timeline.calls()) take(timeline.duration(call), timeline.counter_in_call(counter, call));
  }
  if (beyond(all) > 0) return all;
  const bool has_samples = timeline.counter_edge_share(counter) == 1;
  return has_samples && beyond(worst) > kNoticeable * all.second ? std::optional(worst) : std::nullopt;
}

void CheckCounts(const Trace& trace, const CounterNames& names, Diagnostics& diagnostics) {
  for (const auto& [meaning, per_second] : kCeilings) {
    const std::optional<std::size_t> counter = ChooseCounter(trace, meaning, names);
    if (!counter) continue;
    const Counter& counted = trace.counters[*counter];
    const bool is_time = meaning == CounterMeaning::kCpuTime;
    const double counts_of_unit = is_time ? CountsPerSecond(counted) : 1 / counted.scale;
    std::vector<std::optional<std::pair<double, double>>> found(trace.size());
    ParallelFor(trace.size(), [&, most = per_second](std::size_t rank) {
      const RankTimeline& timeline = trace.timelines[rank];
      if (timeline.empty() || !timeline.has_counter(*counter) || !timeline.counter_is_reliable(*counter)) return;
      found[rank] =
          Impossible(trace, timeline, *counter, counts_of_unit, most * static_cast<double>(trace.ranks[rank].threads));
    });
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      if (!found[rank]) continue;
      const auto [seconds, counts] = *found[rank];
      diagnostics.Add(anomaly::kCountsImpossible, 1,
                      fmt::format("rank {} counts {} of {} in {}", rank,
                                  is_time ? FormatSeconds(counts) : FormatSignificant(counts, 3), counted.name,
                                  FormatSeconds(seconds)));
    }
  }
}

double CoreShare(const RankTime& time) { return std::clamp(1 - time.missing / time.outside, 0.0, 1.0); }

}  // namespace

Diagnostics CheckProcessorTime(const Trace& trace, const CounterNames& names, const std::vector<PhaseCut>& cuts) {
  Diagnostics diagnostics;
  CheckCounts(trace, names, diagnostics);
  std::optional<Computation> computation = TryComputation(trace, ComputationSource::kCpuTime, names);
  if (!computation) computation = TryComputation(trace, ComputationSource::kCycles, names);
  if (!computation) return diagnostics;
  const std::vector<PhaseCut> whole =
      cuts.empty() ? std::vector<PhaseCut>{CutPhase(trace, PhaseSpec::WholeRun())} : std::vector<PhaseCut>();
  std::vector<RankTime> times(trace.size());
  const bool has_cycles = computation->source == ComputationSource::kCycles;
  std::vector<double> highest(trace.nodes.size());  // clock of any rank
  const auto node = [&](std::size_t rank) { return static_cast<std::size_t>(trace.ranks[rank].node); };
  for (std::size_t rank = 0; has_cycles && rank < trace.size(); ++rank) {
    highest[node(rank)] = std::max(highest[node(rank)], computation->clocks[rank]);
  }
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const double own_clock = has_cycles ? computation->clocks[rank] / highest[node(rank)] : 1;
    times[rank] = FindTime(trace, rank, *computation, own_clock, cuts.empty() ? whole : cuts);
  });
  if (has_cycles) CompareOnNodes(trace, times);
  RankTime together;
  std::uint64_t ranks = 0;
  std::string first;
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    const RankTime& time = times[rank];
    if (time.outside < kLeastSeconds * trace.ticks_per_second || CoreShare(time) >= kLeastShare) continue;
    if (ranks++ == 0) {
      first = fmt::format("rank {} with {} of {}", rank, FormatPercent(CoreShare(time)),
                          FormatSeconds(time.outside / trace.ticks_per_second));
    }
    together.outside += time.outside;
    together.missing += time.missing;
  }
  if (ranks == 0) return diagnostics;
  diagnostics.Add(anomaly::kPreempted, ranks,
                  fmt::format("{}; {} of the time of these ranks", first, FormatPercent(CoreShare(together))));
  diagnostics.AddPopulation(anomaly::kPreempted, trace.size());
  return diagnostics;
}

}  // namespace farscale
