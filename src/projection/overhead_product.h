// A share whose overhead is a product over processes n and threads m, 1/y - 1 = a(n) b(m): threads that shorten the
// rest of the time, but not that of a factor, multiply its overhead [docs/formulas.md, processes and threads].
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "factors/factor_table.h"
#include "models/ensemble.h"
#include "models/scaling_model.h"
#include "projection/factor_draws.h"
#include "projection/separable_factor.h"

namespace farscale {

// Both curves are those of the share itself: over processes at the most threads, over threads at the most processes,
// where overheads are large and so known best.
class OverheadProduct {
 public:
  // As for SeparableFactor; both numbers vary.
  OverheadProduct(const std::vector<FactorRow>& rows, Factor factor, const std::vector<Candidate>& candidates,
                  const ModelLibrary& library, const std::map<SplitAxis, std::vector<double>>& reach,
                  std::uint64_t seed);

  // Whether there is an overhead to speak of, and a model fits either curve.
  bool is_usable() const { return draws_.size() == 2; }
  // Sum of the squares of what the effects of n and m leave of ln y.
  double sum_of_squares() const { return sum_of_squares_; }

  double ValueAt(double processes, double threads) const;
  std::vector<double> DrawsAt(double processes, double threads) const;

 private:
  double ValueOf(double over_processes, double over_threads) const;

  std::map<SplitAxis, std::unique_ptr<Ensemble>> curves_;  // draws point to them
  std::map<SplitAxis, FactorDraws> draws_;
  double common_ = 0;  // overhead at the most of both
  double sum_of_squares_ = 0;
};

}  // namespace farscale
