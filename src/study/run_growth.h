// Runs of a study grown to numbers of ranks that nobody has run [docs/growth.md].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/side_by_side.h"
#include "growth/phase_growth.h"
#include "growth/read/rank_grid.h"
#include "replay/network.h"
#include "study/scenario.h"

namespace farscale {

struct GrowthFile;
struct Study;

struct GrowthOptions {
  std::vector<std::int64_t> ranks;                    // to grow to
  std::optional<std::string> network = std::nullopt;  // name or file; nothing: calibrated to the runs
  std::uint64_t seed = 1;
  // The most that a grown run may take beside the measured ones; with more, fewer iterations are replayed. Chosen: as
  // much as a desktop computer has.
  double most_bytes = 4.0 * (1 << 30);
  std::vector<RankGrid> grids = {};  // layouts to grow to, where they are not to follow from those of the runs
  // Grows the runs as they would be on another machine, and on its network, in place of those that were measured.
  std::optional<Scenario> scenario = std::nullopt;
};

struct GrowthResults {
  Network network;
  std::string unknown_network;  // why messages take no time, so that transfer is not grown; empty where they do
  std::string scenario;         // the name of the one under which runs were replayed before; empty: as measured
  std::vector<PhaseGrowth> phases;
};

// Phases that cannot be grown have a refusal, those with fewer than three runs of different numbers of ranks, too.
// Where no network is named and none can be calibrated, replays are on the ideal one, and their transfer is left out.
// Throws the errors of reading the runs.
GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress);

// As the values that are shown and written [growth_record.cc].
GrowthFile RecordOf(const GrowthResults& results);

}  // namespace farscale
