#include "growth/loads/statistical_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/random.h"
#include "growth/rules/part_rules.h"

namespace farscale {
namespace {

// Share of the messages whose partners may change from iteration to iteration; chosen: as many as may follow no rule
// where the others do.
constexpr double kMostChanging = 1 - kLeastExplained;
// A power this near to none is none; chosen, as that of computation [load_model.cc].
constexpr double kNoPower = 0.1;

bool IsMessage(const CallPart& part) { return IsPost(part.kind) && !PartOf(part.kind).IsCollective(); }
bool IsSend(const CallPart& part) { return IsMessage(part) && PartOf(part.kind).type == OperationClass::kSend; }

// Partners of a rank in an iteration, as often as it posts a message to or from them.
std::multiset<std::int32_t> PartnersIn(const RankCalls& calls, std::size_t iteration) {
  std::multiset<std::int32_t> partners;
  for (std::uint32_t call = calls.FirstCall(iteration); call < calls.iteration_end[iteration]; ++call) {
    for (const CallPart& part : calls.PartsOf(call)) {
      if (IsMessage(part)) partners.insert(part.peer);
    }
  }
  return partners;
}

// Throws where iterations of a kind have other partners.
void RequireSteadyPartners(const RunCalls& run) {
  double changing = 0, all = 0;
  for (std::size_t i = 1; i < run.iterations(); ++i) {
    const auto first = static_cast<std::size_t>(std::ranges::find(run.kinds, run.kinds[i]) - run.kinds.begin());
    if (first == i) continue;
    for (const RankCalls& calls : run.of_ranks) {
      const std::multiset<std::int32_t> here = PartnersIn(calls, i), before = PartnersIn(calls, first);
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

bool AreSameParts(const CallPart& a, const CallPart& b) {
  return a.kind == b.kind && a.collective == b.collective && a.peer == b.peer && a.communicator == b.communicator &&
         a.tag == b.tag && a.back == b.back;
}

// Whether a rank makes the same calls, with the same partners, in two iterations.
bool AreSameCalls(const RankCalls& calls, std::size_t a, std::size_t b) {
  const std::uint32_t first_a = calls.FirstCall(a), first_b = calls.FirstCall(b);
  const std::uint32_t count = calls.iteration_end[a] - first_a;
  if (calls.iteration_end[b] - first_b != count) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PhaseCall &call_a = calls.calls[first_a + i], &call_b = calls.calls[first_b + i];
    if (call_a.function != call_b.function || call_a.completes_all != call_b.completes_all ||
        !std::ranges::equal(calls.PartsOf(first_a + i), calls.PartsOf(first_b + i), AreSameParts))
      return false;
  }
  return true;
}

// Iterations are of a kind only when all ranks do exactly the same in them, as their calls are not narrowed to rules.
void SplitKinds(RunCalls& run) {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < run.iterations(); ++i) {
    const auto same = std::ranges::find_if(first, [&](std::size_t other) {
      return std::ranges::all_of(run.of_ranks, [&](const RankCalls& calls) { return AreSameCalls(calls, i, other); });
    });
    run.kinds[i] = static_cast<std::size_t>(same - first.begin());
    if (same == first.end()) first.push_back(i);
  }
}

// To which copy the messages of a rank go; those of the partner come back from there. Ranks of a node are copied
// together.
std::int32_t CopiesFurther(const RunCalls& run, std::int64_t rank, std::int64_t peer) {
  const auto a = static_cast<std::size_t>(rank), b = static_cast<std::size_t>(peer);
  const bool has_nodes = *std::ranges::max_element(run.nodes) > 0;
  if (a == b || (has_nodes && run.nodes[a] == run.nodes[b])) return 0;
  Random random(SeedFor(0, fmt::format("pair {} {}", std::min(a, b), std::max(a, b))));
  const auto steps = static_cast<std::int32_t>(random.Index(3)) - 1;
  return a < b ? steps : -steps;
}

class RunLifter {
 public:
  explicit RunLifter(const RunCalls& run) : run_(run), groups_(GroupsOf(run)) {}

  ClassRules Lift(std::int64_t rank, std::size_t run_number) const {
    ClassRules rules;
    rules.donors = {{run_number, rank}};
    const RankCalls& calls = run_.of_ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < run_.iterations(); ++i) {
      if (run_.kinds[i] < rules.kinds.size()) continue;
      CallBlock& block = rules.kinds.emplace_back().emplace_back();
      for (std::uint32_t call = calls.FirstCall(i); call < calls.iteration_end[i]; ++call)
        block.calls.push_back(LiftCall(rank, calls, call));
    }
    return rules;
  }

 private:
  // A rule of every communicator; nothing for those of some ranks only.
  static std::vector<std::vector<GroupRule>> GroupsOf(const RunCalls& run) {
    std::vector<std::vector<GroupRule>> groups;
    std::uint8_t copies = 0;
    for (const Communicator& one : run.communicators) {
      std::vector<GroupRule>& rules = groups.emplace_back();
      const auto members = static_cast<std::int64_t>(one.members.size());
      if (one.is_self || members == 1) {
        rules = {{RankDivision::Grid(0), 0}};
      } else if (members == run.ranks && one.remote.empty()) {
        rules = {{RankDivision{}, copies++}};
      }
    }
    return groups;
  }

  CallRule LiftCall(std::int64_t rank, const RankCalls& calls, std::uint32_t call) const {
    CallRule rule{calls.calls[call].function, calls.calls[call].completes_all, {}};
    if (rule.completes_all) return rule;
    for (const CallPart& part : calls.PartsOf(call)) rule.parts.push_back(LiftPart(rank, part));
    return rule;
  }

  PartRule LiftPart(std::int64_t rank, const CallPart& part) const {
    PartRule rule{part.kind, part.collective};
    if (!IsPost(part.kind)) {
      rule.backs = {{false, part.back}};
      return rule;
    }
    rule.groups = groups_[part.communicator];
    rule.tags = {{TagRule::Kind::kConstant, part.tag}};
    PeerRule peer;
    if (PartOf(part.kind).IsCollective()) {
      if (rule.groups.empty()) {
        throw Error(ErrorKind::kNotEnoughData, "",
                    fmt::format("collective operations among {} of {} ranks",
                                run_.communicators[part.communicator].members.size(), run_.ranks));
      }
      if (part.peer >= 0) {
        peer.kind = rule.groups.front().ranks.IsAll() ? PeerRule::Kind::kAbsolute : PeerRule::Kind::kOffset;
        peer.n = peer.kind == PeerRule::Kind::kAbsolute ? part.peer : 0;
      }
    } else if (part.peer >= 0) {
      // Among some of the ranks, partners and tags tell messages apart.
      if (rule.groups.empty() || !rule.groups.front().ranks.IsAll()) rule.groups = {{RankDivision{}, 0}};
      peer.kind = PeerRule::Kind::kOffset;
      peer.steps = {static_cast<std::int32_t>(part.peer - rank), CopiesFurther(run_, rank, part.peer)};
    }
    rule.peers = {peer};
    return rule;
  }

  const RunCalls& run_;
  std::vector<std::vector<GroupRule>> groups_;
};

// Of all posts by one function in a run.
struct FunctionSum {
  double bytes = 0, received = 0, posts = 0;
};
using FunctionSums = std::map<std::uint32_t, std::vector<FunctionSum>>;  // by run

FunctionSums SumBytes(const std::vector<RunCalls>& runs) {
  FunctionSums sums;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const RankCalls& calls : runs[run].of_ranks) {
      for (std::uint32_t call = 0; call < calls.calls.size(); ++call) {
        for (const CallPart& part : calls.PartsOf(call)) {
          if (!IsPost(part.kind)) continue;
          std::vector<FunctionSum>& of_runs = sums[calls.calls[call].function];
          of_runs.resize(runs.size());
          of_runs[run].bytes += static_cast<double>(part.bytes);
          of_runs[run].received += static_cast<double>(part.received);
          of_runs[run].posts += 1;
        }
      }
    }
  }
  return sums;
}

// The power of the number of ranks that the mean over posts follows, by least squares of logarithms.
ScalingLaw PowerOf(const std::vector<RunCalls>& runs, const std::vector<FunctionSum>& sums, double FunctionSum::*of) {
  ScalingLaw law;
  double count = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (sums[run].posts == 0 || sums[run].*of <= 0) continue;
    const double x = std::log(static_cast<double>(runs[run].ranks)), y = std::log(sums[run].*of / sums[run].posts);
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
SiteLaws LawsOf(const std::vector<RunCalls>& runs, const CallRules& rules) {
  const RankGrid& grid = rules.grids.back();
  std::map<std::uint32_t, SizeLaws> of_functions;
  for (const auto& [function, sums] : SumBytes(runs)) {
    const FunctionSum& largest = sums.back();
    const double posts = std::max(largest.posts, 1.0);
    of_functions[function] = {PowerOf(runs, sums, &FunctionSum::bytes),
                              PowerOf(runs, sums, &FunctionSum::received),
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

// Ranks are alike here: how they differ is drawn, whatever their number.
CallRules AllAlike(const std::vector<RunCalls>& runs) {
  CallRules rules;
  ClassRules& all = rules.classes[{}];
  for (std::size_t run = 0; run < runs.size(); ++run) {
    rules.grids.push_back({{static_cast<std::int32_t>(runs[run].ranks), 1, 1, 1}});
    for (std::int64_t rank = 0; rank < runs[run].ranks; ++rank) all.donors.emplace_back(run, rank);
  }
  return rules;
}

// One law for all ranks: the exact power where chance does not explain that it differs from a simple one.
LoadModel LoadOf(const std::vector<RunCalls>& runs) {
  LoadModel load = FitLoadModel(runs, AllAlike(runs));
  if (!load.laws.empty()) load.common_law = load.laws.begin()->second;
  load.laws.clear();
  return load;
}

CallRules RulesByRank(const std::vector<RunCalls>& runs) {
  CallRules rules;
  rules.scheme.is_lifted = true;
  for (const RunCalls& run : runs) rules.grids.push_back({{static_cast<std::int32_t>(run.ranks), 1, 1, 1}});
  const RunLifter lifter(runs.back());
  for (std::int64_t rank = 0; rank < runs.back().ranks; ++rank) {
    rules.classes.emplace(ClassOf(rules.scheme, rules.grids.back(), rank), lifter.Lift(rank, runs.size() - 1));
  }
  return rules;
}

}  // namespace

GrowthModel LearnStatistically(const GrowthModel& all, std::size_t first, std::size_t end) {
  GrowthModel model;
  model.runs.assign(all.runs.begin() + static_cast<std::ptrdiff_t>(first),
                    all.runs.begin() + static_cast<std::ptrdiff_t>(end));
  model.functions = all.functions;
  model.region = all.region;
  model.has_region = all.has_region;
  if (model.runs.back().ranks > std::numeric_limits<std::int16_t>::max())
    throw Error(ErrorKind::kNotEnoughData, "", "the largest run has more ranks than can be told apart");
  MatchKinds(model.runs);
  RequireSteadyPartners(model.runs.back());
  SplitKinds(model.runs.back());
  model.rules = RulesByRank(model.runs);
  model.laws = LawsOf(model.runs, model.rules);
  model.load = LoadOf(model.runs);
  return model;
}

PartnerCounts CountPartners(const RunCalls& run) {
  PartnerCounts counts{run.ranks};
  std::vector<double> partners;
  double posts = 0, bytes = 0;
  for (const RankCalls& calls : run.of_ranks) {
    std::set<std::int32_t> to;
    for (const CallPart& part : calls.parts) {
      if (!IsSend(part)) continue;
      to.insert(part.peer);
      posts += 1;
      bytes += static_cast<double>(part.bytes);
    }
    partners.push_back(static_cast<double>(to.size()));
  }
  std::ranges::sort(partners);
  counts.fewest = partners.front();
  counts.median = partners[partners.size() / 2];
  counts.most = partners.back();
  counts.messages = posts / static_cast<double>(run.ranks) / static_cast<double>(run.iterations());
  counts.bytes = posts > 0 ? bytes / posts : 0;
  return counts;
}

}  // namespace farscale
