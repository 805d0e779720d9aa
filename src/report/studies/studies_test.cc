#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "factors/complete_table.h"
#include "planning/shortlist.h"
#include "report/studies/pages.h"
#include "results/factor_table_files.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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
  EXPECT_DOUBLE_EQ(list.rows[0].speed.value(), 1.5);
  EXPECT_DOUBLE_EQ(list.rows[0].times[0]->seconds, 0.5);
  EXPECT_DOUBLE_EQ(list.rows[1].times[1]->seconds, 4);
  EXPECT_EQ(list.rows[1].speed, 1);
  EXPECT_FALSE(list.rows[3].times[0]);
  EXPECT_FALSE(list.rows[3].speed);
  const std::vector<ListedStudy> studies = {Listed("first", first), Listed("second", second)};
  EXPECT_THAT(SummarizeShortlist(studies, test::OwnTexts()),
              ElementsAre("ring is fastest: 1.50× the speed of the machine of the runs over 2 studies."));
  const std::string markdown =
      RenderMarkdown(BuildStudiesModel(studies, "", test::OwnTexts()), test::OwnTemplates("studies"));
  EXPECT_THAT(markdown, HasSubstr("| ring | 500 ms, 2.00× | 3.56 s, 1.12× | 1.50× |"));
  EXPECT_THAT(markdown, HasSubstr("| machine of the runs | 1.00 s | 4.00 s | 1.00× |"));
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
  EXPECT_DOUBLE_EQ(list.rows[0].times[0]->speed, 2);
  results.variants[0].projections = {WithTimes(8, 12)};
  EXPECT_FALSE(ShortlistOf({&results}).columns[0].is_predicted);
  results.variants[0].is_noise = true;
  EXPECT_TRUE(ShortlistOf({&results}).columns.empty());
}

}  // namespace
}  // namespace farscale
