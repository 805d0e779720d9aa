#include "results/factor_table_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/diagnostics.h"
#include "base/fields.h"
#include "base/json_form.h"
#include "base/text.h"
#include "base/files.h"
#include "results/anomalies.h"
#include "results/talp_region.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWholePhase = "whole";  // name of the whole run where it comes from a trace
constexpr int kMajor = 3, kNewestMinor = 8;   // versions of DLB whose JSON is known

// The places of each anomaly, so that all of them are named.
using Places = std::map<Anomaly, std::vector<std::string>>;

// Facts of a file about all of its regions.
struct Document {
  std::optional<double> cpus, ranks, nodes;
  bool is_own = false;  // written by this program
};

std::optional<double> Number(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

// TALP writes nanoseconds.
std::optional<double> Seconds(const Json& json, const char* key) {
  const std::optional<double> time = Number(json, key);
  return time ? std::optional(*time * 1e-9) : std::nullopt;
}

std::int64_t Count(double value, const std::string& what, const std::string& where) {
  constexpr double kMost = 1e15;  // chosen: whole numbers up to there are exact
  if (value >= 0 && value <= kMost && value == std::floor(value)) return static_cast<std::int64_t>(value);
  throw Error(ErrorKind::kInput, where, fmt::format("{} is {}, which is no number of them", what, value));
}

// "3.5", "3.5a", "3.6.1"
void RequireKnownVersion(const Json& json, const std::string& file) {
  if (!json.contains("dlbVersion")) return;  // before 3.5
  const auto version = json.at("dlbVersion").get<std::string>();
  int major = 0, minor = -1;
  const bool is_read = std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2;
  if (is_read && major == kMajor && minor >= 0 && minor <= kNewestMinor) return;
  throw Error(
      ErrorKind::kInput, file,
      fmt::format("was written by version '{}' of DLB, and TALP's JSON is known as versions {}.2 to {}.{} write it",
                  version, kMajor, kMajor, kNewestMinor),
      "write its factors as a CSV table (docs/file-formats.md)");
}

void ReadEfficiencies(const Json& json, FactorValues& given) {
  const auto either = [&](const char* name, const char* earlier) {
    const auto value = Number(json, name);
    return value ? value : Number(json, earlier);
  };
  given[Factor::kParallelEfficiency] = Number(json, "parallelEfficiency");
  // Before there were hybrid metrics, the whole was that of MPI.
  given[Factor::kMpiParallelEfficiency] = either("mpiParallelEfficiency", "parallelEfficiency");
  given[Factor::kCommunicationEfficiency] = either("mpiCommunicationEfficiency", "communicationEfficiency");
  given[Factor::kLoadBalance] = either("mpiLoadBalance", "loadBalance");
  given[Factor::kLoadBalanceIn] = either("mpiLoadBalanceIn", "lbIn");
  given[Factor::kLoadBalanceOut] = either("mpiLoadBalanceOut", "lbOut");
  given[Factor::kOmpParallelEfficiency] = Number(json, "ompParallelEfficiency");
  given[Factor::kDeviceOffload] = Number(json, "deviceOffloadEfficiency");
  given[Factor::kDeviceParallelEfficiency] = Number(json, "gpuParallelEfficiency");
  given[Factor::kDeviceLoadBalance] = Number(json, "gpuLoadBalance");
  given[Factor::kDeviceCommunication] = Number(json, "gpuCommunicationEfficiency");
  given[Factor::kDeviceOrchestration] = Number(json, "gpuOrchestrationEfficiency");
}

// Since 3.5.
TalpRegion RegionOf(const std::string& name, const Json& json, const Document& document, const std::string& file) {
  TalpRegion region;
  region.name = name;
  region.where = fmt::format("{} of {}", name, file);
  region.at_process_level = document.is_own && !json.contains("mpiWorkerIdleTime");
  const double ranks = Number(json, "numMpiRanks").value_or(document.ranks.value_or(0));
  region.ranks = Count(ranks, "numMpiRanks", region.where);
  region.all_ranks = Count(document.ranks.value_or(ranks), "numMpiRanks", region.where);
  const double cpus = Number(json, "numCpus").value_or(ranks);
  region.cpus = Count(document.cpus.value_or(cpus), "numCpus", region.where);
  region.own_cpus = cpus;
  region.average_cpus = Number(json, "avgCpus");
  const auto nodes = document.nodes ? document.nodes : Number(json, "numNodes");
  if (nodes && *nodes > 0) region.nodes = Count(*nodes, "numNodes", region.where);
  region.gpus = Number(json, "numGpus").value_or(0);
  if (const auto measured = Number(json, "numMeasurements")) {
    region.measurements = Count(*measured, "numMeasurements", region.where);
  }
  region.elapsed = Seconds(json, "elapsedTime").value_or(0);
  region.useful = Seconds(json, "usefulTime");
  region.mpi = Seconds(json, "mpiTime");
  region.mpi_idle = Seconds(json, "mpiWorkerIdleTime");
  region.omp_imbalance = Seconds(json, "ompLoadImbalanceTime");
  region.omp_scheduling = Seconds(json, "ompSchedulingTime");
  region.omp_serialization = Seconds(json, "ompSerializationTime");
  if (!region.omp_serialization) region.omp_serialization = Seconds(json, "ompOutsideParallelTime");  // since 3.8
  region.gpu_calls = Seconds(json, "gpuRuntimeTime").value_or(0);
  region.gpu_kernels = Seconds(json, "gpuUsefulTime").value_or(0);
  region.most_gpu_kernels = Seconds(json, "maxGpuUsefulTime").value_or(0);
  region.most_gpu_active = Seconds(json, "maxGpuActiveTime").value_or(0);
  region.most_useful = Seconds(json, "maxUsefulNormdProc");
  region.most_useful_node = Seconds(json, "maxUsefulNormdNode");
  region.least_mpi = Seconds(json, "minMpiNormdProc");
  region.least_mpi_node = Seconds(json, "minMpiNormdNode");
  region.instructions = Number(json, "instructions");
  region.cycles = Number(json, "cycles");
  ReadEfficiencies(json, region.given);
  // A program without MPI is one process, which its threads and devices say.
  if (region.ranks == 0 && (region.HasOpenMp() || region.gpu_calls > 0)) {
    region.ranks = region.all_ranks = 1;
    region.cpus = std::max<std::int64_t>(1, region.cpus);
    region.mpi = region.least_mpi = region.least_mpi_node = 0;
  }
  return region;
}

// Before 3.5: efficiencies in "popMetrics", times in "popRaw", each a list, each only if it was asked for.
std::vector<TalpRegion> EarlierRegions(const Json& json, const Document& document, const std::string& file) {
  std::vector<TalpRegion> regions;
  const auto named = [&](const std::string& name) -> TalpRegion& {
    const auto found =
        std::find_if(regions.begin(), regions.end(), [&](const TalpRegion& region) { return region.name == name; });
    if (found != regions.end()) return *found;
    TalpRegion& region = regions.emplace_back();
    region.name = name;
    region.where = fmt::format("{} of {}", name, file);
    region.at_process_level = true;
    return region;
  };
  for (const Json& one : json.value("popMetrics", Json::array())) {
    TalpRegion& region = named(one.at("name").get<std::string>());
    region.elapsed = Seconds(one, "elapsedTime").value_or(0);
    ReadEfficiencies(one, region.given);
  }
  for (const Json& one : json.value("popRaw", Json::array())) {
    TalpRegion& region = named(one.at("name").get<std::string>());
    const double nodes = one.at("numNodes").get<double>(), cpus = one.at("numCpus").get<double>();
    region.cpus = Count(cpus, "numCpus", region.where);
    region.ranks = Count(Number(one, "numRanks").value_or(0), "numRanks", region.where);
    if (nodes > 0) region.nodes = Count(nodes, "numNodes", region.where);
    region.elapsed = Seconds(one, "elapsedTime").value_or(0);
    region.useful = Seconds(one, "usefulCpuTotal");
    region.most_useful = Seconds(one, "elapsedUseful");
    if (region.cpus > 0) region.most_useful_node = Seconds(one, "usefulCpuNode").value_or(0) * nodes / cpus;
    region.instructions = Number(one, "instructions");
    region.cycles = Number(one, "cycles");
  }
  for (TalpRegion& region : regions) {
    const bool is_told = document.ranks && *document.ranks > 0;
    if (region.ranks == 0) region.ranks = is_told ? Count(*document.ranks, "processes", file) : region.cpus;
    region.all_ranks = region.ranks;
    if (region.cpus == 0) region.cpus = region.ranks;
    if (!region.nodes && document.nodes) region.nodes = Count(*document.nodes, "nodes", file);
    if (region.ranks > 0) continue;
    throw Error(ErrorKind::kInput, file, "does not say how many processes there were",
                "let TALP write popRaw or node, too: --talp-summary=all");
  }
  return regions;
}

std::vector<TalpRegion> ReadRegions(const Json& json, const std::string& file) {
  Document document;
  const Json resources = json.value("resources", Json::object());
  document.cpus = Number(resources, "numCpus");
  document.ranks = Number(resources, "numMpiRanks");
  document.nodes = Number(resources, "numNodes");
  document.is_own = json.value("generator", std::string()).starts_with("farscale");
  // Before 3.5 the only place that says how many processes there were.
  if (!document.ranks && json.contains("node")) {
    double processes = 0;
    for (const Json& node : json.at("node")) processes += static_cast<double>(node.at("process").size());
    document.ranks = processes;
    document.nodes = static_cast<double>(json.at("node").size());
  }
  const char* section = json.contains("Application") ? "Application" : "popMetrics";
  const Json regions = json.value(section, Json::array());
  if (!regions.is_object()) return EarlierRegions(json, document, file);
  std::vector<TalpRegion> read;
  for (const auto& [name, region] : regions.items()) read.push_back(RegionOf(name, region, document, file));
  return read;
}

// The region of the whole run has had three names.
std::string NameOfWhole(const std::vector<TalpRegion>& regions) {
  for (const char* name : {"Global", "MPI Execution", "Application"}) {
    if (std::any_of(regions.begin(), regions.end(), [&](const TalpRegion& region) { return region.name == name; })) {
      return name;
    }
  }
  return "";
}

void AddFile(const NamedText& run, Places& places, FactorTable& table) {
  const auto& [file, text] = run;
  const std::size_t rows = table.rows.size();
  try {
    const bool may_be = Trim(text).starts_with('{');
    const Json json = may_be ? Json::parse(text) : Json();
    if (!IsTalpJson(json)) {
      throw Error(ErrorKind::kInput, file, "is no JSON of TALP", "several files at once must all be of one kind");
    }
    RequireKnownVersion(json, file);
    if (!FitsChecksum(json)) places[anomaly::kFileChanged].push_back(file);
    const std::vector<TalpRegion> regions = ReadRegions(json, file);
    if (regions.empty()) {
      throw Error(ErrorKind::kInput, file, "holds no metrics of regions",
                  "let TALP write them: --talp-summary=pop-metrics");
    }
    const std::string whole = NameOfWhole(regions);
    const NotePlace note = [&](const Anomaly& anomaly, const std::string& place) { places[anomaly].push_back(place); };
    for (const TalpRegion& region : regions) {
      std::optional<FactorRow> row = RowOf(region, note);
      if (!row) continue;
      const bool is_whole = region.name == whole;
      row->phase = is_whole ? std::string(kWholePhase) : region.name;
      if (!is_whole && region.name == kWholePhase) row->phase = "region whole";
      row->span = is_whole ? Span::kWhole : Span::kEach;
      if (!is_whole && region.measurements.value_or(0) % region.ranks == 0) {
        row->iterations = std::max(1.0, static_cast<double>(region.measurements.value_or(0) / region.ranks));
      }
      table.rows.push_back(std::move(*row));
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, file, std::string("is no JSON as TALP writes it: ") + error.what());
  }
  if (table.rows.size() > rows) return;
  std::string why;
  for (const auto& [anomaly, all] : places) {
    const bool is_here = all.back().ends_with(file) || all.back().find(file + " ") != std::string::npos;
    if (is_here) why += fmt::format("; {}: {}", anomaly.id, all.back());
  }
  throw Error(ErrorKind::kInput, file, "there are no factors of MPI processes in it" + why);
}

}  // namespace

bool IsTalpJson(const Json& json) {
  if (!json.is_object() || json.contains("format")) return false;
  for (const char* section : {"dlbVersion", "popMetrics", "popRaw", "Application"}) {
    if (json.contains(section)) return true;
  }
  return false;
}

FactorTable TableOfTalpFiles(const std::vector<NamedText>& files) {
  std::set<std::string> texts;
  for (const auto& [file, text] : files) {
    if (!texts.insert(text).second) throw Error(ErrorKind::kInput, file, "the same run is given twice");
  }
  FactorTable table;
  Places all;
  for (const NamedText& file : files) AddFile(file, all, table);
  NumberRepeats(table);
  Diagnostics diagnostics;
  constexpr std::size_t kMostPlaces = 8;  // chosen: as many as a line holds
  for (const auto& [anomaly, places] : all) {
    const std::vector<std::string> named(places.begin(), places.begin() + std::min(places.size(), kMostPlaces));
    const std::string text = Join(named, "; "), rest = fmt::format(" and {} more", places.size() - named.size());
    diagnostics.Add(anomaly, places.size(), named == places ? text : text + rest);
  }
  table.findings = diagnostics.findings();
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const FactorRow& a, const FactorRow& b) { return a.cores < b.cores; });
  return table;
}

namespace {

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

// A factor that is not known may follow from the others.
OutsideMpi UsefulByRank(const FactorRow& row) {
  const FactorValues& values = row.values;
  OutsideMpi useful;
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
void AddThreadTimes(const ThreadTimes& times, const OutsideMpi& outside, double elapsed, Json& json) {
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

// Without threads, time is divided at process level: CPUs of a process are useful or in MPI together, and nothing is
// lost to OpenMP.
Json RegionToJson(const FactorRow& row) {
  const OutsideMpi useful = UsefulByRank(row);
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
  if (row.totals && row.totals->devices) {
    const DeviceTimes& times = *row.totals->devices;
    json["numGpus"] = Whole(times.devices);
    json["gpuUsefulTime"] = Nanoseconds(times.kernels);
    json["maxGpuUsefulTime"] = Nanoseconds(times.most_kernels);
    json["maxGpuActiveTime"] = Nanoseconds(times.most_active);
    json["gpuParallelEfficiency"] = DeviceParallelEfficiency(times, elapsed);
    json["gpuLoadBalance"] = DeviceLoadBalance(times);
    json["gpuCommunicationEfficiency"] = DeviceCommunication(times);
    json["gpuOrchestrationEfficiency"] = DeviceOrchestration(times, elapsed);
  }
  return json;
}

std::string NameOf(const RunKey& key) {
  const auto& [series, cores, threads, repeat] = key;
  std::string folder;
  for (const char c : series) {
    const auto byte = static_cast<unsigned char>(c);
    // Letters, digits and what does no harm in names of files.
    const bool harmless =
        std::isalnum(byte) != 0 || byte >= 0x80 || c == '-' || c == '_' || (c == '.' && !folder.empty());
    folder += harmless ? c : '-';
  }
  if (!folder.empty()) folder += '/';
  return fmt::format("{}talp-{}{}{}.json", folder, cores, threads > 1 ? fmt::format("-{}threads", threads) : "",
                     repeat > 0 ? fmt::format("-{}", repeat + 1) : "");
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
    if (run == runs.end()) {
      Json json = {{"dlbVersion", kWrittenVersion}, {"generator", Generator()}, {"timestamp", timestamp}};
      json["resources"] = {{"numCpus", row.cores}, {"numNodes", row.nodes.value_or(1)}, {"numMpiRanks", row.ranks}};
      json["Application"] = Json::object();
      run = runs.insert(runs.end(), {key, std::move(json)});
    }
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
