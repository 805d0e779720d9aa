#include "growth/class_composition.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "growth/class_counts.h"
#include "growth/class_sites.h"
#include "growth/composed_ranks.h"

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

}  // namespace farscale
