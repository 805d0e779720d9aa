#include "report/loss_ranks.h"

#include <fmt/format.h>

#include <set>

#include "base/format.h"

namespace farscale {

std::string TimeOrDash(double seconds) { return seconds > 0 ? FormatSeconds(seconds) : "–"; }

std::string LossRanks::NumberOf(std::size_t rank) const {
  if (rank >= losses_.locations.size()) return std::to_string(rank);
  const Location& location = losses_.locations[rank];
  return fmt::format("{}, thread {}", location.rank, location.thread);
}

std::string LossRanks::Count() const {
  if (!are_threads()) return fmt::format("{} rank{}", losses_.ranks.size(), losses_.ranks.size() == 1 ? "" : "s");
  std::set<std::int32_t> ranks;
  for (const std::size_t rank : losses_.ranks) ranks.insert(losses_.locations[rank].rank);
  return fmt::format("{} threads of {} rank{}", losses_.ranks.size(), ranks.size(), ranks.size() == 1 ? "" : "s");
}

}  // namespace farscale
