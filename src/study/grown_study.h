// Runs that nobody has made, for whatever takes the runs of a study: grown from those that were made [docs/growth.md].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "growth/phase_growth.h"
#include "growth/read/rank_grid.h"
#include "projection/projection.h"
#include "replay/network.h"
#include "study/scenario.h"
#include "study/study.h"

namespace farscale {

struct FactorTable;
struct GrowthFile;
struct GrowthModel;
struct LossRecord;
struct ReadOptions;
struct RunRecord;
struct Trace;

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
  // For the projection of a study.
  std::vector<GrownPhase> projected;
  std::vector<std::string> obstacles;  // phases that could not be grown, with the reason
};

// Phases that cannot be grown have a refusal, those with fewer than three runs of different numbers of ranks, too.
// Where no network is named and none can be calibrated, replays are on the ideal one, and their transfer is left out.
// Throws the errors of reading the runs.
GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress);

// As the values that are shown and written [growth_record.cc].
GrowthFile RecordOf(const GrowthResults& results);

// The source of a grown run. It holds one phase, and nothing before or behind it.
struct GrownSource {
  std::shared_ptr<const GrowthModel> model;
  RankGrid grid;
  Network network;
  ReplayRules rules;
  std::uint64_t seed = 1;
  std::int64_t threads = 1;  // threads per process
  std::int64_t from = 0;     // cores of the largest run that it is learned from
};

// A run of a study, read from its trace or grown. Throws what reading or growing does.
Trace ReadRun(const RunSpec& run, const ReadOptions& options);

// The grown runs among results of growth: a study for each phase that can be grown, with only that phase, in grown runs
// of rising cores. Phases that cannot be grown are `findings`, with the reason. `table`: what was measured, of all the
// study's runs.
std::vector<Study> StudiesOf(const Study& study, const FactorTable& table, GrowthResults results, std::uint64_t seed,
                             std::vector<Finding>& findings);

// Grows the runs of a study to numbers of cores, or to the nearest that a layout has: results as of StudiesOf. Never
// throws for what cannot be grown.
std::vector<Study> GrowStudies(const Study& study, const FactorTable& table, const std::vector<std::int64_t>& cores,
                               const std::optional<std::string>& network, const ProgressSink& progress,
                               std::vector<Finding>& findings);

// Takes the region that growth makes around iterations out of the names of call paths, so that they are those of
// measured runs. Nothing where ranks enter the region of the phase themselves.
void RemoveGrownRegion(const GrowthModel& model, LossRecord& losses);

// Grows the runs of a study for its projection [docs/growth.md]: those that `records` say could be used and that are
// fitted, to its targets and to the numbers of ranks between, as far as these are replayed in seconds. `table`: what
// was measured, or what the scenario made of it. Nothing but obstacles where nothing could be grown. Throws a usage
// error for a network that there is not.
GrowthResults GrowForProjection(const Study& study, const std::vector<RunRecord>& records,
                                const std::optional<Scenario>& scenario, const ProgressSink& progress,
                                const FactorTable& table);

// Adds to a table the phases that could not be grown.
void AddObstacles(const std::vector<std::string>& obstacles, FactorTable& table);

// Threads of a process, which all runs have; nothing where they differ.
std::optional<std::int64_t> ThreadsOf(const FactorTable& table);

}  // namespace farscale
