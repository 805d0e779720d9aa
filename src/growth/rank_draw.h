// Which rank of the runs a grown rank copies, and by how much longer it computes.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/growth_model.h"
#include "growth/rank_grid.h"

namespace farscale {

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
