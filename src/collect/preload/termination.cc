#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "collect/preload/call.h"
#include "collect/threads/team.h"
#include "collect/preload/run.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

// Open MPI takes these for itself where the program does not, to print where the fault was.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
// Signals that are sent. MPICH takes SIGUSR1 for itself and lives on.
constexpr int kSent[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGXCPU,   SIGXFSZ,
                         SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF};
constexpr int kLargestSignal = 64;          // on Linux
constexpr std::size_t kStackBytes = 65536;  // chosen: the start of farscale calls clone, waitpid and execve alone
// Chosen: the registers of the largest processors take 12 kB, and the handler closes regions.
constexpr std::size_t kHandlerStackBytes = 65536;

bool was_left_alone[kLargestSignal + 1];
struct sigaction before[kLargestSignal + 1];
std::atomic<bool> is_watching{false};

struct FarscaleStart {
  const char* program;
  char** arguments;
  char** environment;
  void* stack;  // the stack of the process that becomes farscale
  int file;     // that farscale has, too; -1: none
};

bool IsLeftAlone(int signal, struct sigaction& now) {
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

// Handlers of what MPIs consist of only print where the fault was; some are there as soon as the library is loaded.
bool IsOfMpi(const struct sigaction& action) {
  Dl_info place{};
  if (action.sa_handler == SIG_IGN || dladdr(reinterpret_cast<void*>(action.sa_handler), &place) == 0) return false;
  const char* slash = std::strrchr(place.dli_fname, '/');
  const std::string file = slash != nullptr ? slash + 1 : place.dli_fname;
  for (const char* part : {"libmpi", "libopen-", "libucs", "libfabric", "libpsm"}) {
    if (file.starts_with(part)) return true;
  }
  return false;
}

void OnSignal(int signal, siginfo_t* info, void*) {
  const int error = errno;
  MarkTermination(Termination::kSignal, signal);
  // Whatever would have happened without us happens now, from the same place and with the same message.
  sigaction(signal, &before[signal], nullptr);
  // Faults of the program itself happen again when the handler returns; anything else has to be sent again.
  const bool is_fault =
      signal == SIGSEGV || (signal == SIGBUS && info->si_code != BUS_MCEERR_AO) || signal == SIGFPE || signal == SIGILL;
  if ((info->si_code <= 0 || !is_fault) &&
      syscall(SYS_rt_tgsigqueueinfo, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), signal, info) != 0) {
    raise(signal);
  }
  errno = error;
}

void Watch(int signal) {
  struct sigaction ours;
  std::memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = OnSignal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  sigaction(signal, &ours, nullptr);
}

MPI_Errhandler error_handler = MPI_ERRHANDLER_NULL;

void OnError(MPI_Comm* communicator, int* code, ...) {
  if (IsMeasuring() && is_watching) {
    char said[MPI_MAX_ERROR_STRING] = {};
    int kind = *code, length = 0;
    PMPI_Error_class(*code, &kind);  // a code of its own may come with a stack of calls
    PMPI_Error_string(kind, said, &length);
    const bool is_known = this_thread.depth > 0 && this_thread.call < CallId::kCount;
    const char* call = is_known ? kCallNames[static_cast<std::size_t>(this_thread.call)] : "";
    // "MPI_Send: MPI_ERR_RANK: invalid rank", as far as there is place.
    constexpr int kMost = sizeof page->error - sizeof ": ";
    std::snprintf(page->error, sizeof page->error, "%s%s%.*s", call, is_known ? ": " : "", kMost, said);
  }
  MarkTermination(Termination::kError, 0);
  PMPI_Comm_set_errhandler(*communicator, MPI_ERRORS_ARE_FATAL);
  PMPI_Comm_call_errhandler(*communicator, *code);
}

bool HasHandler(MPI_Comm communicator, MPI_Errhandler handler) {
  MPI_Errhandler now = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(communicator, &now);
  const bool has = now == handler;
  if (now != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&now);
  return has;
}

constexpr int kNotRun = 127;  // as in shells

int BecomeFarscale(void* start) {
  const auto& with = *static_cast<const FarscaleStart*>(start);
  if (with.file >= 0) fcntl(with.file, F_SETFD, 0);  // in this process alone
  execve(with.program, with.arguments, with.environment);
  _exit(kNotRun);
}

// Waits until farscale has ended, which a guard does once it has the pages and goes on in a process of its own. Running
// a program makes any process one whose end its parent hears of, so farscale must not be the program's own child.
int StandBetween(void* start) {
  const struct sigaction usual {};  // a program that ignores its children would not hear how this one ended
  sigaction(SIGCHLD, &usual, nullptr);
  const pid_t farscale =
      clone(BecomeFarscale, static_cast<FarscaleStart*>(start)->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, start);
  int status = kNotRun << 8;
  while (farscale > 0 && waitpid(farscale, &status, __WALL) < 0 && errno == EINTR) {
  }
  _exit(farscale > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kNotRun);
}

void* TopOf(std::vector<char>& stack) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) & ~std::uintptr_t{63});
}

// A thread whose stack is full needs another one to say so.
void DropHandlerStack(char* stack) {
  stack_t now{};
  if (sigaltstack(nullptr, &now) == 0 && now.ss_sp == stack) {
    now.ss_flags = SS_DISABLE;
    sigaltstack(&now, nullptr);
  }
  delete[] stack;
}
thread_local std::unique_ptr<char[], void (*)(char*)> handler_stack(nullptr, DropHandlerStack);

}  // namespace

// A program that has one for its handlers keeps it.
void GiveHandlersAStack() {
  stack_t now{};
  if (!is_watching || handler_stack != nullptr || sigaltstack(nullptr, &now) != 0) return;
  if ((now.ss_flags & SS_DISABLE) == 0) return;
  handler_stack.reset(new (std::nothrow) char[kHandlerStackBytes]);
  if (handler_stack == nullptr) return;
  now = {};
  now.ss_sp = handler_stack.get();
  now.ss_size = kHandlerStackBytes;
  sigaltstack(&now, nullptr);
}

int RunFarscale(const std::string& option, const std::string& value, int file) {
  const char* program = std::getenv("FARSCALE_PROGRAM");
  if (program == nullptr) return kNotRun;
  std::vector<std::string> words = {"farscale", "measure", option, value}, variables;
  for (const char* name : {"FARSCALE_PAGES", "LD_LIBRARY_PATH", "FARSCALE_QUIET", "FARSCALE_ONLY", "FARSCALE_PRIVATE",
                           "FARSCALE_MOST_BYTES"}) {
    const char* set_value = std::getenv(name);
    if (set_value != nullptr) variables.push_back(std::string(name) + "=" + set_value);
  }
  std::vector<char*> arguments = Pointers(words), environment = Pointers(variables);
  std::vector<char> stack(kStackBytes), stack_of_farscale(kStackBytes);
  FarscaleStart start = {program, arguments.data(), environment.data(), TopOf(stack_of_farscale), file};
  // Unlike fork it runs nothing that the MPI wants run at a fork, and without a signal the program does not hear of a
  // child that it has not started. None of the program's handlers may run in a process that shares its memory.
  // farscale clears what is blocked for itself.
  sigset_t all, usual;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &usual);
  const pid_t between = clone(StandBetween, TopOf(stack), CLONE_VM | CLONE_VFORK, &start);
  int status = kNotRun << 8;
  while (between > 0 && waitpid(between, &status, __WCLONE) < 0 && errno == EINTR) {
  }
  sigprocmask(SIG_SETMASK, &usual, nullptr);
  return between > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kNotRun;
}

void NoteSignals() {
  struct sigaction now;
  for (const int signal : kFaults) was_left_alone[signal] = IsLeftAlone(signal, now) || IsOfMpi(now);
}

void WatchEndings() {
  is_watching = true;
  GiveHandlersAStack();
  for (const int signal : kFaults) {
    IsLeftAlone(signal, before[signal]);
    if (was_left_alone[signal]) Watch(signal);
  }
  for (const int signal : kSent) {
    if (IsLeftAlone(signal, before[signal])) Watch(signal);
  }
  // Communicators that are made of these inherit the handler.
  if (PMPI_Comm_create_errhandler(OnError, &error_handler) != MPI_SUCCESS) return;
  for (const MPI_Comm communicator : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    if (HasHandler(communicator, MPI_ERRORS_ARE_FATAL)) PMPI_Comm_set_errhandler(communicator, error_handler);
  }
}

void StopWatchingEndings() {
  is_watching = false;
  if (error_handler == MPI_ERRHANDLER_NULL) return;
  for (const MPI_Comm communicator : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    if (HasHandler(communicator, error_handler)) PMPI_Comm_set_errhandler(communicator, MPI_ERRORS_ARE_FATAL);
  }
  PMPI_Errhandler_free(&error_handler);
}

void WatchExit() {
  constexpr auto kMark = [] { MarkTermination(Termination::kNotFinalized, 0); };
  std::atexit(kMark);
  std::at_quick_exit(kMark);
}

void MarkTermination(Termination termination, int signal) {
  // A child of the program has our page, but is none of the ranks.
  if (!IsMeasuring() || page->pid != getpid() || !is_watching.exchange(false)) return;
  page->signal = signal;
  // The sums of another thread's process go on until it ends; the guard sees when that is.
  if (IsMainThread()) {
    page->end_clock = Nanoseconds(CLOCK_MONOTONIC);
    page->end_tick = Now();
    CloseRegions();
    CountOtherThreadsTogether(*page);
  }
  __atomic_store(&page->termination, &termination, __ATOMIC_RELEASE);
}

}  // namespace farscale::collect
