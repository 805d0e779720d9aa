#include "results/talp_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "results/anomalies.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

// Chosen: by how much times may exceed what they are part of: processes do not begin and end a region at the same time.
constexpr double kTolerance = 1.02;
// Chosen: what no core does.
constexpr double kLeastIpc = 1e-3, kMostIpc = 16, kLeastGigahertz = 0.05, kMostGigahertz = 10;
// Standard error of a number rounded to two digits: that of a uniform distribution, 0.01 / √12.
constexpr double kRoundingError = 0.01 / 3.4641016151377544;

std::int64_t ThreadsPerRank(const TalpRegion& region) {
  return std::max<std::int64_t>(1, (region.cpus + region.ranks - 1) / region.ranks);
}

std::optional<OutsideMpi> Measured(const TalpRegion& region) {
  const auto cpus = static_cast<double>(region.cpus), ranks = static_cast<double>(region.ranks);
  const auto threads = static_cast<double>(ThreadsPerRank(region));
  const double elapsed = region.elapsed;
  const auto less = [&](std::optional<double> mpi, double factor) {
    return mpi ? std::optional(elapsed - *mpi * factor) : std::nullopt;
  };
  if (threads == 1 || region.at_process_level) {
    if (!region.useful) return std::nullopt;
    const double average = (*region.useful + region.gpu_calls) / (ranks * threads);
    if (region.most_useful) return OutsideMpi{average, region.most_useful, region.most_useful_node};
    return OutsideMpi{average, less(region.least_mpi, 1), less(region.least_mpi_node, 1)};
  }
  if (!region.mpi) return std::nullopt;
  // With what the other threads wait meanwhile, time in MPI is that of all CPUs; without it, that of one a process.
  if (region.mpi_idle) {
    return OutsideMpi{elapsed - (*region.mpi + *region.mpi_idle) / cpus, less(region.least_mpi, 1),
                      less(region.least_mpi_node, 1)};
  }
  return OutsideMpi{elapsed - *region.mpi / ranks, less(region.least_mpi, threads),
                    less(region.least_mpi_node, threads)};
}

// Times must satisfy 0 < average <= most of a node <= most of a process <= elapsed.
std::string WhyImpossible(const OutsideMpi& outside, double elapsed) {
  double most = elapsed;
  std::string what = "the run time";
  const auto exceeds = [&](std::optional<double> time, const std::string& name) {
    if (!time) return std::string();
    if (!(*time > 0)) return fmt::format("{} is {:.4g} s", name, *time);
    if (*time > most * kTolerance) return fmt::format("{} is {:.4g} s, {} {:.4g} s", name, *time, what, most);
    most = *time;
    what = name;
    return std::string();
  };
  for (const auto& [time, name] : {std::pair(outside.most, "the longest time outside MPI"),
                                   std::pair(outside.most_of_node, "that of the busiest node"),
                                   std::pair(std::optional(outside.average), "mean time outside MPI")}) {
    std::string why = exceeds(time, name);
    if (!why.empty()) return why;
  }
  return "";
}

void FillFromTimes(const TalpRegion& region, OutsideMpi outside, FactorRow& row) {
  double most = region.elapsed;
  for (std::optional<double>* time : {&outside.most, &outside.most_of_node}) {
    if (!*time) continue;
    most = std::min(**time, most);  // within the tolerance the larger one is meant
    *time = most;
  }
  outside.average = std::min(outside.average, most);
  FactorValues& values = row.values;
  values[Factor::kParallelEfficiency] = ParallelEfficiency(outside.average, region.elapsed);
  if (!outside.most) return;
  values[Factor::kLoadBalance] = LoadBalance(outside.average, *outside.most);
  values[Factor::kCommunicationEfficiency] = CommunicationEfficiency(*outside.most, region.elapsed);
  if (!outside.most_of_node) return;
  values[Factor::kLoadBalanceIn] = LoadBalanceWithinNodes(*outside.most_of_node, *outside.most);
  values[Factor::kLoadBalanceOut] = LoadBalanceBetweenNodes(outside.average, *outside.most_of_node);
  PhaseTotals totals;
  const auto ranks = static_cast<double>(region.ranks);
  totals.elapsed = region.elapsed;
  totals.average_useful = outside.average;
  totals.largest_useful = totals.largest_computation = *outside.most;
  totals.total_useful = outside.average * ranks;
  totals.total_mpi = region.elapsed * ranks - totals.total_useful;
  totals.largest_node_load = *outside.most_of_node;
  row.totals = totals;
}

// Parents only where their children are not known: rounded to two digits, they are not quite their product.
void FillAsGiven(const TalpRegion& region, FactorRow& row, const NotePlace& note) {
  const auto take = [&](Factor given, Factor factor) {
    const std::optional<double>& value = region.given[given];
    if (!value) return false;
    if (*value > 0 && *value <= 1) {
      row.values[factor] = *value;
      row.standard_errors[factor] = kRoundingError;
      return true;
    }
    note(anomaly::kFactorImpossible, fmt::format("{} {:.4g} in {}", Describe(factor).id, *value, region.where));
    return false;
  };
  const bool within = take(Factor::kLoadBalanceIn, Factor::kLoadBalanceIn);
  const bool between = take(Factor::kLoadBalanceOut, Factor::kLoadBalanceOut);
  const bool balance = (within && between) || take(Factor::kLoadBalance, Factor::kLoadBalance);
  const bool communication = take(Factor::kCommunicationEfficiency, Factor::kCommunicationEfficiency);
  if (!balance || !communication) take(Factor::kMpiParallelEfficiency, Factor::kParallelEfficiency);
}

// Rounding alone lets a product of numbers near 1 be off by 1.5 of the second digit.
void CheckProduct(const TalpRegion& region, const std::string& names, const std::array<Factor, 3>& factors,
                  const NotePlace& note) {
  const std::optional<double>&whole = region.given[factors[0]], &a = region.given[factors[1]],
        &b = region.given[factors[2]];
  if (!whole || !a || !b) return;
  const double product = *a * *b;
  if (std::fabs(*whole - product) <= 0.005 * (1 + *a + *b) + 0.001) return;
  note(anomaly::kFileContradictsItself,
       fmt::format("{}: {:.4g} is not {:.4g} · {:.4g} in {}", names, *whole, *a, *b, region.where));
}

// The time that TALP has seen its threads work, without those that wait for MPI.
double RecordedTime(const TalpRegion& region) {
  return region.useful.value_or(0) + region.mpi.value_or(0) + region.OpenMpLost() + region.gpu_calls;
}

// True if an efficiency, rounded to two digits, is that of useful time in so much time.
bool IsGiven(double efficiency, double useful, double time) { return std::fabs(efficiency - useful / time) <= 0.006; }

// The file's own factors, by TALP's formulas.
void CheckAgainstItself(const TalpRegion& region, const NotePlace& note) {
  CheckProduct(region, "MPI efficiency, communication and balance",
               {Factor::kMpiParallelEfficiency, Factor::kCommunicationEfficiency, Factor::kLoadBalance}, note);
  CheckProduct(region, "balance, within and between nodes",
               {Factor::kLoadBalance, Factor::kLoadBalanceIn, Factor::kLoadBalanceOut}, note);
  const std::optional<double>& given = region.given[Factor::kParallelEfficiency];
  if (!given || !region.useful || !(region.elapsed > 0)) return;
  const double used =
      region.mpi && !region.at_process_level ? RecordedTime(region) : region.elapsed * static_cast<double>(region.cpus);
  const auto is_given = [&](double of) { return IsGiven(*given, *region.useful, of); };
  if (!(used > 0) || is_given(used) || is_given(used + region.mpi_idle.value_or(0))) return;
  note(anomaly::kFileContradictsItself,
       fmt::format("parallelEfficiency {:.4g}, times give {:.4g} in {}", *given, *region.useful / used, region.where));
}

std::string WhyNoCounters(const TalpRegion& region) {
  const double instructions = *region.instructions, cycles = *region.cycles;
  if (instructions < 0 || cycles < 0) return fmt::format("instructions {:.6g} and cycles {:.6g}", instructions, cycles);
  if (instructions == 0 || cycles == 0) return fmt::format("{} are 0", cycles == 0 ? "cycles" : "instructions");
  const double ipc = instructions / cycles;
  if (ipc < kLeastIpc || ipc > kMostIpc) return fmt::format("{:.3g} instructions a cycle", ipc);
  if (!region.useful || !(*region.useful > 0)) return "";
  const double gigahertz = cycles / *region.useful * 1e-9;
  if (gigahertz < kLeastGigahertz || gigahertz > kMostGigahertz) return fmt::format("{:.3g} GHz", gigahertz);
  return "";
}

// Without hardware counters TALP writes zeros.
void FillCounters(const TalpRegion& region, FactorRow& row, const NotePlace& note) {
  if (!region.instructions || !region.cycles) return;
  if (*region.instructions == 0 && *region.cycles == 0) return;
  const std::string why = WhyNoCounters(region);
  if (!why.empty()) {
    note(anomaly::kCounterImpossible, fmt::format("{} in {}", why, region.where));
    return;
  }
  // For several threads they are those of all, and do not go with time at process level.
  const bool is_of_threads = row.totals && row.totals->threads;
  if (!row.totals || (row.threads > 1 && !region.at_process_level && !is_of_threads)) return;
  row.totals->instructions = region.instructions;
  row.totals->cycles = region.cycles;
}

void NoteParallelism(const TalpRegion& region, bool is_hybrid, const NotePlace& note) {
  if (ThreadsPerRank(region) > 1 && !region.at_process_level && !is_hybrid) {
    const std::optional<double>& given = region.given[Factor::kOmpParallelEfficiency];
    const std::string openmp = given ? fmt::format("OpenMP efficiency {:.4g} is not taken ", *given) : "";
    note(anomaly::kThreadsAtProcessLevel, fmt::format("{}in {}", openmp, region.where));
  }
  if (region.cpus > region.ranks && region.cpus % region.ranks != 0) {
    note(anomaly::kUnevenThreads, fmt::format("{} CPUs of {} ranks in {}", region.cpus, region.ranks, region.where));
  }
}

// Time of all threads, seconds; nothing where the file does not say it, or says what cannot be.
std::optional<ThreadTimes> CheckedThreadTimes(const TalpRegion& region, const NotePlace& note) {
  const bool has_threads = ThreadsPerRank(region) > 1 && region.HasOpenMp();
  if (region.at_process_level || !region.useful || !region.mpi || !(has_threads || region.gpu_calls > 0)) {
    return std::nullopt;
  }
  ThreadTimes times;
  times.cpus = static_cast<double>(region.cpus);
  times.useful = *region.useful;
  times.mpi = *region.mpi;
  times.mpi_idle = region.mpi_idle.value_or(0);
  times.imbalance = region.omp_imbalance.value_or(0);
  times.scheduling = region.omp_scheduling.value_or(0);
  times.serialization = region.omp_serialization.value_or(0);
  times.device_runtime = region.gpu_calls;
  const auto refuse = [&](const std::string& why) {
    note(anomaly::kTimesImpossible, fmt::format("{} in {}", why, region.where));
    return std::nullopt;
  };
  for (const auto& [time, name] :
       {std::pair(times.useful, "usefulTime"), std::pair(times.mpi, "mpiTime"),
        std::pair(times.mpi_idle, "mpiWorkerIdleTime"), std::pair(times.imbalance, "ompLoadImbalanceTime"),
        std::pair(times.scheduling, "ompSchedulingTime"),
        std::pair(times.serialization, "time outside of parallel regions"),
        std::pair(times.device_runtime, "gpuRuntimeTime")}) {
    if (time < 0) return refuse(fmt::format("{} is {:.4g} s", name, time));
  }
  if (!(times.useful > 0)) return std::nullopt;
  const double all = times.cpus * region.elapsed;
  double rest = all - times.OutsideMpi() - times.mpi - times.mpi_idle;
  if (rest < (1 - kTolerance) * all) {
    return refuse(fmt::format("times of threads add up to {:.4g} s, of {:.4g} s", all - rest, all));
  }
  // Time recorded for no thread is outside of parallel regions, or of the region; what is too much is taken off
  // losses.
  if (rest > 0) (has_threads ? times.serialization : times.mpi) += rest;
  for (double* lost : {&times.serialization, &times.imbalance, &times.scheduling, &times.mpi_idle, &times.mpi}) {
    const double less = std::clamp(-rest, 0.0, *lost);
    *lost -= less;
    rest += less;
  }
  if (region.mpi_idle || !has_threads) return times;
  times.mpi_idle = std::min(times.serialization, times.mpi * static_cast<double>(ThreadsPerRank(region) - 1));
  times.serialization -= times.mpi_idle;
  if (times.mpi_idle > 0) note(anomaly::kWaitsForMpiAssumed, "in " + region.where);
  return times;
}

void FillDeviceTimes(const TalpRegion& region, FactorRow& row, const NotePlace& note) {
  if (!(region.gpus > 0) || region.gpu_kernels == 0) return;
  const DeviceTimes times = {region.gpus, region.gpu_kernels, region.most_gpu_kernels, region.most_gpu_active};
  const double most = times.most_kernels;
  const bool is_possible = times.kernels > 0 && most > 0 && times.kernels <= times.devices * most * kTolerance &&
                           most <= times.most_active * kTolerance && times.most_active <= region.elapsed * kTolerance;
  if (!is_possible) {
    note(anomaly::kDevicesNotCounted,
         fmt::format("{:.4g} s of kernels on {:g} devices, {:.4g} s and {:.4g} s with copies "
                     "on the busiest, in {:.4g} s in {}",
                     times.kernels, times.devices, most, times.most_active, region.elapsed, region.where));
    return;
  }
  row.values[Factor::kDeviceParallelEfficiency] = DeviceParallelEfficiency(times, region.elapsed);
  row.values[Factor::kDeviceLoadBalance] = DeviceLoadBalance(times);
  row.values[Factor::kDeviceCommunication] = DeviceCommunication(times);
  row.values[Factor::kDeviceOrchestration] = DeviceOrchestration(times, region.elapsed);
  if (row.totals) row.totals->devices = times;
}

// Which time TALP divides useful time by, as far as its file says.
std::string TimeDivisor(const TalpRegion& region) {
  const auto cpus = static_cast<double>(region.cpus);
  const std::string here = fmt::format("here by {:g} CPUs × {:.4g} s", cpus, region.elapsed);
  const double given = *region.given[Factor::kParallelEfficiency];
  const auto gives = [&](double divisor) { return IsGiven(given, *region.useful, divisor); };
  const double recorded = RecordedTime(region);
  for (const double time : {recorded, recorded + region.mpi_idle.value_or(0)}) {
    if (gives(time)) return fmt::format("TALP divides by the {:.4g} s that it recorded, {}", time, here);
  }
  for (const std::optional<double>& count : {region.average_cpus, region.own_cpus}) {
    if (count && *count != cpus && gives(*count * region.elapsed)) {
      return fmt::format("TALP divides by {:g} CPUs × {:.4g} s, {}", *count, region.elapsed, here);
    }
  }
  return fmt::format("TALP's is that of {:.4g} s of its CPUs, {}", *region.useful / given, here);
}

void NoteDifferences(const TalpRegion& region, const FactorRow& row, const NotePlace& note) {
  constexpr double kRounded = 0.006;  // half of the second digit
  constexpr double kFarOff = 0.05;    // chosen: a difference of formulas, not of rounding and of edges
  std::string near, far;
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kMpiParallelEfficiency, Factor::kLoadBalance,
                              Factor::kCommunicationEfficiency, Factor::kOmpParallelEfficiency, Factor::kDeviceOffload,
                              Factor::kDeviceParallelEfficiency, Factor::kDeviceLoadBalance,
                              Factor::kDeviceCommunication, Factor::kDeviceOrchestration}) {
    const std::optional<double>&value = region.given[factor], &own = row.values[factor];
    if (!value || !own || std::fabs(*value - *own) <= kRounded) continue;
    // Files without one for MPI have it from the whole.
    if (factor == Factor::kMpiParallelEfficiency && value == region.given[Factor::kParallelEfficiency]) continue;
    std::string& text = std::fabs(*value - *own) > kFarOff ? far : near;
    text += fmt::format("{}{} {:.3g}, here {:.3g}", text.empty() ? "" : ", ", Describe(factor).id, *value, *own);
  }
  const bool has_threads = row.totals && row.totals->threads;
  if (!near.empty() && has_threads) note(anomaly::kTalpFactorsDiffer, fmt::format("{} in {}", near, region.where));
  if (far.empty()) return;
  std::string why;
  if (far.starts_with(Describe(Factor::kParallelEfficiency).id)) {
    const bool is_known =
        region.useful && *region.useful > 0 && region.given[Factor::kParallelEfficiency].value_or(0) > 0;
    const bool are_threads_unknown = ThreadsPerRank(region) > 1 && !row.IsHybrid();
    if (are_threads_unknown) why = "; what threads do is not known here";
    if (is_known && !are_threads_unknown) why = "; " + TimeDivisor(region);
  }
  note(anomaly::kTalpFactorsFarOff, fmt::format("{} in {}{}", far, region.where, why));
}

}  // namespace

std::optional<FactorRow> RowOf(const TalpRegion& region, const NotePlace& note) {
  const bool on_all = region.ranks == region.all_ranks && region.measurements.value_or(region.ranks) >= region.ranks;
  const std::string_view why = !(region.elapsed > 0)      ? "never ran"
                               : region.ranks == 0        ? "has no MPI process"
                               : region.measurements == 0 ? "never ran"
                               : on_all                   ? ""
                                                          : "ran on some of the ranks alone";
  if (!why.empty()) {
    note(anomaly::kRegionWithoutFactors, fmt::format("{} {}", region.where, why));
    return std::nullopt;
  }
  FactorRow row;
  row.ranks = region.ranks;
  row.threads = ThreadsPerRank(region);
  row.cores = row.ranks * row.threads;
  row.nodes = region.nodes;
  row.runtime = region.elapsed;
  CheckAgainstItself(region, note);
  const std::optional<ThreadTimes> threads = CheckedThreadTimes(region, note);
  std::optional<OutsideMpi> outside = Measured(region);
  if (threads && outside) outside->average = threads->OutsideMpi() / threads->cpus;
  const std::string impossible = outside ? WhyImpossible(*outside, region.elapsed) : "";
  if (!impossible.empty()) note(anomaly::kTimesImpossible, fmt::format("{} in {}", impossible, region.where));
  if (outside && impossible.empty()) {
    FillFromTimes(region, *outside, row);
    if (threads) {  // factors of MPI stay as they are, those of threads come from their times
      FactorValues& values = row.values;
      values[Factor::kMpiParallelEfficiency] = values[Factor::kParallelEfficiency];
      values[Factor::kOmpParallelEfficiency] = OmpParallelEfficiency(*threads);
      values[Factor::kOmpLoadBalance] = OmpLoadBalance(*threads);
      values[Factor::kOmpScheduling] = OmpScheduling(*threads);
      values[Factor::kOmpSerialization] = OmpSerialization(*threads);
      values[Factor::kDeviceOffload] = DeviceOffload(*threads);
      *values[Factor::kParallelEfficiency] *= OmpParallelEfficiency(*threads) * DeviceOffload(*threads);
      if (row.totals) row.totals->threads = threads;
    }
    FillDeviceTimes(region, row, note);
    NoteDifferences(region, row, note);
  } else if (row.threads == 1 || region.at_process_level) {
    FillAsGiven(region, row, note);
  }
  FillCounters(region, row, note);
  NoteParallelism(region, row.IsHybrid(), note);
  if (row.values != FactorValues()) return row;
  note(anomaly::kRegionWithoutFactors, region.where + " has no efficiency that can be");
  return std::nullopt;
}

}  // namespace farscale
