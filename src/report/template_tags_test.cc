// docs/templates.md lists the tags that templates may use: exactly those that the model offers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "report/report.h"
#include "support/losses.h"
#include "support/models.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using Tags = std::set<std::string>;

PictureCell Computation() {
  PictureCell cell{};
  cell[0] = kCellLevels;
  return cell;
}

// A study in which everything happens that a report can tell of.
Results Everything() {
  Results results;
  results.title = "study";
  results.description = "all of it";
  results.table = ReadFactorCsv(
      "phase,cores,loadBalance,serializationEfficiency,transferEfficiency,instructionScaling,runtime\n"
      "step,8,0.95,0.99,0.98,1,1.5\nstep,16,0.9,0.98,0.97,0.99,1.6\nstep,32,0.7,0.97,0.94,0.98,1.7\n",
      "t.csv");
  results.table.scaling = Scaling::kStrong;
  results.table.rows[0].standard_errors[Factor::kLoadBalance] = 0.01;
  CompleteTable(results.table);
  results.phases = {{"step", "region step"}};
  ProjectionOptions options{{}, {64, 1024}, {}};
  options.grown = {{"", "step", {{32, 64, results.table.rows[2].values}}}};
  results.projections = Project(results.table, test::AllModels(), options);
  results.projections[0].next_runs = NextRuns{Factor::kLoadBalance, 64, 0.2, {{64, false, 0.1, 1}}};
  ThreadSplits splits;
  splits.phase = "step";
  splits.splits = {ThreadSplit()};
  splits.gain = ThreadGain();
  splits.splits.front().efficiency = splits.splits.front().time = {0.9, {0.8, 1}};
  splits.splits.front().reliability = Reliability::kReliable;
  results.splits = {{64, {splits}}};
  RunRecord run;
  run.fingerprint = std::string(64, 'a');
  run.cores = run.ranks = 8;
  run.seconds = 4;
  run.findings = {{"unmatchedSend", Severity::kWarning, "messages were lost", 3, 100, "on rank 0"}};
  run.picture.emplace();
  run.picture->seconds = 4;
  run.picture->ranks = 1;
  run.picture->rows = {{Computation()}};
  run.picture->shares[0] = {1, 1, 1, 0, 0};
  IterationRecord iteration;
  iteration.end = iteration.elapsed = 1;
  run.phases = {{"step", {3, iteration}, FactorValues()}};
  run.phases[0].iterations[0].left_out = 1;
  RunRecord failed;
  failed.error = "is damaged";
  results.runs = {run, failed};
  BacktestRow row{"", "step", Factor::kLoadBalance, 16, 0, 0.7, {32, 2, 0.8, {}, {}}, "amdahl"};
  results.backtest = {row};
  results.losses = {test::MakeLosses()};
  results.grown_losses = {test::MakeLosses()};
  results.grown_losses.front().grown_from = 32;
  results.loss_projections = {test::MakeLossProjection()};
  results.variants = {{"clean", "without noise", "replayed", true, results.table, results.projections}};
  return results;
}

// "phases.rows.cells.text" and so on.
void Collect(const ReportData& data, const std::string& path, Tags& tags) {
  if (data.is_array()) {
    for (const ReportData& element : data) Collect(element, path, tags);
  }
  if (!data.is_object()) return;
  for (const auto& [key, value] : data.items()) {
    tags.insert(path + key);
    Collect(value, path + key + ".", tags);
  }
}

// What stands in backticks in a text.
std::vector<std::string> Quoted(const std::string& text) {
  std::vector<std::string> words;
  const std::regex quoted("`([^`]+)`");
  for (std::sregex_iterator i(text.begin(), text.end(), quoted), end; i != end; ++i) words.push_back((*i)[1]);
  return words;
}

// The first column of the table names lists and objects by their paths, the second the tags within.
Tags DocumentedTags() {
  Tags tags;
  bool is_inside = false;
  for (const std::string& line : Split(ReadFile(test::SourceFolder() + "/docs/templates.md"), '\n')) {
    if (line.rfind("## ", 0) == 0) is_inside = line == "## Tags";
    if (!is_inside || line.rfind("| ", 0) != 0) continue;
    const std::vector<std::string> columns = Split(line, '|');
    const std::vector<std::string> paths = columns.at(1) == " top " ? std::vector<std::string>{""} : Quoted(columns[1]);
    for (const std::string& tag : Quoted(columns.at(2))) {
      for (const std::string& path : paths) tags.insert(path.empty() ? tag : path + "." + tag);
    }
  }
  return tags;
}

std::string Missing(const Tags& tags, const Tags& among) {
  std::vector<std::string> missing;
  for (const std::string& tag : tags) {
    if (among.count(tag) == 0) missing.push_back(tag);
  }
  return Join(missing, " ");
}

TEST(Templates, EveryTagIsDocumentedAndEveryDocumentedTagExists) {
  ReportModel model = BuildReportModel(Everything(), test::OwnTexts());
  for (const char* tag : {"style", "styleHash", "script", "scriptHash"}) model.data[tag] = "";  // of RenderHtml
  Tags offered;
  Collect(model.data, "", offered);
  const Tags documented = DocumentedTags();
  EXPECT_EQ(Missing(offered, documented), "") << "to be listed in docs/templates.md";
  EXPECT_EQ(Missing(documented, offered), "") << "listed in docs/templates.md, but there is no such tag";
}

TEST(Templates, EverythingIsRendered) {
  const ReportModel model = BuildReportModel(Everything(), test::OwnTexts());
  const ReportTemplates templates = test::OwnTemplates();
  EXPECT_THAT(RenderHtml(model, templates), testing::HasSubstr("without noise"));
  EXPECT_THAT(RenderMarkdown(model, templates), testing::HasSubstr("without noise"));
  EXPECT_THAT(RenderTemplate(templates.partials.at("report_appendix.md"), model.data, OutputForm::kMarkdown,
                             templates.partials),
              testing::HasSubstr("Grown, not measured: the program on"));
}

}  // namespace
}  // namespace farscale
