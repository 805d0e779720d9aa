#include "growth/composed_ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "growth/call_sites.h"
#include "growth/rank_draw.h"
#include "trace/operations.h"

namespace farscale {
namespace {

constexpr std::size_t kMostCopies = 8;  // ranks made for a class; chosen: their loads are drawn anew anyway

// Calls of a class, in order.
std::vector<const CallRule*> CallsOf(const std::vector<CallBlock>& blocks) {
  std::vector<const CallRule*> calls;
  for (const CallBlock& block : blocks) {
    for (const CallRule& call : block.calls) calls.push_back(&call);
  }
  return calls;
}

// Those that both have; all of one where the other has none.
template <typename Rule>
bool KeepCommon(std::vector<Rule>& rules, const std::vector<Rule>& others) {
  std::erase_if(rules, [&](const Rule& rule) { return std::ranges::find(others, rule) == others.end(); });
  return !rules.empty();
}

// Finds for every completion how many operations were posted since its own, the earliest of those that are alike.
class BackFinder {
 public:
  bool Set(const SiteSignature& site, CallRule& call) {
    if (site.completes_all) {
      for (auto& open : open_) open.clear();
      return true;
    }
    for (std::size_t i = 0; i < site.parts.size(); ++i) {
      const OperationPart is = PartOf(site.parts[i].kind);
      auto& open = open_[static_cast<std::size_t>(is.type)];
      if (is.posts) {
        open.push_back({site.parts[i], !is.completes});
        continue;
      }
      const auto post = std::ranges::find_if(open, [&](const Post& one) {
        const PartSignature& of = site.parts[i];
        return one.is_pending && one.part.rule == of.rule && one.part.n == of.n && one.part.steps == of.steps;
      });
      if (post == open.end()) return false;
      post->is_pending = false;
      call.parts[i].backs = {{false, open.end() - post - 1}};
    }
    return true;
  }

 private:
  struct Post {
    PartSignature part;
    bool is_pending = false;
  };
  std::array<std::vector<Post>, 3> open_;
};

std::size_t FirstOfKind(const RunCalls& run, std::size_t kind) {
  const auto found = std::ranges::find(run.kinds, kind);
  return found != run.kinds.end() ? static_cast<std::size_t>(found - run.kinds.begin()) : 0;
}

// Writes the calls of a rank that is made of another one.
class CopyWriter {
 public:
  CopyWriter(const RankCalls& from, RankCalls& to) : from_(from), to_(to) {}

  // The computation before calls of an iteration, up to one of the rank that is copied or to the end, is shared among
  // the calls that are made instead; `weights`: of these.
  std::vector<Tick> Share(std::size_t iteration, std::uint32_t first, std::uint32_t end, const double* weights,
                          std::size_t count) {
    Tick sum = 0;
    std::vector<RegionStep> steps;
    for (std::uint32_t call = first; call < end; ++call) {
      for (const RegionStep& step : from_.StepsBefore(call, iteration)) steps.push_back({sum + step.after, step.path});
      sum += call < from_.iteration_end[iteration] ? from_.calls[call].compute : from_.compute_after[iteration];
    }
    const double all = std::accumulate(weights, weights + count, 0.0);
    std::vector<Tick> shares(count, 0);
    steps_.assign(count, {});
    Tick begin = 0;
    double made = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
      made += weights[i];
      const bool is_last = i + 1 == count;
      const Tick until = is_last ? sum : all > 0 ? std::llround(static_cast<double>(sum) * made / all) : 0;
      for (; next < steps.size() && (is_last || steps[next].after <= until); ++next)
        steps_[i].push_back({steps[next].after - begin, steps[next].path});
      shares[i] = until - begin;
      begin = until;
    }
    return shares;
  }

  void AddCall(const PhaseCall& like, Tick compute, std::size_t share, std::span<const CallPart> parts) {
    to_.parts.insert(to_.parts.end(), parts.begin(), parts.end());
    PhaseCall& call = to_.calls.emplace_back(like);
    call.parts_end = static_cast<std::uint32_t>(to_.parts.size());
    call.compute = compute;
    AddSteps(share);
    call.steps_end = static_cast<std::uint32_t>(to_.steps.size());
  }

  void EndIteration(Tick after, std::size_t share) {
    to_.iteration_end.push_back(static_cast<std::uint32_t>(to_.calls.size()));
    to_.compute_after.push_back(after);
    AddSteps(share);
    to_.steps_after.push_back(static_cast<std::uint32_t>(to_.steps.size()));
  }

 private:
  void AddSteps(std::size_t share) { to_.steps.insert(to_.steps.end(), steps_[share].begin(), steps_[share].end()); }

  const RankCalls& from_;
  RankCalls& to_;
  std::vector<std::vector<RegionStep>> steps_;  // of every share
};

}  // namespace

bool ComposedRanks::IsInLargest(const KnownClass& one) const {
  return DonorsOf(*one.rules).run + 1 == model_.runs.size();
}

const KnownClass* ComposedRanks::MostAlike(const std::vector<SiteSequence>& kinds) const {
  const KnownClass* best = nullptr;
  std::ptrdiff_t most = -1;
  for (const KnownClass& one : known_) {
    if (!IsInLargest(one)) continue;
    std::ptrdiff_t shared = 0;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
      shared += std::ranges::count_if(kinds[kind], [&](const auto& site) { return one.Find(kind, site).has_value(); });
    if (shared > most) best = &one;
    most = std::max(most, shared);
  }
  return best;
}

// Of the classes that have the call, one in the largest run where there is any.
ComposedRanks::Source ComposedRanks::SourceOf(std::size_t kind, const SiteSignature& site) const {
  Source source;
  for (const KnownClass& one : known_) {
    const std::optional<std::size_t> call = one.Find(kind, site);
    if (call && (source.of == nullptr || (!IsInLargest(*source.of) && IsInLargest(one)))) source = {&one, *call};
  }
  return source;
}

std::optional<CallRule> ComposedRanks::MergedRule(std::size_t kind, const SiteSignature& site) const {
  std::optional<CallRule> merged;
  for (const KnownClass& one : known_) {
    const std::optional<std::size_t> call = one.Find(kind, site);
    if (!call) continue;
    const CallRule& rule = *CallsOf(one.rules->kinds[kind])[*call];
    if (!merged) {
      merged = rule;
      continue;
    }
    for (std::size_t i = 0; i < site.parts.size(); ++i) {
      PartRule& part = merged->parts[i];
      const OperationPart is = PartOf(part.kind);
      if (!is.posts) continue;
      if (!KeepCommon(part.groups, rule.parts[i].groups)) return std::nullopt;
      if (!(is.IsCollective() ? KeepCommon(part.peers, rule.parts[i].peers)
                              : KeepCommon(part.tags, rule.parts[i].tags)))
        return std::nullopt;
    }
  }
  merged->completes_all = site.completes_all;
  if (site.completes_all) merged->parts.clear();
  for (std::size_t i = 0; i < site.parts.size(); ++i) {
    const PartSignature& of = site.parts[i];
    const OperationPart is = PartOf(of.kind);
    if (is.posts && !is.IsCollective()) merged->parts[i].peers = {{of.rule, of.n, of.steps}};
  }
  return merged;
}

std::optional<std::vector<CallBlock>> ComposedRanks::RulesOf(std::size_t kind, const SiteSequence& sites) const {
  std::vector<CallBlock> blocks(1);
  BackFinder backs;
  for (const SiteSignature& site : sites) {
    std::optional<CallRule> rule = MergedRule(kind, site);
    if (!rule || !backs.Set(site, *rule)) return std::nullopt;
    blocks.front().calls.push_back(std::move(*rule));
  }
  return blocks;
}

// The sizes of the calls follow the laws of those that they are made of.
void ComposedRanks::AddLaws(std::size_t kind, const SiteSequence& sites, const std::vector<CallBlock>& blocks) {
  const RankGrid grid = model_.rules.grids.back().SeenBy(ProgramOf(known_.front().key));
  const std::vector<PlannedCall> planned = PlanCalls(blocks, kind, grid, grid);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Source source = SourceOf(kind, sites[i]);
    const std::vector<PlannedCall> of_source = PlanCalls(source.of->rules->kinds[kind], kind, grid, grid);
    model_.laws.Copy(of_source[source.call].key, planned[i].key);
  }
}

// Of the computation before a call, from classes that make it directly behind the same call; else from any.
double ComposedRanks::WeightOf(std::size_t kind, const SiteSequence& sites, std::size_t call) const {
  double sums[2] = {0, 0}, counts[2] = {0, 0};
  for (const KnownClass& one : known_) {
    if (!IsInLargest(one)) continue;
    const SiteSequence& of = one.kinds[kind];
    const std::optional<std::size_t> at = call < sites.size() ? one.Find(kind, sites[call]) : std::optional(of.size());
    if (!at) continue;
    const bool is_behind = *at == 0 || call == 0 ? *at == 0 && call == 0 : of[*at - 1] == sites[call - 1];
    const RankCalls& calls = model_.runs.back().of_ranks[static_cast<std::size_t>(DonorsOf(*one.rules).ranks.front())];
    const std::size_t iteration = FirstOfKind(model_.runs.back(), kind);
    const std::uint32_t index = calls.FirstCall(iteration) + static_cast<std::uint32_t>(*at);
    sums[is_behind] +=
        static_cast<double>(*at < of.size() ? calls.calls[index].compute : calls.compute_after[iteration]);
    ++counts[is_behind];
  }
  return counts[1] > 0 ? sums[1] / counts[1] : counts[0] > 0 ? sums[0] / counts[0] : 0;
}

std::vector<double> ComposedRanks::WeightsOf(std::size_t kind, const SiteSequence& sites) const {
  std::vector<double> weights;
  for (std::size_t call = 0; call <= sites.size(); ++call) weights.push_back(WeightOf(kind, sites, call));
  return weights;
}

// What a call posts on a rank of the class it is taken from, with the sizes of the largest run.
std::vector<CallPart> ComposedRanks::PartsFrom(std::size_t kind, const Source& source) const {
  const ClassDonors donors = DonorsOf(*source.of->rules);
  const RunCalls& run = model_.runs[donors.run];
  const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(donors.ranks.front())];
  const auto parts = calls.PartsOf(calls.FirstCall(FirstOfKind(run, kind)) + source.call);
  std::vector<CallPart> copy(parts.begin(), parts.end());
  if (donors.run + 1 == model_.runs.size()) return copy;
  const std::size_t program = ProgramOf(known_.front().key);
  const RankGrid grid = model_.rules.grids[donors.run].SeenBy(program);
  const PlannedCall call = PlanCalls(source.of->rules->kinds[kind], kind, grid, grid)[source.call];
  const CallSizes sizes = model_.laws.SizesOn(model_.rules.grids.back().SeenBy(program), call, grid);
  for (CallPart& part : copy) {
    const bool is_root = IsRootOf(part, donors.ranks.front());
    std::tie(part.bytes, part.received) = sizes.Of(part, is_root, is_root);
  }
  return copy;
}

RankCalls ComposedRanks::CopyOf(const KnownClass& base, std::int64_t rank, const std::vector<SiteSequence>& kinds,
                                const std::vector<std::vector<double>>& weights) const {
  const RunCalls& run = model_.runs.back();
  const RankCalls& from = run.of_ranks[static_cast<std::size_t>(rank)];
  RankCalls copy;
  copy.paths = from.paths;
  CopyWriter writer(from, copy);
  for (std::size_t i = 0; i < run.iterations(); ++i) {
    const std::size_t kind = run.kinds[i];
    const SiteSequence& sites = kinds[kind];
    std::uint32_t next = from.FirstCall(i);
    for (std::size_t first = 0; first <= sites.size();) {
      std::size_t last = first;  // the call up to which computation is shared
      while (last < sites.size() && !base.Find(kind, sites[last])) ++last;
      const bool is_end = last == sites.size();
      const std::uint32_t end = is_end
                                    ? from.iteration_end[i] + 1
                                    : from.FirstCall(i) + static_cast<std::uint32_t>(*base.Find(kind, sites[last])) + 1;
      const std::vector<Tick> shares = writer.Share(i, next, end, weights[kind].data() + first, last - first + 1);
      for (std::size_t call = first; call < last; ++call) {
        PhaseCall made;
        made.function = sites[call].function;
        made.completes_all = sites[call].completes_all;
        writer.AddCall(made, shares[call - first], call - first, PartsFrom(kind, SourceOf(kind, sites[call])));
      }
      if (is_end) {
        writer.EndIteration(shares.back(), last - first);
      } else {
        writer.AddCall(from.calls[end - 1], shares.back(), last - first, from.PartsOf(end - 1));
      }
      next = end;
      first = last + 1;
    }
  }
  return copy;
}

std::optional<ClassRules> ComposedRanks::Make(const std::vector<SiteSequence>& kinds) {
  const KnownClass* base = MostAlike(kinds);
  if (base == nullptr) return std::nullopt;
  ClassRules rules;
  rules.is_composed = true;
  std::vector<std::vector<double>> weights;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    std::optional<std::vector<CallBlock>> blocks = RulesOf(kind, kinds[kind]);
    if (!blocks) return std::nullopt;
    AddLaws(kind, kinds[kind], *blocks);
    rules.kinds.push_back(std::move(*blocks));
    weights.push_back(WeightsOf(kind, kinds[kind]));
  }
  const std::vector<std::int64_t> donors = DonorsOf(*base->rules).ranks;
  RunCalls& largest = model_.runs.back();
  for (std::size_t i = 0; i < std::min(kMostCopies, donors.size()); ++i) {
    rules.donors.emplace_back(model_.runs.size() - 1, static_cast<std::int64_t>(largest.of_ranks.size()));
    largest.of_ranks.push_back(CopyOf(*base, donors[i], kinds, weights));
    model_.load.persistent.push_back(model_.load.persistent[static_cast<std::size_t>(donors[i])]);
  }
  return rules;
}

}  // namespace farscale
