// Layouts that explain the runs as well as the best one, and foresee another program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growth/growth_model.h"
#include "growth/read/rank_grid.h"
#include "growth/rules/call_rules.h"

namespace farscale {

// Why the layouts of a model cannot be believed: others explain the messages of the runs as fully, and on two or four
// times as many ranks messages go elsewhere under them. That happens where messages leave some dimension of the program
// unused. Empty where there are no such layouts, and where the study or the traces name the layouts.
std::string WhyContested(const GrowthModel& model);

// The layout of a larger run, after those of the runs there are.

// The most even grid with so many ranks; between equals, the earlier dimensions are as much larger as they are in the
// series. Where this does not give the grids of the series themselves, but does when the extents that are the same in
// all of them are kept (two ranks in x, whatever their number), they are kept. Grids less even than any of the series
// are no continuation of it: then that of the nearest number of ranks which has one.
RankGrid ContinueSeries(const std::vector<RankGrid>& series, std::int64_t ranks);

// True if each layout of the series is one that the others suggest.
bool IsRegular(const std::vector<RankGrid>& series);

// The layout for so many ranks, or the nearest number that has one: the next of the series, or copies of a lifted run.
RankGrid LayoutFor(const CallRules& rules, std::int64_t ranks);

// A summary of the rules that the messages of a program follow.
struct RuleShare {
  std::string rule;  // "x+1", "ring+2", "P^-1"
  double share = 0;  // part of the messages and collectives of the largest run that ranks send or enter
};

// Rules of the receivers of messages, and communicators of collectives; the most frequent first. Shares of those that
// rules explain add up to 1.
std::vector<RuleShare> SharesOfPartners(const GrowthModel& model);

// Laws of the bytes; the most frequent first.
std::vector<RuleShare> SharesOfSizes(const GrowthModel& model);

// Why the runs are too small to tell the rules of some messages from others that send the same: the first such rule.
// Empty where these are few. Two ranks in each dimension of a grid exchange as in the stages of a butterfly, and half
// way around a dimension is the same from either side.
std::string WhyAmbiguous(const GrowthModel& model);

// "first in x, second in y, last in z"; the place of a class of ranks in the dimensions that tell ranks apart.
std::string PlaceOf(const ClassScheme& scheme, const RankClass& of_class);

}  // namespace farscale
