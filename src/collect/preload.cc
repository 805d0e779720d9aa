// A program started with an LD_PRELOAD of its own, as by `env LD_PRELOAD=tool ./program`, would lose this library
// without a word. The exec functions below put it back, in front of the others; posix_spawn and the execl family do
// not.
//
// These functions may run between vfork and exec, where nothing may be allocated: the new environment is on the stack.
#include <alloca.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "collect/call.h"

extern "C" char** environ;

namespace farscale::collect {
namespace {

constexpr std::string_view kVariable = "LD_PRELOAD=";
constexpr std::string_view kAnyOfOurs = "/libfarscale-";  // that of another MPI, too

// Where the environment names other libraries and none of ours; nullptr else. Without the variable somebody has taken
// it away on purpose.
char** FindLoss(char** environment) {
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with(kVariable)) continue;
    return text.size() > kVariable.size() && text.find(kAnyOfOurs) == text.npos ? entry : nullptr;
  }
  return nullptr;
}

const char* OwnPath() {
  static Dl_info place{};
  static const bool is_known = dladdr(reinterpret_cast<const void*>(&OwnPath), &place) != 0;
  return is_known ? place.dli_fname : nullptr;
}

std::size_t CountOf(char** environment) {
  std::size_t count = 0;
  while (environment[count] != nullptr) ++count;
  return count;
}

void Say(const char* program, const char* variable) {
  char text[1024];
  const int size =
      std::snprintf(text, sizeof text,
                    "farscale: %s is started with %s, which would drop farscale: farscale is loaded in front of it\n",
                    program, variable);
  if (size > 0) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, text, std::min(static_cast<std::size_t>(size), sizeof text - 1));
  }
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Calls `start` with the environment, in which this library is named if it was lost.
template <typename Start>
int StartWith(const char* program, char** environment, Start start) {
  char** const loss = FindLoss(environment);
  const char* const own = OwnPath();
  if (loss == nullptr || own == nullptr) return start(environment);
  const std::size_t count = CountOf(environment);
  auto** const changed = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  std::memcpy(changed, environment, (count + 1) * sizeof(char*));
  const std::string_view others = std::string_view(*loss).substr(kVariable.size());
  const std::size_t bytes = kVariable.size() + std::strlen(own) + 1 + others.size() + 1;
  auto* const text = static_cast<char*>(alloca(bytes));
  std::snprintf(text, bytes, "%s%s:%s", kVariable.data(), own, others.data());
  changed[loss - environment] = text;
  if (IsFirstRank()) Say(program, *loss);
  return start(changed);
}

}  // namespace
}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  return StartWith(path, const_cast<char**>(environment),
                   [&](char** changed) { return Next<decltype(&execve)>("execve")(path, arguments, changed); });
}

FARSCALE_EXPORT int execv(const char* path, char* const arguments[]) {
  return StartWith(path, environ,
                   [&](char** changed) { return Next<decltype(&execve)>("execve")(path, arguments, changed); });
}

FARSCALE_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) {
  return StartWith(file, const_cast<char**>(environment),
                   [&](char** changed) { return Next<decltype(&execvpe)>("execvpe")(file, arguments, changed); });
}

FARSCALE_EXPORT int execvp(const char* file, char* const arguments[]) {
  return StartWith(file, environ,
                   [&](char** changed) { return Next<decltype(&execvpe)>("execvpe")(file, arguments, changed); });
}

}  // extern "C"
