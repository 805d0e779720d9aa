#include "study/grown_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/format.h"
#include "base/text.h"
#include "study/anomalies.h"
#include "study/projected_growth.h"

namespace farscale {
namespace {

RunSpec RunOf(const GrowthRow& row, std::shared_ptr<const GrowthModel> model, const Network& network,
              const Study& study, std::uint64_t seed, std::int64_t threads) {
  RunSpec run;
  run.trace =
      fmt::format("grown to {} ranks{} from runs on up to {} ranks", FormatCount(static_cast<std::uint64_t>(row.ranks)),
                  model->rules.scheme.is_lifted ? "" : " in " + row.grid.Text(),
                  FormatCount(static_cast<std::uint64_t>(*row.learned_up_to)));
  run.threads = threads;
  run.grown = std::make_shared<const GrownSource>(GrownSource{std::move(model), row.grid, network, study.factors.rules,
                                                              seed, threads, *row.learned_up_to * threads});
  return run;
}

// The name of a path without a region, which may have "(before the phase)" before it.
std::string WithoutRegion(const std::string& path, const std::string& region) {
  const std::string separator = " / ";
  std::string before, rest = path;
  if (LiesOutsidePhase(path)) {
    const std::size_t end = path.find(separator);
    if (end == std::string::npos) return path;
    before = path.substr(0, end);
    rest = path.substr(end + separator.size());
  }
  if (rest == region) return before.empty() ? "(outside regions)" : before;
  if (!rest.starts_with(region + separator)) return path;
  rest = rest.substr(region.size() + separator.size());
  return before.empty() ? rest : before + separator + rest;
}

}  // namespace

Trace ReadRun(const RunSpec& run, const ReadOptions& options) {
  if (run.grown == nullptr) return ReadTrace(run.trace, options);
  const GrownSource& source = *run.grown;
  Trace trace = GrowTimedTrace(*source.model, source.grid, source.network, source.rules, source.seed);
  trace.path = run.trace;
  return trace;
}

GrownStudies StudiesOf(const Study& study, const FactorTable& table, GrowthResults results, std::uint64_t seed) {
  GrownStudies grown;
  std::vector<std::string> obstacles;
  const std::int64_t threads = ThreadsOf(table).value_or(1);
  for (std::size_t i = 0; i < results.phases.size(); ++i) {
    PhaseGrowth& growth = results.phases[i];
    const std::string obstacle = WhyNotGrown(growth, table, threads);
    if (!obstacle.empty()) {
      obstacles.push_back(growth.phase + ": " + obstacle);
      continue;
    }
    for (const std::string& reason : growth.left_out) obstacles.push_back(growth.phase + ": " + reason);
    const auto model = std::make_shared<const GrowthModel>(std::move(growth.model));
    Study& of_phase = grown.phases.emplace_back(study);
    of_phase.runs.clear();
    of_phase.phases = {SpecInGrown(study.phases[i], model->region)};
    of_phase.growth.reset();
    of_phase.factors.counters = {};  // grown runs have none
    of_phase.scaling = table.scaling;
    std::ranges::sort(growth.grown, {}, &GrowthRow::ranks);
    for (const GrowthRow& row : growth.grown) {
      of_phase.runs.push_back(RunOf(row, model, results.network, study, seed, threads));
    }
  }
  Diagnostics diagnostics;
  if (!obstacles.empty()) diagnostics.Add(anomaly::kNoGrownRun, obstacles.size(), Join(obstacles, "; "));
  if (!results.unknown_network.empty() && !grown.phases.empty()) {
    diagnostics.Add(anomaly::kGrownWithoutNetwork, 1, results.unknown_network);
  }
  grown.findings = diagnostics.findings();
  return grown;
}

GrownStudies GrowStudies(const Study& study, const FactorTable& table, const std::vector<std::int64_t>& cores,
                         const std::optional<std::string>& network, const ProgressSink& progress) {
  const std::optional<std::int64_t> threads = ThreadsOf(table);
  if (!threads) {
    Diagnostics diagnostics;
    diagnostics.Add(anomaly::kNoGrownRun, 1, "runs differ in the threads of their processes");
    return {{}, diagnostics.findings()};
  }
  GrowthOptions options{.ranks = {}, .network = network, .seed = study.projection.seed};
  if (study.growth) options.grids = study.growth->grids;
  for (const std::int64_t count : cores) options.ranks.push_back(std::max<std::int64_t>(1, count / *threads));
  return StudiesOf(study, table, RunGrowth(study, options, progress), options.seed);
}

void RemoveGrownRegion(const GrowthModel& model, LossRecord& losses) {
  if (model.has_region) return;
  for (PathRecord& path : losses.paths) {
    const std::string name = WithoutRegion(path.path, model.region);
    if (name == path.path) continue;
    path.path = name;
    path.innermost = WithoutRegion(path.innermost, model.region);
  }
  if (!losses.by_factor) return;
  for (PathFactorLoss& path : losses.by_factor->paths) path.path = WithoutRegion(path.path, model.region);
}

}  // namespace farscale
