// Predictive distribution of what a new run would measure for a factor, as draws [docs/formulas.md, intervals].
#pragma once

#include <cstdint>
#include <vector>

#include "models/interval_constants.h"
#include "models/ensemble.h"

namespace farscale {

// Chosen: with 1000 draws the tails of an 80 % interval have a standard error of 0.01 in probability.
inline constexpr std::size_t kFactorDraws = 1000;

// How often `from` cores are doubled until there are so many; 0 for fewer.
double Doublings(double cores, double from);

// Draws of one factor. Each is a curve of one model, with three errors that no model contains: the drift of the loss
// away from the curve with each doubling beyond the largest run, a loss that no run has shown yet, and the scatter of
// the new run itself. Draws of different factors are independent, so that products of factors are products draw by
// draw.
class FactorDraws {
 public:
  // Of an ensemble with at least one member of use; it must outlive the draws.
  FactorDraws(const Ensemble& ensemble, const IntervalConstants& intervals, std::uint64_t seed);

  // What a run at that many cores could measure, one value a draw.
  std::vector<double> At(double cores) const;
  // The curves of the draws alone, and their losses -ln y.
  std::vector<double> CurvesAt(double cores) const;
  std::vector<double> LossesAt(double cores) const;
  // Standard deviation of ln y of a new run around a curve that has `value` there, drift included.
  double LogDeviation(std::size_t draw, double value, double cores) const;

  // What a run at `run` cores would say of the curve of a draw, which has `value` there: see LossAfter.
  struct Learning {
    double loss = 0;      // -ln value
    double of_drift = 0;  // part of a difference to the run that is drift and stays; the rest is scatter of that run
  };
  Learning LearningAt(std::size_t draw, double value, double run) const;
  // The losses -ln y of At once a run at `run` cores is known: draw i has the curve of draw chosen[i], with the loss
  // losses[i], and drifts from that run on.
  std::vector<double> AfterRun(const std::vector<double>& losses, const std::vector<std::size_t>& chosen, double cores,
                               double run) const;

 private:
  // The curves of a member, each once.
  struct Curves {
    const Member* member;
    std::vector<std::vector<double>> columns;  // their parameters, a column a parameter
    std::size_t count;
  };
  struct Draw {
    std::size_t curve;  // of all members
    double scatter;
    double deviation;  // of the drift of ln(-ln y) by doubling
    double drift;      // standard normal
    double new_loss;   // by doubling
    double noise;      // standard normal
  };

  // Of a curve with that loss, the loss that a run would show. `of_curve`: the draw whose scatter and deviation hold.
  double Disturb(const Draw& draw, const Draw& of_curve, double loss, double doublings) const;

  std::vector<double> ValuesOfCurves(double cores) const;  // one a curve of all members
  std::vector<double> OfDraws(const std::vector<double>& of_curves) const;

  const Ensemble& ensemble_;
  IntervalConstants intervals_;
  double anchor_ = 0;     // cores of the largest run
  double own_error_ = 0;  // of a run, of ln y
  std::vector<Curves> curves_;
  std::vector<Draw> draws_;
};

// The loss of the curve of a draw, `at_cores` until then, once it has learnt from a run with `seen_loss`, which is -ln
// of what the run has measured.
double LossAfter(double at_cores, const FactorDraws::Learning& learning, double seen_loss);

}  // namespace farscale
