#include "cli/mpi_job.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/diagnostics.h"
#include "cli/launch.h"
#include "study/measure_run.h"

namespace farscale {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool IsSeveral(const std::string& count) { return std::atoi(count.c_str()) > 1; }

// Whose launcher has started several processes. Of SLURM, whose srun starts programs of any MPI, PMIx is what Open MPI
// is built for, and PMI what MPICH is.
std::string MpiOfJob() {
  if (IsSeveral(Variable("OMPI_COMM_WORLD_SIZE"))) return "openmpi";
  if (IsSeveral(Variable("PMI_SIZE"))) return "mpich";
  if (!Variable("PMIX_RANK").empty() && IsSeveral(Variable("SLURM_NTASKS"))) return "openmpi";
  return "";
}

// "4(x2),3" of SLURM begins with a number, too.
std::uint64_t ProcessesOnNode() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE"}) {
    const int count = std::atoi(Variable(name).c_str());
    if (count > 0) return static_cast<std::uint64_t>(count);
  }
  return 1;
}

std::string LibraryOf(const std::string& mpi) { return "libfarscale-processes-" + mpi + ".so"; }

}  // namespace

LaunchedProcess FindLaunchedProcess(const std::string& command) {
  LaunchedProcess process;
  const std::string chosen = Variable("FARSCALE_MPI");
  process.mpi = MpiOfJob();
  if (!process.mpi.empty() && !chosen.empty()) process.mpi = chosen;
  constexpr std::string_view kForPrograms[] = {"measure", "trace", "watch", "site", "jobs"};
  const bool is_for_programs = std::ranges::find(kForPrograms, command) != std::end(kForPrograms);
  if (is_for_programs || process.mpi.empty() || !FindLibrary(LibraryOf(process.mpi))) return {};
  process.is_first = !IsFurtherRank();
  process.on_node = ProcessesOnNode();
  return process;
}

bool SharesWork(const std::string& command) {
  constexpr std::string_view kCommands[] = {"run",     "inspect",   "phases", "factors", "imbalance",
                                            "balance", "calibrate", "whatif", "cut",     "grow"};
  return std::ranges::find(kCommands, command) != std::end(kCommands);
}

std::unique_ptr<Job> JoinJob(const LaunchedProcess& process) {
  if (process.mpi.empty()) return nullptr;
  const std::string library = FindLibrary(LibraryOf(process.mpi))->string();
  // Open MPI loads parts of its own that look for its symbols.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* join = handle != nullptr ? dlsym(handle, kJoinJob) : nullptr;
  if (join == nullptr) {
    throw Error(ErrorKind::kInput, library, std::string("cannot be loaded: ") + dlerror(),
                "set FARSCALE_MPI=none to do without it");
  }
  std::unique_ptr<Processes> processes(reinterpret_cast<JoinJobFunction>(join)());
  return processes != nullptr ? std::make_unique<Job>(std::move(processes)) : nullptr;
}

void ServeJob(Job& job) { job.Serve({MeasuringService()}); }

}  // namespace farscale
