#include "growth/make/class_composition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "growth/read/call_sites.h"
#include "growth/make/class_plan.h"
#include "growth/read/class_sites.h"
#include "growth/growth_model.h"
#include "trace/operations.h"

namespace farscale {
namespace {

// What a class is in one dimension.
using DimensionKey = std::array<std::int16_t, 3>;
DimensionKey KeyIn(const RankClass& key, std::size_t d) {
  return {key[2 * d], key[2 * d + 1], key[2 * kMostDimensions + d]};
}

// Places of a dimension at which ranks of the classes lie.
std::set<DimensionKey> PlacesIn(const std::vector<KnownClass>& known, std::size_t d) {
  std::set<DimensionKey> places;
  for (const KnownClass& one : known) places.insert(KeyIn(one.key, d));
  return places;
}

// Whether ranks of a class make a call, as far as some classes tell.
class Presence {
 public:
  Presence(const std::vector<KnownClass>& known, std::size_t kind, const SiteSignature& site, const ClassScheme& scheme)
      : site_(site), scheme_(scheme) {
    for (const KnownClass& one : known) {
      const bool is_there = one.Find(kind, site).has_value();
      const std::optional<bool> in_grid = HasPartnersInGrid(site, one.key, scheme);
      is_by_grid_ = is_by_grid_ && in_grid && *in_grid == is_there;
      is_everywhere_ = is_everywhere_ && is_there;
      for (std::size_t d = 0; is_there && d < kMostDimensions; ++d) places_[d].insert(KeyIn(one.key, d));
    }
    for (const KnownClass& one : known)
      is_by_places_ = is_by_places_ && IsAtPlaces(one.key) == one.Find(kind, site).has_value();
  }

  // Nothing where it does not follow. `is_new`: the class has a place in a dimension that none of the others has.
  std::optional<bool> In(const RankClass& key, bool is_new) const {
    if (is_by_grid_) return HasPartnersInGrid(site_, key, scheme_);
    const bool has_steps = std::ranges::any_of(site_.parts, &PartSignature::IsOffset);
    if (is_everywhere_ && !(is_new && has_steps)) return true;
    if (is_by_places_ && !is_new) return IsAtPlaces(key);
    return std::nullopt;
  }

 private:
  bool IsAtPlaces(const RankClass& key) const {
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (!places_[d].contains(KeyIn(key, d))) return false;
    }
    return true;
  }

  const SiteSignature& site_;
  const ClassScheme& scheme_;
  bool is_by_grid_ = true, is_everywhere_ = true, is_by_places_ = true;
  std::array<std::set<DimensionKey>, kMostDimensions> places_;  // at which the call is made
};

// The calls of iterations of a kind of classes that are not known.
class KindComposer {
 public:
  KindComposer(std::vector<KnownClass> known, std::size_t kind, const ClassScheme& scheme)
      : known_(std::move(known)), order_(SequencesOf(known_, kind)) {
    for (const SiteSignature& site : order_.sites()) presences_.emplace_back(known_, kind, site, scheme);
    for (std::size_t d = 0; d < kMostDimensions; ++d) places_[d] = PlacesIn(known_, d);
  }

  std::optional<SiteSequence> Compose(const RankClass& key) const {
    if (!order_.is_consistent()) return std::nullopt;
    bool is_new = false;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      const DimensionKey place = KeyIn(key, d);
      if (places_[d].contains(place)) continue;
      is_new = true;
      if (std::ranges::none_of(places_, [&](const auto& of_other) { return of_other.contains(place); }))
        return std::nullopt;
    }
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < presences_.size(); ++i) {
      const std::optional<bool> is_there = presences_[i].In(key, is_new);
      if (!is_there) return std::nullopt;
      if (*is_there) some.push_back(i);
    }
    const std::optional<std::vector<std::size_t>> sorted = order_.Sort(some);
    if (!sorted) return std::nullopt;
    SiteSequence sequence;
    for (const std::size_t i : *sorted) sequence.push_back(order_.sites()[i]);
    return sequence;
  }

 private:
  static std::vector<const SiteSequence*> SequencesOf(const std::vector<KnownClass>& known, std::size_t kind) {
    std::vector<const SiteSequence*> sequences;
    for (const KnownClass& one : known) sequences.push_back(&one.kinds[kind]);
    return sequences;
  }

  std::vector<KnownClass> known_;
  SiteOrder order_;
  std::vector<Presence> presences_;
  std::array<std::set<DimensionKey>, kMostDimensions> places_;
};

// Whether every known class that follows from the others is what they give, and there is one.
bool IsConfirmed(const std::vector<KnownClass>& known, std::size_t kind, const ClassScheme& scheme) {
  bool is_any = false;
  for (std::size_t left_out = 0; left_out < known.size(); ++left_out) {
    std::vector<KnownClass> others = known;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    const auto composed = KindComposer(std::move(others), kind, scheme).Compose(known[left_out].key);
    if (!composed) continue;
    if (*composed != known[left_out].kinds[kind]) return false;
    is_any = true;
  }
  return is_any;
}

// The classes of a program whose rules hold for all of their ranks, or none where some cannot be put side by side with
// the others.
std::vector<KnownClass> KnownClasses(const GrowthModel& model, std::size_t program, std::size_t kinds) {
  std::vector<KnownClass> known;
  for (const auto& [key, rules] : model.rules.classes) {
    if (rules.is_composed || ProgramOf(key) != program) continue;
    KnownClass& one = known.emplace_back(KnownClass{key, &rules, {}});
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      std::optional<SiteSequence> sites = SitesOf(key, rules, kind, model.rules, model.functions);
      if (!sites) return {};
      auto& numbers = one.numbers.emplace_back();
      for (std::size_t i = 0; i < sites->size(); ++i) numbers.emplace((*sites)[i], i);
      one.kinds.push_back(std::move(*sites));
    }
  }
  return known;
}

// Of one program.
std::size_t AddComposedClasses(GrowthModel& model, const std::set<RankClass>& missing, std::size_t program) {
  const ClassScheme& scheme = model.rules.scheme;
  const std::size_t kinds = 1 + *std::ranges::max_element(model.runs.back().kinds);
  const std::vector<KnownClass> known = KnownClasses(model, program, kinds);
  if (known.size() < 2) return 0;
  std::map<RankClass, std::vector<SiteSequence>> composed;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!IsConfirmed(known, kind, scheme)) return 0;
    const KindComposer composer(known, kind, scheme);
    for (const RankClass& key : missing) {
      std::optional<SiteSequence> sequence = composer.Compose(key);
      if (!sequence) return 0;
      composed[key].push_back(std::move(*sequence));
    }
  }
  std::map<RankClass, ClassRules> added;
  ComposedRanks ranks(model, known);
  for (const auto& [key, sequences] : composed) {
    std::optional<ClassRules> rules = ranks.Make(sequences);
    if (!rules) return 0;
    added.emplace(key, std::move(*rules));
  }
  for (const KnownClass& one : known) StraightenPeers(one.key, model.rules.classes.at(one.key), model.rules);
  model.rules.classes.merge(added);
  return composed.size();
}

}  // namespace

std::size_t AddComposedClasses(GrowthModel& model, const RankGrid& grid) {
  std::array<std::set<RankClass>, 2> missing;  // by program
  for (const ClassCount& count : CountClasses(model.rules.scheme, grid)) {
    if (!model.rules.classes.contains(count.of_class)) missing[ProgramOf(count.of_class)].insert(count.of_class);
  }
  if (model.rules.Share() < 1) return 0;
  std::size_t added = 0;
  for (std::size_t program = 0; program < missing.size(); ++program) {
    if (!missing[program].empty()) added += AddComposedClasses(model, missing[program], program);
  }
  return added;
}

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
