#include "factors/iteration_profile.h"

#include <algorithm>

#include "factors/phase_factors.h"

namespace farscale {

std::vector<IterationProfile> ProfileIterations(const Trace& trace, const PhaseCut& cut) {
  std::vector<IterationProfile> profiles(cut.iterations);
  std::vector<std::size_t> ranks(cut.iterations);
  const Tick origin = trace.begin();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      IterationProfile& profile = profiles[k];
      const double begin = trace.Seconds(iterations[k].begin.tick - origin);
      const double end = trace.Seconds(iterations[k].end.tick - origin);
      const double useful = trace.Seconds(UsefulTicks(trace.timelines[rank], iterations[k]));
      profile.begin = ranks[k]++ == 0 ? begin : std::min(profile.begin, begin);
      profile.mean_begin += begin;
      profile.mean_end += end;
      profile.elapsed += trace.Seconds(iterations[k].length());
      profile.average_useful += useful;
      profile.largest_useful = std::max(profile.largest_useful, useful);
    }
  }
  const auto count = static_cast<double>(trace.size());
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    IterationProfile& profile = profiles[k];
    profile.mean_begin /= static_cast<double>(ranks[k]);
    profile.mean_end /= static_cast<double>(ranks[k]);
    profile.elapsed /= count;
    profile.average_useful /= count;
  }
  return profiles;
}

}  // namespace farscale
