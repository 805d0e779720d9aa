#include "collect/own_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi_functions.h"

namespace farscale::collect {
namespace {

#ifdef OPEN_MPI
constexpr const char* kOwn = "Open MPI";
constexpr const char* kOther = "MPICH";
constexpr const char* kOtherId = "mpich";
#else
constexpr const char* kOwn = "MPICH";
constexpr const char* kOther = "Open MPI";
constexpr const char* kOtherId = "openmpi";
#endif
constexpr bool kOwnIsOpen = kOwn[0] == 'O';

std::string PathOf(const void* address) {
  Dl_info place{};
  return address != nullptr && dladdr(address, &place) != 0 && place.dli_fname != nullptr ? place.dli_fname : "";
}

// MPICH and what descends from it have one interface for programs, Open MPI another one, with symbols of its own.
bool IsOpenMpi(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return kOwnIsOpen;
  const bool has = dlsym(handle, "ompi_mpi_comm_world") != nullptr;
  dlclose(handle);
  return has;
}

bool IsFirstRank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

// LD_PRELOAD with this library's path replaced, or left out.
std::string PreloadWith(const std::string& own, const std::string& instead) {
  const char* value = std::getenv("LD_PRELOAD");
  std::string rest = value != nullptr ? value : "", result;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    std::string path = rest.substr(0, end);
    rest.erase(0, end == std::string::npos ? rest.size() : end + 1);
    if (path == own) path = instead;
    if (!path.empty()) result += (result.empty() ? "" : ":") + path;
  }
  return result;
}

// The library that the process would get an MPI function from without us.
std::string UsedMpi() { return PathOf(dlsym(RTLD_NEXT, "PMPI_Init")); }

// The MPI libraries that were loaded into the process, by whomever.
int AddMpi(dl_phdr_info* info, std::size_t, void* found) {
  const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string file = path.substr(path.rfind('/') + 1);
  const bool is_mpi = file.starts_with("libmpi.so") || file.starts_with("libmpich.so");
  if (is_mpi) static_cast<std::vector<std::string>*>(found)->push_back(path);
  return 0;
}

}  // namespace

void CheckMpi(char** arguments) {
  const std::string used = UsedMpi();
  if (used.empty() || IsOpenMpi(used) == kOwnIsOpen) return;
  const std::string own = PathOf(reinterpret_cast<const void*>(&CheckMpi));
  std::string other = own.substr(0, own.rfind('/') + 1) + "libfarscale-" + kOtherId + ".so";
  if (access(other.c_str(), R_OK) != 0) {
    other.clear();
    if (IsFirstRank()) {
      std::fprintf(stderr, "farscale: %s uses %s, for which farscale was not built: it runs without being measured\n",
                   arguments[0], kOther);
    }
  }
  const std::string preload = PreloadWith(own, other);
  if (preload == std::string(std::getenv("LD_PRELOAD") != nullptr ? std::getenv("LD_PRELOAD") : "")) return;
  if (preload.empty()) unsetenv("LD_PRELOAD");
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
  execv("/proc/self/exe", arguments);
}

bool IsOwnMpi() {
  std::vector<std::string> loaded;
  dl_iterate_phdr(AddMpi, &loaded);
  std::erase_if(loaded, [](const std::string& library) { return IsOpenMpi(library) == kOwnIsOpen; });
  if (loaded.empty()) return true;
  std::fprintf(stderr,
               "farscale: the program has loaded %s, the library of %s, but is measured as one of %s: say farscale "
               "measure --mpi %s\n",
               loaded.front().c_str(), kOther, kOwn, kOtherId);
  return false;
}

}  // namespace farscale::collect
