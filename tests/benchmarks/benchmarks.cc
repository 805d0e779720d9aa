// The speeds that docs/performance.md promises. Machines are noisy, so every promise is a ratio of two medians taken
// in one run with interleaved repetitions; the table at the end compares them with their targets.
//
//   build/dev/bin/benchmarks            everything, about two minutes
//   build/dev/bin/benchmarks --benchmark_filter=Replay
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <otf2/otf2.h>
#include <unistd.h>
#include <sys/resource.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "balance/sweep.h"
#include "benchmarks/paraver_trace.h"
#include "benchmarks/synthetic.h"
#include "factors/phase_factors.h"
#include "imbalance/diagnosis.h"
#include "replay/replay.h"
#include "report/report.h"
#include "study/resources.h"
#include "study/run_study.h"
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

OTF2_CallbackCode OnRegion(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*,
                           OTF2_RegionRef) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnMetric(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*, OTF2_MetricRef,
                           std::uint8_t, const OTF2_Type*, const OTF2_MetricValue*) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnMessage(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*, std::uint32_t,
                            OTF2_CommRef, std::uint32_t, std::uint64_t, std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnRequest(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*,
                            std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnCollective(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*,
                               OTF2_CollectiveOp, OTF2_CommRef, std::uint32_t, std::uint64_t, std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}

std::uint64_t ReadWithEmptyCallbacks(const std::string& anchor) {
  OTF2_Reader* reader = OTF2_Reader_Open(anchor.c_str());
  OTF2_Reader_SetSerialCollectiveCallbacks(reader);
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  std::uint64_t count = 0, events = 0;
  OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
  for (std::uint64_t rank = 0; rank < kRanks; ++rank) OTF2_Reader_SelectLocation(reader, rank);
  OTF2_Reader_OpenEvtFiles(reader);
  OTF2_EvtReaderCallbacks* callbacks = OTF2_EvtReaderCallbacks_New();
  OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, OnRegion);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, OnRegion);
  OTF2_EvtReaderCallbacks_SetMetricCallback(callbacks, OnMetric);
  OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, OnMessage);
  OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, OnMessage);
  OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, OnRequest);
  OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, OnRequest);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, OnCollective);
  for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
    OTF2_EvtReader* location = OTF2_Reader_GetEvtReader(reader, rank);
    OTF2_Reader_RegisterEvtCallbacks(reader, location, callbacks, nullptr);
    OTF2_Reader_ReadAllLocalEvents(reader, location, &count);
    events += count;
    OTF2_Reader_CloseEvtReader(reader, location);
  }
  OTF2_EvtReaderCallbacks_Delete(callbacks);
  OTF2_Reader_CloseEvtFiles(reader);
  OTF2_Reader_Close(reader);
  return events;
}

void EmptyCallbacks(benchmark::State& state) {
  std::uint64_t events = 0;
  for (auto _ : state) events += ReadWithEmptyCallbacks(SharedTraces().large);
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

// Reads a trace and says what memory the process had at most, in bytes.
std::uint64_t ReadAndMeasureMemory(const std::string& path) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  benchmark::DoNotOptimize(ReadTrace(path).events);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// The same in a process of its own, which has done nothing else.
std::uint64_t MemoryOfReading(const std::string& path) {
  const std::string command = fmt::format("/proc/{}/exe --memory-of-reading {}", getpid(), path);
  std::FILE* pipe = popen(command.c_str(), "r");
  unsigned long long bytes = 0;
  const bool known = pipe != nullptr && std::fscanf(pipe, "%llu", &bytes) == 1;
  if (pipe != nullptr) pclose(pipe);
  return known ? bytes : 0;
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
  study.projection.models = DefaultModelSettings();
  study.phases = {PhaseSpec::Region("step")};
  for (const std::string& path : SharedTraces().study) study.runs.push_back({path, {}, {}, ""});
  for (auto _ : state) {
    const StudyOutcome outcome = RunStudy(study, library, nullptr);
    WriteReport(outcome.results, templates, folder / "report", {ReportFormat::kHtml, ReportFormat::kJson});
  }
}

// --- Ratios --------------------------------------------------------------------------------------------------------

struct Median {
  double seconds = 0;
  double items_per_second = 0;
};

// Prints as usual and keeps the medians.
class Keeper : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median") continue;
      Median& median = medians_[run.run_name.str()];
      median.seconds = run.GetAdjustedRealTime() / 1000;  // milliseconds
      const auto items = run.counters.find("items_per_second");
      if (items != run.counters.end()) median.items_per_second = items->second;
    }
  }

  // Rows whose benchmarks did not run are left out.
  void PrintRatios() const {
    const auto has = [&](const char* name) { return medians_.count(name) > 0; };
    const auto at = [&](const char* name) { return medians_.at(name); };
    const auto row = [](const char* what, const std::string& measured, const char* target) {
      fmt::print("{:<66} {:>12}   {}\n", what, measured, target);
    };
    fmt::print("\n");
    row("ratio", "measured", "target");
    if (has("EmptyCallbacks/real_time") && has("Read/1/real_time")) {
      row("event rate of reading, against empty callbacks, one core",
          fmt::format("{:.2f}", at("EmptyCallbacks/real_time").seconds / at("Read/1/real_time").seconds), ">= 0.4");
    }
    if (has("Read/1/real_time") && has("Read/2/real_time")) {
      row("reading on two cores against one",
          fmt::format("{:.2f}", at("Read/1/real_time").seconds / at("Read/2/real_time").seconds), ">= 1.8");
    }
    PrintParaver();
    if (has("Factors/real_time") && has("Read/1/real_time")) {
      row("factors with ideal replay against reading, one core",
          fmt::format("{:.2f}", at("Factors/real_time").seconds / at("Read/1/real_time").seconds), "<= 1.0");
    }
    if (has("Losses/real_time") && has("Read/1/real_time")) {
      row("wait states, delay costs and critical path against reading, one core",
          fmt::format("{:.2f}", at("Losses/real_time").seconds / at("Read/1/real_time").seconds), "<= 3.0");
    }
    if (has("LossesOfManyRanks/4096/real_time")) {
      row("the same of 2.5 million calls on 4096 ranks, seconds, all cores",
          fmt::format("{:.1f}", at("LossesOfManyRanks/4096/real_time").seconds), "<= 10");
    }
    if (has("Replay/1024/real_time")) {
      row("replay at 1024 ranks, million calls a second, one core",
          fmt::format("{:.1f}", at("Replay/1024/real_time").items_per_second / 1e6), ">= 10");
    }
    if (has("Replay/1024/real_time") && has("Replay/4096/real_time")) {
      row("cost of a call at 4096 ranks against 1024",
          fmt::format("{:.2f}",
                      at("Replay/1024/real_time").items_per_second / at("Replay/4096/real_time").items_per_second),
          "<= 2");
    }
    PrintTimedReplays();
    if (has("BalanceOne/real_time")) {
      row("balancing 64 tasks of 500 iterations on 16 processors, seconds",
          fmt::format("{:.3f}", at("BalanceOne/real_time").seconds), "<= 1");
    }
    if (has("BalanceSweep/1/real_time") && has("BalanceSweep/2/real_time")) {
      row("a sweep of 101 such configurations on two cores against one",
          fmt::format("{:.2f}", at("BalanceSweep/1/real_time").seconds / at("BalanceSweep/2/real_time").seconds),
          ">= 1.7");
    }
    if (has("StudyOfSix/real_time") && has("ReadStudyTraces/real_time")) {
      row("a study of six traces against reading them, all cores",
          fmt::format("{:.2f}", at("StudyOfSix/real_time").seconds / at("ReadStudyTraces/real_time").seconds), "<= 2");
    }
  }

 private:
  void PrintParaver() const {
    const auto one = medians_.find("ReadParaver/1/real_time"), two = medians_.find("ReadParaver/2/real_time");
    if (one == medians_.end()) return;
    fmt::print("{:<66} {:>12.0f}   {}\n", "reading a Paraver trace, MB of text a second, one core",
               one->second.items_per_second / 1e6, ">= 150");
    if (two != medians_.end()) {
      fmt::print("{:<66} {:>12.2f}   {}\n", "the same on two cores against one",
                 one->second.seconds / two->second.seconds, ">= 1.7");
    }
    const double bytes = static_cast<double>(std::filesystem::file_size(ParaverTrace()));
    fmt::print("{:<66} {:>12.2f}   {}\n", "its memory at most, against the text",
               static_cast<double>(MemoryOfReading(ParaverTrace())) / bytes, "<= 0.5");
  }

  // Timed networks against the ideal one at 1024 ranks, and how the cost of a call grows from 64 to 16384 ranks.
  void PrintTimedReplays() const {
    const auto rate = [&](const std::string& name) {
      const auto found = medians_.find(name + "/real_time");
      return found == medians_.end() ? 0 : found->second.items_per_second;
    };
    const auto row = [](const std::string& what, double value, const char* target) {
      if (value > 0 && std::isfinite(value)) fmt::print("{:<66} {:>12.2f}   {}\n", what, value, target);
    };
    const auto timed = [](int ranks, int contention) {
      return fmt::format("ReplayTimed/ranks:{}/contention:{}", ranks, contention);
    };
    row("replay on a timed network against the ideal one", rate(timed(1024, 0)) / rate("Replay/1024"), ">= 0.5");
    row("the same with contention", rate(timed(1024, 1)) / rate("Replay/1024"), ">= 0.2");
    row("cost of a call at 16384 ranks against 64", rate("Replay/64") / rate("Replay/16384"), "< 2");
    row("the same on a timed network", rate(timed(64, 0)) / rate(timed(16384, 0)), "< 2");
    row("the same with contention", rate(timed(64, 1)) / rate(timed(16384, 1)), "< 2");
  }

  std::map<std::string, Median> medians_;
};

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
  if (argc == 3 && std::string(argv[1]) == "--memory-of-reading") {
    fmt::print("{}\n", farscale::bench::ReadAndMeasureMemory(argv[2]));
    return 0;
  }
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
  farscale::bench::Keeper keeper;
  benchmark::RunSpecifiedBenchmarks(&keeper);
  keeper.PrintRatios();
  return 0;
}
