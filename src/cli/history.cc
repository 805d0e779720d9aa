#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "gate/history_json.h"
#include "gate/history_view.h"
#include "gate/result_files.h"
#include "study/resources.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

struct HistoryOptions {
  std::string folder;
  std::string title = "History";
  std::string html, markdown, json, templates;
};

struct AddOptions {
  std::vector<std::string> results;
  std::string into, commit, date, accepted, scaling;
};

// As asked for, else as GitHub, GitLab or Jenkins say it.
std::string CommitOf(const AddOptions& options) {
  const std::string commit =
      options.commit.empty() ? FromEnvironment({"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"}) : options.commit;
  if (!commit.empty()) return commit;
  throw Error(ErrorKind::kUsage, "--commit", "the commit of the results is not known",
              "give --commit \"$(git rev-parse HEAD)\", or set GITHUB_SHA, CI_COMMIT_SHA or GIT_COMMIT");
}

// A second result of a commit is a repeat and gets a file of its own.
fs::path FreeName(const fs::path& folder, const HistoryEntry& entry) {
  fs::path path = folder / FileNameOf(entry);
  const std::string stem = path.stem().string();
  std::error_code code;
  for (int i = 2; fs::exists(path, code); ++i) path = folder / fmt::format("{}-{}.json", stem, i);
  return path;
}

int AddToHistory(const AddOptions& options, const Common& common) {
  HistoryEntry entry;
  entry.commit = CommitOf(options);
  entry.date = DateGiven(options.date);
  entry.accepted = options.accepted;
  entry.table = ReadResultFiles(options.results, ScalingByName(options.scaling)).table;
  Messages(common).Findings("", entry.table.findings);
  CreateFolder(options.into);
  const fs::path path = FreeName(options.into, entry);
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
      AddCommand<AddOptions>({*command, line.common, line.action}, "add",
                             "Add results of one commit; several files are repeats of each other", AddToHistory);
  add->add_option("results", added.results, "results.json, factors.json or a CSV table")->required();
  add->add_option("--into", added.into, "Folder of the history; created if missing")->required();
  add->add_option("--commit", added.commit, "Commit (default: as GitHub, GitLab or Jenkins say it)");
  add->add_option("--date", added.date,
                  "Date of the commit, like 2026-11-20T12:00:00Z, or now (default: CI_COMMIT_TIMESTAMP, or "
                  "SOURCE_DATE_EPOCH)");
  AddScalingOption(add, added.scaling, "How the runs of factor tables scale (default: as they say)");
  add->add_option("--accept", added.accepted, "Reason for an intended change: baselines begin anew here");
}

}  // namespace farscale
