// A program started with an LD_PRELOAD of its own, as by `env LD_PRELOAD=tool ./program`, would lose this library
// without a word. The functions below, which start programs, put it back in front of the others.
//
// These functions may run between vfork and exec, where nothing may be allocated: the new environment is on the stack.
#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "collect/preload/call.h"

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
  std::size_t count = 0;
  while (environment[count] != nullptr) ++count;
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

// The arguments behind the first one, in an array on the caller's stack: how many there are, and then where they are.
std::size_t CountOf(va_list arguments) {
  std::size_t count = 1;
  while (va_arg(arguments, char*) != nullptr) ++count;
  return count;
}

// Leaves `arguments` behind the null pointer that ends them.
void Collect(const char* first, std::size_t count, va_list& arguments, char** to) {
  to[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i <= count; ++i) to[i] = va_arg(arguments, char*);
}

int Execute(const char* path, char* const arguments[], char* const environment[]) {
  return StartWith(path, const_cast<char**>(environment),
                   [&](char** changed) { return Next<decltype(&execve)>("execve")(path, arguments, changed); });
}

int ExecuteInPath(const char* file, char* const arguments[], char* const environment[]) {
  return StartWith(file, const_cast<char**>(environment),
                   [&](char** changed) { return Next<decltype(&execvpe)>("execvpe")(file, arguments, changed); });
}

}  // namespace
}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  return Execute(path, arguments, environment);
}

FARSCALE_EXPORT int execv(const char* path, char* const arguments[]) { return Execute(path, arguments, environ); }

FARSCALE_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) {
  return ExecuteInPath(file, arguments, environment);
}

FARSCALE_EXPORT int execvp(const char* file, char* const arguments[]) {
  return ExecuteInPath(file, arguments, environ);
}

// The arguments of the following are counted first, since only their own function can make room for them.
#define FARSCALE_COLLECT(first, all, behind)                                   \
  va_list behind;                                                              \
  va_start(behind, first);                                                     \
  const std::size_t count = CountOf(behind);                                   \
  va_end(behind);                                                              \
  auto** const all = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(behind, first);                                                     \
  Collect(first, count, behind, all)

FARSCALE_EXPORT int execl(const char* path, const char* first, ...) {
  FARSCALE_COLLECT(first, all, behind);
  va_end(behind);
  return Execute(path, all, environ);
}

FARSCALE_EXPORT int execlp(const char* file, const char* first, ...) {
  FARSCALE_COLLECT(first, all, behind);
  va_end(behind);
  return ExecuteInPath(file, all, environ);
}

FARSCALE_EXPORT int execle(const char* path, const char* first, ...) {
  FARSCALE_COLLECT(first, all, behind);
  char* const* environment = va_arg(behind, char* const*);
  va_end(behind);
  return Execute(path, all, environment);
}

FARSCALE_EXPORT int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const arguments[],
                                char* const environment[]) {
  return StartWith(path, const_cast<char**>(environment), [&](char** changed) {
    return Next<decltype(&posix_spawn)>("posix_spawn")(process, path, actions, attributes, arguments, changed);
  });
}

FARSCALE_EXPORT int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const arguments[],
                                 char* const environment[]) {
  return StartWith(file, const_cast<char**>(environment), [&](char** changed) {
    return Next<decltype(&posix_spawnp)>("posix_spawnp")(process, file, actions, attributes, arguments, changed);
  });
}

}  // extern "C"
