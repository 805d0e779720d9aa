#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_form.h"
#include "base/files.h"
#include "collect/text.h"
#include "measure/measured_run.h"

namespace farscale {
namespace {

using collect::Format;
using enum Factor;

void AddThreads(const MeasuredRegion& region, OrderedJson& json) {
  if (region.threads_seen > 1) json["threadsSeen"] = region.threads_seen;
  if (region.parallel_at_most) json["parallelEfficiencyAtMost"] = *region.parallel_at_most;
  if (!region.totals.threads) return;
  const ThreadTimes& times = *region.totals.threads;
  json["threadTimes"] = {{"cpus", static_cast<int>(times.cpus)},
                         {"useful", times.useful},
                         {"mpi", times.mpi},
                         {"mpiIdle", times.mpi_idle},
                         {"ompImbalance", times.imbalance},
                         {"ompScheduling", times.scheduling},
                         {"ompSerialization", times.serialization}};
  if (region.uses_devices) json["threadTimes"]["deviceRuntime"] = times.device_runtime;
  if (!region.totals.devices || !(region.totals.elapsed > 0)) return;
  const DeviceTimes& devices = *region.totals.devices;
  json["deviceTimes"] = {{"devices", devices.devices},
                         {"kernels", devices.kernels},
                         {"kernelsLargest", devices.most_kernels},
                         {"activeLargest", devices.most_active}};
  json["devices"] = OrderedJson::array();
  for (const MeasuredDevice& device : region.devices) {
    json["devices"].push_back({{"name", device.name},
                               {"node", device.node},
                               {"ranks", device.ranks},
                               {"kernels", device.kernels},
                               {"copies", device.active - device.kernels},
                               {"idle", region.totals.elapsed - device.active}});
  }
}

// Over the useful time of all threads that counters count.
double Frequency(const PhaseTotals& totals) { return *totals.cycles / totals.UsefulOfAll(); }

OrderedJson RegionToJson(const MeasuredRegion& region, int all_ranks) {
  const PhaseTotals& totals = region.totals;
  OrderedJson json = {{"name", region.name},
                      {"ranks", region.ranks.size()},
                      {"fewestStarts", region.fewest_starts},
                      {"mostStarts", region.most_starts},
                      {"span", region.is_whole_span ? "whole" : "each"},
                      {"elapsed", totals.elapsed},
                      {"usefulAverage", totals.average_useful},
                      {"usefulLargest", totals.largest_useful},
                      {"usefulTotal", totals.total_useful},
                      {"mpiTotal", totals.total_mpi},
                      {"nodeLoadLargest", totals.largest_node_load},
                      {"mpiCalls", region.mpi_calls},
                      {"mpiCallsOfOtherThreads", region.mpi_calls_of_other_threads},
                      {"mpiCallsPerMillisecond", region.calls_a_millisecond}};
  const auto add = [&](const char* key, const auto& value) {
    if (value) json[key] = *value;
  };
  if (totals.ideal_elapsed > 0) json["idealElapsed"] = totals.ideal_elapsed;
  add("cpuShare", region.cpu_share);
  add("preemptions", region.preemptions);
  add("cpuTotal", region.process_cpu);
  add("instructions", totals.instructions);
  add("cycles", totals.cycles);
  if (totals.instructions && totals.cycles) json["ipc"] = *totals.instructions / *totals.cycles;
  if (totals.cycles && totals.UsefulOfAll() > 0) json["frequency"] = Frequency(totals);
  json["factors"] = OrderedJson::object();
  for (const Factor factor :
       {kParallelEfficiency, kLoadBalance, kLoadBalanceIn, kLoadBalanceOut, kCommunicationEfficiency, kSerialization,
        kTransfer, kDeviceParallelEfficiency, kDeviceLoadBalance, kDeviceCommunication, kDeviceOrchestration,
        kMpiParallelEfficiency, kOmpParallelEfficiency, kOmpLoadBalance, kOmpScheduling, kOmpSerialization,
        kDeviceOffload}) {
    if (region.factors[factor]) json["factors"][std::string(Describe(factor).id)] = *region.factors[factor];
  }
  AddThreads(region, json);
  if (static_cast<int>(region.ranks.size()) < all_ranks) json["onRanks"] = region.ranks;
  json["elapsedByRank"] = region.elapsed_by_rank;
  json["usefulByRank"] = region.useful_by_rank;
  if (!region.off_by_rank.empty()) json["switchedOffByRank"] = region.off_by_rank;
  return json;
}

// Chosen: more than fit a terminal are in the file.
constexpr std::size_t kMostShown = 20;

std::string Bytes(double bytes) {
  if (bytes < 1024) return Format("%.0f B", bytes);
  if (bytes < 1024 * 1024) return Format("%.1f KiB", bytes / 1024);
  return bytes < 1024.0 * 1024 * 1024 ? Format("%.1f MiB", bytes / (1024 * 1024))
                                      : Format("%.1f GiB", bytes / (1024.0 * 1024 * 1024));
}

std::string Share(std::optional<double> share) { return Format("%.1f %%", *share * 100); }

std::string Tree(const MeasuredRegion& region) {
  if (!region.factors[kParallelEfficiency]) return "";
  std::string text;
  const auto line = [&](const std::string& name, std::optional<double> share) {
    if (share) text += Format("  %-32s%8s\n", name.c_str(), Share(share).c_str());
  };
  const FactorTree tree = region.factors.Tree();
  for (const FactorType& type : AllFactors()) {
    const Factor factor = type.factor;
    const bool is_of_openmp = factor >= kOmpParallelEfficiency && factor <= kOmpSerialization;
    if (!region.factors[factor] || (is_of_openmp && !region.HasOpenMp())) continue;
    // Without what the name of the parent says already: "OpenMP load balance" and "Load balance within nodes" are "Load
    // balance" and "within nodes".
    std::string name(type.name);
    const std::optional<Factor> parent = ParentOf(factor, tree);
    const std::string above = parent ? std::string(Describe(*parent).name) + " " : "";
    if (parent && name.starts_with(above)) name.erase(0, above.size());
    if (parent == kOmpParallelEfficiency) {
      name.erase(0, name.find(' ') + 1);
      name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    }
    // Trees begin at parallel efficiency; global efficiency needs several runs.
    const bool is_of_devices = factor == kDeviceParallelEfficiency || parent == kDeviceParallelEfficiency;
    const int depth = DepthOf(factor, tree) - (is_of_devices ? 0 : 1);
    line(std::string(2 * static_cast<std::size_t>(depth), ' ') + name, region.factors[factor]);
  }
  line("CPU time of elapsed time", region.cpu_share);
  const PhaseTotals& totals = region.totals;
  if (!totals.threads && totals.instructions && totals.cycles) {
    text += Format("  %-32s%8.2f\n", "Instructions per cycle", *totals.instructions / *totals.cycles);
    text += Format("  %-32s%5.2f GHz\n", "Frequency", Frequency(totals) * 1e-9);
  }
  return text;
}

// Factors of what was recorded: of the whole run, or of the regions that alone were.
std::string Trees(const MeasuredRun& run) {
  std::string text;
  for (const MeasuredRegion& region : run.regions) {
    if (&region == &run.regions.front() || std::ranges::find(run.windows, region.name) == run.windows.end()) continue;
    text += "factors of " + region.name + ", as recorded, " + collect::FormatSeconds(region.totals.elapsed) + ":\n" +
            Tree(region);
  }
  return text.empty() ? Tree(run.regions.front()) : text;
}

std::string RegionTable(const MeasuredRun& run) {
  if (run.regions.size() < 2) return "";
  std::size_t width = 6;
  const std::size_t shown = std::min(run.regions.size() - 1, kMostShown);
  for (std::size_t i = 1; i <= shown; ++i) width = std::max(width, collect::Width(run.regions[i].name));
  // Padded here, since printf counts bytes.
  const auto padded = [&](const std::string& name) { return name + std::string(width - collect::Width(name), ' '); };
  const bool has_threads = run.regions.front().HasOpenMp();
  std::string text = Format("\n  %s  %10s  %10s  %5s  %10s  %10s  %10s%s\n", padded("region").c_str(), "starts",
                            "elapsed", "span", "parallel", "balance", "communic.", has_threads ? "      OpenMP" : "");
  for (std::size_t i = 1; i <= shown; ++i) {
    const MeasuredRegion& region = run.regions[i];
    text += Format("  %s  %10llu  %10s  %5s", padded(region.name).c_str(),
                   static_cast<unsigned long long>(region.most_starts),
                   collect::FormatSeconds(region.totals.elapsed).c_str(), region.is_whole_span ? "whole" : "each");
    for (const Factor factor : {kParallelEfficiency, kLoadBalance, kCommunicationEfficiency, kOmpParallelEfficiency}) {
      const bool is_shown = region.factors[factor] && (factor != kOmpParallelEfficiency || has_threads);
      if (is_shown) text += Format("  %10s", Share(region.factors[factor]).c_str());
    }
    text += "\n";
  }
  if (shown + 1 < run.regions.size())
    text += Format("  and %d more\n", static_cast<int>(run.regions.size() - 1 - shown));
  return text;
}

constexpr int kMostNumbers = 100000;  // result files of one name; chosen: ends a loop that cannot succeed

std::string Numbered(const std::string& path, int number) {
  if (number == 1) return path;
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > (slash == std::string::npos ? 0 : slash + 1);
  const std::size_t end = has_ending ? dot : path.size();
  return path.substr(0, end) + "-" + std::to_string(number) + path.substr(end);
}

}  // namespace

std::string MeasuredRunJson(const MeasuredRun& run) {
  using collect::Termination;
  const auto seconds = static_cast<std::time_t>(run.started / 1'000'000'000U);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char started[32];
  std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &parts);
  // Pages are what anybody may have written there.
  constexpr const char* kEndings[] = {"running", "finalized", "not finalized", "aborted", "signal", "lost", "error"};
  const auto ending = static_cast<std::size_t>(run.termination);
  OrderedJson json = {{"format", "farscale-measured-run"},
                      {"version", 1},
                      {"generator", Generator()},
                      {kChecksumKey, ""},
                      {"job", run.job},
                      {"program", run.program},
                      {"command", run.command},
                      {"mpi", run.mpi_library},
                      {"started", started},
                      {"ranks", run.ranks},
                      {"threads", run.threads},
                      {"clock", run.clock_is_tsc ? "time stamp counter" : "monotonic clock"},
                      {"ending", ending < std::size(kEndings) ? kEndings[ending] : "finalized"}};
  if (run.termination == Termination::kSignal) json["signal"] = run.signal;
  if (run.termination == Termination::kError) json["error"] = run.error;
  if (!run.ended_first.empty()) json["endedFirst"] = run.ended_first;
  if (!run.not_finalized.empty()) json["notFinalized"] = run.not_finalized;
  if (!run.missing.empty()) json["missingRanks"] = run.missing;
  json["nodes"] = OrderedJson::array();
  for (const auto& [name, ranks] : run.nodes) json["nodes"].push_back({{"name", name}, {"ranks", ranks}});
  json["regions"] = OrderedJson::array();
  for (const MeasuredRegion& region : run.regions) json["regions"].push_back(RegionToJson(region, run.ranks));
  json["diagnostics"] = OrderedJson::array();
  for (const Finding& finding : FindingsOn(run)) {
    json["diagnostics"].push_back({{"id", finding.id},
                                   {"severity", finding.severity == Severity::kWarning ? "warning" : "note"},
                                   {"sentence", finding.sentence}});
  }
  json[kChecksumKey] = ChecksumOf(json);
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string TraceSizeText(const collect::TraceSize& size, const MeasuredRun& run) {
  const MeasuredRegion& whole = run.regions.front();
  const auto bytes = static_cast<double>(size.bytes);
  const double elapsed = whole.totals.elapsed;
  std::string text =
      Format("a trace would take %s: %s on the largest rank, %llu events, %s a second of the run\n",
             Bytes(bytes).c_str(), Bytes(static_cast<double>(size.largest)).c_str(),
             static_cast<unsigned long long>(size.events), Bytes(elapsed > 0 ? bytes / elapsed : 0).c_str());
  for (std::size_t i = 1; i < run.regions.size() && i <= kMostShown; ++i) {
    const MeasuredRegion& region = run.regions[i];
    if (whole.mpi_calls == 0 || region.mpi_calls == 0 || region.most_starts == 0) continue;
    // Calls are most of the events.
    const double share = static_cast<double>(region.mpi_calls) / static_cast<double>(whole.mpi_calls);
    text += Format("  about %s of it in %s, %s an occurrence: --record-only '%s:1..10' records ten\n",
                   Bytes(bytes * share).c_str(), region.name.c_str(),
                   Bytes(bytes * share / static_cast<double>(region.most_starts)).c_str(), region.name.c_str());
  }
  return text;
}

std::string MeasuredRunSummary(const MeasuredRun& run, const std::string& written) {
  const MeasuredRegion& whole = run.regions.front();
  const auto ranks = static_cast<int>(whole.ranks.size());
  const int cpus = whole.totals.threads ? static_cast<int>(whole.totals.threads->cpus) : ranks;
  std::string threads;  // " x 4 threads", where all ranks together have whole teams
  if (cpus != ranks) threads = cpus % ranks == 0 ? Format(" x %d threads", cpus / ranks) : Format(", %d threads", cpus);
  std::string text = Format("\nfarscale: %s on %d rank%s%s, %d node%s, %s, %llu MPI calls\n", run.program.c_str(),
                            run.ranks, run.ranks == 1 ? "" : "s", threads.c_str(), static_cast<int>(run.nodes.size()),
                            run.nodes.size() == 1 ? "" : "s", collect::FormatSeconds(whole.totals.elapsed).c_str(),
                            static_cast<unsigned long long>(whole.mpi_calls));
  text += Trees(run) + RegionTable(run);
  for (const Finding& finding : FindingsOn(run)) {
    if (finding.severity == Severity::kWarning) text += "warning: " + finding.sentence + "\n";
  }
  return text + written + "\n";
}

std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::string temporary = folder + ".farscale." + job + "." + std::to_string(getpid()) + ".tmp";
  const mode_t mode = collect::IsSet("FARSCALE_PRIVATE") ? 0600 : 0666;
  struct stat there;
  const bool is_special = stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
  // A pipe or device takes what is written; without a reader a pipe would make us wait.
  const int file = is_special ? open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
                              : open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0) {
    why = path + " cannot be written: " + std::strerror(errno);
    return "";
  }
  if (is_special) fcntl(file, F_SETFL, 0);
  const bool is_written = collect::WriteAll(file, text) && (is_special || fsync(file) == 0);
  const int error = errno;
  close(file);
  std::string result;
  why = path + " cannot be written: " + std::strerror(error);
  if (is_special) return is_written ? path : "";
  for (int number = 1; is_written && number < kMostNumbers; ++number) {
    const std::string name = Numbered(path, number);
    // A link is made only where nothing is, so that of two jobs one gets the name.
    if (link(temporary.c_str(), name.c_str()) == 0) {
      result = name;
      break;
    }
    if (errno == EEXIST) {
      // An earlier version of this job's results names the job near the top.
      if (collect::ReadStart(name, 4096).find("\"job\": \"" + job + "\"") == std::string::npos) continue;
      if (rename(temporary.c_str(), name.c_str()) == 0) return name;
    } else if (access(name.c_str(), F_OK) != 0 && rename(temporary.c_str(), name.c_str()) == 0) {
      return name;  // a file system without links
    }
    why = name + " cannot be written: " + std::strerror(errno);
    break;
  }
  unlink(temporary.c_str());
  return result;
}

}  // namespace farscale
