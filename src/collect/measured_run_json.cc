#include <ctime>
#include <nlohmann/json.hpp>

#include "collect/measured_run_text.h"

namespace farscale::collect {
namespace {

using Json = nlohmann::ordered_json;

std::string WallTime(std::uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000U);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* Name(Ending ending) {
  switch (ending) {
    case Ending::kRunning: return "running";
    case Ending::kFinalized: return "finalized";
    case Ending::kNotFinalized: return "not finalized";
    case Ending::kAborted: return "aborted";
    case Ending::kSignal: return "signal";
    case Ending::kLost: return "lost";
  }
  return "finalized";
}

Json RegionToJson(const RegionMetrics& region, int all_ranks) {
  Json json = {{"name", region.name},
               {"ranks", region.ranks.size()},
               {"fewestStarts", region.fewest_starts},
               {"mostStarts", region.most_starts},
               {"elapsed", region.elapsed},
               {"usefulAverage", region.useful_average},
               {"usefulLargest", region.useful_largest},
               {"usefulTotal", region.useful_total},
               {"mpiTotal", region.mpi_total},
               {"nodeLoadLargest", region.node_load_largest},
               {"mpiCalls", region.mpi_calls},
               {"mpiCallsOfOtherThreads", region.mpi_calls_of_other_threads},
               {"mpiCallsPerMillisecond", region.calls_a_millisecond}};
  if (region.ideal_elapsed) json["idealElapsed"] = *region.ideal_elapsed;
  if (region.cpu_share) json["cpuShare"] = *region.cpu_share;
  if (region.preemptions) json["preemptions"] = *region.preemptions;
  if (region.process_cpu) json["cpuTotal"] = *region.process_cpu;
  if (region.instructions) json["instructions"] = *region.instructions;
  if (region.cycles) json["cycles"] = *region.cycles;
  if (region.instructions && region.cycles) json["ipc"] = *region.instructions / *region.cycles;
  if (region.cycles && region.useful_total > 0) json["frequency"] = *region.cycles / region.useful_total;
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
  if (static_cast<int>(region.ranks.size()) < all_ranks) json["onRanks"] = region.ranks;
  json["elapsedByRank"] = region.elapsed_by_rank;
  json["usefulByRank"] = region.useful_by_rank;
  return json;
}

}  // namespace

std::string ToJsonText(const MeasuredRun& run, const std::string& generator) {
  Json json = {{"format", "farscale-measured-run"},
               {"version", 1},
               {"generator", generator},
               {"job", run.job},
               {"program", run.program},
               {"command", run.command},
               {"mpi", run.mpi_library},
               {"started", WallTime(run.started)},
               {"ranks", run.ranks},
               {"threads", run.threads},
               {"clock", run.clock_is_tsc ? "time stamp counter" : "monotonic clock"},
               {"ending", Name(run.ending)}};
  if (run.ending == Ending::kSignal) json["signal"] = run.signal;
  if (!run.ended_first.empty()) json["endedFirst"] = run.ended_first;
  if (!run.not_finalized.empty()) json["notFinalized"] = run.not_finalized;
  if (!run.missing.empty()) json["missingRanks"] = run.missing;
  json["nodes"] = Json::array();
  for (const MeasuredNode& node : run.nodes) json["nodes"].push_back({{"name", node.name}, {"ranks", node.ranks}});
  json["regions"] = Json::array();
  for (const RegionMetrics& region : run.regions) json["regions"].push_back(RegionToJson(region, run.ranks));
  json["diagnostics"] = Json::array();
  for (const Remark& remark : RemarksOn(run)) {
    json["diagnostics"].push_back(
        {{"id", remark.id}, {"severity", remark.is_warning ? "warning" : "note"}, {"sentence", remark.sentence}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale::collect
