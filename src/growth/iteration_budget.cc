#include "growth/iteration_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/format.h"
#include "growth/grid_series.h"
#include "growth/grown_program.h"

namespace farscale {
namespace {

// How far the times that follow from some iterations may be from those of all; chosen: as much as an efficiency is
// printed with.
constexpr double kSameTime = 0.01;

bool IsSame(double a, double b) { return std::abs(a - b) <= kSameTime * b; }

bool HasRulesOfAllRanks(const GrowthModel& model, std::size_t run) {
  std::int64_t ranks = 0;
  for (const auto& [key, of_class] : model.rules.classes) {
    if (of_class.is_composed) continue;
    ranks += std::ranges::count(of_class.donors, run, [](const auto& donor) { return donor.first; });
  }
  return ranks == model.runs[run].ranks;
}

}  // namespace

double IterationBudget::BytesFor(const RankGrid& grid, std::size_t count) const {
  const std::vector<std::size_t>& kinds = model_.runs.back().kinds;
  return BytesToGrow(model_, grid, CountKinds(kinds, ChooseIterations(kinds, count)));
}

std::size_t IterationBudget::MostThatFit(const RankGrid& grid) const {
  const std::vector<std::size_t>& kinds = model_.runs.back().kinds;
  if (BytesFor(grid, kinds.size()) <= bytes_) return kinds.size();
  std::size_t fits = std::ranges::max(kinds) + 1, too_many = kinds.size();
  if (BytesFor(grid, fits) > bytes_) return 0;
  while (too_many - fits > 1) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    (BytesFor(grid, middle) <= bytes_ ? fits : too_many) = middle;
  }
  return fits;
}

std::optional<PhaseTotals> IterationBudget::TotalsFrom(std::size_t count) const {
  const std::size_t run = model_.runs.size() - 1;
  if (!HasRulesOfAllRanks(model_, run)) return std::nullopt;
  const GrownReplay grown(model_, PlanRun(model_, run, ChooseIterations(model_.runs[run].kinds, count)));
  return grown.Measure(LoadsOfRun(model_, grown.plan(), run), rules_, network_);
}

bool IterationBudget::Suffice(std::size_t count) {
  const auto [found, is_new] = sufficient_.try_emplace(count, false);
  if (!is_new) return found->second;
  const std::optional<PhaseTotals> some = TotalsFrom(count), all = TotalsFrom(model_.runs.back().kinds.size());
  found->second = some && all && IsSame(some->elapsed, all->elapsed) && IsSame(some->ideal_elapsed, all->ideal_elapsed);
  return found->second;
}

std::int64_t IterationBudget::MostRanks(std::int64_t below, std::size_t count) const {
  const auto fits = [&](std::int64_t ranks) { return BytesFor(LayoutFor(model_.rules, ranks), count) <= bytes_; };
  std::int64_t most = below / 2;
  while (most > 1 && !fits(most)) most /= 2;
  for (std::int64_t step = most / 2; step > most / 16; step /= 2) {  // to the nearest eighth
    if (most + step < below && fits(most + step)) most += step;
  }
  return LayoutFor(model_.rules, most).size();
}

std::size_t IterationBudget::For(const RankGrid& grid) {
  const std::size_t all = model_.runs.back().kinds.size(), most = MostThatFit(grid);
  if (most == all || (most > 0 && Suffice(most))) return most;
  std::size_t needed = std::max(most, std::ranges::max(model_.runs.back().kinds) + 1);
  while (needed < all && !Suffice(needed)) needed = std::min(all, 2 * needed);
  throw Error(ErrorKind::kNotEnoughData, "",
              fmt::format("{} of {} iterations on {} ranks need {:.3g} GiB of memory, and {:.3g} GiB may be used; at "
                          "most {} ranks can be replayed",
                          needed, all, FormatCount(static_cast<std::uint64_t>(grid.size())),
                          BytesFor(grid, needed) / std::exp2(30), bytes_ / std::exp2(30),
                          FormatCount(static_cast<std::uint64_t>(MostRanks(grid.size(), needed)))));
}

}  // namespace farscale
