// Writes traces of programs whose loads move, and the same loads as text, for scripts/compare_simgrid:
//
//     loaded_traces FOLDER
//
// Every case is a folder in it with traces.otf2 and loads.txt: how ranks synchronise, how many there are, how many
// iterations, then the microseconds of every rank and iteration. Prints the names of the cases.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/loaded_program.h"
#include "trace/trace_reader.h"

namespace farscale::bench {
namespace {

namespace fs = std::filesystem;
using test::Movement;
using test::Synchronization;

constexpr const char* kMovements[] = {"static", "drifting", "alternating", "random-walk"};
constexpr const char* kSynchronizations[] = {"barrier", "allreduce", "halo", "chain"};

void Write(Movement movement, Synchronization synchronization, std::size_t ranks, const fs::path& folder) {
  constexpr std::size_t kIterations = 40;
  const auto moves = static_cast<std::size_t>(movement), waits = static_cast<std::size_t>(synchronization);
  const test::Loads loads = test::MakeLoads(movement, ranks, kIterations, ranks + moves);
  const std::string name = fmt::format("{}-{}-{}", kMovements[moves], kSynchronizations[waits], ranks);
  fs::create_directories(folder / name);
  WriteOtf2(test::MakeLoaded(loads, synchronization), folder / name / "traces.otf2");
  std::ofstream text(folder / name / "loads.txt");
  text << kSynchronizations[waits] << ' ' << ranks << ' ' << kIterations << '\n';
  for (const auto& of_rank : loads) {
    for (const Tick load : of_rank) text << load << ' ';
    text << '\n';
  }
  fmt::print("{}\n", name);
}

}  // namespace
}  // namespace farscale::bench

int main(int argc, char** argv) {
  using namespace farscale;
  if (argc != 2) return 2;
  for (std::size_t movement = 0; movement < std::size(bench::kMovements); ++movement) {
    for (const auto synchronization :
         {test::Synchronization::kBarrier, test::Synchronization::kHalo, test::Synchronization::kChain}) {
      for (const std::size_t ranks : {8, 16, 32})
        bench::Write(static_cast<test::Movement>(movement), synchronization, ranks, argv[1]);
    }
  }
  return 0;
}
