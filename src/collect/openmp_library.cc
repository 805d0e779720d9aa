#include "collect/openmp_library.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "collect/call.h"

namespace farscale::collect {
namespace {

int AddOpenMp(dl_phdr_info* info, std::size_t, void* found) {
  const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string file = path.substr(path.rfind('/') + 1);
  const auto begins = [&](const char* name) { return file.starts_with(name); };
  if (begins("libgomp") || begins("libomp") || begins("libiomp")) {
    static_cast<std::vector<std::string>*>(found)->push_back(path);
  }
  return 0;
}

}  // namespace

void* FindInOpenMp(const char* name) {
  void* function = FindRealSymbol(name);
  if (function != nullptr) return function;
  std::vector<std::string> loaded;
  dl_iterate_phdr(AddOpenMp, &loaded);
  for (const std::string& path : loaded) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    function = dlsym(library, name);
    dlclose(library);
    if (function != nullptr) return function;
  }
  return nullptr;
}

bool IsLlvmOpenMp(const void* function) {
  Dl_info place{};
  if (function == nullptr || dladdr(function, &place) == 0) return false;
  void* library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const bool is_llvm = dlsym(library, "__kmpc_fork_call") != nullptr;
  dlclose(library);
  return is_llvm;
}

}  // namespace farscale::collect
