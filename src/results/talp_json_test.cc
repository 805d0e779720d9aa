#include "results/factor_table_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Two ranks that compute 6 and 9 s of 10 s, on a node of their own each: the mean is 7.5 s, PE = 0.75, LB = 7.5 / 9,
// CommE = 0.9, within nodes 1, between nodes 7.5 / 9. Times are in ns.
Json PureRegion(double scale = 1) {
  Json region = {{"numCpus", 2}, {"numMpiRanks", 2}, {"numNodes", 2}, {"avgCpus", 2.0}};
  region["cycles"] = 30e9 * scale;  // 2 GHz
  region["instructions"] = 45e9 * scale;
  region["numMeasurements"] = 2;
  region["elapsedTime"] = 10e9 * scale;
  region["usefulTime"] = 15e9 * scale;
  region["mpiTime"] = 5e9 * scale;
  region["parallelEfficiency"] = region["mpiParallelEfficiency"] = 0.75;
  region["mpiCommunicationEfficiency"] = 0.9;
  region["mpiLoadBalance"] = 0.83;
  region["mpiLoadBalanceIn"] = 1.0;
  region["mpiLoadBalanceOut"] = 0.83;
  region["ompParallelEfficiency"] = 1.0;
  return region;
}

// As 3.5 says how long the busiest computes.
Json Region35() {
  Json region = PureRegion();
  region["maxUsefulNormdProc"] = region["maxUsefulNormdNode"] = 9e9;
  return region;
}

// As later versions do: by what the least busy with MPI spends there.
Json Region36() {
  Json region = PureRegion();
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 1e9;
  return region;
}

Json Document(const std::string& version, const Json& regions, int cpus = 2, int ranks = 2) {
  Json json = {{"dlbVersion", version}, {"timestamp", "2026-11-20T12:00:00"}};
  json["resources"] = {{"numCpus", cpus}, {"numNodes", 2}, {"numMpiRanks", ranks}};
  json["Application"] = regions;
  return json;
}

FactorTable Read(const Json& json) { return TableOfTalpFiles({{"t.json", json.dump()}}); }

std::string ErrorOf(const std::string& text) {
  try {
    TableOfTalpFiles({{"t.json", text}});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

const Finding* FindingOf(const FactorTable& table, std::string_view id) {
  for (const Finding& finding : table.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

void ExpectTwoRanks(const FactorTable& table) {
  ASSERT_EQ(table.rows.size(), 1u);
  const FactorRow& row = table.rows[0];
  EXPECT_EQ(row.phase, "whole");
  EXPECT_EQ(row.span, Span::kWhole);
  EXPECT_EQ(row.cores, 2);
  EXPECT_EQ(row.ranks, 2);
  EXPECT_EQ(row.nodes, 2);
  EXPECT_DOUBLE_EQ(*row.runtime, 10);
  EXPECT_DOUBLE_EQ(*row.values[Factor::kParallelEfficiency], 0.75);
  EXPECT_DOUBLE_EQ(*row.values[Factor::kLoadBalance], 7.5 / 9);
  EXPECT_DOUBLE_EQ(*row.values[Factor::kLoadBalanceIn], 1);
  EXPECT_DOUBLE_EQ(*row.values[Factor::kLoadBalanceOut], 7.5 / 9);
  EXPECT_DOUBLE_EQ(*row.values[Factor::kCommunicationEfficiency], 0.9);
  EXPECT_FALSE(row.values[Factor::kSerialization]);
  ASSERT_TRUE(row.totals);
  EXPECT_DOUBLE_EQ(row.totals->total_useful, 15);
  EXPECT_DOUBLE_EQ(row.totals->total_mpi, 5);
  EXPECT_DOUBLE_EQ(*row.totals->instructions, 45e9);
  EXPECT_TRUE(table.findings.empty());
}

TEST(TalpJson, OfAllVersionsSince35GivesTheSameFactors) {
  ExpectTwoRanks(Read(Document("3.5", {{"Global", Region35()}})));
  ExpectTwoRanks(Read(Document("3.5.2", {{"Global", Region35()}})));
  ExpectTwoRanks(Read(Document("3.6.1", {{"Global", Region36()}})));
  Json newest = Document("3.8.0", {{"Global", Region36()}});
  newest["resources"]["numAvailableCpus"] = 48;
  newest["Application"]["Global"]["mpiWorkerIdleTime"] = 0;
  ExpectTwoRanks(Read(newest));
  // Its first release called the section and the whole run otherwise.
  Json first = Document("3.5a", Json::object());
  first.erase("Application");
  first["popMetrics"] = {{"Application", Region35()}};
  ExpectTwoRanks(Read(first));
}

TEST(TalpJson, Before35IsReadFromRawTimes) {
  Json json;
  json["popMetrics"] = {{{"name", "MPI Execution"}, {"elapsedTime", 10e9}, {"parallelEfficiency", 0.75}}};
  json["popRaw"] = {{{"name", "MPI Execution"},
                     {"numCpus", 2},
                     {"numNodes", 2},
                     {"elapsedTime", 10e9},
                     {"elapsedUseful", 9e9},
                     {"usefulCpuTotal", 15e9},
                     {"usefulCpuNode", 9e9},
                     {"cycles", 30e9},
                     {"instructions", 45e9}}};
  ExpectTwoRanks(Read(json));
  json["popMetrics"][0]["parallelEfficiency"] = 0.5;
  const FactorTable table = Read(json);
  ASSERT_NE(FindingOf(table, "fileContradictsItself"), nullptr);
}

// Two digits only: parts are taken, and their rounding counts as error.
TEST(TalpJson, Before35WithoutRawTimesIsReadAsRounded) {
  Json json;
  json["popMetrics"] = {{{"name", "MPI Execution"},
                         {"elapsedTime", 10e9},
                         {"parallelEfficiency", 0.75},
                         {"communicationEfficiency", 0.9},
                         {"loadBalance", 0.83},
                         {"lbIn", 1.0},
                         {"lbOut", 0.83}}};
  EXPECT_THAT(ErrorOf(json.dump()), HasSubstr("t.json: does not say how many processes there were"));
  const Json process = {{"id", 1}, {"usefulTime", 1}, {"mpiTime", 1}};
  json["node"] = {{{"id", "0"}, {"process", {process}}}, {{"id", "1"}, {"process", {process}}}};
  FactorTable table = Read(json);
  ASSERT_EQ(table.rows.size(), 1u);
  const FactorRow& row = table.rows[0];
  EXPECT_EQ(row.cores, 2);
  EXPECT_EQ(row.nodes, 2);
  EXPECT_EQ(row.values[Factor::kCommunicationEfficiency], 0.9);
  EXPECT_EQ(row.values[Factor::kLoadBalanceOut], 0.83);
  EXPECT_FALSE(row.values[Factor::kLoadBalance]);
  EXPECT_NEAR(*row.standard_errors[Factor::kLoadBalanceOut], 0.00289, 1e-5);
  EXPECT_TRUE(table.findings.empty());
  CompleteTable(table);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.9 * 0.83);
}

TEST(TalpJson, CountersThatCannotBeAreNamedAndDropped) {
  const auto counted = [](double instructions, double cycles) {
    Json region = Region35();
    region["instructions"] = instructions;
    region["cycles"] = cycles;
    return Read(Document("3.5", {{"Global", region}}));
  };
  for (const auto& [instructions, cycles, why] :
       {std::tuple(-407989945558929.0, 30e9, "instructions -4.0799e+14"), std::tuple(45e9, -1.0, "cycles -1 in Global"),
        std::tuple(45e9, 0.0, "cycles are 0"), std::tuple(45e15, 30e9, "instructions a cycle"),
        std::tuple(4.5e6, 3e6, "0.0002 GHz")}) {
    const FactorTable table = counted(instructions, cycles);
    ASSERT_NE(FindingOf(table, "counterImpossible"), nullptr) << why;
    EXPECT_THAT(FindingOf(table, "counterImpossible")->example, HasSubstr(why));
    EXPECT_THAT(FindingOf(table, "counterImpossible")->example, HasSubstr("Global of t.json"));
    EXPECT_FALSE(table.rows[0].totals->instructions);
    EXPECT_FALSE(table.rows[0].totals->cycles);
    EXPECT_TRUE(table.rows[0].values[Factor::kLoadBalance]);
  }
  EXPECT_TRUE(counted(0, 0).findings.empty());  // no counters
}

TEST(TalpJson, NamesEveryRegionWithSuchCounters) {
  Json region = Region35();
  region["cycles"] = -1;
  const FactorTable table = Read(Document("3.5", {{"Global", region}, {"solve", region}, {"halo", Region35()}}));
  EXPECT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(FindingOf(table, "counterImpossible")->count, 2u);
  EXPECT_THAT(FindingOf(table, "counterImpossible")->example, HasSubstr("Global of t.json; "));
  EXPECT_THAT(FindingOf(table, "counterImpossible")->example, HasSubstr("in solve of t.json"));
}

TEST(TalpJson, TimesThatCannotBeGiveWayToEfficiencies) {
  Json region = Region35();
  region["usefulTime"] = 25e9;  // of 2 · 10 s
  region["mpiTime"] = 8.3e9;    // 25 / 33.3 = 0.75, so the file agrees with itself
  const FactorTable table = Read(Document("3.5", {{"Global", region}}));
  ASSERT_NE(FindingOf(table, "timesImpossible"), nullptr);
  EXPECT_THAT(FindingOf(table, "timesImpossible")->example, HasSubstr("mean time outside MPI is 12.5 s"));
  EXPECT_EQ(table.rows[0].values[Factor::kCommunicationEfficiency], 0.9);
  EXPECT_EQ(table.rows[0].values[Factor::kLoadBalanceOut], 0.83);
  EXPECT_FALSE(table.rows[0].totals);
}

TEST(TalpJson, EfficienciesOutsideTheirRangeAreDropped) {
  Json region = Region35();
  region.erase("usefulTime");
  region["mpiLoadBalanceOut"] = 1.7;
  region["mpiLoadBalance"] = -0.2;
  const FactorTable table = Read(Document("3.5", {{"Global", region}}));
  ASSERT_NE(FindingOf(table, "factorImpossible"), nullptr);
  EXPECT_THAT(FindingOf(table, "factorImpossible")->example, HasSubstr("loadBalanceOut 1.7 in Global of t.json"));
  EXPECT_EQ(FindingOf(table, "factorImpossible")->count, 2u);
  EXPECT_FALSE(table.rows[0].values[Factor::kLoadBalance]);
  EXPECT_EQ(table.rows[0].values[Factor::kParallelEfficiency], 0.75);
}

// As a sample of TALP-Pages: 0.35 is not 0.49 · 0.33, and times give 0.63, not 0.74.
TEST(TalpJson, ContradictionsAreNamed) {
  Json region = Region35();
  region["mpiParallelEfficiency"] = 0.35;
  region["mpiCommunicationEfficiency"] = 0.49;
  region["mpiLoadBalance"] = 0.33;
  region["parallelEfficiency"] = 0.5;
  const FactorTable table = Read(Document("3.5", {{"Global", region}}));
  const Finding* finding = FindingOf(table, "fileContradictsItself");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->count, 3u);
  EXPECT_THAT(finding->example, HasSubstr("0.35 is not 0.49 · 0.33"));
  EXPECT_THAT(finding->example, HasSubstr("parallelEfficiency 0.5, times give 0.75"));
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.75);
}

TEST(TalpJson, RegionsThatNeverRanOrNotEverywhereAreLeftOut) {
  Json never = Region35(), some = Region35(), step = Region35();
  never["elapsedTime"] = 0;
  some["numMeasurements"] = 1;
  step["numMeasurements"] = 20;
  const FactorTable table =
      Read(Document("3.5", {{"Global", Region35()}, {"never", never}, {"some", some}, {"step", step}}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1].phase, "step");
  EXPECT_EQ(table.rows[1].iterations, 10);
  EXPECT_EQ(table.rows[1].span, Span::kEach);
  EXPECT_THAT(FindingOf(table, "regionWithoutFactors")->example,
              HasSubstr("never of t.json never ran; some of t.json ran on some of the ranks alone"));
}

TEST(TalpJson, WithoutMpiHasNoFactors) {
  Json region = Region35();
  region["numMpiRanks"] = 0;
  EXPECT_THAT(ErrorOf(Document("3.5", {{"Global", region}}, 2, 0).dump()), HasSubstr("has no MPI process"));
}

// Two processes of four CPUs, in MPI for 4 and 1 of 10 s: outside for 6 and 9 s. Of 80 s, 5 are in MPI, 15 wait for it,
// 40 are useful, 8 load imbalance, 2 scheduling and 10 outside of parallel regions.
TEST(TalpJson, HybridRunsHaveFactorsOfThreads) {
  Json region = Region36();
  region["numCpus"] = 8;
  region["usefulTime"] = 40e9;
  region["ompLoadImbalanceTime"] = 8e9;
  region["ompSchedulingTime"] = 2e9;
  region["ompOutsideParallelTime"] = 10e9;
  region["mpiWorkerIdleTime"] = 15e9;
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 1e9;
  region["parallelEfficiency"] = 0.5;
  region["ompParallelEfficiency"] = 0.7;  // (40 + 5) / 65
  const auto check = [](const FactorTable& table) {
    ASSERT_EQ(table.rows.size(), 1u);
    const FactorRow& row = table.rows[0];
    EXPECT_EQ(row.cores, 8);
    EXPECT_EQ(row.threads, 4);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kParallelEfficiency], 0.5);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kMpiParallelEfficiency], 0.75);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kLoadBalance], 7.5 / 9);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kCommunicationEfficiency], 0.9);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kOmpParallelEfficiency], 40.0 / 60);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kOmpLoadBalance], 50.0 / 58);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kOmpScheduling], 58.0 / 60);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kOmpSerialization], 40.0 / 50);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kDeviceOffload], 1);
    EXPECT_DOUBLE_EQ(*row.UsefulTime(), 40);
    EXPECT_EQ(FindingOf(table, "threadsAtProcessLevel"), nullptr);
    ASSERT_NE(FindingOf(table, "talpFactorsDiffer"), nullptr);
    EXPECT_THAT(FindingOf(table, "talpFactorsDiffer")->example,
                HasSubstr("ompParallelEfficiency 0.7, here 0.667 in Global of t.json"));
  };
  const FactorTable newest = Read(Document("3.8", {{"Global", region}}, 8));
  check(newest);
  EXPECT_EQ(FindingOf(newest, "waitsForMpiAssumed"), nullptr);
  // Before, waiting for MPI is part of serialization, and time in MPI is of the one CPU that calls.
  region.erase("mpiWorkerIdleTime");
  region.erase("ompOutsideParallelTime");
  region["ompSerializationTime"] = 25e9;
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 0.25e9;
  const FactorTable before = Read(Document("3.6", {{"Global", region}}, 8));
  check(before);
  EXPECT_NE(FindingOf(before, "waitsForMpiAssumed"), nullptr);
  // Version 1 of its hybrid factors: 40 / (40 + 5), and OpenMP (40 + 5) / 80.
  region["mpiParallelEfficiency"] = 0.89;
  region["mpiCommunicationEfficiency"] = region["mpiLoadBalance"] = nullptr;
  region["ompParallelEfficiency"] = 0.56;
  EXPECT_THAT(FindingOf(Read(Document("3.6", {{"Global", region}}, 8)), "talpFactorsFarOff")->example,
              HasSubstr("mpiParallelEfficiency 0.89, here 0.75, ompParallelEfficiency 0.56, here 0.667"));
}

// Four processes of 16 CPUs, 50 s: useful 2000 of 3200 s. TALP has seen threads for 2108 s only.
TEST(TalpJson, EfficienciesFarFromTalpsAreAWarning) {
  Json region = {{"numCpus", 64}, {"numMpiRanks", 4}, {"numNodes", 2}, {"avgCpus", 64.0}, {"numMeasurements", 4}};
  region["elapsedTime"] = 50e9;
  region["usefulTime"] = 2000e9;
  region["mpiTime"] = 50e9;
  region["ompLoadImbalanceTime"] = 40e9;
  region["ompSchedulingTime"] = region["ompSerializationTime"] = 9e9;
  region["parallelEfficiency"] = 0.95;
  const FactorTable table = Read(Document("3.5", {{"Global", region}}, 64, 4));
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.625);
  const Finding* finding = FindingOf(table, "talpFactorsFarOff");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(
      finding->example,
      "parallelEfficiency 0.95, here 0.625 in Global of t.json; TALP divides by the 2108 s that it recorded, here by "
      "64 CPUs × 50 s");
}

// Which time the file divides by, for what is far off; nothing for what is not. Pure MPI on even seeds.
TEST(TalpJson, ReasonsOfDifferences) {
  int far = 0;
  for (int seed = 0; seed < 30; ++seed) {
    const int ranks = 2 + seed, threads = seed % 2 == 0 ? 1 : 4, cpus = ranks * threads;
    const double elapsed = 10 + seed, all = cpus * elapsed, useful = (0.4 + 0.01 * seed) * all;
    const double recorded = std::max(useful / 0.97, (0.5 + 0.015 * ((7 * seed) % 30)) * all);
    const int kind = seed % 3;
    const int average = kind == 1 ? cpus - seed % 5 * threads / 2 : cpus;
    const double divisor = kind == 0 ? recorded : kind == 1 ? average * elapsed : 0.6 * all + useful / 2;
    Json region = {{"numCpus", cpus}, {"numMpiRanks", ranks}, {"numNodes", 1}, {"avgCpus", average}};
    region["elapsedTime"] = elapsed * 1e9;
    region["usefulTime"] = useful * 1e9;
    region["mpiTime"] = 0.01 * useful * 1e9;
    if (threads > 1) region["ompLoadImbalanceTime"] = (recorded - 1.01 * useful) * 1e9;
    if (threads == 1) region["mpiTime"] = (recorded - useful) * 1e9;
    const double given = std::round(100 * useful / divisor) / 100, here = useful / all;
    region["parallelEfficiency"] = given;
    const FactorTable table = Read(Document("3.6", {{"Global", region}}, cpus, ranks));
    const Finding* finding = FindingOf(table, "talpFactorsFarOff");
    ASSERT_NEAR(*table.rows[0].values[Factor::kParallelEfficiency], here, 1e-9) << seed;
    ASSERT_EQ(finding != nullptr, std::fabs(given - here) > 0.05) << seed;
    if (finding == nullptr) continue;
    ++far;
    EXPECT_THAT(finding->example, HasSubstr(fmt::format("parallelEfficiency {:.3g}, here {:.3g}", given, here)));
    EXPECT_THAT(finding->example, HasSubstr(fmt::format("here by {} CPUs × {:.4g} s", cpus, elapsed)));
    const std::string reasons[] = {"s that it recorded, ",
                                   fmt::format("TALP divides by {} CPUs × {:.4g} s", average, elapsed),
                                   "TALP's is that of "};
    EXPECT_THAT(finding->example, HasSubstr(reasons[kind])) << seed;
  }
  EXPECT_GE(far, 10);
}

// What cannot be leaves the factors of processes.
TEST(TalpJson, TimesOfThreadsThatCannotBe) {
  Json region = Region36();
  region["numCpus"] = 8;
  region["usefulTime"] = 40e9;
  region["parallelEfficiency"] = nullptr;
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 0.25e9;
  for (const auto& [time, why] :
       {std::pair(-1e9, "ompLoadImbalanceTime is -1 s"), std::pair(60e9, "add up to 105 s, of 80 s")}) {
    region["ompLoadImbalanceTime"] = time;
    const FactorTable table = Read(Document("3.6", {{"Global", region}}, 8));
    EXPECT_FALSE(table.rows[0].values[Factor::kMpiParallelEfficiency]);
    EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.75);
    EXPECT_THAT(FindingOf(table, "timesImpossible")->example, HasSubstr(why));
    EXPECT_NE(FindingOf(table, "threadsAtProcessLevel"), nullptr);
  }
}

// Two processes with a device each, 10 s: useful 9, in the device runtime 6, in MPI 5 s. Kernels take 4 and 6 s, with
// copies 5 and 8 s.
TEST(TalpJson, Devices) {
  Json region = Region36();
  region["usefulTime"] = 9e9;
  region["gpuRuntimeTime"] = 6e9;
  region["numGpus"] = 2;
  region["gpuUsefulTime"] = 10e9;
  region["maxGpuUsefulTime"] = 6e9;
  region["maxGpuActiveTime"] = 8e9;
  region["parallelEfficiency"] = 0.45;
  region["deviceOffloadEfficiency"] = 0.6;
  const FactorTable table = Read(Document("3.6", {{"Global", region}}));
  const FactorValues& values = table.rows[0].values;
  EXPECT_DOUBLE_EQ(*values[Factor::kParallelEfficiency], 0.45);
  EXPECT_DOUBLE_EQ(*values[Factor::kMpiParallelEfficiency], 0.75);
  EXPECT_DOUBLE_EQ(*values[Factor::kOmpParallelEfficiency], 1);
  EXPECT_DOUBLE_EQ(*values[Factor::kDeviceOffload], 0.6);
  EXPECT_DOUBLE_EQ(*values[Factor::kDeviceParallelEfficiency], 0.5);
  EXPECT_DOUBLE_EQ(*values[Factor::kDeviceLoadBalance], 10.0 / 12);
  EXPECT_DOUBLE_EQ(*values[Factor::kDeviceCommunication], 0.75);
  EXPECT_DOUBLE_EQ(*values[Factor::kDeviceOrchestration], 0.8);
  EXPECT_EQ(FindingOf(table, "talpFactorsDiffer"), nullptr);
  EXPECT_EQ(FindingOf(table, "devicesNotCounted"), nullptr);
  // TALP's own value, where its formula is another one.
  region["gpuParallelEfficiency"] = 0.71;
  region["gpuOrchestrationEfficiency"] = 0.8;
  const FactorTable other = Read(Document("3.6", {{"Global", region}}));
  ASSERT_NE(FindingOf(other, "talpFactorsFarOff"), nullptr);
  EXPECT_THAT(FindingOf(other, "talpFactorsFarOff")->example, HasSubstr("deviceParallelEfficiency 0.71, here 0.5 in"));
  region["maxGpuActiveTime"] = 12e9;
  const FactorTable damaged = Read(Document("3.6", {{"Global", region}}));
  EXPECT_FALSE(damaged.rows[0].values[Factor::kDeviceParallelEfficiency]);
  EXPECT_NE(FindingOf(damaged, "devicesNotCounted"), nullptr);
}

// Factors of threads and devices are written by their times.
TEST(TalpJson, HybridRunsReadBackTheSame) {
  Json region = Region36();
  region["numCpus"] = 8;
  region["usefulTime"] = 40e9;
  region["ompLoadImbalanceTime"] = 6e9;
  region["ompSchedulingTime"] = 2e9;
  region["ompOutsideParallelTime"] = 10e9;
  region["mpiWorkerIdleTime"] = 15e9;
  region["gpuRuntimeTime"] = 2e9;
  region["numGpus"] = 2;
  region["gpuUsefulTime"] = 10e9;
  region["maxGpuUsefulTime"] = 6e9;
  region["maxGpuActiveTime"] = 8e9;
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 1e9;
  region["parallelEfficiency"] = region["ompParallelEfficiency"] = nullptr;
  const FactorTable table = Read(Document("3.8", {{"Global", region}}, 8));
  ASSERT_TRUE(table.rows[0].IsHybrid());
  std::vector<std::string> left_out;
  const std::vector<NamedText> runs = WriteTalpJson(table, "2026-11-20T12:00:00", left_out);
  ASSERT_EQ(runs.size(), 1u);
  const FactorTable again = TableOfTalpFiles({{runs[0].first, runs[0].second}});
  EXPECT_TRUE(again.findings.empty());
  ASSERT_EQ(again.rows.size(), 1u);
  for (const FactorType& type : AllFactors()) {
    const auto &was = table.rows[0].values[type.factor], &is = again.rows[0].values[type.factor];
    ASSERT_EQ(was.has_value(), is.has_value()) << type.id;
    if (was) {
      EXPECT_NEAR(*was, *is, 1e-8) << type.id;
    }
  }
}

// A program without MPI: four threads, 10 s, useful 20, at barriers 5, outside of parallel regions 15.
TEST(TalpJson, ThreadsWithoutMpiAreOneProcess) {
  Json region = {{"numCpus", 4}, {"numMpiRanks", 0}, {"numNodes", 1}, {"numMeasurements", 1}};
  region["elapsedTime"] = 10e9;
  region["usefulTime"] = 20e9;
  region["ompLoadImbalanceTime"] = 5e9;
  region["ompSerializationTime"] = 15e9;
  const FactorTable table = Read(Document("3.6", {{"Global", region}}, 4, 0));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].ranks, 1);
  EXPECT_EQ(table.rows[0].threads, 4);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.5);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kMpiParallelEfficiency], 1);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kOmpLoadBalance], 35.0 / 40);
}

// Without times of OpenMP. Others than 3.8 count the one CPU that calls, divided by four: 1 and 0.25 s.
TEST(TalpJson, RunsWithUnknownThreadsCountAtProcessLevel) {
  Json region = Region36();
  region["numCpus"] = 8;
  region["usefulTime"] = 40e9;
  region["parallelEfficiency"] = 0.89;  // 40 / (40 + 5)
  region["ompParallelEfficiency"] = 0.56;
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 0.25e9;
  const auto check = [](const FactorTable& table) {
    ASSERT_EQ(table.rows.size(), 1u);
    EXPECT_EQ(table.rows[0].cores, 8);
    EXPECT_EQ(table.rows[0].threads, 4);
    EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.75);
    EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kCommunicationEfficiency], 0.9);
    EXPECT_FALSE(table.rows[0].totals->instructions);
    EXPECT_EQ(FindingOf(table, "threadsAtProcessLevel")->severity, Severity::kWarning);
    EXPECT_THAT(FindingOf(table, "threadsAtProcessLevel")->example, HasSubstr("OpenMP efficiency 0.56 is not taken"));
  };
  check(Read(Document("3.6", {{"Global", region}}, 8)));
  region["mpiWorkerIdleTime"] = 15e9;
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 1e9;
  check(Read(Document("3.8", {{"Global", region}}, 8)));
  Json earlier = Region35();  // whose maxima are not at process level
  earlier["numCpus"] = 8;
  const FactorTable table = Read(Document("3.5", {{"Global", earlier}}, 8));
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kParallelEfficiency], 0.75);
  EXPECT_FALSE(table.rows[0].values[Factor::kCommunicationEfficiency]);
}

TEST(TalpJson, SeveralFilesAreOneTableWithRepeats) {
  Json four = Document("3.6", {{"Global", Region36()}}, 4, 4);
  Json& region = four["Application"]["Global"];
  region["numCpus"] = region["numMpiRanks"] = region["numMeasurements"] = 4;
  region["elapsedTime"] = 5e9;  // 15 of 20 s
  region["minMpiNormdProc"] = region["minMpiNormdNode"] = 0.5e9;
  Json again = Document("3.5", {{"Global", Region35()}});
  again["timestamp"] = "2026-11-20T13:00:00";
  FactorTable table = TableOfTalpFiles({{"4.json", four.dump()},
                                        {"2.json", Document("3.5", {{"Global", Region35()}}).dump()},
                                        {"2b.json", again.dump()}});
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0].cores, 2);
  EXPECT_EQ(table.rows[1].repeat, 1);
  EXPECT_EQ(table.rows[2].cores, 4);
  PutInTerms(table, std::nullopt, std::nullopt);
  EXPECT_EQ(table.scaling, Scaling::kStrong);  // the same instructions
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kIpcScaling], 1);
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kSpeedup], 2);
  EXPECT_THROW(TableOfTalpFiles({{"a", again.dump()}, {"b", again.dump()}}), Error);
}

TEST(TalpJson, UnknownVersionsAreRefused) {
  EXPECT_THAT(
      ErrorOf(Document("4.0", {{"Global", Region35()}}).dump()),
      HasSubstr("t.json: was written by version '4.0' of DLB, and TALP's JSON is known as versions 3.2 to 3.8"));
  EXPECT_THAT(ErrorOf(Document("3.9.1", {{"Global", Region35()}}).dump()), HasSubstr("'3.9.1'"));
  EXPECT_THAT(ErrorOf(Document("soon", {{"Global", Region35()}}).dump()), HasSubstr("'soon'"));
}

// Without time in MPI there are none of its nanoseconds.
TEST(TalpJson, NothingIsWrittenAsNothing) {
  FactorTable table = Read(Document("3.5", {{"Global", Region35()}}));
  table.rows[0].values = {};
  table.rows[0].values[Factor::kParallelEfficiency] = 1;
  std::vector<std::string> left_out;
  const Json written = Json::parse(WriteTalpJson(table, "2026-11-20T12:00:00", left_out).at(0).second);
  const Json& global = written.at("Application").at("Global");
  EXPECT_EQ(global.at("mpiTime"), 0);
  EXPECT_EQ(global.at("mpiNormdApp"), 0);
  EXPECT_EQ(global.at("usefulTime"), 20000000000);
}

// A file without one of the counters has none, which is nothing odd.
TEST(TalpJson, CountersThatAreNotThere) {
  for (const char* counter : {"cycles", "instructions"}) {
    Json region = Region35();
    region.erase(counter);
    const FactorTable table = Read(Document("3.5", {{"Global", region}}));
    EXPECT_EQ(FindingOf(table, "counterImpossible"), nullptr) << counter;
    ASSERT_TRUE(table.rows[0].totals);
    EXPECT_FALSE(table.rows[0].totals->instructions);
    EXPECT_FALSE(table.rows[0].totals->cycles);
  }
}

// 0 < mean of 7.5 s <= busiest node <= busiest process <= 10 s: each is compared with the nearest one above it.
TEST(TalpJson, TimesThatExceedEachOther) {
  const auto example = [](double process, double node) {
    Json region = Region35();
    region["maxUsefulNormdProc"] = process;
    region["maxUsefulNormdNode"] = node;
    const FactorTable table = Read(Document("3.5", {{"Global", region}}));
    const Finding* finding = FindingOf(table, "timesImpossible");
    return finding == nullptr ? "" : finding->example;
  };
  EXPECT_EQ(example(9e9, 8e9), "");
  EXPECT_THAT(example(11e9, 8e9), HasSubstr("the longest time outside MPI is 11 s, the run time 10 s"));
  EXPECT_THAT(example(8e9, 9e9), HasSubstr("that of the busiest node is 9 s, the longest time outside MPI 8 s"));
  EXPECT_THAT(example(9e9, 6e9), HasSubstr("mean time outside MPI is 7.5 s, that of the busiest node 6 s"));
}

// Numbers of something are whole, not negative and at most 10^15, which a double holds to the digit.
TEST(TalpJson, NumbersOfSomethingAreWhole) {
  const auto error_for = [](double measurements) {
    Json region = Region35();
    region["numMeasurements"] = measurements;
    return ErrorOf(Document("3.5", {{"Global", region}}).dump());
  };
  for (const double fine : {2.0, 1e15}) EXPECT_EQ(error_for(fine), "no error");
  for (const double wrong : {-2.0, 2.5, 1e15 + 2}) {
    EXPECT_THAT(error_for(wrong), HasSubstr("Global of t.json: numMeasurements is ")) << wrong;
  }
}

TEST(TalpJson, WhatIsWrittenReadsBackTheSame) {
  Json regions = {{"Global", Region35()}, {"step", Region35()}};
  regions["step"]["numMeasurements"] = 20;
  FactorTable table = Read(Document("3.5", regions));
  PutInTerms(table, std::nullopt, std::nullopt);
  FactorRow hybrid = table.rows[0];
  hybrid.threads = 4;
  hybrid.cores = 8;
  table.rows.push_back(hybrid);
  FactorRow group = hybrid;
  group.phase = {"whole", "pme"};
  group.ranks = 1;
  table.rows.push_back(group);
  std::vector<std::string> left_out;
  const std::vector<NamedText> runs = WriteTalpJson(table, "2026-11-20T12:00:00", left_out);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].first, "talp-2.json");
  EXPECT_EQ(runs[1].first, "talp-8-4threads.json");
  EXPECT_THAT(left_out, testing::ElementsAre("phase whole / pme at 8 cores is of a group of ranks"));
  FactorTable again = TableOfTalpFiles({{runs[0].first, runs[0].second}, {runs[1].first, runs[1].second}});
  EXPECT_TRUE(again.findings.empty());
  ASSERT_EQ(again.rows.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const FactorRow &row = table.rows[i], &read = again.rows[i];
    EXPECT_EQ(read.phase, row.phase);
    EXPECT_EQ(read.threads, row.threads);
    EXPECT_EQ(read.iterations, row.iterations);
    EXPECT_NEAR(read.totals->total_useful, row.totals->total_useful, 1e-8);
    EXPECT_EQ(read.totals->instructions, row.totals->instructions);
    for (const Factor factor : {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kLoadBalanceIn,
                                Factor::kLoadBalanceOut, Factor::kCommunicationEfficiency}) {
      EXPECT_NEAR(*read.values[factor], *row.values[factor], 1e-8) << Describe(factor).id;
    }
  }
}

TEST(TalpJson, WritesSeriesIntoFoldersAndNothingOfNothing) {
  FactorTable table = Read(Document("3.5", {{"Global", Region35()}}));
  table.rows[0].series = "../a b";
  table.rows[0].repeat = 1;
  std::vector<std::string> left_out;
  EXPECT_EQ(WriteTalpJson(table, "2026", left_out)[0].first, "-.-a-b/talp-2-2.json");
  table.rows[0].runtime.reset();
  EXPECT_THROW(WriteTalpJson(table, "2026", left_out), Error);
}

// Whatever is cut off or put in: factors, or one sentence.
TEST(TalpJson, DamagedFilesEndInOneSentence) {
  const std::string text = Document("3.6", {{"Global", Region36()}, {"step", Region36()}}).dump();
  for (std::size_t length = 0; length < text.size(); length += 7) {
    EXPECT_THAT(ErrorOf(text.substr(0, length)), HasSubstr("t.json: ")) << length;
  }
  const Json whole = Json::parse(text);
  for (const Json& bad :
       {Json("text"), Json(-1), Json(1e300), Json(0.5), Json(nullptr), Json::array(), Json::object()}) {
    for (const auto& [key, value] : whole.at("Application").at("Global").items()) {
      Json damaged = whole;
      damaged["Application"]["Global"][key] = bad;
      const std::string error = ErrorOf(damaged.dump());
      EXPECT_TRUE(error == "no error" || error.starts_with("t.json: ") || error.starts_with("Global of t.json: "))
          << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
    for (const char* key : {"dlbVersion", "resources", "Application"}) {
      Json damaged = whole;
      damaged[key] = bad;
      const std::string error = ErrorOf(damaged.dump());
      EXPECT_TRUE(error == "no error" || error.find("t.json: ") != std::string::npos) << error;
    }
  }
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("t.json: is no JSON of TALP"));
}

}  // namespace
}  // namespace farscale
