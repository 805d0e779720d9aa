// Growing a phase: what is learned from its runs, the proof that larger measured runs grow out of smaller ones, and the
// factors of runs that nobody has run [docs/growth.md].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "factors/phase_factors.h"
#include "growth/growth_model.h"
#include "replay/network.h"
#include "trace/trace.h"

namespace farscale {

// Factors of a phase of one run.
struct GrowthRow {
  std::int64_t ranks = 0;
  RankGrid grid = {};
  double iteration = 0;  // seconds
  FactorValues values = {};
  std::optional<std::int64_t> learned_up_to =
      std::nullopt;                          // grown from runs of up to so many ranks; nothing: measured
  std::size_t iterations = 0, replayed = 0;  // grown runs alone: iterations they have, and those replayed
};

struct PhaseGrowth {
  std::string phase;
  std::string refusal = {};                                     // why the phase is not grown; empty where it is
  std::vector<std::string> left_out = {};                       // why some of its runs are not read or not grown
  GrowthModel model = {};                                       // before it is grown: the runs alone
  std::optional<StatisticalGrowth> statistical = std::nullopt;  // nothing where it is grown by rules
  std::vector<GrowthRow> measured = {};
  std::vector<GrowthRow> repeated = {};  // measured runs replayed by their own rules
  std::vector<GrowthRow> backtest = {};  // measured runs as grown from smaller ones
  std::vector<GrowthRow> grown = {};     // to the ranks asked for, or to the nearest number that a layout has
};

struct GrowthTask {
  PhaseSpec phase;
  FactorOptions factors;
  Network network;
  std::uint64_t seed = 1;
  double most_bytes = 0;        // that a grown run may take
  std::vector<RankGrid> grids;  // layouts to grow to, where they are not to follow from those of the runs
};

// A phase of which no run is known.
PhaseGrowth BeginGrowth(const PhaseSpec& phase);

// Adds a run. Of repeats the fastest counts, in whatever order they come. A run without the phase, or with ranks that
// differ in their iterations, is left out. `named`: its layout, where the study names it.
void AddMeasuredRun(const Trace& trace, const std::optional<RankGrid>& named, const PhaseSpec& phase,
                    const FactorOptions& factors, PhaseGrowth& growth);

// Learns from the runs, grows larger ones out of smaller ones, and grows to these numbers of ranks. Phases that cannot
// be grown get a refusal, those with fewer than three runs of different numbers of ranks, too.
void GrowPhase(const GrowthTask& task, const std::vector<std::int64_t>& ranks, PhaseGrowth& growth);

// The phase as it is in a grown trace, which holds nothing else: by the region of its iterations.
PhaseSpec SpecInGrown(const PhaseSpec& phase, const std::string& region);

// A grown run on a network, as a trace with the times of its replay, all iterations of it. Throws an error of kind
// kNotEnoughData where it has more calls than a trace is made of.
Trace GrowTimedTrace(const GrowthModel& model, const RankGrid& grid, const Network& network, const ReplayRules& rules,
                     std::uint64_t seed);

}  // namespace farscale
