// Rules of calls and laws of sizes and computation, learned from the runs of a phase; doubts about them, and summaries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growth/loads/load_model.h"
#include "growth/read/call_sites.h"
#include "growth/read/run_calls.h"
#include "growth/rules/call_rules.h"

namespace farscale {

struct GrowthModel {
  std::vector<RunCalls> runs;  // rising number of ranks
  std::vector<std::string> functions;
  CallRules rules;
  SiteLaws laws;
  LoadModel load;
  std::string region;       // marks the iterations in a grown trace
  bool has_region = false;  // ranks of the runs enter the region themselves; else it is made around every iteration

  // The runs from `first` to before `end`, without rules and laws.
  GrowthModel WithRuns(std::size_t first, std::size_t end) const;
};

// Finds rules and laws of the runs, of which there are two or more, by rising number of ranks.
void LearnGrowth(GrowthModel& model);

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

// Rules of the receivers of messages, and communicators of collectives; the most frequent first. Shares of those that
// rules explain add up to 1.
RuleShares SharesOfPartners(const GrowthModel& model);

// Laws of the bytes; the most frequent first.
RuleShares SharesOfSizes(const GrowthModel& model);

// Why the runs are too small to tell the rules of some messages from others that send the same: the first such rule.
// Empty where these are few. Two ranks in each dimension of a grid exchange as in the stages of a butterfly, and half
// way around a dimension is the same from either side.
std::string WhyAmbiguous(const GrowthModel& model);

// "first in x, second in y, last in z"; the place of a class of ranks in the dimensions that tell ranks apart.
std::string PlaceOf(const ClassScheme& scheme, const RankClass& of_class);

// Growth of programs whose partners follow no rule, as those of unstructured meshes: every grown rank makes the calls
// of a rank of the largest run, and its messages go to ranks that copy the partners of that one [docs/growth.md].
//
// The run is lifted, as a graph is to a larger one that covers it: on P · k ranks, rank y · P + x is the y-th copy of
// rank x, and where u and v exchange messages, the copy y of u exchanges them with the copy y + s of v, with s of -1, 0
// or 1 drawn for every such pair. So each rank has as many partners, as far away within the run, with messages of the
// same sizes, as a measured one has; no cut of the domain is foreseen.

// The model of the runs from `first` to before `end` of `all`. Throws an error of kind kNotEnoughData where the largest
// of them cannot be lifted: partners change from one iteration to the next, or collectives are among some of the ranks.
GrowthModel LearnStatistically(const GrowthModel& all, std::size_t first, std::size_t end);

// The ranks of a run, their partners and messages.
StatisticalGrowth CountPartners(const RunCalls& run);

}  // namespace farscale
