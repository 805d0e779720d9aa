#include "report/loss_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/text.h"
#include "results/cause_text.h"

namespace farscale {

std::string TimeOrDash(double seconds) { return seconds > 0 ? FormatSeconds(seconds) : "–"; }

LossRanks::LossRanks(const LossRecord& record)
    : are_threads(!record.locations.empty()),
      one(are_threads ? "thread" : "rank"),
      who(one + "s"),
      summed("summed over " + who),
      losses(record) {}

std::string LossRanks::NumberOf(std::size_t rank) const {
  if (rank >= losses.locations.size()) return std::to_string(rank);
  const Location& location = losses.locations[rank];
  return fmt::format("{}, thread {}", location.rank, location.thread);
}

std::string LossRanks::List(const std::vector<std::string>& numbers) const {
  return Join(numbers, are_threads ? "; " : ", ");
}

std::string LossRanks::Count() const {
  if (!are_threads) return fmt::format("{} rank{}", losses.ranks.size(), losses.ranks.size() == 1 ? "" : "s");
  std::set<std::int32_t> ranks;
  for (const std::size_t rank : losses.ranks) ranks.insert(losses.locations[rank].rank);
  return fmt::format("{} threads of {} rank{}", losses.ranks.size(), ranks.size(), ranks.size() == 1 ? "" : "s");
}

double LossRanks::PerRank(double seconds) const {
  return losses.ranks.empty() ? 0 : seconds / static_cast<double>(losses.ranks.size());
}

std::string CoresOf(const LossRecord& losses) {
  return FormatCoreCount(static_cast<double>(losses.cores)) + (losses.grown_from ? ", grown" : "");
}

namespace {

// True if all ranks of a cause take about as much longer. Edited files may name ranks outside of the phase.
bool AreLateAlike(const Cause& cause, const std::vector<std::size_t>& ranks) {
  constexpr double kAlike = 0.5;  // of the largest; chosen
  const LossRaster& beyond = cause.beyond;
  if (beyond.cells.size() != beyond.rows * beyond.columns || beyond.cells.empty()) return false;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const std::size_t rank : cause.ranks) {
    const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
    if (place == ranks.size()) return false;
    const double* row = beyond.cells.data() + place * beyond.rows / ranks.size() * beyond.columns;
    const double sum = std::accumulate(row, row + beyond.columns, 0.0);
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  return least >= kAlike * most;
}

// Costs are charged to the last to arrive: of ranks that are late together, or as often, none stands out.
std::string TogetherWith(std::size_t largest, const PathRecord& path, const LossRecord& losses) {
  constexpr CausePlace kOfSeveral[] = {CausePlace::kRanks, CausePlace::kNode, CausePlace::kSocket, CausePlace::kPlane,
                                       CausePlace::kAlone};
  for (const Cause& cause : losses.causes) {
    const bool is_its = cause.path == path.path && cause.rank_count > 1 &&
                        std::ranges::find(cause.ranks, losses.ranks[largest]) != cause.ranks.end();
    const bool is_of_several = std::ranges::find(kOfSeveral, cause.place) != std::end(kOfSeveral);
    if (is_its && is_of_several && AreLateAlike(cause, losses.ranks)) return NameRanks(cause, losses);
  }
  constexpr double kAlike = 0.95, kNearlyAll = 0.9;  // chosen
  Cause alike;
  for (std::size_t i = 0; i < path.costs.size(); ++i) {
    if (path.costs[i] < kAlike * path.costs[largest]) continue;
    if (alike.rank_count++ < 4) alike.ranks.push_back(losses.ranks[i]);
  }
  const double of_all = static_cast<double>(alike.rank_count) * path.costs[largest];
  return alike.rank_count > 1 && of_all >= kNearlyAll * path.total.Costs() ? NameRanks(alike, losses) + " alike" : "";
}

}  // namespace

std::optional<LargestShare> LargestShareOf(const PathRecord& path, const LossRanks& ranks) {
  const auto largest = std::ranges::max_element(path.costs);
  if (largest == path.costs.end()) return std::nullopt;
  constexpr double kStandsOut = 0.05;  // chosen
  const double share = *largest / path.total.Costs();
  const auto index = static_cast<std::size_t>(largest - path.costs.begin());
  return LargestShare{ranks.NameOf(ranks.losses.ranks[index]),
                      FormatPercent(share),
                      share >= 0.5,
                      share >= 0.995,
                      share < kStandsOut,
                      ranks.are_threads ? "" : TogetherWith(index, path, ranks.losses)};
}

}  // namespace farscale
