// Writes made-up traces and reads them, for scripts/measure_speed; every measurement is a process of its own.
//
//   trace_speed stencil FOLDER RANKS ITERATIONS   writes an OTF2 trace with counters
//   trace_speed calls FOLDER RANKS CALLS          writes one of MPI calls alone, so many over all ranks
//   trace_speed paraver FOLDER RANKS BYTES        writes a Paraver trace of about this size
//   trace_speed read THREADS TRACE...             reads traces one after the other
//   trace_speed bare RANKS TRACE                  reads one with the OTF2 library alone
//
// Writing prints the path of the trace, reading the number of events, the seconds, and the MiB of memory at most.
#include <fmt/format.h>
#include <sys/resource.h>
#include <tbb/global_control.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/bare_reader.h"
#include "benchmarks/paraver_trace.h"
#include "benchmarks/synthetic.h"
#include "trace/trace_reader.h"

namespace farscale::bench {
namespace {

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// `read` returns the number of events.
template <typename Read>
void Measure(Read read) {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t events = read();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} {:.6f} {:.0f}\n", events, seconds, PeakMebibytes());
}

std::uint64_t ReadAll(const std::vector<std::string>& traces) {
  std::uint64_t events = 0;
  for (const std::string& trace : traces) events += ReadTrace(trace).events;
  return events;
}

std::string WriteCalls(const std::filesystem::path& folder, int ranks, std::size_t calls) {
  std::filesystem::create_directories(folder);
  WriteOtf2(MakeStencil(ranks, calls), folder / "traces.otf2");
  return folder / "traces.otf2";
}

int Run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "read" && arguments.size() >= 3) {
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, std::stoul(arguments[1]));
    Measure([&] { return ReadAll({arguments.begin() + 2, arguments.end()}); });
  } else if (command == "bare" && arguments.size() == 3) {
    Measure([&] { return ReadWithEmptyCallbacks(arguments[2], std::stoul(arguments[1])); });
  } else if (command == "stencil" && arguments.size() == 4) {
    fmt::print("{}\n", WriteStencil(arguments[1], std::stoi(arguments[2]), std::stoi(arguments[3])));
  } else if (command == "calls" && arguments.size() == 4) {
    fmt::print("{}\n", WriteCalls(arguments[1], std::stoi(arguments[2]), std::stoul(arguments[3])));
  } else if (command == "paraver" && arguments.size() == 4) {
    fmt::print("{}\n", WriteParaverStencil(arguments[1], std::stoi(arguments[2]), std::stoul(arguments[3])));
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace farscale::bench

int main(int argc, char** argv) { return farscale::bench::Run({argv + 1, argv + argc}); }
