// What a new run could measure for a factor at any core count, as draws [docs/formulas.md, intervals].
#pragma once

#include <cstdint>
#include <vector>

#include "models/ensemble.h"

namespace farscale {

// How many draws stand for all that is possible.
inline constexpr std::size_t kFactorDraws = 1000;

// Draws of one factor. Each is a curve of one model, with what no model knows: how the loss drifts away from every
// curve with each doubling beyond the largest run, whether a loss comes up that no run has shown, and the scatter of
// the new run itself. Draw i of one factor has nothing to do with draw i of another, so that products of factors are
// products draw by draw.
class FactorDraws {
 public:
  // Of an ensemble with at least one member of use; it must outlive the draws.
  FactorDraws(const Ensemble& ensemble, std::uint64_t seed);

  // What a run at that many cores could measure, one value a draw.
  std::vector<double> At(double cores) const;
  // The curves of the draws alone.
  std::vector<double> CurvesAt(double cores) const;
  // Standard deviation of ln y of a new run around a curve that has `value` there, drift included.
  double LogDeviation(std::size_t draw, double value, double cores) const;

  // What of a draw is believed at `cores` once a run at `run` cores has shown `outcome`, where its curve has the values
  // `at_cores` and `at_run`: of the difference, the part that is drift stays, and the rest is scatter of that run.
  double CurveAfter(std::size_t draw, double at_cores, double at_run, double outcome, double run) const;
  // The same as At once a run at `run` cores is known: draw i has the value curves[i] of draw chosen[i], and drifts
  // from that run on.
  std::vector<double> AfterRun(const std::vector<double>& curves, const std::vector<std::size_t>& chosen, double cores,
                               double run) const;

 private:
  struct Draw {
    const Member* member;
    const std::vector<double>* parameters;
    double scatter;
    double drift;     // standard normal
    double new_loss;  // by doubling
    double noise;     // standard normal
  };

  double Disturb(const Draw& draw, double scatter, double value, double doublings) const;

  const Ensemble& ensemble_;
  double anchor_ = 0;     // cores of the largest run
  double own_error_ = 0;  // of a run, of ln y
  std::vector<Draw> draws_;
};

}  // namespace farscale
