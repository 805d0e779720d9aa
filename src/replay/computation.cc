#include "replay/computation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/bursts.h"
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
constexpr std::array<std::pair<ComputationSource, std::string_view>, 5> kSourceNames = {{
    {ComputationSource::kMeasured, "measured"},
    {ComputationSource::kCycles, "cycles"},
    {ComputationSource::kCpuTime, "cpu-time"},
    {ComputationSource::kIterations, "iterations"},
    {ComputationSource::kInstructions, "instructions"},
}};

// The result of trying a source: the computation, or why there is none.
struct Attempt {
  std::optional<Computation> computation;
  std::string reason;
  bool is_absent = false;  // the trace has nothing of the kind, which is no anomaly
};

Attempt Fail(std::string reason, bool is_absent = false) { return {std::nullopt, std::move(reason), is_absent}; }

// Lengths by counts. The running total is rounded, not the single burst, so that sums are exact to the tick;
// interrupted bursts stay as measured.
std::vector<Tick> ToTicks(const CountedRank& rank, double ticks_per_count) {
  std::vector<Tick> lengths = rank.measured;
  double counted = 0;
  Tick reached = 0;
  for (std::size_t call = 0; call < lengths.size(); ++call) {
    if (rank.interrupted[call]) continue;
    counted += rank.counts[call];
    const auto total = static_cast<Tick>(std::llround(std::min(counted * ticks_per_count, kLargestSum)));
    lengths[call] = total - std::exchange(reached, total);
  }
  return lengths;
}

// Counts and measured ticks of all bursts that no interruption touches.
struct RankTotal {
  double counts = 0;
  double ticks = 0;
  std::uint64_t interrupted = 0;
};

RankTotal CountTotal(const Trace& trace, std::size_t counter) {
  std::vector<RankTotal> ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const CountedRank counted = CountBursts(trace.timelines[rank], counter);
    for (std::size_t call = 0; call < counted.counts.size(); ++call) {
      ranks[rank].interrupted += counted.interrupted[call];
      if (counted.interrupted[call]) continue;
      ranks[rank].counts += counted.counts[call];
      ranks[rank].ticks += static_cast<double>(counted.measured[call]);
    }
  });
  RankTotal total;
  for (const RankTotal& rank : ranks) {
    total.counts += rank.counts;
    total.ticks += rank.ticks;
    total.interrupted += rank.interrupted;
  }
  return total;
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

std::string WhyNotByTotal(const Trace& trace, ComputationSource source, std::size_t counter, const RankTotal& total) {
  const std::string& name = trace.counters[counter].name;
  if (!(total.counts > 0) || !(total.ticks > 0)) return name + " counts nothing outside MPI";
  if (source != ComputationSource::kCpuTime) return "";
  const double cpu = total.counts / CountsPerSecond(trace.counters[counter]);
  const double elapsed = total.ticks / trace.ticks_per_second;
  if (cpu <= kLargestCpuShare * elapsed && cpu >= kSmallestCpuShare * elapsed) return "";
  return fmt::format("{} counts {} in {} of computation: it has another unit, or is not of the main thread alone", name,
                     FormatSeconds(cpu), FormatSeconds(elapsed));
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

// Every rank's bursts by a counter at the rank's own rate.
Computation ByCounter(const Trace& trace, ComputationSource source, std::size_t counter, const RankTotal& total,
                      const std::vector<double>& ticks_per_count) {
  Computation computation;
  computation.source = source;
  computation.lengths.resize(trace.size());
  std::uint64_t bursts = 0;
  for (const RankTimeline& timeline : trace.timelines) bursts += timeline.calls() + 1;
  ParallelFor(trace.size(), [&](std::size_t rank) {
    computation.lengths[rank] = ToTicks(CountBursts(trace.timelines[rank], counter), ticks_per_count[rank]);
  });
  computation.diagnostics.Add(anomaly::kBurstInterrupted, total.interrupted);
  computation.diagnostics.AddPopulation(anomaly::kBurstInterrupted, bursts);
  return computation;
}

Tick LongFrom(const Trace& trace) {
  return static_cast<Tick>(std::min(std::ceil(kLongBurstSeconds * trace.ticks_per_second), kLargestSum));
}

std::vector<CountedBurst> BurstsOf(const RankTimeline& timeline, std::size_t counter) {
  const CountedRank rank = CountBursts(timeline, counter);
  std::vector<CountedBurst> bursts;
  bursts.reserve(rank.counts.size());
  for (std::size_t call = 0; call < rank.counts.size(); ++call) {
    if (!rank.interrupted[call]) bursts.push_back({rank.measured[call], rank.counts[call]});
  }
  return bursts;
}

// Counts per tick of every rank.
struct Clocks {
  std::vector<double> rates;
  bool is_common = false;
  std::uint64_t borrowed = 0;  // for ranks with too few bursts of their own
};

// The rate that fits all ranks best; where none has bursts enough, all together know more than each by itself.
std::optional<double> CommonRate(const Trace& trace, std::size_t counter,
                                 const std::vector<std::optional<ClockRate>>& own) {
  std::vector<double> known;
  for (const auto& rate : own) {
    if (rate) known.push_back(rate->counts_per_tick);
  }
  if (!known.empty()) return Median(std::move(known));
  std::vector<CountedBurst> bursts;
  for (const RankTimeline& timeline : trace.timelines) {
    const std::vector<CountedBurst> more = BurstsOf(timeline, counter);
    bursts.insert(bursts.end(), more.begin(), more.end());
  }
  const auto rate = EstimateClockRate(std::move(bursts), LongFrom(trace));
  return rate ? std::optional(rate->counts_per_tick) : std::nullopt;
}

std::optional<Clocks> EstimateClocks(const Trace& trace, std::size_t counter) {
  std::vector<std::optional<ClockRate>> own(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    own[rank] = EstimateClockRate(BurstsOf(trace.timelines[rank], counter), LongFrom(trace));
    if (own[rank] && own[rank]->bursts < kFewestBursts) own[rank].reset();
  });
  const std::optional<double> common = CommonRate(trace, counter, own);
  if (!common) return std::nullopt;
  Clocks clocks;
  clocks.is_common = std::all_of(own.begin(), own.end(), [&](const auto& rate) {
    return !rate || std::abs(rate->counts_per_tick / *common - 1) <= rate->uncertainty;
  });
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    clocks.rates.push_back(own[rank] && !clocks.is_common ? own[rank]->counts_per_tick : *common);
    clocks.borrowed += !own[rank] && !clocks.is_common && !trace.timelines[rank].empty();
  }
  return clocks;
}

std::string DescribeClocks(const Trace& trace, std::size_t counter, const Clocks& clocks) {
  const double hertz = trace.ticks_per_second * trace.counters[counter].scale;
  const auto [lowest, highest] = std::minmax_element(clocks.rates.begin(), clocks.rates.end());
  const bool is_giga = *highest * hertz >= 1e7;
  const auto format = [&](double rate) {
    return is_giga ? fmt::format("{:.2f}", rate * hertz / 1e9) : fmt::format("{:.3g}", rate * hertz);
  };
  std::string range = format(*lowest);
  if (format(*highest) != range) range += " to " + format(*highest);
  return fmt::format("cycles ({}) at {} {}, estimated {}from this trace", trace.counters[counter].name, range,
                     is_giga ? "GHz" : "Hz", clocks.is_common ? "" : "for every rank ");
}

Attempt FromCycles(const Trace& trace, std::size_t counter, const RankTotal& total) {
  const std::optional<Clocks> clocks = EstimateClocks(trace, counter);
  if (!clocks) return Fail("no burst has both a length and counts of " + trace.counters[counter].name);
  std::vector<double> ticks_per_count;
  for (const double rate : clocks->rates) ticks_per_count.push_back(1 / rate);
  Computation computation = ByCounter(trace, ComputationSource::kCycles, counter, total, ticks_per_count);
  computation.clocks = clocks->rates;
  computation.description = DescribeClocks(trace, counter, *clocks);
  computation.diagnostics.Add(anomaly::kClockBorrowed, clocks->borrowed);
  return {std::move(computation), "", false};
}

// At one rate on all ranks: that of CPU time, or the mean rate of instructions.
Attempt FromRate(const Trace& trace, ComputationSource source, std::size_t counter, const RankTotal& total) {
  const bool is_cpu_time = source == ComputationSource::kCpuTime;
  const double rate =
      is_cpu_time ? trace.ticks_per_second / CountsPerSecond(trace.counters[counter]) : total.ticks / total.counts;
  Computation computation = ByCounter(trace, source, counter, total, std::vector<double>(trace.size(), rate));
  const std::string& name = trace.counters[counter].name;
  computation.description =
      is_cpu_time ? fmt::format("CPU time ({})", name)
                  : fmt::format("instructions ({}) at the run's mean rate: a what-if about a uniform machine", name);
  return {std::move(computation), "", false};
}

CounterMeaning MeaningOf(ComputationSource source) {
  switch (source) {
    case ComputationSource::kCycles: return CounterMeaning::kCycles;
    case ComputationSource::kCpuTime: return CounterMeaning::kCpuTime;
    default: return CounterMeaning::kInstructions;
  }
}

Attempt FromCounter(const Trace& trace, ComputationSource source, const CounterNames& names) {
  const std::optional<std::size_t> counter = ChooseCounter(trace, MeaningOf(source), names);
  if (!counter) return Fail(fmt::format("no counter of {} in this trace", ToString(MeaningOf(source))), true);
  std::string why_not = WhyNotBySamples(trace, *counter);
  if (!why_not.empty()) return Fail(std::move(why_not));
  const RankTotal total = CountTotal(trace, *counter);
  why_not = WhyNotByTotal(trace, source, *counter, total);
  if (!why_not.empty()) return Fail(std::move(why_not));
  return source == ComputationSource::kCycles ? FromCycles(trace, *counter, total)
                                              : FromRate(trace, source, *counter, total);
}

Attempt FromIterations(const Trace& trace, const PhaseCut* cut) {
  if (cut == nullptr) return Fail("no phase is given whose iterations could be compared", true);
  std::vector<std::vector<double>> loads(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    loads[rank] = ComputationOfIterations(trace.timelines[rank], cut->ranks[rank]);
  });
  const HeavyIterations heavy =
      FindHeavyIterations(loads.size(), [&](std::size_t rank) { return std::span(loads[rank]); });
  std::vector<TypicalIterations> ranks(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { ranks[rank] = ReplaceByMedian(trace.timelines[rank], cut->ranks[rank], heavy); });
  Computation computation;
  computation.source = ComputationSource::kIterations;
  computation.description = fmt::format("median over iterations of {}: an estimate", Describe(cut->spec));
  std::uint64_t iterations = 0, as_measured = 0;
  for (TypicalIterations& rank : ranks) {
    computation.lengths.push_back(std::move(rank.lengths));
    iterations += rank.iterations;
    as_measured += rank.as_measured;
  }
  if (as_measured == iterations) {
    return Fail(fmt::format("no {} iterations of phase '{}' have the same calls on any rank", kFewestLikeIterations,
                            cut->spec.name),
                true);
  }
  computation.diagnostics.Add(anomaly::kIterationWithoutLike, as_measured, "in phase " + cut->spec.name);
  computation.diagnostics.AddPopulation(anomaly::kIterationWithoutLike, iterations);
  return {std::move(computation), "", false};
}

Attempt From(const Trace& trace, ComputationSource source, const ComputationOptions& options) {
  switch (source) {
    case ComputationSource::kMeasured: return {MeasuredComputation(trace), "", false};
    case ComputationSource::kIterations: return FromIterations(trace, options.iterations);
    default: return FromCounter(trace, source, options.counters);
  }
}

}  // namespace

std::string ToString(ComputationSource source) {
  return std::string(kSourceNames[static_cast<std::size_t>(source)].second);
}

std::optional<ComputationSource> ParseComputationSource(std::string_view name) {
  for (const auto& [source, known] : kSourceNames) {
    if (known == name) return source;
  }
  return std::nullopt;
}

Computation CleanComputation(const Trace& trace, const ComputationOptions& options) {
  if (options.source) {
    Attempt attempt = From(trace, *options.source, options);
    if (!attempt.computation) {
      throw Error(ErrorKind::kUsage, trace.path,
                  fmt::format("computation cannot be taken from {}: {}", ToString(*options.source), attempt.reason),
                  *options.source == ComputationSource::kIterations
                      ? "name a region that repeats as a phase, or choose another source"
                      : ListCounters(trace) + "; name the one to use, or choose another source");
    }
    AddSums(trace, *attempt.computation);
    return *std::move(attempt.computation);
  }
  Diagnostics unusable;
  std::vector<std::string> reasons;
  for (const auto source : {ComputationSource::kCycles, ComputationSource::kCpuTime, ComputationSource::kIterations}) {
    Attempt attempt = From(trace, source, options);
    if (attempt.computation) {
      attempt.computation->diagnostics.Merge(unusable);
      AddSums(trace, *attempt.computation);
      return *std::move(attempt.computation);
    }
    if (!attempt.is_absent) unusable.Add(anomaly::kCounterNotUsed, 1, attempt.reason);
    reasons.push_back(attempt.reason);
  }
  Computation computation = MeasuredComputation(trace);
  computation.description += ": " + Join(reasons, ", ");
  computation.diagnostics = std::move(unusable);
  return computation;
}

std::optional<Computation> TryComputation(const Trace& trace, ComputationSource source, const CounterNames& counters) {
  Attempt attempt = From(trace, source, {source, counters, nullptr});
  if (attempt.computation) AddSums(trace, *attempt.computation);
  return std::move(attempt.computation);
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

// Long bursts say most, as errors of their ends weigh little. But the long ones of a program of short bursts are those
// that were disturbed; they are known by their counts, which are few for their length.
void KeepLong(std::vector<CountedBurst>& bursts, Tick long_from) {
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
}

// A mode is at least as wide as the step of the timer makes the rate of a typical burst.
double HalfWidth(const std::vector<CountedBurst>& bursts) {
  Tick step = 0;
  for (const CountedBurst& burst : bursts) step = std::gcd(step, burst.ticks);
  const double typical = static_cast<double>(bursts[bursts.size() / 2].ticks);
  return std::min(kHalfWidth + 2 * static_cast<double>(step) / typical, kLargestHalfWidth);
}

// The height of the density in a bin, and the bursts that it rests on.
std::pair<double, std::size_t> Density(const Histogram& histogram, long bin, long reach) {
  double height = 0;
  std::size_t bursts = 0;
  const auto end = histogram.upper_bound(bin + reach);
  for (auto i = histogram.lower_bound(bin - reach); i != end; ++i) {
    const double distance = static_cast<double>(i->first - bin) / static_cast<double>(reach + 1);
    height += static_cast<double>(i->second) * std::pow(1 - distance * distance, 2);
    bursts += i->second;
  }
  return {height, bursts};
}

// The bin of the highest mode that is significant.
long UpperMode(const Histogram& histogram, long reach, std::size_t bursts) {
  std::map<long, std::pair<double, std::size_t>> densities;
  double largest = 0;
  for (const auto& [bin, content] : histogram) {
    densities[bin] = Density(histogram, bin, reach);
    largest = std::max(largest, densities[bin].first);
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
  KeepLong(bursts, long_from);
  if (bursts.empty()) return std::nullopt;
  const long reach = std::lround(HalfWidth(bursts) / kBin);
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
