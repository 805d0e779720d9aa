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

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU};
constexpr int kLargestSignal = 64;

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

void OnSignal(int signal) {
  EndBadly(Ending::kSignal, signal);
  // Whatever would have happened without us happens now.
  sigaction(signal, &before[signal], nullptr);
  raise(signal);
}

void OnExit() { EndBadly(Ending::kNotFinalized, 0); }

}  // namespace

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
    ours.sa_handler = OnSignal;
    ours.sa_flags = SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    if (sigaction(signal, nullptr, &before[signal]) != 0 || before[signal].sa_handler == SIG_IGN) continue;
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
