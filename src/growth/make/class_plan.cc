#include "growth/make/class_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/random.h"

namespace farscale {
namespace {

// Finds which of its collectives a rank of the class completes, and counts them by communicator.
void PlaceCollectives(ClassPlan& of_class, GridPlan& plan) {
  of_class.collectives.resize(of_class.posts[static_cast<std::size_t>(OperationClass::kCollective)]);
  OpenOperations open;
  const auto post = [&](const ClassPart& part, const OpenOperation& operation) {
    if (!part.is.IsCollective()) return true;
    auto& [group, number] = of_class.collectives[operation.slot];
    group = part.group;
    if (part.is.completes) number = 0;
    return true;
  };
  const auto complete = [&](OperationClass type, const OpenOperation& operation) {
    if (type == OperationClass::kCollective) of_class.collectives[operation.slot].second = 0;
  };
  plan.ForEachCall(of_class, [&](const ClassCall& call) { open.Call(call, post, complete); });
  std::vector<std::uint32_t> counts(plan.groups.size());
  for (auto& [group, number] : of_class.collectives) {
    if (number) number = counts[group]++;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) plan.most[i] = std::max(plan.most[i], counts[i]);
}

// Appends the plan of a class, whose run, donors and law are given.
void AddClass(const GrowthModel& model, std::size_t program, const ClassRules& rules, ClassPlan given, GridPlan& plan) {
  ClassPlan& added = plan.classes.emplace_back(std::move(given));
  const RankGrid grid = plan.grid.SeenBy(program), model_grid = model.rules.grids[added.run].SeenBy(program);
  for (std::size_t kind = 0; kind < rules.kinds.size(); ++kind) {
    std::vector<ClassCall>& calls = added.kinds.emplace_back();
    for (const PlannedCall& planned : PlanCalls(rules.kinds[kind], kind, grid, model_grid)) {
      ClassCall& call = calls.emplace_back(ClassCall{planned.rule, planned.model});
      call.function = ClassifyMpiCall(model.functions[planned.rule->function]);
      call.sizes = model.laws.SizesOn(grid, planned, model_grid);
      for (std::uint32_t i = 0; i < planned.rule->parts.size() && !planned.rule->completes_all; ++i) {
        const PartRule& rule = planned.rule->parts[i];
        ClassPart& part = call.parts.emplace_back(ClassPart{&rule, PartOf(rule.kind), planned.stage, 0, i});
        if (!part.is.posts) continue;
        part.is_known = !rule.groups.empty() && !rule.peers.empty();
        if (!part.is_known) continue;
        const auto group = std::ranges::find(plan.groups, rule.groups.front());
        part.group = static_cast<std::uint16_t>(group - plan.groups.begin());
        if (group != plan.groups.end()) continue;
        plan.groups.push_back(rule.groups.front());
        plan.most.push_back(0);
      }
    }
  }
  plan.ForEachCall(added, [&](const ClassCall& call) {
    for (const ClassPart& part : call.parts) added.posts[static_cast<std::size_t>(part.is.type)] += part.is.posts;
  });
  PlaceCollectives(added, plan);
}

void AddClassCounts(const ClassScheme& scheme, const RankGrid& grid, std::size_t program, std::size_t dimension,
                    GridVector& at, std::int64_t ranks, std::map<std::int64_t, std::int64_t>& counts) {
  if (dimension == kMostDimensions) {
    counts[grid.RankAt(at, program)] = ranks;
    return;
  }
  const std::int32_t extent = grid.ExtentsOf(program)[dimension], reach = scheme.reach[program][dimension];
  for (std::int32_t first = 0; first < extent;) {
    // Coordinates far from both ends are the same to a class.
    const std::int32_t count = first == reach && extent > 2 * reach ? extent - 2 * reach : 1;
    at[dimension] = first;
    AddClassCounts(scheme, grid, program, dimension + 1, at, ranks * count, counts);
    first += count;
  }
}

}  // namespace

GridPlan PlanGrid(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& chosen) {
  GridPlan plan{.grid = grid, .kinds = model.runs.back().kinds, .chosen = chosen};
  std::map<RankClass, std::uint16_t> numbers;
  for (const auto& [first, ranks] : CountClasses(model.rules.scheme, grid)) {
    const RankClass of_class = ClassOf(model.rules.scheme, grid, first);
    const auto found = model.rules.classes.find(of_class);
    if (found == model.rules.classes.end() || found->second.donors.empty() ||
        found->second.kinds.size() < model.runs.back().CountKinds()) {
      throw Error(ErrorKind::kNotEnoughData, "",
                  fmt::format("no rank of the runs lies in its grid as rank {} does in {}", first, grid.Text()),
                  "add a run with three or more ranks in every dimension");
    }
    const ClassRules& rules = found->second;
    if (rules.IsContradicted()) {
      throw Error(
          ErrorKind::kNotEnoughData, "",
          fmt::format("ranks that lie in their grid as rank {} does in {} make other calls on {} ranks than on {}",
                      first, grid.Text(), rules.others.front(), model.runs[rules.donors.front().first].ranks));
    }
    if (!numbers.try_emplace(of_class, static_cast<std::uint16_t>(plan.classes.size())).second) continue;
    auto [run, donors] = rules.Donors();
    const double law = model.load.Law(of_class).Ratio(grid, model.rules.grids[run]);
    AddClass(model, ProgramOf(of_class), rules, {run, std::move(donors), law}, plan);
  }
  plan.class_of.resize(static_cast<std::size_t>(grid.size()));
  for (std::size_t rank = 0; rank < plan.class_of.size(); ++rank)
    plan.class_of[rank] = numbers.at(ClassOf(model.rules.scheme, grid, static_cast<std::int64_t>(rank)));
  return plan;
}

GridPlan PlanRun(const GrowthModel& model, std::size_t run, const std::vector<std::size_t>& chosen) {
  GridPlan plan{.grid = model.rules.grids[run], .kinds = model.runs[run].kinds, .chosen = chosen};
  plan.class_of.resize(static_cast<std::size_t>(plan.grid.size()));
  for (const auto& [key, rules] : model.rules.classes) {
    const std::vector<std::int64_t> ranks = rules.DonorsIn(run);
    if (rules.is_composed || ranks.empty()) continue;
    for (const std::int64_t rank : ranks)
      plan.class_of[static_cast<std::size_t>(rank)] = static_cast<std::uint16_t>(plan.classes.size());
    AddClass(model, ProgramOf(key), rules, {run}, plan);
  }
  return plan;
}

bool HasRulesOfAllRanks(const GrowthModel& model, std::size_t run) {
  std::size_t ranks = 0;
  for (const auto& [key, rules] : model.rules.classes) ranks += rules.is_composed ? 0 : rules.DonorsIn(run).size();
  return static_cast<std::int64_t>(ranks) == model.runs[run].ranks;
}

namespace {

// The donor of a rank, and what each iteration of the largest run copies.
using RankDraw = std::pair<std::int64_t, std::vector<CopiedIteration>>;

// Sums over what draw(rank, draw) gives for every rank.
GrownLoads SumLoads(const GrowthModel& model, const GridPlan& plan,
                    const std::function<void(std::size_t, RankDraw&)>& draw) {
  const std::size_t ranks = plan.class_of.size(), iterations = plan.kinds.size(), made = plan.chosen.size();
  GrownLoads loads;
  loads.donors.resize(ranks);
  loads.copied.resize(ranks * made);
  loads.useful.resize(ranks);
  loads.sums.assign(iterations, 0);
  loads.largest.assign(iterations, 0);
  std::mutex mutex;
  ParallelForBlocks(ranks, [&](std::size_t first, std::size_t end) {
    std::vector<Tick> sums(iterations, 0), largest(iterations, 0);
    RankDraw drawn;
    const auto& [donor, copied] = drawn;
    for (std::size_t rank = first; rank < end; ++rank) {
      draw(rank, drawn);
      const ClassPlan& of_class = plan.PlanOf(rank);
      const RankCalls& calls = model.runs[of_class.run].of_ranks[static_cast<std::size_t>(donor)];
      loads.donors[rank] = static_cast<std::uint32_t>(donor);
      for (std::size_t i = 0; i < made; ++i) loads.copied[rank * made + i] = copied[plan.chosen[i]];
      for (std::size_t i = 0; i < iterations; ++i) {
        const auto& [from, ratio] = copied[i];
        // As the calls are made: each computation is rounded.
        Tick ticks = std::llround(static_cast<double>(calls.compute_after[from]) * ratio);
        for (const ClassCall& call : of_class.kinds[plan.kinds[i]])
          ticks += std::llround(static_cast<double>(calls.calls[calls.FirstCall(from) + call.model].compute) * ratio);
        loads.useful[rank] += ticks;
        sums[i] += ticks;
        largest[i] = std::max(largest[i], ticks);
      }
    }
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < iterations; ++i) {
      loads.sums[i] += sums[i];
      loads.largest[i] = std::max(loads.largest[i], largest[i]);
    }
  });
  return loads;
}

}  // namespace

GrownLoads DrawLoads(const GrowthModel& model, const GridPlan& plan, std::uint64_t seed) {
  const RunCalls& last = model.runs.back();
  const LoadModel& load = model.load;
  std::vector<std::vector<std::size_t>> of_kinds(last.CountKinds());
  for (std::size_t i = 0; i < last.kinds.size(); ++i) of_kinds[last.kinds[i]].push_back(i);
  // The iteration of another run that stands for one of the largest.
  const auto like = [&](const RunCalls& run, std::size_t i) {
    if (i < run.kinds.size() && run.kinds[i] == last.kinds[i]) return i;
    const std::size_t first = run.FirstOfKind(last.kinds[i]);
    return first < run.kinds.size() ? first : 0;
  };
  return SumLoads(model, plan, [&](std::size_t rank, RankDraw& draw) {
    const ClassPlan& of_class = plan.PlanOf(rank);
    Random random(SeedFor(seed, fmt::format("rank {}", rank)));
    auto& [donor, iterations] = draw;
    donor = of_class.donors[random.Index(of_class.donors.size())];
    const bool is_largest = of_class.run + 1 == model.runs.size();
    const double scale = of_class.law * (is_largest ? load.DrawPersistent(static_cast<std::size_t>(donor), random) : 1);
    iterations.clear();
    for (std::size_t i = 0; i < last.kinds.size(); ++i) {
      const std::vector<std::size_t>& alike = of_kinds[last.kinds[i]];
      const std::size_t from =
          is_largest && load.noise > 0 ? alike[random.Index(alike.size())] : like(model.runs[of_class.run], i);
      // The deviation that all ranks have in common in an iteration stays in its place.
      const double common = is_largest && from != i ? std::exp(load.common[i] - load.common[from]) : 1;
      iterations.push_back({static_cast<std::uint32_t>(from), scale * common});
    }
  });
}

GrownLoads LoadsOfRun(const GrowthModel& model, const GridPlan& plan, std::size_t run) {
  std::vector<CopiedIteration> itself;
  for (std::uint32_t i = 0; i < model.runs[run].kinds.size(); ++i) itself.push_back({i, 1});
  return SumLoads(model, plan, [&](std::size_t rank, RankDraw& draw) {
    draw = {static_cast<std::int64_t>(rank), itself};
  });
}

std::map<std::int64_t, std::int64_t> CountClasses(const ClassScheme& scheme, const RankGrid& grid) {
  std::map<std::int64_t, std::int64_t> counts;
  if (scheme.is_lifted) {
    for (std::int64_t rank = 0; rank < grid.extents[0]; ++rank) counts[rank] = grid.size() / grid.extents[0];
    return counts;
  }
  for (std::size_t program = 0; program < grid.programs(); ++program) {
    GridVector at{};
    AddClassCounts(scheme, grid, program, 0, at, 1, counts);
  }
  return counts;
}

std::vector<std::int32_t> GrownNodes(const GrowthModel& model, const RankGrid& grid) {
  const RunCalls& largest = model.runs.back();
  const std::int64_t nodes_of_run = 1 + std::int64_t{*std::ranges::max_element(largest.nodes)};
  const std::int64_t ranks_of_node = (largest.ranks + nodes_of_run - 1) / nodes_of_run;
  const std::int64_t nodes = (grid.size() + ranks_of_node - 1) / ranks_of_node;
  bool is_in_turn = nodes_of_run > 1 && ranks_of_node > 1;
  for (std::size_t rank = 0; rank < largest.nodes.size(); ++rank)
    is_in_turn = is_in_turn && largest.nodes[rank] == static_cast<std::int64_t>(rank) % nodes_of_run;
  std::vector<std::int32_t> node_of;
  node_of.reserve(static_cast<std::size_t>(grid.size()));
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const std::int64_t node =
        model.rules.scheme.is_lifted
            ? largest.nodes[static_cast<std::size_t>(rank % largest.ranks)] + rank / largest.ranks * nodes_of_run
        : is_in_turn ? rank % nodes
                     : rank / ranks_of_node;
    node_of.push_back(static_cast<std::int32_t>(node));
  }
  return node_of;
}

}  // namespace farscale
