// What a program was understood as, in few words: which rules its messages follow, and how far.
#pragma once

#include <string>
#include <vector>

#include "growth/growth_model.h"

namespace farscale {

struct RuleShare {
  std::string rule;  // "x+1", "ring+2", "P^-1"
  double share = 0;  // of the messages and collectives of the largest run that ranks send or enter
};

// By whom messages go to, and communicators of collectives; the most frequent first. Shares of those that rules
// explain add up to 1.
std::vector<RuleShare> SharesOfPartners(const GrowthModel& model);

// By the law of the bytes; the most frequent first.
std::vector<RuleShare> SharesOfSizes(const GrowthModel& model);

// Why the runs are too small to tell the rules of some messages from others that send the same: the first such rule.
// Empty where these are few. Two ranks in each dimension of a grid exchange as in the stages of a butterfly, and half
// way around a dimension is the same from either side.
std::string WhyAmbiguous(const GrowthModel& model);

// "first in x, second in y, last in z"; the place of a class of ranks in the dimensions that tell ranks apart.
std::string PlaceOf(const ClassScheme& scheme, const RankClass& of_class);

}  // namespace farscale
