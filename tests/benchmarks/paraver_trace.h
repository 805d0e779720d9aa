// A large Paraver trace made up for benchmarks, in the way in which Extrae writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace farscale::bench {

// A stencil as in synthetic.h with about `bytes` of text: states, calls with two counters, callers and lines at every
// edge, communication records, in the order of time. Returns the trace.
std::string WriteParaverStencil(const std::filesystem::path& folder, int ranks, std::uint64_t bytes);

}  // namespace farscale::bench
