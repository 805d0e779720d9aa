#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "factors/factor_table.h"
#include "planning/shortlist.h"
#include "report/digest.h"
#include "results/factor_table_files.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Load balance 0.8 · serialization 0.9 · transfer 1 on 8 cores: of the 28 % that are lost, ln 0.8 / ln 0.72 = 0.679
// are load balance.
constexpr const char* kUnbalanced =
    "cores,loadBalance,serializationEfficiency,transferEfficiency\n4,0.9,0.95,1\n8,0.8,0.9,1\n";
// Serialization takes more here: ln 0.5 / ln 0.45 = 0.868 of 55 %.
constexpr const char* kSerialized =
    "cores,loadBalance,serializationEfficiency,transferEfficiency\n4,0.95,0.7,1\n8,0.9,0.5,1\n";

FactorTable TableOf(const char* csv) {
  FactorTable table = ReadFactorCsv(csv, "t.csv");
  table.scaling = Scaling::kStrong;
  CompleteTable(table);
  return table;
}

Results Measured(const char* csv) {
  Results results;
  results.table = TableOf(csv);
  return results;
}

// The same with run times, of so many iterations.
Results Timed(const char* csv, double first, double last, double iterations) {
  Results results = Measured(csv);
  results.table.rows.front().runtime = first;
  results.table.rows.back().runtime = last;
  for (FactorRow& row : results.table.rows) row.iterations = iterations;
  return results;
}

ListedStudy Listed(const std::string& name, Results results) {
  return {name, "all/" + name + "/report.html", std::move(results), false, false};
}

// The same runs, so many times as fast.
Variant Faster(const std::string& name, const FactorTable& table, double speed) {
  Variant variant{name, name, "", false, table, {}};
  for (FactorRow& row : variant.table.rows) *row.runtime /= speed;
  return variant;
}

// Without times by what they lose; the third loses most.
TEST(StudiesPage, HasARowAStudy) {
  const std::vector<ListedStudy> studies = {Listed("first", Measured(kUnbalanced)),
                                            {"second", "", std::nullopt, true, false},
                                            Listed("third", Measured(kSerialized))};
  const ReportModel model = BuildStudiesModel(studies, "all", test::OwnTexts());
  ASSERT_EQ(model.data["codes"].size(), 2u);
  const ReportData& row = model.data["codes"][1]["rows"][0];
  EXPECT_EQ(row["study"], "first");
  EXPECT_EQ(row["link"], "first/report.html");
  EXPECT_EQ(row["lost"], "19.0 %");
  EXPECT_EQ(row["kept"], "4 cores, measured");
  EXPECT_EQ(row["reach"], "8 cores");
  EXPECT_EQ(row["gain"], "Load balance, 25.0 % faster if it were perfect, on 8 cores");
  EXPECT_EQ(model.data["codes"][0]["rows"][0]["lost"], "47.7 %");
  EXPECT_EQ(model.data["codes"][0]["rows"][0]["limit"], "serialization");
  EXPECT_EQ(model.data["failed"], ReportData({"second"}));
  EXPECT_EQ(model.data["verdict"],
            ReportData({"Of 2 studies, 1 is limited by serialization and 1 is limited by load "
                        "balance. third loses most to one factor: 47.7 % of its time to serialization."}));
  EXPECT_EQ(model.data["shortlist"], false);
}

// Factors of the runs on which nothing is lost.
TEST(StudiesPage, NamesNoLimitWithoutLosses) {
  const ReportModel model =
      BuildStudiesModel({Listed("a", Measured("cores,loadBalance\n4,1\n8,1\n"))}, "", test::OwnTexts());
  EXPECT_EQ(model.data["verdict"], ReportData::array());
  EXPECT_EQ(model.data["codes"][0]["rows"][0]["limit"], "–");
}

// On 8 cores the first loses 0.6 of 8 · 3600 s, 4.8 core hours, and the second 0.2 of 8 · 36,000 s, 16. Its short phase
// folds out.
TEST(StudiesPage, SortsByLostCoreHours) {
  const char* const kLong =
      "phase,cores,parallelEfficiency,runtime\nmain,4,0.9,72000\nmain,8,0.8,36000\nshort,4,0.5,2\nshort,8,0.2,1\n";
  const ReportModel model =
      BuildStudiesModel({Listed("a", Measured("cores,parallelEfficiency,runtime\n4,0.8,7200\n8,0.4,3600\n")),
                         Listed("b", Measured(kLong))},
                        "", test::OwnTexts());
  const ReportData& first = model.data["codes"][0];
  EXPECT_EQ(first["rows"][0]["study"], "b");
  EXPECT_EQ(first["rows"][0]["phase"], "main");
  EXPECT_EQ(first["otherCount"], "1");
  EXPECT_EQ(first["others"][0]["phase"], "short");
  EXPECT_EQ(model.data["codes"][1]["otherCount"], "");
  EXPECT_THAT(RenderHtml(model, test::OwnTemplates("studies")), HasSubstr("<summary>1 more of its phases</summary>"));
}

// 2 s and 4 s for 2 and 1 iterations on 8 cores: 1 s and 4 s. Speeds of 2 and 1.125 have the geometric mean 1.5.
TEST(Shortlist, ComparesMachinesByTheLargestRunWithoutPredictions) {
  Results first = Timed(kUnbalanced, 4, 2, 2), second = Timed(kSerialized, 6, 4, 1);
  first.variants = {Faster("ring", first.table, 2), Faster("torus", first.table, 0.5)};
  second.variants = {Faster("ring", second.table, 1.125), Faster("tree", second.table, 3)};
  second.variants.push_back(Faster("quiet", second.table, 9));
  second.variants.back().is_noise = true;
  const Shortlist list = ShortlistOf({&first, &second});
  ASSERT_EQ(list.columns.size(), 2u);
  EXPECT_EQ(list.columns[1].study, 1u);
  EXPECT_EQ(list.columns[1].cores, 8);
  EXPECT_FALSE(list.columns[1].is_predicted);
  std::vector<std::string> machines;
  for (const ShortlistRow& row : list.rows) machines.push_back(row.machine);
  EXPECT_THAT(machines, ElementsAre("ring", "", "torus", "tree"));
  EXPECT_DOUBLE_EQ(list.rows[0].speed->value, 1.5);
  EXPECT_DOUBLE_EQ(list.rows[0].times[0]->seconds, 0.5);
  EXPECT_DOUBLE_EQ(list.rows[1].times[1]->seconds, 4);
  EXPECT_EQ(list.rows[1].speed->value, 1);
  EXPECT_EQ(list.rows[1].speed->high, 1);
  EXPECT_FALSE(list.rows[3].times[0]);
  EXPECT_FALSE(list.rows[3].speed);
  const std::vector<ListedStudy> studies = {Listed("first", first), Listed("second", second)};
  EXPECT_THAT(SummarizeShortlist(studies, test::OwnTexts()),
              ElementsAre("ring is fastest: 1.50× (1.49–1.52) the speed of the machine of the runs over 2 studies."));
  const std::string markdown =
      RenderMarkdown(BuildStudiesModel(studies, "", test::OwnTexts()), test::OwnTemplates("studies"));
  EXPECT_THAT(markdown, HasSubstr("| ring | 1 | 1.50× (1.49–1.52) |"));
  EXPECT_THAT(markdown, HasSubstr("| machine of the runs | 2 | 1.00× |"));
  EXPECT_THAT(markdown, HasSubstr("| second (8 cores, replayed) | | |"));
}

// The network takes a tenth of the time on both machines, so a replay is off by 0.9 · 0.1 in four of five cases: speeds
// of 1.2 and 1.1 cannot be told apart, 1.1 · e^0.09 = 1.204, but both from 0.8. Nodes of 4 and 16 cores: 8 cores for
// 2 s / 1.2 cost 2 · 3 · 1.667 / 3600 and 1 · 9 · 1.818 / 3600, 1.636 times as much.
TEST(Shortlist, RanksOffersBySpeedAndCost) {
  Results results =
      Timed("cores,loadBalance,serializationEfficiency,transferEfficiency\n4,1,1,1\n8,1,1,0.9\n", 4, 2, 1);
  for (const auto& [name, speed] : {std::pair("Altair", 1.2), {"Bellatrix", 1.1}, {"Castor", 0.8}}) {
    results.variants.push_back(Faster(name, results.table, speed));
  }
  results.variants[0].terms = {4, 3, "EUR"};
  results.variants[1].terms = {16, 9, "EUR"};
  Shortlist list = ShortlistOf({&results});
  std::vector<std::pair<std::size_t, std::size_t>> ranks;
  for (const ShortlistRow& row : list.rows) ranks.emplace_back(row.first_rank, row.last_rank);
  EXPECT_THAT(ranks, ElementsAre(std::pair(1, 2), std::pair(1, 2), std::pair(3, 3), std::pair(4, 4)));
  EXPECT_NEAR(list.rows[0].speed->low, 1.2 * std::exp(-0.09), 1e-9);
  EXPECT_NEAR(list.rows[0].speed->high, 1.2 * std::exp(0.09), 1e-9);
  EXPECT_NEAR(list.rows[0].times[0]->cost->value, 2 * 3 * 2 / 1.2 / 3600, 1e-12);
  EXPECT_NEAR(list.rows[1].cost->value, 9 * 1.2 / (6 * 1.1), 1e-9);
  EXPECT_FALSE(list.rows[2].cost);
  EXPECT_THAT(SummarizeShortlist({Listed("a", results)}, test::OwnTexts()),
              ElementsAre("Altair is fastest: 1.20× (1.10–1.31) the speed of the machine of the runs; Bellatrix may be "
                          "as fast: intervals overlap.",
                          "Altair costs least, and Bellatrix 1.64× as much for the same work."));
  results.variants[1].terms.currency = "USD";
  list = ShortlistOf({&results});
  EXPECT_FALSE(list.rows[0].cost);
  EXPECT_TRUE(list.rows[0].times[0]->cost);
}

TEST(OfferTerms, KeepAProcessOnOneNode) {
  EXPECT_EQ(OfferTerms().NodesFor(64, 1), std::nullopt);
  EXPECT_EQ((OfferTerms{48, {}, ""}.NodesFor(96, 1)), 2);
  EXPECT_EQ((OfferTerms{48, {}, ""}.NodesFor(97, 1)), 3);
  EXPECT_EQ((OfferTerms{48, {}, ""}.NodesFor(128, 32)), 4);  // 16 cores of every node stay idle
  EXPECT_EQ((OfferTerms{8, {}, ""}.NodesFor(64, 16)), 4);    // more threads than cores
  EXPECT_EQ((OfferTerms{48, {}, ""}.CostOf(3600, 96, 1)), std::nullopt);
  EXPECT_EQ((OfferTerms{48, 1.5, ""}.CostOf(7200, 97, 1)), 9);
}

PhaseProjection WithTimes(double seconds, double reliable_cores) {
  PhaseProjection phase;
  phase.fitted_cores = {4, 8};
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, reliable_cores, ReliableRange::Reach::kUpTo};
  phase.key_results.emplace();
  phase.key_results->time.emplace();
  for (const double cores : {16.0, 64.0, 256.0}) {
    const double time = seconds / cores;
    phase.key_results->time->targets.push_back({cores, cores / 8, time, OpenBounds{0.9 * time, 1.1 * time}, {}});
  }
  return phase;
}

// 64 is eight times the largest run; 16 is the last that is reliable on both machines.
TEST(Shortlist, ComparesPredictionsThatAreReliableOnEveryMachine) {
  Results results = Timed(kUnbalanced, 4, 2, 2);
  results.projections = {WithTimes(16, 100)};
  results.variants = {Faster("ring", results.table, 1)};
  results.variants[0].projections = {WithTimes(8, 300)};
  EXPECT_EQ(ShortlistOf({&results}).columns[0].cores, 64);
  results.variants[0].projections = {WithTimes(8, 20)};
  const Shortlist list = ShortlistOf({&results});
  EXPECT_EQ(list.columns[0].cores, 16);
  EXPECT_TRUE(list.columns[0].is_predicted);
  EXPECT_EQ(list.rows[0].machine, "ring");
  EXPECT_DOUBLE_EQ(list.rows[0].times[0]->seconds, 0.5);
  EXPECT_DOUBLE_EQ(list.rows[0].times[0]->interval80->low, 0.45);
  // Bounds of both predictions, 10 % on either side, and of the replay: 0.9 of the tenth that transfer takes.
  EXPECT_DOUBLE_EQ(list.rows[0].times[0]->speed.value, 2);
  EXPECT_NEAR(list.rows[0].times[0]->speed.low, 2 * std::exp(-std::hypot(std::log(1 / 0.9), std::log(1.1), 0.01)),
              1e-9);
  results.variants[0].projections = {WithTimes(8, 12)};
  EXPECT_FALSE(ShortlistOf({&results}).columns[0].is_predicted);
  results.variants[0].is_noise = true;
  EXPECT_TRUE(ShortlistOf({&results}).columns.empty());
}

}  // namespace
}  // namespace farscale
