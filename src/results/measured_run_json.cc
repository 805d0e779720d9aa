#include "results/factor_table_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/diagnostics.h"
#include "factors/anomalies.h"
#include "factors/scaling.h"
#include "results/json_fields.h"

namespace farscale {
namespace {

constexpr const char* kWholeRun = "whole run";
constexpr const char* kPhaseOfWhole = "whole";  // its name where it comes from a trace

void AddWarning(FactorTable& table, const std::string& id, const std::string& sentence, const std::string& example) {
  MergeFindings({{id, Severity::kWarning, sentence, 1, 0, example}}, table.findings);
}

// Chosen: far above any machine, and products of two such counts still are whole numbers.
constexpr double kMostOfAny = 1e9;
constexpr double kRounding = 1e-6;  // relative; of times that were written with all their digits, chosen

struct NodeInFile {
  std::string name;
  std::vector<std::int64_t> ranks;
};

struct DeviceInFile {
  std::string name;
  std::int64_t node = 0;
  std::vector<std::int64_t> ranks;
  double kernels = 0, copies = 0, idle = 0;
};

struct RegionInFile {
  std::string name, span;
  std::int64_t ranks = 0, fewest_starts = 0, most_starts = 0;
  std::optional<std::vector<std::int64_t>> on_ranks;
  double elapsed = 0, useful_average = 0, useful_largest = 0, useful_total = 0, mpi_total = 0, node_load_largest = 0;
  std::uint64_t calls = 0, calls_of_other_threads = 0;
  double calls_per_millisecond = 0;
  std::optional<double> ideal_elapsed, cpu_share, cpu_total, instructions, cycles, ipc, frequency;
  std::optional<std::uint64_t> preemptions;
  FactorValues factors;
  std::optional<ThreadTimes> threads;
  std::optional<DeviceTimes> device_times;
  std::optional<std::vector<DeviceInFile>> devices;
  std::optional<std::int64_t> threads_seen;
  std::optional<double> efficiency_at_most;
  std::vector<double> elapsed_by_rank, useful_by_rank;
  std::optional<std::vector<double>> off_by_rank;
};

struct RunInFile {
  std::string job, program, mpi, started, clock, ending;
  std::vector<std::string> command;
  std::int64_t ranks = 0, threads = 0;
  std::optional<std::uint64_t> signal;
  std::optional<std::string> error;
  std::optional<std::vector<std::int64_t>> ended_first, not_finalized;
  std::vector<std::int64_t> missing_ranks;
  std::vector<NodeInFile> nodes;
  std::vector<RegionInFile> regions;
  std::vector<Finding> warnings;
};

bool Agree(double a, double b) { return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b)); }

// The times of a region and the factors that were made of them have to fit each other.
void CheckTimes(const RegionInFile& region, const JsonPlace& at) {
  const auto contradict = [&](const char* one, const char* other) {
    at.Fail(fmt::format("is damaged: {} and {} contradict each other", one, other), "measure the run again");
  };
  const double elapsed = region.elapsed, average = region.useful_average, largest = region.useful_largest;
  if (largest > elapsed * (1 + kRounding)) contradict("usefulLargest", "elapsed");
  if (average > largest * (1 + kRounding)) contradict("usefulAverage", "usefulLargest");
  if (!Agree(region.useful_total, average * static_cast<double>(region.ranks))) {
    contradict("usefulTotal", "usefulAverage");
  }
  const std::optional<double> of_devices = region.factors[Factor::kDeviceParallelEfficiency];
  if (of_devices && (!region.device_times || !(elapsed > 0) ||
                     !Agree(*of_devices, DeviceParallelEfficiency(*region.device_times, elapsed)))) {
    contradict("deviceParallelEfficiency", "deviceTimes");
  }
  const std::optional<double> efficiency = region.factors[Factor::kParallelEfficiency];
  if (!efficiency) return;
  if (!(elapsed > 0)) at.Fail("has factors, but elapsed is 0", "measure the run again");
  if (!region.threads) {
    if (!Agree(*efficiency, average / elapsed)) contradict("parallelEfficiency", "usefulAverage");
    return;
  }
  const ThreadTimes& threads = *region.threads;
  if (threads.cpus < static_cast<double>(region.ranks)) contradict("threadTimes/cpus", "ranks");
  if (!Agree(threads.OutsideMpi() / threads.cpus, average)) contradict("threadTimes", "usefulAverage");
  if (!Agree(*efficiency, threads.useful / (threads.cpus * elapsed))) contradict("parallelEfficiency", "threadTimes");
  const std::optional<double> of_mpi = region.factors[Factor::kMpiParallelEfficiency];
  if (of_mpi && !Agree(*of_mpi, average / elapsed)) contradict("mpiParallelEfficiency", "usefulAverage");
}

}  // namespace

Fields<NodeInFile> FieldsOf(Described<NodeInFile>) {
  return {Property<&NodeInFile::name>(), Property<&NodeInFile::ranks>().AtLeast(0)};
}

Fields<DeviceInFile> FieldsOf(Described<DeviceInFile>) {
  using T = DeviceInFile;
  return {"measured-run/device",
          {
              Property<&T::name>("Different from that of all other devices of its node"),
              Property<&T::node>("Index of `nodes`").AtLeast(0),
              Property<&T::ranks>("That use it").AtLeast(0),
              Property<&T::kernels>("Seconds in kernels").AtLeast(0),
              Property<&T::copies>("Seconds in copies and other operations of memory while no kernel runs").AtLeast(0),
              Property<&T::idle>("Seconds of `elapsed` without either").AtLeast(0),
          }};
}

Fields<RegionInFile> FieldsOf(Described<RegionInFile>) {
  using T = RegionInFile;
  const auto factors =
      ValuesOfFactors({"parallelEfficiency", "mpiParallelEfficiency", "loadBalance", "loadBalanceIn", "loadBalanceOut",
                       "communicationEfficiency", "serializationEfficiency", "transferEfficiency",
                       "ompParallelEfficiency", "ompLoadBalance", "ompSchedulingEfficiency",
                       "ompSerializationEfficiency", "deviceOffloadEfficiency", "deviceParallelEfficiency",
                       "deviceLoadBalance", "deviceCommunicationEfficiency", "deviceOrchestrationEfficiency"});
  return Fields<T>{
      "measured-run/region",
      {
          Property<&T::name>("\"whole run\" for the first, else as the program calls it"),
          Property<&T::ranks>("That have started it").AtLeast(0).AtMost(kMostOfAny),
          Property<&T::on_ranks>("Which, where it is not all").AtLeast(0),
          Property<&T::fewest_starts>("Of a rank that has started it").AtLeast(0).AtMost(kMostOfAny),
          Property<&T::most_starts>().AtLeast(0).AtMost(kMostOfAny),
          Property<&T::span>(
              OneOf({"whole", "each"}),
              "`whole`: from the first start to the last stop of any rank; `each`: the occurrences alone")
              .Later(),
          Property<&T::elapsed>("Seconds: T in that span; of `each` the longest of any rank [Lopez21, eq. 1]")
              .AtLeast(0),
          Property<&T::useful_average>("Seconds outside MPI, mean over the ranks").AtLeast(0),
          Properties<&T::useful_largest, &T::useful_total>().AtLeast(0),
          Property<&T::mpi_total>("Seconds inside MPI, all ranks").AtLeast(0).Later(),
          Property<&T::node_load_largest>("The largest mean useful time of a node").AtLeast(0).Later(),
          Field("mpiCalls", &T::calls, "Of the threads that called MPI_Init, all ranks").Later(),
          Field("mpiCallsOfOtherThreads", &T::calls_of_other_threads).Later(),
          Field("mpiCallsPerMillisecond", &T::calls_per_millisecond, "Of the rank that makes most").AtLeast(0).Later(),
          Property<&T::ideal_elapsed>("Seconds on a network that takes no time, with --ideal").AtLeast(0),
          Property<&T::cpu_share>("CPU time over elapsed time of the main threads, of the occurrences it was taken of")
              .AtLeast(0),
          Property<&T::preemptions>("Involuntary context switches in these"),
          Property<&T::cpu_total>("Seconds of CPU time of all threads of all ranks in these").AtLeast(0),
          Property<&T::instructions>("Outside MPI, where the kernel lets them be counted").AtLeast(0),
          Properties<&T::cycles, &T::ipc>().AtLeast(0),
          Property<&T::frequency>("Cycles a second of useful time").AtLeast(0),
          Property<&T::factors>(factors, "By the ids of factor tables; empty when no rank computed").Above(0),
          Field("threadTimes", &T::threads),
          Property<&T::device_times>(),
          Property<&T::devices>("Those that its ranks use in the run"),
          Property<&T::threads_seen>("Most threads of a rank that used CPU time, where what they do is not known")
              .AtLeast(2)
              .AtMost(kMostOfAny),
          Field("parallelEfficiencyAtMost", &T::efficiency_at_most,
                "Where what threads do is not known: their CPU time outside MPI, of the time of all CPUs")
              .AtLeast(0)
              .AtMost(1),
          Property<&T::elapsed_by_rank>("In the order of the ranks that have started it").AtLeast(0).Later(),
          Property<&T::useful_by_rank>().AtLeast(0).Later(),
          Field("switchedOffByRank", &T::off_by_rank,
                "Seconds between MPI_Pcontrol(0) and (1), in no other time; of the whole run")
              .AtLeast(0),
      }}
      .After([](T& region, const JsonPlace& at) { CheckTimes(region, at); });
}

Fields<RunInFile> FieldsOf(Described<RunInFile>) {
  using T = RunInFile;
  const Fields<Finding> warnings{Properties<&Finding::id, &Finding::severity, &Finding::sentence>()};
  return Fields<T>{
      "measured-run",
      {
          Property<&T::job>("Different in every run"),
          Property<&T::program>("Name of the executable of rank 0"),
          Property<&T::command>("Its arguments, the first 1,000 bytes").Later(),
          Property<&T::mpi>("As the library describes itself").Later(),
          Property<&T::started>("When MPI_Init had returned, UTC").Later(),
          Property<&T::ranks>().AtLeast(1).AtMost(kMostOfAny),
          Property<&T::threads>("Per rank, from --threads").AtLeast(1).AtMost(kMostOfAny),
          Property<&T::clock>(OneOf({"time stamp counter", "monotonic clock"})).Later(),
          Property<&T::ending>(OneOf({"finalized", "not finalized", "aborted", "signal", "lost", "error", "running"}),
                               "`lost`: a process ended without MPI_Finalize, killed or by _exit"),
          Property<&T::ended_first>(
              "The rank whose termination `ending` is, where it is not MPI_Finalize; several when they ended at once")
              .AtLeast(0),
          Property<&T::signal>("That ended it"),
          Property<&T::error>("Of MPI, that ended it: the function, and what MPI says"),
          Property<&T::not_finalized>("Ranks that did not come to MPI_Finalize").AtLeast(0),
          Property<&T::missing_ranks>("Ranks without any data").AtLeast(0).OrMissing(),
          Properties<&T::nodes, &T::regions>().LeastItems(1),
          Field("diagnostics", &T::warnings, ListOf<Finding>(FormOfFields(warnings))).Later(),
      }}
      .File(kMeasuredRunFormat, kMeasuredRunVersion, kMeasuredRunVersion, "measured run")
      .WithChecksum()
      .After([](T& run, const JsonPlace& at) {
        if (!run.missing_ranks.empty()) {
          at.Fail(fmt::format("has no data of {} of its {} ranks", run.missing_ranks.size(), run.ranks),
                  "measure the run again");
        }
        if (run.regions.front().name != kWholeRun) JsonPlace(at, "regions").Fail("does not begin with the whole run");
      });
}

namespace {

void AddRegion(const RunInFile& run, const RegionInFile& region, const std::string& file, FactorTable& table) {
  const bool is_whole = &region == &run.regions.front();
  const std::string where = fmt::format("{} of {}", region.name, file);
  if (region.ranks != run.ranks) {
    AddWarning(table, "regionOnSomeRanks", "regions that some ranks alone have started are left out", where);
    return;
  }
  if (!region.factors[Factor::kParallelEfficiency]) {
    AddWarning(table, "nothingUseful", "regions in which no rank computes are left out", where);
    return;
  }
  FactorRow row;
  row.values = region.factors;
  row.series = run.program;
  // A region may have the name that the whole run has in tables, which would make it another run of the whole.
  constexpr std::string_view kBefore = "region ";
  std::string_view rest = region.name;
  while (rest.starts_with(kBefore)) rest.remove_prefix(kBefore.size());
  const bool is_named_whole = rest == kPhaseOfWhole || rest == kWholeRun;
  row.phase = is_whole ? std::string(kPhaseOfWhole) : (is_named_whole ? std::string(kBefore) : "") + region.name;
  row.ranks = run.ranks;
  row.threads = run.threads;
  if (region.threads) {
    const auto cpus = static_cast<std::int64_t>(std::ceil(region.threads->cpus / static_cast<double>(run.ranks)));
    row.threads = std::max(row.threads, cpus);
  }
  row.cores = row.ranks * row.threads;
  row.nodes = static_cast<std::int64_t>(run.nodes.size());
  row.runtime = region.elapsed;
  const bool is_even = region.fewest_starts == region.most_starts;
  if (!is_whole && is_even && region.most_starts > 0) row.iterations = static_cast<double>(region.most_starts);
  row.span = is_whole || region.span == "whole" ? Span::kWhole : Span::kEach;
  table.rows.push_back(std::move(row));
}

// Warnings of single runs, and their text for a table of several runs; the rows show all others.
constexpr std::pair<const char*, const char*> kWarnings[] = {
    {"preempted", "runs had ranks that ran only part of the time, and useful time contains the rest"},
    {"manyCalls", "runs made so many MPI calls that measuring them may take more than 1 % of the time"},
    {"callsOfOtherThreads", "runs had MPI calls of other threads than the one whose time is measured"},
};
constexpr std::string_view kSeenOtherwise[] = {"aborted", "mpiError",     "endedBySignal", "notFinalized",
                                               "lost",    "ranksMissing", "nothingUseful", "regionOnSomeRanks"};

// Returns the job of the run.
std::string AddFile(const std::string& file, const std::string& text, FactorTable& table) {
  const OrderedJson json = fields_internal::ParseJson(text, file);
  if (!json.is_object() || json.value("format", "") != kMeasuredRunFormat) {
    throw Error(ErrorKind::kInput, file, "is not a measured run",
                "several files at once must all be results of farscale measure");
  }
  const auto run = FromJson<RunInFile>(json, file);
  CheckChecksum(json, file, table.findings);
  if (run.ending != "finalized") {
    AddWarning(table, "runNotFinalized", "runs ended before MPI_Finalize and count until then", file);
  }
  for (Finding warning : run.warnings) {
    warning.count = 1;
    warning.example = file;
    bool is_kept = warning.severity == Severity::kWarning &&
                   std::ranges::find(kSeenOtherwise, warning.id) == std::end(kSeenOtherwise);
    for (const auto& [known, of_several] : kWarnings) {
      if (warning.id != known) continue;
      warning.example += ": " + warning.sentence;
      warning.sentence = of_several;
      is_kept = true;
    }
    if (is_kept) MergeFindings({warning}, table.findings);
  }
  for (const RegionInFile& region : run.regions) AddRegion(run, region, file, table);
  return run.job;
}

// Where no two runs with as many threads differ in processes. Useful time that stays while threads are added is that of
// one problem. Where it grows, the problem may grow or threads may slow each other, so nothing is guessed.
void GuessScalingOverThreads(const RowPointers& rows, FactorTable& table) {
  const auto [fewest, most] =
      std::ranges::minmax_element(rows, {}, [](const FactorRow* row) { return std::pair(row->threads, row->ranks); });
  const FactorRow &first = **fewest, &last = **most;
  if (first.cores >= last.cores) return;
  const double growth = *last.UsefulTime() / *first.UsefulTime();
  const double cores = static_cast<double>(last.cores) / static_cast<double>(first.cores);
  const bool may_be_strong = last.ranks >= first.ranks;
  if (may_be_strong && growth <= std::sqrt(cores)) {
    table.scaling = Scaling::kStrong;
    table.scaling_source = "useful time";
    table.findings.push_back(
        AsFinding(anomaly::kScalingGuessed,
                  fmt::format("useful time grows {:.3g} times from {} to {} threads: strong scaling; --scaling says "
                              "otherwise",
                              growth, first.threads, last.threads)));
    return;
  }
  table.findings.push_back(
      AsFinding(anomaly::kScalingUnknown, fmt::format("{:.3g} times from {} × {} to {} × {}, processes × threads",
                                                      growth, first.ranks, first.threads, last.ranks, last.threads)));
}

// Among runs with as many threads a process, work that hardly grows with the processes is strong scaling, work that
// grows with them weak scaling; the nearer one in the logarithm is it, as for runs that were traced.
void GuessScaling(FactorTable& table) {
  RowPointers rows;
  for (const FactorRow& row : table.rows) {
    if (row.phase == kPhaseOfWhole && row.series == table.rows.front().series) rows.push_back(&row);
  }
  if (rows.empty()) return;
  const std::optional<WorkGrowth> growth = GrowthOfWork(rows);
  if (!growth || !growth->work) return GuessScalingOverThreads(rows, table);
  table.scaling = *growth->work > std::sqrt(growth->processes) ? Scaling::kWeak : Scaling::kStrong;
  table.scaling_source = "useful time";
  table.findings.push_back(
      AsFinding(anomaly::kScalingGuessed,
                fmt::format("useful time grows {:.3g} times from {} to {} cores: {} scaling; --scaling says otherwise",
                            *growth->work, growth->first, growth->last, ToString(*table.scaling))));
}

}  // namespace

FactorTable TableOfMeasuredRuns(const std::vector<NamedText>& files) {
  FactorTable table;
  std::set<std::string> jobs;
  for (const auto& [file, text] : files) {
    if (jobs.insert(AddFile(file, text, table)).second) continue;
    throw Error(ErrorKind::kInput, file, "the same run is given twice");
  }
  if (table.rows.empty()) {
    throw Error(ErrorKind::kInput, files.front().first, "no rank computed anything, so there are no factors");
  }
  NumberRepeats(table);
  const bool one_program = std::all_of(table.rows.begin(), table.rows.end(),
                                       [&](const FactorRow& row) { return row.series == table.rows.front().series; });
  GuessScaling(table);
  if (one_program) {
    for (FactorRow& row : table.rows) row.series.clear();
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const FactorRow& a, const FactorRow& b) { return a.cores < b.cores; });
  return table;
}

OrderedJson MeasuredRunSchema() { return SchemaOf<RunInFile>("Run measured by farscale without a trace"); }

}  // namespace farscale
