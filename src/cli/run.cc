#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/batch.h"
#include "cli/command.h"
#include "cli/one_study.h"
#include "report/backtest.h"
#include "report/comparison.h"
#include "report/digest.h"
#include "report/key_results.h"
#include "report/splits_section.h"
#include "report/summary.h"
#include "study/resources.h"
#include "study/input_files.h"

namespace farscale {
namespace {

// Every sentence of every phase.
void PrintPhases(const Results& results, const Partials& texts) {
  const auto print = [](const std::vector<std::string>& sentences) { PrintSentences(sentences, 2); };
  for (const auto& [series, phase] : results.table.Keys()) {
    const PhaseProjection* found = FindPhase(results.projections, {series, phase});
    fmt::print("Phase {}\n", phase.Text());
    print(SummarizePhase(results.table.Rows(series, phase), found, texts));
    if (found != nullptr) print(SummarizeKeyResults(*found, texts));
    print(SummarizeBacktest(results, series, phase, texts));
    print(SummarizeComparison(results, series, phase, texts));
  }
  if (!results.projections.empty()) PrintSentences({texts.at("interval_note").text});
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
  if (common.verbose && !common.quiet) PrintPhases(results, texts);
  if (!common.verbose && !common.quiet) fmt::print("{}", FormatDigest(results, texts, StyleOf(common)));
  if (!common.quiet) fmt::print("{}", FormatBestSplits(results, texts, StyleOf(common)));
  PrintFiles(files, common);
}

int RunAlone(const StudyToRun& study, const std::string& folder, const RunOptions& options, const Common& common) {
  const StudyRun run = RunOneStudy(study, folder, options, common);
  PrintResults(run.results, LoadTemplates(options.templates).partials, run.files, common);
  Messages(common).FindingsOf(run.results);
  return run.code;
}

int Run(const RunOptions& options, const Common& common) {
  if (options.form != "allocation") RefuseAllocationOptions(options.allocation);
  const InputFiles files = FindInputFiles(options.inputs);
  if (files.studies.size() + (files.HasRuns() ? 1 : 0) > 1) return RunBatch(files, options, common);
  if (!files.HasRuns()) return RunAlone(StudyOfFile(files.studies.front()), options.output, options, common);
  const std::string folder = options.output.empty() ? "report" : options.output;
  return RunAlone(StudyOfRuns(files, options, folder, Messages(common)), "", options, common);
}

}  // namespace

void AddRunCommand(CommandLine& line) {
  auto [command, options] = AddCommand<RunOptions>(
      line, "run", "Measure the factors of every run and phase, fit, extrapolate, write a report", Run);
  command->footer(
      "Runs without a study: their phases are marked loops or loops found in the calls, scaling is taken from how the\n"
      "work grows, and the study is written beside the report, for editing. Of several studies\n"
      "those whose report is up to date are not run again. The others are run side by side where there are threads "
      "and\n"
      "memory for several; a table and a page show all of them.\n"
      "docs/study-file.md describes the study file. --form allocation also writes what farscale report --form\n"
      "allocation does, into the folder allocation in that of the report.");
  command
      ->add_option("input", options.inputs,
                   "Studies (.toml), traces (.otf2, .prv, .prv.gz), runs that farscale measure or TALP has measured "
                   "(.json), or folders with any of these")
      ->required();
  command->add_option(
      "-o,--output", options.output,
      "Folder of the report (default: as the study says, else report); of several, a folder with one for each");
  command->add_option("--preset", options.preset, "Preset whose settings fill what the study leaves out");
  AddTemplatesOption(command, options.templates);
  AddTraceOptions(command, options.choice);
  command->add_flag("--grow", options.grow,
                    "Also replay the program at the targets, and weigh that against the curves (docs/growth.md)");
  command->add_option("--form", options.form, "report (default), or allocation for that and an allocation pack")
      ->check(CLI::IsMember({"report", "allocation"}));
  AddAllocationOptions(command, options.allocation);
}

}  // namespace farscale
