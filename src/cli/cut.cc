#include <fmt/format.h>

#include <filesystem>

#include "base/format.h"
#include "base/text.h"
#include "cli/command.h"
#include "factors/disturbance.h"
#include "phases/loop_choice.h"
#include "phases/phase_cut.h"
#include "replay/clock_repair.h"
#include "replay/cut_trace.h"
#include "replay/matching.h"
#include "replay/processor_time.h"
#include "study/resources.h"
#include "study/scenario.h"
#include "trace/otf2_writer.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct CutOptions {
  TraceChoice choice;
  std::string trace;
  std::string output;
  std::string phase;
  std::string window;
  std::string network;
  std::string computation;
  CounterNames counters;
  std::int64_t skip = 0;
  std::int64_t keep = 0;
  bool clean = false;
  bool main_threads = false;
};

// "0.5,1.25"
void ParseWindow(const std::string& text, PhaseSpec& spec) {
  const std::vector<std::string> parts = Split(text, ',');
  if (parts.size() != 2 || !ParseNumber(Trim(parts[0]), spec.window_begin) ||
      !ParseNumber(Trim(parts[1]), spec.window_end)) {
    throw Error(ErrorKind::kUsage, "--window", "'" + text + "' is not a window",
                "give begin and end in seconds since the start of the run, such as 0.5,1.25");
  }
}

PhaseSpec SpecOf(const CutOptions& options) {
  PhaseSpec spec = PhaseSpec::WholeRun();
  if (!options.phase.empty() && !options.window.empty()) {
    throw Error(ErrorKind::kUsage, "--window", "a phase is a region or a window",
                "leave out one of --phase and --window");
  }
  if (!options.phase.empty()) spec = PhaseSpec::Region(options.phase);
  if (!options.window.empty()) {
    spec.name = "window";
    spec.kind = PhaseSpec::Kind::kTimeWindow;
    ParseWindow(options.window, spec);
  }
  if (options.phase.empty() && (options.skip > 0 || options.keep > 0 || options.clean)) {
    throw Error(ErrorKind::kUsage, "phase '" + spec.name + "'",
                "--skip, --keep and --clean are for regions that repeat", "name one with --phase");
  }
  spec.skip = static_cast<std::size_t>(options.skip);
  if (options.keep > 0) spec.keep = static_cast<std::size_t>(options.keep);
  if (options.clean) spec.clean.kind = CleanSpec::Kind::kLongest;
  spec.span = Span::kWhole;
  return spec;
}

std::string Summary(const Trace& trace, const PhaseCut& cut, const Trace& result, const std::string& output) {
  std::uint64_t calls = 0, bytes = 0;
  for (const RankTimeline& timeline : result.timelines) calls += timeline.calls();
  for (const std::string& file : FilesOfTrace(output)) bytes += std::filesystem::file_size(file);
  return fmt::format("wrote {}: {}, {} ranks, {} calls, {}, {} of the run", output, Describe(cut.spec),
                     FormatCount(result.size()), FormatCount(calls), FormatBytes(bytes),
                     FormatPercent(Coverage(trace, {cut})));
}

// The scenario to replay the run under; nothing: as measured.
std::optional<Scenario> ScenarioOf(const CutOptions& options) {
  if (options.network.empty()) {
    if (options.computation.empty()) return std::nullopt;
    throw Error(ErrorKind::kUsage, "--computation", "other computation needs a network to replay on", "add --network");
  }
  RunSpec run;
  run.trace = options.trace;
  options.choice.ApplyTo(run);
  Scenario scenario;
  scenario.network =
      options.network == "calibrated" ? CalibrateToRuns({run}, {}) : LoadNetwork(options.network, "--network");
  scenario.clean_computation = !options.computation.empty();
  scenario.source = ParseComputationSource(options.computation);
  return scenario;
}

// What threads and devices record is not written. Without it, factors of the cut would be those of main threads, and
// not those of the phase.
void RefuseThreads(const Trace& trace) {
  if (trace.team_threads.empty() && trace.devices.empty()) return;
  throw Error(ErrorKind::kUsage, trace.path,
              fmt::format("a cut keeps main threads alone, and this trace also has {}",
                          trace.team_threads.empty() ? "devices" : "OpenMP threads"),
              "add --main-threads to leave the others out, or measure the phase without cutting: farscale factors "
              "--phase");
}

int Cut(const CutOptions& options, const Common& common) {
  const Messages messages(common);
  PhaseSpec spec = SpecOf(options);
  RequireFree(options.output, ".otf2");
  const std::optional<Scenario> scenario = ScenarioOf(options);
  ReadOptions what = ReadOptionsOf(options.choice);
  what.keep_threads = !options.main_threads;
  Trace trace = ReadTrace(options.trace, what);
  RefuseThreads(trace);
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
  if (!common.quiet) fmt::print("{}\n", Summary(trace, cut, result, options.output));
  return 0;
}

}  // namespace

void AddCutCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<CutOptions>(line, "cut", "Cut a phase out of a trace and write it as a trace of its own", Cut);
  command->footer(
      "Factors of the new trace are those of the phase with --span whole. Of the rest of the run it keeps only\n"
      "messages and collectives that cross the edge.");
  command->add_option("trace", options.trace, "The trace: anchor file of an OTF2 archive, or a Paraver trace")
      ->required();
  command->add_option("-o,--output", options.output, "Anchor file to write, NAME.otf2; it must not exist")->required();
  command->add_option("--phase", options.phase,
                      "Region to cut out, by name or as /regular expression/, or auto for the loop of the run "
                      "(default: the whole run)");
  AddIterationOptions(command, options.skip, options.keep);
  command->add_flag("--clean", options.clean, "Keep the longest run of undisturbed iterations");
  command->add_option("--window", options.window, "Cut out BEGIN,END instead, in seconds since the start of the run");
  command->add_flag("--main-threads", options.main_threads,
                    "Leave out what other threads and devices record; else such traces are refused");
  command->add_option("--network", options.network,
                      "Write the run as replayed on this network: by name, a file, or calibrated");
  command
      ->add_option("--computation", options.computation,
                   "With --network, replace lengths of computation by estimates from this source")
      ->check(CLI::IsMember({"auto", "cycles", "cpu-time", "iterations", "instructions"}));
  AddTraceOptions(command, options.choice);
  AddCounterOptions(command, options.counters);
  command->add_option("--cpu-time", options.counters.cpu_time, "Counter that holds CPU time");
}

}  // namespace farscale
