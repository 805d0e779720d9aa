#include "collect/launcher_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace farscale::collect {
namespace {

constexpr int kMostAncestors = 16;

struct Process {
  std::string name;
  int parent = 0;
};

Process Look(int pid) {
  Process process;
  char text[512];
  const int file = open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return process;
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  text[bytes > 0 ? bytes : 0] = '\0';
  const char* begin = std::strchr(text, '(');
  const char* end = std::strrchr(text, ')');
  if (begin == nullptr || end == nullptr || std::strlen(end) < 4) return process;
  process.name.assign(begin + 1, end);
  process.parent = std::atoi(end + 4);  // ") S 123"
  return process;
}

bool IsLauncher(const std::string& name) {
  for (const char* known : {"mpirun", "mpiexec", "orterun", "prterun", "prun"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

int OutputOf(int pid) {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process >= 0) {
    const int taken = static_cast<int>(syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0));
    close(process);
    if (taken >= 0) return taken;
  }
#endif
  // A file would be opened with a place of its own in it, and mpirun would write over what we wrote.
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/2";
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return -1;
  return open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

}  // namespace

int LauncherOutput(int pid) {
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    const Process process = Look(pid);
    if (IsLauncher(process.name)) return OutputOf(pid);
    pid = process.parent;
  }
  return -1;
}

}  // namespace farscale::collect
