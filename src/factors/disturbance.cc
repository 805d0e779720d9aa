#include "factors/phase_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "base/parallel.h"
#include "factors/anomalies.h"
#include "factors/useful_time.h"
#include "phases/iteration_shape.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "replay/computation.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// All numbers are chosen, so that undisturbed iterations seldom stand out [docs/formulas.md, clean cuts].
constexpr std::size_t kFewestForTrend = 5;  // with fewer iterations, noise makes a slope
constexpr std::size_t kMostForTrend = 400;  // more are thinned out, since all pairs are compared
// Deviations from the median, for an iteration that stands out, and the least difference that counts, as a share of an
// iteration. A median of few iterations is uncertain: both grow by the second number over the number of iterations.
constexpr double kDeviations = 3, kDeviationsOfOne = 15;
constexpr double kSmallest = 0.02, kSmallestOfOne = 0.1;
constexpr double kOddAlone = 0.1;             // share of an iteration, for one that is unlike all others, or waits
constexpr double kMostOutstanding = 1.0 / 3;  // if more stand out, the program itself varies

// Work that recurs every so many iterations is the program's: those iterations are compared with each other, and so are
// those behind them, in which ranks may still wait for it. 0: all others.
std::vector<std::size_t> PlacesInCycle(const std::vector<std::vector<double>>& useful, std::size_t iterations) {
  const HeavyIterations heavy =
      FindHeavyIterations(useful.size(), [&](std::size_t rank) { return std::span(useful[rank]); });
  std::vector<std::size_t> places(iterations);
  for (std::size_t k = heavy.first; heavy.every > 0 && k < iterations; k += heavy.every) {
    places[k] = 1;
    if (heavy.every > 2 && k + 1 < iterations) places[k + 1] = 2;
  }
  return places;
}

// Growth of the work of iterations along the run: a straight line through the mean useful time, with the
// median of the slopes between all pairs [Sen68]; constant for few iterations.
std::vector<double> Trend(const std::vector<std::vector<double>>& useful, std::size_t iterations) {
  std::vector<double> mean(iterations, 0.0);
  for (const std::vector<double>& of_rank : useful) {
    for (std::size_t k = 0; k < of_rank.size(); ++k) mean[k] += of_rank[k];
  }
  std::vector<double> trend(iterations, 1.0);
  if (iterations < kFewestForTrend) return trend;
  const std::size_t step = (iterations + kMostForTrend - 1) / kMostForTrend;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < iterations; i += step) {
    for (std::size_t j = i + step; j < iterations; j += step) {
      slopes.push_back((mean[j] - mean[i]) / static_cast<double>(j - i));
    }
  }
  const double slope = Median(slopes), middle = static_cast<double>(iterations - 1) / 2;
  std::vector<double> levels;
  for (std::size_t k = 0; k < iterations; ++k) {
    levels.push_back(mean[k] - slope * (static_cast<double>(k) - middle));
  }
  const double level = Median(levels);
  if (level <= 0) return trend;
  for (std::size_t k = 0; k < iterations; ++k) {
    trend[k] = std::max(0.1, 1 + slope * (static_cast<double>(k) - middle) / level);
  }
  return trend;
}

// Undisturbed computation time of a rank's iterations: between any two calls the median over the iterations with the
// same calls and the same place in a cycle, scaled by instructions where they are recorded, else along the trend.
std::vector<double> ExpectedTimes(const RankTimeline& timeline, const std::vector<Interval>& iterations,
                                  const std::vector<double>& useful, const std::vector<double>& trend,
                                  const std::vector<std::size_t>& cycle, std::optional<std::size_t> instructions) {
  const bool has_counts =
      instructions && timeline.has_counter(*instructions) && timeline.counter_is_reliable(*instructions);
  std::vector<double> expected(iterations.size());
  std::map<std::pair<CallSequence, std::size_t>, std::vector<std::size_t>> alike;
  for (std::size_t k = 0; k < iterations.size(); ++k) {
    alike[{CallsOf(timeline, iterations[k]), cycle[k]}].push_back(k);
  }
  for (const auto& [kind, group] : alike) {
    if (group.size() < kFewestLikeIterations) {
      for (const std::size_t k : group) expected[k] = useful[k];  // nothing to compare with
      continue;
    }
    for (std::size_t place = 0; place <= kind.first.size(); ++place) {
      std::vector<double> lengths, work, rates;
      bool counted = has_counts;
      for (const std::size_t k : group) {
        const Interval burst = BurstAt(timeline, iterations[k], place);
        lengths.push_back(static_cast<double>(UsefulTicks(timeline, burst)));
        if (has_counts) work.push_back(UsefulCount(timeline, *instructions, burst));
        counted = counted && work.back() > 0;
      }
      if (!counted) {
        work.clear();
        for (const std::size_t k : group) work.push_back(trend[k]);
      }
      for (std::size_t i = 0; i < group.size(); ++i) rates.push_back(lengths[i] / work[i]);
      const double rate = Median(std::move(rates));
      for (std::size_t i = 0; i < group.size(); ++i) expected[group[i]] += rate * work[i];
    }
  }
  return expected;
}

// Ticks of useful time beyond what a clock of the rank's usual speed would have taken, one entry an iteration.
std::vector<double> SlowClock(const RankTimeline& timeline, const std::vector<Interval>& iterations,
                              const std::vector<double>& useful, std::size_t cycles) {
  std::vector<double> rates, lost(iterations.size());
  for (std::size_t k = 0; k < iterations.size(); ++k) {
    rates.push_back(useful[k] > 0 ? UsefulCount(timeline, cycles, iterations[k]) / useful[k] : 0);
  }
  const double usual = Median(rates);
  if (usual <= 0) return lost;
  for (std::size_t k = 0; k < iterations.size(); ++k) lost[k] = std::max(0.0, (1 - rates[k] / usual) * useful[k]);
  return lost;
}

// Numbers iterations of every rank, so that those with the same calls at the same place in a cycle have the same
// number.
std::vector<std::vector<std::size_t>> KindsOfIterations(const Trace& trace, const PhaseCut& cut,
                                                        const std::vector<std::size_t>& cycle) {
  std::vector<std::vector<std::size_t>> kinds(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    std::map<std::pair<CallSequence, std::size_t>, std::size_t> numbers;
    for (const Interval& iteration : cut.ranks[rank].iterations) {
      const std::pair kind(TurnsOf(timeline, iteration), cycle[kinds[rank].size()]);
      kinds[rank].push_back(numbers.try_emplace(kind, numbers.size()).first->second);
    }
  });
  return kinds;
}

// Iterations of which most ranks have fewer than `fewest` of their kind.
std::vector<bool> AreRare(const std::vector<std::vector<std::size_t>>& kinds, std::size_t iterations,
                          std::size_t fewest) {
  std::vector<std::size_t> ranks(iterations);
  for (const std::vector<std::size_t>& of_rank : kinds) {
    std::vector<std::size_t> count(of_rank.size());
    for (const std::size_t kind : of_rank) ++count[kind];
    for (std::size_t k = 0; k < of_rank.size(); ++k) ranks[k] += count[of_rank[k]] < fewest ? 1 : 0;
  }
  std::vector<bool> rare;
  for (const std::size_t count : ranks) rare.push_back(2 * count > kinds.size());
  return rare;
}

// Adds the excess of each value of a rank over the median of its kind.
void AddBeyondUsual(const std::vector<double>& values, const std::vector<std::size_t>& kinds, double ranks,
                    std::vector<double>& beyond) {
  std::map<std::size_t, std::vector<double>> by_kind;
  for (std::size_t k = 0; k < kinds.size(); ++k) by_kind[kinds[k]].push_back(values[k]);
  std::map<std::size_t, double> usual;
  for (auto& [kind, of_kind] : by_kind) {
    if (of_kind.size() >= kFewestLikeIterations) usual[kind] = Median(std::move(of_kind));
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto found = usual.find(kinds[k]);
    if (found != usual.end()) beyond[k] += (values[k] - found->second) / ranks;
  }
}

// The disturbances of iterations by means over the ranks, and the length of a usual iteration. A kind of fewer than
// three iterations is not judged. Of `regular` the usual time in MPI alone.
std::pair<std::vector<Disturbance>, double> MeasureIterations(const Trace& trace, const PhaseCut& cut,
                                                              const ReplayResult& replay,
                                                              const std::vector<std::vector<std::size_t>>& kinds,
                                                              const std::vector<std::vector<double>>& useful,
                                                              const std::vector<double>& trend) {
  // Length, its useful part, its excess over the median of its kind, the same beyond the ideal replay, and in MPI.
  std::vector<double> elapsed(cut.iterations), mean_useful(elapsed), longer(elapsed), unexplained(elapsed),
      calls_beyond(elapsed);
  const auto ranks = static_cast<double>(trace.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankCut& rank_cut = cut.ranks[rank];
    std::vector<double> beyond_ideal, lengths, calls;
    for (std::size_t k = 0; k < rank_cut.iterations.size(); ++k) {
      const Interval& iteration = rank_cut.iterations[k];
      const Tick ideal = replay.TimeAt(trace.timelines[rank], rank_cut, rank, iteration.end) -
                         replay.TimeAt(trace.timelines[rank], rank_cut, rank, iteration.begin);
      elapsed[k] += static_cast<double>(iteration.length()) / ranks;
      mean_useful[k] += useful[rank][k] / ranks;
      beyond_ideal.push_back(static_cast<double>(iteration.length() - ideal));
      lengths.push_back(static_cast<double>(iteration.length()) / trend[k]);
      calls.push_back(static_cast<double>(iteration.length()) - useful[rank][k]);
    }
    AddBeyondUsual(beyond_ideal, kinds[rank], ranks, unexplained);
    AddBeyondUsual(lengths, kinds[rank], ranks, longer);
    AddBeyondUsual(calls, kinds[rank], ranks, calls_beyond);
  }
  const double usual = std::max(1.0, Median(elapsed)), usually_useful = std::max(1.0, Median(mean_useful));
  std::vector<Disturbance> disturbances(cut.iterations);
  for (std::size_t k = 0; k < cut.iterations; ++k) {
    Disturbance& d = disturbances[k];
    d.calls = std::max(0.0, unexplained[k]) / usual;
    d.longer = std::max(0.0, longer[k]) / usual;
    d.odd = std::max(elapsed[k] / usual - 1, std::fabs(mean_useful[k] / usually_useful - 1));
    d.regular = (elapsed[k] - mean_useful[k] - calls_beyond[k]) / usual;
  }
  return {std::move(disturbances), usual};
}

}  // namespace

std::vector<Disturbance> MeasureDisturbance(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                            const FactorOptions& options) {
  const bool is_comparable = std::ranges::all_of(
      cut.ranks, [&](const RankCut& rank) { return !rank.present || rank.iterations.size() == cut.iterations; });
  if (!is_comparable || cut.iterations < kFewestLikeIterations) return {};
  std::vector<std::vector<double>> useful(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    for (const Interval& iteration : cut.ranks[rank].iterations) {
      useful[rank].push_back(static_cast<double>(UsefulTicks(trace.timelines[rank], iteration)));
    }
  });
  const std::vector<double> trend = Trend(useful, cut.iterations);
  const std::vector<std::size_t> cycle = PlacesInCycle(useful, cut.iterations);
  const auto instructions = ChooseCounter(trace, CounterMeaning::kInstructions, options.counters);
  auto clock = ChooseCounter(trace, CounterMeaning::kCycles, options.counters);
  if (!clock) clock = ChooseCounter(trace, CounterMeaning::kCpuTime, options.counters);
  std::vector<std::vector<double>> expected(trace.size()), longer(trace.size()), slower(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    const RankTimeline& timeline = trace.timelines[rank];
    expected[rank] = ExpectedTimes(timeline, iterations, useful[rank], trend, cycle, instructions);
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      longer[rank].push_back(std::max(0.0, useful[rank][k] - expected[rank][k]));
    }
    const bool has_clock = clock && timeline.has_counter(*clock) && timeline.counter_is_reliable(*clock);
    if (has_clock && !iterations.empty()) slower[rank] = SlowClock(timeline, iterations, useful[rank], *clock);
  });
  const std::vector<std::vector<std::size_t>> kinds = KindsOfIterations(trace, cut, cycle);
  const std::vector<bool> alone = AreRare(kinds, cut.iterations, 2);
  const std::vector<bool> rare = AreRare(kinds, cut.iterations, kFewestLikeIterations);
  const ReplayResult replay = Replay(trace, matching, cut, {options.rules, true});
  auto [disturbances, usual] = MeasureIterations(trace, cut, replay, kinds, useful, trend);
  for (std::size_t k = 0; k < cut.iterations; ++k) {
    Disturbance& d = disturbances[k];
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      if (!longer[rank].empty() && longer[rank][k] / usual > d.bursts) {
        d.bursts = longer[rank][k] / usual;
        d.bursts_rank = rank;
      }
      if (!slower[rank].empty() && slower[rank][k] / usual > d.clock) {
        d.clock = slower[rank][k] / usual;
        d.clock_rank = rank;
      }
    }
    d.is_judged = !rare[k];
    d.is_alone = alone[k];
    for (const std::vector<double>& of_rank : expected) {
      if (!of_rank.empty()) d.regular += of_rank[k] / usual / static_cast<double>(trace.size());
    }
  }
  return std::move(disturbances);
}

namespace {

// The upper limit of a measure that does not stand out.
double Limit(const std::vector<Disturbance>& iterations, double Disturbance::*measure) {
  std::vector<double> values;
  for (const Disturbance& d : iterations) values.push_back(d.*measure);
  const double centre = Median(values);
  for (double& value : values) value = std::fabs(value - centre);
  const auto count = static_cast<double>(values.size());
  const double deviation = kDeviationOverMedianDistance * Median(std::move(values));
  return centre + std::max((kDeviations + kDeviationsOfOne / count) * deviation, kSmallest + kSmallestOfOne / count);
}

// Why iterations stand out; empty for those that do not.
std::vector<std::string> Reasons(const std::vector<Disturbance>& iterations) {
  const double bursts = Limit(iterations, &Disturbance::bursts), clock = Limit(iterations, &Disturbance::clock),
               calls = Limit(iterations, &Disturbance::calls), longer = Limit(iterations, &Disturbance::longer);
  std::vector<std::string> reasons;
  for (const Disturbance& d : iterations) {
    std::string& reason = reasons.emplace_back();
    const auto add = [&](const std::string& text) { reason += (reason.empty() ? "" : "; ") + text; };
    if (d.bursts > bursts) {
      add(fmt::format("rank {} computes {} of an iteration longer than usual", d.bursts_rank, FormatPercent(d.bursts)));
    }
    if (d.clock > clock) {
      add(fmt::format("a slower clock, or preemption, costs rank {} {} of an iteration", d.clock_rank,
                      FormatPercent(d.clock)));
    }
    if (d.is_alone && d.odd > kOddAlone) {
      add(fmt::format("makes calls that no other iteration makes, and differs by {} from the usual",
                      FormatPercent(d.odd)));
    }
    if (d.calls > calls) {
      add(fmt::format("MPI takes {} of an iteration longer than the replay explains and is usual",
                      FormatPercent(d.calls)));
    }
    if (reason.empty() && d.longer > std::max(longer, kOddAlone)) {
      add(fmt::format("ranks wait: takes {} of an iteration longer than others with the same calls",
                      FormatPercent(d.longer)));
    }
  }
  return reasons;
}

}  // namespace

std::size_t CleanChoice::Kept() const { return static_cast<std::size_t>(std::count(kept.begin(), kept.end(), true)); }

double CleanChoice::RegularWorkLost() const {
  double all = 0, in_kept = 0;
  for (std::size_t k = 0; k < iterations.size(); ++k) {
    all += iterations[k].regular;
    if (kept[k]) in_kept += iterations[k].regular;
  }
  if (!(all > 0) || Kept() == 0) return 0;
  const double average = all / static_cast<double>(kept.size());
  return std::fabs(1 - in_kept / static_cast<double>(Kept()) / average);
}

CleanChoice ChooseClean(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                        const FactorOptions& options) {
  CleanChoice choice;
  choice.kept.assign(cut.iterations, true);
  choice.reasons.resize(cut.iterations);
  choice.iterations = MeasureDisturbance(trace, matching, cut, options);
  if (choice.iterations.empty()) return choice;
  choice.reasons = Reasons(choice.iterations);
  const auto outstanding = std::count_if(choice.reasons.begin(), choice.reasons.end(),
                                         [](const std::string& reason) { return !reason.empty(); });
  if (static_cast<double>(outstanding) > kMostOutstanding * static_cast<double>(cut.iterations)) {
    choice.too_many_differ = true;
    choice.reasons.assign(cut.iterations, "");
  }
  if (!cut.spec.clean) return choice;
  std::vector<std::size_t> order(cut.iterations);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t first = 0, count = 0;  // in that order
  if (*cut.spec.clean == kLongestRun) {
    // The longest run of clean iterations; of equally long ones that with the least disturbance, then the earliest.
    double best_total = 0;
    for (std::size_t begin = 0, end = 0; begin < cut.iterations; begin = end + 1) {
      double total = 0;
      for (end = begin; end < cut.iterations && choice.reasons[end].empty(); ++end) {
        total += choice.iterations[end].Total();
      }
      if (end - begin > count || (end - begin == count && count > 0 && total < best_total)) {
        first = begin;
        count = end - begin;
        best_total = total;
      }
    }
  } else {
    // The cleanest. Those that cannot be compared come last.
    count = std::min(*cut.spec.clean, cut.iterations);
    std::ranges::stable_sort(order, {}, [&](std::size_t k) {
      return std::pair(!choice.iterations[k].is_judged, choice.iterations[k].Total());
    });
  }
  choice.kept.assign(cut.iterations, false);
  for (std::size_t i = first; i < first + count; ++i) choice.kept[order[i]] = true;
  return choice;
}

PhaseCut CutClean(const Trace& trace, const Matching& matching, const PhaseCut& cut, const FactorOptions& options) {
  return cut.spec.clean ? KeepClean(trace, cut, ChooseClean(trace, matching, cut, options)) : cut;
}

PhaseCut KeepClean(const Trace& trace, const PhaseCut& cut, const CleanChoice& choice) {
  if (!cut.spec.clean) return cut;
  PhaseCut clean = KeepIterations(trace, cut, choice.kept);
  Diagnostics& diagnostics = clean.diagnostics;
  for (std::size_t k = 0; k < cut.iterations; ++k) {
    if (choice.kept[k]) continue;
    const std::string reason = choice.reasons[k].empty() ? "" : ", " + choice.reasons[k];
    diagnostics.Add(anomaly::kIterationLeftOut, 1,
                    fmt::format("in phase {}: iteration {}{}", cut.spec.name, cut.spec.skip + k + 1, reason));
  }
  if (!choice.KeepsAll()) diagnostics.AddPopulation(anomaly::kIterationLeftOut, cut.iterations);
  if (choice.iterations.empty() || choice.too_many_differ) {
    const std::string why = choice.too_many_differ                   ? "more than a third stand out"
                            : cut.iterations < kFewestLikeIterations ? "fewer than three iterations"
                                                                     : "ranks differ in how many they have";
    diagnostics.Add(anomaly::kDisturbanceUnknown, 1, "in phase " + cut.spec.name + ": " + why);
  }
  return clean;
}

}  // namespace farscale
