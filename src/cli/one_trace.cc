#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/command.h"
#include "factors/phase_factors.h"
#include "imbalance/diagnosis.h"
#include "imbalance/loss_record.h"
#include "pages/text_table.h"
#include "phases/phase_spec.h"
#include "phases/phase_cut.h"
#include "replay/calibration.h"
#include "replay/clock_repair.h"
#include "replay/computation.h"
#include "replay/replayed_trace.h"
#include "replay/matching.h"
#include "replay/unknown_waits.h"
#include "results/trace_events.h"
#include "study/scenario.h"
#include "study/study.h"
#include "study/study_draft.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

PhaseSpec SpecOf(const TraceOptions& options) {
  PhaseSpec spec = PhaseSpec::WholeRun();
  if (!options.phase.empty() && !options.window.empty()) {
    throw Error(ErrorKind::kUsage, "--window", "a phase is a region or a window",
                "leave out one of --phase and --window");
  }
  if (!options.phase.empty()) spec = PhaseSpec::Region(options.phase);
  if (!options.window.empty()) {
    spec.name = "window";
    spec.kind = PhaseSpec::Kind::kTimeWindow;
    const std::vector<std::string> parts = Split(options.window, ',');
    if (parts.size() != 2 || !ParseNumber(Trim(parts[0]), spec.window_begin) ||
        !ParseNumber(Trim(parts[1]), spec.window_end)) {
      throw Error(ErrorKind::kUsage, "--window", "'" + options.window + "' is not a window",
                  "give begin and end in seconds since the start of the run, such as 0.5,1.25");
    }
  }
  if (options.phase.empty() && (options.skip > 0 || options.keep > 0 || options.clean)) {
    throw Error(ErrorKind::kUsage, "phase '" + spec.name + "'",
                "--skip, --keep and --clean are for regions that repeat", "name one with --phase");
  }
  spec.skip = static_cast<std::size_t>(options.skip);
  if (options.keep > 0) spec.keep = static_cast<std::size_t>(options.keep);
  if (options.clean) spec.clean = kLongestRun;
  spec.span = Span::kWhole;
  return spec;
}

// The scenario to replay the run under; nothing: as measured.
std::optional<Scenario> ScenarioOf(const TraceOptions& options) {
  if (options.network.empty()) {
    if (options.computation.empty()) return std::nullopt;
    throw Error(ErrorKind::kUsage, "--computation", "other computation needs a network to replay on", "add --network");
  }
  RunSpec run;
  run.trace = options.trace;
  options.ApplyTo(run);
  Scenario scenario;
  scenario.network =
      options.network == "calibrated" ? CalibrateToRuns({run}, {}) : LoadNetwork(options.network, "--network");
  scenario.clean_computation = !options.computation.empty();
  scenario.source = ParseComputationSource(options.computation);
  return scenario;
}

int Cut(const TraceOptions& options, const Common& common) {
  const Messages messages(common);
  PhaseSpec spec = SpecOf(options);
  RequireFree(options.output, ".otf2");
  const std::optional<Scenario> scenario = ScenarioOf(options);
  Trace trace = ReadTrace(options.trace, options.Reading(!options.main_threads));
  // Records of threads and devices are not written. Without them, factors of the cut would be those of main threads,
  // and not those of the phase.
  if (!trace.team_threads.empty() || !trace.devices.empty()) {
    throw Error(ErrorKind::kUsage, trace.path,
                fmt::format("a cut keeps main threads alone, and this trace also has {}",
                            trace.team_threads.empty() ? "devices" : "OpenMP threads"),
                "add --main-threads to leave the others out, or measure the phase without cutting: farscale factors "
                "--phase");
  }
  const Matching matching = MatchSynchronised(trace);
  if (IsAutomatic(options.phase)) spec = WithLoopOf(trace, spec);
  PhaseCut cut = CutClean(trace, matching, CutPhase(trace, spec), {{}, options.counters});
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  diagnostics.Merge(cut.diagnostics);
  diagnostics.Merge(CheckProcessorTime(trace, options.counters, {cut}));
  if (scenario) {
    ScenarioRun run = ReplayScenario(trace, matching, {cut}, *scenario, {{}, options.counters});
    messages.Note("replayed on " + run.description);
    diagnostics.Merge(run.diagnostics);
    trace = std::move(run.trace);
    cut = std::move(run.cuts.front());
  }
  messages.Findings(options.trace, diagnostics.findings());
  const Trace result = CutTrace(trace, matching, cut);
  WriteOtf2(result, options.output);
  if (common.quiet) return 0;
  std::uint64_t calls = 0, bytes = 0;
  for (const RankTimeline& timeline : result.timelines) calls += timeline.calls();
  for (const std::string& file : FilesOfTrace(options.output)) bytes += std::filesystem::file_size(file);
  fmt::print("wrote {}: {}, {} ranks, {} calls, {}, {} of the run\n", options.output, Describe(cut.spec),
             FormatCount(result.size()), FormatCount(calls), FormatBytes(bytes), FormatPercent(Coverage(trace, {cut})));
  return 0;
}

// Up to the first deviation of the run time the network explains the run, beyond the second it does not.
constexpr double kNear = 0.02, kFar = 0.1;

std::string InMegabytes(double bandwidth) { return FormatSignificant(bandwidth / 1e6, 4) + " MB/s"; }

// Only the bound of what is not known. What took no tick of the clock took less than one.
std::vector<std::string> RowOf(const char* name, const LinkCalibration& of) {
  const Link& link = of.link;
  return {name,
          link.latency_at_most ? "≤ " + FormatSeconds(*link.latency_at_most) : FormatSeconds(link.latency),
          link.bandwidth_at_least ? "≥ " + InMegabytes(*link.bandwidth_at_least) : InMegabytes(link.bandwidth),
          link.overhead_at_most ? "≤ " + FormatSeconds(*link.overhead_at_most)
          : link.overhead > 0   ? FormatSeconds(link.overhead)
                                : "< " + FormatSeconds(of.tick),
          fmt::format("{} B{}", FormatCount(link.eager_limit), of.found_eager_limit ? "" : " *"),
          fmt::format("{} of {}", FormatCount(of.messages), FormatCount(of.all)),
          FormatBytes(of.smallest) + (of.largest > of.smallest ? " to " + FormatBytes(of.largest) : ""),
          fmt::format("{} ({})", FormatSeconds(of.spread), FormatPercent(of.relative_spread))};
}

void Print(const Trace& trace, const Calibration& calibration) {
  fmt::print("{}: {} ranks on {} node{}\n", trace.path, trace.size(), trace.nodes.size(),
             trace.nodes.size() == 1 ? "" : "s");
  const double deviation = calibration.Deviation(), size = std::fabs(deviation);
  const std::string cause =
      deviation < 0 ? "it lacks waiting that the run had (noise, congestion, slower collectives)"
                    : "something takes longer on it than in the run (collectives, messages that travel together)";
  PrintSentences({fmt::format("Replayed on this network the run takes {}, measured {}: {} {}; {}.",
                              FormatSeconds(calibration.replayed_seconds), FormatSeconds(calibration.measured_seconds),
                              FormatPercent(size), deviation < 0 ? "less" : "more",
                              size <= kNear  ? "the network explains the run"
                              : size <= kFar ? "usable, but " + cause
                                             : "the network does not explain the run: " + cause)});
  std::vector<std::vector<std::string>> cells = {
      {"link", "latency", "bandwidth", "overhead", "eager limit", "messages used", "sizes", "spread"}};
  if (calibration.remote) cells.push_back(RowOf("between nodes", *calibration.remote));
  if (calibration.local) cells.push_back(RowOf("within nodes", *calibration.local));
  fmt::print("{}", FormatTable(cells, WidthOfOutput()));
  const auto assumed = [](const std::optional<LinkCalibration>& link) { return link && !link->found_eager_limit; };
  if (assumed(calibration.remote) || assumed(calibration.local)) {
    fmt::print("* of the rules; nothing in the trace contradicts it\n");
  }
  for (const std::string& note : calibration.notes) PrintSentences({"note: " + note});
}

int CalibrateTraces(const TraceOptions& options, const Common& common) {
  const Messages messages(common);
  const bool to_file = IsFile(options.output);
  for (const std::string& path : options.inputs) {
    if (to_file) RefuseOverwriting(path, options.output);
  }
  ReplayRules rules;
  if (options.rules == "causal") rules.set = RuleSet::kCausal;
  const bool print = options.output.empty() || (to_file && !common.quiet);
  std::pair<std::size_t, std::uint64_t> most;  // ranks of a trace and messages that its calibration uses
  std::optional<Network> network;              // that of the largest trace
  std::vector<Error> failures;
  for (const std::string& path : options.inputs) {
    try {
      Trace trace = ReadTrace(path, options.Reading());
      const Matching matching = MatchSynchronised(trace);
      Diagnostics diagnostics = trace.diagnostics;
      diagnostics.Merge(matching.diagnostics);
      diagnostics.Merge(CheckProcessorTime(trace, {}));
      (MissingCalls(trace).empty() ? diagnostics : trace.diagnostics).FailPastThreshold(path);
      const Calibration calibration = Calibrate(trace, matching, rules);
      diagnostics.Merge(calibration.diagnostics);
      messages.Findings(path, diagnostics.findings());
      if (print) Print(trace, calibration);
      if (print && options.inputs.size() > 1) fmt::print("\n");
      std::pair<std::size_t, std::uint64_t> size(trace.size(), 0);
      for (const auto* link : {&calibration.local, &calibration.remote}) size.second += *link ? (*link)->messages : 0;
      if (network && size <= most) continue;
      most = size;
      network = calibration.network;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
      failures.push_back(error);
    }
  }
  if (!network) throw failures.front();
  for (const Error& failure : failures) messages.Warning(failure.what());
  if (!options.output.empty()) WriteOutput(options.output, WriteNetworkToml(*network));
  if (to_file && !common.quiet)
    fmt::print("wrote {0}\nNext: farscale whatif study.toml --network {0}\n", options.output);
  return 0;
}

int WriteTimeline(const TraceOptions& options, const Common& common) {
  const Messages messages(common);
  if (IsFile(options.output)) RefuseOverwriting(options.trace, options.output);
  PhaseSpec spec = options.phase.empty() ? PhaseSpec::WholeRun() : PhaseSpec::Region(options.phase);
  Trace trace = ReadTrace(options.trace, options.Reading(true));  // with threads also devices
  const Matching matching = MatchSynchronised(trace);
  if (IsAutomatic(options.phase)) spec = WithLoopOf(trace, spec);
  PhaseCut cut = CutPhase(trace, spec);
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  if (options.ideal) {
    // On a network whose messages take one tick, so that who waits for whom stays visible.
    Scenario scenario;
    scenario.network = OneTickNetwork(trace);
    ScenarioRun run = ReplayScenario(trace, matching, {cut}, scenario, {{}, options.counters});
    diagnostics.Merge(run.diagnostics);
    trace = std::move(run.trace);
    cut = std::move(run.cuts.front());
  }
  messages.Findings(options.trace, diagnostics.findings());
  DiagnosisOptions diagnosis;
  diagnosis.finds_causes = true;
  diagnosis.counters = options.counters;
  diagnosis.slack = false;
  LossRecord losses = RecordOf(Diagnose(trace, matching, cut, diagnosis), cut.spec.name);
  losses.trace = options.trace;
  const UnknownWaits waits = FindUnknownWaits(trace, cut, kWaitsAsMeasured);
  if (waits.any()) WithholdWaits(losses, waits);
  if (options.format == "annotations") {
    WriteOutput(options.output, WriteAnnotations(losses));
    return 0;
  }
  const WaitStates states = FindWaitStates(trace, matching, CollectActivities(trace, cut));
  WriteOutput(options.output, WriteTraceEvents(trace, cut, states, losses));
  return 0;
}

int Phases(const TraceOptions& options, const Common& common) {
  const bool to_file = IsFile(options.output);
  if (to_file) RequireFree(options.output, ".toml");
  const Messages messages(common);
  PhaseSpec spec = PhaseSpec::Region(options.phase);
  if (!spec.part.empty()) throw Error(ErrorKind::kUsage, "--phase", "is a part of an iteration", "name its loop: auto");
  const std::vector<PhaseStructure> structures = ReadStructures(
      options.inputs, IsAutomatic(options.phase), options.Reading(true), messages.Progress(), spec, WidthOfOutput());
  std::optional<Error> failure;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const std::optional<Error>& error = structures[i].error;
    if (error && options.inputs.size() == 1) throw *error;
    if (error) failure = error;
    messages.Findings(options.inputs[i], structures[i].diagnostics.findings());
    fmt::print("{}{}", i == 0 ? "" : "\n", error ? std::string(error->what()) + "\n" : structures[i].text);
  }
  if (failure) {
    PrintError(*failure);
    return failure->exit_code();
  }
  const FoundPhases found = PhasesOf(options.inputs, spec, structures);
  if (!found.loop) messages.Warning(found.why);
  if (options.output.empty()) {
    if (found.loop && !common.quiet) PrintSentences({"Next: add -o study.toml for a study with these phases."});
    return found.loop ? 0 : static_cast<int>(ErrorKind::kNotEnoughData);
  }
  const std::string folder = to_file ? std::filesystem::path(options.output).parent_path().string() : "";
  StudyDraft draft{.traces = options.inputs, .application = options.application, .found = found};
  if (!folder.empty()) draft.folder = folder;
  WriteOutput(options.output, draft.Text());
  if (to_file && !common.quiet) fmt::print("wrote {0}\nNext: farscale run {0}\n", options.output);
  return 0;
}

}  // namespace

void AddCutCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand(line, "cut", "Cut a phase out of a trace and write it as a trace of its own", Cut);
  command->footer(
      "Factors of the new trace are those of the phase with --span whole. Of the rest of the run it keeps only\n"
      "messages and collectives that cross the edge.");
  AddTraceInput(command, options);
  command->add_option("-o,--output", options.output, "Anchor file to write, NAME.otf2; it must not exist")->required();
  command->add_option("--phase", options.phase,
                      "Region to cut out, by name or as /regular expression/, or auto for the loop of the run "
                      "(default: the whole run)");
  AddIterationOptions(command, options);
  command->add_flag("--clean", options.clean, "Keep the longest run of undisturbed iterations");
  command->add_option("--window", options.window, "Cut out BEGIN,END instead, in seconds since the start of the run");
  command->add_flag("--main-threads", options.main_threads,
                    "Leave out what other threads and devices record; else such traces are refused");
  command->add_option("--network", options.network,
                      "Write the run as replayed on this network: by name, a file, or calibrated");
  AddChoiceOption(command, "--computation", options.computation,
                  {"auto", "cycles", "cpu-time", "iterations", "instructions"},
                  "With --network, replace lengths of computation by estimates from this source");
  AddTraceOptions(command, options);
  AddCounterOptions(command, options);
  command->add_option("--cpu-time", options.counters.cpu_time, "Counter that holds CPU time");
}

void AddCalibrateCommand(CommandLine& line) {
  auto [command, options] = AddCommand(
      line, "calibrate", "Fit latency and bandwidth of a network to the messages of a trace", CalibrateTraces);
  command->footer(
      "Every trace is fitted. The network of the trace with the most ranks is written (docs/network-files.md).");
  command->add_option("trace", options.inputs, "Traces of one machine (.otf2, .prv, .prv.gz)")->required();
  AddTraceOptions(command, options);
  AddChoiceOption(command, "--rules", options.rules, {"bsc", "causal"},
                  "Rules of the replay that checks the network (default: bsc)");
  command->add_option("-o,--output", options.output, "Network file to write (.toml); - prints it alone");
}

void AddTimelineCommand(CommandLine& line) {
  auto [command, options] = AddCommand(
      line, "timeline", "Write a timeline with wait states and the worst places for a viewer", WriteTimeline);
  options.output = "-";
  options.format = "perfetto";
  command->footer(
      "Open the file in https://ui.perfetto.dev or chrome://tracing; nothing is uploaded. A wait lies in its call and\n"
      "names the late rank; arrows lead from late senders and receivers to whoever waits for them.");
  AddTraceInput(command, options);
  command->add_option("-o,--output", options.output, "File to write; - for standard output")->capture_default_str();
  AddChoiceOption(command, "--format", options.format, {"perfetto", "annotations"},
                  "perfetto: JSON of trace events; annotations: JSON of the worst instance of each cause")
      ->capture_default_str();
  command->add_option("--phase", options.phase,
                      "Region to write, by name or as /regular expression/, or auto for the loop of the run "
                      "(default: the whole run)");
  command->add_flag("--ideal", options.ideal, "As replayed on an ideal network instead of as measured");
  AddTraceOptions(command, options);
  AddCounterOptions(command, options);
}

void AddPhasesCommand(CommandLine& line) {
  auto [command, options] = AddCommand(
      line, "phases", "Find the loop of a run, the parts of its iterations and the clean ones; write a study with them",
      Phases);
  options.phase = "auto";
  command->footer(
      "The traces need no regions. The loop is found in the largest trace and recognised in the others. Without a\n"
      "common loop the study takes the whole run; without -o the exit code is then 4.");
  command->add_option("trace", options.inputs, "Traces of one program (.otf2, .prv, .prv.gz)")->required();
  command
      ->add_option("--phase", options.phase,
                   "Region of an iteration, or found for the loop in the MPI calls, or auto for either (default: auto)")
      ->allow_extra_args(false);
  AddTraceOptions(command, options);
  command->add_option("-o,--output", options.output, "Study file to write (.toml), for editing; it must not exist");
}

}  // namespace farscale
