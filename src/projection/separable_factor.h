// A factor as a function of processes n and threads m: f(n) g(m), or of the cores n m; a share also by the product of
// its overheads [docs/formulas.md, processes and threads].
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "models/ensemble.h"
#include "models/scaling_model.h"
#include "projection/load_balance_by_loads.h"

namespace farscale {

class OverheadProduct;
struct FactorRow;

enum class SplitAxis { kProcesses, kThreads, kCores };

double CountOf(const FactorRow& row, SplitAxis axis);

// Why the effects of processes and threads are not known: the runs fall into groups that share neither number. Empty
// when they are known.
std::string DescribeConfounded(const std::vector<FactorRow>& rows);

// Shares are f(n) g(m), with g = 1 at the fewest threads; other factors only where the number of cores explains them
// worse. There is a curve over each number that varies.
class SeparableFactor {
 public:
  // All rows know the factor, above 0, and are not confounded. `reach`: of the numbers that vary, where curves must be
  // possible.
  SeparableFactor(const std::vector<FactorRow>& rows, Factor factor, const std::vector<Candidate>& candidates,
                  const ModelLibrary& library, const std::map<SplitAxis, std::vector<double>>& reach,
                  std::uint64_t seed);
  SeparableFactor(const SeparableFactor&) = delete;
  SeparableFactor& operator=(const SeparableFactor&) = delete;
  ~SeparableFactor();

  // False where a curve has no model that fits it; then there are no values.
  bool is_usable() const { return is_usable_; }

  double ValueAt(double processes, double threads) const;
  // Multiplies kFactorDraws values by what runs there could measure. Draws are the same curves everywhere.
  void MultiplyDraws(double processes, double threads, std::vector<double>& values) const;

 private:
  double ByProduct(double processes, double threads) const;

  std::map<SplitAxis, std::unique_ptr<Ensemble>> curves_;  // draws point to them
  std::map<SplitAxis, FactorDraws> draws_;
  double constant_ = 1;
  bool is_usable_ = true;
  std::unique_ptr<OverheadProduct> overhead_;  // null: it has no weight
  double overhead_weight_ = 0;                 // share of the draws that come from it
  double first_draw_ = 0;                      // which draws these are
};

// A share whose overhead is a product over processes n and threads m, 1/y - 1 = a(n) b(m): threads that shorten the
// rest of the time, but not that of a factor, multiply its overhead [docs/formulas.md, processes and threads].

// Both curves are those of the share itself: over processes at the most threads, over threads at the most processes,
// where overheads are large and so known best.
class OverheadProduct {
 public:
  // As for SeparableFactor; both numbers vary.
  OverheadProduct(const std::vector<FactorRow>& rows, Factor factor, const std::vector<Candidate>& candidates,
                  const ModelLibrary& library, const std::map<SplitAxis, std::vector<double>>& reach,
                  std::uint64_t seed);

  // True if there is an overhead to speak of, and a model fits either curve.
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
