#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/allocation_form.h"
#include "cli/command.h"
#include "report/backtest.h"
#include "report/comparison.h"
#include "report/digest.h"
#include "report/key_results.h"
#include "report/summary.h"
#include "report/report.h"
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
  bool grow = false;
  bool accept_truncated = false;
  AllocationFormOptions allocation;
};

// Every sentence of every phase.
void PrintSentences(const Results& results, const Partials& texts) {
  const auto print = [](const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) fmt::print("  {}\n", sentence);
  };
  for (const auto& [series, phase] : results.table.Keys()) {
    const PhaseProjection* found = FindPhase(results.projections, {series, phase});
    fmt::print("Phase {}\n", phase.Text());
    print(SummarizePhase(results.table.Rows(series, phase), found, texts));
    if (found != nullptr) print(SummarizeKeyResults(*found, texts));
    print(SummarizeBacktest(results, series, phase, texts));
    print(SummarizeComparison(results, series, phase, texts));
  }
  if (!results.projections.empty()) fmt::print("{}\n", texts.at("interval_note").text);
}

// What was written, in one line where it fits: "wrote report/report.html, report.md and results.json". Alone, a path a
// line.
void PrintFiles(const std::vector<std::filesystem::path>& files, const Common& common) {
  if (common.verbose && !common.quiet) return PrintWritten(files, common);
  std::vector<std::string> names;
  for (const std::filesystem::path& file : files) {
    if (file.parent_path().filename() == "figures") continue;
    if (common.quiet) fmt::print("{}\n", file.string());
    names.push_back(names.empty() ? file.string() : file.filename().string());
  }
  if (common.quiet || names.empty()) return;
  const std::string last = names.back();
  names.pop_back();
  const std::string text = names.empty() ? last : Join(names, ", ") + " and " + last;
  for (const std::string& line : WrapText("wrote " + text, StyleOf(common).columns, "  ")) fmt::print("{}\n", line);
}

void PrintResults(const Results& results, const Partials& texts, const std::vector<std::filesystem::path>& files,
                  const Common& common) {
  if (common.verbose && !common.quiet) PrintSentences(results, texts);
  if (!common.verbose && !common.quiet) fmt::print("{}", FormatDigest(results, texts, StyleOf(common)));
  PrintFiles(files, common);
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
  if (options.form != "allocation") RefuseAllocationOptions(options.allocation);
  const Messages messages(common);
  Study study = ParseStudy(ReadFile(options.study), options.study, LoadPreset, options.preset);
  for (RunSpec& run : study.runs) run.accept_truncated |= options.accept_truncated;
  if (!options.output.empty()) study.report_folder = options.output;
  if (options.grow && !study.growth) study.growth = {"calibrated", options.study};
  const ModelLibrary library = LoadModels(study.model_files);
  const ReportTemplates templates = LoadTemplates(options.templates);
  const bool is_allocation = options.form == "allocation";
  const ReportTemplates form = is_allocation ? LoadFormTemplates("allocation", options.templates) : ReportTemplates();
  CreateFolder(study.report_folder);  // before hours of work, not after
  const StudyOutcome outcome = RunStudy(study, library, messages.Progress(), ScenariosOf(study));
  messages.FindingsOf(outcome.results);
  const auto files = Write(outcome.results, templates, study);
  PrintResults(outcome.results, templates.partials, files, common);
  const int failure = ReportFailures(outcome.results.runs, outcome.failure);
  if (outcome.shortage) PrintError(*outcome.shortage);
  if (is_allocation && !outcome.results.table.rows.empty()) {
    const std::filesystem::path folder = std::filesystem::path(study.report_folder) / "allocation";
    WriteAllocationForm(outcome.results, options.allocation, form, folder, common);
  }
  return failure == 0 && outcome.shortage ? outcome.shortage->exit_code() : failure;
}

}  // namespace

void AddRunCommand(CommandLine& line) {
  auto [command, options] = AddCommand<RunOptions>(
      line, "run", "Run a study: measure the factors of every run and phase, fit, extrapolate, write the report", Run);
  command->footer(
      "docs/study-file.md describes the study file. --form allocation also writes what farscale report --form\n"
      "allocation does, into the folder allocation in that of the report.");
  command->add_option("study", options.study, "The study file (TOML)")->required();
  command->add_option("-o,--output", options.output, "Folder of the report (default: as the study says)");
  command->add_option("--preset", options.preset, "Preset whose settings fill what the study leaves out");
  AddTemplatesOption(command, options.templates);
  AddTruncatedOption(command, options.accept_truncated);
  command->add_flag("--grow", options.grow,
                    "Also replay the program at the targets, and weigh that against the curves (docs/growth.md)");
  command->add_option("--form", options.form, "report (default), or allocation for that and an allocation pack")
      ->check(CLI::IsMember({"report", "allocation"}));
  AddAllocationOptions(command, options.allocation);
}

}  // namespace farscale
