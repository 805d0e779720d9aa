#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "gate/outputs.h"
#include "gate/verdicts.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct GateOptions {
  std::vector<std::string> results;
  std::string rules = "default";
  std::string baseline;
  std::string json, junit, markdown, link, badge, openmetrics;
  std::string annotations, annotations_file = "-";
  TableOptions table;  // its models and scaling
  std::vector<std::int64_t> targets;
};

// One form of the verdicts, and where it goes.
struct GateOutput {
  std::string path;
  std::string text;
};

// A folder is a history, a file one commit of it.
History ReadBaseline(const std::string& path, std::optional<Scaling> scaling, Diagnostics& diagnostics) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return ReadHistory(path, diagnostics, scaling);
  MeasuredResults results = ReadResultFile(path, scaling);
  return {HistoryEntry{path, results.commit, results.date, "", std::move(results.table)}};
}

std::vector<GateOutput> OutputsOf(const GateOptions& options, const GateReport& report, const FactorTable& table) {
  std::vector<GateOutput> outputs;
  const auto add = [&](const std::string& path, const std::string& text) {
    if (!path.empty()) outputs.push_back({path, text});
  };
  add(options.json, WriteGateJson(report));
  add(options.junit, WriteGateJunit(report));
  add(options.markdown, WriteGateMarkdown(report, options.link));
  add(options.badge, WriteGateBadge(report));
  add(options.openmetrics, WriteOpenMetrics(report, table));
  if (options.annotations == "github") add(options.annotations_file, WriteGithubAnnotations(report));
  if (options.annotations == "gitlab") add(options.annotations_file, WriteGitlabAnnotations(report));
  return outputs;
}

void RefuseOverwritingInputs(const GateOptions& options) {
  for (const std::string& output :
       {options.json, options.junit, options.markdown, options.badge, options.openmetrics, options.annotations_file}) {
    if (output.empty() || output == "-") continue;
    for (const std::string& input : options.results) RefuseOverwriting(input, output);
    if (!options.baseline.empty()) RefuseOverwriting(options.baseline, output);
    RefuseOverwriting(options.rules, output);
  }
}

// An output on standard output replaces the table, except for annotations, which CI servers pick out of the log.
bool PrintsTable(const std::vector<GateOutput>& outputs, const GateOptions& options) {
  std::vector<std::string> paths;
  for (const GateOutput& output : outputs) paths.push_back(output.path);
  return OnStandardOutput(paths) == 0 || (options.annotations == "github" && options.annotations_file == "-");
}

void RefuseScalingOfResults(const MeasuredResults& results, const std::string& scaling) {
  if (!results.is_results_json || scaling.empty()) return;
  throw Error(ErrorKind::kUsage, "--scaling", results.name + " says how its runs scale",
              "set it in the study; --scaling is for factor tables");
}

GateInput ReadInput(const GateOptions& options, const Messages& messages) {
  const std::optional<Scaling> scaling = ScalingByName(options.table.scaling);
  GateInput input;
  input.results = ReadResultFiles(options.results, scaling);
  RefuseScalingOfResults(input.results, options.table.scaling);
  messages.Findings("", input.results.table.findings);
  input.baseline_name = options.baseline;
  Diagnostics diagnostics;
  if (!options.baseline.empty()) input.baseline = ReadBaseline(options.baseline, scaling, diagnostics);
  input.baseline_findings = diagnostics.findings();
  input.targets.assign(options.targets.begin(), options.targets.end());
  input.project_anew = options.table.AskForModels();
  input.project = [&options](const FactorTable& table, const std::vector<double>& targets) {
    ProjectionOptions projection = ProjectionOptionsOf(options.table);
    projection.targets = targets;
    projection.next_runs = false;
    return Project(table, LoadModels(options.table.model_files), projection);
  };
  return input;
}

int Gate(const GateOptions& options, const Common& common) {
  const Messages messages(common);
  RefuseOverwritingInputs(options);
  const GateRulesFile file = LoadGateRules(options.rules);
  GateRules rules = ParseRules(file.config, file.name);
  rules.is_built_in = file.is_built_in;
  ProjectionOptionsOf(options.table);  // reports wrong options whether a rule projects or not
  const GateInput input = ReadInput(options, messages);
  const GateReport report = Judge(rules, input);
  messages.Findings(options.baseline, report.baseline_findings);
  const std::vector<GateOutput> outputs = OutputsOf(options, report, input.results.table);
  if (PrintsTable(outputs, options) && !common.quiet) fmt::print("{}", WriteGateTable(report, WidthOfOutput()));
  for (const GateOutput& output : outputs) WriteOutput(output.path, output.text);
  return report.ExitCode();
}

}  // namespace

void AddGateCommand(CommandLine& line) {
  auto [command, options] = AddCommand<GateOptions>(
      line, "gate", "Check results against rules and a baseline, for CI: pass, warn, fail or undecided", Gate);
  command->footer(
      "Results and baseline are results.json, factors.json, a CSV table, or entries of a history; several results are\n"
      "repeats of each other. A file name of - is standard output. Exit codes: 0 passed, with warnings or without,\n"
      "1 failed, 4 not enough data. docs/gate.md describes rules, verdicts and outputs.");
  command->add_option("results", options.results, "Results to judge")->required();
  command->add_option("--rules", options.rules, "File of rules, or default, strict or targets (default: default)");
  command->add_option("--baseline", options.baseline,
                      "Earlier results to compare with: a file, or a folder made by farscale history add");
  command->add_option("--json", options.json, "File for the verdicts as JSON");
  command->add_option("--junit", options.junit, "File for the verdicts as JUnit XML");
  command->add_option("--markdown", options.markdown, "File for the verdicts as Markdown, for a pull request");
  command->add_option("--link", options.link, "Address of the verdicts and the history, for the Markdown");
  command->add_option("--badge", options.badge, "File for a badge (SVG)");
  command->add_option("--openmetrics", options.openmetrics, "File for factors and verdicts as OpenMetrics text");
  command->add_option("--annotations", options.annotations, "Mark rules in the CI server: github or gitlab")
      ->check(CLI::IsMember({"github", "gitlab"}));
  command->add_option("--annotations-file", options.annotations_file, "File for the annotations (default: -)");
  AddScalingOption(command, options.table.scaling, "How the runs of factor tables scale (default: as they say)");
  AddTargetsOption(command, options.targets,
                   "Core counts for rules with cores = \"targets\", separated by commas (default: as in results.json, "
                   "else powers of two up to 64 times the largest run)");
  AddModelOptions(command, options.table);
}

}  // namespace farscale
