#include "report/allocation_gaps.h"

#include <fmt/format.h>

#include <algorithm>

namespace farscale {
namespace {

constexpr std::size_t kCountsAskedFor = 3;

// Why the phase is not projected; empty where the results do not say.
std::string ObstacleOf(const AllocationTerms& terms) {
  for (const PhaseProjection& projection : terms.results().projections) {
    if (projection.series == terms.series() && projection.phase == terms.phase()) return projection.obstacle;
  }
  return "";
}

template <typename Say>
void FindGapsOfTimes(const AllocationPack& pack, Say say) {
  const bool has_times = std::any_of(pack.rows.begin(), pack.rows.end(),
                                     [](const AllocationRow& row) { return row.is_measured && row.iteration.value; });
  if (!has_times) {
    say("The times are not known, so there are neither wall times nor core hours; the column runtime of the table, "
        "in seconds, says them.");
  } else if (!pack.are_planned) {
    say("How much work is planned is not stated; --iterations, or iterations in [case] of the study, turns times "
        "into the core hours to ask for.");
  }
  if (pack.basis == EfficiencyBasis::kParallelEfficiency) {
    say("Efficiency is parallel efficiency alone: how computation itself scales is not known, which the columns "
        "computationScalability or runtime would say.");
  }
}

}  // namespace

std::vector<std::string> FindGaps(const AllocationTerms& terms, const AllocationPack& pack) {
  std::vector<std::string> gaps;
  const auto say = [&](const std::string& sentence) { gaps.push_back(sentence); };
  if (terms.results().description.empty()) {
    say("The code, its version, the input and the machine are not described; description in [study] is the place.");
  }
  if (std::none_of(pack.rows.begin(), pack.rows.end(), [](const AllocationRow& row) { return row.size; })) {
    say(pack.scaling == Scaling::kWeak
            ? "The problem size is not stated; size_per_process and unit in [case] of the study are the place."
            : "The problem size is not stated; size and unit in [case] of the study are the place.");
  }
  if (!pack.scaling) say("Whether this is strong or weak scaling is not known; --scaling says it of a table.");
  FindGapsOfTimes(pack, say);
  if (pack.counts < kCountsAskedFor) {
    say(fmt::format("Centres ask for three core counts at least; there {} {}.", pack.counts == 1 ? "is" : "are",
                    pack.counts));
  }
  if (pack.repeated_counts == 0) {
    say("No core count was run more than once, so it is not known how much the times vary from run to run.");
  }
  const bool has_nodes =
      std::any_of(pack.rows.begin(), pack.rows.end(), [](const AllocationRow& row) { return row.nodes; });
  if (!has_nodes) say("The number of nodes is not known; the column nodes of a table says it.");
  if (std::none_of(pack.rows.begin(), pack.rows.end(), [](const AllocationRow& row) { return !row.is_measured; })) {
    const std::string obstacle = ObstacleOf(terms);
    say("Nothing is projected" + (obstacle.empty() ? "" : ": " + obstacle) + ".");
  }
  return gaps;
}

}  // namespace farscale
