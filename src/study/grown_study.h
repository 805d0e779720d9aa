// Runs that nobody has made, for whatever takes the runs of a study: grown from those that were made [docs/growth.md].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "growth/growth_model.h"
#include "imbalance/loss_record.h"
#include "replay/network.h"
#include "study/run_growth.h"
#include "study/study.h"
#include "trace/trace.h"
#include "trace/trace_reader.h"

namespace farscale {

// What a grown run is made of. It holds one phase, and nothing before or behind it.
struct GrownSource {
  std::shared_ptr<const GrowthModel> model;
  RankGrid grid;
  Network network;
  ReplayRules rules;
  std::uint64_t seed = 1;
  std::int64_t threads = 1;  // of a process
  std::int64_t from = 0;     // cores of the largest run that it is learned from
};

// A run of a study, read from its trace or grown. Throws what reading or growing does.
Trace ReadRun(const RunSpec& run, const ReadOptions& options);

struct GrownStudies {
  std::vector<Study> phases;      // of every phase that can be grown: it alone, in grown runs, by rising cores
  std::vector<Finding> findings;  // of what cannot be grown, with the reason
};

// The grown runs among results of growth. `table`: what was measured, of all the study's runs.
GrownStudies StudiesOf(const Study& study, const FactorTable& table, GrowthResults results, std::uint64_t seed);

// Grows the runs of a study to numbers of cores, or to the nearest that a layout has. Never throws for what cannot be
// grown.
GrownStudies GrowStudies(const Study& study, const FactorTable& table, const std::vector<std::int64_t>& cores,
                         const std::optional<std::string>& network, const ProgressSink& progress);

// Takes the region that growth makes around iterations out of the names of call paths, so that they are those of
// measured runs. Nothing where ranks enter the region of the phase themselves.
void RemoveGrownRegion(const GrowthModel& model, LossRecord& losses);

}  // namespace farscale
