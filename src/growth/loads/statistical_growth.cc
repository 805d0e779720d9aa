#include "growth/growth_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "base/diagnostics.h"
#include "base/random.h"

namespace farscale {
namespace {

// Share of the messages whose partners may change from iteration to iteration; chosen: as many as may follow no rule
// where the others do.
constexpr double kMostChanging = 1 - kLeastExplained;
// A power this near to none is none; chosen, as that of computation [load_model.cc].
constexpr double kNoPower = 0.1;

// Partners of a rank in an iteration, as often as it posts a message to or from them.
std::multiset<std::int32_t> Partners(const RankCalls& calls, std::size_t iteration) {
  std::multiset<std::int32_t> partners;
  for (std::uint32_t call = calls.FirstCall(iteration); call < calls.iteration_end[iteration]; ++call) {
    for (const CallPart& part : calls.Parts(call)) {
      if (IsMessage(part.kind)) partners.insert(part.peer);
    }
  }
  return partners;
}

// Throws where iterations of a kind have different partners.
void RequireSteadyPartners(const RunCalls& run) {
  double changing = 0, all = 0;
  for (std::size_t i = 1; i < run.iterations(); ++i) {
    const std::size_t first = run.FirstOfKind(run.kinds[i]);
    if (first == i) continue;
    for (const RankCalls& calls : run.of_ranks) {
      const std::multiset<std::int32_t> here = Partners(calls, i), before = Partners(calls, first);
      std::vector<std::int32_t> same;
      std::ranges::set_intersection(here, before, std::back_inserter(same));
      all += static_cast<double>(here.size());
      changing += static_cast<double>(here.size() - same.size());
    }
  }
  if (changing <= kMostChanging * all) return;
  throw Error(ErrorKind::kNotEnoughData, "",
              fmt::format("{:.0f} % of the messages go to other ranks in every iteration", 100 * changing / all));
}

PartRule LiftPart(const RunCalls& run, const std::vector<std::vector<RankDivision>>& groups, std::int64_t rank,
                  const CallPart& part) {
  PartRule rule{part.kind, part.collective};
  if (!IsPost(part.kind)) {
    rule.backs = {{NumberRule::Kind::kConstant, part.back}};
    return rule;
  }
  rule.groups = groups[part.communicator];
  rule.tags = {{NumberRule::Kind::kConstant, part.tag}};
  PeerRule peer;
  if (PartOf(part.kind).IsCollective()) {
    if (rule.groups.empty()) {
      throw Error(ErrorKind::kNotEnoughData, "",
                  fmt::format("collective operations among {} of {} ranks",
                              run.communicators[part.communicator].members.size(), run.ranks));
    }
    if (part.peer >= 0) {
      peer.kind = rule.groups.front().IsAll() ? PeerRule::Kind::kAbsolute : PeerRule::Kind::kOffset;
      peer.n = peer.kind == PeerRule::Kind::kAbsolute ? part.peer : 0;
    }
  } else if (part.peer >= 0) {
    // Among some of the ranks, partners and tags tell messages apart.
    if (rule.groups.empty() || !rule.groups.front().IsAll()) rule.groups = {RankDivision{}};
    peer.kind = PeerRule::Kind::kOffset;
    const auto a = static_cast<std::size_t>(rank), b = static_cast<std::size_t>(part.peer);
    std::int32_t further = 0;  // copies from this one to that of the partner; ranks of a node are copied together
    const bool has_nodes = *std::ranges::max_element(run.nodes) > 0;
    if (a != b && !(has_nodes && run.nodes[a] == run.nodes[b])) {
      Random random(SeedFor(0, fmt::format("pair {} {}", std::min(a, b), std::max(a, b))));
      further = (static_cast<std::int32_t>(random.Index(3)) - 1) * (a < b ? 1 : -1);
    }
    peer.steps = {static_cast<std::int32_t>(part.peer - rank), further};
  }
  rule.peers = {peer};
  return rule;
}

// The rules of a rank alone, the first iteration of every kind.
std::vector<std::vector<CallBlock>> LiftRank(const RunCalls& run, const std::vector<std::vector<RankDivision>>& groups,
                                             std::int64_t rank) {
  std::vector<std::vector<CallBlock>> kinds;
  const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < run.iterations(); ++i) {
    if (run.kinds[i] < kinds.size()) continue;
    CallBlock& block = kinds.emplace_back().emplace_back();
    for (std::uint32_t call = calls.FirstCall(i); call < calls.iteration_end[i]; ++call) {
      CallRule& rule = block.calls.emplace_back(CallRule{calls.calls[call].function, calls.calls[call].completes_all});
      if (rule.completes_all) continue;
      for (const CallPart& part : calls.Parts(call)) rule.parts.push_back(LiftPart(run, groups, rank, part));
    }
  }
  return kinds;
}

// The power of the number of ranks that the mean over posts follows, by least squares of logarithms.
ScalingLaw FitMeans(const std::vector<RunCalls>& runs, const std::vector<ByteSums>& sums, double ByteSums::*of) {
  ScalingLaw law;
  double count = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (sums[run].count == 0 || sums[run].*of <= 0) continue;
    const double x = std::log(static_cast<double>(runs[run].ranks)), y = std::log(sums[run].*of / sums[run].count);
    count += 1;
    x_sum += x;
    y_sum += y;
    xx += x * x;
    xy += x * y;
  }
  law.runs = static_cast<std::size_t>(count);
  if (count < 2) return law;
  const double power = (xy - x_sum * y_sum / count) / (xx - x_sum * x_sum / count);
  if (std::abs(power) >= kNoPower) law.power = power;
  return law;
}

// Every call of a function follows the law of all.
SiteLaws FitFunctionLaws(const std::vector<RunCalls>& runs, const CallRules& rules) {
  const RankGrid& grid = rules.grids.back();
  std::map<std::uint32_t, std::vector<ByteSums>> sums_of_functions;  // over all posts, by run
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const RankCalls& calls : runs[run].of_ranks) {
      for (std::uint32_t call = 0; call < calls.calls.size(); ++call) {
        for (const CallPart& part : calls.Parts(call)) {
          if (!IsPost(part.kind)) continue;
          std::vector<ByteSums>& of_runs = sums_of_functions[calls.calls[call].function];
          of_runs.resize(runs.size());
          of_runs[run].bytes += static_cast<double>(part.bytes);
          of_runs[run].received += static_cast<double>(part.received);
          of_runs[run].count += 1;
        }
      }
    }
  }
  std::map<std::uint32_t, SizeLaws> of_functions;
  for (const auto& [function, sums] : sums_of_functions) {
    const ByteSums& largest = sums.back();
    const double posts = std::max(largest.count, 1.0);
    of_functions[function] = {FitMeans(runs, sums, &ByteSums::bytes),
                              FitMeans(runs, sums, &ByteSums::received),
                              largest.bytes / posts,
                              largest.received / posts,
                              grid,
                              runs.size()};
  }
  SiteLaws laws;
  for (const auto& [of_class, of_rank] : rules.classes) {
    for (std::size_t kind = 0; kind < of_rank.kinds.size(); ++kind) {
      for (const PlannedCall& call : PlanCalls(of_rank.kinds[kind], kind, grid, grid)) {
        const auto found = of_functions.find(call.rule->function);
        if (found == of_functions.end()) continue;
        SiteKey key = call.key;
        for (const bool is_root : {false, true}) {
          key.is_root = is_root;
          laws.sizes.try_emplace(key, found->second);
        }
      }
    }
  }
  return laws;
}

}  // namespace

GrowthModel LearnStatistically(const GrowthModel& all, std::size_t first, std::size_t end) {
  GrowthModel model = all.WithRuns(first, end);
  RunCalls& largest = model.runs.back();
  if (largest.ranks > std::numeric_limits<std::int16_t>::max())
    throw Error(ErrorKind::kNotEnoughData, "", "the largest run has more ranks than can be told apart");
  MatchKinds(model.runs);
  RequireSteadyPartners(largest);
  // Iterations are of a kind only when all ranks do exactly the same in them, as their calls are not narrowed to rules.
  std::vector<std::size_t> first_of_kinds;
  largest.kinds = SortIntoKinds(largest, true, first_of_kinds);
  CallRules& rules = model.rules;
  rules.scheme.is_lifted = true;
  for (const RunCalls& run : model.runs) rules.grids.push_back({{static_cast<std::int32_t>(run.ranks), 1, 1, 1}});
  std::vector<std::vector<RankDivision>> groups;  // a rule of every communicator; nothing for those of some ranks only
  std::uint8_t copies = 0;
  for (const Communicator& one : largest.communicators) {
    std::vector<RankDivision>& of_communicator = groups.emplace_back();
    const auto members = static_cast<std::int64_t>(one.members.size());
    if (one.is_self || members == 1) {
      of_communicator = {RankDivision::Grid(0)};
    } else if (members == largest.ranks && one.remote.empty()) {
      of_communicator = {RankDivision{}.Copy(copies++)};
    }
  }
  for (std::int64_t rank = 0; rank < largest.ranks; ++rank) {
    ClassRules& of_rank = rules.classes[ClassOf(rules.scheme, rules.grids.back(), rank)];
    of_rank.donors = {{model.runs.size() - 1, rank}};
    of_rank.kinds = LiftRank(largest, groups, rank);
  }
  model.laws = FitFunctionLaws(model.runs, rules);
  // One law of computation for all ranks, which are alike whatever their number: the exact power where chance does not
  // explain that it differs from a simple one. Differences of ranks are drawn.
  CallRules of_all{.grids = rules.grids};
  std::vector<std::pair<std::size_t, std::int64_t>>& donors = of_all.classes[{}].donors;
  for (std::size_t run = 0; run < model.runs.size(); ++run) {
    for (std::int64_t rank = 0; rank < model.runs[run].ranks; ++rank) donors.emplace_back(run, rank);
  }
  model.load = FitLoadModel(model.runs, of_all);
  if (!model.load.laws.empty()) model.load.common_law = model.load.laws.begin()->second;
  model.load.laws.clear();
  return model;
}

StatisticalGrowth CountPartners(const RunCalls& run) {
  StatisticalGrowth counts{.ranks = run.ranks};
  std::vector<double> partners;
  double posts = 0;
  for (const RankCalls& calls : run.of_ranks) {
    std::set<std::int32_t> to;
    for (const CallPart& part : calls.parts) {
      if (!IsSend(part.kind)) continue;
      to.insert(part.peer);
      posts += 1;
    }
    partners.push_back(static_cast<double>(to.size()));
  }
  std::ranges::sort(partners);
  counts.fewest = partners.front();
  counts.median = partners[partners.size() / 2];
  counts.most = partners.back();
  counts.messages = posts / static_cast<double>(run.ranks) / static_cast<double>(run.iterations());
  return counts;
}

}  // namespace farscale
