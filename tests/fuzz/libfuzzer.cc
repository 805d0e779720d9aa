// With libFuzzer: fuzz_otf2 CORPUS. An empty corpus begins with the seeds of the target.
#include <filesystem>
#include <fstream>

#include "fuzz/target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::filesystem::path folder((*argv)[i]);
    if (!std::filesystem::is_directory(folder) || !std::filesystem::is_empty(folder)) continue;
    int number = 0;
    for (const std::string& seed : farscale::fuzz::Seeds()) {
      std::ofstream(folder / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  farscale::fuzz::Try(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
