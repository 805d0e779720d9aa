// Growth of programs whose partners follow no rule, as those of unstructured meshes: every grown rank makes the calls
// of a rank of the largest run, and its messages go to ranks that copy the partners of that one [docs/growth.md].
//
// The run is lifted, as a graph is to a larger one that covers it: on P · k ranks, rank y · P + x is the y-th copy of
// rank x, and where u and v exchange messages, the copy y of u exchanges them with the copy y + s of v, with s of -1, 0
// or 1 drawn for every such pair. So each rank has as many partners, as far away within the run, with messages of the
// same sizes, as a measured one has; no cut of the domain is foreseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "growth/growth_model.h"

namespace farscale {

// The model of the runs from `first` to before `end` of `all`. Throws an error of kind kNotEnoughData where the largest
// of them cannot be lifted: partners change from one iteration to the next, or collectives are among some of the ranks.
GrowthModel LearnStatistically(const GrowthModel& all, std::size_t first, std::size_t end);

// The number of ranks to which ranks of a run send messages.
struct PartnerCounts {
  std::int64_t ranks = 0;  // in the run
  double fewest = 0, median = 0, most = 0;
  double messages = 0;  // sent by a rank in an iteration, in the mean
  double bytes = 0;     // mean of the messages
};
PartnerCounts CountPartners(const RunCalls& run);

}  // namespace farscale
