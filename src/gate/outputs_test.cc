// The forms of verdicts, byte by byte where servers read them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gate/verdicts.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

Judgement Judged(Verdict verdict, const std::string& sentence, std::size_t rule = 0) {
  Judgement judgement;
  judgement.rule = rule;
  judgement.phase = "a|b";
  judgement.quantity = Quantity::Of(Factor::kLoadBalance);
  judgement.cores = {16, 32};
  judgement.verdict = verdict;
  judgement.sentence = sentence;
  judgement.value = 0.75;
  judgement.before = 0.8;
  judgement.change = -0.0625;
  judgement.bound = 0.03;
  judgement.is_change = true;
  return judgement;
}

GateReport Report() {
  GateReport report;
  report.results = report.results_file = "new.json";
  report.rules = "gate.toml";
  Rule strict, lenient;
  strict.text = "loadBalance drops at most 3 %";
  strict.where = "ci/gate.toml:12";
  lenient = strict;
  lenient.only_warns = true;
  report.rule_set.rules = {strict, lenient};
  report.judgements = {Judged(Verdict::kFail, "It dropped, by 6 %."), Judged(Verdict::kPass, "It is <well>."),
                       Judged(Verdict::kUndecided, "It is unknown.", 1)};
  return report;
}

TEST(Outputs, Summary) {
  EXPECT_EQ(SummaryOf(Report()), "Gate failed: 1 failed, 1 without enough data, 1 passed.");
  GateReport off;
  off.rule_set.rules_off = 2;
  EXPECT_EQ(SummaryOf(off), "Gate passed with warnings: nothing judged, every rule is off.");
}

TEST(Outputs, Cells) {
  const JudgementCells cells = CellsOf(Report().judgements.front());
  EXPECT_EQ(cells.cores, "16, 32");
  EXPECT_EQ(cells.baseline, "0.800");
  EXPECT_EQ(cells.value, "0.750");
  EXPECT_EQ(cells.change, "-6.2 %");
  EXPECT_EQ(cells.bound, "-3 %");
  EXPECT_EQ(CellsOf(Judgement()).phase, "-");
}

TEST(Outputs, Junit) {
  const std::string text = WriteGateJunit(Report());
  EXPECT_THAT(text, HasSubstr("<testsuites name=\"farscale gate\" tests=\"3\" failures=\"1\" errors=\"0\">"));
  EXPECT_THAT(text, HasSubstr("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">"));
  EXPECT_THAT(text, HasSubstr("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">"));
  EXPECT_THAT(text, HasSubstr("<failure message=\"It dropped, by 6 %.\" type=\"fail\"/>"));
  EXPECT_THAT(text, HasSubstr("<system-out>It is &lt;well&gt;.</system-out>"));
}

TEST(Outputs, AnnotationsOfGithub) {
  const std::string text = WriteGithubAnnotations(Report());
  EXPECT_THAT(text,
              HasSubstr("::error file=ci/gate.toml,line=12,title=loadBalance of a|b%3A fail::It dropped, by 6 %25."));
  EXPECT_THAT(text, HasSubstr("::warning file=ci/gate.toml,line=12,title=loadBalance of a|b%3A not enough data::"));
  EXPECT_THAT(text, Not(HasSubstr("well")));
  EXPECT_THAT(text, HasSubstr("::notice title=farscale gate::Gate failed"));
}

TEST(Outputs, AnnotationsOfGitlab) {
  const std::string text = WriteGitlabAnnotations(Report());
  EXPECT_THAT(text, HasSubstr("\"severity\": \"critical\""));
  EXPECT_THAT(text, HasSubstr("\"path\": \"ci/gate.toml\""));
  EXPECT_THAT(text, HasSubstr("\"begin\": 12"));
}

TEST(Outputs, MarkdownKeepsNamesAsText) {
  const std::string text = WriteGateMarkdown(Report());
  EXPECT_THAT(text, HasSubstr("\n**a&#124;b:** It dropped, by 6 %.\n"));
  EXPECT_THAT(text, HasSubstr("1 more did not pass: ❔ not enough data: a&#124;b loadBalance -6.2 %\n"));
  EXPECT_THAT(text, Not(HasSubstr("<well>")));
  EXPECT_THAT(text, Not(HasSubstr("](")));
}

// Values 0.8, 0.79 and 0.75 of a range of 0.05: 7, 5.6 and 0 eighths above the first block. The failure by 25 % comes
// before that by 6 %.
TEST(Outputs, MarkdownIsShort) {
  GateReport report = Report();
  report.judgements.insert(report.judgements.begin(), 10, Judged(Verdict::kFail, "It dropped."));
  Judgement worst = Judged(Verdict::kFail, "It dropped by 25 %.");
  worst.value = 0.6;
  worst.blame = Blame{Factor::kTransfer, -0.2, 0.9, false};
  worst.course = {0.8, 0.79, 0.75};
  report.judgements.push_back(worst);
  report.findings = {};
  const std::string text = WriteGateMarkdown(report, "https://ci.example/run 1");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 15);
  EXPECT_THAT(text, HasSubstr("\n**a&#124;b, Transfer:** It dropped by 25 %.\n"));
  EXPECT_THAT(text, HasSubstr("\n`█▇▁` loadBalance of the last 3 commits, the newest on the right\n"));
  EXPECT_THAT(text, HasSubstr("12 more did not pass: "));
  EXPECT_THAT(text, HasSubstr("; 9 others\n"));
  EXPECT_THAT(text, HasSubstr(" [All verdicts and the history](<https://ci.example/run%201>).\n"));
}

TEST(Outputs, Badge) {
  EXPECT_THAT(WriteGateBadge(Report()), HasSubstr("aria-label=\"scaling gate: failed\""));
  GateReport off;
  off.rule_set.rules_off = 1;
  EXPECT_THAT(WriteGateBadge(off), HasSubstr("scaling gate: nothing judged"));
}

TEST(Outputs, OpenMetricsIsComplete) {
  FactorTable table;
  FactorRow row;
  row.phase = "solve";
  row.cores = row.ranks = 4;
  row.runtime = 2;
  row.values[Factor::kLoadBalance] = 0.9;
  table.rows = {row, row};
  const std::string text = WriteOpenMetrics(Report(), table);
  EXPECT_THAT(text, HasSubstr("farscale_factor{series=\"\",phase=\"solve\",cores=\"4\",factor=\"loadBalance\"} 0.9"));
  EXPECT_THAT(text, HasSubstr("farscale_time_per_iteration_seconds{series=\"\",phase=\"solve\",cores=\"4\"} 2"));
  EXPECT_THAT(text, HasSubstr("farscale_gate_judgements{verdict=\"fail\"} 1\n"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

}  // namespace
}  // namespace farscale
