#include "imbalance/diagnosis.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/parallel.h"
#include "base/search.h"
#include "imbalance/causes/find_causes.h"
#include "imbalance/causes/load_matrix.h"

namespace farscale {
namespace {

constexpr double PathLosses::*kValues[] = {
    &PathLosses::time,          &PathLosses::wrong_order,  &PathLosses::wrong_order_same,
    &PathLosses::completion,    &PathLosses::indirect,     &PathLosses::propagating,
    &PathLosses::caused,        &PathLosses::critical,     &PathLosses::nearly_critical,
    &PathLosses::intra,         &PathLosses::inter,        &PathLosses::late_complete,
    &PathLosses::individual_io, &PathLosses::collective_io};
constexpr ByWaitKind PathLosses::*kValuesByKind[] = {&PathLosses::waiting, &PathLosses::short_term,
                                                     &PathLosses::long_term, &PathLosses::exit_skew};

template <typename Visit>
void ForEach(std::vector<RankLosses>& ranks, Visit visit) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].paths.size(); ++i) visit(rank, ranks[rank].paths[i], ranks[rank].losses[i]);
  }
}

// [Boehme13, section 4.4.3]: what every rank waits, shared among the call paths that are longer on the critical path
// than on the rank itself.
void AddImpact(Diagnosis& diagnosis, const std::vector<RankGroup>& groups) {
  std::vector<std::size_t> group_of(diagnosis.ranks.size(), groups.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::size_t rank : groups[group].ranks) group_of[rank] = group;
  }
  // The critical path in every call path on ranks of each group.
  std::vector<std::vector<double>> critical(groups.size() + 1, std::vector<double>(diagnosis.totals.size()));
  ForEach(diagnosis.ranks, [&](std::size_t rank, PathId path, const PathLosses& losses) {
    critical[group_of[rank]][path] += losses.critical;
  });
  for (std::size_t rank = 0; rank < diagnosis.ranks.size(); ++rank) {
    const RankLosses& own = diagnosis.ranks[rank];
    if (!own.present) continue;
    double waiting = 0, all = 0;
    std::vector<double> execution(diagnosis.totals.size(), 0);
    for (std::size_t i = 0; i < own.paths.size(); ++i) {
      waiting += own.losses[i].Waiting();
      execution[own.paths[i]] = own.losses[i].Execution();
    }
    for (PathId path = 0; path < execution.size(); ++path) {
      all += std::max(0.0, diagnosis.totals[path].critical - execution[path]);
    }
    if (all <= 0) continue;
    for (PathId path = 0; path < execution.size(); ++path) {
      PathLosses& total = diagnosis.totals[path];
      const double excess = total.critical - execution[path];
      if (excess <= 0) continue;
      const double cost = excess / all * waiting;
      const double within =
          groups.empty() ? (execution[path] > 0 ? 1.0 : 0.0) : critical[group_of[rank]][path] / total.critical;
      total.intra += cost * within;
      total.inter += cost * (1 - within);
    }
  }
}

// Ticks are whole numbers, so that everything before is exact.
void ToSeconds(Diagnosis& diagnosis, double second) {
  const auto scale = [&](PathLosses& losses) {
    for (double PathLosses::*value : kValues) losses.*value *= second;
    for (ByWaitKind PathLosses::*values : kValuesByKind) {
      for (double& value : losses.*values) value *= second;
    }
  };
  ForEach(diagnosis.ranks, [&](std::size_t, PathId, PathLosses& losses) { scale(losses); });
  std::ranges::for_each(diagnosis.totals, scale);
  for (double& imbalance : diagnosis.imbalance) imbalance *= second;
  for (std::optional<double>& slack : diagnosis.slack) {
    if (slack) *slack *= second;
  }
  for (RankLosses& rank : diagnosis.ranks) {
    if (rank.slack) *rank.slack *= second;
  }
  for (ByWaitKind* values : {&diagnosis.unattributed, &diagnosis.lost}) {
    for (double& value : *values) value *= second;
  }
  for (LossRaster& raster : diagnosis.rasters) {
    for (double& cell : raster.cells) cell *= second;
  }
  diagnosis.at_end *= second;
}

// Shapes of the paths that cost most, of those that are regions of the trace; of equals the first by name. A matrix of
// ranks and iterations can be as large as the trace, so that none is kept.
void AddShapes(const Trace& trace, const PhaseCut& cut, const WaitStates& states, std::size_t most,
               Diagnosis& diagnosis) {
  diagnosis.useful_shape = FindShape(FindLoad(trace, cut, states));
  diagnosis.useful_shape->imbalance_in_step = ImbalanceInSteps(trace, cut, states.activities);
  std::vector<std::pair<double, PathId>> costs;
  for (PathId path = kSpecialPaths; path < diagnosis.totals.size(); ++path) {
    if (diagnosis.totals[path].Costs() > 0 && !diagnosis.paths.is_before_phase(path))
      costs.emplace_back(-diagnosis.totals[path].Costs(), path);
  }
  std::ranges::sort(costs, [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : diagnosis.paths.Name(a.second) < diagnosis.paths.Name(b.second);
  });
  costs.resize(std::min(most, costs.size()));
  for (const auto& [cost, path] : costs) diagnosis.shapes.emplace_back(path, LoadShape());
  ParallelFor(diagnosis.shapes.size(), [&](std::size_t i) {
    auto& [path, shape] = diagnosis.shapes[i];
    shape = FindShape(FindLoad(trace, cut, states, path));
  });
}

// Time counts for the outermost function of the runtime.
void AddDeviceCalls(Diagnosis& diagnosis) {
  const CallPaths& paths = diagnosis.paths;
  std::map<std::string, double> time_of;
  double costs = 0;
  for (PathId path = kSpecialPaths; path < diagnosis.totals.size(); ++path) {
    if (diagnosis.IsOutside(path) || !paths.is_device_call(path) || diagnosis.totals[path].time <= 0) continue;
    PathId outermost = path;
    for (PathId at = path; at >= kSpecialPaths; at = paths.parent(at)) {
      if (paths.is_device_call(at)) outermost = at;
    }
    time_of[paths.region_name(outermost)] += diagnosis.totals[path].time;
    costs += diagnosis.totals[path].Costs();
  }
  if (time_of.empty()) return;
  DeviceCalls& calls = diagnosis.device_calls.emplace();
  calls.costs = costs;
  for (const auto& [function, time] : time_of) {
    calls.time += time;
    if (time <= calls.of_largest) continue;
    calls.largest = function;
    calls.of_largest = time;
  }
}

void AddSlack(const Trace& trace, const Matching& matching, const WaitStates& states, Diagnosis& diagnosis) {
  // Whoever has a lock may keep others waiting, which slack does not know.
  const bool has_lock_waits = std::ranges::any_of(states.ranks, [](const RankWaits& rank) {
    return std::ranges::find(rank.waits, WaitKind::kWaitForLock, &WaitState::kind) != rank.waits.end();
  });
  if (has_lock_waits) return;
  const Slack slack = FindSlack(trace, matching, states);
  for (std::size_t rank = 0; rank < diagnosis.ranks.size(); ++rank) {
    if (slack.of_rank[rank]) diagnosis.ranks[rank].slack = static_cast<double>(*slack.of_rank[rank]);
  }
  for (PathId path = 0; path < diagnosis.totals.size(); ++path) {
    if (slack.of_path[path]) diagnosis.slack[path] = static_cast<double>(*slack.of_path[path]);
    diagnosis.totals[path].nearly_critical = slack.nearly_critical[path];
  }
}

// Adds what follows from paths, ranks and their costs alone: totals, imbalance, impact, and costs charged to nobody.
void AddOverRanks(const PhaseCut& cut, const std::vector<RankCosts>& costs, const DiagnosisOptions& options,
                  Diagnosis& diagnosis) {
  for (const RankCosts& rank : costs) {
    Add(rank.unattributed, diagnosis.unattributed);
    Add(rank.lost, diagnosis.lost);
    diagnosis.at_end += rank.at_end;
  }
  diagnosis.iterations = std::max<std::size_t>(1, cut.iterations);
  diagnosis.rules = options.rules;
  diagnosis.recurs = cut.span == Span::kEach;
  for (const RankLosses& rank : diagnosis.ranks) diagnosis.processes += rank.present;
  std::vector<MpiCall> calls;
  for (PathId path = 0; path < diagnosis.paths.size(); ++path) {
    const bool is_call = diagnosis.paths.is_mpi(path);
    calls.push_back(is_call ? ClassifyMpiCall(diagnosis.paths.region_name(path)) : MpiCall::kNone);
  }
  diagnosis.totals.assign(diagnosis.paths.size(), {});
  ForEach(diagnosis.ranks, [&](std::size_t, PathId path, PathLosses& losses) {
    if (calls[path] == MpiCall::kInputOutput) losses.individual_io = losses.time;
    if (calls[path] == MpiCall::kCollectiveInputOutput) losses.collective_io = losses.time;
    diagnosis.totals[path] += losses;
  });
  for (const PathLosses& total : diagnosis.totals) {
    const double average = total.Execution() / static_cast<double>(std::max<std::size_t>(1, diagnosis.processes));
    diagnosis.imbalance.push_back(total.critical > 0 ? std::max(0.0, total.critical - average) : 0);
  }
  if (!diagnosis.recurs) AddImpact(diagnosis, options.groups);
  diagnosis.slack.resize(diagnosis.totals.size());
}

// Fills in everything of one rank that needs no other. Paths and waits of the costs are given up.
void AddLosses(const Activities& all, std::size_t rank, const RankWaits& states, RankCosts& costs, RankLosses& result) {
  const RankActivities& activities = all.ranks[rank];
  std::vector<std::uint32_t> place(all.paths.size(), kNoCall);  // one a path, among those of the rank
  for (std::size_t a = 0; a < activities.size(); ++a) place[activities.path(a)] = 0;
  for (PathId path = 0; path < place.size(); ++path) {
    if (place[path] == kNoCall) continue;
    place[path] = static_cast<std::uint32_t>(result.paths.size());
    result.paths.push_back(path);
  }
  result.losses.resize(result.paths.size());
  result.present = true;
  const auto of_path = [&](PathId path) -> PathLosses& { return result.losses[place[path]]; };
  const auto of_wait = [&](std::uint32_t wait) -> PathLosses& {
    return of_path(activities.path_of_call(states.waits[wait].call));
  };
  Tick begin = activities.begin();
  for (std::size_t a = 0; a < activities.size(); ++a) {
    PathLosses& losses = of_path(activities.path(a));
    const Tick end = activities.edge(a + 1);
    losses.time += static_cast<double>(end - begin);
    ++losses.visits;
    begin = end;
  }
  for (std::uint32_t i = 0; i < states.waits.size(); ++i) {
    PathLosses& losses = of_wait(i);
    losses.waiting[static_cast<std::size_t>(states.waits[i].kind)] += static_cast<double>(states.waits[i].length);
    losses.indirect += costs.waits[i].indirect;
    losses.propagating += costs.waits[i].propagating;
    losses.caused += costs.waits[i].caused;
  }
  for (const auto& [wait, same_source] : states.wrong_order) {
    const auto length = static_cast<double>(states.waits[wait].length);
    of_wait(wait).wrong_order += length;
    if (same_source) of_wait(wait).wrong_order_same += length;
  }
  for (const auto& [wait, length] : states.late_completes) of_wait(wait).late_complete += static_cast<double>(length);
  for (const PathCosts& path : costs.paths) {
    Add(path.short_term, of_path(path.path).short_term);
    Add(path.long_term, of_path(path.path).long_term);
    Add(path.exit_skew, of_path(path.path).exit_skew);
  }
  costs.paths = {};
  costs.waits = {};
}

std::vector<RankLosses> FindRankLosses(const WaitStates& states, std::vector<RankCosts>& costs,
                                       const std::vector<PathSegment>& critical) {
  const Activities& activities = states.activities;
  std::vector<RankLosses> ranks(activities.ranks.size());
  ParallelFor(ranks.size(), [&](std::size_t rank) {
    if (activities.ranks[rank].present) AddLosses(activities, rank, states.ranks[rank], costs[rank], ranks[rank]);
  });
  // Completion, from when the first rank could leave: max(0, X_r - max(min_j X_j, max_j E_j)).
  const CollectiveWaits& collectives = states.collectives;
  for (std::uint32_t operation = 0; operation < collectives.operations(); ++operation) {
    if (collectives.pattern(operation) != CollectivePattern::kAllToAll) continue;
    Tick first_leave = std::numeric_limits<Tick>::max(), last_enter = std::numeric_limits<Tick>::min();
    for (const Participant& one : collectives.participants(operation)) {
      if (!one.is_blocking) continue;
      first_leave = std::min(first_leave, one.done_leave);
      last_enter = std::max(last_enter, one.enter);
    }
    for (const Participant& one : collectives.participants(operation)) {
      const RankActivities& own = activities.ranks[one.rank];
      if (!one.is_blocking || !own.present) continue;
      const Tick completion = own.leave(one.call) - std::max(first_leave, last_enter);
      if (completion <= 0) continue;
      ranks[one.rank].Of(own.path_of_call(one.call)).completion += static_cast<double>(completion);
    }
  }
  for (const PathSegment& segment : critical) {
    const RankActivities& own = activities.ranks[segment.rank];
    std::size_t a = PartitionIndex(0, own.size() + 1, [&](std::size_t i) { return own.edge(i) <= segment.begin; }) - 1;
    for (; a < own.size() && own.edge(a) < segment.end; ++a) {
      const Tick ticks = std::min(own.edge(a + 1), segment.end) - std::max(own.edge(a), segment.begin);
      if (ticks > 0) ranks[segment.rank].Of(own.path(a)).critical += static_cast<double>(ticks);
    }
  }
  return ranks;
}

}  // namespace

PathLosses& RankLosses::Of(PathId path) {
  return losses[static_cast<std::size_t>(std::ranges::lower_bound(paths, path) - paths.begin())];
}

const PathLosses* RankLosses::Find(PathId path) const {
  const auto place = std::ranges::lower_bound(paths, path);
  return place != paths.end() && *place == path ? &losses[static_cast<std::size_t>(place - paths.begin())] : nullptr;
}

bool Diagnosis::IsOutside(PathId path) const {
  return recurs && (paths.is_before_phase(path) || path == kBetweenOccurrences || path == kAfterPhase);
}

PathLosses& PathLosses::operator+=(const PathLosses& other) {
  visits += other.visits;
  for (double PathLosses::*value : kValues) this->*value += other.*value;
  for (ByWaitKind PathLosses::*values : kValuesByKind) Add(other.*values, this->*values);
  return *this;
}

double Diagnosis::Waiting() const {
  double sum = 0;
  for (PathId path = 0; path < totals.size(); ++path) sum += IsOutside(path) ? 0 : totals[path].Waiting();
  return sum;
}

double Diagnosis::Allocation() const { return length * static_cast<double>(processes); }

Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut, const DiagnosisOptions& options) {
  Diagnosis diagnosis = Diagnose(trace, matching, cut, CollectActivities(trace, cut), options);
  // As in the factors, also where activities end in MPI_Finalize.
  if (!diagnosis.recurs) diagnosis.length = trace.Seconds(cut.end() - cut.begin());
  return diagnosis;
}

Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut, Activities activities,
                   const DiagnosisOptions& options) {
  WaitStates states = FindWaitStates(trace, matching, std::move(activities));
  // The end of a phase that recurs is none of its time.
  const bool goes_on = cut.spec.kind != PhaseSpec::Kind::kWholeRun && cut.span != Span::kEach;
  DelayCosts costs = FindDelayCosts(states, cut.iterations, options.rules, options.charge_end.value_or(goes_on));
  states.marks = {};
  Diagnosis diagnosis;
  diagnosis.paths = states.activities.paths;
  diagnosis.rasters = std::move(costs.rasters);
  diagnosis.diagnostics = states.diagnostics;
  diagnosis.critical = FindCriticalPath(states);
  diagnosis.ranks = FindRankLosses(states, costs.ranks, diagnosis.critical);
  AddOverRanks(cut, costs.ranks, options, diagnosis);
  if (options.slack) AddSlack(trace, matching, states, diagnosis);
  if (options.shapes) AddShapes(trace, cut, states, *options.shapes, diagnosis);
  if (options.finds_causes) diagnosis.causes = FindCauses(trace, matching, cut, states, diagnosis, options);
  if (options.latency) diagnosis.latency = FindLatencyGain(trace, matching, states, diagnosis);
  ToSeconds(diagnosis, 1 / trace.ticks_per_second);
  diagnosis.window = trace.Seconds(states.activities.end - states.activities.begin);
  diagnosis.length = diagnosis.recurs ? 0 : diagnosis.window;
  for (const RankLosses& rank : diagnosis.ranks) {
    double inside = 0;  // the occurrences of the phase
    for (std::size_t i = 0; i < rank.paths.size(); ++i) {
      if (!diagnosis.IsOutside(rank.paths[i])) inside += rank.losses[i].time;
    }
    if (diagnosis.recurs) diagnosis.length = std::max(diagnosis.length, inside);
  }
  AddDeviceCalls(diagnosis);
  return diagnosis;
}

}  // namespace farscale
