// The speed of the rooms, in one process with interleaved repetitions. scripts/measure_speed compares the medians with
// the goals of docs/performance.md.
//
//   build/dev/bin/benchmarks            everything, about two minutes
//   build/dev/bin/benchmarks --benchmark_filter=Replay
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "balance/sweep.h"
#include "benchmarks/bare_reader.h"
#include "benchmarks/paraver_trace.h"
#include "benchmarks/synthetic.h"
#include "factors/phase_factors.h"
#include "imbalance/diagnosis.h"
#include "models/scaling_model.h"
#include "replay/replay.h"
#include "report/report.h"
#include "study/input_files.h"
#include "study/run_study.h"
#include "study/scenario.h"
#include "study/study.h"
#include "support/ring_program.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale::bench {
namespace {

constexpr int kRanks = 64;
constexpr int kIterations = 9000;  // about 130 MB
constexpr int kStudyTraces = 6;
constexpr int kStudyIterations = 1200;  // six of about 17 MB
constexpr std::size_t kReplayCalls = 2000000;
constexpr std::size_t kManyCalls = 2500000;  // about ten million events of OTF2

struct Traces {
  test::TemporaryFolder folder;
  std::string large = WriteStencil(folder / "large", kRanks, kIterations);
  std::vector<std::string> study;
  Traces() {
    for (int i = 0; i < kStudyTraces; ++i) {
      study.push_back(WriteStencil(folder / ("study" + std::to_string(i)), kRanks, kStudyIterations));
    }
  }
};

Traces& SharedTraces() {
  static Traces traces;
  return traces;
}

const Trace& LargeTrace() {
  static const Trace trace = ReadTrace(SharedTraces().large);
  return trace;
}

// --- Reading, against the library with callbacks that do nothing ---------------------------------------------------

void EmptyCallbacks(benchmark::State& state) {
  std::uint64_t events = 0;
  for (auto _ : state) events += ReadWithEmptyCallbacks(SharedTraces().large, kRanks);
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}

void Read(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(state.range(0)));
  std::uint64_t events = 0;
  for (auto _ : state) events += ReadTrace(SharedTraces().large).events;
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}

// --- Paraver -------------------------------------------------------------------------------------------------------

constexpr std::uint64_t kParaverBytes = 1'000'000'000;

const std::string& ParaverTrace() {
  static const test::TemporaryFolder folder;
  static const std::string path = WriteParaverStencil(folder / "paraver", kRanks, kParaverBytes);
  return path;
}

void ReadParaver(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(state.range(0)));
  const std::string& path = ParaverTrace();
  std::uint64_t bytes = 0;
  for (auto _ : state) bytes += ReadTrace(path).disk_bytes;
  state.SetItemsProcessed(static_cast<std::int64_t>(bytes));
}

// --- Factors and replay --------------------------------------------------------------------------------------------

void Factors(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  const Trace& trace = LargeTrace();
  for (auto _ : state) {
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("step"));
    benchmark::DoNotOptimize(MeasurePhase(trace, matching, cut, {}));
  }
}

void Losses(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  const Trace& trace = LargeTrace();
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("step"));
  for (auto _ : state) benchmark::DoNotOptimize(Diagnose(trace, MatchTrace(trace), cut));
}

// On all cores, at growing numbers of ranks.
void LossesOfManyRanks(benchmark::State& state) {
  const Trace trace = MakeStencil(static_cast<int>(state.range(0)), kManyCalls);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  for (auto _ : state) benchmark::DoNotOptimize(Diagnose(trace, MatchTrace(trace), cut));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kManyCalls));
}

void ReplayOnIdeal(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  const Trace trace = MakeStencil(static_cast<int>(state.range(0)), kReplayCalls);
  const Matching matching = MatchTrace(trace);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  std::uint64_t calls = 0;
  for (auto _ : state) calls += Replay(trace, matching, cut, {}).calls;
  state.SetItemsProcessed(static_cast<std::int64_t>(calls));
}

// A node for every 32 ranks, 1.5 us and 10 GB/s between them; with contention, four transfers out of and into each.
Network MakeNetwork(bool contention) {
  Network network;
  network.remote = {1.5e-6, 10e9, 0, 32768};
  network.local = {0.4e-6, 8e9, 0, 32768};
  for (CollectiveCost& cost : network.collectives) cost = {{CollectiveGrowth::kLogarithmic, CollectiveSize::kMax}, {}};
  if (contention) network.sending = network.receiving = 4;
  return network;
}

void ReplayTimed(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  Trace trace = MakeStencil(static_cast<int>(state.range(0)), kReplayCalls);
  trace.nodes.clear();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::size_t node = rank / 32;
    if (node == trace.nodes.size()) trace.nodes.push_back(fmt::format("node{}", node));
    trace.ranks[rank].node = static_cast<std::int32_t>(node);
  }
  const Matching matching = MatchTrace(trace);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  const Network network = MakeNetwork(state.range(1) != 0);
  std::uint64_t calls = 0;
  for (auto _ : state) calls += Replay(trace, matching, cut, {{}, false, &network}).calls;
  state.SetItemsProcessed(static_cast<std::int64_t>(calls));
}

void Match(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  const Trace trace = MakeStencil(static_cast<int>(state.range(0)), kReplayCalls);
  for (auto _ : state) benchmark::DoNotOptimize(MatchTrace(trace));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kReplayCalls));
}

// --- Balancing -----------------------------------------------------------------------------------------------------

// 64 tasks with 500 iterations and messages between neighbours, on 16 processors.
struct BalancedRing {
  Network network = MakeNetwork(true);
  Trace trace = test::MakeRing(64, 500, 1);
  Matching matching = MatchTrace(trace);
  PhaseCut cut = CutPhase(trace, PhaseSpec::Region("step"));
  std::vector<SweepRun> runs;
  SweepOptions options;

  BalancedRing() {
    runs.push_back({std::make_shared<TaskProgram>(CompileTasks(trace, matching, cut, {}, &network)), 4,
                    std::vector<double>(64, 1e6)});
    options.network = &network;
    options.processors = {16};
    options.replicas = 0;
  }
};

void BalanceOne(benchmark::State& state) {
  const BalancedRing ring;
  const BalanceConfiguration configuration = {0, 64, 16, "refine", 20, Placement::kBlock};
  for (auto _ : state) benchmark::DoNotOptimize(ReplayConfiguration(ring.runs[0], configuration, ring.options));
}

// 5 strategies at 20 intervals, and none, on so many cores.
void BalanceSweep(benchmark::State& state) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(state.range(0)));
  BalancedRing ring;
  for (std::size_t interval = 5; interval <= 100; interval += 5) ring.options.intervals.push_back(interval);
  for (auto _ : state) {
    WhatIf what_if;
    Sweep(ring.runs, ring.options, {}, what_if);
    benchmark::DoNotOptimize(what_if);
  }
}

// --- A whole study, with all cores ---------------------------------------------------------------------------------

void ReadStudyTraces(benchmark::State& state) {
  for (auto _ : state) {
    for (const std::string& path : SharedTraces().study) benchmark::DoNotOptimize(ReadTrace(path));
  }
}

void StudyOfSix(benchmark::State& state) {
  const test::TemporaryFolder folder;
  const ModelLibrary library = LoadModels();
  const ReportTemplates templates = LoadTemplates();
  Study study;
  study.phases = {PhaseSpec::Region("step")};
  for (const std::string& path : SharedTraces().study) study.runs.push_back({path, {}, {}, ""});
  for (auto _ : state) {
    const StudyResults outcome = RunStudy(study, library, nullptr);
    WriteReport(outcome, templates, folder / "report", {ReportFormat::kHtml, ReportFormat::kJson});
  }
}

BENCHMARK(EmptyCallbacks)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Read)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ReadParaver)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Factors)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Losses)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(LossesOfManyRanks)->Arg(64)->Arg(4096)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Match)->Arg(64)->Arg(1024)->Arg(4096)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ReplayOnIdeal)
    ->Name("Replay")
    ->Arg(64)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(ReplayTimed)
    ->ArgsProduct({{64, 1024, 16384}, {0, 1}})
    ->ArgNames({"ranks", "contention"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BalanceOne)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BalanceSweep)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ReadStudyTraces)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(StudyOfSix)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace farscale::bench

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  for (const char* standard : {"--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true",
                               "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.2"}) {
    arguments.insert(arguments.begin() + 1, standard);  // what the user gives comes later and wins
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
