#include "growth/growth_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "growth/read/call_sites.h"

namespace farscale {

GrowthModel GrowthModel::OfRuns(std::size_t first, std::size_t end) const {
  const auto begin = runs.begin();
  GrowthModel model{{begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)},
                    functions,
                    {},
                    {},
                    {},
                    region,
                    has_region};
  LearnGrowth(model);
  return model;
}

void LearnGrowth(GrowthModel& model) {
  MatchKinds(model.runs);
  model.rules = FindCallRules(model.runs);
  PreferCommonRules(model.rules);
  JoinPartners(model.runs.back(), model.runs.size() - 1, model.rules);
  model.laws = FitSiteLaws(model.runs, model.rules);
  model.load = FitLoadModel(model.runs, model.rules);
}

namespace {

std::size_t IterationLike(const RunCalls& run, std::size_t kind, std::size_t iteration) {
  if (iteration < run.kinds.size() && run.kinds[iteration] == kind) return iteration;
  for (std::size_t i = 0; i < run.kinds.size(); ++i) {
    if (run.kinds[i] == kind) return i;
  }
  return 0;
}

}  // namespace

ClassDonors DonorsOf(const ClassRules& rules) {
  ClassDonors donors;
  for (const auto& donor : rules.donors) donors.run = std::max(donors.run, donor.first);
  for (const auto& donor : rules.donors) {
    if (donor.first == donors.run) donors.ranks.push_back(donor.second);
  }
  return donors;
}

RankDraws::RankDraws(const GrowthModel& model, std::uint64_t seed) : model_(model), seed_(seed) {
  const std::vector<std::size_t>& kinds = model.runs.back().kinds;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] >= of_kinds_.size()) of_kinds_.resize(kinds[i] + 1);
    of_kinds_[kinds[i]].push_back(i);
  }
}

void RankDraws::Draw(const ClassDonors& donors, double law, std::int64_t rank, RankDraw& draw) const {
  Random random(SeedFor(seed_, fmt::format("rank {}", rank)));
  draw.donor = donors.ranks[random.Index(donors.ranks.size())];
  const bool is_largest = donors.run + 1 == model_.runs.size();
  const LoadModel& load = model_.load;
  const double scale = law * (is_largest ? load.DrawPersistent(static_cast<std::size_t>(draw.donor), random) : 1);
  const std::vector<std::size_t>& kinds = model_.runs.back().kinds;
  draw.iterations.clear();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::vector<std::size_t>& like = of_kinds_[kinds[i]];
    const std::size_t from = is_largest && load.noise > 0 ? like[random.Index(like.size())]
                                                          : IterationLike(model_.runs[donors.run], kinds[i], i);
    // What all ranks have in common in an iteration stays in its place.
    const double common = is_largest && from != i ? std::exp(load.common[i] - load.common[from]) : 1;
    draw.iterations.push_back({from, scale * common});
  }
}

}  // namespace farscale
