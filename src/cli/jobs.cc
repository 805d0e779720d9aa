// farscale jobs: the measured runs of a folder, as a centre collects them.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "report/jobs/pages.h"
#include "results/collected_jobs.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct JobsOptions {
  std::string folder;
  JobOrder order = JobOrder::kLost;
  std::size_t top = 20;
  std::string output, templates;
};

// By the ending of the output.
std::string Written(const CollectedJobs& jobs, const JobsOptions& options) {
  const std::string& name = options.output;
  if (name == "-" || name.ends_with(".json")) return WriteJobsJson(jobs);
  if (name.ends_with(".csv")) return WriteJobsCsv(jobs);
  const ReportTemplates templates = LoadFormTemplates("jobs", options.templates);
  if (name.ends_with(".html")) return RenderHtml(BuildJobsModel(jobs), templates);
  if (name.ends_with(".md")) return RenderMarkdown(BuildJobsModel(jobs), templates);
  throw Error(ErrorKind::kUsage, "-o " + name, "has no ending that says what to write",
              "choose jobs.html, jobs.md, jobs.json or jobs.csv");
}

int ListJobs(const JobsOptions& options, const Common& common) {
  const CollectedJobs jobs = ReadJobs(options.folder, options.order);
  Messages(common).Findings(options.folder, jobs.findings);
  if (jobs.jobs.empty()) {
    throw Error(ErrorKind::kNotEnoughData, options.folder, "holds no results of farscale measure",
                "docs/how-to/site.md shows how to collect some");
  }
  if (!options.output.empty()) WriteOutput(options.output, Written(jobs, options));
  if (options.output == "-" || common.quiet) return 0;
  fmt::print("{}", WriteJobsTable(jobs, options.top, WidthOfOutput()));
  if (!options.output.empty()) fmt::print("wrote {}\n", options.output);
  return 0;
}

}  // namespace

void AddJobsCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<JobsOptions>(line, "jobs", "List the measured runs of a folder, the worst first", ListJobs);
  command->footer("A centre that measures all jobs finds those worth a look here: docs/how-to/site.md.");
  command->add_option("folder", options.folder, "Folder with results of farscale measure, at any depth")->required();
  const std::map<std::string, JobOrder> orders = {{"efficiency", JobOrder::kEfficiency},
                                                  {"lost", JobOrder::kLost},
                                                  {"started", JobOrder::kStarted},
                                                  {"program", JobOrder::kProgram}};
  command
      ->add_option(
          "--sort", options.order,
          "lost: most lost core hours first (default); efficiency: lowest first; started: newest first; program")
      ->transform(CLI::CheckedTransformer(orders))
      ->option_text("ORDER");
  command->add_option("--top", options.top, "Jobs on the terminal; 0: all")->capture_default_str();
  command->add_option("-o,--output", options.output,
                      "Also write a page or table: .html, .md, .json or .csv; - is JSON");
  AddTemplatesOption(command, options.templates);
}

}  // namespace farscale
