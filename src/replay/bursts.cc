#include "replay/bursts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/parallel.h"
#include "base/search.h"
#include "phases/iteration_parts.h"
#include "replay/anomalies.h"
#include "replay/computation.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Which bursts an interruption of the recording touches.
std::vector<bool> Interrupted(const RankTimeline& timeline) {
  std::vector<bool> interrupted(timeline.calls() + 1);
  for (const Interruption& interruption : timeline.interruptions()) {
    const std::size_t first = PartitionIndex(
        0, timeline.calls(), [&](std::size_t call) { return BurstEnd(timeline, call) <= interruption.begin; });
    for (std::size_t call = first; call <= timeline.calls() && BurstBegin(timeline, call) < interruption.end; ++call) {
      if (BurstEnd(timeline, call) > interruption.begin) interrupted[call] = true;
    }
  }
  return interrupted;
}

// The part of a burst that lies inside an iteration.
Tick LengthInside(const RankTimeline& timeline, const Interval& iteration, std::size_t call) {
  const Tick begin = std::max(BurstBegin(timeline, call), iteration.begin.tick);
  const Tick end = std::min(BurstEnd(timeline, call), iteration.end.tick);
  return std::max<Tick>(0, end - begin);
}

}  // namespace

std::vector<Tick> MeasuredLengths(const RankTimeline& timeline) {
  std::vector<Tick> lengths(timeline.calls() + 1);
  for (std::size_t call = 0; call < lengths.size(); ++call) {
    lengths[call] = std::max<Tick>(0, BurstEnd(timeline, call) - BurstBegin(timeline, call));
  }
  return lengths;
}

CountedRank CountBursts(const RankTimeline& timeline, std::size_t counter) {
  CountedRank rank{MeasuredLengths(timeline), {}, Interrupted(timeline)};
  rank.counts.resize(rank.measured.size());
  if (timeline.empty()) return rank;
  for (std::size_t call = 0; call < rank.counts.size(); ++call) {
    if (rank.interrupted[call]) continue;
    const double counts = timeline.counter_before_call(counter, call);
    if (counts > 0 && std::isfinite(counts)) rank.counts[call] = counts;
  }
  return rank;
}

std::vector<double> ComputationOfIterations(const RankTimeline& timeline, const RankCut& cut) {
  std::vector<double> sums;
  for (const Interval& iteration : cut.iterations) {
    Tick sum = 0;
    for (std::size_t call = iteration.begin.call; call <= iteration.end.call; ++call)
      sum += LengthInside(timeline, iteration, call);
    sums.push_back(static_cast<double>(sum));
  }
  return sums;
}

TypicalIterations ReplaceByMedian(const RankTimeline& timeline, const RankCut& cut, const HeavyIterations& heavy) {
  TypicalIterations result{MeasuredLengths(timeline), cut.iterations.size(), 0};
  std::map<std::pair<CallSequence, bool>, std::vector<const Interval*>> groups;
  for (std::size_t k = 0; k < cut.iterations.size(); ++k) {
    const Interval& iteration = cut.iterations[k];
    groups[{CallsOf(timeline, iteration), heavy.Has(k)}].push_back(&iteration);
  }
  for (const auto& [kind, iterations] : groups) {
    if (iterations.size() < kFewestLikeIterations) {
      result.as_measured += iterations.size();
      continue;
    }
    std::vector<Tick> inside(iterations.size());
    for (std::size_t index = 0; index <= kind.first.size(); ++index) {
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        inside[i] = LengthInside(timeline, *iterations[i], iterations[i]->begin.call + index);
      }
      std::vector<Tick> sorted = inside;
      const Tick typical = Median(sorted);
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        result.lengths[iterations[i]->begin.call + index] += typical - inside[i];
      }
    }
  }
  return result;
}

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

std::vector<TickRange> PausedTicks(const RankTimeline& timeline) {
  std::vector<TickRange> paused;
  for (const Pause& pause : timeline.pauses()) {
    paused.emplace_back(timeline.event_tick(pause.begin_event), timeline.event_tick(pause.end_event));
  }
  for (const Interruption& one : timeline.interruptions()) {
    if (!one.is_flush) paused.emplace_back(one.begin, one.end);
  }
  std::ranges::sort(paused);
  return paused;
}

bool IsTouched(const std::vector<TickRange>& pauses, Tick begin, Tick end) {
  const auto next =
      std::partition_point(pauses.begin(), pauses.end(), [&](const TickRange& pause) { return pause.second <= begin; });
  return next != pauses.end() && next->first < end;
}

// `own_clock`: of the rank, as a share of the highest on its node; 1 where lengths are CPU time.
RankTime FindTime(const Trace& trace, std::size_t rank, const Computation& computation, double own_clock,
                  const std::vector<PhaseCut>& cuts) {
  const RankTimeline& timeline = trace.timelines[rank];
  const std::vector<TickRange> counted = CountedTicks(cuts, rank);
  const std::vector<TickRange> pauses = PausedTicks(timeline);
  const auto long_from = static_cast<Tick>(kLongSeconds * trace.ticks_per_second);
  RankTime time;
  std::size_t next = 0;  // counted range
  for (std::size_t call = 0; call <= timeline.calls(); ++call) {
    const Tick begin = BurstBegin(timeline, call), end = BurstEnd(timeline, call), length = end - begin;
    if (length <= 0) continue;
    const Tick middle = begin + length / 2;
    while (next < counted.size() && counted[next].second <= middle) ++next;
    if (next == counted.size() || counted[next].first > middle || IsTouched(pauses, begin, end)) continue;
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

// The clock of every rank, as a share of the highest on its node.
std::vector<double> ClocksOfNodes(const Trace& trace, const Computation& computation) {
  std::vector<double> clocks(trace.size(), 1), highest(trace.nodes.size());
  if (computation.source != ComputationSource::kCycles) return clocks;
  const auto node = [&](std::size_t rank) { return static_cast<std::size_t>(trace.ranks[rank].node); };
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    highest[node(rank)] = std::max(highest[node(rank)], computation.clocks[rank]);
  }
  for (std::size_t rank = 0; rank < trace.size(); ++rank) clocks[rank] = computation.clocks[rank] / highest[node(rank)];
  return clocks;
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

struct CountedTime {
  double seconds = 0;
  double counted = 0;  // seconds of CPU time, or events

  double Beyond(double per_second) const { return counted - per_second * (seconds + kReadingError); }
};

// The time from one edge to another that is furthest beyond what can be, or the whole time of the rank; nothing where
// all can be. Between edges without samples of their own nothing is known.
std::optional<CountedTime> Impossible(const Trace& trace, const RankTimeline& timeline, std::size_t counter,
                                      double counts_of_unit, double per_second) {
  CountedTime worst, all;
  const auto take = [&](Tick ticks, double counts) {
    const CountedTime part{trace.Seconds(ticks), counts / counts_of_unit};
    all.seconds += part.seconds;
    all.counted += part.counted;
    if (part.Beyond(per_second) > worst.Beyond(per_second)) worst = part;
  };
  for (std::size_t call = 0; call <= timeline.calls(); ++call) {
    take(BurstEnd(timeline, call) - BurstBegin(timeline, call), timeline.counter_before_call(counter, call));
    if (call < timeline.calls()) take(timeline.duration(call), timeline.counter_in_call(counter, call));
  }
  if (all.Beyond(per_second) > 0) return all;
  const bool has_samples = timeline.counter_edge_share(counter) == 1;
  return has_samples && worst.Beyond(per_second) > kNoticeable * all.counted ? std::optional(worst) : std::nullopt;
}

void CheckCounts(const Trace& trace, const CounterNames& names, Diagnostics& diagnostics) {
  for (const auto& [meaning, per_second] : kCeilings) {
    const std::optional<std::size_t> counter = ChooseCounter(trace, meaning, names);
    if (!counter) continue;
    const Counter& counted = trace.counters[*counter];
    const bool is_time = meaning == CounterMeaning::kCpuTime;
    const double counts_of_unit = is_time ? CountsPerSecond(counted) : 1 / counted.scale;
    std::vector<std::optional<CountedTime>> found(trace.size());
    ParallelFor(trace.size(), [&, most = per_second](std::size_t rank) {
      const RankTimeline& timeline = trace.timelines[rank];
      if (timeline.empty() || !timeline.has_counter(*counter) || !timeline.counter_is_reliable(*counter)) return;
      found[rank] =
          Impossible(trace, timeline, *counter, counts_of_unit, most * static_cast<double>(trace.ranks[rank].threads));
    });
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      if (!found[rank]) continue;
      diagnostics.Add(
          anomaly::kCountsImpossible, 1,
          fmt::format("rank {} counts {} of {} in {}", rank,
                      is_time ? FormatSeconds(found[rank]->counted) : FormatSignificant(found[rank]->counted, 3),
                      counted.name, FormatSeconds(found[rank]->seconds)));
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
  const std::vector<double> clocks = ClocksOfNodes(trace, *computation);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    times[rank] = FindTime(trace, rank, *computation, clocks[rank], cuts.empty() ? whole : cuts);
  });
  if (computation->source == ComputationSource::kCycles) CompareOnNodes(trace, times);
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
