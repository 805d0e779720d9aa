#include "projection/grown_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "projection/factor_draws.h"

namespace farscale {
namespace {

// Chosen: the errors of the programs of docs/growth.md hardly rise with the distance.
constexpr double kPower = 0.25;
// Losses smaller than this are as uncertain as if they were as large; chosen: what repeats of a run differ by.
constexpr double kLeastLoss = 0.01;
// How many backtests the record of other programs counts for; chosen: it differs more between programs than predictions
// of one program do.
constexpr double kRecordCounts = 1;

// The record in docs/growth.md, which `scripts/measure_growth` writes; chosen: a hundredth more for transfer and
// parallel efficiency, as few programs make it.
double OfDoubling(Factor factor) {
  switch (factor) {
    case Factor::kLoadBalance: return 0.44;
    case Factor::kSerialization: return 0.20;
    case Factor::kParallelEfficiency: return 0.07;
    default: return 0.17;  // transfer, and what is made of both
  }
}

// The same where ranks are copied, which one program makes: that record, rounded up.
double OfDoublingOfCopies(Factor factor) {
  switch (factor) {
    case Factor::kLoadBalance: return 0.75;
    case Factor::kSerialization: return 0.40;
    case Factor::kParallelEfficiency: return 0.40;
    default: return 0.95;
  }
}

// Mean of a factor over the repeats at a number of cores.
std::optional<double> MeasuredAt(Factor factor, const std::vector<FactorRow>& rows, double cores) {
  double sum = 0, count = 0;
  for (const FactorRow& row : rows) {
    if (static_cast<double>(row.cores) != cores || !row.values[factor]) continue;
    sum += *row.values[factor];
    ++count;
  }
  return count > 0 && sum > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

double GrowthError::At(double value, double doublings) const {
  return of_doubling * (std::abs(std::log(value)) + kLeastLoss) * std::pow(doublings, power);
}

GrowthError ErrorOfGrowth(Factor factor, const GrownPhase& grown, const std::vector<FactorRow>& measured,
                          double largest) {
  GrowthError error{grown.is_statistical ? OfDoublingOfCopies(factor) : OfDoubling(factor), kPower};
  // All runs grown from the same runs share their mistakes, so together they count as one.
  std::map<double, std::pair<double, double>> squares;
  for (const GrownRun& run : grown.runs) {
    if (run.cores > largest || run.cores <= run.learned_up_to || !run.values[factor]) continue;
    const std::optional<double> truth = MeasuredAt(factor, measured, run.cores);
    if (!truth || *run.values[factor] <= 0) continue;
    const double own = error.At(*run.values[factor], Doublings(run.cores, run.learned_up_to));
    const double ratio = std::log(*run.values[factor] / *truth) / own;
    auto& [sum, count] = squares[run.learned_up_to];
    sum += ratio * ratio;
    ++count;
  }
  double sum = kRecordCounts, count = kRecordCounts;
  for (const auto& [learned, of] : squares) {
    sum += of.first / of.second;
    ++count;
  }
  error.of_doubling *= std::sqrt(sum / count);
  return error;
}

std::vector<DataPoint> GrownPoints(Factor factor, const std::vector<GrownRun>& grown, double largest) {
  std::vector<DataPoint> points;
  for (const GrownRun& run : grown) {
    if (run.learned_up_to != largest || run.cores <= largest || !run.values[factor]) continue;
    if (*run.values[factor] > 0) points.push_back({run.cores, *run.values[factor], std::nullopt});
  }
  std::ranges::sort(points, {}, &DataPoint::cores);
  return points;
}

}  // namespace farscale
