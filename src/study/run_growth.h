// Runs of a study grown to numbers of ranks that nobody has run [docs/growth.md].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "growth/growth_model.h"
#include "growth/loads/statistical_growth.h"
#include "projection/grown_runs.h"
#include "replay/network.h"
#include "results/growth_record.h"
#include "study/run_study.h"
#include "study/scenario.h"
#include "study/study.h"
#include "trace/trace.h"

namespace farscale {

struct GrowthOptions {
  std::vector<std::int64_t> ranks;                    // to grow to
  std::optional<std::string> network = std::nullopt;  // name or file; nothing: calibrated to the runs
  std::uint64_t seed = 1;
  // That a grown run may take beside the measured ones; with more, fewer iterations are replayed. Chosen: what a
  // desktop computer has.
  double most_bytes = 4.0 * (1 << 30);
  std::vector<RankGrid> grids = {};  // layouts to grow to, where they are not to follow from those of the runs
  // Grows the runs as they would be on another machine, and on its network, in place of those that were measured.
  std::optional<Scenario> scenario = std::nullopt;
};

// Factors of a phase of one run.
struct GrowthRow {
  std::int64_t ranks = 0;
  RankGrid grid = {};
  double iteration = 0;  // seconds
  FactorValues values = {};
  std::optional<std::int64_t> learned_up_to =
      std::nullopt;                          // grown from runs of up to so many ranks; nothing: measured
  std::size_t iterations = 0, replayed = 0;  // of grown runs: how many they have, and how many were replayed
};

// Of a phase that is not grown by rules.
struct StatisticalGrowth {
  std::string reason;                   // what the rules lack
  double explained = 0, confirmed = 0;  // shares of the messages, as in CallRules
  PartnerCounts partners;               // in the largest run
};

struct PhaseGrowth {
  std::string phase;
  std::string refusal;                // why the phase is not grown; empty where it is
  std::vector<std::string> left_out;  // why some of its runs are not read or not grown
  GrowthModel model;
  std::optional<StatisticalGrowth> statistical;  // nothing where it is grown by rules
  std::vector<GrowthRow> measured;
  std::vector<GrowthRow> repeated;  // measured runs replayed by their own rules
  std::vector<GrowthRow> backtest;  // measured runs as grown from smaller ones
  std::vector<GrowthRow> grown;     // to the ranks asked for, or to the nearest number that a layout has
};

struct GrowthResults {
  Network network;
  std::string unknown_network;  // why messages take no time, so that transfer is not grown; empty where they do
  std::string scenario;         // the name of that under which runs were replayed before; empty: as measured
  std::vector<PhaseGrowth> phases;
};

// Phases that cannot be grown have a refusal, those with fewer than three runs of different numbers of ranks, too.
// Where no network is named and none can be calibrated, replays are on the ideal one, and their transfer is left out.
// Throws what reading the runs throws.
GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress);

// As the values that are shown and written [growth_record.cc].
GrowthFile RecordOf(const GrowthResults& results);

// The phase as it is in a grown trace, which holds nothing else: by the region of its iterations.
PhaseSpec SpecInGrown(const PhaseSpec& phase, const std::string& region);

// A grown run on a network, as a trace with the times of its replay, all iterations of it. Throws an error of kind
// kNotEnoughData where it has more calls than a trace is made of.
Trace GrowTimedTrace(const GrowthModel& model, const RankGrid& grid, const Network& network, const ReplayRules& rules,
                     std::uint64_t seed);

}  // namespace farscale
