#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "gate/history_json.h"
#include "gate/result_files.h"
#include "gate/verdicts.h"
#include "models/scaling_model.h"
#include "pages/render.h"
#include "study/input_files.h"

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

// The forms of the verdicts that were asked for, with the files that they go to.
std::vector<std::pair<std::string, std::string>> Outputs(const GateOptions& options, const GateReport& report,
                                                         const FactorTable& table) {
  std::vector<std::pair<std::string, std::string>> outputs;
  const auto add = [&](const std::string& path, const std::string& text) {
    if (!path.empty()) outputs.emplace_back(path, text);
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

int Gate(const GateOptions& options, const Common& common) {
  const Messages messages(common);
  for (const std::string& output :
       {options.json, options.junit, options.markdown, options.badge, options.openmetrics, options.annotations_file}) {
    if (!IsFile(output)) continue;
    for (const std::string& input : options.results) RefuseOverwriting(input, output);
    if (!options.baseline.empty()) RefuseOverwriting(options.baseline, output);
    RefuseOverwriting(options.rules, output);
  }
  const auto& [config, name] = LoadGateRules(options.rules);
  GateRules rules = ParseRules(config, name);
  rules.is_built_in = name != options.rules;
  ProjectionOptionsOf(options.table);  // reports wrong options whether a rule projects or not
  const std::optional<Scaling> scaling = ScalingByName(options.table.scaling);
  GateInput input;
  input.results = ReadResultFiles(options.results, scaling);
  if (input.results.is_results_json) RefuseScaling(input.results.name, options.table.scaling);
  messages.Findings("", input.results.table.findings);
  input.baseline_name = options.baseline;
  Diagnostics diagnostics;
  std::error_code code;
  // A folder is a history, a file one commit of it.
  if (std::filesystem::is_directory(options.baseline, code)) {
    input.baseline = ReadHistory(options.baseline, diagnostics, scaling);
  } else if (!options.baseline.empty()) {
    input.baseline = History{ReadResultFile(options.baseline, scaling)};
    input.baseline->front().accepted.clear();
  }
  input.baseline_findings = diagnostics.findings();
  input.targets.assign(options.targets.begin(), options.targets.end());
  input.project_anew = options.table.AskForModels();
  input.project = [&options](const FactorTable& table, const std::vector<double>& targets) {
    ProjectionOptions projection = ProjectionOptionsOf(options.table);
    projection.targets = targets;
    projection.next_runs = false;
    return Project(table, LoadModels(options.table.model_files), projection);
  };
  const GateReport report = Judge(rules, input);
  messages.Findings(options.baseline, report.baseline_findings);
  const auto outputs = Outputs(options, report, input.results.table);
  std::vector<std::string> paths;
  for (const auto& [path, text] : outputs) paths.push_back(path);
  // An output on standard output replaces the table, except for annotations, which CI servers pick out of the log.
  const bool is_log = options.annotations == "github" && options.annotations_file == "-";
  if ((OnStandardOutput(paths) == 0 || is_log) && !common.quiet) {
    fmt::print("{}", WriteGateTable(report, WidthOfOutput()));
  }
  for (const auto& [path, text] : outputs) WriteOutput(path, text);
  return report.ExitCode();
}

namespace fs = std::filesystem;

// Options of both commands: to show a history, and to add to one.
struct HistoryOptions {
  std::string folder;
  std::string title = "History";
  std::string html, markdown, json, templates;
  std::vector<std::string> results;
  std::string commit, date, accepted, scaling;
};

int AddToHistory(const HistoryOptions& options, const Common& common) {
  MeasuredResults entry;
  // As asked for, else as GitHub, GitLab or Jenkins say it.
  entry.commit =
      options.commit.empty() ? FromEnvironment({"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"}) : options.commit;
  if (entry.commit.empty()) {
    throw Error(ErrorKind::kUsage, "--commit", "the commit of the results is not known",
                "give --commit \"$(git rev-parse HEAD)\", or set GITHUB_SHA, CI_COMMIT_SHA or GIT_COMMIT");
  }
  entry.date = DateGiven(options.date);
  entry.accepted = options.accepted;
  entry.table = ReadResultFiles(options.results, ScalingByName(options.scaling)).table;
  Messages(common).Findings("", entry.table.findings);
  CreateFolder(options.folder);
  const fs::path folder = options.folder;
  fs::path path = folder / FileNameOf(entry);
  const std::string stem = path.stem().string();
  std::error_code code;
  // A second result of a commit is a repeat and gets a file of its own.
  for (int i = 2; fs::exists(path, code); ++i) path = folder / fmt::format("{}-{}.json", stem, i);
  WriteFile(path, WriteHistoryJson(entry));
  if (!common.quiet) fmt::print("wrote {}\n", path.string());
  return 0;
}

int ShowHistory(const HistoryOptions& options, const Common& common) {
  if (options.folder.empty()) {
    throw Error(ErrorKind::kUsage, "history", "no folder is given", "farscale history --help shows how");
  }
  Diagnostics diagnostics;
  const History history = ReadHistory(options.folder, diagnostics);
  const Messages messages(common);
  if (history.empty()) {
    messages.Findings(options.folder, diagnostics.findings());
    throw Error(ErrorKind::kNotEnoughData, options.folder, "holds no results yet",
                "add some with farscale history add");
  }
  const HistoryView view = ViewOf(history, options.title, diagnostics.findings());
  messages.Findings(options.folder, view.findings);
  const ReportTemplates templates = LoadFormTemplates("history", options.templates);
  const std::vector<std::pair<std::string, std::function<std::string()>>> outputs = {
      {options.html, [&] { return WriteHistoryHtml(view, templates); }},
      {options.markdown, [&] { return WriteHistoryMarkdown(view, templates); }},
      {options.json, [&] { return WriteTracksJson(view); }}};
  const std::size_t on_stdout = OnStandardOutput({options.html, options.markdown, options.json});
  for (const auto& [path, write] : outputs) {
    if (!path.empty()) WriteOutput(path, write());
  }
  if (on_stdout > 0 || common.quiet) return 0;
  fmt::print("{}", WriteHistoryTable(view));
  for (const auto& [path, write] : outputs) {
    if (!path.empty()) fmt::print("wrote {}\n", path);
  }
  return 0;
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
  AddChoiceOption(command, "--annotations", options.annotations, {"github", "gitlab"},
                  "Mark rules in the CI server: github or gitlab");
  command->add_option("--annotations-file", options.annotations_file, "File for the annotations (default: -)");
  AddScalingOption(command, options.table.scaling, "How the runs of factor tables scale (default: as they say)");
  AddCoreCountsOption(
      command, "--targets", options.targets,
      "Core counts for rules with cores = \"targets\", separated by commas (default: as in results.json, "
      "else powers of two up to 64 times the largest run)");
  AddModelOptions(command, options.table);
}

void AddHistoryCommand(CommandLine& line) {
  auto [command, options] = AddCommand<HistoryOptions>(
      line, "history", "Keep results of many commits, and draw every factor over them", ShowHistory);
  command->footer(
      "farscale history add RESULTS --into FOLDER adds results with commit and date, farscale history FOLDER shows\n"
      "them. A file name of - is standard output.");
  command->add_option("folder", options.folder, "Folder of the history");
  command->add_option("--title", options.title, "Title of page and tables");
  command->add_option("--html", options.html, "File for a page with charts");
  command->add_option("--markdown", options.markdown, "File for tables in Markdown");
  command->add_option("--json", options.json, "File for all values, steps and last changes as JSON");
  AddTemplatesOption(command, options.templates);

  auto [add, added] =
      AddCommand<HistoryOptions>({*command, line.common, line.action}, "add",
                                 "Add results of one commit; several files are repeats of each other", AddToHistory);
  add->add_option("results", added.results, "results.json, factors.json or a CSV table")->required();
  add->add_option("--into", added.folder, "Folder of the history; created if missing")->required();
  add->add_option("--commit", added.commit, "Commit (default: as GitHub, GitLab or Jenkins say it)");
  add->add_option("--date", added.date,
                  "Date of the commit, like 2026-11-20T12:00:00Z, or now (default: CI_COMMIT_TIMESTAMP, or "
                  "SOURCE_DATE_EPOCH)");
  AddScalingOption(add, added.scaling, "How the runs of factor tables scale (default: as they say)");
  add->add_option("--accept", added.accepted, "Reason for an intended change: baselines begin anew here");
}

}  // namespace farscale
