#include "growth/read/call_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/diagnostics.h"

namespace farscale {
namespace {

SiteKey Key(std::size_t kind, std::uint32_t before, const CallRule& rule, std::int32_t stage, std::size_t program) {
  SiteKey key{.kind = kind, .function = rule.function, .before = before, .stage = stage};
  key.program = program;
  if (rule.parts.empty()) return key;
  const PartRule& part = rule.parts.front();
  if (!part.peers.empty()) {
    key.rule = part.peers.front().kind;
    key.n = part.peers.front().n;
    key.steps = part.peers.front().steps;
  }
  if (!part.groups.empty()) key.groups = part.groups.front().Copy(0);
  if (!part.tags.empty()) key.tag = part.tags.front().plus;
  return key;
}

// Degrees to which two call sites may be alike, from the most to the least.
constexpr bool (*kAlike[])(const SiteKey&, const SiteKey&) = {
    [](const SiteKey& a, const SiteKey& b) { return a.n == b.n && a.steps == b.steps && a.tag == b.tag; },
    [](const SiteKey& a, const SiteKey& b) { return a.n == b.n && a.steps == b.steps; },
    [](const SiteKey& a, const SiteKey& b) {  // partners in the same dimensions
      const auto is_alike = [](std::int32_t x, std::int32_t y) { return (x != 0) == (y != 0); };
      return a.n == b.n && std::ranges::equal(a.steps, b.steps, is_alike);
    },
};

// Sums of a call site, by run and class of ranks.
using SiteSums = std::map<std::pair<std::size_t, std::size_t>, ByteSums>;

ScalingLaw FitLaw(const SiteSums& sums, const CallRules& rules, std::size_t program, double ByteSums::*of) {
  std::vector<LawPoint> points;
  for (const auto& [where, sum] : sums)
    points.push_back({rules.grids[where.first].SeenBy(program), where.second, sum.*of / sum.count, sum.count});
  return FitScalingLaw(points);
}

SizeLaws FitLaws(const SiteSums& sums, const CallRules& rules, std::size_t program) {
  const std::size_t run = sums.rbegin()->first.first;
  std::set<std::size_t> runs;
  for (const auto& [where, sum] : sums) runs.insert(where.first);
  ByteSums all;
  for (auto of = sums.lower_bound({run, 0}); of != sums.end(); ++of) {
    all.bytes += of->second.bytes;
    all.received += of->second.received;
    all.count += of->second.count;
  }
  return {FitLaw(sums, rules, program, &ByteSums::bytes),
          FitLaw(sums, rules, program, &ByteSums::received),
          all.bytes / all.count,
          all.received / all.count,
          rules.grids[run].SeenBy(program),
          runs.size()};
}

// Means of the stages of a call, by run and class of ranks.
using MeansOfStages = std::map<std::pair<std::size_t, std::size_t>, std::map<std::int32_t, double>>;

// The one ratio of every two stages that follow each other, in all runs and classes; chosen: sizes of stages that
// differ by less than a twentieth are those of parts that do not divide evenly.
std::optional<double> FitStep(const MeansOfStages& stages) {
  constexpr double kEven = 0.05;
  double lowest = INFINITY, highest = -INFINITY, sum = 0, count = 0;
  bool is_even = true;
  for (const auto& [where, sizes] : stages) {
    double least = INFINITY, most = 0;
    for (auto one = sizes.begin(); one != sizes.end(); ++one) {
      least = std::min(least, one->second);
      most = std::max(most, one->second);
      const auto next = std::next(one);
      if (next == sizes.end() || one->second <= 0 || next->second <= 0) continue;
      const double step = std::log(next->second / one->second);
      lowest = std::min(lowest, step);
      highest = std::max(highest, step);
      sum += step;
      ++count;
    }
    is_even = is_even && most <= least * (1 + kEven);
  }
  if (is_even || count == 0) return 1;
  return highest - lowest <= kEven ? std::optional(std::exp(sum / count)) : std::nullopt;
}

}  // namespace

std::vector<PlannedCall> PlanCalls(const std::vector<CallBlock>& blocks, std::size_t kind, const RankGrid& grid,
                                   const RankGrid& model_grid) {
  std::vector<PlannedCall> plan;
  std::map<SiteKey, std::int32_t> collectives;
  std::uint32_t model = 0, before = 0;
  for (const CallBlock& block : blocks) {
    const std::int32_t count = block.Count(grid), model_count = block.Count(model_grid);
    const auto size = static_cast<std::uint32_t>(block.calls.size());
    for (std::int32_t stage = 0; stage < count; ++stage) {
      const auto of_model = static_cast<std::uint32_t>(std::max(0, std::min(stage, model_count - 1)));
      for (std::uint32_t i = 0; i < size; ++i) {
        const CallRule& rule = block.calls[i];
        plan.push_back({&rule,
                        {stage, count},
                        Key(kind, before, rule, block.counts.empty() ? -1 : stage, grid.seen_by),
                        model + of_model * size + i,
                        stage - static_cast<std::int32_t>(of_model)});
        if (!rule.parts.empty() && PartOf(rule.parts.front().kind).IsCollective()) {
          SiteKey& key = plan.back().key;
          key.number = collectives[key]++;
        }
        before = rule.function;
      }
    }
    model += static_cast<std::uint32_t>(std::max(0, model_count)) * size;
  }
  return plan;
}

std::pair<std::uint64_t, std::uint64_t> CopiedBytes(const CallSizes& sizes, const CallPart& copied, bool was_root,
                                                    bool is_root) {
  const RoleSizes& role = sizes[is_root ? 1 : 0];
  const auto round = [](double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); };
  if (was_root != is_root) return {round(role.mean_bytes), round(role.mean_received)};
  return {round(static_cast<double>(copied.bytes) * role.bytes),
          round(static_cast<double>(copied.received) * role.received)};
}

const SizeLaws* SiteLaws::Find(const SiteKey& key) const {
  const auto found = sizes.find(key);
  const SizeLaws* own = found != sizes.end() ? &found->second : nullptr;
  if (key.stage >= 0) {  // few runs have the last stages, so that their laws are those of all stages
    SiteKey first = key;
    first.stage = 0;
    const auto all = of_all_stages.find(first);
    if (all != of_all_stages.end() && (own == nullptr || own->runs != all->second.runs)) own = &all->second;
  }
  if (own != nullptr && own->runs > 1) return own;
  for (const auto& are_alike : kAlike) {
    const SizeLaws* laws = nullptr;
    bool agree = true;
    for (const auto& [other, of_other] : sizes) {
      if (of_other.runs < 2 || other.kind != key.kind || other.function != key.function || other.rule != key.rule ||
          other.groups != key.groups || other.is_root != key.is_root || other.program != key.program ||
          !are_alike(other, key))
        continue;
      agree = agree && (laws == nullptr || laws->bytes.IsLike(of_other.bytes));
      if (laws == nullptr) laws = &of_other;
    }
    if (laws != nullptr && agree) return laws;
  }
  return own;
}

void SiteLaws::Copy(SiteKey from, SiteKey to) {
  for (const bool is_root : {false, true}) {
    from.is_root = to.is_root = is_root;
    if (const SizeLaws* found = Find(from)) sizes.try_emplace(to, *found);
  }
}

CallSizes SiteLaws::SizesOn(const RankGrid& grid, const PlannedCall& call, const RankGrid& copied) const {
  CallSizes result;
  SiteKey key = call.key;
  for (const bool is_root : {false, true}) {
    key.is_root = is_root;
    const SizeLaws* laws = Find(key);
    if (laws == nullptr) continue;
    SiteKey first = key;
    first.stage = 0;
    const auto found = call.beyond > 0 ? steps.find(first) : steps.end();
    const auto [step, step_received] = found != steps.end() ? found->second : StageSteps{1, 1};
    if (!step || !step_received) {
      throw Error(ErrorKind::kNotEnoughData, "",
                  fmt::format("{} has {} stages of a call whose sizes change from stage to stage by no rule",
                              grid.GridOf(0).Text(), call.stage.count));
    }
    const double more = std::pow(*step, call.beyond), more_received = std::pow(*step_received, call.beyond);
    result[is_root ? 1 : 0] = {laws->bytes.Ratio(grid, copied) * more,
                               laws->received.Ratio(grid, copied) * more_received,
                               laws->mean_bytes * laws->bytes.Ratio(grid, laws->grid),
                               laws->mean_received * laws->received.Ratio(grid, laws->grid)};
  }
  return result;
}

bool IsRootOf(const CallPart& part, std::int64_t rank) { return PartOf(part.kind).IsCollective() && part.peer == rank; }

bool IsRootBy(const PartRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage) {
  return PartOf(rule.kind).IsCollective() && !rule.peers.empty() &&
         PeerBy(rule.peers.front(), grid, rank, stage) == rank;
}

SiteLaws FitSiteLaws(const std::vector<RunCalls>& runs, const CallRules& rules) {
  std::map<SiteKey, SiteSums> sums;
  std::size_t number = 0;
  for (const auto& [key, of_class] : rules.classes) {
    for (const auto& [run, rank] : of_class.donors) {
      const RankCalls& calls = runs[run].of_ranks[static_cast<std::size_t>(rank)];
      const RankGrid grid = rules.grids[run].SeenBy(ProgramOf(key));
      for (std::size_t i = 0; i < calls.iteration_end.size(); ++i) {
        const std::size_t kind = runs[run].kinds[i];
        const std::uint32_t first = calls.FirstCall(i);
        for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, grid, grid)) {
          const auto parts = calls.Parts(first + call.model);
          SiteKey key_here = call.key;
          key_here.is_root = !parts.empty() && IsRootOf(parts.front(), rank);
          ByteSums& sum = sums[key_here][{run, number}];
          for (const CallPart& part : parts) {
            sum.bytes += static_cast<double>(part.bytes);
            sum.received += static_cast<double>(part.received);
          }
          sum.count += 1;
        }
      }
    }
    ++number;
  }
  SiteLaws laws;
  std::map<SiteKey, SiteSums> of_all_stages;
  std::map<SiteKey, std::array<MeansOfStages, 2>> means;  // bytes sent, bytes received
  for (const auto& [key, of] : sums) {
    laws.sizes[key] = FitLaws(of, rules, key.program);
    if (key.stage < 0) continue;
    SiteKey first = key;
    first.stage = 0;
    // Every stage is compared with itself alone.
    const std::size_t stage = static_cast<std::size_t>(key.stage) * rules.classes.size();
    for (const auto& [where, sum] : of) {
      of_all_stages[first][{where.first, where.second + stage}] = sum;
      means[first][0][where][key.stage] = sum.bytes / sum.count;
      means[first][1][where][key.stage] = sum.received / sum.count;
    }
  }
  for (const auto& [key, of] : of_all_stages) laws.of_all_stages[key] = FitLaws(of, rules, key.program);
  for (const auto& [key, of] : means) laws.steps[key] = {FitStep(of[0]), FitStep(of[1])};
  return laws;
}

namespace {

using PeerKind = PeerRule::Kind;

// The rule by which the partner finds the rank; nothing where it is not of the same kind.
std::optional<PeerRule> WayBack(PeerRule rule) {
  switch (rule.kind) {
    case PeerKind::kOffset:
      for (std::int32_t& step : rule.steps) step = -step;
      return rule;
    case PeerKind::kRing:
    case PeerKind::kRingPart:
    case PeerKind::kRingUp:
    case PeerKind::kPowerUp:
    case PeerKind::kPowerDown: rule.n = -rule.n; return rule;
    case PeerKind::kXor:
    case PeerKind::kXorPart:
    case PeerKind::kXorUp:
    case PeerKind::kXorDown:
    case PeerKind::kMirror:
    case PeerKind::kTranspose: return rule;
    default: return std::nullopt;
  }
}

// Parts of rules that belong to the same messages, in the order in which they come in an iteration of a kind.
std::vector<std::vector<const PartRule*>> GroupByMessage(const RunCalls& run, std::size_t index, std::size_t kind,
                                                         const CallRules& rules) {
  std::vector<const PartRule*> parts;
  std::map<const PartRule*, std::size_t> numbers;
  std::vector<std::size_t> parents;  // for every part, an earlier one of its group; the first is its own
  const auto root = [&](std::size_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
  };
  // Sends and receives by sender, receiver, tag and communicator: those of equal rank belong together.
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::uint32_t>,
           std::array<std::vector<std::size_t>, 2>>
      channels;
  const auto add = [&](std::int64_t rank, const CallPart& seen, const PartRule& rule) {
    const auto [number, is_new] = numbers.try_emplace(&rule, parts.size());
    if (is_new) {
      parts.push_back(&rule);
      parents.push_back(number->second);
    }
    const bool sends = IsSend(rule.kind);
    const std::int64_t from = sends ? rank : seen.peer, to = sends ? seen.peer : rank;
    channels[{from, to, seen.tag, seen.communicator}][sends ? 0 : 1].push_back(number->second);
  };
  const std::size_t iteration = run.FirstOfKind(kind);
  const RankGrid& grid = rules.grids[index];
  for (std::int64_t rank = 0; rank < run.ranks; ++rank) {
    const ClassRules& of_class = rules.classes.at(ClassOf(rules.scheme, grid, rank));
    if (std::ranges::find(of_class.donors, std::pair(index, rank)) == of_class.donors.end()) continue;
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    const RankGrid seen = grid.SeenBy(grid.ProgramOf(rank));
    for (const PlannedCall& call : PlanCalls(of_class.kinds[kind], kind, seen, seen)) {
      if (call.rule->completes_all) continue;
      const auto posts = calls.Parts(calls.FirstCall(iteration) + call.model);
      for (std::size_t i = 0; i < posts.size(); ++i) {
        if (IsMessage(posts[i].kind) && posts[i].peer >= 0) add(rank, posts[i], call.rule->parts[i]);
      }
    }
  }
  for (const auto& [channel, posts] : channels) {
    for (std::size_t i = 0; i < std::min(posts[0].size(), posts[1].size()); ++i) {
      const std::size_t a = root(posts[0][i]), b = root(posts[1][i]);
      parents[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<std::vector<const PartRule*>> groups(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) groups[root(i)].push_back(parts[i]);
  return groups;
}

// Adds the rules by which the parts of a group lead to each other, if any. `turns`: uses of opposite steps so far.
void JoinGroup(const std::vector<const PartRule*>& parts, std::map<GridVector, int>& turns,
               std::map<const PartRule*, PeerRule>& joined) {
  const auto send = std::ranges::find_if(parts, [](const PartRule* part) { return IsSend(part->kind); });
  if (send == parts.end()) return;
  // Rules without a way back stand first only where other classes confirm them.
  if (std::ranges::any_of(parts, [](const PartRule* part) { return !WayBack(part->peers.front()); })) return;
  std::vector<PeerRule> fitting;  // rules by which a send may go and its receives come by the way back
  for (const PeerRule& rule : (*send)->peers) {
    const std::optional<PeerRule> back = WayBack(rule);
    const bool fits = back && std::ranges::all_of(parts, [&](const PartRule* part) {
                        return std::ranges::find(part->peers, IsSend(part->kind) ? rule : *back) != part->peers.end();
                      });
    if (fits) fitting.push_back(rule);
  }
  if (fitting.empty()) return;
  PeerRule chosen = fitting.front();
  const PeerRule back = *WayBack(chosen);
  if (chosen.kind == PeerKind::kOffset && back != chosen && std::ranges::find(fitting, back) != fitting.end()) {
    const GridVector key = std::max(chosen.steps, back.steps);
    chosen.steps = turns[key]++ % 2 == 0 ? std::min(chosen.steps, back.steps) : key;
  }
  for (const PartRule* part : parts) joined.emplace(part, IsSend(part->kind) ? chosen : *WayBack(chosen));
}

// True if a rank of the class has a partner so many steps away; nothing where that does not follow from the class.
std::optional<bool> IsInGrid(std::int32_t steps, std::size_t d, const RankClass& key, const ClassScheme& scheme) {
  const std::int32_t room = steps > 0 ? key[2 * d + 1] : key[2 * d], reach = scheme.reach[ProgramOf(key)][d];
  if (std::abs(steps) > reach && room == reach && steps != 0) return std::nullopt;
  return room >= std::abs(steps);
}

// Steps around the end of a dimension that has the same extent in all runs of the class may as well be straight ones.
PeerRule Straightened(PeerRule rule, const RankClass& key, const ClassRules& rules, const CallRules& all) {
  if (rule.kind != PeerRule::Kind::kOffset) return rule;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const auto extent_in = [&](std::size_t run) { return all.grids[run].ExtentsOf(ProgramOf(key))[d]; };
    const std::int32_t extent = extent_in(rules.donors.front().first);
    const bool is_same =
        std::ranges::all_of(rules.donors, [&](const auto& donor) { return extent_in(donor.first) == extent; });
    if (!is_same || rule.steps[d] == 0 || IsInGrid(rule.steps[d], d, key, all.scheme).value_or(true)) continue;
    const std::int32_t other = rule.steps[d] > 0 ? rule.steps[d] - extent : rule.steps[d] + extent;
    if (IsInGrid(other, d, key, all.scheme).value_or(false)) rule.steps[d] = other;
  }
  return rule;
}

// The one dimension that all partners of a call lie in.
std::optional<std::size_t> Dimension(const CallSite& site) {
  std::optional<std::size_t> of_site;
  for (const PartRule& part : site.parts) {
    if (!IsOffset(part)) return std::nullopt;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (part.peers.front().steps[d] == 0) continue;
      if (of_site && *of_site != d) return std::nullopt;
      of_site = d;
    }
  }
  return of_site;
}

// The order of two calls along one dimension by that of those along others. -1: a is first; 1: b is; 0: none follows.
int OrderByAnalogy(const SiteOrder& order, std::size_t a, std::size_t b) {
  const std::optional<std::size_t> d = Dimension(order.sites[a]);
  if (!d || Dimension(order.sites[b]) != d) return 0;
  const auto turned = [&](CallSite site, std::size_t to) {
    for (PartRule& part : site.parts) std::swap(part.peers.front().steps[*d], part.peers.front().steps[to]);
    return order.numbers.find(site);
  };
  int first = 0;
  for (std::size_t other = 0; other < kMostDimensions; ++other) {
    if (other == *d) continue;
    const auto x = turned(order.sites[a], other), y = turned(order.sites[b], other);
    if (x == order.numbers.end() || y == order.numbers.end()) continue;
    const int here = order.IsBefore(x->second, y->second) ? -1 : order.IsBefore(y->second, x->second) ? 1 : 0;
    if (here == 0) continue;
    if (first != 0 && here != first) return 0;
    first = here;
  }
  return first;
}

}  // namespace

void JoinPartners(const RunCalls& run, std::size_t run_index, CallRules& rules) {
  std::map<const PartRule*, PeerRule> joined;
  for (std::size_t kind = 0; kind < run.CountKinds(); ++kind) {
    std::map<GridVector, int> turns;
    for (const auto& parts : GroupByMessage(run, run_index, kind, rules)) JoinGroup(parts, turns, joined);
  }
  for (auto& [name, of_class] : rules.classes) {
    ForEachPart(of_class, [&](const CallRule&, PartRule& part) {
      if (const auto found = joined.find(&part); found != joined.end()) part.peers = {found->second};
    });
  }
}

bool IsOffset(const PartRule& part) {
  return !part.peers.empty() && part.peers.front().kind == PeerKind::kOffset &&
         part.peers.front().steps != GridVector{};
}

std::optional<SiteSequence> ReadSites(const RankClass& key, const ClassRules& rules, std::size_t kind,
                                      const CallRules& all, const std::vector<std::string>& functions) {
  if (rules.donors.empty() || kind >= rules.kinds.size()) return std::nullopt;
  SiteSequence sequence;
  std::map<CallSite, std::int32_t> counts;
  std::array<std::vector<PartRule>, 3> open;  // posts by class of operations
  for (const CallBlock& block : rules.kinds[kind]) {
    if (!block.counts.empty()) return std::nullopt;
    for (const CallRule& call : block.calls) {
      CallSite site{call.function};
      // A wait for one operation may happen to complete all that is pending on some ranks.
      site.completes_all = call.completes_all && (call.parts.size() != 1 || functions[call.function] != "MPI_Wait");
      if (site.completes_all) open = {};
      for (std::size_t i = 0; i < call.parts.size() && !site.completes_all; ++i) {
        const PartRule& part = call.parts[i];
        const OperationPart is = PartOf(part.kind);
        auto& posts = open[static_cast<std::size_t>(is.type)];
        PartRule& signature = site.parts.emplace_back(PartRule{part.kind, part.collective});
        if (!is.posts) {
          const auto back = static_cast<std::size_t>(part.backs.front().plus);
          if (back >= posts.size()) return std::nullopt;
          signature.peers = posts[posts.size() - 1 - back].peers;
          continue;
        }
        if (part.peers.empty()) return std::nullopt;
        if (!is.IsCollective()) {
          signature.peers = {Straightened(part.peers.front(), key, rules, all)};
          signature.peers.front().within = {};
        }
        posts.push_back(signature);
      }
      site.occurrence = counts[site]++;
      sequence.push_back(std::move(site));
    }
  }
  return sequence;
}

void StraightenPeers(const RankClass& key, ClassRules& rules, const CallRules& all) {
  ForEachPart(rules, [&](const CallRule&, PartRule& part) {
    if (!part.peers.empty() && !PartOf(part.kind).IsCollective())
      part.peers = {Straightened(part.peers.front(), key, rules, all)};
  });
}

std::optional<bool> HasPartnersInGrid(const CallSite& site, const RankClass& key, const ClassScheme& scheme) {
  if (site.parts.empty()) return std::nullopt;
  bool all = true;
  for (const PartRule& part : site.parts) {
    if (!IsOffset(part)) return std::nullopt;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const std::optional<bool> is_in = IsInGrid(part.peers.front().steps[d], d, key, scheme);
      if (!is_in) return std::nullopt;
      all = all && *is_in;
    }
  }
  return all;
}

std::optional<SiteOrder> FindOrder(const std::vector<const SiteSequence*>& sequences) {
  std::map<CallSite, std::size_t> found;
  SiteSequence unordered;
  std::vector<std::vector<std::size_t>> next;
  for (const SiteSequence* sequence : sequences) {
    std::size_t before = 0;
    for (std::size_t i = 0; i < sequence->size(); ++i) {
      const auto [site, is_new] = found.try_emplace((*sequence)[i], unordered.size());
      if (is_new) {
        unordered.push_back((*sequence)[i]);
        next.emplace_back();
      }
      if (i > 0 && std::ranges::find(next[before], site->second) == next[before].end())
        next[before].push_back(site->second);
      before = site->second;
    }
  }
  // An order that holds, by taking away those without predecessors.
  std::vector<std::size_t> pending(unordered.size(), 0), sorted, number(unordered.size());
  for (const auto& of_site : next) {
    for (const std::size_t later : of_site) ++pending[later];
  }
  for (std::size_t i = 0; i < unordered.size(); ++i) {
    if (pending[i] == 0) sorted.push_back(i);
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (const std::size_t later : next[sorted[i]]) {
      if (--pending[later] == 0) sorted.push_back(later);
    }
  }
  if (sorted.size() != unordered.size()) return std::nullopt;
  SiteOrder order;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    number[sorted[i]] = i;
    order.sites.push_back(unordered[sorted[i]]);
    order.numbers[order.sites.back()] = i;
  }
  const std::size_t words = (sorted.size() + 63) / 64;
  order.behind.assign(sorted.size(), std::vector<std::uint64_t>(words, 0));
  for (std::size_t i = sorted.size(); i-- > 0;) {
    for (const std::size_t later : next[sorted[i]]) {
      const std::size_t j = number[later];
      order.behind[i][j / 64] |= std::uint64_t{1} << (j % 64);
      for (std::size_t word = 0; word < words; ++word) order.behind[i][word] |= order.behind[j][word];
    }
  }
  return order;
}

std::optional<std::vector<std::size_t>> SortSites(const SiteOrder& order, const std::vector<std::size_t>& some) {
  std::vector<std::size_t> left = some, sorted;
  std::ranges::sort(left);
  while (!left.empty()) {
    // Candidates are those that none of the others must precede.
    std::size_t first = left.front();
    for (const std::size_t other : left) {
      if (other == first || order.IsBefore(first, other) ||
          std::ranges::any_of(left, [&](std::size_t one) { return order.IsBefore(one, other); }))
        continue;
      const int which = OrderByAnalogy(order, first, other);
      if (which == 0) return std::nullopt;
      if (which > 0) first = other;
    }
    sorted.push_back(first);
    std::erase(left, first);
  }
  return sorted;
}

}  // namespace farscale
