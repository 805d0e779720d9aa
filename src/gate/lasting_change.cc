#include "gate/lasting_change.h"

#include <algorithm>
#include <cmath>

#include "stats/distributions.h"

namespace farscale {
namespace {

// Chosen: each about 1.5 times the one before, so that no length of a change is far from one of them.
constexpr std::size_t kWindows[] = {2, 3, 5, 8};
constexpr double kCorrelationConfidence = 0.95;
constexpr double kMostCorrelation = 0.9;  // chosen: few commits do not show more

struct KnownMean {
  std::size_t index = 0;
  double log = 0;
};

double MeanOf(const std::vector<KnownMean>& means, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += means[i].log;
  return sum / static_cast<double>(end - begin);
}

// Begin and end of the best level among the means before the newest.
std::pair<std::size_t, std::size_t> BestLevel(const std::vector<KnownMean>& means, const Noise& noise, double worse) {
  std::vector<double> logs;
  for (const KnownMean& mean : means) logs.push_back(mean.log);
  std::vector<std::size_t> edges = FindSteps(logs, noise);
  edges.insert(edges.begin(), 0);
  edges.push_back(means.size());
  std::size_t best = 0;
  for (std::size_t i = 1; i + 1 < edges.size(); ++i) {
    const double better = MeanOf(means, edges[best], edges[best + 1]) - MeanOf(means, edges[i], edges[i + 1]);
    if (worse * better > 0) best = i;
  }
  return {edges[best], edges[best + 1]};
}

// The second largest loss among the recent commits, limited by that of the newest.
double LossThatLasts(const std::vector<KnownMean>& means, std::size_t recent, double before, double worse) {
  std::vector<double> losses;
  for (std::size_t i = means.size() - recent; i < means.size(); ++i) losses.push_back(worse * (means[i].log - before));
  const double newest = losses.back();
  std::ranges::nth_element(losses, losses.begin() + 1, std::greater<>());
  return std::min(newest, losses[1]);
}

}  // namespace

std::optional<std::size_t> ReferenceBegin(const History& history, const std::string& since) {
  std::optional<std::size_t> begin;
  if (since == "accepted") begin = 0;
  const std::optional<std::string> date = DateFrom(since);
  for (std::size_t i = 0; i < history.size(); ++i) {
    const bool is_begin = date ? history[i].date >= *date : history[i].commit.starts_with(since);
    if (!begin && is_begin) begin = i;
    if (begin && !history[i].accepted.empty()) begin = i;
  }
  return begin;
}

double VarianceOfNeighbours(const std::vector<double>& logarithms) {
  const auto n = static_cast<double>(logarithms.size());
  if (logarithms.size() < 3) return 1;
  double mean = 0, squares = 0, differences = 0;
  for (const double log : logarithms) mean += log / n;
  for (const double log : logarithms) squares += (log - mean) * (log - mean) / (n - 1);
  for (std::size_t i = 1; i < logarithms.size(); ++i) {
    const double difference = logarithms[i] - logarithms[i - 1];
    differences += difference * difference / 2 / (n - 1);
  }
  if (squares == 0) return 1;
  const double correlation = std::min(1 - differences / squares, kMostCorrelation);
  const double chance = NormalQuantile(kCorrelationConfidence) / std::sqrt(n);
  return correlation > chance ? (1 + correlation) / std::pow(1 - correlation, 2) : 1;
}

std::vector<LastingChange> FindLastingChanges(const CommitSeries& series, const SamplesByCores& newest,
                                              const std::vector<double>& cores, const SeriesNoise& noise,
                                              std::size_t begin, std::size_t window, bool is_time) {
  std::vector<LastingChange> changes;
  std::vector<KnownMean> means;
  for (std::size_t i = begin; i < series.commits.size(); ++i) {
    if (const auto mean = MeanOverCounts(series.commits[i], cores)) means.push_back({i, *mean});
  }
  const std::optional<double> last = MeanOverCounts(newest, cores);
  if (!last || !noise.mean || means.empty()) return changes;
  const double worse = is_time ? 1 : -1;
  const auto [first, end] = BestLevel(means, *noise.mean, worse);
  means.push_back({series.commits.size(), *last});
  for (const std::size_t recent : kWindows) {
    if (means.size() < first + recent + kFewestReference) break;
    const std::size_t size = std::min({window, end - first, means.size() - recent - first});
    if (size < kFewestReference) break;
    LastingChange change;
    change.recent = recent;
    std::vector<double> logs;
    for (std::size_t i = first; i < first + size; ++i) change.reference.push_back(means[i].index);
    for (std::size_t i = first; i < means.size() - recent; ++i) logs.push_back(means[i].log);
    change.before = MeanOf(means, first, first + size);
    change.after = MeanOf(means, means.size() - recent, means.size());
    const double error =
        noise.mean->deviation *
        std::sqrt(VarianceOfNeighbours(logs) * (1 / static_cast<double>(recent) + 1 / static_cast<double>(size)));
    change.change = {std::exp(change.after - change.before), error, noise.mean->freedom};
    change.lasting = LossThatLasts(means, recent, change.before, worse);
    changes.push_back(change);
  }
  return changes;
}

}  // namespace farscale
