#include "study/grown_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <set>

#include "base/diagnostics.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "growth/growth_model.h"
#include "imbalance/loss_record.h"
#include "imbalance/waits/losses.h"
#include "replay/clock_repair.h"
#include "results/growth_record.h"
#include "study/anomalies.h"
#include "study/input_files.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// A run as measured, or as it would be under a scenario.
Trace ReadToGrow(const Study& study, const RunSpec& run, const std::optional<Scenario>& scenario) {
  Trace trace = ReadTrace(run.trace, WhatToRead(study, run, scenario.has_value()));
  const Matching matching = MatchSynchronised(trace);
  RequireClocks(trace, matching);
  if (!scenario) return trace;
  std::vector<PhaseCut> cuts;
  for (const PhaseSpec& phase : study.phases) {
    try {
      cuts.push_back(CutPhase(trace, phase));
    } catch (const PhaseNotFound&) {  // said when the phase is grown
    }
  }
  return ReplayScenario(trace, matching, cuts, *scenario, study.factors).trace;
}

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

// Why nothing can be said of larger runs of a phase than the largest that was measured; empty where something can.
std::string WhyNotGrown(const PhaseGrowth& growth, const FactorTable& table, std::int64_t threads) {
  if (!growth.refusal.empty()) return growth.refusal;
  constexpr double kSame = 1e-9;  // chosen: rounding
  const bool is_as_measured = std::ranges::all_of(growth.measured, [&](const GrowthRow& row) {
    return std::ranges::any_of(table.rows, [&](const FactorRow& measured) {
      const std::optional<double>&a = row.values[Factor::kLoadBalance], &b = measured.values[Factor::kLoadBalance];
      return measured.phase == PhaseId(growth.phase) && measured.cores == row.ranks * threads && a && b &&
             std::abs(*a - *b) < kSame;
    });
  });
  if (!is_as_measured) return "its iterations are found or chosen otherwise than all of a region";
  const std::int64_t largest = growth.measured.back().ranks;
  if (std::ranges::any_of(growth.grown, [&](const GrowthRow& row) { return row.ranks > largest; })) return "";
  return "no target has a layout of more ranks than the largest run";
}

// As GrowthOptions::most_bytes, of runs that are grown for a projection; chosen: replayed in seconds.
constexpr double kMostBytesOfProjections = 1 << 28;

// Numbers of ranks from the largest run to the targets, each twice the one before, and the targets.
std::vector<std::int64_t> RanksToGrow(const FactorTable& table, const ProjectionOptions& projection,
                                      std::int64_t threads) {
  std::int64_t largest = 0;
  for (const FactorRow& row : table.rows) {
    if (!projection.train_max || static_cast<double>(row.cores) <= *projection.train_max)
      largest = std::max(largest, row.cores / threads);
  }
  if (largest == 0) return {};
  const std::vector<double> all =
      projection.targets.empty() ? DefaultTargets(static_cast<double>(largest * threads)) : projection.targets;
  const auto last = static_cast<std::int64_t>(std::ranges::max(all)) / threads;
  std::set<std::int64_t> ranks;
  for (std::int64_t next = 2 * largest; next < last; next *= 2) ranks.insert(next);
  for (const double target : all) {
    if (target > static_cast<double>(largest * threads)) ranks.insert(static_cast<std::int64_t>(target) / threads);
  }
  return {ranks.begin(), ranks.end()};
}

GrowthResults Grow(const Study& study, const std::optional<Scenario>& scenario, const ProgressSink& progress,
                   const FactorTable& table) {
  const std::optional<std::int64_t> threads = ThreadsOf(table);
  if (!threads) throw Error(ErrorKind::kNotEnoughData, "", "runs differ in the threads of their processes");
  const GrowthOptions options{.ranks = RanksToGrow(table, study.projection, *threads),
                              .network = scenario || study.growth->network == "calibrated"
                                             ? std::nullopt
                                             : std::optional(study.growth->network),
                              .seed = study.projection.seed,
                              .most_bytes = kMostBytesOfProjections,
                              .grids = study.growth->grids,
                              .scenario = scenario};
  GrowthResults results = RunGrowth(study, options, progress);
  if (!results.unknown_network.empty()) results.obstacles.push_back("transfer: " + results.unknown_network);
  for (const PhaseGrowth& growth : results.phases) {
    const std::string obstacle = WhyNotGrown(growth, table, *threads);
    if (!obstacle.empty()) {
      results.obstacles.push_back(growth.phase + ": " + obstacle);
      continue;
    }
    GrownPhase& phase =
        results.projected.emplace_back(GrownPhase{study.series, growth.phase, {}, growth.statistical.has_value()});
    for (const std::vector<GrowthRow>* rows : {&growth.backtest, &growth.grown}) {
      for (const GrowthRow& row : *rows) {
        phase.runs.push_back({static_cast<double>(*row.learned_up_to * *threads),
                              static_cast<double>(row.ranks * *threads), row.values});
      }
    }
  }
  return results;
}

std::vector<std::int64_t> ExtentsOf(const GridVector& grid) {
  std::vector<std::int64_t> extents(grid.begin(), grid.end());
  while (extents.size() > 1 && extents.back() == 1) extents.pop_back();
  return extents;
}

GrowthRecordRow RowOf(const GrowthRow& row, GrowthSource source) {
  GrowthRecordRow record{.ranks = row.ranks,
                         .layout = {},
                         .second_layout = {},
                         .source = source,
                         .learned_up_to = row.learned_up_to,
                         .iteration = row.iteration,
                         .factors = row.values,
                         .iterations = row.iterations,
                         .replayed = row.replayed};
  if (row.grid.size() != row.ranks) return record;
  record.layout = ExtentsOf(row.grid.extents);
  if (row.grid.HasTwo()) record.second_layout = ExtentsOf(row.grid.second);
  return record;
}

// Mean over the ranks of a class in the largest run.
RankClassRecord ClassOf(const GrowthModel& model, const RankClass& key, const ClassRules& of_class) {
  RankClassRecord record{PlaceOf(model.rules.scheme, key), 0, 0};
  const RunCalls& run = model.runs.back();
  for (const auto& [donor, rank] : of_class.donors) {
    if (donor + 1 != model.runs.size()) continue;
    const RankCalls& calls = run.of_ranks[static_cast<std::size_t>(rank)];
    double ticks = 0;
    for (const PhaseCall& call : calls.calls) ticks += static_cast<double>(call.compute);
    for (const Tick tick : calls.compute_after) ticks += static_cast<double>(tick);
    record.computation += ticks / run.ticks_per_second / static_cast<double>(calls.iteration_end.size());
    ++record.ranks;
  }
  if (record.ranks > 0) record.computation /= static_cast<double>(record.ranks);
  return record;
}

// Ranks that are copied have no classes, and their partners no rules.
LearnedRecord RecordOfModel(const PhaseGrowth& growth) {
  const GrowthModel& model = growth.model;
  const LoadModel& load = model.load;
  // "P^-1", of two programs "P^-1, of the second program constant", "P^-1 (instructions P^-1, instructions per cycle
  // constant)".
  std::string computation = load.common_law.Text();
  if (model.rules.grids.back().HasTwo()) computation += ", of the second program " + load.second_law.Text();
  if (load.instructions)
    computation +=
        fmt::format(" (instructions {}, instructions per cycle {})", load.instructions->Text(), load.per_cycle->Text());
  const std::optional<StatisticalGrowth>& copied = growth.statistical;
  LearnedRecord learned{.explained = copied ? copied->explained : model.rules.Share(),
                        .confirmed = copied ? copied->confirmed : model.rules.Confirmed(),
                        .partners = {},
                        .sizes = SharesOfSizes(model),
                        .classes = {},
                        .computation = computation,
                        .spread = load.spread,
                        .noise = load.noise,
                        .copied = copied,
                        .runs_alone = {}};
  if (copied) return learned;
  learned.partners = SharesOfPartners(model);
  for (const auto& [key, of_class] : model.rules.classes) {
    const RankClassRecord record = ClassOf(model, key, of_class);
    if (record.ranks > 0) learned.classes.push_back(record);
  }
  for (const std::size_t run : model.rules.RunsAlone()) learned.runs_alone.push_back(model.runs[run].ranks);
  return learned;
}

GrowthRecord RecordOf(const PhaseGrowth& growth) {
  GrowthRecord record{growth.phase, growth.refusal, std::nullopt, {}, growth.left_out};
  if (growth.statistical || !growth.model.rules.classes.empty()) record.learned = RecordOfModel(growth);
  // Copies of a run say nothing of how its ranks are laid out.
  const auto with_layout = [&](GrowthRow row) {
    if (growth.statistical) row.grid = {};
    return row;
  };
  for (const GrowthRow& row : growth.measured) record.rows.push_back(RowOf(with_layout(row), GrowthSource::kMeasured));
  for (const GrowthRow& row : growth.repeated) record.rows.push_back(RowOf(with_layout(row), GrowthSource::kReplayed));
  for (const std::vector<GrowthRow>* rows : {&growth.backtest, &growth.grown}) {
    for (const GrowthRow& row : *rows) record.rows.push_back(RowOf(with_layout(row), GrowthSource::kGrown));
  }
  std::ranges::stable_sort(record.rows, {}, &GrowthRecordRow::ranks);
  return record;
}

}  // namespace

GrowthResults RunGrowth(const Study& study, const GrowthOptions& options, const ProgressSink& progress) {
  GrowthResults results;
  results.network = IdealNetwork();
  try {
    results.network = options.network ? LoadNetwork(*options.network, "--network")
                      : options.scenario && options.scenario->network
                          ? *options.scenario->network
                          : CalibrateToRuns(study.runs, study.factors.rules);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotEnoughData) throw;
    results.unknown_network = error.what();
  }
  std::optional<Scenario> scenario = options.scenario;
  if (scenario) {
    if (!scenario->network) scenario->network = results.network;
    results.network = Scaled(*scenario->network, scenario->latency, scenario->bandwidth);
    results.scenario = scenario->name;
  }
  const Network& network = results.network;
  if (network.IsIdeal() && results.unknown_network.empty()) results.unknown_network = "the network is ideal";
  for (const PhaseSpec& phase : study.phases) results.phases.push_back(BeginGrowth(phase));
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    const RunSpec& run = study.runs[i];
    const Trace trace = ReadToGrow(study, run, scenario);
    if (run.grid && run.grid->size() != static_cast<std::int64_t>(trace.size())) {
      throw Error(ErrorKind::kUsage, run.where,
                  fmt::format("the layout {} has {} ranks and the run has {}", run.grid->Text(), run.grid->size(),
                              trace.size()),
                  "correct 'grid'");
    }
    for (std::size_t phase = 0; phase < study.phases.size(); ++phase)
      AddMeasuredRun(trace, run.grid, study.phases[phase], study.factors, results.phases[phase]);
    if (progress) progress(i + 1, study.runs.size(), run.trace);
  }
  for (std::size_t i = 0; i < study.phases.size(); ++i) {
    const GrowthTask task{study.phases[i], study.factors, network, options.seed, options.most_bytes, options.grids};
    GrowPhase(task, options.ranks, results.phases[i]);
  }
  return results;
}

Trace ReadRun(const RunSpec& run, const ReadOptions& options) {
  if (run.grown == nullptr) return ReadTrace(run.trace, options);
  const GrownSource& source = *run.grown;
  Trace trace = GrowTimedTrace(*source.model, source.grid, source.network, source.rules, source.seed);
  trace.path = run.trace;
  return trace;
}

std::vector<Study> StudiesOf(const Study& study, const FactorTable& table, GrowthResults results, std::uint64_t seed,
                             std::vector<Finding>& findings) {
  std::vector<Study> grown;
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
    Study& of_phase = grown.emplace_back(study);
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
  if (!results.unknown_network.empty() && !grown.empty()) {
    findings.push_back(AsFinding(anomaly::kGrownWithoutNetwork, results.unknown_network));
  }
  if (!obstacles.empty()) {
    findings.push_back(AsFinding(anomaly::kNoGrownRun, Join(obstacles, "; "), obstacles.size()));
  }
  return grown;
}

std::vector<Study> GrowStudies(const Study& study, const FactorTable& table, const std::vector<std::int64_t>& cores,
                               const std::optional<std::string>& network, const ProgressSink& progress,
                               std::vector<Finding>& findings) {
  const std::optional<std::int64_t> threads = ThreadsOf(table);
  if (!threads) {
    findings.push_back(AsFinding(anomaly::kNoGrownRun, "runs differ in the threads of their processes"));
    return {};
  }
  GrowthOptions options{.ranks = {}, .network = network, .seed = study.projection.seed};
  if (study.growth) options.grids = study.growth->grids;
  for (const std::int64_t count : cores) options.ranks.push_back(std::max<std::int64_t>(1, count / *threads));
  return StudiesOf(study, table, RunGrowth(study, options, progress), options.seed, findings);
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
  for (PathFactorLoss& path : *losses.by_factor) path.path = WithoutRegion(path.path, model.region);
}

std::optional<std::int64_t> ThreadsOf(const FactorTable& table) {
  for (const FactorRow& row : table.rows) {
    if (row.threads != table.rows.front().threads) return std::nullopt;
  }
  return table.rows.empty() ? std::nullopt : std::optional(table.rows.front().threads);
}

GrowthResults GrowForProjection(const Study& study, const std::vector<RunRecord>& records,
                                const std::optional<Scenario>& scenario, const ProgressSink& progress,
                                const FactorTable& table) {
  GrowthResults failed;
  try {
    Study used = study;  // with the runs that could be used, up to those that are fitted
    std::erase_if(used.runs, [&](const RunSpec& run) {
      return std::ranges::none_of(records, [&](const RunRecord& record) {
        return record.path == run.trace && record.error.empty() &&
               (!study.projection.train_max || static_cast<double>(record.cores) <= *study.projection.train_max);
      });
    });
    return Grow(used, scenario, progress, table);
  } catch (const Error& error) {  // curves stand without
    if (error.kind() == ErrorKind::kUsage) throw;
    failed.obstacles = {error.what()};
  } catch (const std::bad_alloc&) {
    failed.obstacles = {"the memory does not suffice"};
  }
  return failed;
}

void AddObstacles(const std::vector<std::string>& obstacles, FactorTable& table) {
  if (obstacles.empty()) return;
  table.findings.push_back(AsFinding(anomaly::kNotGrown, Join(obstacles, "; "), obstacles.size()));
}

GrowthFile RecordOf(const GrowthResults& results) {
  GrowthFile file{results.network.name, results.unknown_network, results.scenario, {}};
  for (const PhaseGrowth& growth : results.phases) file.phases.push_back(RecordOf(growth));
  return file;
}

}  // namespace farscale
