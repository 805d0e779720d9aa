#include "collect/preload/run.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>

#include "collect/preload/call.h"
#include "collect/trace/communicators.h"
#include "collect/threads/counters.h"
#include "collect/devices/devices.h"
#include "collect/page_file.h"
#include "collect/trace/recorder.h"
#include "collect/threads/team.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

// Until the program goes on from MPI_Init nothing of its own is under way in MPI_COMM_WORLD, so that serves for both.
MPI_Comm own_world = MPI_COMM_WORLD;
std::string page_path;
bool is_tracing = false;
bool is_estimating = false;  // finds only the size of a trace

// Sent by rank 0 to all. Measurements have to be the same everywhere, so its options are those of all.
struct RunNames {
  char job[kNameBytes];
  char mode[16];
  char ideal[4];
  char output[sizeof Page::output];
};

// As much of a text as there is room for.
template <std::size_t kBytes>
void Copy(const std::string& text, char (&to)[kBytes]) {
  to[text.copy(to, kBytes - 1)] = '\0';
}

// Unlike any other run's: host, process and start.
RunNames NameRun() {
  RunNames names{};
  std::string host = HostName().substr(0, 20);
  for (char& c : host) {
    if (c == '/' || c == '"' || c == '\\') c = '_';
  }
  std::snprintf(names.job, sizeof names.job, "%s-%d-%llx", host.c_str(), static_cast<int>(getpid()),
                static_cast<unsigned long long>(Nanoseconds(CLOCK_REALTIME)));
  std::string output = Variable("FARSCALE_OUTPUT");
  if (output.empty()) output = "farscale.json";
  char folder[PATH_MAX];
  if (output[0] != '/' && getcwd(folder, sizeof folder) != nullptr) output = std::string(folder) + "/" + output;
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  // The traces of processes that a traced program starts lie beside its own. Whoever makes a folder has it.
  const bool is_child = parent != MPI_COMM_NULL && Variable("FARSCALE_MODE") == "trace";
  const std::string beside = output + "-";
  for (int number = 2; is_child && number < 100000; ++number) {
    output = beside + std::to_string(number);
    if (mkdir(output.c_str(), 0777) == 0 || errno != EEXIST) break;
  }
  Copy(output, names.output);
  Copy(Variable("FARSCALE_MODE"), names.mode);
  Copy(Variable("FARSCALE_IDEAL"), names.ideal);
  return names;
}

CounterAccess OpenChosenCounters(bool tells) {
  const std::string chosen = Variable("FARSCALE_COUNTERS");
  if (chosen == "papi") return OpenCountersOfPapi();
  const std::optional<CounterEvents> events = ParseCounterEvents(chosen);
  if (!events && !chosen.empty() && tells) {
    std::fprintf(
        stderr,
        "farscale: FARSCALE_COUNTERS is '%s', but must be papi, or TYPE:CONFIG,TYPE:CONFIG of instructions and "
        "cycles as perf_event_open has them; the usual ones are counted\n",
        chosen.c_str());
  }
  return OpenCounters(events.value_or(kUsualEvents));
}

void FillPage(Page& fresh, const RunNames& names) {
  std::memcpy(fresh.magic, kPageMagic, sizeof fresh.magic);
  fresh.version = kPageVersion;
  fresh.bytes = sizeof(Page);
  fresh.pid = getpid();
  fresh.process_started = ProcessStarted(fresh.pid);
  PMPI_Comm_rank(MPI_COMM_WORLD, &fresh.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &fresh.ranks);
  fresh.threads = std::atoi(Variable("FARSCALE_THREADS").c_str());
  fresh.started = Nanoseconds(CLOCK_REALTIME);
  Copy(names.job, fresh.job);
  Copy(names.output, fresh.output);
  Copy(HostName(), fresh.host);
  char path[PATH_MAX];
  const ssize_t path_length = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, path_length > 0 ? static_cast<std::size_t>(path_length) : 0);
  Copy(program.substr(program.rfind('/') + 1), fresh.program);
  std::string command = ReadStart("/proc/self/cmdline", sizeof Page::command - 1);
  for (char& c : command) c = c == '\n' ? ' ' : c == '\0' ? '\n' : c;
  Copy(command, fresh.command);
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  PMPI_Get_library_version(library, &length);
  // "Open MPI v4.1.4", "MPICH Version: 4.0.2": the begin of what libraries report as their version.
  std::string version;
  for (const char c : std::string_view(library).substr(0, std::string_view(library).find_first_of(",\n"))) {
    if (c != '\t') {
      version += c;
    } else if (!version.empty() && version.back() != ' ') {
      version += ' ';
    }
  }
  Copy(version, fresh.mpi_library);
  if (clock_is_tsc) fresh.flags |= kClockIsTsc;
  switch (OpenChosenCounters(fresh.rank == 0)) {
    case CounterAccess::kRegisters:
    case CounterAccess::kSystemCalls:
    case CounterAccess::kPapi: fresh.flags |= kHasCounters; break;
    case CounterAccess::kForbidden: fresh.flags |= kCountersRefused | kCountersForbidden; break;
    case CounterAccess::kMissing: fresh.flags |= kCountersRefused; break;
    case CounterAccess::kNoPapi: fresh.flags |= kCountersRefused | kCountersNoPapi; break;
  }
}

// A dump that the farscale program could not be given stays beside the results that it is to become.
bool KeepDump(int file) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  std::string path = std::string(page->output) + ".pages";
  int copy = open(path.c_str(), kFlags, 0600);
  if (copy < 0 && errno == EEXIST) copy = open((path = path + "." + page->job).c_str(), kFlags, 0600);
  off_t done = 0;
  ssize_t part = 1;
  while (copy >= 0 && part > 0) part = sendfile(copy, file, &done, 1 << 30);
  int error = copy < 0 || part < 0 ? errno : 0;
  if (copy >= 0 && close(copy) != 0 && error == 0) error = errno;
  if (error != 0) {
    std::fprintf(stderr, "farscale: %s cannot be written: %s\n", path.c_str(), std::strerror(error));
    if (copy >= 0) unlink(path.c_str());
  } else {
    std::fprintf(
        stderr,
        "farscale: the results could not be written by the farscale program; farscale measure --report %s writes "
        "them\n",
        path.c_str());
  }
  return error == 0;
}

constexpr int kCannotWrite = 5;  // the exit code of farscale, which has said why

// The results are made by the farscale program, of all pages. At rank 0. What fails is left to the guards.
void HandOver(const std::string& trace, const TraceSize& estimate) {
  sigset_t too_large, usual;  // beyond ulimit -f writing must fail and not end the program
  sigemptyset(&too_large);
  sigaddset(&too_large, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &too_large, &usual);
  const int file = memfd_create("farscale", MFD_CLOEXEC);
  const bool has_head = file >= 0 && WriteDumpHead(file, page->ranks, trace, estimate);
  int error = has_head ? 0 : errno;
  bool is_written = file >= 0 && WriteDumpPage(file, *page);
  if (file >= 0 && !is_written) error = errno;
  // One page at a time; all are received, also where they do not fit the file.
  const auto received = std::make_unique<Page>();
  for (int other = 1; other < page->ranks; ++other) {
    real.MPI_Recv(received.get(), sizeof(Page), MPI_BYTE, other, 0, OwnWorld(), MPI_STATUS_IGNORE);
    if ((received->flags & kHasDevices) != 0) {
      real.MPI_Recv(&received->devices, sizeof(DevicesRecord), MPI_BYTE, other, 0, OwnWorld(), MPI_STATUS_IGNORE);
    }
    if (!is_written || WriteDumpPage(file, *received)) continue;
    is_written = false;
    error = errno;
  }
  is_written = is_written && has_head;
  const int code = is_written ? RunFarscale("--report", "/proc/self/fd/" + std::to_string(file), file) : 0;
  if (!is_written) {
    std::fprintf(stderr, "farscale: the pages of all ranks cannot be put into memory%s%s\n", error != 0 ? ": " : "",
                 error != 0 ? std::strerror(error) : "");
  } else if (code == 0 || code == kCannotWrite || KeepDump(file)) {
    __atomic_store_n(&page->flags, page->flags | kReported, __ATOMIC_RELEASE);
  }
  if (file >= 0) close(file);
  const timespec at_once{};
  while (sigtimedwait(&too_large, nullptr, &at_once) == SIGXFSZ) {
  }
  pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}

// Reports when the other ranks of MPI_COMM_WORLD do not come: where only some run under farscale, the first collective
// call never ends. Lives as long as this rank waits for the others; one rank of a node is enough.
std::jthread StartWatchdog(int rank) {
  constexpr const char* kRankOnNode[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                         "FLUX_TASK_LOCAL_ID", "PALS_LOCAL_RANKID"};
  const auto is_zero = [](const char* name) { return Variable(name) == "0"; };
  const auto watch = [rank](const std::stop_token& stop) {
    constexpr int kUsualSeconds = 30;  // chosen: ranks of large jobs may start this far apart
    const int wanted = std::atoi(Variable("FARSCALE_PATIENCE").c_str());
    const int seconds = wanted > 0 ? wanted : kUsualSeconds;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    if (stopped.wait_for(lock, stop, std::chrono::seconds(seconds), [&] { return stop.stop_requested(); })) return;
    std::fprintf(stderr,
                 "farscale: rank %d has waited %d s in MPI_Init for the other ranks, and goes on waiting: all ranks of "
                 "a job have to run under farscale\n",
                 rank, seconds);
  };
  std::jthread watchdog;
  if (rank != 0 && std::ranges::none_of(kRankOnNode, is_zero)) return watchdog;
  sigset_t all, before;
  sigfillset(&all);
  // The program's signals are not this thread's.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    watchdog = std::jthread(watch);
  } catch (const std::system_error&) {
    // Without a thread there is no watchdog.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return watchdog;
}

}  // namespace

std::string HostName() {
  char name[kNameBytes] = {};
  gethostname(name, kNameBytes - 1);
  const std::string given = Variable("FARSCALE_NODE");
  if (!given.empty()) CopyName(given.c_str(), name);
  return name;
}

MPI_Comm OwnWorld() {
  if (own_world == MPI_COMM_NULL) {
    // Not a duplicate, which would copy the program's attributes by its own functions.
    MPI_Group all = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    real.MPI_Comm_create(MPI_COMM_WORLD, all, &own_world);
    PMPI_Group_free(&all);
    PMPI_Comm_set_errhandler(own_world, MPI_ERRORS_ARE_FATAL);
  }
  return own_world;
}

void BeginRun() {
  RunNames names{};
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ForgetLaunch();
  const std::jthread watchdog = StartWatchdog(rank);
  if (rank == 0) names = NameRun();
  real.MPI_Bcast(&names, sizeof names, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (Variable("FARSCALE_MODE") != names.mode || Variable("FARSCALE_IDEAL") != names.ideal) {
    setenv("FARSCALE_MODE", names.mode, 1);
    setenv("FARSCALE_IDEAL", names.ideal, 1);
    ChooseClock();
  }
  page_path = PagePath(names.job, rank);
  Page* fresh = CreatePage(page_path);
  if (fresh == nullptr) {
    page_path.clear();
    fresh = new (std::nothrow) Page{};
    if (fresh == nullptr) return;
  }
  FillPage(*fresh, names);
  const bool is_ideal = IsSet("FARSCALE_IDEAL");
  if (is_ideal) StartIdealClock();
  if (is_ideal) fresh->flags |= kHasIdeal;
  is_estimating = Variable("FARSCALE_MODE") == "estimate";
  is_tracing = (is_estimating || Variable("FARSCALE_MODE") == "trace") && StartRecording(*fresh, is_estimating);
  if (is_tracing && !is_estimating) fresh->flags |= kIsTraced;
  if (is_ideal && !is_tracing) StartCommunicators();
  if (is_ideal || is_tracing) FollowOthers();
  // All pages of the node are there now.
  real.MPI_Barrier(MPI_COMM_WORLD);
  if (!page_path.empty() && IsLowestHere(names.job, rank)) RunFarscale("--guard", fresh->job);
  WatchEndings();
  // The run begins with all ranks together: after MPI_Init these may be far apart, after a barrier hardly. The second
  // one is what MPI_Init is in the run.
  real.MPI_Barrier(MPI_COMM_WORLD);
  fresh->begin_clock = Nanoseconds(CLOCK_MONOTONIC);
  fresh->begin_tick = Now();
  real.MPI_Barrier(MPI_COMM_WORLD);
  if (is_ideal) fresh->ideal = IdealStart(fresh->begin_tick, MPI_COMM_WORLD);
  const Tick together = Now();
  fresh->mpi = together - fresh->begin_tick;
  fresh->left = together;
  own_world = MPI_COMM_NULL;
  OpenWholeRun(*fresh);
  StartMeasuring(fresh, is_tracing || is_ideal || (fresh->flags & kHasCounters) != 0);
  StartTeams();
  StartDevices();
  NoteThreads();
  SetWholeRunStart();
  if (is_tracing) RecordBegin(together);
  this_thread.is_recording = is_tracing || is_ideal;
}

void EndRun() {
  if (!IsMeasuring()) return;
  // Before what takes system calls, so that the end of the run is the same for the page and a trace.
  page->end_clock = Nanoseconds(CLOCK_MONOTONIC);
  page->end_tick = Now();
  CloseRegions();
  FinishDevices();
  CountOtherThreads(*page);
  page->termination = Termination::kFinalized;
  if (HasIdealClock()) {
    page->not_followed += UnknownCommunicators();
    StopIdealClock();
  }
  const std::string trace = is_tracing && !is_estimating ? FinishRecording() : "";
  const TraceSize estimate = is_tracing && is_estimating ? FinishEstimate() : TraceSize{};
  StopWatchingEndings();
  if (page->rank == 0) {
    HandOver(trace, estimate);
  } else {
    real.MPI_Send(page, static_cast<int>(UsedBytes(*page)), MPI_BYTE, 0, 0, OwnWorld());
    const bool has_devices = (page->flags & kHasDevices) != 0;
    if (has_devices) real.MPI_Send(&page->devices, sizeof page->devices, MPI_BYTE, 0, 0, OwnWorld());
  }
  if (!page_path.empty()) unlink(page_path.c_str());
  StopMeasuring();
  if (own_world != MPI_COMM_NULL) real.MPI_Comm_free(&own_world);
}

}  // namespace farscale::collect
