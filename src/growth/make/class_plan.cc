#include "growth/make/class_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "growth/read/call_sites.h"
#include "growth/growth_model.h"

namespace farscale {
namespace {

class Planner {
 public:
  Planner(const GrowthModel& model, GridPlan& plan) : model_(model), plan_(plan) {
    for (std::size_t i = 0; i < model.functions.size(); ++i)
      functions_.push_back(ClassifyMpiCall(model.functions.Name(static_cast<std::uint32_t>(i))));
  }

  // Appends the plan of a class; `donors` copy ranks of the run `donors.run`.
  void Add(std::size_t program, const ClassRules& rules, const ClassDonors& donors, double law) {
    ClassPlan& plan = plan_.classes.emplace_back();
    plan.donors = donors;
    plan.law = law;
    for (std::size_t kind = 0; kind < rules.kinds.size(); ++kind)
      plan.kinds.push_back(PlanKind(rules.kinds[kind], kind, plan_.grid.SeenBy(program),
                                    model_.rules.grids[donors.run].SeenBy(program)));
    for (const std::size_t iteration : plan_.chosen) {
      const KindPlan& kind = plan.kinds[plan_.kinds[iteration]];
      for (std::size_t type = 0; type < plan.posts.size(); ++type) plan.posts[type] += kind.posts[type];
    }
    PlaceCollectives(plan);
  }

 private:
  KindPlan PlanKind(const std::vector<CallBlock>& blocks, std::size_t kind, const RankGrid& grid,
                    const RankGrid& model_grid) {
    KindPlan plan;
    for (const PlannedCall& call : PlanCalls(blocks, kind, grid, model_grid)) {
      ClassCall& added = plan.calls.emplace_back();
      added.model = call.model;
      added.function = functions_[call.rule->function];
      added.completes_all = call.rule->completes_all;
      added.sizes = model_.laws.SizesOn(grid, call, model_grid);
      for (std::uint32_t i = 0; i < call.rule->parts.size() && !added.completes_all; ++i)
        plan.parts.push_back(PlanPart(call.rule->parts[i], call.stage, i, plan));
      added.parts_end = static_cast<std::uint32_t>(plan.parts.size());
    }
    return plan;
  }

  ClassPart PlanPart(const PartRule& rule, const Stage& stage, std::uint32_t number, KindPlan& kind) {
    ClassPart part{&rule, PartOf(rule.kind), stage, 0, number};
    if (!part.is.posts) return part;
    ++kind.posts[static_cast<std::size_t>(part.is.type)];
    part.is_known = !rule.groups.empty() && !rule.peers.empty();
    if (part.is_known) part.group = NumberOf(rule.groups.front());
    return part;
  }

  std::uint16_t NumberOf(const GroupRule& rule) {
    const auto found = std::ranges::find(plan_.groups, rule);
    const auto number = static_cast<std::uint16_t>(found - plan_.groups.begin());
    if (found == plan_.groups.end()) {
      plan_.groups.push_back(rule);
      plan_.most.push_back(0);
    }
    return number;
  }

  // Which of its collectives a rank of the class completes, and how many there are on every communicator.
  void PlaceCollectives(ClassPlan& plan) {
    plan.collectives.resize(plan.posts[static_cast<std::size_t>(OperationClass::kCollective)]);
    OpenOperations open;
    for (const std::size_t iteration : plan_.chosen) {
      const KindPlan& kind = plan.kinds[plan_.kinds[iteration]];
      std::uint32_t first = 0;
      for (const ClassCall& call : kind.calls) {
        const auto parts = std::span(kind.parts).subspan(first, call.parts_end - first);
        open.Call(
            call, parts, [](std::uint32_t) { return std::pair<std::uint64_t, std::uint64_t>(0, 0); },
            [&](const ClassPart& part, const OpenOperation& operation) {
              if (part.is.IsCollective()) plan.collectives[operation.slot] = {part.group, 0, part.is.completes};
              return true;
            },
            [&](const OperationPart& is, const OpenOperation& operation) {
              if (is.IsCollective()) plan.collectives[operation.slot].is_completed = true;
            });
        first = call.parts_end;
      }
    }
    std::vector<std::uint32_t> counts(plan_.groups.size());
    for (CollectivePlace& place : plan.collectives) {
      if (place.is_completed) place.number = counts[place.group]++;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) plan_.most[i] = std::max(plan_.most[i], counts[i]);
  }

  const GrowthModel& model_;
  GridPlan& plan_;
  std::vector<MpiCall> functions_;
};

}  // namespace

const std::pair<const RankClass, ClassRules>& RulesOfRank(const GrowthModel& model, const RankGrid& grid,
                                                          std::int64_t rank) {
  const auto found = model.rules.classes.find(ClassOf(model.rules.scheme, grid, rank));
  const std::size_t kinds = 1 + *std::ranges::max_element(model.runs.back().kinds);
  if (found == model.rules.classes.end() || found->second.donors.empty() || found->second.kinds.size() < kinds) {
    throw Error(ErrorKind::kNotEnoughData, "",
                fmt::format("no rank of the runs lies in its grid as rank {} does in {}", rank, grid.Text()),
                "add a run with three or more ranks in every dimension");
  }
  if (found->second.IsContradicted()) {
    const auto& [run, donor] = found->second.donors.front();
    throw Error(
        ErrorKind::kNotEnoughData, "",
        fmt::format("ranks that lie in their grid as rank {} does in {} make other calls on {} ranks than on {}", rank,
                    grid.Text(), found->second.others.front(), model.runs[run].ranks));
  }
  return *found;
}

GridPlan PlanGrid(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& chosen) {
  GridPlan plan;
  plan.grid = grid;
  plan.kinds = model.runs.back().kinds;
  plan.chosen = chosen;
  Planner planner(model, plan);
  std::map<RankClass, std::uint16_t> numbers;
  for (const ClassCount& count : CountClasses(model.rules.scheme, grid)) {
    const ClassRules& rules = RulesOfRank(model, grid, count.first).second;
    if (!numbers.try_emplace(count.of_class, static_cast<std::uint16_t>(plan.classes.size())).second) continue;
    const ClassDonors donors = DonorsOf(rules);
    planner.Add(ProgramOf(count.of_class), rules, donors,
                model.load.LawOf(count.of_class).Ratio(grid, model.rules.grids[donors.run]));
  }
  plan.class_of.resize(static_cast<std::size_t>(grid.size()));
  for (std::size_t rank = 0; rank < plan.class_of.size(); ++rank)
    plan.class_of[rank] = numbers.at(ClassOf(model.rules.scheme, grid, static_cast<std::int64_t>(rank)));
  return plan;
}

GridPlan PlanRun(const GrowthModel& model, std::size_t run, const std::vector<std::size_t>& chosen) {
  GridPlan plan;
  plan.grid = model.rules.grids[run];
  plan.kinds = model.runs[run].kinds;
  plan.chosen = chosen;
  Planner planner(model, plan);
  plan.class_of.resize(static_cast<std::size_t>(plan.grid.size()));
  for (const auto& [key, rules] : model.rules.classes) {
    if (rules.is_composed || std::ranges::none_of(rules.donors, [&](const auto& donor) { return donor.first == run; }))
      continue;
    for (const auto& [of_run, rank] : rules.donors) {
      if (of_run == run)
        plan.class_of[static_cast<std::size_t>(rank)] = static_cast<std::uint16_t>(plan.classes.size());
    }
    planner.Add(ProgramOf(key), rules, {run, {}}, 1);
  }
  return plan;
}

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

namespace {

// Coordinates of a dimension that are the same to a class: the first of them, and how many.
struct Stretch {
  std::int32_t first = 0, count = 0;
};

std::vector<Stretch> StretchesOf(std::int32_t extent, std::int32_t reach) {
  std::vector<Stretch> stretches;
  if (extent <= 2 * reach) {
    for (std::int32_t at = 0; at < extent; ++at) stretches.push_back({at, 1});
    return stretches;
  }
  for (std::int32_t at = 0; at < reach; ++at) stretches.push_back({at, 1});
  stretches.push_back({reach, extent - 2 * reach});
  for (std::int32_t at = extent - reach; at < extent; ++at) stretches.push_back({at, 1});
  return stretches;
}

void AddClasses(const ClassScheme& scheme, const RankGrid& grid, std::size_t program, std::size_t dimension,
                GridVector& at, std::int64_t ranks, std::vector<ClassCount>& counts) {
  if (dimension == kMostDimensions) {
    const std::int64_t rank = grid.RankAt(at, program);
    counts.push_back({ClassOf(scheme, grid, rank), rank, ranks});
    return;
  }
  for (const Stretch& stretch : StretchesOf(grid.ExtentsOf(program)[dimension], scheme.ReachOf(program)[dimension])) {
    at[dimension] = stretch.first;
    AddClasses(scheme, grid, program, dimension + 1, at, ranks * stretch.count, counts);
  }
}

}  // namespace

std::vector<ClassCount> CountClasses(const ClassScheme& scheme, const RankGrid& grid) {
  std::vector<ClassCount> counts;
  if (scheme.is_lifted) {
    for (std::int64_t rank = 0; rank < grid.extents[0]; ++rank)
      counts.push_back({ClassOf(scheme, grid, rank), rank, grid.size() / grid.extents[0]});
    return counts;
  }
  for (std::size_t program = 0; program < grid.programs(); ++program) {
    GridVector at{};
    AddClasses(scheme, grid, program, 0, at, 1, counts);
  }
  std::ranges::sort(counts, {}, &ClassCount::first);
  return counts;
}

NodeMap::NodeMap(const GrowthModel& model, const RankGrid& grid) {
  const RunCalls& largest = model.runs.back();
  nodes_of_copy_ = 1 + std::int64_t{*std::ranges::max_element(largest.nodes)};
  ranks_of_node_ = (largest.ranks + nodes_of_copy_ - 1) / nodes_of_copy_;
  nodes_ = (grid.size() + ranks_of_node_ - 1) / ranks_of_node_;
  if (model.rules.scheme.is_lifted) {
    of_copied_ = largest.nodes;
    nodes_ = nodes_of_copy_ * (grid.size() / largest.ranks);
    return;
  }
  is_in_turn_ = nodes_of_copy_ > 1 && ranks_of_node_ > 1;
  for (std::size_t rank = 0; rank < largest.nodes.size(); ++rank)
    is_in_turn_ = is_in_turn_ && largest.nodes[rank] == static_cast<std::int64_t>(rank) % nodes_of_copy_;
}

}  // namespace farscale
