// A factor as a function of processes n and threads m: f(n) g(m), or of the cores n m; a share also by the product of
// its overheads [docs/formulas.md, processes and threads].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "models/ensemble.h"
#include "models/scaling_model.h"
#include "projection/load_balance_by_loads.h"

namespace farscale {

struct FactorRow;

enum class SplitAxis { kProcesses, kThreads, kCores };

double CountOf(const FactorRow& row, SplitAxis axis);

// Why the effects of processes and threads are not known: the runs fall into groups that share neither number. Empty
// when they are known.
std::string DescribeConfounded(const std::vector<FactorRow>& rows);

// Shares are f(n) g(m), with g = 1 at the fewest threads; other factors only where the number of cores explains them
// worse. There is a curve over each number that varies. Where both do, a share may also be one whose overhead is a
// product, 1/y - 1 = a(n) b(m): threads that shorten the rest of the time, but not that of a factor, multiply its
// overhead [docs/formulas.md, processes and threads].
class SeparableFactor {
 public:
  // All rows know the factor, above 0, and are not confounded. `reach`: of the numbers that vary, where curves must be
  // possible.
  SeparableFactor(const std::vector<FactorRow>& rows, Factor factor, const std::vector<Candidate>& candidates,
                  const ModelLibrary& library, const std::map<SplitAxis, std::vector<double>>& reach,
                  std::uint64_t seed);
  SeparableFactor(const SeparableFactor&) = delete;
  SeparableFactor& operator=(const SeparableFactor&) = delete;

  // False where a curve has no model that fits it; then there are no values.
  bool is_usable() const { return is_usable_; }

  double ValueAt(double processes, double threads) const;
  // Multiplies kFactorDraws values by what runs there could measure. Draws are the same curves everywhere.
  void MultiplyDraws(double processes, double threads, std::vector<double>& values) const;

 private:
  // Both curves of the overhead are those of the share itself: over processes at the most threads, over threads at the
  // most processes, where overheads are large and so known best. Returns the sum of the squares of what the effects of
  // n and m leave of ln y; nothing where there is no overhead to speak of, or no model fits a curve.
  std::optional<double> FitOverhead(const std::vector<FactorRow>& rows, Factor factor,
                                    const std::vector<Candidate>& candidates, const ModelLibrary& library,
                                    const std::map<SplitAxis, std::vector<double>>& reach, std::uint64_t seed);
  double ByOverhead(double over_processes, double over_threads) const;

  std::map<SplitAxis, Ensemble> curves_, overhead_curves_;
  std::map<SplitAxis, FactorDraws> draws_, overhead_draws_;  // point to the curves
  double constant_ = 1;
  bool is_usable_ = true;
  double most_overhead_ = 0;    // at the most of both
  double overhead_weight_ = 0;  // share of the draws that come from the product of overheads
  double first_draw_ = 0;       // which draws these are
};

}  // namespace farscale
