#include "planning/balance_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "balance/outcome.h"

namespace farscale {
namespace {

// Cases that are told in full.
constexpr std::size_t kDetailed = 4;

using Configuration = BalanceConfiguration;

bool IsInCase(const WhatIf& what_if, const BalanceCase& one, const Configuration& configuration) {
  return configuration.processors == one.processors && (what_if.same_problem || configuration.run == one.run);
}

double XOf(const Configuration& configuration, BalanceAxis axis) {
  switch (axis) {
    case BalanceAxis::kInterval: return static_cast<double>(configuration.interval);
    case BalanceAxis::kLevel: return configuration.level();
    case BalanceAxis::kProcessors: break;
  }
  return static_cast<double>(configuration.processors);
}

// True if two outcomes differ in strategy and what the axis is about, and in nothing else.
bool IsComparable(const Configuration& a, const Configuration& best, BalanceAxis axis, bool is_unbalanced) {
  if (a.placement != best.placement) return false;
  const bool same_interval = is_unbalanced || a.interval == best.interval;
  switch (axis) {
    case BalanceAxis::kInterval: return a.run == best.run && a.processors == best.processors;
    case BalanceAxis::kLevel: return a.processors == best.processors && same_interval;
    case BalanceAxis::kProcessors: break;
  }
  return a.run == best.run && same_interval;
}

std::multimap<double, std::size_t>& LineOf(const std::string& strategy, std::vector<SweepLine>& lines) {
  const auto found = std::ranges::find(lines, strategy, &SweepLine::strategy);
  return found != lines.end() ? found->points : lines.emplace_back(SweepLine{strategy, {}}).points;
}

}  // namespace

std::vector<BalanceCase> CasesOf(const WhatIf& what_if) {
  std::vector<BalanceCase> cases;
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    const Configuration& configuration = what_if.outcomes[i].configuration;
    auto found = std::find_if(cases.begin(), cases.end(),
                              [&](const BalanceCase& one) { return IsInCase(what_if, one, configuration); });
    if (found == cases.end()) {
      BalanceCase one;
      if (!what_if.same_problem) one.run = configuration.run;
      one.processors = configuration.processors;
      found = cases.insert(cases.end(), std::move(one));
    }
    found->outcomes.push_back(i);
    if (IsUnbalanced(what_if.outcomes[i]) && configuration.tasks == configuration.processors && !found->original) {
      found->original = i;
    }
  }
  for (BalanceCase& one : cases) {
    for (const std::size_t i : what_if.by_time) {
      if (IsInCase(what_if, one, what_if.outcomes[i].configuration)) one.ranking.push_back(i);
    }
    // In a case times compare, so by those; in the order of the ranking where they are the same.
    SortByLongRun(one.ranking, [&](std::size_t i) {
      return std::pair(LongRunIterationOf(what_if, what_if.outcomes[i]), what_if.outcomes[i].makespan);
    });
    for (const std::size_t i : what_if.by_robustness) {
      if (!one.robust && IsInCase(what_if, one, what_if.outcomes[i].configuration)) one.robust = i;
    }
    if (one.ranking.empty()) continue;
    // The outcome that balancing is best compared with: it may be done without.
    const std::size_t best = one.ranking.front(), reference = ReferenceOf(what_if, one, what_if.outcomes[best]);
    const auto time_of = [&](std::size_t i) { return LongRunIterationOf(what_if, what_if.outcomes[i]); };
    std::optional<std::size_t> without;
    for (const std::size_t i : one.outcomes) {
      if (!IsUnbalanced(what_if.outcomes[i]) || i == reference) continue;
      if (!without || time_of(i) < time_of(*without)) without = i;
    }
    one.lead = without && time_of(*without) <= time_of(best) ? without : best;
  }
  std::stable_sort(cases.begin(), cases.end(), [](const BalanceCase& a, const BalanceCase& b) {
    return std::tuple(a.run.value_or(0), a.processors) < std::tuple(b.run.value_or(0), b.processors);
  });
  return cases;
}

bool IsUnbalanced(const BalanceOutcome& outcome) {
  return outcome.configuration.interval == 0 || outcome.configuration.strategy == "none";
}

std::size_t ReferenceOf(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  if (outcome.gain_over_original && one.original) return *one.original;
  for (const std::size_t i : one.outcomes) {
    const BalanceOutcome& other = what_if.outcomes[i];
    if (IsUnbalanced(other) && other.configuration.run == outcome.configuration.run) return i;
  }
  return outcome.baseline;
}

Gain GainThatCounts(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  if (!outcome.long_run_iteration) return GainOverTrace(what_if, one, outcome);
  const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, outcome)];
  return LongRunGainOver(reference, what_if.runs[reference.configuration.run].iterations, outcome,
                         what_if.runs[outcome.configuration.run].iterations);
}

double LongRunIterationOf(const WhatIf& what_if, const BalanceOutcome& outcome) {
  return LongRunIteration(outcome, what_if.runs[outcome.configuration.run].iterations);
}

Gain GainOverTrace(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  const std::size_t reference = ReferenceOf(what_if, one, outcome);
  if (outcome.gain_over_original && reference == one.original) return *outcome.gain_over_original;
  return reference == outcome.baseline ? outcome.gain : GainOver(what_if.outcomes[reference], outcome);
}

bool HasSeveralPlacements(const WhatIf& what_if, const BalanceCase& one) {
  return std::any_of(one.outcomes.begin(), one.outcomes.end(), [&](std::size_t i) {
    return what_if.outcomes[i].configuration.placement !=
           what_if.outcomes[one.outcomes.front()].configuration.placement;
  });
}

std::optional<std::pair<const NetworkGain*, const NetworkGain*>> NetworkRangeOf(const WhatIf& what_if,
                                                                                std::size_t outcome) {
  std::optional<std::pair<const NetworkGain*, const NetworkGain*>> range;
  for (const NetworkGain& of_network : what_if.network_gains) {
    if (of_network.outcome != outcome) continue;
    if (!range) range = {&of_network, &of_network};
    if (of_network.gain.value < range->first->gain.value) range->first = &of_network;
    if (of_network.gain.value > range->second->gain.value) range->second = &of_network;
  }
  return range;
}

double CostsOfBalancing(const MakespanParts& parts) { return parts.barriers + parts.strategy + parts.migration; }

BalanceVerdict VerdictOf(const WhatIf& what_if, const BalanceCase& one) {
  if (one.ranking.empty()) return BalanceVerdict::kNothingBalanced;
  const BalanceOutcome& lead = what_if.outcomes[*one.lead];
  if (what_if.runs[lead.configuration.run].is_unexplained) return BalanceVerdict::kUnexplained;
  if (what_if.outcomes[one.ranking.front()].migrations == 0) return BalanceVerdict::kNothingMoved;
  if (IsUnbalanced(lead)) return BalanceVerdict::kUnbalancedLeads;
  if (const auto range = NetworkRangeOf(what_if, *one.lead)) {
    const auto& [least, most] = *range;
    if (least->gain.value < kHardlyAGain && most->gain.value >= kHardlyAGain) return BalanceVerdict::kNetworkDecides;
  }
  const Gain gain = GainThatCounts(what_if, one, lead);
  if (gain.low < gain.high && gain.low <= 0 && gain.high >= 0) return BalanceVerdict::kWithinNoise;
  if (gain.value > -kHardlyAGain && gain.value < kHardlyAGain) return BalanceVerdict::kHardlyAnything;
  return gain.value > 0 ? BalanceVerdict::kGains : BalanceVerdict::kCosts;
}

const BalanceCase& MostTelling(const WhatIf& what_if, const std::vector<BalanceCase>& cases) {
  const auto gain = [&](const BalanceCase& one) {
    return one.lead ? GainThatCounts(what_if, one, what_if.outcomes[*one.lead]).value : -1e9;
  };
  return *std::max_element(cases.begin(), cases.end(),
                           [&](const BalanceCase& a, const BalanceCase& b) { return gain(a) < gain(b); });
}

std::vector<bool> ChooseDetailed(const WhatIf& what_if, const std::vector<BalanceCase>& cases) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].lead) order.push_back(i);
  }
  const auto gain = [&](std::size_t i) {
    return GainThatCounts(what_if, cases[i], what_if.outcomes[*cases[i].lead]).value;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain(a) > gain(b); });
  std::vector<bool> chosen(cases.size(), false);
  for (std::size_t i = 0; i < std::min(order.size(), kDetailed); ++i) chosen[order[i]] = true;
  return chosen;
}

std::vector<std::size_t> RowsOf(const WhatIf& what_if, const BalanceCase& one) {
  std::vector<std::size_t> rows;
  if (one.lead && IsUnbalanced(what_if.outcomes[*one.lead])) rows.push_back(*one.lead);
  rows.insert(rows.end(), one.ranking.begin(), one.ranking.end());
  for (const std::size_t i : one.outcomes) {
    if (IsUnbalanced(what_if.outcomes[i]) && i != one.lead) rows.push_back(i);
  }
  return rows;
}

std::vector<SweepLine> SweepOver(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis) {
  if (one.ranking.empty() || (axis == BalanceAxis::kLevel && !what_if.same_problem)) return {};
  const Configuration& best = what_if.outcomes[one.ranking.front()].configuration;
  std::vector<SweepLine> lines, unbalanced;
  std::set<double> values;
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    const BalanceOutcome& outcome = what_if.outcomes[i];
    const bool is_unbalanced = IsUnbalanced(outcome);
    if (!IsComparable(outcome.configuration, best, axis, is_unbalanced)) continue;
    const double x = XOf(outcome.configuration, axis);
    LineOf(outcome.configuration.strategy, is_unbalanced ? unbalanced : lines).emplace(x, i);
    if (!is_unbalanced || axis != BalanceAxis::kInterval) values.insert(x);
  }
  if (values.size() < 2) return {};
  for (auto& [strategy, points] : unbalanced) {
    if (axis != BalanceAxis::kInterval) continue;
    const std::size_t outcome = points.begin()->second;
    points.clear();  // without balancing nothing depends on the interval
    for (const double x : values) points.emplace(x, outcome);
  }
  lines.insert(lines.end(), unbalanced.begin(), unbalanced.end());
  return lines;
}

std::vector<std::size_t> BestOfStrategies(const WhatIf& what_if, const BalanceCase& one) {
  if (one.ranking.empty()) return one.outcomes;
  std::vector<std::size_t> told;
  if (one.original) told.push_back(*one.original);
  for (const std::size_t i : {*one.lead, what_if.outcomes[one.ranking.front()].baseline}) {
    const bool is_told = std::find(told.begin(), told.end(), i) != told.end();
    if (!is_told && IsUnbalanced(what_if.outcomes[i])) told.push_back(i);
  }
  for (const std::size_t i : one.ranking) {
    const std::string& strategy = what_if.outcomes[i].configuration.strategy;
    const bool is_told = std::any_of(told.begin(), told.end(), [&](std::size_t other) {
      return what_if.outcomes[other].configuration.strategy == strategy;
    });
    if (!is_told) told.push_back(i);
  }
  return told;
}

const NodeMapping* MappingWorthHaving(const WhatIf& what_if) {
  const NodeMapping* best = nullptr;
  for (const NodeMapping& mapping : what_if.mappings) {
    if (mapping.placement == Placement::kAsMeasured || mapping.gain.value < kWorthMapping) continue;
    const BalanceRun& run = what_if.runs[mapping.run];
    if (run.grown_from || run.is_unexplained) continue;  // nobody has made the run, or replays of it tell nothing
    const bool is_larger = best == nullptr || mapping.node_of_rank.size() > best->node_of_rank.size();
    const bool gains_more = best != nullptr && mapping.run == best->run && mapping.gain.value > best->gain.value;
    if (is_larger || gains_more) best = &mapping;
  }
  return best;
}

NamedTexts RankFiles(const NodeMapping& mapping) {
  const std::vector<std::int32_t>& nodes = mapping.node_of_rank;
  std::string slots, counts;
  std::map<std::int32_t, int> taken;  // ranks of a node take its slots in their order
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    slots += fmt::format("rank {}=+n{} slot={}\n", rank, nodes[rank], taken[nodes[rank]]++);
  }
  for (std::size_t rank = 0; rank < nodes.size();) {  // a line for ranks in a row on one node
    std::size_t next = rank;
    while (next < nodes.size() && nodes[next] == nodes[rank]) ++next;
    counts += fmt::format("echo \"$(host {}):{}\"\n", nodes[rank], next - rank);
    rank = next;
  }
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return nodes[rank]; });
  // Lines of a shell script after which `host n` prints the name of node n of the job.
  const std::string hosts = fmt::format(
      "set -eu\nhosts=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
      "[ \"$(echo \"$hosts\" | wc -l)\" -ge {0} ] || "
      "{{ echo \"$0: the job needs {0} nodes\" >&2; exit 1; }}\n"
      "host() {{ echo \"$hosts\" | sed -n \"$(($1 + 1))p\"; }}\n",
      mapping.nodes);
  return {
      {"rankfile.openmpi", slots},
      {"hosts.slurm", fmt::format("#!/bin/sh\n# In the job: sh hosts.slurm > hosts; SLURM_HOSTFILE=hosts srun "
                                  "--distribution=arbitrary -n {} PROGRAM\n{}for node in {}; do host \"$node\"; done\n",
                                  nodes.size(), hosts, fmt::join(nodes, " "))},
      {"hosts.mpich",
       fmt::format("#!/bin/sh\n# In the job: sh hosts.mpich > hosts; mpiexec -f hosts -n {} PROGRAM\n{}{}",
                   nodes.size(), hosts, counts)},
      {"MPICH_RANK_ORDER",
       fmt::format("# export MPICH_RANK_REORDER_METHOD=3; ranks node by node\n{}\n", fmt::join(order, ","))}};
}

}  // namespace farscale
