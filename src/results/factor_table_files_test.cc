#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <random>

#include "base/diagnostics.h"
#include "factors/scaling.h"
#include "results/csv_text.h"
#include "results/factor_table_files.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Read>
std::string InputErrorOf(Read read, const std::string& text) {
  try {
    read(text, "t.csv");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

std::string CsvError(const std::string& text) { return InputErrorOf(ReadFactorCsv, text); }
std::string JsonError(const std::string& text) { return InputErrorOf(ReadFactorJson, text); }

FactorTable MakeTable() {
  FactorTable table;
  table.scaling = Scaling::kWeak;
  table.scaling_source = "study";
  table.reference = 8;
  table.rules = "bsc";
  for (const std::int64_t cores : {8, 64}) {
    FactorRow row;
    row.series = "a, \"b\"";
    row.phase = "cycle";
    row.cores = cores;
    row.ranks = cores / 2;
    row.threads = 2;
    row.nodes = 2;
    row.repeat = 0;
    row.runtime = 1.0 / 3;
    row.iterations = 10;
    row.values[Factor::kLoadBalance] = 0.9 + 1e-16;
    row.values[Factor::kTransfer] = 1.0 / 7;
    row.standard_errors[Factor::kLoadBalance] = 0.01 + 1e-17;
    row.standard_errors[Factor::kSpeedup] = 0;  // of a value that is not known here
    row.runtime_error = 1.0 / 77;
    row.span = Span::kEach;
    row.loads = DistributionOf({1, 2, 4});
    row.loads->noise = 1.0 / 3;
    PhaseTotals totals;
    totals.elapsed = 1.0 / 3;
    totals.instructions = 1e12;
    totals.estimated_ideal = 0.25;
    totals.errors = RelativeErrors{0.1, 1.0 / 3, 1.0 / 7, {}, 0};
    totals.threads = ThreadTimes{.cpus = 6, .useful = 41, .mpi = 14, .mpi_idle = 28, .imbalance = 1.0 / 3};
    totals.devices = DeviceTimes{2, 10, 6, 8};
    row.totals = totals;
    table.rows.push_back(row);
  }
  table.findings = {{"scalingGuessed", Severity::kWarning, "sentence", 1, 0, "example"}};
  return table;
}

TEST(FactorJson, ReadsBackTheSame) {
  const FactorTable table = MakeTable();
  const FactorTable again = ReadFactorJson(WriteFactorJson(table), "f");
  EXPECT_EQ(again.rows, table.rows);
  EXPECT_EQ(again.scaling, table.scaling);
  EXPECT_EQ(again.reference, table.reference);
  EXPECT_EQ(again.rules, table.rules);
  EXPECT_EQ(again.findings, table.findings);
  EXPECT_EQ(WriteFactorJson(again), WriteFactorJson(table));
}

// Why serialization and transfer are missing is kept with the row, and said of a table that is read back.
TEST(FactorJson, UnknownWaitsAreTheReason) {
  FactorTable table = MakeTable();
  table.rows[0].unknown_waits = UnknownWaits{4, "rank 3 in MPI_Win_unlock at 1.20 s"};
  const std::string text = WriteFactorJson(table);
  FactorTable again = ReadFactorJson(text, "f");
  EXPECT_EQ(again.rows, table.rows);
  for (int i = 0; i < 2; ++i) AddFindingsOfRows(again);  // once for all
  std::vector<Finding> found;
  for (const Finding& finding : again.findings) {
    if (finding.id == "waitsUnknown") found.push_back(finding);
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 4u);
  EXPECT_THAT(found[0].example, testing::HasSubstr("rank 3 in MPI_Win_unlock at 1.20 s"));
  const std::string calls = "\"calls\": 4";
  std::string none = text;
  ASSERT_NE(none.find(calls), std::string::npos);
  none.replace(none.find(calls), calls.size(), "\"calls\": 0");
  EXPECT_THROW(ReadFactorJson(none, "f"), Error);
}

TEST(FactorCsv, ReadsBackTheSameNumbers) {
  FactorTable table = MakeTable();
  for (FactorRow& row : table.rows) {
    row.totals.reset();  // what CSV does not carry
    row.span.reset();
  }
  EXPECT_EQ(ReadFactorCsv(WriteFactorCsv(table), "f").rows, table.rows);
}

TEST(FactorCsv, AnyOrderAnySubset) {
  const FactorTable table = ReadFactorCsv(
      "# published numbers\r\n"
      "loadBalance,cores,communicationEfficiency\r\n"
      "0.9,16,0.8\r\n"
      "\r\n"
      "0.85,32,\r\n",
      "f");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cores, 16);
  EXPECT_EQ(table.rows[0].ranks, 16);
  EXPECT_EQ(table.rows[0].values[Factor::kLoadBalance], 0.9);
  EXPECT_FALSE(table.rows[1].values[Factor::kCommunicationEfficiency]);
}

TEST(FactorCsv, TablesFromElsewhereMayBringErrors) {
  const FactorTable table = ReadFactorCsv("loadBalanceError,cores,loadBalance\n0.01,16,0.9\n,32,0.8\n0,64,0.7\n", "f");
  EXPECT_EQ(table.rows[0].standard_errors[Factor::kLoadBalance], 0.01);
  EXPECT_FALSE(table.rows[1].standard_errors[Factor::kLoadBalance]);
  EXPECT_EQ(table.rows[2].standard_errors[Factor::kLoadBalance], 0);
  EXPECT_EQ(WriteFactorCsv(table).substr(0, 99),
            "series,phase,group,cores,ranks,threads,nodes,repeat,runtime,iterations,loadBalance,loadBalanceError");
}

TEST(FactorCsv, TablesFromElsewhereMayBringLoads) {
  const FactorTable table = ReadFactorCsv(
      "loadLargestOfHalf,cores,loadBalance,loadSkewness,loadNoise\n1.05,4,0.9,-1.5,0.02\n,8,0.8,,\n", "t.csv");
  ASSERT_TRUE(table.rows[0].loads);
  LoadDistribution loads;
  loads.largest_of_half = 1.05;
  loads.skewness = -1.5;
  loads.noise = 0.02;
  EXPECT_EQ(*table.rows[0].loads, loads);
  EXPECT_FALSE(table.rows[1].loads);
  EXPECT_THAT(WriteFactorCsv(table), HasSubstr(",loadBalance,loadSkewness,loadLargestOfHalf,loadNoise\n"));
}

TEST(FactorCsv, LoadsOutOfBounds) {
  EXPECT_THAT(CsvError("cores,loadBalance,loadDeviation\n4,0.9,-0.1\n"),
              HasSubstr("t.csv:2: loadDeviation is '-0.1', which is not a number of 0 or more"));
  EXPECT_THAT(CsvError("cores,loadBalance,loadLargestOfHalf\n4,0.9,0.9\n"),
              HasSubstr("loadLargestOfHalf is '0.9', which is not a number of 1 or more"));
  EXPECT_THAT(CsvError("cores,loadBalance,loadSkewness\n4,0.9,high\n"),
              HasSubstr("loadSkewness is 'high', which is not a number"));
  EXPECT_THAT(CsvError("cores,loadDeviation\n4,0.1\n"), HasSubstr("there is no column with a factor or run times"));
  EXPECT_THAT(CsvError("cores,loadBalance,loadDevation\n4,0.9,0.1\n"), HasSubstr("loadDeviation"));
}

TEST(FactorCsv, RepeatsAreNumberedWhenTheTableDoesNot) {
  const FactorTable table = ReadFactorCsv("cores,loadBalance\n8,0.9\n8,0.8\n8,0.7\n", "f");
  EXPECT_EQ(table.rows[2].repeat, 2);
}

// A group of ranks has less of them than the run; no phase has, whatever it is called.
TEST(FactorCsv, GroupsOfRanks) {
  const std::string header = "phase,group,cores,ranks,threads,loadBalance\n";
  const FactorTable table = ReadFactorCsv(
      header + "step,,8,4,2,0.8\nstep,pme,8,1,2,0.9\nstep,pp,8,,2,0.9\nstep / pme,,8,,2,0.7\na / b,c,8,3,2,0.7\n", "f");
  EXPECT_THAT(table.Phases(""), ElementsAre(PhaseId("step"), PhaseId("step", "pme"), PhaseId("step", "pp"),
                                            PhaseId("step / pme"), PhaseId("a / b", "c")));
  EXPECT_EQ(table.rows[1].ranks, 1);
  EXPECT_EQ(table.rows[2].ranks, 4);
  EXPECT_EQ(table.Rows("", "step / pme").front().values[Factor::kLoadBalance], 0.7);
  EXPECT_EQ(ReadFactorCsv(WriteFactorCsv(table), "f").rows, table.rows);
  EXPECT_THAT(CsvError(header + "step,,8,3,2,1\n"), HasSubstr("8 cores are not 3 ranks with 2"));
  EXPECT_THAT(CsvError(header + "step,,8,3,2,1\n"), HasSubstr("the column 'group' names the group of ranks"));
  EXPECT_THAT(CsvError(header + "step / pme,,8,3,2,1\n"), HasSubstr("8 cores are not 3 ranks with 2"));
  EXPECT_THAT(CsvError(header + "step,pme,8,5,2,1\n"), HasSubstr("8 cores are not 5 ranks with 2"));
}

// As farscale wrote tables before they had a column for it. A group has fewer ranks than the run in some row: 1 and 8
// of 8; "io / write" has all in both, so it is a phase.
TEST(FactorCsv, GroupsInTheTextOfOldTables) {
  const std::string header = "phase,cores,ranks,loadBalance\n";
  const FactorTable table = ReadFactorCsv(header +
                                              "step,4,4,0.8\nstep,8,8,0.8\nstep / pme,4,1,0.9\nstep / pme,8,8,0.9\n"
                                              "a / b / pme,8,1,0.9\nio / write,4,4,0.5\nio / write,8,,0.5\n",
                                          "f");
  EXPECT_THAT(table.Phases(""),
              ElementsAre(PhaseId("step"), PhaseId("step", "pme"), PhaseId("a / b", "pme"), PhaseId("io / write")));
  EXPECT_EQ(table.Rows("", {"step", "pme"}).size(), 2u);
  EXPECT_THAT(CsvError(header + "step,8,3,1\n"), HasSubstr("8 cores are not 3 ranks"));
}

TEST(FactorCsv, QuotedFields) {
  const FactorTable table = ReadFactorCsv("series,cores,loadBalance\n\"a, \"\"b\"\"\",8,0.9\n", "f");
  EXPECT_EQ(table.rows[0].series, "a, \"b\"");
}

// Spreadsheets run fields that begin like formulas.
TEST(FactorCsv, NamesReadBackAndAreNoFormulas) {
  std::mt19937 random(12);
  const std::string begins = "=+-@'#\"", letters = "=+-@'#,;\"a\\|{}<&%$_ 0.\t\n\x01";
  for (int number = 0; number < 50; ++number) {
    std::string name(1, begins[random() % begins.size()]);
    for (unsigned i = 0; i < random() % 30; ++i) name += letters[random() % letters.size()];
    name += 'z';
    const std::string field = CsvField(name);
    EXPECT_EQ(std::string("=+-@").find(field[field[0] == '"' ? 1 : 0]), std::string::npos) << field;
    const FactorTable table = ReadFactorCsv("series,phase,cores,loadBalance\n" + field + "," + field + ",8,0.9\n", "f");
    std::ranges::replace_if(
        name, [](unsigned char c) { return c < 0x20; }, ' ');
    EXPECT_EQ(table.rows.at(0).series, name);
    EXPECT_EQ(table.rows.at(0).phase.name, name);
  }
  EXPECT_EQ(CsvField("-1"), "'-1");
  EXPECT_EQ(CsvField("a-1"), "a-1");
}

TEST(FactorCsv, QuotedLineBreaks) {
  const FactorTable table = ReadFactorCsv("phase,cores,loadBalance\n\"a\nb\r\n,c\",8,0.9\nd,16,0.8\n", "t.csv");
  EXPECT_EQ(table.rows[0].phase.name, "a b ,c");
  EXPECT_EQ(table.rows[1].phase.name, "d");
  EXPECT_THAT(CsvError("phase,cores,loadBalance\n\"a\nb\",8,0.9\nd,16,x\n"), HasSubstr("t.csv:4: loadBalance"));
}

// Seconds of CPU time to read and complete a table of so many repeats, the best of some.
double SecondsToComplete(int rows, int attempts) {
  std::string text = "cores,loadBalance,communicationEfficiency,runtime\n";
  for (int i = 0; i < rows; ++i) text += fmt::format("{},0.{},0.9,{}\n", 8 << i % 4, 80 + i % 17, 1 + i % 7);
  double best = 1e9;
  for (int i = 0; i < attempts; ++i) {
    const std::clock_t begin = std::clock();
    FactorTable table = ReadFactorCsv(text, "t.csv");
    PutInTerms(table, std::nullopt, std::nullopt);
    EXPECT_EQ(table.rows.size(), static_cast<std::size_t>(rows));
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

// For three times the rows linear work takes 3 times as long and quadratic work 9 times: 5 is in the middle on a
// logarithmic scale. Both tables are larger than caches, and than what the allocator keeps.
TEST(FactorCsv, TimeGrowsWithTheRows) { EXPECT_LT(SecondsToComplete(120'000, 3), 5 * SecondsToComplete(40'000, 3)); }

TEST(FactorCsv, RunTimesAreEnough) {
  for (const char* text : {"cores,runtime\n8,2.5\n16,1.5\n16,1.25\n", "8 2.5\n16\t1.5\n 16  1.25\n",
                           "8,2.5\n16,1.5\n16,1.25\n", "# seconds\ncores runtime\n8 2.5\n16 1.5\n16 1.25\n"}) {
    const FactorTable table = ReadFactorCsv(text, "t");
    ASSERT_EQ(table.rows.size(), 3u) << text;
    EXPECT_EQ(table.rows[0].cores, 8);
    EXPECT_EQ(table.rows[0].runtime, 2.5);
    EXPECT_EQ(table.rows[2].runtime, 1.25);
    EXPECT_EQ(table.rows[2].repeat, 1);
  }
  EXPECT_THAT(CsvError("8 2.5 3\n"), HasSubstr("t.csv:1: unknown column '8'"));
  EXPECT_THAT(CsvError("8 2.5\n16\n"), HasSubstr("t.csv:2: the line has 1 fields"));
  EXPECT_THAT(CsvError("8 2.5\n16.5 1\n"), HasSubstr("t.csv:2: cores is '16.5'"));
  EXPECT_THAT(CsvError("cores,runtimeError\n8,1\n"), HasSubstr("no column with a factor or run times"));
}

TEST(FactorCsv, ErrorsNameLineAndField) {
  EXPECT_EQ(CsvError("cores,loadBalanse\n8,1\n"), "t.csv:1: unknown column 'loadBalanse'; did you mean 'loadBalance'?");
  EXPECT_THAT(CsvError("cores;loadBalance\n8;1\n"), HasSubstr("separate the columns by commas"));
  EXPECT_THAT(CsvError("loadBalance\n1\n"), HasSubstr("the column 'cores' is missing"));
  EXPECT_THAT(CsvError("cores\n1\n"), HasSubstr("no column with a factor or run times"));
  EXPECT_THAT(CsvError("cores,cores,loadBalance\n1,1,1\n"), HasSubstr("occurs twice"));
  EXPECT_THAT(CsvError("cores,loadBalance\n8\n"), HasSubstr("t.csv:2: the line has 1 fields, the header 2"));
  EXPECT_THAT(CsvError("cores,loadBalance\n8,x\n"), HasSubstr("loadBalance is 'x', which is not a positive number"));
  EXPECT_THAT(CsvError("cores,loadBalance\n8,0\n"), HasSubstr("not a positive number"));
  EXPECT_THAT(CsvError("cores,loadBalance\n8,nan\n"), HasSubstr("not a positive number"));
  EXPECT_THAT(CsvError("cores,loadBalance\n8,99.7\n"), HasSubstr("divide percentages by 100"));
  EXPECT_THAT(CsvError("cores,loadBalance\n8,1.05\n"), HasSubstr("t.csv:2: loadBalance is 1.05, but it is a share"));
  EXPECT_EQ(CsvError("cores,ipcScaling,transferEfficiency\n8,1.05,1.05\n"), "no error");
  EXPECT_THAT(CsvError("cores,loadBalanceError\n8,1\n"), HasSubstr("no column with a factor"));
  EXPECT_THAT(CsvError("cores,loadBalance,loadBalanceErr\n8,1,1\n"), HasSubstr("did you mean 'loadBalanceError'?"));
  EXPECT_THAT(CsvError("cores,loadBalance,loadBalanceError\n8,1,-1\n"),
              HasSubstr("loadBalanceError is '-1', which is not a number of 0 or more"));
  EXPECT_THAT(CsvError("cores,loadBalance\n-8,1\n"), HasSubstr("a whole number of at least 1"));
  EXPECT_THAT(CsvError("cores,loadBalance\n,1\n"), HasSubstr("the number of cores is missing"));
  EXPECT_THAT(CsvError("cores,ranks,threads,loadBalance\n8,3,2,1\n"), HasSubstr("8 cores are not 3 ranks with 2"));
  EXPECT_THAT(CsvError("cores,repeat,loadBalance\n8,1,1\n8,1,1\n"), HasSubstr("a second row for 8 cores, repeat 1"));
  EXPECT_THAT(CsvError("series,cores,loadBalance\n\"a,8,1\n"), HasSubstr("t.csv:2: a quoted field does not end"));
  EXPECT_THAT(CsvError(""), HasSubstr("the table has no rows"));
  EXPECT_THAT(CsvError("cores,loadBalance\n"), HasSubstr("the table has no rows"));
}

// A table that says no ranks has one for every so many threads, and at least one.
TEST(FactorJson, RanksAreCoresByThreads) {
  const auto ranks_of = [](const std::string& row) {
    return ReadFactorJson("{\"format\": \"farscale-factors\", \"version\": 1, \"rows\": [{" + row +
                              ", \"factors\": {\"loadBalance\": 1}}]}",
                          "f")
        .rows.front()
        .ranks;
  };
  EXPECT_EQ(ranks_of("\"cores\": 8"), 8);
  EXPECT_EQ(ranks_of("\"cores\": 8, \"threads\": 2"), 4);
  EXPECT_EQ(ranks_of("\"cores\": 1, \"threads\": 2"), 1);
  EXPECT_EQ(ranks_of("\"cores\": 8, \"threads\": 2, \"ranks\": 3"), 3);
}

// In version 1 a group of 4 of 8 ranks and a phase could have the same text: the rows of all ranks are the phase.
TEST(FactorJson, GroupsAndPhasesOfTheSameOldText) {
  std::string rows;
  for (const auto& [cores, ranks] : {std::pair(8, 4), std::pair(8, 8), std::pair(16, 8), std::pair(16, 16)}) {
    rows += fmt::format(R"({}{{"phase": "a / b", "cores": {}, "ranks": {}, "factors": {{"loadBalance": 0.{}}}}})",
                        rows.empty() ? "" : ",", cores, ranks, ranks == cores ? 9 : 5);
  }
  const FactorTable table =
      ReadFactorJson(R"({"format": "farscale-factors", "version": 1, "rows": [)" + rows + "]}", "t.json");
  for (const FactorRow& row : table.rows) {
    const bool is_whole = row.ranks == row.cores;
    EXPECT_EQ(row.phase, is_whole ? PhaseId("a / b") : PhaseId("a", "b"));
    EXPECT_EQ(row.values[Factor::kLoadBalance], is_whole ? 0.9 : 0.5);
  }
}

// What stands between a phase and a group is in no name of a group, as in studies.
TEST(FactorTables, NamesOfGroups) {
  const std::string csv = "phase,group,cores,ranks,loadBalance\nstep,pme / x,8,3,0.9\n";
  EXPECT_THAT(CsvError(csv), HasSubstr("'pme / x', contains ' / '"));
  EXPECT_THROW(ReadFactorJson(R"({"format": "farscale-factors", "version": 2, "rows": [{"phase": "step", )"
                              R"("group": "pme / x", "cores": 8, "ranks": 3, "factors": {"loadBalance": 0.9}}]})",
                              "t.json"),
               Error);
}

// Version 1 had groups in the text of the phase. In version 2 a text is a name, whatever the ranks are.
TEST(FactorJson, GroupsOfRanks) {
  const auto file = [](const char* version, const char* more) {
    const auto row = [&](const std::string& phase, const char* ranks) {
      return R"({"phase": ")" + phase + R"(", "cores": 8, "ranks": )" + ranks + R"(, "factors": {"loadBalance": 0.9}})";
    };
    return R"({"format": "farscale-factors", "version": )" + std::string(version) + R"(, "rows": [)" +
           row("step", "8") + ", " + row("step / pme", "3") + ", " + row("io / write", "8") + more + "]}";
  };
  EXPECT_THAT(ReadFactorJson(file("1", ""), "f").Phases(""),
              ElementsAre(PhaseId("step"), PhaseId("step", "pme"), PhaseId("io / write")));
  const FactorTable table = ReadFactorJson(
      file("2", R"(, {"phase": "step", "group": "pme", "cores": 8, "ranks": 3, "factors": {"loadBalance": 0.8}})"),
      "f");
  EXPECT_THAT(table.Phases(""),
              ElementsAre(PhaseId("step"), PhaseId("step / pme"), PhaseId("io / write"), PhaseId("step", "pme")));
  EXPECT_EQ(ReadFactorJson(WriteFactorJson(table), "f").rows, table.rows);
  EXPECT_THAT(JsonError(file("3", "")), HasSubstr("has version 3 of the factor table, this program reads 1 to 2"));
}

TEST(FactorJson, Errors) {
  EXPECT_THAT(JsonError("{"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(JsonError("[]"), HasSubstr("is not a factor table"));
  EXPECT_THAT(JsonError("{\"format\": \"other\"}"), HasSubstr("is not a factor table of farscale"));
  EXPECT_THAT(JsonError("{\"format\": \"farscale-factors\", \"version\": 99}"), HasSubstr("has version 99"));
  const std::string head = "{\"format\": \"farscale-factors\", \"version\": 1, \"rows\": [";
  EXPECT_THAT(JsonError(head + "]}"), HasSubstr("rows is empty"));
  EXPECT_THAT(JsonError(head + "{\"cores\": 8}]}"), HasSubstr("rows[0].factors is missing"));
  EXPECT_THAT(JsonError(head + "{\"cores\": 8, \"factors\": {\"loadBalanc\": 1}}]}"),
              HasSubstr("did you mean 'loadBalance'?"));
  EXPECT_THAT(JsonError(head + "{\"cores\": 8, \"factors\": {\"loadBalance\": -1}}]}"),
              HasSubstr("rows[0].factors.loadBalance is -1, but must be more than 0"));
  EXPECT_THAT(JsonError(head + "{\"cores\": 8, \"factors\": {}, \"standardErrors\": {\"loadBalance\": -1}}]}"),
              HasSubstr("rows[0].standardErrors.loadBalance is -1, but must be at least 0"));
  EXPECT_THAT(JsonError(head + "{\"cores\": 0, \"factors\": {}}]}"), HasSubstr("rows[0].cores is 0"));
  EXPECT_THAT(JsonError(head + "{\"cores\": 1, \"factors\": {}, \"totls\": {}}]}"),
              HasSubstr("rows[0] has the unknown key 'totls'; did you mean 'totals'?"));
  EXPECT_THAT(JsonError(head + "{\"cores\": \"8\", \"factors\": {}}]}"),
              HasSubstr("rows[0].cores is not a whole number"));
}

}  // namespace
}  // namespace farscale
