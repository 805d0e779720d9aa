#include "collect/launched.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collect/clock.h"
#include "collect/page_file.h"

namespace farscale::collect {
namespace {

constexpr const char* kVariable = "FARSCALE_LAUNCH";
constexpr const char* kName = "launch-";

int launched = 0;  // the process that was

// Of the process in ".../farscale.0.launch-4711-18c7.0".
int ProcessOf(const std::string& path) {
  const std::size_t name = path.rfind(kName);
  return name == std::string::npos ? 0 : std::atoi(path.c_str() + name + std::strlen(kName));
}

const char* File() {
  const char* file = std::getenv(kVariable);
  return file != nullptr && ProcessOf(file) > 0 ? file : nullptr;
}

void AtExit() {
  const char* file = File();
  const char* quiet = std::getenv("FARSCALE_QUIET");
  if (file == nullptr || getpid() != launched || unlink(file) != 0) return;
  if (quiet != nullptr && std::strcmp(quiet, "1") == 0) return;
  std::fprintf(stderr,
               "farscale: nothing was measured: %s ended without a call of MPI_Init, or its MPI is linked statically\n",
               program_invocation_short_name);
}

}  // namespace

std::string MarkLaunch() {
  char job[64];
  std::snprintf(job, sizeof job, "%s%d-%llx", kName, static_cast<int>(getpid()),
                static_cast<unsigned long long>(Nanoseconds(CLOCK_REALTIME)));
  const std::string path = PagePath(job, 0);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return "";
  close(file);
  return path;
}

void WatchLaunch() {
  const char* file = File();
  if (file == nullptr || ProcessOf(file) != getpid()) return;
  launched = getpid();
  std::atexit(AtExit);
}

void ForgetLaunch() {
  const char* file = File();
  if (file != nullptr) unlink(file);
}

bool IsStaleLaunch(const std::string& path) {
  const int process = ProcessOf(path);
  return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace farscale::collect
