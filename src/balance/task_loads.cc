#include "balance/task_loads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

struct PredictorText {
  const char* name;
  const char* description;
};

// In the order of LoadPredictor.
constexpr std::array<PredictorText, 4> kPredictors = {
    {{"last", "those of the interval before"},
     {"mean", "the mean of all iterations so far"},
     {"trend", "the last two intervals, continued"},
     {"exact", "those that will come, which no run knows: nothing can be better"}}};

constexpr std::size_t kReach = 2;  // iterations on either side of the running median; chosen

double SumOf(const std::vector<Tick>& loads, std::size_t begin, std::size_t end) {
  Tick sum = 0;
  for (std::size_t i = begin; i < std::min(end, loads.size()); ++i) sum += loads[i];
  return static_cast<double>(sum);
}

double Predict(const std::vector<Tick>& loads, std::size_t next, std::size_t length, LoadPredictor predictor) {
  const std::size_t last = next - std::min(next, length);
  switch (predictor) {
    case LoadPredictor::kLast: return SumOf(loads, last, next);
    case LoadPredictor::kMean: return SumOf(loads, 0, next) * static_cast<double>(length) / static_cast<double>(next);
    case LoadPredictor::kTrend:
      if (last < length) return SumOf(loads, last, next);
      return std::max(0.0, 2 * SumOf(loads, last, next) - SumOf(loads, last - length, last));
    case LoadPredictor::kExact: return SumOf(loads, next, next + length);
  }
  return 0;
}

// Loads of a task as multiples of their running median; 1 where there is none.
std::vector<double> Residuals(const std::vector<Tick>& loads) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto begin = loads.begin() + static_cast<std::ptrdiff_t>(i - std::min(i, kReach));
    const auto end = loads.begin() + static_cast<std::ptrdiff_t>(std::min(loads.size(), i + kReach + 1));
    const double median = Median(std::vector<double>(begin, end));
    residuals.push_back(median > 0 && loads[i] > 0 ? static_cast<double>(loads[i]) / median : 1);
  }
  return residuals;
}

}  // namespace

std::string ToString(LoadPredictor predictor) { return kPredictors[static_cast<std::size_t>(predictor)].name; }

std::string Describe(LoadPredictor predictor) { return kPredictors[static_cast<std::size_t>(predictor)].description; }

std::optional<LoadPredictor> ParseLoadPredictor(const std::string& name) {
  const auto found = std::ranges::find(kPredictors, name, &PredictorText::name);
  if (found == kPredictors.end()) return std::nullopt;
  return static_cast<LoadPredictor>(found - kPredictors.begin());
}

std::vector<double> PredictLoads(const TaskLoads& loads, std::size_t next, std::size_t length,
                                 LoadPredictor predictor) {
  std::vector<double> predicted;
  for (const std::vector<Tick>& task : loads) predicted.push_back(Predict(task, next, length, predictor));
  return predicted;
}

std::optional<double> LoadChange(const TaskLoads& loads) {
  double change = 0, all = 0;
  for (const std::vector<Tick>& task : loads) {
    for (std::size_t i = 0; i + 1 < task.size(); ++i) {
      change += std::abs(static_cast<double>(task[i + 1] - task[i]));
      all += static_cast<double>(task[i]);
    }
  }
  return all > 0 ? std::optional(change / all) : std::nullopt;
}

std::optional<LoadScale> NoiseReplica(const TaskLoads& loads, std::uint64_t seed) {
  if (loads.empty() || loads.front().size() < kFewestNoisyIterations) return std::nullopt;
  std::vector<std::vector<double>> own;
  std::ranges::transform(loads, std::back_inserter(own), Residuals);
  const std::size_t iterations = loads.front().size();
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<double> all;
    for (const std::vector<double>& task : own) all.push_back(task[i]);
    const double common = Median(all);
    for (std::vector<double>& task : own) task[i] /= common;
  }
  LoadScale scale;
  Random random(seed);
  for (const std::vector<double>& task : own) {
    std::vector<std::size_t> order(iterations);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.Shuffle(order);
    std::vector<double>& of_task = scale.emplace_back();
    for (std::size_t i = 0; i < iterations; ++i) of_task.push_back(task[order[i]] / task[i]);
  }
  return scale;
}

}  // namespace farscale
