#include "study/run_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>

#include "base/median.h"
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
  // One a phase, in the order of the study; nothing where the phase does not occur.
  std::vector<std::optional<FactorRow>> rows;
  std::vector<std::vector<std::optional<FactorRow>>> scenario_rows;  // the same of every scenario
  std::vector<std::optional<PhaseNotFound>> missing;                 // why a phase does not occur
  std::vector<std::shared_ptr<const IterationShape>> shapes;         // of the phases that need them, when asked for
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
    std::vector<std::optional<FactorRow>>& rows = run.scenario_rows.emplace_back();
    std::string& description = run.scenario_descriptions.emplace_back();
    std::string& problem = run.scenario_errors.emplace_back();
    try {
      const ScenarioRun replayed = ReplayScenario(trace, matching, cuts, scenario, study.factors);
      diagnostics.Merge(replayed.diagnostics);
      description = replayed.description;
      auto cut = replayed.cuts.begin();
      for (const std::optional<FactorRow>& measured : run.rows) {
        rows.emplace_back();
        if (!measured) continue;
        rows.back() = RowOf(study, run.record, MeasurePhase(replayed.trace, matching, *cut++, study.factors));
      }
    } catch (const Error& error) {  // what was measured stands
      problem = error.what();
    }
  }
}

// The phases that occur in the run; why others do not goes to `run.missing`.
std::vector<PhaseCut> CutPhases(const Study& study, const Trace& trace, MeasuredRun& run) {
  std::vector<PhaseCut> cuts;
  for (PhaseSpec phase : study.phases) {
    std::optional<PhaseNotFound>& missing = run.missing.emplace_back();
    if (!run.shapes.empty()) phase.shape = run.shapes[run.missing.size() - 1];
    try {
      cuts.push_back(CutPhase(trace, phase));
    } catch (const PhaseNotFound& error) {
      missing = error;
    }
  }
  return cuts;
}

// Nothing for a phase whose iterations the calls do not show.
std::vector<std::shared_ptr<const IterationShape>> ShapesOf(const Study& study, const Trace& trace) {
  std::vector<std::shared_ptr<const IterationShape>> shapes;
  for (const PhaseSpec& phase : study.phases) {
    shapes.emplace_back();
    if (!phase.NeedsShape()) continue;
    try {
      const std::optional<IterationShape> shape = ShapeOfPhase(trace, phase);
      if (shape) shapes.back() = std::make_shared<const IterationShape>(*shape);
    } catch (const PhaseNotFound&) {  // said when the phase is cut
    }
  }
  return shapes;
}

MeasuredRun MeasureRun(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios,
                       bool wants_shapes) {
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
  if (wants_shapes) result.shapes = ShapesOf(study, trace);
  const std::vector<PhaseCut> cuts = CutPhases(study, trace, result);
  result.record = RecordOf(trace, spec, cuts);
  auto cut = cuts.begin();
  for (const std::optional<PhaseNotFound>& missing : result.missing) {
    result.rows.emplace_back();
    if (missing) continue;
    const PhaseFactors factors = MeasurePhase(trace, matching, *cut++, study.factors);
    diagnostics.Merge(factors.diagnostics);
    result.rows.back() = RowOf(study, result.record, factors);
  }
  MeasureScenarios(study, scenarios, trace, matching, cuts, result, diagnostics);
  result.record.findings = diagnostics.findings();
  result.record.fingerprint = FingerprintOfTrace(spec.trace);
  for (const std::string& name : trace.UserRegionNames()) {
    if (name != "main") result.regions.insert(name);
  }
  return result;
}

MeasuredRun MeasureOrFail(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios,
                          bool wants_shapes) {
  try {
    return MeasureRun(study, spec, scenarios, wants_shapes);
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
    const auto number = [repeat](std::vector<std::optional<FactorRow>>& rows) {
      for (std::optional<FactorRow>& row : rows) {
        if (row) row->repeat = repeat;
      }
    };
    number(runs[i].rows);
    for (std::vector<std::optional<FactorRow>>& rows : runs[i].scenario_rows) number(rows);
  }
}

// The runs by the size of their traces, the largest first: it shows the most of how the program communicates.
std::vector<std::size_t> LargestFirst(const Study& study) {
  std::vector<std::uintmax_t> bytes(study.runs.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    try {
      for (const std::string& file : FilesOfTrace(study.runs[i].trace)) bytes[i] += std::filesystem::file_size(file);
    } catch (const std::exception&) {  // said when the trace is read
      bytes[i] = 0;
    }
  }
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  return order;
}

// Where phases depend on what iterations look like, one run goes first and shows it to the others: the largest that
// shows a loop.
class StudyRuns {
 public:
  StudyRuns(const Study& study, const ProgressSink& progress, const std::vector<Scenario>& scenarios)
      : study_(study), progress_(progress), scenarios_(scenarios), runs_(study.runs.size()), is_done_(runs_.size()) {}

  std::vector<MeasuredRun> Measure() {
    FindShapes();
    ParallelFor(runs_.size(), [&](std::size_t i) {
      if (is_done_[i] == 0) MeasureOne(i, false);
    });
    return std::move(runs_);
  }

 private:
  void MeasureOne(std::size_t i, bool wants_shapes) {
    runs_[i] = MeasureOrFail(study_, study_.runs[i], scenarios_, wants_shapes);
    is_done_[i] = 1;
    const std::lock_guard lock(mutex_);
    if (progress_) progress_(++done_, runs_.size(), study_.runs[i].trace);
  }

  void FindShapes() {
    const auto needs = [](const PhaseSpec& phase) { return phase.NeedsShape(); };
    if (std::none_of(study_.phases.begin(), study_.phases.end(), needs)) return;
    std::vector<std::size_t> loopless;
    for (const std::size_t i : LargestFirst(study_)) {
      MeasureOne(i, true);
      bool shows_all = !runs_[i].error;
      for (std::size_t p = 0; p < study_.phases.size() && shows_all; ++p) {
        if (!study_.phases[p].NeedsShape()) continue;
        shows_all = runs_[i].shapes[p] != nullptr;
        study_.phases[p].shape = runs_[i].shapes[p];
      }
      if (shows_all) {
        // Measured before it was known what to look for.
        for (const std::size_t other : loopless) is_done_[other] = 0;
        done_ -= loopless.size();
        return;
      }
      if (!runs_[i].error) loopless.push_back(i);
    }
    for (PhaseSpec& phase : study_.phases) phase.shape = nullptr;
  }

  Study study_;
  const ProgressSink& progress_;
  const std::vector<Scenario>& scenarios_;
  std::vector<MeasuredRun> runs_;
  std::vector<char> is_done_;  // not bits: written by several threads
  std::mutex mutex_;
  std::size_t done_ = 0;
};

std::vector<MeasuredRun> MeasureAll(const Study& study, const ProgressSink& progress,
                                    const std::vector<Scenario>& scenarios) {
  return StudyRuns(study, progress, scenarios).Measure();
}

// A phase that occurs in no run fails the study.
void RequireEveryPhase(const Study& study, const std::vector<MeasuredRun>& runs) {
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    const PhaseNotFound* missing = nullptr;
    bool occurs = false;
    for (const MeasuredRun& run : runs) {
      if (run.error) continue;
      if (run.rows[phase]) occurs = true;
      if (missing == nullptr && run.missing[phase]) missing = &*run.missing[phase];
    }
    if (!occurs && missing != nullptr) throw *missing;
  }
}

// The rows of all runs, phase by phase.
template <typename RowsOf>
FactorTable TableOf(const Study& study, const std::vector<MeasuredRun>& runs, RowsOf rows_of) {
  FactorTable table;
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    for (const MeasuredRun& run : runs) {
      if (!run.error && rows_of(run)[phase]) table.rows.push_back(*rows_of(run)[phase]);
    }
  }
  table.scaling = study.scaling;
  if (study.scaling) table.scaling_source = "study";
  table.reference = study.reference;
  table.rules = ToString(study.factors.rules.set);
  CompleteTable(table);
  return table;
}

void AddFinding(Anomaly anomaly, const std::string& example, FactorTable& table, std::uint64_t count = 1) {
  Diagnostics diagnostics;
  diagnostics.Add(anomaly, count, example);
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

void AddMissingPhases(const std::vector<MeasuredRun>& runs, FactorTable& table) {
  std::uint64_t count = 0;
  std::string example;
  for (const MeasuredRun& run : runs) {
    if (run.error) continue;
    for (const std::optional<PhaseNotFound>& missing : run.missing) {
      if (missing && count++ == 0) example = missing->what();
    }
  }
  if (count > 0) AddFinding(Anomaly::kPhaseNotInRun, example, table, count);
}

// With strong scaling all ranks together compute as much in an iteration at any count, with weak scaling each does.
void CheckIterations(const Study& study, FactorTable& table) {
  constexpr double kFarOff = 1.6;
  for (const PhaseSpec& phase : study.phases) {
    if (phase.kind != PhaseSpec::Kind::kFoundLoop || !table.scaling) continue;
    const auto work = [&](const FactorRow& row) {
      const double all = row.totals->instructions.value_or(row.totals->total_useful) / row.iterations;
      return *table.scaling == Scaling::kWeak ? all / static_cast<double>(row.ranks) : all;
    };
    std::vector<double> works;
    std::vector<FactorRow> rows = table.Rows(study.series, phase.name);
    for (const FactorRow& row : rows) works.push_back(work(row));
    if (works.size() < 2) continue;
    const double usual = Median(works);
    for (const FactorRow& row : rows) {
      const double ratio = work(row) / usual;
      if (ratio > 1 / kFarOff && ratio < kFarOff) continue;
      AddFinding(Anomaly::kIterationsDiffer,
                 fmt::format("in phase {}: {:.2f} times as much at {} cores as usual", phase.name, ratio, row.cores),
                 table);
    }
  }
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
  RequireEveryPhase(study, runs);
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
  AddMissingPhases(runs, result.table);
  CheckIterations(study, result.table);
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
