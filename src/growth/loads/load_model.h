// Laws by which quantities follow the layout of the ranks (bytes of a message, computation), and a model of the
// computation of ranks: by class, by rank and by iteration.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "growth/read/run_calls.h"
#include "growth/rules/call_rules.h"

namespace farscale {

class Random;

// value ~ P^power, or ~ Π extent_d^exponents_d where the extents explain it better. Of two programs P is that of the
// larger, and extents are those of the one whose quantity it is.
struct ScalingLaw {
  double power = 0;
  std::array<double, kMostDimensions> exponents{};
  double error = 0;  // largest relative distance from the values it was fitted to
  std::size_t runs = 0;

  bool IsLike(const ScalingLaw& other) const { return power == other.power && exponents == other.exponents; }
  double Ratio(const RankGrid& to, const RankGrid& from) const;
  std::string Text() const;
};

// Points of a group are compared with each other only: a law says how values change, not what they are.
struct LawPoint {
  RankGrid grid;
  std::size_t group = 0;
  double value = 0;
  double weight = 1;
};

// The law of the extents, or of the number of ranks, that explains the points with positive values best.
ScalingLaw FitScalingLaw(const std::vector<LawPoint>& points);

// Laws are of computation that is repeated as often as in the largest run: grown ranks repeat what they copy with its
// calls.
//
// Computation of rank r in iteration i of the largest run: that of its class, times exp(persistent[r]), times
// exp(common[i]), times what is left, whose logarithm has the standard deviation `noise`.
struct LoadModel {
  ScalingLaw common_law;  // computation of a rank of any class
  ScalingLaw second_law;  // the same of the ranks of the second program
  // That the first follows from, any other change of time being that of the clock; nothing without counters, or of two
  // programs.
  std::optional<ScalingLaw> instructions, per_cycle;
  std::map<RankClass, ScalingLaw> laws;  // classes that clearly follow another law
  std::vector<double> persistent;        // one a rank of the largest run; 0 for ranks that are no donors
  std::vector<double> common;            // one an iteration of the largest run
  double spread = 0;                     // standard deviation of `persistent`
  double noise = 0;
  std::size_t ranks = 0;  // that these were computed of

  const ScalingLaw& Law(const RankClass& of_class) const;

  // The factor by which a grown rank computes longer than the rank that it copies. Drawn from the copied deviations,
  // each spread by a normal kernel whose variance is taken from them [Silverman86, section 6.4.1]: among very many
  // ranks, some deviate more than all that were measured.
  double DrawPersistent(std::size_t donor, Random& random) const;
};

LoadModel FitLoadModel(const std::vector<RunCalls>& runs, const CallRules& rules);

}  // namespace farscale
