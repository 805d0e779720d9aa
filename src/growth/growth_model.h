// What the runs of a phase tell of runs at other numbers of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growth/rules/call_rules.h"
#include "growth/read/call_sites.h"
#include "growth/loads/load_model.h"
#include "growth/read/rank_grid.h"
#include "growth/read/run_calls.h"

namespace farscale {

struct GrowthModel {
  std::vector<RunCalls> runs;  // by rising number of ranks
  FunctionNames functions;
  CallRules rules;
  SiteLaws laws;
  LoadModel load;
  std::string region;  // by which iterations are known in a grown trace
  // Whether the ranks of the runs enter it themselves; else it is made around every iteration.
  bool has_region = false;

  // Of the runs from `first` to before `end` alone.
  GrowthModel OfRuns(std::size_t first, std::size_t end) const;
};

// Finds rules and laws of the runs, of which there are two or more, by rising number of ranks.
void LearnGrowth(GrowthModel& model);

// Which rank of the runs a grown rank copies, and by how much longer it computes.

// The ranks of the largest run that has some of a class.
struct ClassDonors {
  std::size_t run = 0;
  std::vector<std::int64_t> ranks;
};
ClassDonors DonorsOf(const ClassRules& rules);

// A grown rank: what it copies, and how its computation follows.
struct RankDraw {
  struct Iteration {
    std::size_t from = 0;  // iteration of the donor
    double ratio = 1;      // of its computation to that of the donor
  };
  std::int64_t donor = 0;
  std::vector<Iteration> iterations;  // as many as the largest run has
};

class RankDraws {
 public:
  RankDraws(const GrowthModel& model, std::uint64_t seed);

  // `law`: by how much longer than its donors a rank of the class computes on the grid. The same for a seed and a rank.
  void Draw(const ClassDonors& donors, double law, std::int64_t rank, RankDraw& draw) const;

 private:
  const GrowthModel& model_;
  std::uint64_t seed_;
  std::vector<std::vector<std::size_t>> of_kinds_;  // iterations of the largest run
};

}  // namespace farscale
