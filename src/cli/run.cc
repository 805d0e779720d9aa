#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "cli/allocation_form.h"
#include "cli/command.h"
#include "report/answers_section.h"
#include "report/backtest_section.h"
#include "report/comparison.h"
#include "report/summary.h"
#include "report/write_report.h"
#include "study/resources.h"
#include "study/run_study.h"

namespace farscale {
namespace {

struct RunOptions {
  std::string study;
  std::string output;
  std::string preset;
  std::string templates;
  std::string form = "report";
  AllocationFormOptions allocation;
};

void PrintSummary(const Results& results, const std::vector<std::filesystem::path>& files) {
  for (const std::string& series : results.table.Series()) {
    for (const PhaseId& phase : results.table.Phases(series)) {
      const PhaseProjection* found = nullptr;
      for (const PhaseProjection& projection : results.projections) {
        if (projection.series == series && projection.phase == phase) found = &projection;
      }
      fmt::print("Phase {}\n", phase.Text());
      for (const std::string& sentence : SummarizePhase(results.table.Rows(series, phase), found)) {
        fmt::print("  {}\n", sentence);
      }
      if (found != nullptr) {
        for (const std::string& sentence : SummarizeAnswers(*found)) fmt::print("  {}\n", sentence);
      }
      const std::string backtest = SummarizeBacktest(results, series, phase);
      if (!backtest.empty()) fmt::print("  {}\n", backtest);
      for (const std::string& sentence : SummarizeComparison(results, series, phase)) fmt::print("  {}\n", sentence);
    }
  }
  for (const std::filesystem::path& file : files) {
    if (!file.parent_path().empty() && file.parent_path().filename() == "figures") continue;
    fmt::print("wrote {}\n", file.string());
  }
}

// A template that cannot be filled must not lose what was measured.
std::vector<std::filesystem::path> Write(const Results& results, const ReportTemplates& templates, const Study& study) {
  try {
    return WriteReport(results, templates, study.report_folder, study.formats);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) {
      WriteReport(results, templates, study.report_folder, {ReportFormat::kJson, ReportFormat::kCsv});
    }
    throw;
  }
}

int Run(const RunOptions& options, const Common& common) {
  const Messages messages(common);
  Study study = ParseStudy(ReadFile(options.study), options.study, LoadPreset, options.preset);
  if (!options.output.empty()) study.report_folder = options.output;
  const ModelLibrary library = LoadModels(study.model_files);
  const ReportTemplates templates = LoadTemplates(options.templates);
  const bool is_allocation = options.form == "allocation";
  const ReportTemplates form = is_allocation ? LoadFormTemplates("allocation", options.templates) : ReportTemplates();
  CreateFolder(study.report_folder);  // before hours of work, not after
  const StudyOutcome outcome = RunStudy(study, library, messages.Progress(), ScenariosOf(study));
  messages.FindingsOf(outcome.results);
  const auto files = Write(outcome.results, templates, study);
  if (!common.quiet) PrintSummary(outcome.results, files);
  for (const RunRecord& run : outcome.results.runs) {
    if (!run.error.empty()) PrintError(Error(ErrorKind::kInput, "run failed", run.error));
  }
  if (outcome.evidence) PrintError(*outcome.evidence);
  if (is_allocation && !outcome.results.table.rows.empty()) {
    const std::filesystem::path folder = std::filesystem::path(study.report_folder) / "allocation";
    WriteAllocationForm(outcome.results, options.allocation, form, folder, common);
  }
  if (outcome.failure) return outcome.failure->exit_code();
  return outcome.evidence ? outcome.evidence->exit_code() : 0;
}

}  // namespace

void AddRunCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand(
      "run", "Run a study: measure the factors of every run and phase, fit, extrapolate, write the report");
  command->footer(
      "docs/study-file.md describes the study file key by key. --form allocation writes, besides the report, its "
      "folder\n"
      "allocation: what computing centres ask for, as farscale report --form allocation does.");
  command->add_option("study", options->study, "The study file (TOML)")->required();
  command->add_option("-o,--output", options->output, "Folder of the report (default: as the study says)");
  command->add_option("--preset", options->preset, "Preset whose settings fill what the study leaves out");
  command->add_option("--templates", options->templates, "Folder with templates of your own");
  command->add_option("--form", options->form, "report (default), or allocation for that and an allocation pack")
      ->check(CLI::IsMember({"report", "allocation"}));
  AddAllocationOptions(command, options->allocation);
  command->callback([options, command, &common, &action] {
    action = [options, command, &common] {
      if (options->form != "allocation") RefuseAllocationOptions(*command);
      return Run(*options, common);
    };
  });
}

}  // namespace farscale
