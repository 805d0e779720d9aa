#include "collect/measured_run_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_form.h"
#include "collect/text.h"
#include "collect/thread_output.h"

namespace farscale::collect {
namespace {

// Useful time of all threads that counters count.
double CountedSeconds(const RegionMetrics& region) {
  return region.threads ? region.threads->useful : region.useful_total;
}

using Json = nlohmann::ordered_json;

std::string WallTime(std::uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000U);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// Pages are what anybody may have written there.
const char* NameOf(Termination termination) {
  constexpr const char* kNames[] = {"running", "finalized", "not finalized", "aborted", "signal", "lost", "error"};
  const auto number = static_cast<std::size_t>(termination);
  return number < std::size(kNames) ? kNames[number] : "finalized";
}

Json RegionToJson(const RegionMetrics& region, int all_ranks) {
  Json json = {{"name", region.name},
               {"ranks", region.ranks.size()},
               {"fewestStarts", region.fewest_starts},
               {"mostStarts", region.most_starts},
               {"span", region.is_whole_span ? "whole" : "each"},
               {"elapsed", region.elapsed},
               {"usefulAverage", region.useful_average},
               {"usefulLargest", region.useful_largest},
               {"usefulTotal", region.useful_total},
               {"mpiTotal", region.mpi_total},
               {"nodeLoadLargest", region.node_load_largest},
               {"mpiCalls", region.mpi_calls},
               {"mpiCallsOfOtherThreads", region.mpi_calls_of_other_threads},
               {"mpiCallsPerMillisecond", region.calls_a_millisecond}};
  const auto add = [&](const char* key, const auto& value) {
    if (value) json[key] = *value;
  };
  add("idealElapsed", region.ideal_elapsed);
  add("cpuShare", region.cpu_share);
  add("preemptions", region.preemptions);
  add("cpuTotal", region.process_cpu);
  add("instructions", region.instructions);
  add("cycles", region.cycles);
  if (region.instructions && region.cycles) json["ipc"] = *region.instructions / *region.cycles;
  if (region.cycles && CountedSeconds(region) > 0) json["frequency"] = *region.cycles / CountedSeconds(region);
  json["factors"] = Json::object();
  if (region.efficiencies) {
    const Efficiencies& e = *region.efficiencies;
    json["factors"] = {{"parallelEfficiency", e.parallel},
                       {"loadBalance", e.load_balance},
                       {"loadBalanceIn", e.load_balance_in},
                       {"loadBalanceOut", e.load_balance_out},
                       {"communicationEfficiency", e.communication}};
    if (region.ideal_elapsed) {
      json["factors"]["serializationEfficiency"] = region.useful_largest / *region.ideal_elapsed;
      json["factors"]["transferEfficiency"] = *region.ideal_elapsed / region.elapsed;
    }
  }
  AddThreadsToJson(region, json);
  if (static_cast<int>(region.ranks.size()) < all_ranks) json["onRanks"] = region.ranks;
  json["elapsedByRank"] = region.elapsed_by_rank;
  json["usefulByRank"] = region.useful_by_rank;
  if (!region.off_by_rank.empty()) json["switchedOffByRank"] = region.off_by_rank;
  return json;
}

std::string FormatBytes(double bytes) {
  if (bytes < 1024) return Format("%.0f B", bytes);
  if (bytes < 1024 * 1024) return Format("%.1f KiB", bytes / 1024);
  return bytes < 1024.0 * 1024 * 1024 ? Format("%.1f MiB", bytes / (1024 * 1024))
                                      : Format("%.1f GiB", bytes / (1024.0 * 1024 * 1024));
}

// Chosen: more than fit a terminal are in the file.
constexpr std::size_t kMostShown = 20;

std::string Share(double share) { return Format("%.1f %%", share * 100); }

std::string Header(const MeasuredRun& run) {
  return Format("\nfarscale: %s on %d rank%s%s, %d node%s, %s, %llu MPI calls\n", run.program.c_str(), run.ranks,
                run.ranks == 1 ? "" : "s", OfThreads(run.regions.front()).c_str(), static_cast<int>(run.nodes.size()),
                run.nodes.size() == 1 ? "" : "s", FormatSeconds(run.regions.front().elapsed).c_str(),
                static_cast<unsigned long long>(run.regions.front().mpi_calls));
}

std::string Tree(const RegionMetrics& whole) {
  if (!whole.efficiencies) return "";
  const Efficiencies& e = *whole.efficiencies;
  std::string text;
  if (whole.threads) return TreeOfThreads(whole);
  const auto line = [&](const char* name, double share) { text += Format("  %-32s%8s\n", name, Share(share).c_str()); };
  line("Parallel efficiency", e.parallel);
  line("  Load balance", e.load_balance);
  line("    within nodes", e.load_balance_in);
  line("    between nodes", e.load_balance_out);
  line("  Communication efficiency", e.communication);
  if (whole.ideal_elapsed) {
    line("    Serialization", whole.useful_largest / *whole.ideal_elapsed);
    line("    Transfer", *whole.ideal_elapsed / whole.elapsed);
  }
  if (whole.cpu_share) line("CPU time of elapsed time", *whole.cpu_share);
  if (whole.instructions && whole.cycles) {
    text += Format("  %-32s%8.2f\n", "Instructions per cycle", *whole.instructions / *whole.cycles);
    text += Format("  %-32s%5.2f GHz\n", "Frequency", *whole.cycles / CountedSeconds(whole) * 1e-9);
  }
  return text;
}

// Factors of what was recorded: of the whole run, or of the regions that alone were.
std::string Trees(const MeasuredRun& run) {
  std::string text;
  for (const RegionMetrics& region : run.regions) {
    if (&region == &run.regions.front() || std::ranges::find(run.windows, region.name) == run.windows.end()) continue;
    text += "factors of " + region.name + ", as recorded, " + FormatSeconds(region.elapsed) + ":\n" + Tree(region);
  }
  return text.empty() ? Tree(run.regions.front()) : text;
}

std::string RegionTable(const MeasuredRun& run) {
  if (run.regions.size() < 2) return "";
  std::size_t width = 6;
  const std::size_t shown = std::min(run.regions.size() - 1, kMostShown);
  for (std::size_t i = 1; i <= shown; ++i) width = std::max(width, Width(run.regions[i].name));
  // Padded here, since printf counts bytes.
  const auto padded = [&](const std::string& name) { return name + std::string(width - Width(name), ' '); };
  const bool has_threads = ShowsOpenMp(run.regions.front());
  std::string text = Format("\n  %s  %10s  %10s  %5s  %10s  %10s  %10s%s\n", padded("region").c_str(), "starts",
                            "elapsed", "span", "parallel", "balance", "communic.", has_threads ? "      OpenMP" : "");
  for (std::size_t i = 1; i <= shown; ++i) {
    const RegionMetrics& region = run.regions[i];
    text += Format("  %s  %10llu  %10s  %5s", padded(region.name).c_str(),
                   static_cast<unsigned long long>(region.most_starts), FormatSeconds(region.elapsed).c_str(),
                   region.is_whole_span ? "whole" : "each");
    if (region.efficiencies) {
      text +=
          Format("  %10s  %10s  %10s", Share(region.efficiencies->parallel).c_str(),
                 Share(region.efficiencies->load_balance).c_str(), Share(region.efficiencies->communication).c_str());
      if (has_threads && region.threads)
        text += Format("  %10s", Share(OpenMpEfficienciesOf(*region.threads).parallel).c_str());
    }
    text += "\n";
  }
  if (shown + 1 < run.regions.size())
    text += Format("  and %d more\n", static_cast<int>(run.regions.size() - 1 - shown));
  return text;
}

constexpr int kMostNumbers = 100000;  // of result files of one name; chosen: ends a loop that cannot succeed

bool WriteAll(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t part = write(file, text.data() + done, text.size() - done);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    done += static_cast<std::size_t>(part);
  }
  return fsync(file) == 0;
}

// Whether the file is an earlier version of this job's results: they name the job near the top.
bool IsOfJob(const std::string& path, const std::string& job) {
  return ReadStart(path, 4096).find("\"job\": \"" + job + "\"") != std::string::npos;
}

std::string Numbered(const std::string& path, int number) {
  if (number == 1) return path;
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > (slash == std::string::npos ? 0 : slash + 1);
  const std::size_t end = has_ending ? dot : path.size();
  return path.substr(0, end) + "-" + std::to_string(number) + path.substr(end);
}

}  // namespace

std::string ToJsonText(const MeasuredRun& run, const std::string& generator) {
  Json json = {{"format", "farscale-measured-run"},
               {"version", 1},
               {"generator", generator},
               {kChecksumKey, ""},
               {"job", run.job},
               {"program", run.program},
               {"command", run.command},
               {"mpi", run.mpi_library},
               {"started", WallTime(run.started)},
               {"ranks", run.ranks},
               {"threads", run.threads},
               {"clock", run.clock_is_tsc ? "time stamp counter" : "monotonic clock"},
               {"ending", NameOf(run.termination)}};
  if (run.termination == Termination::kSignal) json["signal"] = run.signal;
  if (run.termination == Termination::kError) json["error"] = run.error;
  if (!run.ended_first.empty()) json["endedFirst"] = run.ended_first;
  if (!run.not_finalized.empty()) json["notFinalized"] = run.not_finalized;
  if (!run.missing.empty()) json["missingRanks"] = run.missing;
  json["nodes"] = Json::array();
  for (const MeasuredNode& node : run.nodes) json["nodes"].push_back({{"name", node.name}, {"ranks", node.ranks}});
  json["regions"] = Json::array();
  for (const RegionMetrics& region : run.regions) json["regions"].push_back(RegionToJson(region, run.ranks));
  json["diagnostics"] = Json::array();
  for (const Diagnostic& diagnostic : DiagnosticsOf(run)) {
    json["diagnostics"].push_back({{"id", diagnostic.id},
                                   {"severity", diagnostic.is_warning ? "warning" : "note"},
                                   {"sentence", diagnostic.sentence}});
  }
  json[kChecksumKey] = ChecksumOf(json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FormatSeconds(double seconds) {
  if (seconds >= 0.9995) return Format("%.*f s", seconds < 10 ? 2 : seconds < 100 ? 1 : 0, seconds);
  if (seconds >= 0.9995e-3) return Format("%.*f ms", seconds < 1e-2 ? 2 : seconds < 1e-1 ? 1 : 0, seconds * 1e3);
  return Format("%.*f us", seconds < 1e-5 ? 2 : seconds < 1e-4 ? 1 : 0, seconds * 1e6);
}

std::string ToSentences(const TraceSize& size, const MeasuredRun& run) {
  const RegionMetrics& whole = run.regions.front();
  const auto bytes = static_cast<double>(size.bytes);
  std::string text = Format("a trace would take %s: %s on the largest rank, %llu events, %s a second of the run\n",
                            FormatBytes(bytes).c_str(), FormatBytes(static_cast<double>(size.largest)).c_str(),
                            static_cast<unsigned long long>(size.events),
                            FormatBytes(whole.elapsed > 0 ? bytes / whole.elapsed : 0).c_str());
  for (std::size_t i = 1; i < run.regions.size() && i <= kMostShown; ++i) {
    const RegionMetrics& region = run.regions[i];
    if (whole.mpi_calls == 0 || region.mpi_calls == 0 || region.most_starts == 0) continue;
    // By its share of calls, which are most of the events.
    const double share = static_cast<double>(region.mpi_calls) / static_cast<double>(whole.mpi_calls);
    text += Format("  about %s of it in %s, %s an occurrence: --record-only '%s:1..10' records ten\n",
                   FormatBytes(bytes * share).c_str(), region.name.c_str(),
                   FormatBytes(bytes * share / static_cast<double>(region.most_starts)).c_str(), region.name.c_str());
  }
  return text;
}

std::string ToSummary(const MeasuredRun& run, const std::string& written) {
  std::string text = Header(run) + Trees(run) + RegionTable(run);
  for (const Diagnostic& diagnostic : DiagnosticsOf(run)) {
    if (diagnostic.is_warning) text += "warning: " + diagnostic.sentence + "\n";
  }
  return text + written + "\n";
}

std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::string temporary = folder + ".farscale." + job + "." + std::to_string(getpid()) + ".tmp";
  const std::string most = Variable("FARSCALE_MOST_BYTES");
  if (!most.empty() && text.size() > std::strtoull(most.c_str(), nullptr, 10)) {
    why = path + " is not written: the site gives results of a user no more room";
    return "";
  }
  const mode_t mode = IsSet("FARSCALE_PRIVATE") ? 0600 : 0666;
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0) {
    why = path + " cannot be written: " + std::strerror(errno);
    return "";
  }
  const bool is_written = WriteAll(file, text);
  const int error = errno;
  close(file);
  std::string result;
  why = path + " cannot be written: " + std::strerror(error);
  for (int number = 1; is_written && number < kMostNumbers; ++number) {
    const std::string name = Numbered(path, number);
    // A link is made only where nothing is, so that of two jobs one gets the name.
    if (link(temporary.c_str(), name.c_str()) == 0) {
      result = name;
      break;
    }
    if (errno == EEXIST) {
      if (!IsOfJob(name, job)) continue;
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

}  // namespace farscale::collect
