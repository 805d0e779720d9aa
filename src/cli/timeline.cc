#include <fmt/format.h>

#include "base/format.h"
#include "cli/command.h"
#include "imbalance/factor_losses.h"
#include "phases/loop_choice.h"
#include "phases/phase_cut.h"
#include "replay/clock_repair.h"
#include "replay/matching.h"
#include "replay/unknown_waits.h"
#include "results/trace_events.h"
#include "study/scenario.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct TimelineOptions {
  TraceChoice choice;
  std::string trace;
  std::string output = "-";
  std::string format = "perfetto";
  std::string phase;
  CounterNames counters;
  bool ideal = false;
};

// On a network whose messages take one tick, so that who waits for whom stays visible.
ScenarioRun ReplayIdeal(Trace& trace, const Matching& matching, const PhaseCut& cut, const CounterNames& counters) {
  Scenario scenario;
  scenario.network = OneTickNetwork(trace);
  return ReplayScenario(trace, matching, {cut}, scenario, {{}, counters});
}

LossRecord LossesOf(const Trace& trace, const Matching& matching, const PhaseCut& cut, const TimelineOptions& options) {
  DiagnosisOptions diagnosis;
  diagnosis.causes = CauseOptions{options.counters};
  diagnosis.slack = false;
  LossRecord losses = RecordOf(Diagnose(trace, matching, cut, diagnosis), cut.spec.name);
  losses.trace = options.trace;
  const UnknownWaits waits = FindUnknownWaits(trace, cut, LockOrder::kAsMeasured);
  if (waits.any()) WithholdWaits(losses, waits);
  return losses;
}

int WriteTimeline(const TimelineOptions& options, const Common& common) {
  const Messages messages(common);
  if (IsFile(options.output)) RefuseOverwriting(options.trace, options.output);
  PhaseSpec spec = options.phase.empty() ? PhaseSpec::WholeRun() : PhaseSpec::Region(options.phase);
  ReadOptions reading = ReadOptionsOf(options.choice);
  reading.keep_threads = true;  // and with them devices
  Trace trace = ReadTrace(options.trace, reading);
  const Matching matching = MatchSynchronised(trace);
  if (IsAutomatic(options.phase)) spec = WithLoopOf(trace, spec);
  PhaseCut cut = CutPhase(trace, spec);
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  if (options.ideal) {
    ScenarioRun run = ReplayIdeal(trace, matching, cut, options.counters);
    diagnostics.Merge(run.diagnostics);
    trace = std::move(run.trace);
    cut = std::move(run.cuts.front());
  }
  messages.Findings(options.trace, diagnostics.findings());
  const LossRecord losses = LossesOf(trace, matching, cut, options);
  if (options.format == "annotations") {
    WriteOutput(options.output, WriteAnnotations(losses));
    return 0;
  }
  const Activities activities = CollectActivities(trace, cut);
  const CollectiveWaits collectives(trace, matching, activities);
  const WaitStates states = FindWaitStates(trace, matching, activities, collectives);
  WriteOutput(options.output, WriteTraceEvents({trace, cut, activities, states, losses}));
  return 0;
}

}  // namespace

void AddTimelineCommand(CommandLine& line) {
  auto [command, options] = AddCommand<TimelineOptions>(
      line, "timeline", "Write a timeline with wait states and the worst places for a viewer", WriteTimeline);
  command->footer(
      "Open the file in https://ui.perfetto.dev or chrome://tracing; nothing is uploaded. A wait lies in its call and\n"
      "names the late rank; arrows lead from late senders and receivers to whoever waits for them.");
  command->add_option("trace", options.trace, "The trace: anchor file of an OTF2 archive, or a Paraver trace")
      ->required();
  command->add_option("-o,--output", options.output, "File to write; - for standard output")->capture_default_str();
  command
      ->add_option("--format", options.format,
                   "perfetto: JSON of trace events; annotations: JSON of the worst instance of each cause")
      ->check(CLI::IsMember({"perfetto", "annotations"}))
      ->capture_default_str();
  command->add_option("--phase", options.phase,
                      "Region to write, by name or as /regular expression/, or auto for the loop of the run "
                      "(default: the whole run)");
  command->add_flag("--ideal", options.ideal, "As replayed on an ideal network instead of as measured");
  AddTraceOptions(command, options.choice);
  AddCounterOptions(command, options.counters);
}

}  // namespace farscale
