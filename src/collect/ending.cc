#include "collect/ending.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collect/call.h"
#include "collect/process.h"
#include "collect/regions.h"

namespace farscale::collect {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                            SIGABRT, SIGXCPU, SIGXFSZ, SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE};
constexpr int kLargestSignal = 64;

bool is_programs[kLargestSignal + 1];
struct sigaction before[kLargestSignal + 1];
std::atomic<bool> is_watching{false};

// What the helper is started with, made while memory may still be had.
char program[1024];
char job[kNameBytes];
char pages[1024];
char quiet[32];
char library_path[4096];
char* environment[4];

// "NAME=value" of a variable that is set and fits.
bool Keep(const char* name, char* to, std::size_t bytes) {
  const char* value = std::getenv(name);
  if (value == nullptr || std::strlen(name) + std::strlen(value) + 2 > bytes) return false;
  std::strcpy(to, name);
  std::strcat(to, "=");
  std::strcat(to, value);
  return true;
}

void StartHelper() {
  if (program[0] == '\0') return;
  char measure[] = "measure", finish[] = "--finish", name[] = "farscale";
  char* arguments[] = {name, measure, finish, job, nullptr};
  // The child shares this memory until it becomes another program, so it runs nothing else.
  const pid_t child = vfork();
  if (child == 0) {
    execve(program, arguments, environment);
    _exit(127);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

// Whatever would have happened without us happens then: MPI's handler gets what we got, the default is raised.
void OnSignal(int signal, siginfo_t* info, void* context) {
  EndBadly(Ending::kSignal, signal);
  const struct sigaction& next = before[signal];
  sigaction(signal, &next, nullptr);
  if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(signal, info, context);
  } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(signal);
  } else {
    raise(signal);
  }
}

void OnExit() { EndBadly(Ending::kNotFinalized, 0); }

}  // namespace

void RememberHandlersOfLibraries() {
  for (const int signal : kSignals) sigaction(signal, nullptr, &before[signal]);
}

// The two kinds of handlers share a place, so that one comparison does.
void RememberHandlersOfProgram() {
  for (const int signal : kSignals) {
    struct sigaction given;
    if (sigaction(signal, nullptr, &given) != 0) continue;
    const bool is_new = given.sa_handler != SIG_DFL && given.sa_handler != before[signal].sa_handler;
    is_programs[signal] = is_new || given.sa_handler == SIG_IGN;
  }
}

void PrepareForBadEnds(const Page& fresh) {
  const char* path = std::getenv("FARSCALE_PROGRAM");
  if (path != nullptr && std::strlen(path) < sizeof program) std::strcpy(program, path);
  std::memcpy(job, fresh.job, sizeof job);
  char** next = environment;
  if (Keep("FARSCALE_PAGES", pages, sizeof pages)) *next++ = pages;
  if (Keep("LD_LIBRARY_PATH", library_path, sizeof library_path)) *next++ = library_path;
  if (Keep("FARSCALE_QUIET", quiet, sizeof quiet)) *next++ = quiet;
  is_watching = true;
  for (const int signal : kSignals) {
    struct sigaction ours {};
    ours.sa_sigaction = OnSignal;
    ours.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigfillset(&ours.sa_mask);
    if (is_programs[signal] || sigaction(signal, nullptr, &before[signal]) != 0) continue;
    sigaction(signal, &ours, nullptr);
  }
  std::atexit(OnExit);
}

void ForgetBadEnds() { is_watching = false; }

void EndBadly(Ending ending, int signal) {
  // A child of the program has our page, but is none of the ranks.
  if (!IsMeasuring() || page->pid != getpid() || !is_watching.exchange(false)) return;
  page->end_clock = Nanoseconds(CLOCK_MONOTONIC);
  page->end_tick = Now();
  if (IsMainThread()) CloseRegions();
  page->signal = signal;
  if (!IsMainThread()) page->end_tick = 0;  // its sums are those of a running process
  __atomic_store_n(&page->ending, static_cast<std::int32_t>(ending), __ATOMIC_RELEASE);
  StartHelper();
}

}  // namespace farscale::collect
