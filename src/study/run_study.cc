#include "study/run_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "base/parallel.h"
#include "base/text.h"
#include "factors/phase_factors.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "study/resources.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Below this share of common region names two runs are of different programs.
constexpr double kSmallestOverlap = 0.2;

struct MeasuredRun {
  RunRecord record;
  std::vector<FactorRow> rows;                        // one a phase, in the order of the study
  std::vector<std::vector<FactorRow>> scenario_rows;  // the same of every scenario
  std::vector<std::string> scenario_descriptions;
  std::vector<std::string> scenario_errors;  // empty where there is none
  std::set<std::string> regions;
  std::optional<Error> error;
};

// Scenarios may take computation from any counter.
ReadOptions WhatToRead(const Study& study, const RunSpec& run, bool for_scenarios) {
  ReadOptions options;
  options.application = run.application;
  const CounterNames& names = study.factors.counters;
  if (for_scenarios || names.instructions.empty() || names.cycles.empty()) return options;
  options.all_counters = false;
  options.counters = {names.instructions, names.cycles};
  return options;
}

RunRecord RecordOf(const Trace& trace, const RunSpec& spec, const std::vector<PhaseCut>& cuts) {
  RunRecord record;
  record.path = spec.trace;
  record.program = trace.program;
  record.format = trace.format;
  record.creator = trace.creator;
  record.bytes = trace.disk_bytes;
  record.events = trace.events;
  record.seconds = trace.Seconds(trace.end() - trace.begin());
  record.ranks = static_cast<std::int64_t>(trace.size());
  record.threads = spec.threads.value_or(trace.threads());
  record.cores = record.ranks * record.threads;
  record.nodes = static_cast<std::int64_t>(trace.nodes.size());
  record.coverage = Coverage(trace, cuts);
  return record;
}

FactorRow RowOf(const Study& study, const RunRecord& run, const PhaseFactors& factors) {
  FactorRow row;
  row.series = study.series;
  row.phase = factors.phase;
  row.cores = run.cores;
  row.ranks = run.ranks;
  row.threads = run.threads;
  row.nodes = run.nodes;
  row.runtime = factors.totals.elapsed;
  row.iterations = static_cast<double>(factors.iterations);
  row.values = factors.values;
  row.totals = factors.totals;
  row.span = factors.span;
  return row;
}

bool HasUnevenThreads(const Trace& trace) {
  return std::any_of(trace.ranks.begin(), trace.ranks.end(),
                     [&](const Rank& rank) { return rank.threads != trace.ranks.front().threads; });
}

// The factors of a run on other machines. What is odd there is said once, with the run.
void MeasureScenarios(const Study& study, const std::vector<Scenario>& scenarios, const Trace& trace,
                      const Matching& matching, const std::vector<PhaseCut>& cuts, MeasuredRun& run,
                      Diagnostics& diagnostics) {
  for (const Scenario& scenario : scenarios) {
    std::vector<FactorRow>& rows = run.scenario_rows.emplace_back();
    std::string& description = run.scenario_descriptions.emplace_back();
    std::string& problem = run.scenario_errors.emplace_back();
    try {
      const ScenarioRun replayed = ReplayScenario(trace, matching, cuts, scenario, study.factors);
      diagnostics.Merge(replayed.diagnostics);
      description = replayed.description;
      for (const PhaseCut& cut : replayed.cuts) {
        rows.push_back(RowOf(study, run.record, MeasurePhase(replayed.trace, matching, cut, study.factors)));
      }
    } catch (const Error& error) {  // what was measured stands
      problem = error.what();
    }
  }
}

MeasuredRun MeasureRun(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios) {
  MeasuredRun result;
  Trace trace = ReadTrace(spec.trace, WhatToRead(study, spec, !scenarios.empty()));
  Diagnostics diagnostics = trace.diagnostics;
  if (HasUnevenThreads(trace)) diagnostics.Add(Anomaly::kUnevenThreads);
  if (spec.threads.value_or(1) > 1 && trace.threads() == 1) {
    diagnostics.Add(Anomaly::kThreadsAtProcessLevel, trace.size(), "threads as the study says");
  }
  const Matching matching = MatchTrace(trace);
  diagnostics.Merge(matching.diagnostics);
  diagnostics.FailPastThreshold(spec.trace);
  std::vector<PhaseCut> cuts;
  for (const PhaseSpec& phase : study.phases) cuts.push_back(CutPhase(trace, phase));
  result.record = RecordOf(trace, spec, cuts);
  for (const PhaseCut& cut : cuts) {
    const PhaseFactors factors = MeasurePhase(trace, matching, cut, study.factors);
    diagnostics.Merge(factors.diagnostics);
    result.rows.push_back(RowOf(study, result.record, factors));
  }
  MeasureScenarios(study, scenarios, trace, matching, cuts, result, diagnostics);
  result.record.findings = diagnostics.findings();
  result.record.fingerprint = FingerprintOfTrace(spec.trace);
  for (const std::string& name : trace.UserRegionNames()) {
    if (name != "main") result.regions.insert(name);
  }
  return result;
}

MeasuredRun MeasureOrFail(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios) {
  try {
    return MeasureRun(study, spec, scenarios);
  } catch (const Error& error) {
    MeasuredRun failed;
    failed.record.path = spec.trace;
    failed.record.error = error.what();
    failed.error = error;
    return failed;
  }
}

double Overlap(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::size_t common = 0;
  for (const std::string& name : a) common += b.count(name);
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

// A program's name without its folder and without numbers: builds for one core count carry it in their name.
std::string PlainName(const std::string& program) {
  std::string plain;
  for (const char c : std::filesystem::path(program).filename().string()) {
    if (c < '0' || c > '9') plain += c;
  }
  return plain;
}

// Regions tell programs apart; without them only the recorded name does.
void RequireOneProgram(std::vector<MeasuredRun>& runs) {
  MeasuredRun* first = nullptr;
  for (MeasuredRun& run : runs) {
    if (run.error) continue;
    if (first == nullptr) {
      first = &run;
      continue;
    }
    const bool same_name = PlainName(run.record.program) == PlainName(first->record.program);
    const bool both_have_regions = !run.regions.empty() && !first->regions.empty();
    const bool differ = both_have_regions ? Overlap(run.regions, first->regions) < kSmallestOverlap : !same_name;
    if (differ) {
      throw Error(
          ErrorKind::kUsage, run.record.path,
          fmt::format("is a run of {}, but {} is one of {}",
                      run.record.program.empty() ? "another program" : "'" + run.record.program + "'",
                      first->record.path,
                      first->record.program.empty() ? "a different program" : "'" + first->record.program + "'"),
          "the runs of a study must be of one program; make a study for each");
    }
    if (!same_name) {
      Diagnostics diagnostics;
      diagnostics.Add(Anomaly::kProgramNameDiffers, 1,
                      fmt::format("'{}' and '{}'", run.record.program, first->record.program));
      for (const Finding& finding : diagnostics.findings()) run.record.findings.push_back(finding);
    }
  }
}

// Runs at the same number of cores are repeats, in the order of the study unless it numbers them itself.
void NumberRepeats(const Study& study, std::vector<MeasuredRun>& runs) {
  std::map<std::int64_t, std::set<std::int64_t>> taken;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].error || !study.runs[i].repeat) continue;
    if (!taken[runs[i].record.cores].insert(*study.runs[i].repeat).second) {
      throw Error(ErrorKind::kUsage, study.runs[i].where,
                  fmt::format("repeat {} at {} cores is taken", *study.runs[i].repeat, runs[i].record.cores));
    }
    runs[i].record.repeat = *study.runs[i].repeat;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].error) continue;
    std::int64_t& repeat = runs[i].record.repeat;
    if (!study.runs[i].repeat) {
      std::set<std::int64_t>& used = taken[runs[i].record.cores];
      while (!used.insert(repeat).second) ++repeat;
    }
    for (FactorRow& row : runs[i].rows) row.repeat = repeat;
    for (std::vector<FactorRow>& rows : runs[i].scenario_rows) {
      for (FactorRow& row : rows) row.repeat = repeat;
    }
  }
}

std::vector<MeasuredRun> MeasureAll(const Study& study, const ProgressSink& progress,
                                    const std::vector<Scenario>& scenarios) {
  std::vector<MeasuredRun> runs(study.runs.size());
  std::mutex mutex;
  std::size_t done = 0;
  ParallelFor(runs.size(), [&](std::size_t i) {
    runs[i] = MeasureOrFail(study, study.runs[i], scenarios);
    const std::lock_guard lock(mutex);
    if (progress) progress(++done, runs.size(), study.runs[i].trace);
  });
  return runs;
}

// The rows of all runs, phase by phase.
template <typename RowsOf>
FactorTable TableOf(const Study& study, const std::vector<MeasuredRun>& runs, RowsOf rows_of) {
  FactorTable table;
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    for (const MeasuredRun& run : runs) {
      if (!run.error) table.rows.push_back(rows_of(run)[phase]);
    }
  }
  table.scaling = study.scaling;
  if (study.scaling) table.scaling_source = "study";
  table.reference = study.reference;
  table.rules = ToString(study.factors.rules.set);
  CompleteTable(table);
  return table;
}

void AddFinding(Anomaly anomaly, const std::string& example, FactorTable& table) {
  Diagnostics diagnostics;
  diagnostics.Add(anomaly, 1, example);
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

void CalibrateScenarios(const Study& study, std::vector<Scenario>& scenarios) {
  const bool any = std::any_of(scenarios.begin(), scenarios.end(), [](const Scenario& s) { return !s.network; });
  if (!any) return;
  const Network network = CalibrateToRuns(study.runs, study.factors.rules);
  for (Scenario& scenario : scenarios) {
    if (!scenario.network) scenario.network = network;
  }
}

void FailWhenNothingIsLeft(const std::vector<MeasuredRun>& runs) {
  if (std::any_of(runs.begin(), runs.end(), [](const MeasuredRun& run) { return !run.error; })) return;
  const Error& first = *runs.front().error;
  if (runs.size() == 1) throw first;
  throw Error(first.kind(), "",
              fmt::format("none of the {} runs could be used; the first: {}", runs.size(), first.what()));
}

}  // namespace

MeasuredRuns MeasureRuns(const Study& study, const ProgressSink& progress, const std::vector<Scenario>& scenarios) {
  std::vector<MeasuredRun> runs = MeasureAll(study, progress, scenarios);
  FailWhenNothingIsLeft(runs);
  RequireOneProgram(runs);
  NumberRepeats(study, runs);
  MeasuredRuns result;
  for (const MeasuredRun& run : runs) {
    if (run.error && !result.failure) result.failure = run.error;
  }
  std::stable_sort(runs.begin(), runs.end(), [](const MeasuredRun& a, const MeasuredRun& b) {
    return std::tuple(a.error.has_value(), a.record.cores, a.record.repeat) <
           std::tuple(b.error.has_value(), b.record.cores, b.record.repeat);
  });
  result.table = TableOf(study, runs, [](const MeasuredRun& run) { return run.rows; });
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    Variant variant = {scenarios[i].id, scenarios[i].name, "", scenarios[i].is_noise, {}, {}};
    std::string problem;
    for (const MeasuredRun& run : runs) {
      if (run.error) continue;
      variant.description = run.scenario_descriptions[i];  // the largest run's
      if (problem.empty()) problem = run.scenario_errors[i];
    }
    if (!problem.empty()) {
      AddFinding(Anomaly::kScenarioNotPossible, scenarios[i].name + ": " + problem, result.table);
      continue;
    }
    variant.table = TableOf(study, runs, [&](const MeasuredRun& run) { return run.scenario_rows[i]; });
    result.variants.push_back(std::move(variant));
  }
  for (MeasuredRun& run : runs) result.runs.push_back(std::move(run.record));
  return result;
}

std::vector<Scenario> ScenariosOf(const Study& study) {
  if (!study.noise) return {};
  std::optional<Network> network;
  if (study.noise->network != "calibrated") network = LoadNetwork(study.noise->network, study.noise->where);
  return NoiseRemoval(network, study.noise->source, study.noise->clean_computation);
}

StudyOutcome RunStudy(const Study& study, const ModelLibrary& library, const ProgressSink& progress,
                      const std::vector<Scenario>& scenarios) {
  std::vector<Scenario> replayed = scenarios;
  std::string problem;
  try {
    CalibrateScenarios(study, replayed);
  } catch (const Error& error) {  // what can be measured stands without
    problem = error.what();
    std::erase_if(replayed, [](const Scenario& scenario) { return !scenario.network; });
  }
  MeasuredRuns measured = MeasureRuns(study, progress, replayed);
  if (!problem.empty()) AddFinding(Anomaly::kScenarioNotPossible, problem, measured.table);
  StudyOutcome outcome;
  outcome.failure = measured.failure;
  Results& results = outcome.results;
  results.title = study.title;
  results.description = study.description;
  results.models = ModelsInWords(study.projection.models);
  results.runs = std::move(measured.runs);
  results.table = std::move(measured.table);
  for (const PhaseSpec& phase : study.phases) results.phases.push_back({phase.name, Describe(phase)});
  results.projections = Project(results.table, library, study.projection);
  results.variants = std::move(measured.variants);
  for (Variant& variant : results.variants) variant.projections = Project(variant.table, library, study.projection);
  for (const Finding& finding : FindUnusedModels(study.projection.models, results.projections)) {
    results.table.findings.push_back(finding);
  }
  for (const PhaseProjection& projection : results.projections) {
    const std::string missing = DescribeMissing(projection);
    if (missing.empty() || outcome.evidence) continue;
    outcome.evidence = Error(ErrorKind::kEvidence, "phase '" + projection.phase + "'", missing,
                             "the report contains what was measured");
  }
  return outcome;
}

}  // namespace farscale
