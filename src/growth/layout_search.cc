#include "growth/layout_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "growth/grid_groups.h"
#include "growth/part_rules.h"

namespace farscale {
std::set<std::uint32_t> PartialCommunicators(const RunCalls& run) {
  std::set<std::uint32_t> used;
  for (const RankCalls& calls : run.of_ranks) {
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const std::uint32_t number = calls.parts[i].communicator;
      const std::size_t members = run.communicators[number].members.size();
      if (IsPost(calls.parts[i].kind) && members > 0 && static_cast<std::int64_t>(members) < run.ranks)
        used.insert(number);
    }
  }
  return used;
}

namespace {

// How many different steps the messages within a program make on its grid; each counts by its length, so that near
// neighbours are preferred; so does every communicator that is no group of the grid.
double Disorder(const RunCalls& run, const std::set<std::uint32_t>& communicators, const RankGrid& grid,
                std::size_t program) {
  const GridVector& extents = grid.ExtentsOf(program);
  std::set<GridVector> steps;
  for (std::int64_t rank = grid.FirstOf(program); rank < grid.FirstOf(program) + grid.SizeOf(program); ++rank) {
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    std::set<std::int32_t> peers;
    for (std::uint32_t i = 0; i < calls.FirstPart(calls.iteration_end.front()); ++i) {
      const CallPart& part = calls.parts[i];
      if (IsPost(part.kind) && !PartOf(part.kind).IsCollective() && part.peer >= 0) peers.insert(part.peer);
    }
    const GridVector from = grid.CoordinatesOf(rank);
    for (const std::int32_t peer : peers) {
      if (grid.ProgramOf(peer) != program) continue;
      GridVector step = grid.CoordinatesOf(peer);
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        step[d] -= from[d];
        const std::int32_t extent = extents[d];  // the shorter way around
        if (2 * std::abs(step[d]) >= extent) step[d] -= step[d] > 0 ? extent : -extent;
        if (2 * std::abs(step[d]) == extent) step[d] = extent / 2;
      }
      steps.insert(step);
    }
  }
  double sum = 0;
  for (const GridVector& step : steps) {
    for (const std::int32_t one : step) sum += std::abs(one);
  }
  for (const std::uint32_t number : communicators) {
    const std::vector<std::int32_t>& members = run.communicators[number].members;
    if (grid.ProgramOf(members.front()) == program) sum += GridDivisionsWith(grid, members).empty() ? 1 : 0;
  }
  // Of equals, the one that MPI_Dims_create would rather choose.
  return sum + 0.001 * *std::ranges::max_element(extents);
}

}  // namespace

bool IsAllowed(const RunCalls& run, const RankGrid& grid) {
  return !run.named || grid == *run.named || grid == run.named->Reversed();
}

namespace {

bool IsRecorded(const RunCalls& run, const RankGrid& grid) {
  return std::ranges::find(run.recorded, grid) != run.recorded.end();
}

}  // namespace

std::vector<RankGrid> BestGrids(const RunCalls& run, const RankGrid& base, std::size_t program, std::size_t dimensions,
                                std::size_t most) {
  std::vector<std::pair<double, RankGrid>> ranked;
  const std::set<std::uint32_t> communicators = PartialCommunicators(run);
  for (const RankGrid& of_program : GridsOf(base.SizeOf(program), dimensions)) {
    const RankGrid grid = base.With(program, of_program);
    if (!IsAllowed(run, grid)) continue;
    ranked.emplace_back(IsRecorded(run, grid) ? -1 : Disorder(run, communicators, grid, program), grid);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, RankGrid>::first);
  std::vector<RankGrid> best;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) best.push_back(ranked[i].second);
  return best;
}

double Unlikeness(const RankGrid& a, const RankGrid& b) {
  const double ratio = static_cast<double>(a.size()) / static_cast<double>(b.size());
  const double even = std::pow(ratio, 1.0 / static_cast<double>(std::max<std::size_t>(1, b.dimensions())));
  double sum = 0;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const double expected = b.extents[d] == 1 ? 1 : even * b.extents[d];
    sum += std::abs(std::log(a.extents[d] / expected));
  }
  return sum;
}

std::vector<RankGrid> GridsBeside(const std::vector<RunCalls>& runs, const std::vector<RankGrid>& bases,
                                  const CallRules& largest, std::size_t program, std::size_t dimensions) {
  const std::optional<std::size_t> only = bases.back().HasTwo() ? std::optional(program) : std::nullopt;
  std::vector<RankGrid> grids(runs.size());
  grids.back() = largest.grids.front();
  for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
    double share = -1;
    std::vector<RankGrid> tried = BestGrids(runs[run], bases[run], program, dimensions, 8);
    std::ranges::stable_sort(tried, {}, [&](const RankGrid& grid) {
      return IsRecorded(runs[run], grid) ? -1 : Unlikeness(grid.GridOf(program), grids.back().GridOf(program));
    });
    for (const RankGrid& grid : tried) {
      const double one = AddRunBefore(largest, runs[run], grid, only).Confirmed();
      if (one > share + 1e-9) {
        grids[run] = grid;
        share = one;
      }
      if (share == 1) break;
    }
  }
  return grids;
}

namespace {

// In two dimensions, ranks may differ by their place in one of them alone, as the first ranks of nodes do, which have
// communicators of their own. Chains of few ranks have room for neighbours further away than grids do.
std::vector<GridVector> Reaches(std::size_t dimensions, bool has_lines) {
  std::vector<GridVector> reaches = {GridVector{}};
  for (std::int32_t reach = 1; reach <= (dimensions == 1 ? 4 : 2); ++reach) {
    if (dimensions == 2 && has_lines) reaches.insert(reaches.end(), {{reach, 0}, {0, reach}});
    GridVector all{};
    for (std::size_t d = 0; d < dimensions; ++d) all[d] = reach;
    reaches.push_back(all);
  }
  return reaches;
}

}  // namespace

std::vector<ClassScheme> Schemes(std::size_t dimensions, bool has_lines) {
  std::vector<ClassScheme> schemes;
  for (const GridVector& reach : Reaches(dimensions, has_lines)) {
    for (const bool has_stages : {false, true}) {
      schemes.push_back({reach, 1, has_stages, has_lines});
    }
  }
  return schemes;
}

namespace {

// Messages of an iteration of every kind.
std::uint64_t CountMessages(const RunCalls& run) {
  std::uint64_t messages = 0;
  const std::size_t kinds = 1 + *std::ranges::max_element(run.kinds);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto first = static_cast<std::size_t>(std::ranges::find(run.kinds, kind) - run.kinds.begin());
    for (const RankCalls& calls : run.of_ranks) {
      if (first == run.kinds.size()) break;
      for (std::uint32_t call = calls.FirstCall(first); call < calls.iteration_end[first]; ++call) {
        messages += static_cast<std::uint64_t>(
            std::ranges::count_if(calls.PartsOf(call), [](const CallPart& part) { return IsPost(part.kind); }));
      }
    }
  }
  return messages;
}

}  // namespace

std::uint64_t MostMissed(const std::vector<RunCalls>& runs) {
  std::uint64_t messages = 0;
  for (const RunCalls& run : runs) messages += CountMessages(run);
  return static_cast<std::uint64_t>((1 - kLeastExplained) * static_cast<double>(messages));
}

namespace {

// Share of the partners that follow from steps in the grid, stages, or rules that no other grid turns into steps. With
// two ranks in a dimension, `rank xor P / 2` is a step in a grid of one dimension more.
double PlainShare(const CallRules& rules) {
  double plain = 0, all = 0;
  for (const auto& [key, of_class] : rules.classes) {
    for (const auto& kind : of_class.kinds) {
      for (const CallBlock& block : kind) {
        for (const CallRule& call : block.calls) {
          for (const PartRule& part : call.parts) {
            if (!IsPost(part.kind) || PartOf(part.kind).IsCollective() || part.peers.empty()) continue;
            const PeerRule::Kind of = part.peers.front().kind;
            all += 1;
            plain +=
                of == PeerRule::Kind::kXor || of == PeerRule::Kind::kXorPart || of == PeerRule::Kind::kRingPart ? 0 : 1;
          }
        }
      }
    }
  }
  return all > 0 ? plain / all : 1;
}

}  // namespace

bool IsBetter(const CallRules& rules, const CallRules& best) {
  if (std::abs(rules.Confirmed() - best.Confirmed()) > 1e-6) return rules.Confirmed() > best.Confirmed();
  return PlainShare(rules) > PlainShare(best) + 1e-6;
}

bool IsPerfect(const CallRules& rules) { return rules.Confirmed() == 1 && PlainShare(rules) == 1; }

}  // namespace farscale
