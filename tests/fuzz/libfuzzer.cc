#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  farscale::fuzz::Try(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
