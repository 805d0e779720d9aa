#include "study/run_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "models/scaling_model.h"
#include "projection/backtest.h"
#include "results/reported_losses.h"
#include "stats/sample_quantiles.h"
#include "study/anomalies.h"
#include "growth/make/grown_program.h"
#include "study/grown_study.h"
#include "study/input_files.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Chosen: below this share of common region names two runs are of different programs; runs of one program at other core
// counts share nearly all.
constexpr double kSmallestOverlap = 0.2;

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

void AddOtherName(const Anomaly& anomaly, AnalysedRun& run, const AnalysedRun& first) {
  run.record.findings.push_back(
      AsFinding(anomaly, fmt::format("'{}' and '{}'", run.record.program, first.record.program)));
}

// Programs are distinguished by their regions, or by the recorded name where there are none.
void RequireOneProgram(std::vector<AnalysedRun>& runs) {
  AnalysedRun* first = nullptr;
  for (AnalysedRun& run : runs) {
    if (run.error || run.is_measured) continue;  // those need not have regions
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
    if (!same_name) AddOtherName(anomaly::kProgramNameDiffers, run, *first);
  }
  for (AnalysedRun& run : runs) {
    if (run.error || !run.is_measured || run.record.program.empty()) continue;
    if (first == nullptr) first = &run;
    if (PlainName(run.record.program) != PlainName(first->record.program)) {
      AddOtherName(anomaly::kMeasuredOtherProgram, run, *first);
    }
  }
}

// Runs at the same number of cores are repeats, in the order of the study unless it numbers them itself.
void NumberRepeats(const Study& study, std::vector<AnalysedRun>& runs) {
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
    const auto number = [repeat](std::vector<PhaseRows>& phases) {
      for (PhaseRows& rows : phases) {
        if (rows.whole) rows.whole->repeat = repeat;
        for (std::optional<FactorRow>& row : rows.of_groups) {
          if (row) row->repeat = repeat;
        }
      }
    };
    number(runs[i].rows);
    for (std::optional<LossRecord>& losses : runs[i].losses) {
      if (losses) losses->repeat = repeat;
    }
    for (std::vector<PhaseRows>& rows : runs[i].scenario_rows) number(rows);
  }
}

// Where phases depend on the look of iterations, one run goes first and shows it to the others: the largest that shows
// a loop. The shapes are set in the copy of the study.
std::vector<AnalysedRun> MeasureAll(Study study, const ProgressSink& progress, const std::vector<Scenario>& scenarios,
                                    Detail detail) {
  std::vector<AnalysedRun> runs(study.runs.size());
  std::set<std::size_t> done;
  const auto set = [&](std::size_t i, AnalysedRun run) {
    runs[i] = std::move(run);
    done.insert(i);
    if (progress) progress(done.size(), runs.size(), study.runs[i].trace);
  };
  if (progress) progress(0, runs.size(), "reading traces");
  bool shows_all = std::ranges::none_of(study.phases, &PhaseSpec::NeedsShape);
  std::vector<std::size_t> loopless;
  for (const std::size_t i : shows_all ? std::vector<std::size_t>() : LargestFirst(study.runs)) {
    set(i, MeasureRun(study, study.runs[i], scenarios, true, detail));
    shows_all = !runs[i].error;
    for (std::size_t p = 0; p < study.phases.size() && shows_all; ++p) {
      if (!study.phases[p].NeedsShape()) continue;
      shows_all = runs[i].shapes[p] != nullptr;
      study.phases[p].shape = runs[i].shapes[p];
    }
    if (shows_all) break;
    if (!runs[i].error) loopless.push_back(i);
  }
  if (shows_all) {
    for (const std::size_t i : loopless) done.erase(i);  // measured before the shapes were known
  } else {
    for (PhaseSpec& phase : study.phases) phase.shape = nullptr;
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!done.contains(i)) left.push_back(i);
  }
  MeasureEach(study, left, scenarios, detail, set);
  return runs;
}

// A phase that occurs in no run fails the study.
void RequireEveryPhase(const Study& study, const std::vector<AnalysedRun>& runs) {
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    const PhaseNotFound* missing = nullptr;
    bool occurs = false;
    for (const AnalysedRun& run : runs) {
      if (run.error) continue;
      if (run.rows[phase].whole) occurs = true;
      if (missing == nullptr && run.missing[phase]) missing = &*run.missing[phase];
    }
    if (!occurs && missing != nullptr) throw *missing;
  }
}

std::vector<GroupsOfPhase> GroupsOfPhases(const Study& study, std::span<AnalysedRun> runs) {
  std::set<std::string> taken;
  for (const PhaseSpec& phase : study.phases) taken.insert(phase.name);
  std::vector<GroupsOfPhase> groups;
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    std::vector<PhaseRows*> rows;
    for (AnalysedRun& run : runs) {
      if (run.rows[phase].whole) rows.push_back(&run.rows[phase]);
    }
    groups.emplace_back(study, phase, std::move(rows), taken);
  }
  return groups;
}

// The rows of all runs, phase by phase, each followed by its groups of ranks.
template <typename RowsOf>
FactorTable TableOf(const Study& study, std::span<const AnalysedRun> runs, const std::vector<GroupsOfPhase>& groups,
                    RowsOf rows_of) {
  FactorTable table;
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    for (const AnalysedRun& run : runs) {
      if (rows_of(run)[phase].whole) table.rows.push_back(*rows_of(run)[phase].whole);
    }
    for (const std::string& group : groups[phase].names()) {
      for (const AnalysedRun& run : runs) {
        const FactorRow* row = FindRow(rows_of(run)[phase], run.rows[phase].groups, group);
        if (row == nullptr) continue;
        table.rows.push_back(*row);
        table.rows.back().phase = groups[phase].IdOf(group);
      }
    }
  }
  table.scaling = study.scaling;
  if (study.scaling) table.scaling_source = "study";
  table.reference = study.reference;
  table.rules = ToString(study.factors.rules.set);
  CompleteTable(table);
  return table;
}

std::vector<PhaseRecord> PhaseRecords(const Study& study, const std::vector<GroupsOfPhase>& groups) {
  std::vector<PhaseRecord> records;
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    records.push_back({study.phases[phase].name, Describe(study.phases[phase])});
    for (const std::string& group : groups[phase].names()) {
      records.push_back({groups[phase].IdOf(group), groups[phase].Describe(group)});
    }
  }
  return records;
}

void AddMissingPhases(std::span<const AnalysedRun> runs, FactorTable& table) {
  std::uint64_t count = 0;
  std::string example;
  for (const AnalysedRun& run : runs) {
    for (const std::optional<PhaseNotFound>& missing : run.missing) {
      if (missing && count++ == 0) example = missing->what();
    }
  }
  if (count > 0) table.findings.push_back(AsFinding(anomaly::kPhaseNotInRun, example, count));
}

// With strong scaling all ranks together compute as much in an iteration at any count, with weak scaling each does.
void CheckIterations(const Study& study, FactorTable& table) {
  constexpr double kFarOff = 1.4;  // chosen: √2, as for the growth of processes (factors/scaling.cc)
  for (const PhaseSpec& phase : study.phases) {
    // No measured run has rows of these, so all have totals.
    const bool is_chosen = phase.kind == PhaseSpec::Kind::kFoundLoop || phase.clean.has_value();
    if (!is_chosen || !table.scaling) continue;
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
      table.findings.push_back(AsFinding(
          anomaly::kIterationsDiffer,
          fmt::format("in phase {}: {:.2f} times as much at {} cores as usual", phase.name, ratio, row.cores)));
    }
  }
}

void RequireTraces(const Study& study, const std::string& action) {
  for (const RunSpec& run : study.runs) {
    if (!run.is_measured) continue;
    throw Error(ErrorKind::kUsage, run.where.empty() ? run.trace : run.where,
                "the run was measured without a trace, so it cannot be " + action,
                "leave out the measured runs, or [noise] and [growth]");
  }
}

void FailWhenNothingIsLeft(const std::vector<AnalysedRun>& runs) {
  if (std::ranges::any_of(runs, [](const AnalysedRun& run) { return !run.error; })) return;
  const Error& first = *runs.front().error;
  if (runs.size() == 1) throw first;
  throw Error(first.kind(), "",
              fmt::format("none of the {} runs could be used; the first: {}", runs.size(), first.what()));
}

// Limit for grown runs in reports; chosen: they are replayed and searched for waits in seconds.
constexpr double kMostCallsOfReport = 2e6;

// The largest grown run of every phase, as reports show it, that a report has time for.
void AddGrownRuns(const Study& study, GrowthResults growth, const ProgressSink& progress, Results& results) {
  const auto is_large = [](const RunSpec& run) {
    return CountCalls(*run.grown->model, run.grown->grid) > kMostCallsOfReport;
  };
  std::vector<Finding> known;  // told by the projection already
  for (Study& phase : StudiesOf(study, results.table, std::move(growth), study.projection.seed, known)) {
    while (phase.runs.size() > 1 && is_large(phase.runs.back())) phase.runs.pop_back();
    phase.runs.erase(phase.runs.begin(), phase.runs.end() - 1);
    try {
      StudyResults runs = MeasureRuns(phase, progress, {}, Detail::kReport);
      std::ranges::move(runs.runs, std::back_inserter(results.grown_runs));
      std::ranges::move(LossesForReport(runs.losses), std::back_inserter(results.grown_losses));
    } catch (const Error& error) {  // the measured results stay
      results.table.findings.push_back(AsFinding(anomaly::kNoGrownRun, error.what()));
    }
  }
}

// `grows`: where the runs as measured could be grown, so can those of the scenario, or else it is said why not.
void ProjectVariant(const Study& study, const ModelLibrary& library, bool grows, const Scenario& scenario,
                    const ProgressSink& progress, Results& results, Variant& variant) {
  ProjectionOptions options = study.projection;
  if (grows) {
    GrowthResults growth = GrowForProjection(study, results.runs, scenario, progress, variant.table);
    for (std::string& obstacle : growth.obstacles) obstacle = variant.name + ": " + obstacle;
    AddObstacles(growth.obstacles, results.table);
    options.grown = std::move(growth.projected);
  }
  variant.projections = Project(variant.table, library, options, progress);
}

}  // namespace

StudyResults MeasureRuns(const Study& study, const ProgressSink& progress, const std::vector<Scenario>& scenarios,
                         Detail detail) {
  if (!scenarios.empty()) RequireTraces(study, "replayed");
  std::vector<AnalysedRun> runs = MeasureAll(study, progress, scenarios, detail);
  FailWhenNothingIsLeft(runs);
  RequireOneProgram(runs);
  RequireEveryPhase(study, runs);
  NumberRepeats(study, runs);
  StudyResults result;
  for (const AnalysedRun& run : runs) {
    if (run.error && !result.failure) result.failure = run.error;
  }
  std::ranges::stable_sort(runs, {}, [](const AnalysedRun& run) {
    return std::tuple(run.error.has_value(), run.record.cores, run.record.repeat);
  });
  const auto failed = std::ranges::find_if(runs, [](const AnalysedRun& run) { return run.error.has_value(); });
  const std::span<AnalysedRun> used(runs.begin(), failed);
  const std::vector<GroupsOfPhase> groups = GroupsOfPhases(study, used);
  result.table = TableOf(
      study, used, groups, [](const AnalysedRun& run) -> const auto& { return run.rows; });
  CheckScaling(result.table, SourceOfScaling(result.table));
  result.phases = PhaseRecords(study, groups);
  Diagnostics missing;
  for (const GroupsOfPhase& phase : groups) phase.AddMissing(missing);
  std::ranges::move(missing.findings(), std::back_inserter(result.table.findings));
  AddMissingPhases(used, result.table);
  CheckIterations(study, result.table);
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    Variant variant = {scenarios[i].id, scenarios[i].name, "", scenarios[i].is_noise, {}, {}, scenarios[i].terms};
    std::string problem;
    for (const AnalysedRun& run : used) {
      variant.description = run.scenario_descriptions[i];  // the largest run's
      if (problem.empty()) problem = run.scenario_errors[i];
    }
    if (!problem.empty()) {
      result.table.findings.push_back(AsFinding(anomaly::kScenarioNotPossible, scenarios[i].name + ": " + problem));
      continue;
    }
    variant.table = TableOf(
        study, used, groups, [&](const AnalysedRun& run) -> const auto& { return run.scenario_rows[i]; });
    result.variants.push_back(std::move(variant));
  }
  for (std::size_t phase = 0; phase < study.phases.size(); ++phase) {
    for (AnalysedRun& run : used) {
      if (phase < run.losses.size() && run.losses[phase]) result.losses.push_back(std::move(*run.losses[phase]));
    }
  }
  for (AnalysedRun& run : runs) result.runs.push_back(std::move(run.record));
  return result;
}

std::vector<Scenario> ScenariosOf(const Study& study) {
  if (!study.noise) return {};
  std::optional<Network> network;
  if (study.noise->network != "calibrated") network = LoadNetwork(study.noise->network, study.noise->where);
  return NoiseRemoval(network, study.noise->source, study.noise->clean_computation);
}

StudyResults RunStudy(const Study& study, const ModelLibrary& library, const ProgressSink& progress,
                      const std::vector<Scenario>& scenarios) {
  // Before hours of work, not after.
  if (study.growth && study.growth->network != "calibrated") LoadNetwork(study.growth->network, study.growth->where);
  if (study.growth) RequireTraces(study, "grown");
  if (!scenarios.empty()) RequireTraces(study, "replayed");
  std::vector<Scenario> replayed = scenarios;
  std::string problem;
  try {
    const ProgressStep step(replayed.empty() ? ProgressSink() : progress, "calibrating a network to the runs");
    const auto lacks_network = [](const Scenario& scenario) { return !scenario.network; };
    if (std::ranges::any_of(replayed, lacks_network)) {
      const Network network = CalibrateToRuns(study.runs, study.factors.rules);
      for (Scenario& scenario : replayed) {
        if (!scenario.network) scenario.network = network;
      }
    }
  } catch (const Error& error) {  // the measured results stay
    problem = error.what();
    std::erase_if(replayed, [](const Scenario& scenario) { return !scenario.network; });
  }
  StudyResults results = MeasureRuns(study, progress, replayed, Detail::kReport);
  if (!problem.empty()) results.table.findings.push_back(AsFinding(anomaly::kScenarioNotPossible, problem));
  results.title = study.title;
  results.description = study.description;
  results.models = Describe(study.projection.models, library);
  results.problem = study.problem;
  ProjectionOptions options = study.projection;
  if (study.growth) {
    GrowthResults growth = GrowForProjection(study, results.runs, std::nullopt, progress, results.table);
    AddObstacles(growth.obstacles, results.table);
    options.grown = std::move(growth.projected);
    if (!growth.phases.empty()) AddGrownRuns(study, std::move(growth), progress, results);
  }
  results.projections = Project(results.table, library, options, progress);
  results.splits = SplitTargets(results.table, library, options);
  results.backtest = BacktestForReport(results.table, library, options, progress);
  const std::vector<LossRecord> losses = std::move(results.losses);
  results.losses = LossesForReport(losses);
  if (losses.size() > results.losses.size()) {
    const ProgressStep step(progress, "fitting losses");
    results.loss_projections =
        LossProjectionsForReport(ProjectLosses(losses, results.projections, library, study.projection));
  }
  for (Variant& variant : results.variants) {
    const Scenario& scenario = *std::ranges::find(replayed, variant.id, &Scenario::id);
    ProjectVariant(study, library, !options.grown.empty(), scenario, progress, results, variant);
  }
  for (const Finding& finding : FindUnusedModels(study.projection.models, results.projections)) {
    results.table.findings.push_back(finding);
  }
  for (const PhaseProjection& projection : results.projections) {
    const std::string missing = DescribeMissing(projection);
    // Groups may be in too few of the runs.
    if (missing.empty() || projection.phase.IsGroup() || results.shortage) continue;
    if (KnowsSplits(results.splits, {projection.series, projection.phase})) continue;
    results.shortage = Error(ErrorKind::kNotEnoughData, "phase '" + projection.phase.name + "'", missing,
                             "the report contains what was measured");
  }
  return results;
}

}  // namespace farscale
