// The metrics of a measured run, from the pages of its ranks. Definitions and names are those of the trace path
// [docs/formulas.md, spans].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/measured_devices.h"
#include "collect/page.h"
#include "collect/thread_times.h"

namespace farscale::collect {

struct Efficiencies {
  double parallel = 0;
  double load_balance = 0;
  double load_balance_in = 0;
  double load_balance_out = 0;
  double communication = 0;
};

// Of one region over all ranks. Seconds.
struct RegionMetrics {
  std::string name;
  std::vector<int> ranks;  // that have started it
  std::uint64_t fewest_starts = 0;
  std::uint64_t most_starts = 0;
  bool is_open_somewhere = false;  // the program left it open
  bool is_whole_span = false;      // whether T is that of the span `whole`, else of `each`
  double elapsed = 0;              // T
  double useful_average = 0;       // over the ranks that have started it
  double useful_largest = 0;
  double useful_total = 0;
  double mpi_total = 0;
  double node_load_largest = 0;
  std::uint64_t mpi_calls = 0;
  std::uint64_t mpi_calls_of_other_threads = 0;
  double calls_a_millisecond = 0;   // of the rank with most
  std::optional<double> cpu_share;  // CPU time over elapsed time, main threads, where it was taken
  std::optional<std::uint64_t> preemptions;
  std::optional<double> process_cpu;  // CPU time of all threads of all ranks
  std::optional<double> other_cpu;    // of threads other than the main ones, in all occurrences
  std::optional<double> instructions;
  std::optional<double> cycles;
  std::optional<double> ideal_elapsed;  // T_ideal
  std::vector<double> elapsed_by_rank;  // in the order of `ranks`
  std::vector<double> useful_by_rank;
  std::vector<double> off_by_rank;  // switched off by MPI_Pcontrol(0), left out of all others; empty: never on any rank
  // Where processes have OpenMP teams, the times above but elapsed, and the efficiencies, are those of all CPUs; useful
  // times are time outside MPI.
  std::optional<ThreadTimes> threads;
  bool uses_devices = false;                 // `threads` then also exist without teams
  std::vector<MeasuredDevice> devices;       // nothing where none computed, or where they are not known
  std::optional<double> runtime_share;       // time in the OpenMP runtime over elapsed time, main threads
  int threads_seen = 1;                      // that used CPU time, of the rank with most
  std::optional<double> parallel_at_most;    // bound of parallel efficiency, where threads are not understood
  std::optional<Efficiencies> efficiencies;  // nothing when no rank computed
};

struct MeasuredNode {
  std::string name;
  std::vector<int> ranks;
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
  std::vector<MeasuredNode> nodes;
  std::vector<int> missing;  // ranks nothing is known of
  Termination termination = Termination::kFinalized;
  int signal = 0;
  std::string error;               // of MPI, that ended it
  std::vector<int> ended_first;    // the rank whose end that is, where it is not MPI_Finalize; several if at once
  std::vector<int> left;           // ranks that left by exit
  std::vector<int> not_finalized;  // ranks that did not come to MPI_Finalize
  bool clock_is_tsc = false;
  bool counters_refused = false;    // on any rank, since the machine has none unless one of the next three is true
  bool counters_forbidden = false;  // by the kernel
  bool counters_slow = false;       // to be read by system calls, which took too long
  bool counters_no_papi = false;    // PAPI was asked for, and cannot count
  bool is_traced = false;
  double flushed_largest = 0;  // seconds of a rank in which events were written to files
  bool ideal_refused = false;
  std::uint64_t not_followed = 0;    // calls that wait for others and carry no ideal clock
  std::uint64_t large_messages = 0;  // whose senders wait in a replay, and not on the ideal clock
  bool devices_unknown = false;      // of some ranks
  double device_work_lost = 0;       // seconds, of all devices: it came too late
  bool too_many_threads = false;     // some of teams were not measured
  bool too_many_regions = false;
  bool regions_out_of_order = false;
  std::vector<RegionMetrics> regions;  // the whole run first
  std::vector<std::string> windows;    // of a trace of regions alone: their names among the regions
};

// `pages` must not be empty and belong to one job. A page of a process that still runs counts until now.
MeasuredRun Summarize(std::vector<Page> pages);

// useful time of every rank with the node it is on; nothing when all are 0.
std::optional<Efficiencies> EfficienciesOf(const std::vector<double>& useful, const std::vector<int>& node,
                                           double elapsed);

// When a rank was in a region: seconds on the clock of its node, and how long it was inside.
struct RankWindow {
  double begin = 0;
  double end = 0;
  double elapsed = 0;
  int node = 0;
};

// T of the span `whole`, from the first begin to the last end of any rank; nothing where the span is `each`: a rank has
// gaps of 2 % of its time, or ranks are on several nodes, whose clocks do not compare.
std::optional<double> WholeSpanOf(const std::vector<RankWindow>& windows);

// Warnings and notes on a run, as sentences with an id each.
struct Diagnostic {
  std::string id;
  bool is_warning = true;
  std::string sentence;
};
std::vector<Diagnostic> DiagnosticsOf(const MeasuredRun& run);

}  // namespace farscale::collect
