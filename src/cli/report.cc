#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "cli/allocation_form.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/anomalies.h"
#include "results/anomalies.h"
#include "results/results_json.h"
#include "report/report.h"
#include "report/studies/pages.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string form = "report";
  std::string output;
  std::string templates;
  std::vector<std::string> formats = {"html", "markdown", "csv"};
  AllocationFormOptions allocation;
  std::string scaling;  // of a factor table
};

std::set<ReportFormat> FormatsOf(const std::vector<std::string>& names) {
  std::set<ReportFormat> formats;
  for (const std::string& name : names) {
    const auto format = ReportFormatByName(name);
    if (!format) {
      throw Error(ErrorKind::kUsage, "--format", "unknown format '" + name + "'",
                  "there are " + Join(ReportFormatNames(), ", "));
    }
    formats.insert(*format);
  }
  return formats;
}

// What is wrong with the file itself, which none has said before it was read; the rest is in the report.
void WarnOf(const Results& results, const std::string& path, const Common& common) {
  for (const Finding& finding : results.table.findings) {
    const bool is_new = finding.id == anomaly::kFileChanged.id || finding.id == anomaly::kTableContradictsItself.id ||
                        finding.id == anomaly::kTalpFactorsFarOff.id;
    if (is_new) Messages(common).Findings(path, {finding});
  }
}

int WriteAllocationPack(const ReportOptions& options, const Common& common) {
  const Results results = ReadResults(options.results.front(), {"", options.scaling, false});
  WarnOf(results, options.results.front(), common);
  const std::string folder = options.output.empty() ? "allocation" : options.output;
  WriteAllocationForm(results, options.allocation, LoadFormTemplates("allocation", options.templates), folder, common);
  return 0;
}

void RefuseStudy(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".toml") return;
  throw Error(ErrorKind::kUsage, path, "is a study, not the results of a run",
              "farscale run measures it and writes its report");
}

void RequireFolder(const ReportOptions& options) {
  if (!options.output.empty()) return;
  throw Error(ErrorKind::kUsage, "--output", "is missing", "-o DIR names the folder of the report");
}

// By their titles, by their folders where titles do not tell them apart, or by their paths.
std::vector<std::string> NamesOf(const std::vector<ListedStudy>& studies, const std::vector<std::string>& paths) {
  std::vector<std::string> titles, folders;
  for (const ListedStudy& study : studies) titles.push_back(study.results->title);
  for (const std::filesystem::path path : paths) {
    folders.push_back(path.filename() == "results.json" ? path.parent_path().filename().string() : path.string());
  }
  for (const std::vector<std::string>& names : {titles, folders}) {
    const std::set<std::string> distinct(names.begin(), names.end());
    if (distinct.size() == names.size() && !distinct.contains("")) return names;
  }
  return paths;
}

// The report that farscale run writes beside results; empty where there is none.
std::string ReportBeside(const std::string& results) {
  const std::filesystem::path report = std::filesystem::path(results).replace_filename("report.html");
  std::error_code code;
  return std::filesystem::exists(report, code) ? report.string() : "";
}

// Throws where the file is a study.
std::string ReadResultsText(const std::string& path) {
  const std::string text = ReadInput(path);
  RefuseStudy(path);
  return text;
}

int ReportStudies(const ReportOptions& options, const Common& common) {
  RequireFolder(options);
  const ReportTemplates templates = LoadFormTemplates("studies", options.templates);
  const std::set<ReportFormat> formats = FormatsOf(options.formats);
  if (!formats.contains(ReportFormat::kHtml) && !formats.contains(ReportFormat::kMarkdown)) {
    throw Error(ErrorKind::kUsage, "--format", "a page of several studies is html or markdown");
  }
  std::vector<ListedStudy> studies;
  for (const std::string& path : options.results) {
    studies.push_back(
        {.name = path, .report = ReportBeside(path), .results = ReadResultsJson(ReadResultsText(path), path)});
    WarnOf(*studies.back().results, path, common);
  }
  const std::vector<std::string> names = NamesOf(studies, options.results);
  for (std::size_t i = 0; i < studies.size(); ++i) studies[i].name = names[i];
  const std::vector<std::filesystem::path> files = WriteStudies(studies, templates, options.output, formats);
  if (!common.quiet) {
    fmt::print("{}", FormatBatch(studies, templates.partials, StyleOf(common)));
    PrintSentences(SummarizeShortlist(studies, templates.partials));
  }
  PrintWritten(files, common);
  return 0;
}

int Report(const ReportOptions& options, const Common& common) {
  const bool is_allocation = options.form == "allocation";
  if (!is_allocation) RefuseAllocationOptions(options.allocation);
  if (options.results.size() > 1) {
    if (!is_allocation) return ReportStudies(options, common);
    throw Error(ErrorKind::kUsage, options.results[1], "is one file too many: an allocation pack is of one");
  }
  const std::string text = ReadResultsText(options.results.front());
  if (is_allocation) return WriteAllocationPack(options, common);
  const Results results = ReadResultsJson(text, options.results.front());
  WarnOf(results, options.results.front(), common);
  RequireFolder(options);
  const std::set<ReportFormat> formats = FormatsOf(options.formats);
  PrintWritten(WriteReport(results, LoadTemplates(options.templates), options.output, formats), common);
  return 0;
}

}  // namespace

void AddReportCommand(CommandLine& line) {
  auto [command, options] = AddCommand<ReportOptions>(
      line, "report",
      "Render earlier results again: in other templates, several on one page, or as an application for computing time",
      Report);
  command->footer(
      "Results of several codes make one page, sorted by the factor that limits each; results of farscale whatif add "
      "a\n"
      "table of machines.\n"
      "--form allocation writes times, speedup, efficiency, core hours and a job size for an application for\n"
      "computing time, as Markdown, HTML, LaTeX and CSV. It also takes a factor table (.json or .csv).");
  command->add_option("results", options.results, "results.json of an earlier run, or of several")->required();
  command->add_option("-o,--output", options.output, "Folder of the report (of an allocation: allocation)");
  command->add_option("--form", options.form, "report (default) or allocation")
      ->check(CLI::IsMember({"report", "allocation"}));
  AddTemplatesOption(command, options.templates);
  command
      ->add_option("--format", options.formats, "Formats of the report: html, markdown, json, csv, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddAllocationOptions(command, options.allocation);
  AddScalingOption(command, options.scaling, "How the runs of a factor table scale (default: as it says)")
      ->group(kAllocationGroup);
}

}  // namespace farscale
