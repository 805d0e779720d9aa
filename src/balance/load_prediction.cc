#include "balance/load_prediction.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace farscale {
namespace {

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

constexpr std::array<std::pair<LoadPredictor, const char*>, 4> kNames = {{{LoadPredictor::kLast, "last"},
                                                                          {LoadPredictor::kMean, "mean"},
                                                                          {LoadPredictor::kTrend, "trend"},
                                                                          {LoadPredictor::kExact, "exact"}}};

}  // namespace

std::vector<double> PredictLoads(const TaskLoads& loads, std::size_t next, std::size_t length,
                                 LoadPredictor predictor) {
  std::vector<double> predicted;
  for (const std::vector<Tick>& task : loads) predicted.push_back(Predict(task, next, length, predictor));
  return predicted;
}

std::string ToString(LoadPredictor predictor) { return kNames[static_cast<std::size_t>(predictor)].second; }

std::optional<LoadPredictor> ParseLoadPredictor(const std::string& name) {
  for (const auto& [predictor, text] : kNames) {
    if (name == text) return predictor;
  }
  return std::nullopt;
}

}  // namespace farscale
