#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "report/results_json.h"
#include "report/write_report.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct ReportOptions {
  std::string results;
  std::string output;
  std::string templates;
  std::vector<std::string> formats;
};

int Report(const ReportOptions& options, const Common& common) {
  std::set<ReportFormat> formats;
  for (const std::string& name : options.formats) {
    const auto format = ReportFormatByName(name);
    if (!format) {
      throw Error(ErrorKind::kUsage, "--format", "unknown format '" + name + "'",
                  "there are " + Join(ReportFormatNames(), ", "));
    }
    formats.insert(*format);
  }
  const Results results = ReadResultsJson(ReadFile(options.results), options.results);
  for (const auto& file : WriteReport(results, LoadTemplates(options.templates), options.output, formats)) {
    if (!common.quiet && file.parent_path().filename() != "figures") fmt::print("wrote {}\n", file.string());
  }
  return 0;
}

}  // namespace

void AddReportCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<ReportOptions>();
  options->formats = {"html", "markdown", "csv"};
  CLI::App* command = app.add_subcommand("report", "Render the report of an earlier run again, or in other templates");
  command->add_option("results", options->results, "results.json of an earlier run")->required();
  command->add_option("-o,--output", options->output, "Folder of the report")->required();
  command->add_option("--templates", options->templates,
                      "Folder with templates of your own; what it lacks comes from farscale (docs/templates.md)");
  command->add_option("--format", options->formats, "html, markdown, json, csv, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->callback([options, &common, &action] { action = [options, &common] { return Report(*options, common); }; });
}

}  // namespace farscale
