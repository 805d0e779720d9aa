// Rules of ranks that lie in their grid like none of the runs, from the rules of every dimension, and ranks made of the
// calls of others, to be copied as if they had been measured.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "growth/make/class_plan.h"
#include "growth/read/call_sites.h"
#include "trace/trace.h"

namespace farscale {
namespace {

constexpr std::size_t kMostCopies = 8;  // ranks made for a class; chosen: their loads are drawn anew anyway

// A class that runs have, of the program that ranks are composed for, and its calls by kind of iteration.
struct KnownClass {
  RankClass key{};
  const ClassRules* rules = nullptr;
  std::size_t run = 0;  // whose ranks stand for it
  std::vector<std::int64_t> donors = {};
  std::vector<SiteSequence> kinds = {};
  std::vector<std::map<CallSite, std::size_t>> numbers = {};  // numbers of the calls, by kind

  std::optional<std::size_t> Find(std::size_t kind, const CallSite& site) const {
    const auto found = numbers[kind].find(site);
    return found != numbers[kind].end() ? std::optional(found->second) : std::nullopt;
  }
};
using KnownClasses = std::vector<KnownClass>;

// The place of a class in one dimension.
std::array<std::int16_t, 3> PlaceIn(const RankClass& key, std::size_t d) {
  return {key[2 * d], key[2 * d + 1], key[2 * kMostDimensions + d]};
}

// Places of the dimensions at which ranks of some classes lie.
using Places = std::array<std::set<std::array<std::int16_t, 3>>, kMostDimensions>;

void AddPlaces(const RankClass& key, Places& places) {
  for (std::size_t d = 0; d < kMostDimensions; ++d) places[d].insert(PlaceIn(key, d));
}

bool IsAt(const RankClass& key, const Places& places) {
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (!places[d].contains(PlaceIn(key, d))) return false;
  }
  return true;
}

// True if ranks of a class make a call; nothing where that does not follow from the known classes. `is_new`: the
// class has a place in a dimension that none of them has.
std::optional<bool> MakesCall(const std::vector<const KnownClass*>& known, std::size_t kind, const CallSite& site,
                              const ClassScheme& scheme, const RankClass& key, bool is_new) {
  bool is_by_grid = true, is_everywhere = true, is_by_places = true;
  Places places;  // at which the call is made
  for (const KnownClass* one : known) {
    const bool is_there = one->Find(kind, site).has_value();
    const std::optional<bool> in_grid = HasPartnersInGrid(site, one->key, scheme);
    is_by_grid = is_by_grid && in_grid && *in_grid == is_there;
    is_everywhere = is_everywhere && is_there;
    if (is_there) AddPlaces(one->key, places);
  }
  if (is_by_grid) return HasPartnersInGrid(site, key, scheme);
  const bool has_steps = std::ranges::any_of(site.parts, IsOffset);
  if (is_everywhere && !(is_new && has_steps)) return true;
  for (const KnownClass* one : known)
    is_by_places = is_by_places && IsAt(one->key, places) == one->Find(kind, site).has_value();
  return is_by_places && !is_new ? std::optional(IsAt(key, places)) : std::nullopt;
}

// The calls of iterations of a kind of a class that is not known. `order`: of the known ones.
std::optional<SiteSequence> Compose(const std::vector<const KnownClass*>& known, const std::optional<SiteOrder>& order,
                                    std::size_t kind, const ClassScheme& scheme, const RankClass& key) {
  if (!order) return std::nullopt;
  Places places;
  for (const KnownClass* one : known) AddPlaces(one->key, places);
  const bool is_new = !IsAt(key, places);
  for (std::size_t d = 0; is_new && d < kMostDimensions; ++d) {
    if (std::ranges::none_of(places, [&](const auto& of_any) { return of_any.contains(PlaceIn(key, d)); }))
      return std::nullopt;
  }
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < order->sites.size(); ++i) {
    const std::optional<bool> is_there = MakesCall(known, kind, order->sites[i], scheme, key, is_new);
    if (!is_there) return std::nullopt;
    if (*is_there) some.push_back(i);
  }
  const std::optional<std::vector<std::size_t>> sorted = SortSites(*order, some);
  if (!sorted) return std::nullopt;
  SiteSequence sequence;
  for (const std::size_t i : *sorted) sequence.push_back(order->sites[i]);
  return sequence;
}

std::optional<SiteOrder> OrderIn(const std::vector<const KnownClass*>& known, std::size_t kind) {
  std::vector<const SiteSequence*> sequences;
  for (const KnownClass* one : known) sequences.push_back(&one->kinds[kind]);
  return FindOrder(sequences);
}

bool IsInLargest(const GrowthModel& model, const KnownClass& one) { return one.run + 1 == model.runs.size(); }

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

// The rule of a call, as all classes that make it have it; nothing where they differ.
std::optional<CallRule> MergedRule(const KnownClasses& known, std::size_t kind, const CallSite& site) {
  std::optional<CallRule> merged;
  for (const KnownClass& one : known) {
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
    if (IsMessage(site.parts[i].kind)) merged->parts[i].peers = site.parts[i].peers;
  }
  return merged;
}

std::optional<std::vector<CallBlock>> MergedRules(const KnownClasses& known, std::size_t kind,
                                                  const SiteSequence& sites) {
  std::vector<CallBlock> blocks(1);
  std::array<std::vector<std::pair<PartRule, bool>>, 3> open;  // posts by class of operations; true of pending ones
  for (const CallSite& site : sites) {
    std::optional<CallRule> rule = MergedRule(known, kind, site);
    if (!rule) return std::nullopt;
    // A completion is that of the earliest among posts that are alike.
    if (site.completes_all) open = {};
    for (std::size_t i = 0; i < site.parts.size(); ++i) {
      const OperationPart is = PartOf(site.parts[i].kind);
      auto& posts = open[static_cast<std::size_t>(is.type)];
      if (is.posts) {
        posts.emplace_back(site.parts[i], !is.completes);
        continue;
      }
      const auto post = std::ranges::find_if(
          posts, [&](const auto& one) { return one.second && one.first.peers == site.parts[i].peers; });
      if (post == posts.end()) return std::nullopt;
      post->second = false;
      rule->parts[i].backs = {{NumberRule::Kind::kConstant, posts.end() - post - 1}};
    }
    blocks.front().calls.push_back(std::move(*rule));
  }
  return blocks;
}

// A class that makes the call, one in the largest run where there is any, and the number of the call in it.
std::pair<const KnownClass*, std::size_t> FindSource(const GrowthModel& model, const KnownClasses& known,
                                                     std::size_t kind, const CallSite& site) {
  std::pair<const KnownClass*, std::size_t> source{nullptr, 0};
  for (const KnownClass& one : known) {
    const std::optional<std::size_t> call = one.Find(kind, site);
    if (call && (source.first == nullptr || (!IsInLargest(model, *source.first) && IsInLargest(model, one))))
      source = {&one, *call};
  }
  return source;
}

// The computation before every call and behind the last: the mean of classes that make it directly behind the same
// call, else of any.
std::vector<double> ComputeWeights(const GrowthModel& model, const KnownClasses& known, std::size_t kind,
                                   const SiteSequence& sites) {
  const RunCalls& run = model.runs.back();
  const std::size_t first = run.FirstOfKind(kind), iteration = first < run.kinds.size() ? first : 0;
  std::vector<double> weights;
  for (std::size_t call = 0; call <= sites.size(); ++call) {
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (const KnownClass& one : known) {
      if (!IsInLargest(model, one)) continue;
      const SiteSequence& of = one.kinds[kind];
      const std::optional<std::size_t> at =
          call < sites.size() ? one.Find(kind, sites[call]) : std::optional(of.size());
      if (!at) continue;
      const bool is_behind = *at == 0 || call == 0 ? *at == 0 && call == 0 : of[*at - 1] == sites[call - 1];
      const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(one.donors.front())];
      const std::uint32_t index = calls.FirstCall(iteration) + static_cast<std::uint32_t>(*at);
      sums[is_behind] +=
          static_cast<double>(*at < of.size() ? calls.calls[index].compute : calls.compute_after[iteration]);
      ++counts[is_behind];
    }
    weights.push_back(counts[1] > 0 ? sums[1] / counts[1] : counts[0] > 0 ? sums[0] / counts[0] : 0);
  }
  return weights;
}

// The posts of a call on a rank of the class it is taken from, with the sizes of the largest run.
std::vector<CallPart> SourceParts(const GrowthModel& model, const KnownClasses& known, std::size_t kind,
                                  const CallSite& site) {
  const auto [source, number] = FindSource(model, known, kind, site);
  const RunCalls& run = model.runs[source->run];
  const std::int64_t donor = source->donors.front();
  const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(donor)];
  const std::size_t first = run.FirstOfKind(kind);
  const auto parts = calls.Parts(calls.FirstCall(first < run.kinds.size() ? first : 0) + number);
  std::vector<CallPart> copy(parts.begin(), parts.end());
  if (IsInLargest(model, *source)) return copy;
  const std::size_t program = ProgramOf(source->key);
  const RankGrid grid = model.rules.grids[source->run].SeenBy(program);
  const PlannedCall call = PlanCalls(source->rules->kinds[kind], kind, grid, grid)[number];
  const CallSizes sizes = model.laws.SizesOn(model.rules.grids.back().SeenBy(program), call, grid);
  for (CallPart& part : copy) {
    const bool is_root = IsRootOf(part, donor);
    std::tie(part.bytes, part.received) = CopiedBytes(sizes, part, is_root, is_root);
  }
  return copy;
}

// The computation of a rank before its calls from `first` to before `end`, which may be one behind the last of the
// iteration, shared among the calls that are made instead, with the steps through regions of each share.
std::vector<std::pair<Tick, std::vector<RegionStep>>> ShareCompute(const RankCalls& from, std::size_t iteration,
                                                                   std::uint32_t first, std::uint32_t end,
                                                                   std::span<const double> weights) {
  Tick sum = 0;
  std::vector<RegionStep> steps;
  for (std::uint32_t call = first; call < end; ++call) {
    for (const auto& [after, path] : from.StepsBefore(call, iteration)) steps.emplace_back(sum + after, path);
    sum += call < from.iteration_end[iteration] ? from.calls[call].compute : from.compute_after[iteration];
  }
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::pair<Tick, std::vector<RegionStep>>> shares(weights.size());
  Tick begin = 0;
  double made = 0;
  auto next = steps.begin();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    made += weights[i];
    const bool is_last = i + 1 == weights.size();
    const Tick until = is_last ? sum : all > 0 ? std::llround(static_cast<double>(sum) * made / all) : 0;
    for (; next != steps.end() && (is_last || next->first <= until); ++next)
      shares[i].second.emplace_back(next->first - begin, next->second);
    shares[i].first = until - begin;
    begin = until;
  }
  return shares;
}

void AppendCall(const PhaseCall& like, std::span<const CallPart> parts,
                const std::pair<Tick, std::vector<RegionStep>>& share, RankCalls& to) {
  to.parts.insert(to.parts.end(), parts.begin(), parts.end());
  to.steps.insert(to.steps.end(), share.second.begin(), share.second.end());
  PhaseCall& call = to.calls.emplace_back(like);
  call.compute = share.first;
  call.parts_end = static_cast<std::uint32_t>(to.parts.size());
  call.steps_end = static_cast<std::uint32_t>(to.steps.size());
}

// A rank with these calls, made of a rank of the class `base` in the largest run. `weights`: of the computation.
RankCalls MakeRank(const GrowthModel& model, const KnownClasses& known, const KnownClass& base, std::int64_t rank,
                   const std::vector<SiteSequence>& kinds, const std::vector<std::vector<double>>& weights) {
  const RunCalls& run = model.runs.back();
  const RankCalls& from = run.of_ranks[static_cast<std::size_t>(rank)];
  RankCalls copy;
  copy.paths = from.paths;
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
      const auto shares = ShareCompute(from, i, next, end, std::span(weights[kind]).subspan(first, last - first + 1));
      for (std::size_t call = first; call < last; ++call) {
        PhaseCall made;
        made.function = sites[call].function;
        made.completes_all = sites[call].completes_all;
        AppendCall(made, SourceParts(model, known, kind, sites[call]), shares[call - first], copy);
      }
      if (!is_end) AppendCall(from.calls[end - 1], from.Parts(end - 1), shares.back(), copy);
      if (is_end) {
        const auto& [after, steps] = shares.back();
        copy.iteration_end.push_back(static_cast<std::uint32_t>(copy.calls.size()));
        copy.compute_after.push_back(after);
        copy.steps.insert(copy.steps.end(), steps.begin(), steps.end());
        copy.steps_after.push_back(static_cast<std::uint32_t>(copy.steps.size()));
      }
      next = end;
      first = last + 1;
    }
  }
  return copy;
}

// The rules of ranks with these calls, by kind of iteration. Their donors are new ranks of the largest run, behind
// those that it has: they compute as ranks of the known class with most of the calls, and in calls that these do not
// make send as much as others do. Nothing where classes differ in what a call does.
std::optional<ClassRules> MakeClass(GrowthModel& model, const KnownClasses& known,
                                    const std::vector<SiteSequence>& kinds) {
  const KnownClass* base = nullptr;
  std::ptrdiff_t most = -1;
  for (const KnownClass& one : known) {
    if (!IsInLargest(model, one)) continue;
    std::ptrdiff_t shared = 0;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
      shared += std::ranges::count_if(kinds[kind], [&](const auto& site) { return one.Find(kind, site).has_value(); });
    if (shared > most) base = &one;
    most = std::max(most, shared);
  }
  if (base == nullptr) return std::nullopt;
  ClassRules rules;
  rules.is_composed = true;
  const RankGrid grid = model.rules.grids.back().SeenBy(ProgramOf(base->key));
  std::vector<std::vector<double>> weights;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    std::optional<std::vector<CallBlock>> blocks = MergedRules(known, kind, kinds[kind]);
    if (!blocks) return std::nullopt;
    // The sizes of the calls follow the laws of those that they are made of.
    const std::vector<PlannedCall> planned = PlanCalls(*blocks, kind, grid, grid);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      const auto [source, call] = FindSource(model, known, kind, kinds[kind][i]);
      model.laws.Copy(PlanCalls(source->rules->kinds[kind], kind, grid, grid)[call].key, planned[i].key);
    }
    rules.kinds.push_back(std::move(*blocks));
    weights.push_back(ComputeWeights(model, known, kind, kinds[kind]));
  }
  const std::vector<std::int64_t>& donors = base->donors;
  RunCalls& largest = model.runs.back();
  for (std::size_t i = 0; i < std::min(kMostCopies, donors.size()); ++i) {
    rules.donors.emplace_back(model.runs.size() - 1, static_cast<std::int64_t>(largest.of_ranks.size()));
    largest.of_ranks.push_back(MakeRank(model, known, *base, donors[i], kinds, weights));
    model.load.persistent.push_back(model.load.persistent[static_cast<std::size_t>(donors[i])]);
  }
  return rules;
}

// The same for the missing classes of one program.
std::size_t AddComposedClasses(GrowthModel& model, const std::set<RankClass>& missing, std::size_t program) {
  // The classes of the program; nothing is composed where some cannot be put side by side with the others.
  KnownClasses known;
  for (const auto& [key, rules] : model.rules.classes) {
    if (rules.is_composed || ProgramOf(key) != program) continue;
    KnownClass& one = known.emplace_back(KnownClass{key, &rules});
    std::tie(one.run, one.donors) = rules.Donors();
    for (std::size_t kind = 0; kind < model.runs.back().CountKinds(); ++kind) {
      std::optional<SiteSequence> sites = ReadSites(key, rules, kind, model.rules, model.functions);
      if (!sites) return 0;
      auto& numbers = one.numbers.emplace_back();
      for (std::size_t i = 0; i < sites->size(); ++i) numbers.emplace((*sites)[i], i);
      one.kinds.push_back(std::move(*sites));
    }
  }
  if (known.size() < 2) return 0;
  std::vector<const KnownClass*> all;
  for (const KnownClass& one : known) all.push_back(&one);
  std::map<RankClass, std::vector<SiteSequence>> composed;
  for (std::size_t kind = 0; kind < model.runs.back().CountKinds(); ++kind) {
    bool is_confirmed = false;  // every known class that follows from the others is what they give, and there is one
    for (const KnownClass& left_out : known) {
      std::vector<const KnownClass*> others = all;
      std::erase(others, &left_out);
      const auto sites = Compose(others, OrderIn(others, kind), kind, model.rules.scheme, left_out.key);
      if (sites && *sites != left_out.kinds[kind]) return 0;
      is_confirmed = is_confirmed || sites;
    }
    if (!is_confirmed) return 0;
    const std::optional<SiteOrder> order = OrderIn(all, kind);
    for (const RankClass& key : missing) {
      std::optional<SiteSequence> sequence = Compose(all, order, kind, model.rules.scheme, key);
      if (!sequence) return 0;
      composed[key].push_back(std::move(*sequence));
    }
  }
  std::map<RankClass, ClassRules> added;
  for (const auto& [key, sequences] : composed) {
    std::optional<ClassRules> rules = MakeClass(model, known, sequences);
    if (!rules) return 0;
    added.emplace(key, std::move(*rules));
  }
  for (const KnownClass& one : known) StraightenPeers(one.key, model.rules.classes.at(one.key), model.rules);
  model.rules.classes.merge(added);
  return composed.size();
}

}  // namespace

std::size_t AddComposedClasses(GrowthModel& model, const RankGrid& grid) {
  std::array<std::set<RankClass>, 2> missing;  // one a program
  for (const auto& [first, ranks] : CountClasses(model.rules.scheme, grid)) {
    const RankClass key = ClassOf(model.rules.scheme, grid, first);
    if (!model.rules.classes.contains(key)) missing[ProgramOf(key)].insert(key);
  }
  if (model.rules.Share() < 1) return 0;
  std::size_t added = 0;
  for (std::size_t program = 0; program < missing.size(); ++program) {
    if (!missing[program].empty()) added += AddComposedClasses(model, missing[program], program);
  }
  return added;
}

}  // namespace farscale
