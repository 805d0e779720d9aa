#include "growth/grown_loads.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/parallel.h"
#include "growth/rank_draw.h"

namespace farscale {
namespace {

// What a rank computes in an iteration, as its calls are made.
Tick ComputeOf(const RankCalls& calls, const KindPlan& kind, const RankDraw::Iteration& copied) {
  const std::uint32_t first = calls.FirstCall(copied.from);
  Tick sum = std::llround(static_cast<double>(calls.compute_after[copied.from]) * copied.ratio);
  for (const ClassCall& call : kind.calls)
    sum += std::llround(static_cast<double>(calls.calls[first + call.model].compute) * copied.ratio);
  return sum;
}

class LoadSums {
 public:
  LoadSums(const GrowthModel& model, const GridPlan& plan) : model_(model), plan_(plan) {
    const auto ranks = static_cast<std::size_t>(plan.grid.size());
    loads_.donors.resize(ranks);
    loads_.copied.resize(ranks * plan.chosen.size());
    loads_.useful.resize(ranks);
    loads_.sums.assign(plan.kinds.size(), 0);
    loads_.largest.assign(plan.kinds.size(), 0);
  }

  // Calls draw(rank, draw) for every rank.
  template <typename Draw>
  GrownLoads Add(const Draw& draw) {
    ParallelForBlocks(loads_.useful.size(), [&](std::size_t first, std::size_t end) {
      std::vector<Tick> sums(plan_.kinds.size(), 0), largest(plan_.kinds.size(), 0);
      RankDraw of_rank;
      for (std::size_t rank = first; rank < end; ++rank) {
        draw(rank, of_rank);
        AddRank(rank, of_rank, sums, largest);
      }
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        loads_.sums[i] += sums[i];
        loads_.largest[i] = std::max(loads_.largest[i], largest[i]);
      }
    });
    return std::move(loads_);
  }

 private:
  void AddRank(std::size_t rank, const RankDraw& draw, std::vector<Tick>& sums, std::vector<Tick>& largest) {
    const ClassPlan& of_class = plan_.classes[plan_.class_of[rank]];
    const RankCalls& calls = model_.runs[of_class.donors.run].of_ranks[static_cast<std::size_t>(draw.donor)];
    loads_.donors[rank] = static_cast<std::uint32_t>(draw.donor);
    std::size_t made = 0;
    for (std::size_t i = 0; i < plan_.kinds.size(); ++i) {
      const RankDraw::Iteration& copied = draw.iterations[i];
      const Tick ticks = ComputeOf(calls, of_class.kinds[plan_.kinds[i]], copied);
      loads_.useful[rank] += ticks;
      sums[i] += ticks;
      largest[i] = std::max(largest[i], ticks);
      if (made < plan_.chosen.size() && plan_.chosen[made] == i) {
        loads_.copied[rank * plan_.chosen.size() + made] = {static_cast<std::uint32_t>(copied.from), copied.ratio};
        ++made;
      }
    }
  }

  const GrowthModel& model_;
  const GridPlan& plan_;
  GrownLoads loads_;
  std::mutex mutex_;
};

}  // namespace

GrownLoads DrawLoads(const GrowthModel& model, const GridPlan& plan, std::uint64_t seed) {
  const RankDraws draws(model, seed);
  return LoadSums(model, plan).Add([&](std::size_t rank, RankDraw& draw) {
    const ClassPlan& of_class = plan.classes[plan.class_of[rank]];
    draws.Draw(of_class.donors, of_class.law, static_cast<std::int64_t>(rank), draw);
  });
}

GrownLoads LoadsOfRun(const GrowthModel& model, const GridPlan& plan, std::size_t run) {
  RankDraw itself;
  for (std::size_t i = 0; i < model.runs[run].kinds.size(); ++i) itself.iterations.push_back({i, 1});
  return LoadSums(model, plan).Add([&](std::size_t rank, RankDraw& draw) {
    draw = itself;
    draw.donor = static_cast<std::int64_t>(rank);
  });
}

}  // namespace farscale
