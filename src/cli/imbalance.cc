#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/files.h"
#include "cli/command.h"
#include "factors/disturbance.h"
#include "imbalance/diagnosis.h"
#include "phases/phase_cut.h"
#include "projection/observed_projection.h"
#include "replay/clock_repair.h"
#include "report/imbalance/pages.h"
#include "report/loss_growth.h"
#include "report/losses_section.h"
#include "replay/matching.h"
#include "replay/unknown_waits.h"
#include "results/cube_file.h"
#include "results/losses_json.h"
#include "study/grown_study.h"
#include "study/phase_structure.h"
#include "study/resources.h"
#include "study/run_study.h"

namespace farscale {
namespace {

struct ImbalanceOptions {
  TraceChoice choice;
  std::vector<std::string> inputs;
  std::vector<std::string> phases;
  std::int64_t top = 10;
  std::string rules = "bounded";
  std::string output;
  std::string templates;
  std::vector<std::int64_t> grow_to;
  bool without_causes = false;
};

// What was found out: by run, and how it grows over them.
struct Losses {
  std::string title;
  std::vector<LossRecord> records;  // of measured runs
  std::vector<LossRecord> grown;    // of runs that nobody has made
  std::vector<LossProjection> projected;
  std::vector<LossGrowth> growth;
  std::vector<Finding> warnings;  // of the runs
};

std::vector<Finding> WarningsOf(const MeasuredRuns& measured) {
  std::vector<Finding> warnings;
  MergeFindings(measured.table.findings, warnings);
  for (const RunRecord& run : measured.runs) MergeFindings(run.findings, warnings, run.path);
  for (const LossRecord& losses : measured.losses) MergeFindings(losses.findings, warnings, losses.trace);
  std::erase_if(warnings, [](const Finding& finding) { return finding.severity != Severity::kWarning; });
  return warnings;
}

// Whether another run of the phase is larger.
bool IsSmaller(const LossRecord& record, const std::vector<LossRecord>& records) {
  return std::ranges::any_of(
      records, [&](const LossRecord& other) { return other.phase == record.phase && other.cores > record.cores; });
}

// The largest run of every phase, or all runs.
void Print(const Losses& losses, std::size_t top, bool shows_all, const Partials& texts) {
  bool is_first = true;
  std::size_t left_out = 0;
  for (const std::vector<LossRecord>* records : {&losses.records, &losses.grown}) {
    for (const LossRecord& record : *records) {
      if (!shows_all && records == &losses.records && IsSmaller(record, *records)) {
        ++left_out;
        continue;
      }
      fmt::print("{}{}", is_first ? "" : "\n", FormatLosses(record, top, texts, WidthOfOutput()));
      is_first = false;
    }
  }
  if (!losses.growth.empty()) fmt::print("\n{}", FormatGrowth(losses.growth, texts, WidthOfOutput()));
  if (left_out > 0) PrintSentences({"Largest run of every phase; -v shows the smaller runs, too."});
}

void Write(const Losses& losses, PageForm form, const ImbalanceOptions& options, const ReportTemplates& templates) {
  std::vector<LossRecord> all = losses.records;
  all.insert(all.end(), losses.grown.begin(), losses.grown.end());
  const ReportModel model = BuildLossesModel(all, losses.growth, losses.title, templates.partials,
                                             static_cast<std::size_t>(options.top), losses.warnings);
  WritePages(form, options.output,
             {"imbalance",
              [&] { return RenderHtml(model, templates); },
              [&] { return RenderMarkdown(model, templates); },
              [&] { return WriteLossesJson(all, losses.projected, losses.warnings); },
              {}});
}

// Of a study its title, of traces the name of the program.
std::string TitleOf(const Study& study, const MeasuredRuns& measured) {
  if (!study.title.empty()) return study.title;
  const std::string program = measured.runs.front().program;
  return program.empty() ? measured.runs.front().path : std::filesystem::path(program).filename().string();
}

// Of the runs that could be grown; why others could not goes to the findings.
void AddGrown(const Study& study, const MeasuredRuns& measured, const ImbalanceOptions& options,
              const Messages& messages, Losses& losses) {
  const GrownStudies grown = GrowStudies(study, measured.table, options.grow_to, std::nullopt, messages.Progress());
  for (const Study& phase : grown.phases) {
    MeasuredRuns runs = MeasureRuns(phase, messages.Progress(), {}, Detail::kLosses);
    std::ranges::move(runs.losses, std::back_inserter(losses.grown));
  }
  messages.Findings("", grown.findings);
  losses.warnings.insert(losses.warnings.end(), grown.findings.begin(), grown.findings.end());
}

constexpr std::string_view kCubeEnding = ".cubex";

// For readers of Cube: of ranks, not of threads.
int WriteProfile(const ImbalanceOptions& options, const Common& common) {
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.choice);
  if (!options.phases.empty()) study.phases = PhasesNamed(options.phases, study.runs);
  if (study.runs.size() != 1 || study.phases.size() != 1 || !options.grow_to.empty()) {
    throw Error(ErrorKind::kUsage, options.output, "a Cube profile is of one phase of one run",
                "give one trace and at most one --phase");
  }
  Trace trace = ReadTrace(study.runs.front().trace, ReadOptionsOf(options.choice));
  const Matching matching = MatchSynchronised(trace);
  RequireClocks(trace, matching);
  const PhaseCut cut = CutClean(trace, matching, CutPhase(trace, study.phases.front()), study.factors);
  RequireKnownWaits(trace, cut, LockOrder::kAsMeasured);
  DiagnosisOptions diagnosis;
  diagnosis.delays.rules = *ParseDelayRules(options.rules);
  diagnosis.slack = false;
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  messages.Findings(trace.path, diagnostics.findings());
  WriteFile(options.output, WriteCube(trace, Diagnose(trace, matching, cut, diagnosis)));
  return 0;
}

int Imbalance(const ImbalanceOptions& options, const Common& common) {
  if (options.output.ends_with(kCubeEnding)) return WriteProfile(options, common);
  const PageForm form = PageFormOf(options.output);
  const ReportTemplates templates = LoadFormTemplates("imbalance", options.templates);
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.choice);
  if (!options.phases.empty()) study.phases = PhasesNamed(options.phases, study.runs);
  study.delays = *ParseDelayRules(options.rules);
  study.finds_causes = !options.without_causes;
  const MeasuredRuns measured = MeasureRuns(study, messages.Progress(), {}, Detail::kLosses);
  const auto warn = [&] {
    messages.FindingsOf(measured.table, measured.runs);
    for (const LossRecord& of_run : measured.losses) messages.Findings(of_run.trace, of_run.findings);
  };
  const OnError warnings(warn);
  const ModelLibrary library = LoadModels(study.model_files);
  Losses losses{TitleOf(study, measured), measured.losses, {}, {}, {}, WarningsOf(measured)};
  const std::vector<PhaseProjection> factors = Project(measured.table, library, study.projection, messages.Progress());
  losses.projected = ProjectLosses(losses.records, factors, library, study.projection);
  if (losses.records.size() > study.phases.size()) {
    losses.growth = DescribeGrowth(losses.projected, factors, templates.partials);
  }
  if (!options.grow_to.empty()) AddGrown(study, measured, options, messages, losses);
  if (form == PageForm::kText) {
    Print(losses, static_cast<std::size_t>(options.top), common.verbose, templates.partials);
  } else {
    Write(losses, form, options, templates);
  }
  warn();
  const int failure = ReportFailures(measured.runs, measured.failure);
  return failure == 0 && !options.grow_to.empty() && losses.grown.empty() ? static_cast<int>(ErrorKind::kNotEnoughData)
                                                                          : failure;
}

}  // namespace

void AddImbalanceCommand(CommandLine& line) {
  auto [command, options] = AddCommand<ImbalanceOptions>(
      line, "imbalance", "Find where time is lost: wait states, their causes, the critical path", Imbalance);
  command->footer(
      "Waits are charged to the call paths that made other ranks wait. Short-term costs are waits that a delay caused\n"
      "itself, long-term costs those that these waits caused in turn. docs/formulas.md describes both rules.\n"
      "With -o NAME.cubex, the profile of one phase of one run is written for Cube.");
  AddInputOptions(command, options.inputs, options.choice);
  AddPhaseOption(command, options.phases);
  command
      ->add_option("--rules", options.rules,
                   "How waits are charged to delays: bounded (by how much longer the late rank was), conserving "
                   "(Böhme) or scalasca")
      ->check(CLI::IsMember({"bounded", "conserving", "scalasca"}))
      ->capture_default_str();
  AddGrowOption(command, options.grow_to);
  command->add_flag("--without-causes", options.without_causes,
                    "Leave out causes with their remedies and gains, and the gain without latency: replays of the run");
  AddPageOptions(command, options.output, options.top, options.templates);
}

}  // namespace farscale
