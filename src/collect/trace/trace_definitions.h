// The parts of a trace's definitions, by rank, and the way from numbers of ranks to those of the archive.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "collect/page.h"

namespace farscale::collect {

inline constexpr std::uint32_t kWorldId = 0, kSelfId = 1;

// A communicator, kept by its member with rank 0 until the definitions are written; a group that accesses a window,
// kept by the rank that names it and numbered apart from those of communicators; or OpenMP teams of one size.
struct GroupDefinition {
  std::uint32_t id = 0;
  std::vector<std::int32_t> members;  // ranks of MPI_COMM_WORLD; numbers of threads that were in a team
  std::vector<std::int32_t> remote;   // the other group of a communicator between two
};

// Places of events beside that of the main thread: numbers among those of the rank, for a thread of OpenMP the index of
// its record in the page, and how many events there are.
using LocationDefinitions = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// A time by the clock of a rank's node, and its lag behind the clock of rank 0.
using ClockOffset = std::pair<std::uint64_t, std::int64_t>;

struct RankDefinitions {
  std::string host;
  int socket = -1;  // that all its processors are on; -1: not known
  std::uint64_t events = 0;
  std::uint64_t begin = 0;  // on the clock of rank 0
  std::uint64_t end = 0;
  std::vector<std::pair<std::uint32_t, std::string>> calls;  // that occur: numbers and names
  std::vector<std::string> regions;  // those of the page; the first, the whole run, is none of the archive
  std::vector<GroupDefinition> communicators;
  // Numbers of windows and of their communicators, kept by the rank that is rank 0 of the window until the definitions
  // are written.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> windows;
  std::vector<GroupDefinition> groups;
  std::vector<ClockOffset> offsets;  // none on the node of rank 0
  LocationDefinitions threads;
  std::vector<GroupDefinition> teams;
  // Names, different from those of all other devices of the node, and streams of the rank.
  std::vector<std::pair<std::string, LocationDefinitions>> devices;
};

// A rank's own number and that in the archive.
using NumberPair = std::pair<std::uint32_t, std::uint32_t>;

struct RankNumbers {
  std::vector<std::uint32_t> regions;     // index: number of the call, and behind the calls by index of the region
  std::vector<NumberPair> communicators;  // and teams
  std::vector<NumberPair> windows;
  std::vector<NumberPair> groups;
};

// For packing.
template <typename First, typename Second>
std::pair<First, Second>& Fields(std::pair<First, Second>& pair) {
  return pair;
}
inline auto Fields(GroupDefinition& d) { return std::tie(d.id, d.members, d.remote); }
inline auto Fields(RankDefinitions& d) {
  return std::tie(d.host, d.socket, d.events, d.begin, d.end, d.calls, d.regions, d.communicators, d.windows, d.groups,
                  d.offsets, d.threads, d.teams, d.devices);
}
inline auto Fields(RankNumbers& n) { return std::tie(n.regions, n.communicators, n.windows, n.groups); }

// Facts that all definitions of an archive have in common.
struct RunFacts {
  std::string program;
  std::uint64_t ticks_a_second = 0;
  std::uint64_t started = 0;  // ns since 1970
  bool has_counters = false;
  // Names by the number that regions have in the archive: calls, and behind them regions of the program.
  std::vector<std::string> calls, regions;
};

// The page is of a rank whose run has ended. Facts come without regions.
double TicksASecond(const Page& page);
RunFacts FactsOfRun(const Page& page, bool has_counters);

// Numbers all definitions without gaps, in the order in which they are written, replaces the ranks' own numbers of
// communicators, teams, windows and groups, and sets the names of `facts`. `call_count` is the number of MPI functions
// that ranks know. Returns what events of each rank need.
std::vector<RankNumbers> NumberDefinitions(std::vector<RankDefinitions>& all, std::uint32_t call_count,
                                           RunFacts& facts);

// References of the first strings: the program's name is needed before the definitions are written.
inline constexpr OTF2_StringRef kEmptyString = 0, kProgramString = 1;

// Metric classes: CPU time where it was asked for, instructions and cycles at every edge.
inline constexpr std::uint32_t kCpuTimeClass = 0, kCountersClass = 1;

// Bytes of chunks, chosen: the largest record of events is small, that of definitions is the group of MPI_COMM_WORLD.
inline constexpr std::uint64_t kEventChunk = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kDefinitionChunk = std::uint64_t{1} << 22;

// The location of a thread of a rank, as Score-P has it; 0 is the main one. Streams of devices have numbers behind
// those of threads.
constexpr std::uint64_t LocationOf(std::uint64_t rank, std::uint64_t thread) { return thread << 32U | rank; }

// The archive's file is FOLDER/traces.otf2.
inline constexpr const char* kArchiveName = "traces";

// Properties of an archive, as trace/otf2_reader.cc knows them: the number of MPI calls by other threads than those
// that called MPI_Init, that of ranks with threads that are not in the trace, how the run ended that did not come to
// MPI_Finalize, and that regions alone were recorded.
inline constexpr const char* kPropertyOfOtherThreads = "FARSCALE::CALLS_OF_OTHER_THREADS";
inline constexpr const char* kPropertyOfThreadedRanks = "FARSCALE::RANKS_WITH_THREADS";
inline constexpr const char* kPropertyOfEnd = "FARSCALE::ENDS_EARLY";
inline constexpr const char* kPropertyOfRegions = "FARSCALE::REGIONS_ALONE";

// Both return whether all could be written. `ranks` by rank, numbered.
bool WriteGlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks,
                            const RunFacts& facts);
bool WriteLocalDefinitions(OTF2_Archive* archive, std::uint64_t location, const std::vector<ClockOffset>& offsets,
                           const RankNumbers& numbers);

// Opens an archive for writing, without messages of the library: errors are reported by us, once. nullptr where that
// cannot be done.
OTF2_Archive* OpenToWrite(const std::string& folder, const char* generator, const OTF2_FlushCallbacks& flush);

// Values as bytes, for processes of one machine type: in messages, shared memory and files that do not outlive the run.
// A struct names its members once: auto Fields(T& value) { return std::tie(value.first, value.second); }

// Appends the value to a text or takes it from one, as `bytes` does with so many bytes at an address. `bytes` returns
// whether there were enough.
template <typename Bytes, typename Value>
bool Transfer(const Bytes& bytes, Value& value) {
  if constexpr (std::is_trivially_copyable_v<Value>) {
    return bytes(&value, sizeof value);
  } else if constexpr (requires { value.resize(1); }) {
    auto size = static_cast<std::uint64_t>(value.size());
    if (!Transfer(bytes, size) || !bytes(nullptr, size)) return false;
    value.resize(size);
    for (auto& element : value) {
      if (!Transfer(bytes, element)) return false;
    }
    return true;
  } else {
    return std::apply([&](auto&... fields) { return (Transfer(bytes, fields) && ...); }, Fields(value));
  }
}

template <typename Value>
std::string Pack(Value value) {
  std::string packed;
  const auto append = [&](const void* from, std::size_t size) {
    if (from != nullptr) packed.append(static_cast<const char*>(from), size);
    return true;
  };
  Transfer(append, value);
  return packed;
}

// Checks that the bytes are those of such a value. Without an address it is asked whether so many elements can follow:
// each takes a byte at least.
template <typename Value>
bool Unpack(std::string_view packed, Value& value) {
  const auto take = [&](void* to, std::uint64_t size) {
    if (size > packed.size()) return false;
    if (to != nullptr) packed.remove_prefix(packed.copy(static_cast<char*>(to), size));
    return true;
  };
  return Transfer(take, value) && packed.empty();
}

}  // namespace farscale::collect
