#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "report/sections.h"
#include "plot/chart.h"
#include "report/figures.h"
#include "results/reported_losses.h"
#include "report/report.h"
#include "results/results_json.h"
#include "plot/canvas.h"
#include "pages/text_table.h"
#include "report/factor_text.h"
#include "support/losses.h"
#include "support/models.h"
#include "support/own_templates.h"
#include "support/temporary_folder.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Results MakeResults(const std::string& phase = "cycle") {
  Results results;
  results.title = "A <b>study</b>";
  results.description = "Weak & strong";
  results.models = "amdahl";
  results.table = ReadFactorCsv("phase,cores,loadBalance,serializationEfficiency,transferEfficiency,runtime\n" + phase +
                                    ",8,0.95,0.99,0.98,1.5\n" + phase + ",16,0.9,0.98,0.97,1.6\n" + phase +
                                    ",32,0.7,0.97,0.94,1.7\n",
                                "t.csv");
  results.table.scaling = Scaling::kWeak;
  results.table.scaling_source = "study";
  results.table.rules = "bsc";
  CompleteTable(results.table);
  RunRecord run;
  run.path = "traces/8.otf2";
  run.fingerprint = std::string(64, 'a');
  run.cores = run.ranks = 8;
  run.nodes = 1;
  run.findings = {{"unmatchedSend", Severity::kWarning, "messages were lost", 3, 100, "on rank 0"}};
  RunRecord failed;
  failed.path = "traces/64.otf2";
  failed.error = "event file is truncated";
  results.runs = {run, failed};
  results.phases = {{phase, "region " + phase}};
  results.projections = Project(results.table, test::AllModels(), {{}, {64, 1024}, {}});
  return results;
}

// What charts are drawn in has to be told apart on a dark ground, too.
TEST(Chart, TheStyleSheetKnowsEveryColour) {
  const std::string style = test::OwnTemplates().style.text;
  for (int i = 0; i < 8; ++i) {
    for (const char* attribute : {"fill", "stroke"}) {
      EXPECT_THAT(style, HasSubstr(fmt::format("svg.chart [{0}=\"{1}\"] {{ {0}: var(--c{2}); }}", attribute,
                                               PaletteColor(i), i)));
    }
  }
  for (const char* color : {kInk, kFaint, kGridLine}) {
    EXPECT_THAT(style, HasSubstr(fmt::format("svg.chart [stroke=\"{}\"]", color)));
  }
}

// "a b" and "a-b" would both be a-b, and a phase must not take the anchor of a section.
TEST(ReportModel, PhasesWithLikeNamesKeepTheirFigures) {
  Results results = MakeResults();
  results.table = ReadFactorCsv(
      "phase,cores,loadBalance\na b,8,0.9\na b,16,0.8\na-b,8,0.7\na-b,16,0.6\nMeasured,8,0.5\nMeasured,16,0.4\n",
      "t.csv");
  CompleteTable(results.table);
  results.projections = Project(results.table, test::AllModels(), {{}, {64}, {}});
  const ReportModel model = BuildReportModel(results, test::OwnTexts());
  EXPECT_EQ(model.data["phases"][0]["anchor"], "a-b");
  EXPECT_EQ(model.data["phases"][1]["anchor"], "a-b-2");
  EXPECT_EQ(model.data["phases"][2]["anchor"], "measured-2");
  EXPECT_EQ(model.figures.size(), 6u);  // overview and fit of each
}

TEST(PopColor, BlueAboveOrangeBelow) {
  EXPECT_EQ(PopColor(1), "#5aa3d6");
  EXPECT_EQ(PopColor(0.5), "#f2a354");
  EXPECT_EQ(PopColor(0.1), "#f2a354");
  EXPECT_EQ(PopColor(1.4), "#5aa3d6");
  EXPECT_NE(PopColor(0.81), PopColor(0.79));
}

// Steps of 0.05 up to 0.95; whole steps belong to the better side.
TEST(PopTone, OrangeToBlue) {
  std::string tones;
  for (const double value : {0.1, 0.499, 0.5, 0.799, 0.8, 0.85, 0.949, 0.95, 1.0, 1.4}) tones += PopTone(value);
  EXPECT_EQ(tones, "0016789aaa");
}

TEST(Render, TagWithoutValueIsAnErrorWithFileAndLine) {
  try {
    RenderTemplate({"one\n{{known}} {{unknown}}\n", "t.mustache"}, {{"known", "x"}}, OutputForm::kHtml);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("t.mustache:2: the tag 'unknown' has no value"));
  }
}

std::string ErrorOf(const std::string& text, const Partials& partials = {}) {
  try {
    RenderTemplate({text, "t"}, {{"a", "x"}, {"list", {{{"b", "y"}}}}}, OutputForm::kHtml, partials);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "rendered";
}

// The first `b` has a value where it stands.
TEST(Render, ErrorsAreWhereTheTagIs) {
  EXPECT_THAT(ErrorOf("{{#list}}{{b}}{{/list}}\n{{a}}\n{{b}} {{a}}"), HasSubstr("t:3: the tag 'b' has no value"));
  EXPECT_THAT(ErrorOf("\n{{list}}"), HasSubstr("t:2: the tag 'list' is no text that could be printed"));
  EXPECT_THAT(ErrorOf("{{a}}\n{{#list}}\n{{/a}}"), HasSubstr("t:3: closes the section 'a'"));
  EXPECT_THAT(ErrorOf("{{a}}\n{{/a}}"), HasSubstr("t:2: closes the section 'a'"));
  EXPECT_THAT(ErrorOf("\n{{#list}}"), HasSubstr("t:2: the section 'list' is not closed"));
  EXPECT_THAT(ErrorOf("\n{{a"), HasSubstr("t:2: the tag does not end"));
  EXPECT_THAT(ErrorOf("\n{{ }}"), HasSubstr("t:2: the tag has no name"));
}

TEST(Render, Partials) {
  const Partials partials = {{"row", {"<{{b}}>\n", "row.mustache"}}, {"name", {"{{a}}", "name.mustache"}}};
  const ReportData data = {{"a", "x"}, {"list", {{{"b", "1"}}, {{"b", "2"}}}}};
  const auto render = [&](const std::string& text) {
    return RenderTemplate({text, "t"}, data, OutputForm::kHtml, partials);
  };
  EXPECT_EQ(render("{{#list}}\n  {{> row}}\n{{/list}}\nend\n"), "<1>\n<2>\nend\n");
  EXPECT_EQ(render("({{>name}})\n"), "(x)\n");
  EXPECT_EQ(render("{{! what is\nleft out }}\n{{=<% %>=}}\n<%a%>{{a}}<%& a %>\n"), "x{{a}}x\n");
}

TEST(Render, ErrorsOfPartials) {
  const Partials partials = {{"row", {"\n{{c}}", "row.mustache"}},
                             {"open", {"{{#list}}", "open.mustache"}},
                             {"self", {"{{> other}}", "self.mustache"}},
                             {"other", {"\n{{> self}}", "other.mustache"}}};
  EXPECT_THAT(ErrorOf("\n\n{{> row}}", partials), HasSubstr("row.mustache:2: the tag 'c' has no value"));
  EXPECT_THAT(ErrorOf("{{> open}}{{/list}}", partials), HasSubstr("open.mustache:1: the section 'list' is not closed"));
  EXPECT_THAT(ErrorOf("{{> self}}", partials), HasSubstr("other.mustache:2: the partial 'self' contains itself"));
  EXPECT_THAT(ErrorOf("\n{{> rows}}", partials), HasSubstr("t:2: there is no partial 'rows'; did you mean 'row'?"));
}

TEST(Render, MalformedTemplate) {
  EXPECT_THROW(RenderTemplate({"{{#open}}", "t"}, {{"open", true}}, OutputForm::kHtml), Error);
}

TEST(Render, EscapesForTheTarget) {
  const ReportData data = {{"name", "<script>|x_y"}};
  EXPECT_EQ(RenderTemplate({"{{name}}", "t"}, data, OutputForm::kHtml), "&lt;script&gt;|x_y");
  EXPECT_EQ(RenderTemplate({"{{name}}", "t"}, data, OutputForm::kMarkdown), "\\<script\\>\\|x\\_y");
  EXPECT_EQ(RenderTemplate({"{{name}}", "t"}, {{"name", "$a$ ~~b~~"}}, OutputForm::kMarkdown), "\\$a\\$ \\~\\~b\\~\\~");
  EXPECT_EQ(RenderTemplate({"{{{name}}}", "t"}, data, OutputForm::kHtml), "<script>|x_y");
}

TEST(Render, TextForTheTerminal) {
  const ReportData data = {{"none", ReportData::array()},
                           {"rows", {{{"name", "a|b"}, {"value", "1"}}, {{"name", "\u00a0c"}, {"value", "10"}}}}};
  const Partials templates = {{"t.txt",
                               {"title\n\n{{#none}}\nnone\n{{/none}}\n\n| name | value |\n{{#rows}}\n| {{name}} | "
                                "{{value}} | more |\n{{/rows}}\n\n",
                                "t.txt.mustache"}}};
  EXPECT_EQ(RenderText(templates, "t.txt", data), "title\n\nname  value\na|b       1  more\n c       10  more\n");
}

TEST(Report, HtmlSaysWhatWasFound) {
  const ReportModel model = BuildReportModel(MakeResults(), test::OwnTexts());
  const std::string html = RenderHtml(model, test::OwnTemplates());
  EXPECT_THAT(html, HasSubstr("A &lt;b&gt;study&lt;/b&gt;"));
  EXPECT_THAT(html, HasSubstr("Keeps 75 % "));
  EXPECT_THAT(html, HasSubstr("load balance costs most"));
  EXPECT_THAT(html, HasSubstr("event file is truncated"));
  EXPECT_THAT(html, HasSubstr("messages were lost (3 of 100, first on rank 0)"));
  EXPECT_THAT(html, HasSubstr(std::string(64, 'a')));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("What the factors mean"));
  // Offline: nothing is fetched from anywhere.
  EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)=\"(https?:)?//")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
}

Results MakeResultsWithErrors() {
  Results results = MakeResults();
  results.table.rows[0].standard_errors[Factor::kLoadBalance] = 0.0123;
  results.table.rows[0].standard_errors[Factor::kTransfer] = 0.0004;  // would print as 0.000
  results.table.rows[1].standard_errors[Factor::kLoadBalance] = 0.03;
  results.table.rows[1].runtime_error = 0.02;
  results.projections = Project(results.table, test::AllModels(), {{}, {64, 1024}, {}});
  return results;
}

TEST(Report, StandardErrorsStandBesideTheirValues) {
  const ReportModel model = BuildReportModel(MakeResultsWithErrors(), test::OwnTexts());
  const std::string html = RenderHtml(model, test::OwnTemplates());
  EXPECT_THAT(html, HasSubstr("0.950 ± 0.012<"));
  EXPECT_THAT(html, HasSubstr("1.60 s ± 20.0 ms<"));
  EXPECT_THAT(html, testing::ContainsRegex("<td class=tone-.>0.980"));
  EXPECT_THAT(html, HasSubstr("standard errors of single runs"));
  EXPECT_THAT(
      html,
      HasSubstr(
          "Runs are weighted by the spread of their iterations, their loss and their distance from the largest run"));
  const ReportTemplates templates = test::OwnTemplates();
  const std::string markdown =
      RenderTemplate(templates.markdown, model.data, OutputForm::kMarkdown, templates.partials);
  EXPECT_THAT(markdown, HasSubstr(" 0.950 ± 0.012 |"));
  EXPECT_THAT(test::OwnHtml(MakeResults()), Not(HasSubstr("of single runs")));
}

// A row a hidden value: of parallel efficiency 64 cores from 16, 64 from 32, and so on.
BacktestRow HiddenValue(Factor factor, double train_max, double measured, double value, double reach) {
  BacktestRow row{"", "cycle", factor, train_max, 0, measured, {64, 64 / train_max, value, {}, {}}, "amdahl"};
  row.predicted.interval80 = IntervalBounds{value - reach, value + reach};
  row.predicted.interval95 = IntervalBounds{value - 2 * reach, value + 2 * reach};
  return row;
}

// Parallel efficiency is off by 10 and 20 %. 0.55 lies in 0.5 ± 0.06, 0.6 in 0.5 ± 0.12 only, 0.9 not in 0.5 ± 0.12.
Results MakeResultsWithBacktest() {
  Results results = MakeResults();
  results.backtest = {HiddenValue(Factor::kParallelEfficiency, 16, 0.5, 0.55, 0.06),
                      HiddenValue(Factor::kParallelEfficiency, 32, 0.5, 0.4, 0.06),
                      HiddenValue(Factor::kLoadBalance, 32, 0.9, 0.5, 0.06)};
  for (std::size_t i : {0u, 1u}) results.backtest[i].model = kProduct;
  results.backtest.push_back(results.backtest.back());
  results.backtest.back().phase = "another";
  return results;
}

TEST(Backtest, SaysHowManyHiddenValuesWereMet) {
  const Results results = MakeResultsWithBacktest();
  const std::string sentence =
      "Backtest: larger runs predicted from smaller ones. 1 of 3 values lie within their 80 % intervals, 2 within 95 "
      "%; median error of parallel efficiency: 15.0 %.";
  EXPECT_THAT(SummarizeBacktest(results, "", "cycle", test::OwnTexts()), testing::ElementsAre(sentence));
  EXPECT_THAT(SummarizeBacktest(results, "", "none", test::OwnTexts()), testing::IsEmpty());
  const ReportModel model = BuildReportModel(results, test::OwnTexts());
  const std::string html = RenderHtml(model, test::OwnTemplates());
  EXPECT_THAT(html, HasSubstr("<p>" + sentence + "</p>"));
  EXPECT_THAT(html, HasSubstr("<th scope=row>Parallel efficiency<td>16<td>64<td>4.0×<td>0.500"
                              "<td>0.550<td>0.490 – 0.610<td>+10.0 %<td>80 %"));
  EXPECT_THAT(html, HasSubstr("<td>-44.4 %<td class=outside>neither"));
  const ReportTemplates templates = test::OwnTemplates();
  const std::string markdown = RenderTemplate(templates.partials.at("report_appendix.md"), model.data,
                                              OutputForm::kMarkdown, templates.partials);
  EXPECT_THAT(markdown, HasSubstr("|  | 32 | 64 | 2.0× | 0.500 | 0.400 | 0.340 – 0.460 | -20.0 % | 95 % |"));
  EXPECT_THAT(markdown, Not(HasSubstr("from fewer runs")));
}

TEST(Backtest, NoSectionWithoutOne) { EXPECT_FALSE(BacktestSection(MakeResults(), "", "cycle", test::OwnTexts())); }

// 50 values from 16 cores and 20 from 32: the sentence counts all, the table shows the latter.
TEST(Backtest, LongTablesShowTheLargestSplits) {
  Results results;
  for (int i = 0; i < 70; ++i) {
    results.backtest.push_back(HiddenValue(Factor::kLoadBalance, i < 50 ? 16 : 32, 0.9, 0.9, 0.01));
  }
  const ReportData section = BacktestSection(results, "", "cycle", test::OwnTexts());
  EXPECT_THAT(section["sentences"].at(0).get<std::string>(), HasSubstr("70 of 70"));
  EXPECT_EQ(section["rows"].size(), 20u);
  EXPECT_TRUE(section["isShortened"].get<bool>());
}

TEST(Report, NamesFromTracesStayText) {
  const std::string html = test::OwnHtml(MakeResults("</script><script>alert(1)</script>"));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"));
}

// Only what stands in the two elements may act on the page, byte by byte.
TEST(Report, ThePolicyAllowsStyleAndScriptAlone) {
  ReportTemplates templates = test::OwnTemplates();
  const std::string html = RenderHtml(BuildReportModel(MakeResults(), test::OwnTexts()), templates);
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-" + Sha256Base64(templates.script.text) +
                              "'; style-src 'sha256-" + Sha256Base64(templates.style.text) +
                              "'; base-uri 'none'; form-action 'none'"));
  EXPECT_THAT(html, HasSubstr("<style>" + templates.style.text + "</style>"));
  EXPECT_THAT(html, HasSubstr("<script>" + templates.script.text + "</script>"));
  EXPECT_THAT(html, Not(HasSubstr(" style=")));
  EXPECT_THAT(html, Not(HasSubstr(" onclick=")));
  templates.style = {"/* 1\n*/ </STYLE>", "mine/style.css"};
  try {
    RenderHtml(BuildReportModel(MakeResults(), test::OwnTexts()), templates);
    FAIL() << "a style sheet that ends its element was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "mine/style.css:2");
  }
}

TEST(Report, JsonForScriptsEndsNone) {
  EXPECT_EQ(ToScriptJson({{"name", "</script><!--"}}), "{\"name\":\"\\u003c/script>\\u003c!--\"}");
}

// What the script of the page makes of codes.
std::vector<std::string> Decoded(const ReportData& choices, const std::string& codes) {
  const auto width = choices["width"].get<std::size_t>();
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < codes.size(); at += width) {
    const std::size_t number = std::stoul(codes.substr(at, width), nullptr, 36);
    texts.push_back(number < 1000 ? fmt::format("0.{:03}", number)
                                  : choices["texts"][number - 1000].get<std::string>());
  }
  return texts;
}

// Beyond the reliable range there is an interval and no value, in the first table shown and in what readers choose.
TEST(Report, SampledValuesKeepToTheReliableRange) {
  Results results = MakeResults();
  results.projections[0].reliable_range =
      ReliableRange{Factor::kParallelEfficiency, {1, 0.45}, 64, ReliableRange::Reach::kUpTo};
  const PhaseProjection& projection = results.projections[0];
  const auto [sampled, choices] = SampleValues({{"projected", &projection}}, "cycle");
  EXPECT_EQ(sampled["cores"], "64");
  EXPECT_EQ(sampled["ratio"], "2.0×");
  EXPECT_EQ(choices["counts"].front(), "8");
  EXPECT_EQ(choices["counts"].back(), "1,024");
  for (const FactorProjection& factor : projection.factors) {
    const std::string id(Describe(factor.factor).id);
    const ReportData& texts = choices["sides"][0]["factors"][id];
    const std::vector<std::string> values = Decoded(choices, texts["values"]);
    ASSERT_EQ(values.size(), 3 * choices["numbers"].size());
    for (std::size_t i = 0; i < values.size(); i += 3) {
      const bool is_reliable = IsReliable(projection, factor.factor, choices["numbers"][i / 3].get<double>());
      EXPECT_EQ(values[i] != "-", is_reliable) << id << " " << values[i];
    }
  }
  const ReportData& balance = choices["sides"][0]["factors"]["loadBalance"];
  EXPECT_EQ(Decoded(choices, balance["measured"])[1], "0.950");  // at place 0
}

// On 32 cores 0.638 was measured, 0.7 · 0.97 · 0.94; the curves say something else, and are never called measured.
TEST(Report, ProjectedIsCalledProjected) {
  Results results = MakeResults();
  results.projections = Project(results.table, test::AllModels(), {{}, {32, 64}, {}});
  const ReportModel model = BuildReportModel(results, test::OwnTexts());
  const ReportData& phase = model.data["phases"][0];
  EXPECT_EQ(phase["projection"]["sampled"]["machines"][0]["name"], "projected");
  const auto measured_in = [](const ReportData& cells) {
    std::vector<std::string> measured;
    for (const ReportData& cell : cells) measured.push_back(cell["measured"].get<std::string>());
    return measured;
  };
  EXPECT_THAT(measured_in(phase["projection"]["targets"][0]["cells"]), Contains("0.638"));
  EXPECT_THAT(measured_in(phase["projection"]["targets"][1]["cells"]), testing::Each(""));
  const std::string html = RenderHtml(model, test::OwnTemplates());
  EXPECT_THAT(html, Not(HasSubstr("<th scope=col>as measured")));
  EXPECT_THAT(html, HasSubstr("<br><small>measured 0.638</small>"));
  const test::TemporaryFolder folder;
  WriteReport(results, test::OwnTemplates(), folder / "report", {ReportFormat::kMarkdown});
  EXPECT_THAT(ReadFile(folder / "report" / "report.md"), HasSubstr(" (measured 0.638) |"));
  EXPECT_THAT(FormatProjections(results.projections, results.table, test::OwnTexts()), HasSubstr(" (measured 0.638)"));
  results.projections = Project(results.table, test::AllModels(), {{}, {32}, {}});
  EXPECT_THAT(SummarizePhase(results.table.Rows("", "cycle"), &results.projections[0], test::OwnTexts()),
              Contains(testing::EndsWith("; measured there: 0.638.")));
  EXPECT_THAT(SummarizePhase(results.table.Rows("", "cycle"), &results.projections[0], test::OwnTexts()),
              Contains(HasSubstr("Largest loss of global efficiency: ")));
}

// Parallel efficiency is 0.98 · 0.97 · 0.95 = 0.903, global efficiency 0.903 · 0.885 = 0.799.
TEST(Summary, TheEfficiencyIsOneThatTheWorstFactorIsPartOf) {
  const auto headline = [](const std::string& columns, const std::string& first, const std::string& second) {
    FactorTable table = ReadFactorCsv("cores," + columns + "\n8," + first + "\n16," + second + "\n", "t.csv");
    table.scaling = Scaling::kStrong;
    CompleteTable(table);
    return SummarizePhase(table.Rows("", ""), nullptr, test::OwnTexts()).at(0);
  };
  const std::string leaves = "loadBalance,serializationEfficiency,transferEfficiency";
  EXPECT_EQ(headline(leaves + ",computationScalability", "1,1,1,1", "0.98,0.97,0.95,0.885"),
            "16 cores (largest run): global efficiency 0.799, parallel efficiency 0.903; largest loss: computation "
            "scalability (0.885).");
  EXPECT_EQ(headline(leaves + ",computationScalability", "1,1,1,1", "0.88,0.97,0.95,0.885"),
            "16 cores (largest run): parallel efficiency 0.811; largest loss: load balance (0.880).");
  EXPECT_EQ(headline(leaves, "1,1,1", "0.98,0.97,0.95"),
            "16 cores (largest run): parallel efficiency 0.903; largest loss: transfer (0.950).");
  EXPECT_EQ(headline("parallelEfficiency", "1", "0.9"), "16 cores (largest run): parallel efficiency 0.900.");
  EXPECT_EQ(headline("parallelEfficiency,computationScalability", "1,1", "0.9,0.95"),
            "16 cores (largest run): global efficiency 0.855; largest loss: parallel efficiency (0.900).");
}

// Whole counts, each once, with those measured, the targets and the end of the reliable range among them.
TEST(Report, ReadersChooseWholeCounts) {
  Results results = MakeResults();
  results.projections[0].reliable_range =
      ReliableRange{Factor::kParallelEfficiency, {1, 0.45}, 61, ReliableRange::Reach::kUpTo};
  const auto [sampled, choices] = SampleValues({{"projected", &results.projections[0]}}, "cycle");
  const auto numbers = choices["numbers"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()), numbers.end());
  EXPECT_THAT(numbers, testing::IsSupersetOf({8, 16, 32, 61, 64, 1024}));
  EXPECT_EQ(numbers.at(choices["lastReliable"].get<std::size_t>()), 61);
  EXPECT_EQ(choices["uncertain"], "Uncertain: reliable only up to 61 cores.");
}

TEST(Report, EveryFormAndFigureIsWritten) {
  const test::TemporaryFolder folder;
  const auto files =
      WriteReport(MakeResults(), test::OwnTemplates(), folder / "report",
                  {ReportFormat::kHtml, ReportFormat::kMarkdown, ReportFormat::kJson, ReportFormat::kCsv});
  const std::string markdown = ReadFile(folder / "report" / "report.md") + ReadFile(folder / "report" / "appendix.md");
  int figures = 0;
  const std::regex link("\\]\\((figures/[^)]+)\\)");
  for (std::sregex_iterator i(markdown.begin(), markdown.end(), link), end; i != end; ++i, ++figures) {
    EXPECT_TRUE(std::filesystem::exists(folder / "report" / (*i)[1].str()));
  }
  EXPECT_EQ(figures, 5);  // overview, load balance, serialization, transfer, computation scalability
  EXPECT_EQ(files.size(), 6u + 5u);
}

TEST(Report, AFileInTheWayLeavesNothingHalfWritten) {
  const test::TemporaryFolder folder;
  folder.Write("report", "");
  EXPECT_THROW(WriteReport(MakeResults(), test::OwnTemplates(), folder / "report", {ReportFormat::kHtml}), Error);
}

// From its JSON a report comes out the same.
TEST(Results, ReadBackGivesTheSameReport) {
  const Results results = MakeResultsWithBacktest();
  const std::string json = WriteResultsJson(results);
  const Results again = ReadResultsJson(json, "results.json");
  EXPECT_EQ(WriteResultsJson(again), json);
  const test::TemporaryFolder folder;
  WriteReport(results, test::OwnTemplates(), folder / "a", {ReportFormat::kHtml});
  WriteReport(again, test::OwnTemplates(), folder / "b", {ReportFormat::kHtml});
  EXPECT_EQ(ReadFile(folder / "a" / "report.html"), ReadFile(folder / "b" / "report.html"));
  EXPECT_EQ(ReadTableFromJson(json, "f").rows, results.table.rows);
  EXPECT_EQ(again.backtest, results.backtest);
  EXPECT_THAT(WriteResultsJson(MakeResults()), Not(HasSubstr("backtest")));  // as earlier versions wrote it
}

// The same of losses, of which a report keeps what it shows.
TEST(Results, LossesReadBackGiveTheSameReport) {
  Results results = MakeResults();
  LossRecord losses = test::MakeLosses(32);
  losses.phase = "cycle";
  results.losses = LossesForReport({test::MakeLosses(16), losses});
  ASSERT_EQ(results.losses.size(), 2u);  // of two phases
  results.loss_projections = {test::MakeLossProjection()};
  results.loss_projections[0].phase = "cycle";
  const std::string json = WriteResultsJson(results), html = test::OwnHtml(results);
  const Results again = ReadResultsJson(json, "results.json");
  EXPECT_EQ(WriteResultsJson(again), json);
  EXPECT_EQ(test::OwnHtml(again), html);
  EXPECT_THAT(
      html,
      HasSubstr("50.0 % of the waiting is caused by main / work, all of it charged to rank 1, the last to arrive."));
  EXPECT_THAT(html, HasSubstr("64 cores: main / work causes practically all of the waiting."));
  EXPECT_THROW(ReadResultsJson(std::regex_replace(json, std::regex("delayCosts"), "luck"), "f"), Error);
}

// Of 100 ranks in 3 paths the two with most stay, and rasters of 32 rows; all in the path of a heat map with a grid.
TEST(Results, LossesAreReducedToWhatIsShown) {
  LossRecord losses = test::MakeLosses();
  losses.grid.reset();
  losses.run_ranks = 100;
  losses.ranks.resize(100);
  std::iota(losses.ranks.begin(), losses.ranks.end(), 0);
  for (PathRecord& path : losses.paths) {
    path.waiting.assign(100, 0.1);
    path.costs.assign(100, 0.001);
    path.costs[7] = 1.23456;
    path.raster = {64, 4, std::vector<double>(256, 1)};
  }
  const LossRecord reduced = LossesForReport({losses})[0];
  EXPECT_EQ(reduced.paths[0].raster, (LossRaster{32, 4, std::vector<double>(128, 2)}));
  EXPECT_EQ(reduced.paths[0].costs[7], 1.235);
  EXPECT_EQ(std::count(reduced.paths[0].costs.begin(), reduced.paths[0].costs.end(), 0), 98);
  EXPECT_EQ(reduced.Costs(), losses.Costs());
  losses.grid = ProcessGrid{{10, 10}, {false, false}, {}, false, GridSource::kMessages, 1};
  EXPECT_EQ(std::count(reduced.paths[0].costs.begin(), reduced.paths[0].costs.end(), 0), 98);
  EXPECT_EQ(LossesForReport({losses})[0].paths[0].costs[99], 0.001);
}

// A phase "io / write" and a group "pme" of every other phase beside what the results have.
Results WithGroups(Results results) {
  const auto add = [](auto& list, auto phase_of) {
    const auto before = list;
    for (const auto& one : before) {
      list.push_back(one);
      phase_of(list.back()).group = "pme";
    }
    list.push_back(before.front());
    phase_of(list.back()) = "io / write";
  };
  add(results.phases, [](PhaseRecord& phase) -> PhaseId& { return phase.id; });
  add(results.projections, [](PhaseProjection& projection) -> PhaseId& { return projection.phase; });
  add(results.backtest, [](BacktestRow& row) -> PhaseId& { return row.phase; });
  add(results.table.rows, [](FactorRow& row) -> PhaseId& { return row.phase; });
  for (FactorRow& row : results.table.rows) row.ranks = row.phase.IsGroup() ? 1 : row.cores / row.threads;
  return results;
}

// As version 1 had it: groups are in the text of the phase.
void MakeOld(nlohmann::ordered_json& json) {
  for (auto& child : json) {
    if (child.is_structured()) MakeOld(child);
  }
  if (!json.is_object()) return;
  if (json.contains("version")) json["version"] = 1;
  if (!json.contains("group")) return;
  const char* key = json.contains("phase") ? "phase" : "name";
  json[key] = json[key].get<std::string>() + " / " + json["group"].get<std::string>();
  json.erase("group");
}

TEST(Results, GroupsOfRanksInFilesOfBothVersions) {
  Results results = MakeResultsWithBacktest();
  for (BacktestRow& row : results.backtest) row.phase = "cycle";
  results = WithGroups(std::move(results));
  results.variants = {{"slow", "slow", "", true, results.table, results.projections}};
  const std::string json = WriteResultsJson(results);
  EXPECT_TRUE(WriteResultsJson(ReadResultsJson(json, "f")) == json);  // long, so it is not printed
  nlohmann::ordered_json old = nlohmann::ordered_json::parse(json);
  MakeOld(old);
  old.erase("checksum");  // which older versions did not write
  ASSERT_THAT(old.dump(), Not(HasSubstr("\"group\"")));
  EXPECT_TRUE(WriteResultsJson(ReadResultsJson(old.dump(), "f")) == json);
}

TEST(Results, ErrorsOfOtherFiles) {
  EXPECT_THROW(ReadResultsJson("{}", "f"), Error);
  EXPECT_THROW(ReadResultsJson("nonsense", "f"), Error);
  EXPECT_THROW(ReadResultsJson("{\"format\": 7}", "f"), Error);
  EXPECT_THROW(ReadResultsJson("{\"format\": \"farscale-results\", \"version\": 1}", "f"), Error);
  EXPECT_THROW(ReadTableFromJson("{\"format\": \"else\"}", "f"), Error);
}

TEST(Summary, WithoutProjectionSaysWhy) {
  PhaseProjection projection;
  projection.obstacle = "there is one run";
  const auto sentences = SummarizePhase(MakeResults().table.rows, &projection, test::OwnTexts());
  EXPECT_EQ(sentences.back(), "No prediction: there is one run.");
}

TEST(TextTable, Aligns) {
  EXPECT_EQ(FormatTable({{"name", "n", ""}, {"µ", "10", "text"}, {"longer", "1", "t"}}),
            "name     n\n"
            "µ       10  text\n"
            "longer   1  t\n");
}

// A column of errors behind every run that has some.
TEST(TextTable, StandardErrors) {
  const std::string factors = FormatFactorTable(MakeResultsWithErrors().table);
  EXPECT_THAT(factors, HasSubstr("cores                              8      ±      16        ±      32\n"));
  EXPECT_THAT(factors, HasSubstr("    Load balance               0.950  0.012   0.900    0.030   0.700\n"));
  EXPECT_THAT(factors, HasSubstr("Run time                      1.50 s         1.60 s  20.0 ms  1.70 s\n"));
}

TEST(TextTable, Backtests) {
  const std::vector<BacktestRow> rows = MakeResultsWithBacktest().backtest;
  EXPECT_EQ(
      FormatErrors(ErrorsByRatio(rows)),
      "factor               ratio  points  median error  90th percentile  in 80 %  score 80 %  in 95 %  score 95 %\n"
      "Parallel efficiency     2×       1        20.0 %           20.0 %    0.0 %        0.52  100.0 %        0.24\n"
      "                        4×       1        10.0 %           10.0 %  100.0 %        0.12  100.0 %        0.24\n"
      "Load balance            2×       2        44.4 %           44.4 %    0.0 %         3.5    0.0 %          11\n");
  EXPECT_THAT(FormatErrorsByPhase(rows, Factor::kLoadBalance), HasSubstr("Load balance   points  median error"));
  std::vector<BacktestRow> others = rows;
  others[1].predicted.value = 0.45;
  others[1].predicted.interval80->high = 0.4;
  others[2].predicted.interval80.reset();
  EXPECT_THAT(FormatErrors(ErrorsByRatio(others)), HasSubstr("\n1 points have no interval\n"));
  const std::string text = FormatComparison(CompareBacktests(rows, others, "amdahl"));
  // Off by 20 and 10 %; 0.12 + 10 · 0.04 = 0.52 against 0.06 + 10 · 0.1 = 1.06.
  EXPECT_THAT(text, HasSubstr("2×       1        20.0 %  10.0 %           20.0 %  10.0 %        0.52     1.1  0.49×"));
}

TEST(TextTable, FactorsAndProjections) {
  const Results results = MakeResults();
  const std::string factors = FormatFactorTable(results.table);
  EXPECT_THAT(factors, HasSubstr("Phase cycle\n"));
  EXPECT_THAT(factors, HasSubstr("Load balance"));
  EXPECT_THAT(factors, HasSubstr("Load balance               0.950   0.900   0.700"));
  const std::string projections = FormatProjections(results.projections, results.table, test::OwnTexts());
  EXPECT_THAT(projections, HasSubstr("80 % interval"));
  EXPECT_THAT(projections, HasSubstr("1,024"));
}

}  // namespace
}  // namespace farscale
