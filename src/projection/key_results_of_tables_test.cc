// The answers of whole tables: files that keep them, and what holds of any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/diagnostics.h"
#include "base/files.h"
#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "projection/key_results.h"
#include "projection/projection.h"
#include "results/json_fields.h"
#include "results/results.h"
#include "results/results_json.h"
#include "support/models.h"
#include "support/traces.h"
#include "support/repeats.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using Kind = CountBound::Kind;

std::vector<PhaseProjection> ProjectTable(FactorTable table) {
  CompleteTable(table);
  return Project(table, test::AllModels(), {{}, {}, {}});
}

TEST(AnswersOfTables, OnePointHasNone) {
  const PhaseProjection phase = ProjectTable(ReadFactorCsv("cores,loadBalance,runtime\n8,0.9,1\n", "t.csv")).front();
  EXPECT_FALSE(phase.reliable_range);
  EXPECT_FALSE(phase.key_results);
}

// Everything that files keep is there, with open bounds too.
TEST(AnswersOfTables, FilesReadBack) {
  FactorTable table = ReadFactorCsv(
      "cores,loadBalance,communicationEfficiency,runtime,iterations\n"
      "2,0.95,0.9,24,3\n4,0.9,0.8,14,3\n8,0.85,0.75,8,3\n",
      "t.csv");
  table.scaling = Scaling::kStrong;
  const std::vector<PhaseProjection> phases = ProjectTable(table);
  ASSERT_TRUE(phases.front().reliable_range && phases.front().key_results && phases.front().key_results->time);
  auto json = nlohmann::ordered_json::parse(JsonOf(phases).dump());
  EXPECT_EQ(FromJson<std::vector<PhaseProjection>>(json, "f"), phases);
  const std::string csv = WriteProjectionCsv(phases);
  EXPECT_THAT(csv, HasSubstr(",,timePerIteration,product,,16,2,"));
  EXPECT_THAT(csv, HasSubstr(",,runtime,product,,16,2,"));
  EXPECT_THAT(csv, HasSubstr(",reliable\n"));
  bool has_counts = false;
  for (const auto& [name, answer] : json[0]["answers"].items()) {
    if (!answer.is_object() || !answer.contains("value")) continue;
    auto without = json;
    without[0]["answers"][name]["value"] = nlohmann::ordered_json::object();  // no number of cores
    EXPECT_THROW(FromJson<std::vector<PhaseProjection>>(without, "f"), Error) << name;
    has_counts = true;
  }
  EXPECT_TRUE(has_counts);
  json[0].erase("answers");
  EXPECT_FALSE(FromJson<std::vector<PhaseProjection>>(json, "f").front().key_results);
  const auto range = json[0]["reliableRange"];
  json[0]["reliableRange"]["cores"] = -8;
  EXPECT_THROW(FromJson<std::vector<PhaseProjection>>(json, "f"), Error);
  json[0]["reliableRange"] = range;
  json[0]["reliableRange"]["reach"] = "far";
  EXPECT_THROW(FromJson<std::vector<PhaseProjection>>(json, "f"), Error);
  json[0]["reliableRange"]["reach"] = "upTo";
  json[0]["reliableRange"]["cores"] = 8;
  EXPECT_EQ(FromJson<std::vector<PhaseProjection>>(json, "f").front().reliable_range->cores, 8);
  json[0]["fittedCores"] = nlohmann::ordered_json::array();
  EXPECT_THROW(FromJson<std::vector<PhaseProjection>>(json, "f"), Error);
}

// Version 0.2 had another rule, so the range is found anew; levels are computed from it, and files say them.
TEST(AnswersOfTables, FilesOfEarlierVersionsGetARange) {
  FactorTable table = ReadFactorCsv(
      "cores,loadBalance,communicationEfficiency,runtime,iterations\n"
      "2,0.95,0.9,24,3\n4,0.9,0.8,14,3\n8,0.85,0.75,8,3\n",
      "t.csv");
  table.scaling = Scaling::kStrong;
  const std::vector<PhaseProjection> phases = ProjectTable(table);
  auto json = nlohmann::ordered_json::parse(JsonOf(phases).dump());
  for (const auto& target : json[0]["factors"][0]["targets"]) {
    EXPECT_EQ(target["reliability"],
              ToString(ReliabilityOf(phases.front(), phases.front().factors[0].factor, target["cores"].get<double>())));
  }
  json[0].erase("reliableRange");
  json[0]["horizon"] = {{"factor", "loadBalance"}, {"width", 0.2}, {"cores", 1e6}, {"reach", "upTo"}};
  for (auto& factor : json[0]["factors"]) {
    for (auto& target : factor["targets"]) target.erase("reliability");
  }
  for (auto& time : json[0]["answers"]["time"]["targets"]) {
    time.erase("reliability");
    time["evidence"] = true;
  }
  EXPECT_EQ(FromJson<std::vector<PhaseProjection>>(json, "f"), phases);
}

double Place(const CountBound& bound) {
  return bound.kind == Kind::kBelow ? 0 : bound.kind == Kind::kMoreThan ? 1e9 : bound.cores;
}

void CheckOrder(const CountEstimate& answer) {
  if (!answer.low) return;
  EXPECT_LE(Place(*answer.low), Place(answer.value));
  EXPECT_LE(Place(answer.value), Place(*answer.high));
}

// What holds of any phase: bounds in order, fewer cores for more efficiency, times that add up to efficiencies.
void CheckAnswers(const PhaseProjection& phase) {
  const KeyResults& key_results = *phase.key_results;
  double before = 0;
  for (const LevelCounts& level : key_results.levels) {  // 0.8, 0.75, 0.5
    for (const auto& answer : {level.parallel, level.relative}) {
      if (answer) CheckOrder(*answer);
    }
    if (!level.parallel) continue;
    EXPECT_LE(before, Place(level.parallel->value));
    before = Place(level.parallel->value);
  }
  if (key_results.peak) CheckOrder(key_results.peak->count);
  for (const PerfectAtTarget& at : key_results.perfect) {
    for (std::size_t i = 1; i < at.factors.size(); ++i) EXPECT_GE(at.factors[i - 1].gain, at.factors[i].gain);
    for (const PerfectFactor& perfect : at.factors) {
      if (!perfect.gain80) continue;
      EXPECT_LE(perfect.gain80->low, perfect.gain + 1e-12);
    }
    if (phase.dominant_at.count(at.cores) > 0 && !at.factors.empty()) {
      EXPECT_EQ(at.factors.front().factor, phase.dominant_at.at(at.cores));
    }
  }
  if (!key_results.time) return;
  for (const ProjectedTime& target : key_results.time->targets) {
    EXPECT_GT(target.seconds, 0);
    if (!target.interval80) continue;
    EXPECT_LE(target.interval80->low, target.seconds * (1 + 1e-12));
    EXPECT_GE(target.interval80->high.value_or(1e300), target.seconds * (1 - 1e-12));
  }
}

TEST(AnswersOfTables, InvariantsOnRandomTables) {
  std::mt19937_64 random(7);
  const auto share = [&](double from) { return from + (1 - from) * static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int round = 0; round < test::Repeats(20); ++round) {
    std::string csv = "cores,loadBalance,serializationEfficiency,transferEfficiency,runtime\n";
    double time = 10;
    const int counts = 2 + round % 4;
    for (int i = 0; i < counts; ++i) {
      csv += std::to_string(4 << i) + "," + std::to_string(share(0.6)) + "," + std::to_string(share(0.6)) + "," +
             std::to_string(share(0.6)) + "," + std::to_string(time) + "\n";
      time *= share(0.4);
    }
    FactorTable table = ReadFactorCsv(csv, "t.csv");
    table.scaling = round % 2 == 0 ? Scaling::kStrong : Scaling::kWeak;
    for (const PhaseProjection& phase : ProjectTable(table)) {
      if (phase.key_results) CheckAnswers(phase);
    }
  }
}

// On the factors of the sample runs. Projected to the cores of the runs, times are off by just what speedups are off
// by: T · S, with weak scaling T · S / P, is the same as measured.
TEST(AnswersOfTables, SampleRuns) {
  for (const std::string name : {"comd-noise", "lammps-lj", "lulesh", "npb-lu"}) {
    const std::string file = test::SourceFolder() + "/sample-runs/" + name + "/expected/factors.csv";
    FactorTable table = ReadFactorCsv(ReadFile(file), file);
    table.scaling = name == "npb-lu" ? Scaling::kStrong : Scaling::kWeak;
    CompleteTable(table);
    ProjectionOptions options;
    for (const FactorRow& row : table.rows) options.targets.push_back(static_cast<double>(row.cores));
    options.targets.push_back(4096);
    std::size_t with_times = 0;
    for (const PhaseProjection& phase : Project(table, test::AllModels(), options)) {
      if (!phase.key_results) continue;
      CheckAnswers(phase);
      if (!phase.key_results->time) continue;
      ++with_times;
      const std::vector<ProjectedValue>& speedups = phase.Find(Factor::kSpeedup)->targets;
      for (const FactorRow& row : table.Rows(phase.series, phase.phase)) {
        for (std::size_t i = 0; i < speedups.size(); ++i) {
          if (speedups[i].cores != static_cast<double>(row.cores)) continue;
          const double projected = phase.key_results->time->targets.at(i).seconds * speedups[i].value;
          const double measured = *row.runtime / row.iterations * *row.values[Factor::kSpeedup];
          EXPECT_NEAR(projected / measured, 1, 1e-9) << name << ", " << row.phase.Text() << " at " << row.cores;
        }
      }
    }
    EXPECT_GT(with_times, 0u);
  }
}

}  // namespace
}  // namespace farscale
