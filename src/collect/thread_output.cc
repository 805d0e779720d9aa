#include "collect/thread_output.h"

#include <nlohmann/json.hpp>

#include "collect/measured_devices.h"
#include "collect/text.h"

namespace farscale::collect {

void AddThreadsToJson(const RegionMetrics& region, nlohmann::ordered_json& json) {
  if (region.threads_seen > 1) json["threadsSeen"] = region.threads_seen;
  if (region.parallel_at_most) json["parallelEfficiencyAtMost"] = *region.parallel_at_most;
  if (!region.threads) return;
  const ThreadTimes& times = *region.threads;
  json["threadTimes"] = {{"cpus", times.cpus},
                         {"useful", times.useful},
                         {"mpi", times.mpi},
                         {"mpiIdle", times.mpi_idle},
                         {"ompImbalance", times.imbalance},
                         {"ompScheduling", times.scheduling},
                         {"ompSerialization", times.serialization}};
  if (region.uses_devices) json["threadTimes"]["deviceRuntime"] = times.device;
  AddDevicesToJson(region, json);
  if (!region.efficiencies) return;
  const OpenMpEfficiencies e = OpenMpEfficienciesOf(times);
  json["factors"].update({{"mpiParallelEfficiency", region.useful_average / region.elapsed},
                          {"ompParallelEfficiency", e.parallel},
                          {"ompLoadBalance", e.load_balance},
                          {"ompSchedulingEfficiency", e.scheduling},
                          {"ompSerializationEfficiency", e.serialization}});
  if (region.uses_devices) json["factors"]["deviceOffloadEfficiency"] = e.offload;
}

std::string OfThreads(const RegionMetrics& whole) {
  const int ranks = static_cast<int>(whole.ranks.size());
  if (!whole.threads || whole.threads->cpus == ranks) return "";
  if (whole.threads->cpus % ranks == 0) return Format(" x %d threads", whole.threads->cpus / ranks);
  return Format(", %d threads", whole.threads->cpus);
}

bool ShowsOpenMp(const RegionMetrics& region) {
  return region.threads && (!region.uses_devices || region.threads->cpus != static_cast<int>(region.ranks.size()));
}

std::string TreeOfThreads(const RegionMetrics& whole) {
  const Efficiencies& e = *whole.efficiencies;
  const OpenMpEfficiencies openmp = OpenMpEfficienciesOf(*whole.threads);
  std::string text;
  const auto line = [&](const char* name, double share) { text += Format("  %-32s%6.1f %%\n", name, share * 100); };
  line("Parallel efficiency", e.parallel);
  line("  MPI parallel efficiency", whole.useful_average / whole.elapsed);
  line("    Load balance", e.load_balance);
  line("      within nodes", e.load_balance_in);
  line("      between nodes", e.load_balance_out);
  line("    Communication efficiency", e.communication);
  if (whole.ideal_elapsed) {
    line("      Serialization", whole.useful_largest / *whole.ideal_elapsed);
    line("      Transfer", *whole.ideal_elapsed / whole.elapsed);
  }
  if (ShowsOpenMp(whole)) {
    line("  OpenMP parallel efficiency", openmp.parallel);
    line("    Load balance", openmp.load_balance);
    line("    Scheduling", openmp.scheduling);
    line("    Serialization", openmp.serialization);
  }
  if (whole.uses_devices) line("  Device offload", openmp.offload);
  text += TreeOfDevices(whole);
  if (whole.cpu_share) line("CPU time of elapsed time", *whole.cpu_share);
  return text;
}

}  // namespace farscale::collect
