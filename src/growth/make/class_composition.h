// Rules of ranks that lie in their grid like none of the runs, from the rules of every dimension.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "growth/read/class_sites.h"
#include "growth/growth_model.h"
#include "growth/read/rank_grid.h"

namespace farscale {

// Adds the classes of the grid that no run has to the rules of the model; returns how many. A call is made in such a
// class where it is in every dimension: where its partner lies in the grid, or where ranks of any class make it. The
// order of the calls must follow from that in other classes. Nothing is added unless every class that is known, left
// out in turn, is what the others give for it, as far as they give anything. Where a place in a dimension was never
// seen, it must have been in another dimension.
//
// Computation of such a rank is that of ranks of the class with most of its calls in the largest run: these do most of
// the same work.
std::size_t AddComposedClasses(GrowthModel& model, const RankGrid& grid);

// Ranks that no run has, made of the calls of those that it has, to be copied as if they had been measured.

// A class that runs have, of the program that ranks are composed for, and its calls by kind of iteration.
struct KnownClass {
  RankClass key{};
  const ClassRules* rules = nullptr;
  std::vector<SiteSequence> kinds = {};
  std::vector<std::map<SiteSignature, std::size_t>> numbers = {};  // of the calls, by kind

  std::optional<std::size_t> Find(std::size_t kind, const SiteSignature& site) const {
    const auto found = numbers[kind].find(site);
    return found != numbers[kind].end() ? std::optional(found->second) : std::nullopt;
  }
};

class ComposedRanks {
 public:
  ComposedRanks(GrowthModel& model, const std::vector<KnownClass>& known) : model_(model), known_(known) {}

  // The rules of ranks with these calls, by kind of iteration. Their donors are new ranks of the largest run, behind
  // those that it has: they compute as ranks of the known class with most of the calls, and in calls that these do not
  // make send as much as others do. Nothing where classes differ in what a call does.
  std::optional<ClassRules> Make(const std::vector<SiteSequence>& kinds);

 private:
  // A call as some class makes it.
  struct Source {
    const KnownClass* of = nullptr;
    std::size_t call = 0;
  };

  bool IsInLargest(const KnownClass& one) const;
  const KnownClass* MostAlike(const std::vector<SiteSequence>& kinds) const;
  Source SourceOf(std::size_t kind, const SiteSignature& site) const;
  std::optional<std::vector<CallBlock>> RulesOf(std::size_t kind, const SiteSequence& sites) const;
  std::optional<CallRule> MergedRule(std::size_t kind, const SiteSignature& site) const;
  void AddLaws(std::size_t kind, const SiteSequence& sites, const std::vector<CallBlock>& blocks);
  std::vector<double> WeightsOf(std::size_t kind, const SiteSequence& sites) const;
  double WeightOf(std::size_t kind, const SiteSequence& sites, std::size_t call) const;
  RankCalls CopyOf(const KnownClass& base, std::int64_t rank, const std::vector<SiteSequence>& kinds,
                   const std::vector<std::vector<double>>& weights) const;
  std::vector<CallPart> PartsFrom(std::size_t kind, const Source& source) const;

  GrowthModel& model_;
  const std::vector<KnownClass>& known_;
};

}  // namespace farscale
