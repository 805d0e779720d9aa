#include "report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/diagnostics.h"
#include "base/files.h"
#include "results/results_json.h"
#include "report/report.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kNoLimit = 100'000'000;

PictureCell Only(RunState state) {
  PictureCell cell{};
  cell[static_cast<std::size_t>(state)] = kCellLevels;
  return cell;
}

// Two ranks over four seconds: computation, a mixture, waiting; transfer and computation.
RunPicture SmallPicture() {
  const PictureCell c = Only(RunState::kComputation), w = Only(RunState::kWaiting), t = Only(RunState::kTransfer);
  RunPicture picture;
  picture.seconds = 4;
  picture.ranks = 2;
  picture.rows = {{c, {4, 4, 0, 0, 0, 0}, w, w}, {t, t, c, c}};
  picture.shares[0] = {0.4375, 0.375, 0.5, 0, 1};
  picture.shares[1] = {0.3125, 0, 0.625, 1, 0};
  picture.shares[2] = {0.25, 0, 0.5, 0, 1};
  return picture;
}

IterationRecord Iteration(double begin, double end) {
  IterationRecord record;
  record.begin = begin;
  record.end = end;
  record.elapsed = end - begin;
  record.useful = 0.75 * (end - begin);
  record.parallel_efficiency = 0.75;
  record.load_balance = 0.9;
  return record;
}

RunRecord SmallRun() {
  RunRecord run;
  run.path = "a.otf2";
  run.fingerprint = std::string(64, 'a');
  run.cores = run.ranks = 2;
  run.nodes = 1;
  run.seconds = 4;
  run.picture = SmallPicture();
  run.phases = {{"step", {Iteration(0, 1), Iteration(1, 2.5), Iteration(2.5, 3), Iteration(3, 4)}, std::nullopt}};
  run.phases[0].iterations[1].left_out = 1;
  run.phases[0].iterations[1].reason = "disturbed";
  run.phases[0].iterations[1].disturbance = 0.2;
  return run;
}

Results ResultsOf(const std::vector<RunRecord>& runs) {
  Results results;
  results.title = "study";
  results.runs = runs;
  for (const PhaseMarks& phase : runs.front().phases) {
    results.phases.push_back({phase.phase, "region " + phase.phase});
    for (const RunRecord& run : runs) {
      FactorRow row;
      row.phase = phase.phase;
      row.cores = run.cores;
      row.ranks = run.ranks;
      row.repeat = run.repeat;
      row.values[Factor::kLoadBalance] = 0.9;
      results.table.rows.push_back(row);
    }
  }
  return results;
}

std::string Html(const Results& results) { return test::OwnHtml(results); }

// The widest is 726 units; a picture four columns wide. The ground is what most cells are, here computation.
TEST(TimelinePicture, DrawsStatesPhasesAndAxes) {
  const std::string svg = RenderTimeline(SmallRun(), true, kNoLimit);
  EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("<title>2 ranks, 4.00 s</title>"));
  EXPECT_THAT(svg, HasSubstr("<desc>Ranks down, time across. Of the time of all ranks: 43.8 % computation"));
  EXPECT_THAT(svg, HasSubstr("step from 0 s to 4.00 s in 4 iterations, 1 of them left out."));
  EXPECT_THAT(svg, HasSubstr("<path stroke=\"" + StateColor(RunState::kWaiting) + "\" d=\"M2 0h2\"/>"));
  EXPECT_THAT(svg, HasSubstr("<path stroke=\"" + StateColor(RunState::kTransfer) + "\" d=\"M0 1h2\"/>"));
  EXPECT_THAT(svg, Not(HasSubstr("<path stroke=\"" + StateColor(RunState::kComputation))));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"1.5 1.5\""));  // the iteration left out
  EXPECT_THAT(svg, HasSubstr("<title>step: 4 iterations, 1 left out</title>"));
  EXPECT_THAT(svg, HasSubstr(">time since the begin of the run (s)</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(svg, RenderTimeline(SmallRun(), true, kNoLimit));
}

RunRecord RunWithDevices() {
  RunRecord run = SmallRun();
  const DeviceCell kernel{8, 0}, copy{0, 8}, mixed{2, 4}, idle{};
  run.picture->devices = {{0, "fake <0>", {idle, kernel, kernel, copy}, 0.5, 0.25},
                          {1, "fake 1", {mixed, idle, idle, idle}, 0.0625, 0.125}};
  return run;
}

// Rows are 30 high, with a strip of 9 at the bottom of each; kernels and copies have colours of their own.
TEST(TimelinePicture, DevicesAreStripsBelowTheirRanks) {
  const std::string svg = RenderTimeline(RunWithDevices(), true, kNoLimit);
  EXPECT_THAT(svg, HasSubstr("<title>fake &lt;0&gt;: 50.0 % in kernels, 25.0 % in copies</title>"));
  EXPECT_THAT(svg, HasSubstr("<path stroke=\"#008070\" d=\"M1 0h2\"/>"));
  EXPECT_THAT(svg, HasSubstr("<path stroke=\"#d6488e\" d=\"M3 0h1\"/>"));
  for (const char* name : {"device: kernels", "device: copies"}) EXPECT_THAT(svg, HasSubstr(name));
  EXPECT_THAT(
      svg, HasSubstr("Devices, in strips below their ranks, are 28.1 % of the time in kernels and 18.8 % in copies."));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(RenderTimeline(SmallRun(), true, kNoLimit), Not(HasSubstr("evice")));
}

TEST(TimelinePicture, StripsOfDevicesAreJoinedWithTheirRanks) {
  RunRecord run = RunWithDevices();
  const std::string svg = RenderTimeline(run, true, 1);
  EXPECT_THAT(svg, HasSubstr("fake 1: 6.2 % in kernels"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_LT(svg.size(), RenderTimeline(run, true, kNoLimit).size() + 1);
}

TEST(TimelinePicture, NamesStayText) {
  RunRecord run = SmallRun();
  run.phases[0].phase = "<script>x";
  EXPECT_THAT(RenderTimeline(run, false, kNoLimit), Not(HasSubstr("<script>x")));
  const std::string html = Html(ResultsOf({run}));
  EXPECT_THAT(html, Not(HasSubstr("<script>x")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;x: 4 iterations"));
}

// A long name is cut between characters, not within one.
TEST(TimelinePicture, LongNamesAreCut) {
  RunRecord run = SmallRun();
  run.phases[0].phase = "äöüäöüäöüäöüäöüäöü";
  EXPECT_THAT(RenderTimeline(run, false, kNoLimit), HasSubstr(">äöüäöüäöüäöüäöüä…</text>"));
}

TEST(TimelinePicture, CellsAreJoinedUntilThePictureIsSmallEnough) {
  RunRecord run = SmallRun();
  run.picture->rows.assign(64, {});
  std::mt19937 random(1);
  for (std::vector<PictureCell>& row : run.picture->rows) {
    for (int column = 0; column < 360; ++column) row.push_back(Only(static_cast<RunState>(random() % 3)));
  }
  const std::size_t whole = RenderTimeline(run, false, kNoLimit).size();
  const std::size_t halved = RenderTimeline(run, false, whole - 1).size();
  EXPECT_LT(halved, whole);
  EXPECT_LT(RenderTimeline(run, false, 75'000).size(), 75'000u);
  EXPECT_LT(RenderTimeline(run, false, 0).size(), halved);  // and not smaller than an eighth
}

// With times 1, 2, 3, 4 and one left out of five: two, two, one.
TEST(Iterations, AreJoined) {
  std::vector<IterationRecord> iterations = {Iteration(0, 1), Iteration(1, 3), Iteration(3, 6), Iteration(6, 10),
                                             Iteration(10, 11)};
  iterations[3].left_out = 1;
  iterations[3].reason = "late";
  iterations[2].disturbance = 0.25;
  JoinIterations(iterations, 3);
  ASSERT_EQ(iterations.size(), 3u);
  EXPECT_EQ(iterations[0].iterations, 2);
  EXPECT_EQ(iterations[0].begin, 0);
  EXPECT_EQ(iterations[0].end, 3);
  EXPECT_EQ(iterations[0].elapsed, 1.5);
  EXPECT_EQ(iterations[1].elapsed, 3.5);
  EXPECT_EQ(iterations[1].left_out, 1);
  EXPECT_EQ(iterations[1].reason, "late");
  EXPECT_EQ(iterations[1].disturbance, 0.125);
  EXPECT_TRUE(iterations[1].IsKept());
  EXPECT_EQ(iterations[2].iterations, 1);
  JoinIterations(iterations, 3);
  EXPECT_EQ(iterations.size(), 3u);
}

TEST(Iterations, TableAndFigure) {
  ReportModel model;
  const ReportData section = Iterations(ResultsOf({SmallRun()}), "step", {"step", "step"}, model);
  const ReportData& run = section["runs"].at(0);
  EXPECT_EQ(run["heading"], "2 cores");
  EXPECT_EQ(run["count"], "4");
  EXPECT_EQ(run["leftOut"], "1");
  EXPECT_EQ(run["median"], "1.00 s");
  EXPECT_EQ(run["shortest"], "500 ms (no. 3)");
  EXPECT_EQ(run["longest"], "1.50 s (no. 2)");
  EXPECT_EQ(run["disturbance"], "20.0 %");
  const std::string& svg = model.figures.at("step-iterations.svg");
  EXPECT_THAT(svg, HasSubstr("left out: disturbed</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_FALSE(Iterations(ResultsOf({SmallRun()}), "other", {}, model));
  RunRecord few = SmallRun();
  few.phases[0].iterations.resize(2);
  EXPECT_FALSE(Iterations(ResultsOf({few}), "step", {}, model));
}

TEST(Timelines, SmallestAndLargestAreOpen) {
  std::vector<RunRecord> runs(4, SmallRun());
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].cores = static_cast<std::int64_t>(2 + 2 * i);
  runs[3].cores = 6;
  runs[3].repeat = 1;
  ReportModel model;
  std::size_t all = 0, shown = 0;
  const ReportData timelines = Timelines(ResultsOf(runs), model, all, shown);
  std::vector<bool> folded;
  for (const ReportData& timeline : timelines) folded.push_back(timeline["isFolded"].get<bool>());
  EXPECT_THAT(folded, ElementsAre(false, true, false, true));
  EXPECT_EQ(all, 4u);
  EXPECT_EQ(model.figures.count("timeline-6-1.svg"), 1u);
  EXPECT_EQ(timelines[0]["states"][1]["leastRank"], "1");
}

TEST(Timelines, RepeatsAreTheFirstToBeLeftOut) {
  std::vector<RunRecord> runs(40, SmallRun());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].cores = static_cast<std::int64_t>(1 + i / 2);
    runs[i].repeat = static_cast<std::int64_t>(i % 2);
  }
  ReportModel model;
  std::size_t all = 0, shown = 0;
  const ReportData timelines = Timelines(ResultsOf(runs), model, all, shown);
  ASSERT_EQ(timelines.size(), kMostTimelines);
  EXPECT_EQ(timelines.front()["heading"], "1 core");
  EXPECT_EQ(timelines.back()["heading"], "20 cores");
  EXPECT_EQ(all, 40u);
  EXPECT_THAT(Html(ResultsOf(runs)), HasSubstr(" 12 of 40 runs are shown."));
}

// The worst there is: no two cells alike, twenty phases of iterations that are all told apart.
TEST(Timelines, AreOfBoundedSize) {
  std::mt19937 random(1);
  std::vector<RunRecord> runs(12, SmallRun());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RunRecord& run = runs[i];
    run.cores = run.ranks = run.picture->ranks = std::int64_t{2} << i;
    run.picture->ranks_per_row = std::max<std::int64_t>(1, run.ranks / 64);
    run.picture->rows.assign(static_cast<std::size_t>(run.ranks / run.picture->ranks_per_row), {});
    for (std::vector<PictureCell>& row : run.picture->rows) {
      for (int column = 0; column < 360; ++column) {
        const auto level = static_cast<std::uint8_t>(random() % 9);
        row.push_back({level, static_cast<std::uint8_t>(kCellLevels - level), 0, 0, 0, 0});
      }
    }
    run.phases.clear();
    for (int phase = 0; phase < 20; ++phase) {
      PhaseMarks& marks = run.phases.emplace_back();
      marks.phase = "phase " + std::to_string(phase);
      for (int k = 0; k < 400; ++k) {
        const double begin = 0.01 * k;
        marks.iterations.push_back(Iteration(begin, begin + 0.001 * static_cast<double>(random() % 10)));
        marks.iterations.back().left_out = static_cast<std::int64_t>(random() % 2);
        marks.iterations.back().disturbance = 0.001 * static_cast<double>(random() % 100);
      }
    }
  }
  const Results results = ResultsOf(runs);
  ReportModel model;
  std::size_t bytes = 0, all = 0, shown = 0;
  for (const ReportData& timeline : Timelines(results, model, all, shown)) {
    bytes += timeline["figure"]["svg"].get<std::string>().size();
  }
  EXPECT_LT(bytes, 1'000'000u);
  EXPECT_LT(Html(results).size(), 2'000'000u);  // without projections
}

TEST(Timelines, ReadBackFromJson) {
  RunRecord run = RunWithDevices();
  run.picture->ranks_per_row = 2;
  run.picture->ranks = 3;
  run.picture->node_begins = {0, 2};
  run.picture->problem = "rank 0 waits";
  run.phases[0].iterations[0].iterations = 3;
  const Results results = ResultsOf({run});
  const std::string json = WriteResultsJson(results);
  EXPECT_THAT(json, HasSubstr("\"c c4w4 w*2\""));
  EXPECT_THAT(json, HasSubstr("\"cells\": \"i k*2 c\""));
  const Results again = ReadResultsJson(json, "results.json");
  EXPECT_EQ(again.runs, results.runs);
  EXPECT_EQ(Html(again), Html(results));
}

TEST(Timelines, DamagedJsonIsAnError) {
  const std::string json = WriteResultsJson(ResultsOf({RunWithDevices()}));
  const auto error_of = [&](const std::string& from, const std::string& to) -> std::string {
    std::string damaged = json;
    damaged.replace(damaged.find(from), from.size(), to);
    try {
      ReadResultsJson(damaged, "r.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "read";
  };
  EXPECT_THAT(error_of("c4w4", "c4w3"), HasSubstr("is damaged: 'c4w3' is no part of a run's picture"));
  EXPECT_THAT(error_of("c4w4", "c4w3"), HasSubstr("r.json: runs[0].picture.rows["));
  EXPECT_THAT(error_of("c4w4", "x"), HasSubstr("'x' is no part"));
  EXPECT_THAT(error_of("w*2", "w*3"), HasSubstr("'w*3' is no part"));
  EXPECT_THAT(error_of("w*2", "w*99999999999999"), HasSubstr("is no part"));
  EXPECT_THAT(error_of("w*2", "w"), HasSubstr("'c c4w4 w' is no part"));
  EXPECT_THAT(error_of("k2c4", "k5c4"), HasSubstr("runs[0].picture.devices[1] is damaged: 'k5c4' is no part"));
  EXPECT_THAT(error_of("k2c4", "k2k4"), HasSubstr("'k2k4' is no part"));
  EXPECT_THAT(error_of("k2c4", "w"), HasSubstr("'w' is no part"));
  EXPECT_THAT(error_of("\"row\": 1", "\"row\": 2"), HasSubstr("devices[1] has row 2 of 2"));
  EXPECT_THAT(error_of("\"ranksPerRow\": 1", "\"ranksPerRow\": 0"),
              HasSubstr("runs[0].picture.ranksPerRow is 0, but must be at least 1"));
  EXPECT_THAT(error_of("\"columns\": 4", "\"columns\": -4"), HasSubstr("runs[0].picture.columns is -4"));
  EXPECT_THAT(error_of("\"leftOut\": 1", "\"leftOut\": 2"), HasSubstr("2 of 1 iterations are left out"));
}

// Results of earlier versions know neither pictures nor iterations.
TEST(Timelines, AReportWithoutThemHasNoSection) {
  RunRecord run = SmallRun();
  Results results = ResultsOf({run});
  results.runs[0].picture.reset();
  results.runs[0].phases.clear();
  const std::string json = WriteResultsJson(results);
  EXPECT_THAT(json, Not(HasSubstr("picture")));
  EXPECT_THAT(Html(ReadResultsJson(json, "r.json")), Not(HasSubstr("Timelines")));
}

}  // namespace
}  // namespace farscale
