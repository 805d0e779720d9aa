#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/allocation_form.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "results/results_json.h"
#include "report/report.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct ReportOptions {
  std::string results;
  std::vector<std::string> others;
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

int WriteAllocationPack(const ReportOptions& options, const Common& common) {
  const Results results = ReadResults(options.results, {"", options.scaling, false});
  const std::string folder = options.output.empty() ? "allocation" : options.output;
  WriteAllocationForm(results, options.allocation, LoadFormTemplates("allocation", options.templates), folder, common);
  return 0;
}

void RefuseStudy(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".toml") return;
  throw Error(ErrorKind::kUsage, path, "is a study, not the results of a run",
              "farscale run measures it and writes its report");
}

void RefuseSeveral(const ReportOptions& options) {
  if (options.others.empty()) return;
  throw Error(
      ErrorKind::kUsage, options.others.front(), "is one file too many: a report is of one",
      "of several measured runs, farscale factors FILES -o factors.json makes a table, and farscale predict FILES "
      "--report DIR a report");
}

int Report(const ReportOptions& options, const Common& common) {
  if (options.form != "allocation") RefuseAllocationOptions(options.allocation);
  RefuseSeveral(options);
  const std::string text = ReadInput(options.results);
  RefuseStudy(options.results);
  if (options.form == "allocation") return WriteAllocationPack(options, common);
  const Results results = ReadResultsJson(text, options.results);
  if (options.output.empty()) {
    throw Error(ErrorKind::kUsage, "--output", "is missing", "-o DIR names the folder of the report");
  }
  const std::set<ReportFormat> formats = FormatsOf(options.formats);
  PrintWritten(WriteReport(results, LoadTemplates(options.templates), options.output, formats), common);
  return 0;
}

}  // namespace

void AddReportCommand(CommandLine& line) {
  auto [command, options] = AddCommand<ReportOptions>(
      line, "report",
      "Render the report of an earlier run again, in other templates, or as an application for computing time", Report);
  command->footer(
      "--form allocation writes times, speedup, efficiency, core hours and a job size for an application for\n"
      "computing time, as Markdown, HTML, LaTeX and CSV. It also takes a factor table (.json or .csv).");
  command->add_option("results", options.results, "results.json of an earlier run")->required();
  command->add_option("others", options.others)->group("");
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
