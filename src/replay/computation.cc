#include "replay/computation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/parallel.h"
#include "base/search.h"
#include "phases/phase_cut.h"
#include "replay/anomalies.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Sums of a few of them do not overflow; no clock of a trace reaches it.
constexpr double kLargestSum = static_cast<double>(Tick{1} << 61);
// A counter measures single bursts where nearly every edge of a call has a sample; chosen.
constexpr double kSmallestEdgeShare = 0.9;
// CPU time outside MPI by elapsed time there; chosen. More than all of it, or next to none, means another unit or that
// the counter is not of the main thread.
constexpr double kLargestCpuShare = 1.1;
constexpr double kSmallestCpuShare = 0.002;
// With fewer bursts the clock of a rank is better taken from the other ranks; chosen.
constexpr std::size_t kFewestBursts = 3;
// Errors at the ends of a burst (a counter read a little after the clock) are below a microsecond: one percent of this.
constexpr double kLongBurstSeconds = 100e-6;

// In the order of the sources.
constexpr std::array<const char*, 5> kSourceNames = {"measured", "cycles", "cpu-time", "iterations", "instructions"};

Tick BurstLength(const RankTimeline& timeline, std::size_t call) {
  return std::max<Tick>(0, BurstEnd(timeline, call) - BurstBegin(timeline, call));
}

// Lengths of all bursts, in ticks.
std::vector<Tick> MeasuredLengths(const RankTimeline& timeline) {
  std::vector<Tick> lengths(timeline.calls() + 1);
  for (std::size_t call = 0; call < lengths.size(); ++call) lengths[call] = BurstLength(timeline, call);
  return lengths;
}

std::vector<CountedBurst> CountBursts(const RankTimeline& timeline, std::size_t counter) {
  std::vector<CountedBurst> bursts(timeline.calls() + 1);
  for (const Interruption& interruption : timeline.interruptions()) {
    const std::size_t first = PartitionIndex(
        0, timeline.calls(), [&](std::size_t call) { return BurstEnd(timeline, call) <= interruption.begin; });
    for (std::size_t call = first; call <= timeline.calls() && BurstBegin(timeline, call) < interruption.end; ++call) {
      if (BurstEnd(timeline, call) > interruption.begin) bursts[call].is_interrupted = true;
    }
  }
  for (std::size_t call = 0; call < bursts.size(); ++call) {
    bursts[call].ticks = BurstLength(timeline, call);
    if (bursts[call].is_interrupted || timeline.empty()) continue;
    const double counts = timeline.counter_before_call(counter, call);
    if (counts > 0 && std::isfinite(counts)) bursts[call].counts = counts;
  }
  return bursts;
}

// Why the samples of a counter cannot say how long bursts are; empty when they can.
std::string WhyNotBySamples(const Trace& trace, std::size_t counter) {
  const std::string& name = trace.counters[counter].name;
  if (!trace.counters[counter].accumulates) return name + " is a level, not a count";
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (timeline.empty()) continue;
    if (!timeline.has_counter(counter)) return fmt::format("{} has no samples on rank {}", name, rank);
    if (!timeline.counter_is_reliable(counter)) {
      return fmt::format("{} goes backwards or begins late on rank {}", name, rank);
    }
    const double share = timeline.counter_edge_share(counter);
    if (share < kSmallestEdgeShare) {
      return fmt::format("{} has samples at only {} of the edges of calls and regions on rank {}", name,
                         FormatPercent(share), rank);
    }
  }
  return "";
}

void AddSums(const Trace& trace, Computation& computation) {
  double measured = 0, clean = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (const Tick length : MeasuredLengths(trace.timelines[rank])) measured += static_cast<double>(length);
    for (const Tick length : computation.lengths[rank]) clean += static_cast<double>(length);
  }
  computation.measured_seconds = measured / trace.ticks_per_second;
  computation.clean_seconds = clean / trace.ticks_per_second;
}

// Every rank's lengths by counts at the rank's own rate.
Computation ByCounter(const Trace& trace, ComputationSource source, std::size_t counter,
                      const std::vector<double>& ticks_per_count) {
  Computation computation;
  computation.source = source;
  computation.lengths.resize(trace.size());
  std::vector<std::uint64_t> interrupted(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const std::vector<CountedBurst> bursts = CountBursts(trace.timelines[rank], counter);
    // The running total is rounded, not the single burst, so that sums are exact to the tick; interrupted bursts stay
    // as measured.
    std::vector<Tick>& lengths = computation.lengths[rank];
    lengths.reserve(bursts.size());
    double counted = 0;
    Tick reached = 0;
    for (const CountedBurst& burst : bursts) {
      counted += burst.counts;
      const auto total = static_cast<Tick>(std::llround(std::min(counted * ticks_per_count[rank], kLargestSum)));
      const Tick length = total - std::exchange(reached, total);
      lengths.push_back(burst.is_interrupted ? burst.ticks : length);
    }
    interrupted[rank] = static_cast<std::uint64_t>(std::ranges::count_if(bursts, &CountedBurst::is_interrupted));
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    computation.diagnostics.Add(anomaly::kBurstInterrupted, interrupted[rank]);
    computation.diagnostics.AddPopulation(anomaly::kBurstInterrupted, computation.lengths[rank].size());
  }
  return computation;
}

Tick LongFrom(const Trace& trace) {
  return static_cast<Tick>(std::min(std::ceil(kLongBurstSeconds * trace.ticks_per_second), kLargestSum));
}

// Counts per tick of every rank, empty where nothing is known; and the number of ranks that have too few bursts for a
// clock of their own. Where all clocks agree, they are one.
std::pair<std::vector<double>, std::uint64_t> EstimateClocks(const Trace& trace, std::size_t counter) {
  std::vector<std::optional<ClockRate>> own(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    own[rank] = EstimateClockRate(CountBursts(trace.timelines[rank], counter), LongFrom(trace));
    if (own[rank] && own[rank]->bursts < kFewestBursts) own[rank].reset();
  });
  std::vector<double> known;
  for (const auto& rate : own) {
    if (rate) known.push_back(rate->counts_per_tick);
  }
  if (known.empty()) {  // all together know more than each by itself
    std::vector<CountedBurst> bursts;
    for (const RankTimeline& timeline : trace.timelines) {
      const std::vector<CountedBurst> more = CountBursts(timeline, counter);
      bursts.insert(bursts.end(), more.begin(), more.end());
    }
    const auto rate = EstimateClockRate(std::move(bursts), LongFrom(trace));
    if (!rate) return {};
    known = {rate->counts_per_tick};
  }
  const double common = Median(std::move(known));
  const bool is_common = std::all_of(own.begin(), own.end(), [&](const auto& rate) {
    return !rate || std::abs(rate->counts_per_tick / common - 1) <= rate->uncertainty;
  });
  std::vector<double> rates;
  std::uint64_t borrowed = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    rates.push_back(own[rank] && !is_common ? own[rank]->counts_per_tick : common);
    borrowed += !own[rank] && !is_common && !trace.timelines[rank].empty();
  }
  return {std::move(rates), borrowed};
}

std::string DescribeClocks(const Trace& trace, std::size_t counter, const std::vector<double>& rates) {
  const double hertz = trace.ticks_per_second * trace.counters[counter].scale;
  const auto [lowest, highest] = std::ranges::minmax_element(rates);
  const bool is_giga = *highest * hertz >= 1e7;
  const auto format = [&](double rate) {
    return is_giga ? fmt::format("{:.2f}", rate * hertz / 1e9) : fmt::format("{:.3g}", rate * hertz);
  };
  std::string range = format(*lowest);
  if (format(*highest) != range) range += " to " + format(*highest);
  return fmt::format("cycles ({}) at {} {}, estimated {}from this trace", trace.counters[counter].name, range,
                     is_giga ? "GHz" : "Hz", *lowest == *highest ? "" : "for every rank ");
}

CounterMeaning MeaningOf(ComputationSource source) {
  switch (source) {
    case ComputationSource::kCycles: return CounterMeaning::kCycles;
    case ComputationSource::kCpuTime: return CounterMeaning::kCpuTime;
    default: return CounterMeaning::kInstructions;
  }
}

// As other functions from here on, this one returns nothing and says why not where the trace cannot give the source.
std::optional<Computation> FromCounter(const Trace& trace, ComputationSource source, const CounterNames& names,
                                       std::string& why_not) {
  const std::optional<std::size_t> chosen = ChooseCounter(trace, MeaningOf(source), names);
  why_not = chosen ? WhyNotBySamples(trace, *chosen)
                   : fmt::format("no counter of {} in this trace", ToString(MeaningOf(source)));
  if (!why_not.empty()) return std::nullopt;
  const std::size_t counter = *chosen;
  const std::string& name = trace.counters[counter].name;
  // Counts and measured ticks of all bursts that no interruption touches.
  std::vector<std::pair<double, double>> of_ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for (const CountedBurst& burst : CountBursts(trace.timelines[rank], counter)) {
      if (burst.is_interrupted) continue;
      of_ranks[rank].first += burst.counts;
      of_ranks[rank].second += static_cast<double>(burst.ticks);
    }
  });
  double counts = 0, ticks = 0;
  for (const auto& [counts_of_rank, ticks_of_rank] : of_ranks) {
    counts += counts_of_rank;
    ticks += ticks_of_rank;
  }
  if (!(counts > 0) || !(ticks > 0)) {
    why_not = name + " counts nothing outside MPI";
    return std::nullopt;
  }
  if (source == ComputationSource::kCycles) {
    auto [rates, borrowed] = EstimateClocks(trace, counter);
    if (rates.empty()) {
      why_not = "no burst has both a length and counts of " + name;
      return std::nullopt;
    }
    std::vector<double> ticks_per_count;
    for (const double rate : rates) ticks_per_count.push_back(1 / rate);
    Computation computation = ByCounter(trace, source, counter, ticks_per_count);
    computation.description = DescribeClocks(trace, counter, rates);
    computation.clocks = std::move(rates);
    computation.diagnostics.Add(anomaly::kClockBorrowed, borrowed);
    return computation;
  }
  // At one rate on all ranks: that of CPU time, or the mean rate of instructions.
  const auto at_rate = [&](double rate, std::string description) {
    Computation computation = ByCounter(trace, source, counter, std::vector<double>(trace.size(), rate));
    computation.description = std::move(description);
    return computation;
  };
  if (source == ComputationSource::kInstructions) {
    return at_rate(ticks / counts,
                   fmt::format("instructions ({}) at the run's mean rate: a what-if about a uniform machine", name));
  }
  const double counts_per_second = CountsPerSecond(trace.counters[counter]);
  const double cpu = counts / counts_per_second, elapsed = ticks / trace.ticks_per_second;
  if (!(cpu <= kLargestCpuShare * elapsed && cpu >= kSmallestCpuShare * elapsed)) {
    why_not = fmt::format("{} counts {} in {} of computation: it has another unit, or is not of the main thread alone",
                          name, FormatSeconds(cpu), FormatSeconds(elapsed));
    return std::nullopt;
  }
  return at_rate(trace.ticks_per_second / counts_per_second, fmt::format("CPU time ({})", name));
}

// The part of a burst that lies inside an iteration.
Tick LengthInside(const RankTimeline& timeline, const Interval& iteration, std::size_t call) {
  const Tick begin = std::max(BurstBegin(timeline, call), iteration.begin.tick);
  const Tick end = std::min(BurstEnd(timeline, call), iteration.end.tick);
  return std::max<Tick>(0, end - begin);
}

// Replaces every burst of an iteration by its median over all iterations of the rank that make the same calls in the
// same order, heavy ones and others apart. Iterations without two others like them stay as measured, and so does what
// lies outside the iterations; a burst across an iteration's edge is replaced inside and kept outside. Returns the
// lengths, and the number of iterations that stay as measured.
std::pair<std::vector<Tick>, std::uint64_t> ReplaceByMedian(const RankTimeline& timeline, const RankCut& cut,
                                                            const HeavyIterations& heavy) {
  std::vector<Tick> lengths = MeasuredLengths(timeline);
  std::uint64_t as_measured = 0;
  std::map<std::pair<CallSequence, bool>, std::vector<const Interval*>> groups;
  for (std::size_t k = 0; k < cut.iterations.size(); ++k) {
    const Interval& iteration = cut.iterations[k];
    groups[{CallsOf(timeline, iteration), heavy.Has(k)}].push_back(&iteration);
  }
  for (const auto& [kind, iterations] : groups) {
    if (iterations.size() < kFewestLikeIterations) {
      as_measured += iterations.size();
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
        lengths[iterations[i]->begin.call + index] += typical - inside[i];
      }
    }
  }
  return {std::move(lengths), as_measured};
}

std::optional<Computation> FromIterations(const Trace& trace, const PhaseCut* cut, std::string& why_not) {
  if (cut == nullptr) {
    why_not = "no phase is given whose iterations could be compared";
    return std::nullopt;
  }
  std::vector<std::vector<double>> loads(trace.size());  // one an iteration, in ticks
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for (const Interval& iteration : cut->ranks[rank].iterations) {
      Tick sum = 0;
      for (std::size_t call = iteration.begin.call; call <= iteration.end.call; ++call)
        sum += LengthInside(trace.timelines[rank], iteration, call);
      loads[rank].push_back(static_cast<double>(sum));
    }
  });
  const HeavyIterations heavy =
      FindHeavyIterations(loads.size(), [&](std::size_t rank) { return std::span(loads[rank]); });
  Computation computation;
  computation.source = ComputationSource::kIterations;
  computation.description = fmt::format("median over iterations of {}: an estimate", Describe(cut->spec));
  computation.lengths.resize(trace.size());
  std::vector<std::uint64_t> as_measured(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    std::tie(computation.lengths[rank], as_measured[rank]) =
        ReplaceByMedian(trace.timelines[rank], cut->ranks[rank], heavy);
  });
  std::uint64_t iterations = 0;
  for (const RankCut& rank : cut->ranks) iterations += rank.iterations.size();
  const std::uint64_t kept = std::accumulate(as_measured.begin(), as_measured.end(), std::uint64_t{0});
  if (kept == iterations) {
    why_not = fmt::format("no {} iterations of phase '{}' have the same calls on any rank", kFewestLikeIterations,
                          cut->spec.name);
    return std::nullopt;
  }
  computation.diagnostics.Add(anomaly::kIterationWithoutLike, kept, "in phase " + cut->spec.name);
  computation.diagnostics.AddPopulation(anomaly::kIterationWithoutLike, iterations);
  return computation;
}

std::optional<Computation> From(const Trace& trace, ComputationSource source, const ComputationOptions& options,
                                std::string& why_not) {
  if (source == ComputationSource::kMeasured) return MeasuredComputation(trace);
  std::optional<Computation> computation = source == ComputationSource::kIterations
                                               ? FromIterations(trace, options.iterations, why_not)
                                               : FromCounter(trace, source, options.counters, why_not);
  if (computation) AddSums(trace, *computation);
  return computation;
}

}  // namespace

std::string ToString(ComputationSource source) { return kSourceNames[static_cast<std::size_t>(source)]; }

std::optional<ComputationSource> ParseComputationSource(std::string_view name) {
  const auto found = std::ranges::find(kSourceNames, name);
  if (found == kSourceNames.end()) return std::nullopt;
  return static_cast<ComputationSource>(found - kSourceNames.begin());
}

Computation CleanComputation(const Trace& trace, const ComputationOptions& options) {
  std::string why_not;
  if (options.source) {
    if (auto computation = From(trace, *options.source, options, why_not)) return *std::move(computation);
    throw Error(ErrorKind::kUsage, trace.path,
                fmt::format("computation cannot be taken from {}: {}", ToString(*options.source), why_not),
                *options.source == ComputationSource::kIterations
                    ? "name a region that repeats as a phase, or choose another source"
                    : ListCounters(trace) + "; name the one to use, or choose another source");
  }
  Diagnostics unusable;
  std::vector<std::string> reasons;
  for (const auto source : {ComputationSource::kCycles, ComputationSource::kCpuTime, ComputationSource::kIterations}) {
    if (auto computation = From(trace, source, options, why_not)) {
      computation->diagnostics.Merge(unusable);
      return *std::move(computation);
    }
    // That the trace has nothing of the kind is no anomaly.
    if (source != ComputationSource::kIterations && ChooseCounter(trace, MeaningOf(source), options.counters))
      unusable.Add(anomaly::kCounterNotUsed, 1, why_not);
    reasons.push_back(why_not);
  }
  Computation computation = MeasuredComputation(trace);
  computation.description += ": " + Join(reasons, ", ");
  computation.diagnostics = std::move(unusable);
  return computation;
}

std::optional<Computation> TryComputation(const Trace& trace, ComputationSource source, const CounterNames& counters) {
  std::string why_not;
  return From(trace, source, {source, counters, nullptr}, why_not);
}

Computation MeasuredComputation(const Trace& trace) {
  Computation computation;
  computation.lengths.resize(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { computation.lengths[rank] = MeasuredLengths(trace.timelines[rank]); });
  computation.description = "as measured";
  AddSums(trace, computation);
  return computation;
}

namespace {

// Chosen, and tested on simulated clocks with preempted bursts (clock_rate_test.cc).
constexpr std::size_t kFewestCountedBursts = 16;  // taken if there are so many
constexpr double kShareOfCounts = 0.1;            // share of all bursts that those taken must have
constexpr double kBin = 0.005;                    // width in the logarithm of a rate: half a percent
constexpr double kHalfWidth = 0.04;               // width of a mode: what clocks vary by from burst to burst
constexpr double kLargestHalfWidth = 0.5;
constexpr double kSignificant = 0.1;      // share of the heaviest mode's density
constexpr std::size_t kBurstsOfMode = 3;  // one or two bursts may be an error of the timer
constexpr std::size_t kFewInMode = 4;     // say nothing of their distribution
constexpr double kSmallestUncertainty = 0.005;
constexpr double kLargestUncertainty = 0.03;

// The number of bursts, by the number of the bin of their rate.
using Histogram = std::map<long, std::size_t>;

// The bin of the highest mode that is significant.
long UpperMode(const Histogram& histogram, long reach, std::size_t bursts) {
  // For every bin the height of the density, and the bursts that it rests on.
  std::map<long, std::pair<double, std::size_t>> densities;
  double largest = 0;
  for (const auto& [bin, content] : histogram) {
    auto& [height, bursts_there] = densities[bin];
    const auto end = histogram.upper_bound(bin + reach);
    for (auto i = histogram.lower_bound(bin - reach); i != end; ++i) {
      const double distance = static_cast<double>(i->first - bin) / static_cast<double>(reach + 1);
      height += static_cast<double>(i->second) * std::pow(1 - distance * distance, 2);
      bursts_there += i->second;
    }
    largest = std::max(largest, height);
  }
  const std::size_t needed = std::min(kBurstsOfMode, (bursts + 3) / 4);
  long heaviest = 0;
  for (auto i = densities.rbegin(); i != densities.rend(); ++i) {
    const long bin = i->first;
    const auto [height, bursts_there] = i->second;
    if (height == largest) heaviest = bin;
    if (height < kSignificant * largest || bursts_there < needed) continue;
    const auto end = densities.upper_bound(bin + reach);
    const auto higher = [own = height](const auto& neighbour) { return neighbour.second.first > own; };
    const bool is_mode = std::none_of(densities.lower_bound(bin - reach), end, higher);
    if (is_mode) return bin;
  }
  return heaviest;
}

}  // namespace

std::optional<ClockRate> EstimateClockRate(std::vector<CountedBurst> bursts, Tick long_from) {
  // Long bursts say most, as errors of their ends weigh little. But the long ones of a program of short bursts are
  // those that were disturbed; they are known by their counts, which are few for their length.
  std::erase_if(bursts,
                [](const CountedBurst& b) { return b.ticks <= 0 || !(b.counts > 0) || !std::isfinite(b.counts); });
  std::sort(bursts.begin(), bursts.end(), [](const CountedBurst& a, const CountedBurst& b) {
    return std::pair(a.ticks, a.counts) > std::pair(b.ticks, b.counts);
  });
  double total = 0, kept = 0;
  for (const CountedBurst& burst : bursts) total += burst.counts;
  std::size_t count = 0;
  while (count < bursts.size() &&
         (count < kFewestCountedBursts || bursts[count].ticks >= long_from || kept < kShareOfCounts * total)) {
    kept += bursts[count++].counts;
  }
  bursts.resize(count);
  if (bursts.empty()) return std::nullopt;
  // A mode is at least as wide as the step of the timer makes the rate of a typical burst.
  Tick step = 0;
  for (const CountedBurst& burst : bursts) step = std::gcd(step, burst.ticks);
  const double typical = static_cast<double>(bursts[bursts.size() / 2].ticks);
  const double width = std::min(kHalfWidth + 2 * static_cast<double>(step) / typical, kLargestHalfWidth);
  const long reach = std::lround(width / kBin);
  std::vector<double> log_rates;
  Histogram histogram;
  for (const CountedBurst& burst : bursts) {
    log_rates.push_back(std::log(burst.counts / static_cast<double>(burst.ticks)));
    ++histogram[static_cast<long>(std::floor(log_rates.back() / kBin))];
  }
  const double centre = (static_cast<double>(UpperMode(histogram, reach, bursts.size())) + 0.5) * kBin;
  const double half_width = (static_cast<double>(reach) + 0.5) * kBin;
  std::erase_if(log_rates, [&](double log_rate) { return std::abs(log_rate - centre) > half_width; });
  std::sort(log_rates.begin(), log_rates.end());
  // Within the mode, too, interruptions only lower the rate: the upper quartile rather than the median, and of few the
  // highest.
  const double upper = log_rates.size() <= kFewInMode ? log_rates.back() : QuantileOfSorted(log_rates, 0.75);
  const double lower = QuantileOfSorted(log_rates, 0.25);
  const double spread = (upper - lower) / 2 / std::sqrt(static_cast<double>(log_rates.size()));
  return ClockRate{std::exp(upper), std::clamp(3 * spread, kSmallestUncertainty, kLargestUncertainty), bursts.size()};
}

}  // namespace farscale
