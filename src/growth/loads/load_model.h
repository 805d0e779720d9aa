// How long the ranks of a run compute, and how that changes from run to run: by the class of a rank, by the rank and by
// the iteration.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "growth/rules/call_rules.h"
#include "growth/read/run_calls.h"
#include "growth/loads/scaling_law.h"

namespace farscale {

// Of the counts of a rank, in place of one law of its time. What differs from their ratio is the clock of the
// processor.
struct CounterLaws {
  ScalingLaw instructions, per_cycle;
};

// Laws are of computation that is repeated as often as in the largest run: grown ranks repeat what they copy with its
// calls.
//
// Computation of rank r in iteration i of the largest run: that of its class, times exp(persistent[r]), times
// exp(common[i]), times what is left, whose logarithm has the standard deviation `noise`.
struct LoadModel {
  ScalingLaw common_law;                 // of the computation of a rank, whatever its class
  ScalingLaw second_law;                 // the same of the ranks of the second program
  std::optional<CounterLaws> counters;   // that it follows from; nothing without counters, or of two programs
  std::map<RankClass, ScalingLaw> laws;  // of the classes that clearly follow another
  std::vector<double> persistent;        // by rank of the largest run; 0 for ranks that are no donors
  std::vector<double> common;            // by iteration of the largest run
  double spread = 0;                     // standard deviation of `persistent`
  double noise = 0;
  std::size_t ranks = 0;  // that these were computed of

  const ScalingLaw& LawOf(const RankClass& of_class) const;

  // The factor by which a grown rank computes longer than the rank that it copies. Drawn from the copied deviations,
  // each spread by a normal kernel whose variance is taken from them [Silverman86, section 6.4.1]: among very many
  // ranks, some deviate more than all that were measured.
  double DrawPersistent(std::size_t donor, Random& random) const;
};

LoadModel FitLoadModel(const std::vector<RunCalls>& runs, const CallRules& rules);

}  // namespace farscale
