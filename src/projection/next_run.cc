#include "projection/next_run.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace farscale {
namespace {

constexpr std::size_t kAssumedOutcomes = 12;  // of a run; chosen, to bound the time
constexpr std::size_t kMostChoices = 6;       // chosen: as many as reports list

double WidthOf(std::vector<double> draws) {
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double share) {
    return draws[static_cast<std::size_t>(share * static_cast<double>(draws.size() - 1))];
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

// Which draws stand for what is believed after a run has shown `outcome` where the curves have `curves`: as many as
// before, each as often as it agrees, evenly spaced through the weights.
std::vector<std::size_t> Agreeing(const FactorDraws& draws, const std::vector<double>& curves, double outcome,
                                  double cores) {
  std::vector<double> passed;
  double sum = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const double deviation = draws.LogDeviation(i, curves[i], cores);
    const double distance = std::log(outcome / curves[i]) / deviation;
    sum += std::exp(-distance * distance / 2) / deviation;
    passed.push_back(sum);
  }
  std::vector<std::size_t> chosen;
  std::size_t at = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(curves.size()) * sum;
    while (at + 1 < passed.size() && !(passed[at] > position)) ++at;
    chosen.push_back(sum > 0 && std::isfinite(sum) ? at : i);
  }
  return chosen;
}

// The expected width at the target after a run.
class RunRanking {
 public:
  RunRanking(const std::vector<const FactorDraws*>& factors, double target) : factors_(factors), target_(target) {
    for (const FactorDraws* factor : factors) at_target_.push_back(factor->CurvesAt(target));
  }

  double WidthAfter(double cores) const {
    std::vector<std::vector<double>> curves, outcomes;
    for (const FactorDraws* factor : factors_) {
      curves.push_back(factor->CurvesAt(cores));
      outcomes.push_back(factor->At(cores));
    }
    double sum = 0;
    for (std::size_t k = 0; k < kAssumedOutcomes; ++k) {
      const std::size_t drawn = k * kFactorDraws / kAssumedOutcomes;  // draws are in no order
      std::vector<double> product(kFactorDraws, 1.0);
      for (std::size_t f = 0; f < factors_.size(); ++f) {
        const std::vector<std::size_t> chosen = Agreeing(*factors_[f], curves[f], outcomes[f][drawn], cores);
        std::vector<double> believed;
        for (const std::size_t i : chosen) {
          believed.push_back(factors_[f]->CurveAfter(i, at_target_[f][i], curves[f][i], outcomes[f][drawn], cores));
        }
        const std::vector<double> after = factors_[f]->AfterRun(believed, chosen, target_, cores);
        for (std::size_t i = 0; i < kFactorDraws; ++i) product[i] *= after[i];
      }
      sum += WidthOf(std::move(product));
    }
    return sum / kAssumedOutcomes;
  }

 private:
  const std::vector<const FactorDraws*>& factors_;
  const double target_;
  std::vector<std::vector<double>> at_target_;  // one a factor
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
  for (double times = 2; times <= 16; times *= 2) {
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
