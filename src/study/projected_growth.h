// Runs grown for the projection of a study [docs/growth.md].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "projection/grown_runs.h"
#include "study/run_growth.h"
#include "study/run_study.h"
#include "study/study.h"

namespace farscale {

struct GrowthOfStudy {
  std::vector<GrownPhase> phases = {};                  // for the projection
  std::optional<GrowthResults> results = std::nullopt;  // nothing where nothing could be grown
  std::vector<std::string> obstacles = {};              // of what could not be grown, with the reason
};

// Grows the runs of a study for its projection: those that `records` say could be used and that are fitted, to its
// targets and to the numbers of ranks between, as far as these are replayed in seconds. `table`: what was measured, or
// what the scenario made of it. Throws a usage error for a network that there is not.
GrowthOfStudy GrowForProjection(const Study& study, const std::vector<RunRecord>& records,
                                const std::optional<Scenario>& scenario, const ProgressSink& progress,
                                const FactorTable& table);

// Says in a table what could not be grown.
void AddObstacles(const std::vector<std::string>& obstacles, FactorTable& table);

// Threads of a process, which all runs have; nothing where they differ.
std::optional<std::int64_t> ThreadsOf(const FactorTable& table);

// Why nothing can be said of larger runs of a phase than the largest that was measured; empty where something can.
std::string WhyNotGrown(const PhaseGrowth& growth, const FactorTable& table, std::int64_t threads);

}  // namespace farscale
