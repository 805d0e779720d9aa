#include "projection/next_run.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace farscale {
namespace {

constexpr std::size_t kAssumedOutcomes = 12;  // of a run; chosen, to bound the time
constexpr std::size_t kMostChoices = 6;       // chosen: as many as reports list
constexpr double kLargestStep = 4;            // over the largest run; chosen: who has run that many can run these

// Of the middle 80 % of what has these logarithms.
double WidthOf(std::vector<double> draws) {
  const auto at = [&](double share) {
    const auto place = draws.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(draws.size() - 1));
    std::nth_element(draws.begin(), place, draws.end());
    return std::exp(*place);
  };
  return at(0.9) - at(0.1);
}

bool ArePowers(const std::vector<double>& cores, int power) {
  return std::all_of(cores.begin(), cores.end(),
                     [&](double count) { return std::pow(std::round(std::pow(count, 1.0 / power)), power) == count; });
}

// 3 or 2 where the program has run on cubes or squares of cores only, as some must; else 1.
int PowerOf(const std::vector<double>& cores) {
  const bool doubles = std::all_of(cores.begin(), cores.end(), [&](double count) {
    const double doublings = std::log2(count / cores.front());
    return doublings == std::round(doublings);
  });
  if (doubles) return 1;
  return ArePowers(cores, 3) ? 3 : ArePowers(cores, 2) ? 2 : 1;
}

// What a run at a number of cores says of the draws of one factor, whatever it measures.
class RunOfFactor {
 public:
  RunOfFactor(const FactorDraws& draws, double cores) : outcomes_(draws.At(cores)) {
    const std::vector<double> curves = draws.CurvesAt(cores);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      log_curves_.push_back(std::log(curves[i]));
      deviations_.push_back(draws.LogDeviation(i, curves[i], cores));
      learning_.push_back(draws.LearningAt(i, curves[i], cores));
    }
  }

  // Which draws stand for what is believed after the run has shown what draw `drawn` would: as many as before, each as
  // often as it agrees, evenly spaced through the weights.
  std::vector<std::size_t> Agreeing(std::size_t drawn) const {
    const double log_outcome = std::log(outcomes_[drawn]);
    std::vector<double> passed;
    passed.reserve(log_curves_.size());
    double sum = 0;
    for (std::size_t i = 0; i < log_curves_.size(); ++i) {
      const double distance = (log_outcome - log_curves_[i]) / deviations_[i];
      sum += std::exp(-distance * distance / 2) / deviations_[i];
      passed.push_back(sum);
    }
    std::vector<std::size_t> chosen;
    chosen.reserve(passed.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < passed.size(); ++i) {
      const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(passed.size()) * sum;
      while (at + 1 < passed.size() && !(passed[at] > position)) ++at;
      chosen.push_back(sum > 0 && std::isfinite(sum) ? at : i);
    }
    return chosen;
  }

  // The losses of the chosen draws at the target, where all draws have the losses `at_target`, after the same.
  std::vector<double> LossesAfter(std::size_t drawn, const std::vector<std::size_t>& chosen,
                                  const std::vector<double>& at_target) const {
    const double seen_loss = -std::log(outcomes_[drawn]);
    std::vector<double> losses;
    losses.reserve(chosen.size());
    std::size_t last = learning_.size();
    for (const std::size_t i : chosen) {
      losses.push_back(i == last ? losses.back() : LossAfter(at_target[i], learning_[i], seen_loss));
      last = i;
    }
    return losses;
  }

 private:
  std::vector<double> outcomes_, log_curves_, deviations_;  // one a draw
  std::vector<FactorDraws::Learning> learning_;
};

// The expected width at the target after a run.
class RunRanking {
 public:
  RunRanking(const std::vector<const FactorDraws*>& factors, double target) : factors_(factors), target_(target) {
    for (const FactorDraws* factor : factors) at_target_.push_back(factor->LossesAt(target));
  }

  double WidthAfter(double cores) const {
    std::vector<RunOfFactor> runs;
    for (const FactorDraws* factor : factors_) runs.emplace_back(*factor, cores);
    double sum = 0;
    for (std::size_t k = 0; k < kAssumedOutcomes; ++k) {
      const std::size_t drawn = k * kFactorDraws / kAssumedOutcomes;  // draws are in no order
      std::vector<double> logarithms(kFactorDraws, 0.0);
      for (std::size_t f = 0; f < factors_.size(); ++f) {
        const std::vector<std::size_t> chosen = runs[f].Agreeing(drawn);
        const std::vector<double> after =
            factors_[f]->AfterRun(runs[f].LossesAfter(drawn, chosen, at_target_[f]), chosen, target_, cores);
        for (std::size_t i = 0; i < kFactorDraws; ++i) logarithms[i] -= after[i];
      }
      sum += WidthOf(std::move(logarithms));
    }
    return sum / kAssumedOutcomes;
  }

 private:
  const std::vector<const FactorDraws*>& factors_;
  const double target_;
  std::vector<std::vector<double>> at_target_;  // losses, one list a factor
};

}  // namespace

std::vector<double> CandidateRuns(const std::vector<double>& fitted_cores, double target) {
  const double smallest = fitted_cores.front(), largest = fitted_cores.back();
  const int power = PowerOf(fitted_cores);
  const auto nearest = [&](double cores) { return std::pow(std::round(std::pow(cores, 1.0 / power)), power); };
  std::set<double> candidates = {smallest, largest};
  for (double cores = 2 * smallest; cores < largest; cores *= 2) {
    if (nearest(cores) > smallest && nearest(cores) < largest) candidates.insert(nearest(cores));
  }
  for (double times = 2; times <= kLargestStep; times *= 2) {
    const double cores = nearest(largest * times);
    if (cores > largest && cores <= target) candidates.insert(cores);
  }
  return {candidates.begin(), candidates.end()};
}

std::vector<RunChoice> RankRuns(const std::vector<const FactorDraws*>& factors, const std::vector<double>& candidates,
                                const std::vector<double>& fitted_cores, double target) {
  const RunRanking ranking(factors, target);
  std::vector<RunChoice> choices;
  for (const double cores : candidates) {
    const bool is_repeat = std::binary_search(fitted_cores.begin(), fitted_cores.end(), cores);
    if (is_repeat && cores != fitted_cores.front() && cores != fitted_cores.back()) continue;
    choices.push_back({cores, is_repeat, ranking.WidthAfter(cores), std::nullopt});
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const RunChoice& a, const RunChoice& b) { return a.width < b.width; });
  if (choices.size() > kMostChoices) choices.resize(kMostChoices);
  return choices;
}

}  // namespace farscale
