#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/json_checksum.h"
#include "base/version.h"
#include "results/talp_json.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

// Keys that all releases of TALP-Pages read.
constexpr const char* kWrittenVersion = "3.5";
constexpr const char* kGlobal = "Global";

using RunKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;  // series, cores, threads, repeat

std::int64_t Whole(double value) { return std::llround(std::clamp(value, 0.0, 9e18)); }
std::int64_t Nanoseconds(double seconds) { return Whole(seconds * 1e9); }

Json OrNull(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json TimeOrNull(std::optional<double> seconds) { return seconds ? Json(Nanoseconds(*seconds)) : Json(nullptr); }

std::string WhyNotWritten(const FactorRow& row) {
  if (row.phase.IsGroup() || row.ranks * row.threads != row.cores) return "is of a group of ranks";
  if (!row.runtime) return "has no run time";
  if (!row.values[Factor::kParallelEfficiency]) return "has no parallel efficiency";
  if (row.IsHybrid() && !(row.totals && row.totals->threads)) return "has no times of its threads";
  return "";
}

struct UsefulTimes {
  double average = 0;
  std::optional<double> most, most_of_node;
};

// A factor that is not known may follow from the others.
UsefulTimes UsefulTimesOf(const FactorRow& row) {
  const FactorValues& values = row.values;
  UsefulTimes useful;
  const Factor of_mpi = row.IsHybrid() ? Factor::kMpiParallelEfficiency : Factor::kParallelEfficiency;
  useful.average = *row.runtime * *values[of_mpi];
  if (values[Factor::kLoadBalance]) {
    useful.most = useful.average / *values[Factor::kLoadBalance];
  } else if (values[Factor::kCommunicationEfficiency]) {
    useful.most = *row.runtime * *values[Factor::kCommunicationEfficiency];
  }
  if (values[Factor::kLoadBalanceOut]) {
    useful.most_of_node = useful.average / *values[Factor::kLoadBalanceOut];
  } else if (values[Factor::kLoadBalanceIn] && useful.most) {
    useful.most_of_node = *useful.most * *values[Factor::kLoadBalanceIn];
  }
  return useful;
}

// Time of threads by state, with the names of 3.8 for what there was no place before.
void AddThreadTimes(const ThreadTimes& times, const UsefulTimes& outside, double elapsed, Json& json) {
  json["usefulTime"] = Nanoseconds(times.useful);
  json["mpiTime"] = Nanoseconds(times.mpi);
  json["mpiWorkerIdleTime"] = Nanoseconds(times.mpi_idle);
  json["ompLoadImbalanceTime"] = Nanoseconds(times.imbalance);
  json["ompSchedulingTime"] = Nanoseconds(times.scheduling);
  json["ompSerializationTime"] = Nanoseconds(times.serialization);
  json["gpuRuntimeTime"] = Nanoseconds(times.device_runtime);
  json["minMpiNormdProc"] = TimeOrNull(outside.most ? std::optional(elapsed - *outside.most) : std::nullopt);
  json["minMpiNormdNode"] =
      TimeOrNull(outside.most_of_node ? std::optional(elapsed - *outside.most_of_node) : std::nullopt);
  json["ompParallelEfficiency"] = OmpParallelEfficiency(times);
  json["ompLoadBalance"] = OmpLoadBalance(times);
  json["ompSchedulingEfficiency"] = OmpScheduling(times);
  json["ompSerializationEfficiency"] = OmpSerialization(times);
  json["deviceOffloadEfficiency"] = DeviceOffload(times);
}

void AddDeviceTimes(const DeviceTimes& times, double elapsed, Json& json) {
  json["numGpus"] = Whole(times.devices);
  json["gpuUsefulTime"] = Nanoseconds(times.kernels);
  json["maxGpuUsefulTime"] = Nanoseconds(times.most_kernels);
  json["maxGpuActiveTime"] = Nanoseconds(times.most_active);
  json["gpuParallelEfficiency"] = DeviceParallelEfficiency(times, elapsed);
  json["gpuLoadBalance"] = DeviceLoadBalance(times);
  json["gpuCommunicationEfficiency"] = DeviceCommunication(times);
  json["gpuOrchestrationEfficiency"] = DeviceOrchestration(times, elapsed);
}

// Without threads, time is divided at process level: CPUs of a process are useful or in MPI together, and nothing is
// lost to OpenMP.
Json RegionToJson(const FactorRow& row) {
  const UsefulTimes useful = UsefulTimesOf(row);
  const double cpus = static_cast<double>(row.cores), elapsed = *row.runtime, mpi = elapsed - useful.average;
  const bool counted = row.totals && row.totals->instructions && row.totals->cycles;
  Json json = {{"numCpus", row.cores}, {"numMpiRanks", row.ranks}};
  json["numNodes"] = row.nodes.value_or(1);
  json["avgCpus"] = cpus;
  json["cycles"] = counted ? Whole(*row.totals->cycles) : 0;
  json["instructions"] = counted ? Whole(*row.totals->instructions) : 0;
  json["numMeasurements"] = Whole(row.iterations * static_cast<double>(row.ranks));
  for (const char* count : {"numMpiCalls", "numOmpParallels", "numOmpTasks"}) json[count] = 0;
  json["elapsedTime"] = Nanoseconds(elapsed);
  json["usefulTime"] = Nanoseconds(useful.average * cpus);
  json["mpiTime"] = Nanoseconds(mpi * cpus);
  for (const char* time : {"ompLoadImbalanceTime", "ompSchedulingTime", "ompSerializationTime"}) json[time] = 0;
  json["usefulNormdApp"] = Nanoseconds(useful.average);
  json["mpiNormdApp"] = Nanoseconds(mpi);
  json["maxUsefulNormdProc"] = TimeOrNull(useful.most);
  json["maxUsefulNormdNode"] = TimeOrNull(useful.most_of_node);
  json["mpiNormdOfMaxUseful"] = TimeOrNull(useful.most ? std::optional(elapsed - *useful.most) : std::nullopt);
  const auto ratio = [](std::optional<double> part, std::optional<double> whole) {
    return part && whole ? std::optional(*part / *whole) : std::nullopt;
  };
  json["parallelEfficiency"] = *row.values[Factor::kParallelEfficiency];
  json["mpiParallelEfficiency"] = useful.average / elapsed;
  json["mpiCommunicationEfficiency"] = OrNull(ratio(useful.most, elapsed));
  json["mpiLoadBalance"] = OrNull(ratio(useful.average, useful.most));
  json["mpiLoadBalanceIn"] = OrNull(ratio(useful.most_of_node, useful.most));
  json["mpiLoadBalanceOut"] = OrNull(ratio(useful.average, useful.most_of_node));
  for (const char* factor :
       {"ompParallelEfficiency", "ompLoadBalance", "ompSchedulingEfficiency", "ompSerializationEfficiency"}) {
    json[factor] = 1.0;
  }
  if (row.IsHybrid()) AddThreadTimes(*row.totals->threads, useful, elapsed, json);
  if (row.totals && row.totals->devices) AddDeviceTimes(*row.totals->devices, elapsed, json);
  return json;
}

// Letters, digits and what does no harm in names of files.
std::string FolderOf(const std::string& series) {
  std::string folder;
  for (const char c : series) {
    const auto byte = static_cast<unsigned char>(c);
    const bool harmless =
        std::isalnum(byte) != 0 || byte >= 0x80 || c == '-' || c == '_' || (c == '.' && !folder.empty());
    folder += harmless ? c : '-';
  }
  return folder.empty() ? folder : folder + "/";
}

std::string NameOf(const RunKey& key) {
  const auto& [series, cores, threads, repeat] = key;
  return fmt::format("{}talp-{}{}{}.json", FolderOf(series), cores,
                     threads > 1 ? fmt::format("-{}threads", threads) : "",
                     repeat > 0 ? fmt::format("-{}", repeat + 1) : "");
}

Json NewRun(const FactorRow& row, const std::string& timestamp) {
  Json json = {{"dlbVersion", kWrittenVersion}, {"generator", Generator()}, {"timestamp", timestamp}};
  json["resources"] = {{"numCpus", row.cores}, {"numNodes", row.nodes.value_or(1)}, {"numMpiRanks", row.ranks}};
  json["Application"] = Json::object();
  return json;
}

}  // namespace

std::vector<NamedText> WriteTalpJson(const FactorTable& table, const std::string& timestamp,
                                     std::vector<std::string>& left_out) {
  std::vector<std::pair<RunKey, Json>> runs;
  for (const FactorRow& row : table.rows) {
    const std::string why = WhyNotWritten(row);
    if (!why.empty()) {
      left_out.push_back(fmt::format("phase {} at {} cores {}", row.phase.Text(), row.cores, why));
      continue;
    }
    const RunKey key(row.series, row.cores, row.threads, row.repeat);
    auto run = std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.first == key; });
    if (run == runs.end()) run = runs.insert(runs.end(), {key, NewRun(row, timestamp)});
    run->second["Application"][row.phase == "whole" ? kGlobal : row.phase.name] = RegionToJson(row);
  }
  if (runs.empty()) {
    throw Error(ErrorKind::kNotEnoughData, "TALP",
                "no row has what TALP's JSON needs: run time and parallel efficiency");
  }
  std::vector<NamedText> texts;
  for (auto& [key, json] : runs) {
    json[kChecksumKey] = ChecksumOf(json);
    texts.emplace_back(NameOf(key), json.dump(2) + "\n");
  }
  return texts;
}

}  // namespace farscale
