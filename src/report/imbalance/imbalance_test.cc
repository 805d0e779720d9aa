#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "plot/heat_map.h"
#include "report/imbalance/losses.h"
#include "results/reported_losses.h"
#include "results/results_json.h"
#include "support/losses.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Sentences(const LossRecord& losses) { return SummarizeLosses(losses, test::OwnTexts()); }

ReportData Section(const LossRecord& losses, const LossDetail& detail = {}) {
  return DescribePhaseLosses(losses, ReportData::array(), "step", test::OwnTexts(), detail);
}

// Two of four iterations in either half: 0 1 | 2 3 and 4 5 | 6 7 become 1 5 and 9 13.
TEST(HeatMap, NeighboursAreAddedUp) {
  const LossRaster raster{2, 4, {0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(Joined(raster, 2, 2), (LossRaster{2, 2, {1, 5, 9, 13}}));
  EXPECT_EQ(Joined(raster, 1, 1), (LossRaster{1, 1, {28}}));
  EXPECT_EQ(Joined(raster, 8, 8), raster);
}

// Cells of one strength are one path; 1 of 8 is the weakest of eight steps, and nothing is not drawn.
TEST(HeatMap, StrengthTellsTheValue) {
  const std::string svg =
      RenderHeatMap({2, 3, {0, 1, 8, 8, 8, 0}}, {"rank 0", "1", "iteration 1", "3", "8 ms"}, "costs", "of <two> ranks");
  EXPECT_THAT(svg, HasSubstr("role=\"img\""));
  EXPECT_THAT(svg, HasSubstr("<desc>of &lt;two&gt; ranks</desc>"));
  EXPECT_THAT(svg, HasSubstr("stroke-opacity=\"0.125\" d=\"M1 0h1\""));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#d55e00\" d=\"M2 0h1M0 1h2\""));
  EXPECT_THAT(RenderHeatMap({2, 2, {}}, {}, "t", "d"), Not(HasSubstr("<path")));
  EXPECT_THAT(RenderGridMap({1, 2, {0, 3}}, 1, "3 ms", "t", "d"), HasSubstr("d=\"M1 0h1\""));
}

TEST(LossesSection, SaysWhatOnlySomeProgramsHave) {
  LossRecord losses = test::MakeLosses();
  losses.late_complete = 0.5;
  losses.collective_io = 0.8;
  losses.individual_io = 0.4;
  losses.latency = LatencyGain{"main / MPI_Recv", 1, 0.25, 0.125};
  EXPECT_THAT(
      Sentences(losses),
      testing::IsSupersetOf(std::vector<testing::Matcher<std::string>>{
          HasSubstr("12.5 % of the waiting (500 ms, summed over ranks) is late complete: "),
          HasSubstr("15.0 % of the time of all ranks is MPI-IO: 10.0 % in collective calls, 5.0 % in calls of "
                    "one rank alone. The trace does not say for whom the collective calls wait."),
          HasSubstr("Without latency in main / MPI_Recv, the phase would be 1.00 s (25.0 %) shorter: with every "
                    "call as short as the shortest, 125 ms instead of 250 ms on average, waits apart.")}));
  losses.collective_io = 0;
  EXPECT_THAT(Sentences(losses),
              testing::Contains("5.0 % of the time of all ranks is MPI-IO: 5.0 % in calls of one rank alone."));
}

// Costs are charged to the last to arrive. Of ranks that a cause names, and that are late alike, all are named.
TEST(LossesSection, NamesRanksThatAreLateTogether) {
  LossRecord losses = test::MakeLosses();
  Cause cause;
  cause.place = CausePlace::kRanks;
  cause.path = "main / work";
  cause.ranks = {1, 0};
  cause.rank_count = 2;
  cause.beyond = {2, 1, {0.9, 1}};
  losses.causes = {cause};
  EXPECT_THAT(Sentences(losses)[1], HasSubstr("caused by main / work, on ranks 1, 0."));
  losses.causes[0].beyond.cells = {0.1, 1};  // one of them hardly is
  EXPECT_THAT(Sentences(losses)[1], HasSubstr("charged to rank 1, the last to arrive."));
  losses.causes[0].beyond.cells = {0.9, 1};
  losses.causes[0].ranks = {1, 7};  // as in a file that was edited
  EXPECT_THAT(Sentences(losses)[1], HasSubstr("charged to rank 1, the last to arrive."));
}

TEST(LossesSection, SaysHowMuchIsWaitingAndForWhom) {
  const std::vector<std::string> sentences = Sentences(test::MakeLosses());
  EXPECT_EQ(
      sentences[0],
      "50.0 % of the time of all ranks is waiting: 4.00 s of 8.00 s, summed over 2 ranks; 2.00 s of 4.00 s on the "
      "average rank.");
  EXPECT_EQ(sentences[1],
            "50.0 % of the waiting is caused by main / work, all of it charged to rank 1, the last to arrive.");
  EXPECT_THAT(sentences[2], HasSubstr("25.0 % of the waiting is indirect"));
  EXPECT_THAT(sentences[3],
              HasSubstr("25.0 % of the waiting (1.00 s, summed over ranks) is for the last rank at the end"));
  EXPECT_THAT(sentences[4], HasSubstr("12.5 % of the waiting (500 ms, summed over ranks) could not be attributed"));
  EXPECT_EQ(Sentences(LossRecord()), std::vector<std::string>{"No rank waits for another."});
  // 1 of 7 ms in either of two call paths, and nobody waits.
  LossRecord cancels;
  cancels.length = 0.007;
  for (const char* name : {"A", "B"}) {
    cancels.paths.emplace_back().innermost = name;
    cancels.paths.back().imbalance = 0.001;
  }
  EXPECT_EQ(Sentences(cancels),
            std::vector<std::string>{"No rank waits for another. What differs between ranks in A, B is made up for "
                                     "elsewhere: balancing it alone would make others wait."});
}

// Of 4 s of waiting 0.5 s are for ranks that left MPI_Recv late, and 2 s for rank 1, which comes 2.5 s after rank 0.
TEST(LossesSection, SaysWhatCausesOfNoRegionAre) {
  LossRecord losses = test::MakeLosses();
  test::SetKind(losses.unattributed, WaitKind::kLateSender, 0);
  test::SetKind(losses.exit_skew, WaitKind::kLateSender, 0.5);
  test::SetKind(losses.paths[1].total.exit_skew, WaitKind::kLateSender, 0.5);
  losses.paths[0].path = "(before the phase) / main";
  losses.paths[0].execution = {0, 2.5};
  const std::vector<std::string> sentences = Sentences(losses);
  EXPECT_THAT(sentences, testing::Contains("50.0 % of the waiting comes from before the phase: ranks enter it at "
                                           "different times, up to 2.50 s after the first. If that comes from the "
                                           "start of the run, leave out the first iterations."));
  EXPECT_THAT(
      sentences,
      testing::Contains("12.5 % of the waiting (500 ms, summed over ranks) is exit skew: ranks leave a common call at "
                        "different times, and no computation explains the difference. Most of it is charged to main / "
                        "MPI_Recv."));
  EXPECT_EQ(Section(losses, {2, 1})["causes"][1]["exitSkew"], "500 ms");
}

// A region may be called "a / b"; the last name of a path is what the record says it is.
TEST(LossesSection, MapsAreNamedAfterTheInnermostRegion) {
  LossRecord losses = test::MakeLosses();
  losses.paths[0].path = "main / a / b";
  losses.paths[0].innermost = "a / b";
  EXPECT_EQ(Section(losses, {1, 1})["maps"][0]["title"], "Costs of a / b by rank and iteration");
}

TEST(LossesSection, TablesHoldTheTopAndSayWhatIsLeft) {
  const ReportData data = Section(test::MakeLosses(), {1, 1});
  ASSERT_EQ(data["causes"].size(), 1u);
  EXPECT_EQ(data["causes"][0]["path"], "main / work");
  EXPECT_EQ(data["causes"][0]["most"], "1 (100.0 %)");
  EXPECT_EQ(data["moreCauses"], "12.5 %");
  EXPECT_THAT(RenderMarkdown(BuildLossesModel({test::MakeLosses()}, {}, "t", test::OwnTexts(), 1),
                             test::OwnTemplates("imbalance")),
              HasSubstr("; all other call paths together 12.5 % of it |"));
  ASSERT_EQ(data["maps"].size(), 1u);
  const ReportData& table = data["maps"][0]["table"];
  EXPECT_EQ(table["header"].dump(), R"(["1","2","all"])");
  EXPECT_EQ(table["rows"][1].dump(), R"({"cells":["1","500 ms","1.50 s","2.00 s"]})");
  EXPECT_TRUE(data["growth"].empty());
}

TEST(LossesSection, ShapesAndGridsAreTold) {
  const ReportData data = Section(test::MakeLosses());
  ASSERT_EQ(data["shapes"].size(), 1u);
  EXPECT_EQ(data["shapes"][0]["shape"],
            "1 overloaded rank (1) with 3.0× the load of the others, the same ranks all the time (static)");
  EXPECT_THAT(data["shapes"][0]["remedy"].get<std::string>(), HasSubstr("Take work away"));
  EXPECT_THAT(data["maps"][0]["grid"]["caption"].get<std::string>(), HasSubstr("a grid of 1 × 2 ranks"));
  LossRecord losses = test::MakeLosses();
  losses.grid->extents = {2, 1, 1};  // two planes with a gap between
  EXPECT_THAT(Section(losses)["maps"][0]["grid"]["svg"].get<std::string>(), HasSubstr("d=\"M2 0h1\""));
  losses.grid->places = {1, 0};  // ranks in the other order: rank 1 is in the first plane
  EXPECT_THAT(Section(losses)["maps"][0]["grid"]["svg"].get<std::string>(), HasSubstr("d=\"M0 0h1\""));
}

// 128 ranks in 64 rows, and those in eight of the table: 16 in each.
TEST(LossesSection, TablesBehindMapsNameTheRanksOfBlocks) {
  LossRecord losses = test::MakeLosses();
  losses.run_ranks = 128;
  losses.iterations = 100;
  losses.paths[0].raster = {64, 64, std::vector<double>(64 * 64, 1)};
  const ReportData table = Section(losses)["maps"][0]["table"];
  EXPECT_EQ(table["rows"][0]["cells"][0], "0 – 15");
  EXPECT_EQ(table["rows"][7]["cells"][0], "112 – 127");
  EXPECT_EQ(table["header"][0], "1 – 18");  // 11 of 64 columns: up to 11 · 100 / 64, rounded up
  EXPECT_EQ(table["header"][5], "86 – 100");
}

std::size_t CountOf(const std::string& text, const std::string& wanted) {
  std::size_t count = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++count;
  return count;
}

// Of 64 ranks in a phase of 9 ms, one place of the map makes all the others wait: 104 ms together, 104 / 64 = 1.625 ms
// of the phase.
TEST(LossesSection, SumsOverRanksAreSaidToBeSo) {
  LossRecord losses = test::MakeLosses(64);
  losses.length = losses.window = 0.009;
  losses.run_ranks = 64;
  losses.ranks.resize(64);
  std::iota(losses.ranks.begin(), losses.ranks.end(), 0);
  losses.allocation = 64 * losses.length;
  losses.paths.resize(1);
  losses.paths[0].raster = {64, 1, std::vector<double>(64, 0)};
  losses.paths[0].raster.cells[3] = 0.104;
  losses.paths[0].costs.assign(64, 0);
  losses.paths[0].costs[3] = 0.104;
  test::SetKind(losses.paths[0].total.short_term, WaitKind::kLateSender, 0.104);
  losses.iterations = 1;
  losses.grid->extents = {8, 8};
  const ReportData map = Section(losses, {1, 1})["maps"][0];
  EXPECT_THAT(
      map["caption"].get<std::string>(),
      HasSubstr("The strongest colour is 104 ms, summed over ranks: what all ranks together wait because of one "
                "place, 1.62 ms on the average rank."));
  EXPECT_THAT(map["svg"].get<std::string>(), HasSubstr(">104 ms, summed over ranks<"));
  EXPECT_THAT(map["grid"]["svg"].get<std::string>(), HasSubstr(">104 ms, summed over ranks<"));
}

// Each table with such times, once: causes, data of two maps (what unfolds them, and the caption), kinds, waiters,
// order of messages, critical path; with several runs, those too.
TEST(LossesPages, SumsOverRanksAreSaidToBeSo) {
  const std::string html =
      RenderHtml(BuildLossesModel({test::MakeLosses(1), test::MakeLosses(2)}, {}, "t", test::OwnTexts()),
                 test::OwnTemplates("imbalance"));
  for (const char* caption :
       {"<caption>What causes waiting, in time summed over ranks<",
        "<summary>Data: Costs of work by rank and iteration, cause 1, in time summed over ranks<",
        "<caption>Wait states by kind, in time summed over ranks<",
        "<caption>Where ranks wait, in time summed over ranks<",
        "<caption>Messages received in another order than they were sent in, in time summed over ranks<",
        "<caption>On the critical path<", "<caption>All runs, waiting summed over ranks<"}) {
    EXPECT_EQ(CountOf(html, caption), 1u) << caption;
  }
  const std::string markdown =
      RenderMarkdown(BuildLossesModel({test::MakeLosses(1), test::MakeLosses(2)}, {}, "t", test::OwnTexts()),
                     test::OwnTemplates("imbalance"));
  for (const char* head :
       {"\n| What causes waiting, in time summed over ranks |", "\n| Wait states by kind, in time summed over ranks |",
        "\n| Where ranks wait, in time summed over ranks |", "\n| All runs, waiting summed over ranks |",
        "\n| Messages received in another order than they were sent in, in time summed over ranks |",
        "| Waiting of ranks in it, summed | Waiting of other ranks, summed |"}) {
    EXPECT_EQ(CountOf(markdown, head), 1u) << head;
  }
}

TEST(LossesPages, WarnOfTheRuns) {
  const std::vector<Finding> warnings = {
      {"preempted", Severity::kWarning, "ranks had to share cores", 3, 8, "on rank 1"}};
  const ReportModel model = BuildLossesModel({test::MakeLosses(1)}, {}, "t", test::OwnTexts(), 10, warnings);
  const char* sentence = "preempted: 3 of 8 ranks had to share cores (first on rank 1)";
  EXPECT_THAT(RenderMarkdown(model, test::OwnTemplates("imbalance")), HasSubstr(std::string("\n- ") + sentence + "\n"));
  EXPECT_THAT(RenderHtml(model, test::OwnTemplates("imbalance")), HasSubstr(std::string("<li>") + sentence + "</li>"));
  const auto json = nlohmann::json::parse(WriteLossesJson({test::MakeLosses(1)}, {}, warnings));
  EXPECT_EQ(json.at("diagnostics").at(0).at("id"), "preempted");
  const ReportModel quiet = BuildLossesModel({test::MakeLosses(1)}, {}, "t", test::OwnTexts());
  EXPECT_THAT(RenderMarkdown(quiet, test::OwnTemplates("imbalance")), Not(HasSubstr("Warnings about")));
}

// 2.00 s that 2 ranks wait because of work are 1.00 s of a phase of 4.00 s.
TEST(LossesText, SumsOverRanksAreSaidToBeSo) {
  const std::string text = FormatLosses(test::MakeLosses(), 1, test::OwnTexts());
  EXPECT_THAT(text,
              HasSubstr("Phase step on 2 cores: 4.00 s on 2 ranks\n  50.0 % of the time of all ranks is waiting"));
  EXPECT_THAT(text, HasSubstr("2.00 s of 4.00 s on the average rank."));
  EXPECT_THAT(text, HasSubstr("Wait states by kind, in time summed over ranks\nKind "));
  EXPECT_THAT(text, HasSubstr("Where ranks wait, in time summed over ranks\nCall path "));
  EXPECT_THAT(text, HasSubstr("Waiting of ranks in it, summed"));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  "What causes waiting, in time summed over ranks[^\n]*\nCall path +Costs +Per rank +Of all waiting "));
  EXPECT_THAT(text, testing::ContainsRegex("main / work +2.00 s +1.00 s +50.0 %"));
}

TEST(LossesPages, OnePageWithoutScripts) {
  const ReportModel model =
      BuildLossesModel({test::MakeLosses(1), test::MakeLosses(2)}, test::MakeGrowth(), "a <b> c", test::OwnTexts());
  const std::string html = RenderHtml(model, test::OwnTemplates("imbalance"));
  EXPECT_THAT(html, HasSubstr("a &lt;b&gt; c"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'; style-src 'sha256-"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr(" style=")));
  EXPECT_THAT(html, HasSubstr("[Boehme13, section 4.3]"));
  EXPECT_THAT(html, HasSubstr("class=\"chart heat\""));
  EXPECT_THAT(html, HasSubstr("Largest run"));
  const std::string markdown = RenderMarkdown(model, test::OwnTemplates("imbalance"));
  EXPECT_THAT(markdown, HasSubstr("| 1. main / work | 2.00 s | 1.00 s | 50.0 % | 2.00 s | – | – | 1 (100.0 %) |"));
  EXPECT_THAT(markdown, Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace farscale
