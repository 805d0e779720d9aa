#include "study/measure_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string_view>

#include "base/memory.h"
#include "base/parallel.h"
#include "factors/factor.h"
#include "factors/phase_factors.h"
#include "factors/run_picture.h"
#include "factors/useful_time.h"
#include "growth/make/grown_program.h"
#include "imbalance/diagnosis.h"
#include "parallel/bytes.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/clock_repair.h"
#include "replay/matching.h"
#include "replay/unknown_waits.h"
#include "replay/anomalies.h"
#include "results/anomalies.h"
#include "study/grown_study.h"
#include "study/input_files.h"
#include "trace/anomalies.h"
#include "trace/location_trace.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

RunRecord RecordOf(const Trace& trace, const RunSpec& spec, const std::vector<PhaseCut>& cuts) {
  RunRecord record;
  record.path = spec.trace;
  record.size = spec.size;
  record.program = trace.program;
  record.format = trace.format;
  record.creator = trace.creator;
  record.bytes = trace.disk_bytes;
  record.events = trace.events;
  record.seconds = trace.Seconds(trace.end() - trace.begin());
  record.ranks = static_cast<std::int64_t>(trace.size());
  const bool knows_teams = !trace.team_threads.empty();
  record.threads = spec.threads.value_or(knows_teams ? ThreadsInTeams(trace) : trace.threads());
  record.cores = record.ranks * record.threads;
  record.nodes = static_cast<std::int64_t>(trace.nodes.size());
  record.coverage = Coverage(trace, cuts);
  if (spec.grown != nullptr) record.grown_from = spec.grown->from;
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
  if (factors.totals.elapsed > 0) row.runtime = factors.totals.elapsed;
  row.iterations = static_cast<double>(factors.iterations);
  row.values = factors.values;
  row.loads = factors.loads;
  row.samples = factors.samples;
  row.totals = factors.totals;
  row.span = factors.span;
  if (const UnknownWaits& waits = factors.unknown_waits; waits.any()) {
    row.unknown_waits = UnknownWaits{waits.calls, waits.example};
  }
  return row;
}

PhaseRows RowsOf(const Study& study, const RunRecord& run, const GroupedFactors& factors,
                 const std::vector<RankGroup>& groups) {
  PhaseRows rows;
  rows.whole = RowOf(study, run, factors.whole);
  rows.groups = groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::optional<FactorRow>& row = rows.of_groups.emplace_back();
    if (!factors.groups[i]) continue;
    row = RowOf(study, run, *factors.groups[i]);
    row->ranks = static_cast<std::int64_t>(groups[i].ranks.size());
  }
  return rows;
}

// The factors of a run on other machines. What is odd there is said once, with the run.
void MeasureScenarios(const Study& study, const std::vector<Scenario>& scenarios, Trace& trace,
                      const Matching& matching, const std::vector<PhaseCut>& cuts, AnalysedRun& run,
                      Diagnostics& diagnostics) {
  for (const Scenario& scenario : scenarios) {
    std::vector<PhaseRows>& rows = run.scenario_rows.emplace_back();
    std::string& description = run.scenario_descriptions.emplace_back();
    std::string& problem = run.scenario_errors.emplace_back();
    try {
      const ScenarioRun replayed = ReplayScenario(trace, matching, cuts, scenario, study.factors);
      diagnostics.Merge(replayed.diagnostics);
      description = replayed.description;
      auto cut = replayed.cuts.begin();
      for (const PhaseRows& measured : run.rows) {
        rows.emplace_back();
        if (!measured.whole) continue;
        const GroupedFactors factors = MeasurePhase(replayed.trace, matching, *cut++, measured.groups, study.factors);
        rows.back() = RowsOf(study, run.record, factors, measured.groups);
        const auto nodes = static_cast<std::int64_t>(replayed.trace.nodes.size());
        rows.back().whole->nodes = nodes;
        for (std::optional<FactorRow>& row : rows.back().of_groups) {
          if (row) row->nodes = nodes;
        }
      }
    } catch (const Error& error) {  // the measurement stays valid
      problem = error.what();
    }
  }
}

// The phases that occur in the run; why others do not goes to `run.missing`.
std::vector<PhaseCut> CutPhases(const Study& study, const Trace& trace, AnalysedRun& run) {
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
std::vector<std::shared_ptr<const IterationShape>> LoopShapes(const Study& study, const Trace& trace) {
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

// Means over the ranks, and which iterations are kept.
std::vector<IterationRecord> RecordIterations(const Trace& trace, const PhaseCut& cut, const CleanChoice& choice) {
  std::vector<IterationRecord> records(cut.iterations);
  std::vector<double> ranks(cut.iterations), largest(cut.iterations), outside(cut.iterations);
  std::optional<ThreadStates> threads;
  if (ThreadStates::AreIn(trace)) threads.emplace(trace);
  const Tick origin = trace.begin();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      double useful = trace.Seconds(UsefulTicks(trace.timelines[rank], iterations[k])), outside_mpi = useful;
      if (threads) {
        const ThreadTicks ticks = threads->In(rank, iterations[k]);
        const auto count = static_cast<double>(ticks.outside.size());
        useful = trace.Seconds(ticks.Of(ThreadState::kUseful)) / count;
        outside_mpi = trace.Seconds(ticks.OutsideMpi()) / count;
      }
      records[k].begin += trace.Seconds(iterations[k].begin.tick - origin);
      records[k].end += trace.Seconds(iterations[k].end.tick - origin);
      records[k].elapsed += trace.Seconds(iterations[k].length());
      records[k].useful += useful;
      outside[k] += outside_mpi;
      largest[k] = std::max(largest[k], outside_mpi);
      ++ranks[k];
    }
  }
  const auto count = static_cast<double>(trace.size());
  for (std::size_t k = 0; k < records.size(); ++k) {
    IterationRecord& record = records[k];
    record.begin /= ranks[k];
    record.end /= ranks[k];
    record.elapsed /= count;
    record.useful /= count;
    record.parallel_efficiency = record.elapsed > 0 ? record.useful / record.elapsed : 0;
    record.load_balance = largest[k] > 0 ? outside[k] / count / largest[k] : 0;
    if (!choice.iterations.empty()) record.disturbance = choice.iterations[k].Total();
    if (choice.kept[k]) continue;
    record.left_out = 1;
    record.reason = choice.reasons[k];
  }
  return records;
}

constexpr std::size_t kShapedPaths = 10;  // call paths that get a shape of their imbalance; chosen: as reports show

using MatchedTrace = std::pair<Trace, Matching>;

// The run with its threads as ranks; nothing where none of them record their teams.
std::optional<MatchedTrace> RunOfThreads(const Trace& trace, Diagnostics& diagnostics) {
  if (trace.team_threads.empty()) return std::nullopt;
  Trace threads = LocationTrace(trace);
  Matching matching = MatchTrace(threads);
  diagnostics.Merge(threads.diagnostics);
  return MatchedTrace(std::move(threads), std::move(matching));
}

// Needs replays, in which ranks might wait for ever where calls are missing.
bool FindsCauses(const Study& study, const Trace& trace) { return study.finds_causes && MissingCalls(trace).empty(); }

// The computation of every group, and the causes that are the work of one of them.
void AddGroups(const std::vector<RankGroup>& groups, LossRecord& losses) {
  for (const RankGroup& group : groups) {
    const std::set<std::size_t> ranks(group.ranks.begin(), group.ranks.end());
    GroupLoad& load = losses.groups.emplace_back(GroupLoad{group.name, ranks.size(), 0});
    if (!losses.locations.empty()) continue;  // all else here is of threads
    for (const PathRecord& path : losses.paths) {
      if (path.is_mpi || path.is_device_call || path.IsOutside()) continue;
      for (std::size_t i = 0; i < path.execution.size(); ++i) {
        if (ranks.count(losses.ranks[i]) > 0) load.computation += path.execution[i];
      }
    }
    for (Cause& cause : losses.causes) {
      const bool is_within = std::ranges::all_of(cause.ranks, [&](std::size_t rank) { return ranks.count(rank) > 0; });
      if (cause.rank_count == ranks.size() && is_within) cause.group = group.name;
    }
  }
}

// Losses by factor are always of ranks, as factors are. `options`: of a diagnosis of ranks.
LossRecord FindLosses(const Trace& trace, const Matching& matching, const std::optional<MatchedTrace>& threaded,
                      const PhaseCut& cut, const DiagnosisOptions& options, const Study& study) {
  LossRecord losses;
  if (threaded) {
    const auto& [threads, matching_of_threads] = *threaded;
    DiagnosisOptions of_threads = {study.delays, GroupsOfLocations(options.groups, threads), kShapedPaths};
    of_threads.finds_causes = FindsCauses(study, trace);
    of_threads.counters = study.factors.counters;
    losses = RecordOf(Diagnose(threads, matching_of_threads, CutOfLocations(trace, cut, threads), of_threads),
                      cut.spec.name, threads.locations);
  } else {
    losses = RecordOf(Diagnose(trace, matching, cut, options), cut.spec.name);
  }
  AddGroups(options.groups, losses);
  if (matching.clocks_unknown) {
    WithholdWaits(losses, {matching.diagnostics.count(anomaly::kClocksContradict), *matching.clocks_unknown});
    // Who had locks when is known of ranks alone.
  } else if (const UnknownWaits waits = FindUnknownWaits(trace, cut, !threaded); waits.any()) {
    WithholdWaits(losses, waits);
  } else if (!FindUnknownWaits(trace, cut).any()) {
    losses.by_factor = SplitByFactor(trace, matching, cut, study.factors.rules);
  }
  return losses;
}

AnalysedRun ReadAndMeasure(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios,
                           bool wants_shapes, Detail detail) {
  AnalysedRun result;
  ReadOptions what = WhatToRead(study, spec, !scenarios.empty());
  what.keep_threads = true;
  Trace trace = ReadRun(spec, what);
  Diagnostics diagnostics = trace.diagnostics;
  const auto is_uneven = [&](const Rank& rank) { return rank.threads != trace.ranks.front().threads; };
  if (std::ranges::any_of(trace.ranks, is_uneven)) diagnostics.Add(anomaly::kUnevenThreads);
  if (spec.threads.value_or(1) > 1 && trace.threads() == 1) {
    diagnostics.Add(anomaly::kThreadsAtProcessLevel, trace.size(), "threads as the study says");
  }
  const std::int64_t in_teams = ThreadsInTeams(trace);
  if (!trace.team_threads.empty() && spec.threads.value_or(in_teams) != in_teams) {
    diagnostics.Add(anomaly::kThreadsContradicted, 1, fmt::format("{} instead of {}", in_teams, *spec.threads));
  }
  const Matching matching = MatchSynchronised(trace);
  diagnostics.Merge(matching.diagnostics);
  // Domains that do not divide evenly give messages of a grown run two sizes; the replay takes the sender's.
  // Where calls are missing, messages without their other half are no damage.
  const Diagnostics& judged = MissingCalls(trace).empty() ? diagnostics : trace.diagnostics;
  if (spec.grown == nullptr) judged.FailPastThreshold(spec.trace);
  std::optional<MatchedTrace> threaded;
  if (detail != Detail::kFactors) {
    threaded = RunOfThreads(trace, diagnostics);
  } else if (!trace.team_threads.empty()) {
    diagnostics.Merge(ThreadStates(trace).diagnostics());
  }
  if (wants_shapes) result.shapes = LoopShapes(study, trace);
  std::vector<PhaseCut> cuts = CutPhases(study, trace, result);
  std::vector<PhaseMarks> marks;
  for (PhaseCut& cut : cuts) {
    if (detail != Detail::kReport) {
      cut = CutClean(trace, matching, cut, study.factors);
      continue;
    }
    const CleanChoice choice = ChooseClean(trace, matching, cut, study.factors);
    marks.push_back(MarkPhase(trace, matching, cut, choice, study.factors));
    cut = KeepClean(trace, cut, choice);
  }
  diagnostics.Merge(FindDisplacedTimes(trace));
  diagnostics.Merge(CheckProcessorTime(trace, study.factors.counters, cuts));
  result.record = RecordOf(trace, spec, cuts);
  result.record.phases = std::move(marks);
  if (detail == Detail::kReport) result.record.picture = PictureOf(trace, matching, study.factors.rules);
  auto cut = cuts.begin();
  for (const std::optional<PhaseNotFound>& missing : result.missing) {
    result.rows.emplace_back();
    if (detail != Detail::kFactors) result.losses.emplace_back();
    if (missing) continue;
    const std::vector<RankGroup> groups = GroupsOf(study, trace, *cut, diagnostics);
    if (detail != Detail::kFactors) {
      DiagnosisOptions options = {study.delays, groups, kShapedPaths};
      std::optional<ProcessGrid> grid;
      if (!threaded) grid = FindProcessGrid(trace, *cut);  // it says nothing of threads
      options.finds_causes = FindsCauses(study, trace);
      options.counters = study.factors.counters;
      options.grid = grid;
      options.cause_groups = groups;
      options.latency = options.finds_causes && detail == Detail::kLosses;
      LossRecord& losses = result.losses.back().emplace(FindLosses(trace, matching, threaded, *cut, options, study));
      losses.trace = result.record.path;
      losses.cores = result.record.cores;
      losses.grown_from = result.record.grown_from;
      losses.grid = grid;
      if (spec.grown != nullptr) RemoveGrownRegion(*spec.grown->model, losses);
    }
    const GroupedFactors factors = MeasurePhase(trace, matching, *cut++, groups, study.factors);
    diagnostics.Merge(factors.whole.diagnostics);
    result.rows.back() = RowsOf(study, result.record, factors, groups);
  }
  MeasureScenarios(study, scenarios, trace, matching, cuts, result, diagnostics);
  result.record.findings = diagnostics.findings();
  if (spec.grown == nullptr) result.record.fingerprint = FingerprintOfTrace(spec.trace);
  for (const std::string& name : trace.UserRegionNames()) {
    if (name != "main") result.regions.insert(name);
  }
  return result;
}

}  // namespace

PhaseMarks MarkPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const CleanChoice& choice,
                     const FactorOptions& options) {
  PhaseMarks marks;
  marks.phase = cut.spec.name;
  marks.iterations = RecordIterations(trace, cut, choice);
  if (!choice.KeepsAll()) marks.with_all = MeasurePhase(trace, matching, cut, options).values;
  if (marks.iterations.size() == 1) {  // a window, whose edges are those of the earliest and the latest rank
    marks.iterations.front().begin = trace.Seconds(cut.begin() - trace.begin());
    marks.iterations.front().end = trace.Seconds(cut.end() - trace.begin());
  }
  JoinIterations(marks.iterations, kMostIterationRecords);
  return marks;
}

AnalysedRun MeasureRun(const Study& study, const RunSpec& spec, const std::vector<Scenario>& scenarios,
                       bool wants_shapes, Detail detail) {
  try {
    if (spec.is_measured) return AnalyseMeasuredFile(study, spec, scenarios.size(), detail != Detail::kFactors);
    return ReadAndMeasure(study, spec, scenarios, wants_shapes, detail);
  } catch (const Error& error) {
    AnalysedRun failed;
    failed.record.path = spec.trace;
    failed.record.error = error.what();
    failed.error = error;
    return failed;
  }
}

// Classes with private members, for another process.
template <typename Archive>
void serialize(Archive& archive, PhaseId& id) {
  archive(id.name, id.group);
}

template <typename Archive>
void serialize(Archive& archive, FactorValues& values) {
  for (std::size_t i = 0; i < kFactorCount; ++i) archive(values[static_cast<Factor>(i)]);
}

// Grown runs stay where they are grown.
template <typename Archive>
void save(Archive&, const std::shared_ptr<const GrownSource>&) {}
template <typename Archive>
void load(Archive&, std::shared_ptr<const GrownSource>&) {}

namespace {

constexpr std::string_view kMeasureRuns = "measure runs";

void MeasureHere(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done) {
  std::mutex mutex;
  ForEachRun(study.runs, which, detail, [&](std::size_t i) {
    AnalysedRun run = MeasureRun(study, study.runs[i], scenarios, false, detail);
    const std::lock_guard lock(mutex);
    done(i, std::move(run));
  });
}

}  // namespace

Service MeasuringService() {
  return {kMeasureRuns, [](std::string_view request) {
            Study study;
            std::vector<std::size_t> which;
            std::vector<Scenario> scenarios;
            Detail detail = Detail::kFactors;
            FromBytes(request, study, which, scenarios, detail);
            std::vector<AnalysedRun> runs(which.size());
            MeasureHere(study, which, scenarios, detail, [&](std::size_t i, AnalysedRun run) {
              runs[static_cast<std::size_t>(std::ranges::find(which, i) - which.begin())] = std::move(run);
            });
            return ToBytes(runs);
          }};
}

void MeasureEach(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done) {
  const bool is_grown = std::ranges::any_of(which, [&](std::size_t i) { return study.runs[i].grown != nullptr; });
  std::optional<Helpers> helpers;
  if (!is_grown && which.size() > 1) helpers.emplace();
  if (!helpers || helpers->empty()) {
    helpers.reset();
    return MeasureHere(study, which, scenarios, detail, done);
  }
  std::vector<std::uint64_t> sizes;
  for (const std::size_t i : which) sizes.push_back(ExpectedMemory(study.runs[i], detail));
  std::vector<std::vector<std::size_t>> shares =
      ShareOut(sizes, std::min(which.size(), helpers->processes().size() + 1));
  for (std::vector<std::size_t>& share : shares) {
    for (std::size_t& k : share) k = which[k];
  }
  const auto helper_of = [&](std::size_t share) { return helpers->processes()[share - 1]; };
  for (std::size_t k = 1; k < shares.size(); ++k) {
    helpers->Ask(helper_of(k), kMeasureRuns, ToBytes(study, shares[k], scenarios, detail));
  }
  MeasureHere(study, shares[0], scenarios, detail, done);
  for (std::size_t k = 1; k < shares.size(); ++k) {
    std::vector<AnalysedRun> runs;
    FromBytes(helpers->Answer(helper_of(k)), runs);
    for (std::size_t i = 0; i < runs.size(); ++i) done(shares[k][i], std::move(runs[i]));
  }
}

std::uint64_t ExpectedMemory(const RunSpec& run, Detail detail) {
  if (run.is_measured) return 0;
  const bool finds_losses = detail != Detail::kFactors;
  if (run.grown != nullptr) {  // has no files
    const double of_call = finds_losses ? 200 : 100;
    return static_cast<std::uint64_t>(of_call * CountCalls(*run.grown->model, run.grown->grid));
  }
  // Bytes for each byte of a trace on disk, measured at the peak [docs/large-traces.md], with room to spare for traces
  // that are packed better than those.
  const double of_disk_byte = finds_losses ? 4 : 2;
  // Packed text is this many times as large when it is read; chosen: gzip packs Paraver traces to a tenth at best.
  const double packed = run.trace.ends_with(".gz") ? 10 : 1;
  return static_cast<std::uint64_t>(packed * of_disk_byte * static_cast<double>(BytesOfTrace(run.trace)));
}

void ForEachRun(const std::vector<RunSpec>& runs, const std::vector<std::size_t>& which, Detail detail,
                const std::function<void(std::size_t)>& body) {
  std::vector<std::uint64_t> sizes;
  for (const std::size_t i : which) sizes.push_back(ExpectedMemory(runs[i], detail));
  for (const std::vector<std::size_t>& round : RoundsThatFit(sizes, MemoryBudget())) {
    ParallelFor(round.size(), [&](std::size_t k) { body(which[round[k]]); });
  }
}

}  // namespace farscale
