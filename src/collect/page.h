// The state of a measured process: one page of shared memory a process, updated in place. Whoever has the page
// has the measurement, so it outlives the process, and others on the node can read it while the process runs.
//
// The layout is a file format [docs/file-formats.md, shared pages]: it changes only together with kPageVersion.
// Numbers are in the machine's own byte order; a reader that is on the node has the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "factors/formulas.h"

namespace farscale::collect {

// The times of the threads of a process's OpenMP teams, in shared memory: part of a page (page.h), whose
// version covers this layout, too. Each record is written by its own thread alone, and read by others at any time.

struct Page;

// Part of the format; chosen: more than the cores of a node.
inline constexpr std::size_t kMostThreads = 256;

// Activities of a thread in its team. Waiting for the others of the team is added to the sums when it is over: what it
// was is known only then.
enum class Activity : std::uint32_t {
  kOutside = 0,     // not in a team
  kUseful = 1,      // computing
  kScheduling = 2,  // in the runtime
  kWaiting = 3,     // for others of the team
  kMpi = 4,         // for threads other than the main one, whose MPI calls the page has
  kDevice = 5,      // in the runtime of a device, likewise
};

// Ticks. A cache line of its own, so that threads do not slow each other down.
struct alignas(64) ThreadRecord {
  std::uint32_t version;  // odd while the record changes
  Activity activity;      // now
  std::uint64_t since;
  std::uint64_t useful;
  std::uint64_t scheduling;
  std::uint64_t imbalance;  // waiting while others of the team worked
  std::uint64_t mpi_wait;   // waiting while the main thread was in MPI
  std::uint64_t mpi;
  std::uint64_t device;  // in runtimes of devices
};

// One a process. Written by threads that end a team.
struct alignas(64) TeamRecord {
  std::uint32_t records;      // records of threads that are in use
  std::uint32_t active;       // threads in teams now beside the main thread
  std::uint32_t most;         // the most of these at any time
  std::uint32_t unknown;      // threads beside these and the main one that computed, known when the run ends
  std::uint64_t unknown_cpu;  // their CPU time, ns, and that of threads that have ended
  std::uint64_t regions;      // parallel regions that ended
  // Ticks of others than the thread that ended a team, at its end: from when they had no more work.
  std::uint64_t scheduling;
  std::uint64_t imbalance;
  std::uint64_t mpi_wait;
  std::uint64_t active_mpi;  // ticks of the main thread in MPI, times the other threads that were in teams then
};

static_assert(sizeof(ThreadRecord) == 64 && sizeof(TeamRecord) == 64);

// The work of a process's devices, in shared memory: part of a page (page.h), whose version covers this layout, too.
// Written when the run ends; until then it is not known.

// Parts of the format; chosen: more than the devices of most nodes, and 32 regions of eight devices.
inline constexpr std::size_t kMostDevices = 32;
inline constexpr std::size_t kMostDeviceSums = 256;
inline constexpr std::size_t kDeviceNameBytes = 64;

// ns of a device in a region, all of its streams together.
struct DeviceSums {
  std::uint32_t region;
  std::uint32_t device;  // index of its name
  std::uint64_t kernels;
  std::uint64_t active;  // in kernels or copies
};

struct DevicesRecord {
  std::uint32_t devices;  // the number of names in use
  std::uint32_t sums;     // the number of these in use
  std::uint32_t is_complete;
  std::uint32_t has_no_room;  // for some devices or regions
  std::uint64_t lost;         // ns of work that came too late
  char name[kMostDevices][kDeviceNameBytes];
  DeviceSums sum[kMostDeviceSums];
};

static_assert(sizeof(DeviceSums) == 24 && offsetof(DevicesRecord, name) == 24);

inline constexpr std::uint32_t kPageVersion = 4;
inline constexpr char kPageMagic[8] = {'f', 'a', 'r', 's', 'c', 'a', 'l', 'e'};
// Part of the format; chosen: far more than programs mark by hand, and a page stays below 150 kB.
inline constexpr std::size_t kMostRegions = 256;
inline constexpr std::size_t kNameBytes = 64;

// The end of a process, or kRunning.
// kLost: its process is gone and has not said why; it was killed, or left by _exit.
enum class Termination : std::int32_t {
  kRunning = 0,
  kFinalized = 1,
  kNotFinalized = 2,
  kAborted = 3,
  kSignal = 4,
  kLost = 5,
  kError = 6,  // an error of MPI that nobody handled
};

enum PageFlags : std::uint32_t {
  kClockIsTsc = 1,         // ticks are of the processor's time stamp counter, else nanoseconds
  kHasCounters = 2,        // instructions and cycles are counted
  kTooManyThreads = 256,   // some threads of teams were not measured
  kTooManyRegions = 4,     // some regions were not measured
  kRegionsOutOfOrder = 8,  // a stop without a start
  kIsTraced = 64,          // the run is recorded
  kHasIdeal = 32,          // there is an ideal clock
  kCountersRefused = 16,   // nothing is counted: one of the next three, or the machine has no counters
  kCountersForbidden = 512,
  kCountersSlow = 1024,     // reading them by system calls took too long
  kCountersNoPapi = 4096,   // PAPI was asked for, and cannot count
  kIdealRefused = 128,      // ideal clocks were asked for, but several threads called MPI
  kHasDevices = 2048,       // the work of devices is measured
  kSwitchedOff = 16384,     // after MPI_Pcontrol(0): nothing adds up to regions now
  kRecordsRegions = 32768,  // and nothing else, of a trace
  kThreadsCounted = 8192,   // sums of counters are those of all threads of teams; known when the run ends
  kReported = 1U << 30,     // rank 0's: the results of the run are written, or its pages kept
};

// Numbers that add up over time. `elapsed` is in ticks; of the main thread unless it says otherwise.
struct Sums {
  std::uint64_t elapsed;
  std::uint64_t mpi;           // ticks inside MPI
  std::uint64_t calls;         // MPI calls that were entered from outside MPI
  std::uint64_t other_calls;   // calls by other threads
  std::uint64_t cpu;           // CPU time, ns
  std::uint64_t process_cpu;   // CPU time of all threads, ns
  std::uint64_t preemptions;   // involuntary context switches
  std::uint64_t instructions;  // outside MPI
  std::uint64_t cycles;        // outside MPI
  std::uint64_t ideal;         // ticks on a network that takes no time, where that is measured
  std::uint64_t offload;       // ticks in calls to the runtimes of devices, outside MPI
  // Over all threads of the process's teams, ticks:
  std::uint64_t worker_useful;    // threads other than the main one
  std::uint64_t worker_mpi;       // likewise
  std::uint64_t worker_device;    // likewise
  std::uint64_t imbalance;        // all threads
  std::uint64_t scheduling;       // all threads
  std::uint64_t main_in_runtime;  // the main thread's part of both
  std::uint64_t mpi_wait;         // threads in teams that waited while the main thread was in MPI
  std::uint64_t active_mpi;       // as in TeamRecord
  std::uint64_t parallel_regions;
};

// Region 0 is the whole run.
struct RegionRecord {
  char name[kNameBytes];
  std::uint64_t starts;
  std::uint64_t stops;
  std::uint32_t open;       // starts not stopped yet; only the outermost counts
  std::uint32_t times_cpu;  // 1 if the occurrence that is open takes CPU time, too
  std::uint64_t cpu_ticks;  // elapsed ticks of the occurrences that CPU time and preemptions were taken of
  Sums at_start;            // the process's when it was started last
  Sums total;               // over its occurrences that were stopped
  // Elapsed ticks of the process, and those of its ideal clock, at the first start and at the last stop.
  std::uint64_t first_start;
  std::uint64_t last_stop;
  std::uint64_t first_start_ideal;
  std::uint64_t last_stop_ideal;
};

struct Page {
  char magic[8];
  std::uint32_t version;
  std::uint32_t bytes;  // size of this structure
  std::uint32_t flags;
  Termination termination;
  std::int32_t signal;
  std::int32_t pid;
  std::int32_t rank;
  std::int32_t ranks;
  std::int32_t threads;       // a rank, as the user gave it
  std::uint32_t regions;      // the number of records in use
  std::uint64_t started;      // wall clock, ns since 1970
  std::uint64_t begin_tick;   // where the run begins: MPI_Init has returned
  std::uint64_t begin_clock;  // CLOCK_MONOTONIC at that tick, ns
  std::uint64_t end_tick;     // 0 while it runs
  std::uint64_t end_clock;
  std::uint64_t entered;  // tick at which the main thread went into MPI; 0 outside MPI
  std::uint64_t mpi;      // ticks in MPI so far, calls that ended
  std::uint64_t calls;
  std::uint64_t instructions;
  std::uint64_t cycles;
  std::uint64_t ideal;            // ticks of the ideal clock when the main thread was last in MPI
  std::uint64_t left;             // tick at which it left MPI, where there is an ideal clock
  std::uint64_t not_followed;     // calls that wait for others and carry no ideal clock
  std::uint64_t flushed;          // ticks in which events were written to files, of a trace
  std::uint64_t process_started;  // the kernel's count, so that a later process of the same number is another one
  std::uint64_t large_messages;   // sent, whose senders wait in a replay and not on the ideal clock
  std::uint64_t offload;          // ticks in calls to the runtimes of devices that ended, of the main thread
  std::uint64_t offload_entered;  // tick at which it went into one, outside MPI; 0 outside
  std::uint64_t other_calls;
  std::uint64_t other_mpi;  // all other threads together, ticks
  char job[kNameBytes];     // the same on all ranks of a run, and on no other run
  char host[kNameBytes];
  char program[kNameBytes];  // name of the executable
  char mpi_library[128];
  char command[1024];  // arguments separated by line feeds
  char output[1024];   // where the results go
  char error[160];     // the MPI error that ended the process: function and message
  TeamRecord teams;
  RegionRecord region[kMostRegions];
  ThreadRecord thread[kMostThreads];  // those of OpenMP, the main one first
  DevicesRecord devices;
};

static_assert(sizeof(Sums) == 160 && sizeof(RegionRecord) == 448);
static_assert(offsetof(Page, started) == 48 && offsetof(Page, job) == 208 && offsetof(Page, region) == 2816);

// The size that the trace of a run would have.
struct TraceSize {
  std::uint64_t bytes = 0;    // events of all ranks
  std::uint64_t largest = 0;  // the largest rank's
  std::uint64_t events = 0;
};

// The part of a page that is worth sending: without the records that are not in use.
inline std::size_t UsedBytes(const Page& page) {
  return offsetof(Page, region) + static_cast<std::size_t>(page.regions) * sizeof(RegionRecord);
}

Sums Minus(const Sums& later, const Sums& earlier);
void Add(Sums& sums, const Sums& more);

// Since the run of a page began, at a tick of its clock; without CPU time.
Sums SumsUntil(const Page& page, std::uint64_t now);
// The same, but of a process that has ended until its end, and with CPU time.
Sums SumsOfPage(const Page& page, std::uint64_t now);

// A region of a page as if its open occurrence were stopped now, at `now`, which is SumsOfPage; without stretches in
// which measuring was switched off. CPU time of that occurrence is left out: it is known at the end only.
RegionRecord RegionUntil(const Page& page, const RegionRecord& region, const Sums& now);

// Ends the copy of a page whose process could not do so itself: what is open counts until `tick`.
void EndAsOf(Page& page, std::uint64_t tick, std::uint64_t clock);

// Index of a region other than the whole run, or -1.
int FindRegion(const Page& page, const char* name);

// The times of one process in a region, and their sums over the ranks: what queries of the running program and the
// results of a run are made of. Definitions are those of the trace path [docs/formulas.md, threads and spans].

// Seconds. Ranks send it to each other as it is.
struct RankShare {
  double begin = 0, end = 0;  // first start and last stop, on the clock of the node
  double elapsed = 0;
  double mpi = 0;  // the main thread's
  std::uint64_t starts = 0;
  std::uint64_t calls = 0;
  std::uint64_t node = 0;  // the same number on every rank of a node
  ThreadTimes threads{};   // all CPUs of the process; they add up to the CPUs' time of the region
  bool is_hybrid = false;  // has teams or uses devices
};

// True if the process had OpenMP teams of several threads and all of these could be measured.
bool HasTeams(const Page& page);
// True if the process used devices, by calls or by their work.
bool UsesDevices(const Page& page);

// `region` is RegionUntil. Without `counts_team` the process is one CPU, as in a run of MPI alone. The node stays 0.
RankShare ShareOf(const Page& page, const RegionRecord& region, double seconds_a_tick, bool counts_team);

// Loads are seconds outside MPI of a CPU: of the main thread, or in a hybrid run the mean over the CPUs of a process.
struct LoadSums {
  std::vector<double> of_ranks;
  double average = 0;
  double largest = 0;
  double largest_node = 0;  // mean over the CPUs of a node
  int nodes = 0;
  ThreadTimes threads;  // over all ranks; without threads only `cpus`, `useful` and `mpi`
};
LoadSums SumLoads(const std::vector<RankShare>& shares, bool is_hybrid);

// From the first begin to the last end of any rank.
double WindowLength(const std::vector<RankShare>& shares);

// T of the span `whole`; nothing where the span is `each`: a rank has gaps of 2 % of its time, or ranks are on several
// nodes, whose clocks do not compare.
std::optional<double> WholeSpan(const std::vector<RankShare>& shares);

}  // namespace farscale::collect
