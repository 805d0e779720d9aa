// A measured run, from the pages of its ranks. Definitions and names are those of the trace path [docs/formulas.md,
// spans].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "collect/page.h"
#include "factors/factor.h"
#include "factors/phase_totals.h"

namespace farscale {

// One device, for all ranks that use it; seconds.
struct MeasuredDevice {
  std::string name;
  int node = 0;
  std::vector<int> ranks;
  double kernels = 0;
  double active = 0;  // in kernels or copies
};

// A region over all ranks that have started it. Seconds.
struct MeasuredRegion {
  std::string name;
  std::vector<int> ranks;
  std::uint64_t fewest_starts = 0;
  std::uint64_t most_starts = 0;
  bool is_open_somewhere = false;  // the program left it open
  bool is_whole_span = false;      // T is that of the span `whole`, else of `each`
  // Where processes have OpenMP teams or use devices, useful times are those of all CPUs outside MPI.
  PhaseTotals totals;
  FactorValues factors;  // none when no rank computed
  std::uint64_t mpi_calls = 0;
  std::uint64_t mpi_calls_of_other_threads = 0;
  double calls_a_millisecond = 0;   // the rank's with most
  std::optional<double> cpu_share;  // CPU time over elapsed time, main threads, where it was taken
  std::optional<std::uint64_t> preemptions;
  std::optional<double> process_cpu;    // CPU time of all threads of all ranks
  std::optional<double> other_cpu;      // that of threads other than the main ones, in all occurrences
  std::vector<double> elapsed_by_rank;  // in the order of `ranks`
  std::vector<double> useful_by_rank;
  std::vector<double> off_by_rank;         // switched off by MPI_Pcontrol(0), left out of all others; empty: on no rank
  bool uses_devices = false;               // then there are times of threads without teams, too
  std::vector<MeasuredDevice> devices;     // empty where none computed, or where they are not known
  std::optional<double> runtime_share;     // time in the OpenMP runtime over elapsed time, main threads
  int threads_seen = 1;                    // that used CPU time, of the rank with most
  std::optional<double> parallel_at_most;  // bound of parallel efficiency, where threads are not understood

  // Where there are teams; not where threads are known only for what they do on devices.
  bool HasOpenMp() const {
    return totals.threads && (!uses_devices || totals.threads->cpus != static_cast<double>(ranks.size()));
  }
};

struct MeasuredRun {
  std::string job;
  std::string program;
  std::vector<std::string> command;
  std::string mpi_library;
  std::string output;
  std::uint64_t started = 0;  // ns since 1970
  int ranks = 0;
  int threads = 1;
  std::vector<std::pair<std::string, std::vector<int>>> nodes;  // names, and ranks
  std::vector<int> missing;                                     // ranks nothing is known of
  collect::Termination termination = collect::Termination::kFinalized;
  int signal = 0;
  std::string error;               // the MPI error that ended it
  std::vector<int> ended_first;    // the rank whose end that is, where it is not MPI_Finalize; several if at once
  std::vector<int> left;           // ranks that left by exit
  std::vector<int> not_finalized;  // ranks that did not come to MPI_Finalize
  bool clock_is_tsc = false;       // the first rank's
  std::uint32_t flags_of_any = 0;  // PageFlags that a rank has
  std::uint32_t flags_of_all = 0;
  double flushed_largest = 0;           // seconds of a rank in which events were written to files
  std::uint64_t not_followed = 0;       // calls that wait for others and carry no ideal clock
  std::uint64_t large_messages = 0;     // whose senders wait in a replay, and not on the ideal clock
  bool devices_unknown = false;         // on some ranks
  double device_work_lost = 0;          // seconds, of all devices: it came too late
  std::vector<MeasuredRegion> regions;  // the whole run first
  std::vector<std::string> windows;     // in a trace of regions alone: their names among the regions

  bool Has(collect::PageFlags flag) const { return (flags_of_any & flag) != 0; }
};

// `pages` must not be empty and belong to one job. A page of a process that still runs counts until now.
MeasuredRun Summarize(std::vector<collect::Page> pages);

// True if what the devices of a process did is known: the run ended, and there was room for all of it.
bool KnowsDevices(const collect::Page& page);

// A process of a run, and one of the regions of its page.
struct MeasuredProcess {
  const collect::Page* page = nullptr;
  int node = 0;
  std::uint32_t region = 0;
  collect::Sums sums{};          // since the run began
  double seconds_a_tick = 1e-9;  // those of its clock
};

// The devices of processes over `elapsed` seconds. Empty where some device is not known. Devices that any of them used
// in its run count, also where they do nothing in the region.
std::vector<MeasuredDevice> SumDevices(const std::vector<MeasuredProcess>& processes, double elapsed);

// Warnings and notes on a run, without counts.
std::vector<Finding> FindingsOn(const MeasuredRun& run);

// A measured run as JSON [docs/schema/measured-run.schema.json] and as the summary on the terminal, and the file of its
// results, where several jobs may put theirs at the same time.

std::string MeasuredRunJson(const MeasuredRun& run);

// `written` names the file with the results, or says why there is none.
std::string MeasuredRunSummary(const MeasuredRun& run, const std::string& written);

// Sentences on the size that a trace of the run and of its regions would have.
std::string TraceSizeText(const collect::TraceSize& size, const MeasuredRun& run);

// Writes `text`, which contains `job`, to `path`, whole or not at all. A file there that another job has written stays:
// then the name gets a number, farscale-2.json. A pipe or device there is written to. Returns the path taken, or
// nothing and `why`.
std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why);

// Results of a run that came to MPI_Finalize, from what rank 0 hands over; of any other, by the guard. This is one
// process a node that sleeps until the job's ranks there have ended, and has mapped their pages.

// Writes the results and the summary of a dump [docs/file-formats.md, dumps]. False where the results could not be
// written, which is said. Throws an input error where it is none.
bool ReportDump(const std::string& path);

// Returns at once, in a process of its own, and in the guard when all is done.
void GuardJob(const std::string& job);

}  // namespace farscale
