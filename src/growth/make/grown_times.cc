#include "growth/make/grown_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/diagnostics.h"
#include "base/text.h"
#include "growth/growth_model.h"
#include "replay/replay.h"

namespace farscale {

std::vector<std::size_t> CountKinds(const std::vector<std::size_t>& kinds, const std::vector<std::size_t>& chosen) {
  std::vector<std::size_t> counts(1 + *std::ranges::max_element(kinds), 0);
  for (const std::size_t iteration : chosen) ++counts[kinds[iteration]];
  return counts;
}

std::vector<std::size_t> ChooseIterations(const std::vector<std::size_t>& kinds, std::size_t count) {
  std::vector<std::size_t> all(kinds.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (count >= kinds.size()) return all;
  const std::vector<std::size_t> of_kinds = CountKinds(kinds, all);
  std::vector<std::size_t> left(of_kinds.size(), 1);
  const auto missing = [&](std::size_t kind) {  // missing from the kind's share
    return static_cast<double>(of_kinds[kind] * count) / static_cast<double>(kinds.size()) -
           static_cast<double>(left[kind]);
  };
  for (std::size_t made = left.size(); made < count; ++made) {
    std::size_t most = 0;
    for (std::size_t kind = 1; kind < left.size(); ++kind) {
      if (missing(kind) > missing(most)) most = kind;
    }
    ++left[most];
  }
  std::vector<std::size_t> chosen;
  for (const std::size_t iteration : all) {
    if (left[kinds[iteration]] == 0) continue;
    --left[kinds[iteration]];
    chosen.push_back(iteration);
  }
  return chosen;
}

double TimeOfAll(const std::vector<std::size_t>& kinds, const std::vector<std::size_t>& chosen,
                 const std::vector<Tick>& ends, const std::vector<Tick>& work) {
  auto time = static_cast<double>(ends.back());
  if (chosen.size() == kinds.size()) return time;
  // Time and computation of the iterations of each kind that show how long another one takes.
  const std::vector<std::size_t> counts = CountKinds(kinds, chosen);
  std::vector<double> times(counts.size()), works(counts.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::size_t kind = kinds[chosen[i]];
    if (i == 0 && counts[kind] > 1) continue;
    times[kind] += static_cast<double>(ends[i] - (i > 0 ? ends[i - 1] : 0));
    works[kind] += static_cast<double>(work[chosen[i]]);
  }
  for (std::size_t i = 0, next = 0; i < kinds.size(); ++i) {
    if (next < chosen.size() && chosen[next] == i) {
      ++next;
    } else {
      const double pace = works[kinds[i]] > 0 ? times[kinds[i]] / works[kinds[i]] : 0;
      time += pace * static_cast<double>(work[i]);
    }
  }
  return time;
}

PhaseTotals MeasureGrown(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                         const GrownLoads& loads, const ReplayRules& rules, const Network* network) {
  const double second = model.runs.back().ticks_per_second;
  const auto time_on = [&](const Network* chosen) {
    const Program program = CompileGrown(model, plan, messages, loads, rules, chosen);
    const ReplayResult replay = ReplayProgram(program, chosen, fmt::format("the run grown to {}", plan.grid.Text()));
    return TimeOfAll(plan.kinds, plan.chosen, replay.iteration_ends, loads.sums) / second;
  };
  const auto ranks = static_cast<double>(loads.useful.size());
  PhaseTotals totals;
  totals.total_useful =
      static_cast<double>(std::accumulate(loads.useful.begin(), loads.useful.end(), Tick{0})) / second;
  totals.average_useful = totals.total_useful / ranks;
  totals.largest_useful = static_cast<double>(std::ranges::max(loads.useful)) / second;
  totals.largest_computation = totals.largest_useful;
  std::vector<double> useful;
  for (const Tick ticks : loads.useful) useful.push_back(static_cast<double>(ticks) / second);
  totals.largest_node_load = LargestNodeLoad(useful, GrownNodes(model, plan.grid));
  const Network* timed = network != nullptr && !network->IsIdeal() ? network : nullptr;
  totals.ideal_elapsed = time_on(nullptr);
  totals.elapsed = timed != nullptr ? time_on(timed) : totals.ideal_elapsed;
  if (plan.chosen.size() < plan.kinds.size()) {  // whatever the iterations take that are not replayed
    totals.ideal_elapsed = std::max(totals.ideal_elapsed, totals.largest_useful);
    totals.elapsed = std::max(totals.elapsed, totals.ideal_elapsed);
  }
  if (plan.kinds.size() > 1) {
    const Tick estimate = std::accumulate(loads.largest.begin(), loads.largest.end(), Tick{0});
    totals.estimated_ideal = ClampEstimate(static_cast<double>(estimate) / second, totals);
  }
  totals.total_mpi = totals.elapsed * ranks - totals.total_useful;
  return totals;
}

namespace {

// The largest difference of times that follow from some iterations from those of all; chosen: as much as an efficiency
// is printed with.
constexpr double kSameTime = 0.01;

bool IsSame(double a, double b) { return std::abs(a - b) <= kSameTime * b; }

double BytesFor(const GrowthModel& model, const RankGrid& grid, std::size_t count) {
  const std::vector<std::size_t>& kinds = model.runs.back().kinds;
  return BytesToGrow(model, grid, CountKinds(kinds, ChooseIterations(kinds, count)));
}

// True if the times of the largest run follow from replays of so many of its iterations.
bool Suffice(const GrowthModel& model, std::size_t count, const ReplayRules& rules, const Network* network) {
  const std::size_t run = model.runs.size() - 1;
  if (!HasRulesOfAllRanks(model, run)) return false;
  const std::vector<std::size_t>& kinds = model.runs[run].kinds;
  const auto totals = [&](std::size_t iterations) {
    const GridPlan plan = PlanRun(model, run, ChooseIterations(kinds, iterations));
    return MeasureGrown(model, plan, MatchComplete(model, plan), LoadsOfRun(model, plan, run), rules, network);
  };
  const PhaseTotals some = totals(count), all = totals(kinds.size());
  return IsSame(some.elapsed, all.elapsed) && IsSame(some.ideal_elapsed, all.ideal_elapsed);
}

// The largest run with fewer ranks whose iterations fit, so many of them.
std::int64_t MostRanks(const GrowthModel& model, double bytes, std::int64_t below, std::size_t count) {
  const auto fits = [&](std::int64_t ranks) { return BytesFor(model, LayoutFor(model.rules, ranks), count) <= bytes; };
  std::int64_t most = below / 2;
  while (most > 1 && !fits(most)) most /= 2;
  for (std::int64_t step = most / 2; step > most / 16; step /= 2) {  // to the nearest eighth
    if (most + step < below && fits(most + step)) most += step;
  }
  return LayoutFor(model.rules, most).size();
}

}  // namespace

std::size_t CountFitting(const GrowthModel& model, const RankGrid& grid, double bytes, const ReplayRules& rules,
                         const Network* network, std::map<std::size_t, bool>& sufficient) {
  const std::size_t all = model.runs.back().kinds.size(), fewest = model.runs.back().CountKinds();
  const auto fits = [&](std::size_t count) { return BytesFor(model, grid, count) <= bytes; };
  std::size_t most = fits(all) ? all : fits(fewest) ? fewest : 0;  // 0: not even one of each kind
  for (std::size_t too_many = all; most > 0 && too_many - most > 1;) {
    const std::size_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  const auto suffice = [&](std::size_t count) {
    const auto [found, is_new] = sufficient.try_emplace(count);
    if (is_new) found->second = Suffice(model, count, rules, network);
    return found->second;
  };
  if (most == all || (most > 0 && suffice(most))) return most;
  std::size_t needed = std::max(most, fewest);
  while (needed < all && !suffice(needed)) needed = std::min(all, 2 * needed);
  throw Error(ErrorKind::kNotEnoughData, "",
              fmt::format("{} of {} iterations on {} ranks need {:.3g} GiB of memory, and {:.3g} GiB may be used; at "
                          "most {} ranks can be replayed",
                          needed, all, FormatCount(static_cast<std::uint64_t>(grid.size())),
                          BytesFor(model, grid, needed) / std::exp2(30), bytes / std::exp2(30),
                          FormatCount(static_cast<std::uint64_t>(MostRanks(model, bytes, grid.size(), needed)))));
}

}  // namespace farscale
