#include "collect/gathered_definitions.h"

#include <sched.h>

#include <fstream>
#include <string>
#include <vector>

#include "collect/call.h"
#include "collect/communicators.h"
#include "collect/device_recorder.h"
#include "collect/packing.h"
#include "collect/recorder.h"
#include "collect/run.h"
#include "collect/text.h"
#include "collect/thread_recorder.h"

namespace farscale::collect {
namespace {

std::vector<ClockOffset> offsets;  // of this rank; none on the node of rank 0

constexpr int kRounds = 10;  // chosen: the fastest of so many exchanges is hardly disturbed

// Rank 0 replies with its clock to every question.
void ReplyWithClock(int rank) {
  for (int round = 0; round < kRounds; ++round) {
    char question = 0;
    real.MPI_Recv(&question, 1, MPI_CHAR, rank, 1, OwnWorld(), MPI_STATUS_IGNORE);
    const std::uint64_t time = Now();
    real.MPI_Send(&time, 1, MPI_UINT64_T, rank, 1, OwnWorld());
  }
}

// The reply that came back fastest was under way for the shortest time, half of it each way.
ClockOffset QueryClock() {
  ClockOffset best{};
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const char question = 0;
    std::uint64_t there = 0;
    const std::uint64_t begin = Now();
    real.MPI_Send(&question, 1, MPI_CHAR, 0, 1, OwnWorld());
    real.MPI_Recv(&there, 1, MPI_UINT64_T, 0, 1, OwnWorld(), MPI_STATUS_IGNORE);
    const std::uint64_t end = Now();
    if (end - begin >= shortest) continue;
    shortest = end - begin;
    best.time = begin + shortest / 2;
    best.offset = static_cast<std::int64_t>(there - best.time);
  }
  return best;
}

// Clocks of two nodes may tick at different rates, so every end of the run has its own.
std::int64_t FirstOffset() { return offsets.empty() ? 0 : offsets.front().offset; }
std::int64_t LastOffset() { return offsets.empty() ? 0 : offsets.back().offset; }

// The definitions of all ranks, by rank, at rank 0; nothing elsewhere.
std::vector<RankDefinitions> Gather(const RankDefinitions& own) {
  const std::string bytes = Pack(own);
  int size = static_cast<int>(bytes.size()), rank = 0, ranks = 0;
  PMPI_Comm_rank(OwnWorld(), &rank);
  PMPI_Comm_size(OwnWorld(), &ranks);
  std::vector<int> sizes(static_cast<std::size_t>(ranks));
  real.MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, OwnWorld());
  std::vector<RankDefinitions> all;
  if (rank != 0) {
    real.MPI_Send(bytes.data(), size, MPI_BYTE, 0, 2, OwnWorld());
    return all;
  }
  all.push_back(own);
  for (int other = 1; other < ranks; ++other) {
    std::string text(static_cast<std::size_t>(sizes[static_cast<std::size_t>(other)]), '\0');
    real.MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_BYTE, other, 2, OwnWorld(), MPI_STATUS_IGNORE);
    Unpack(text, all.emplace_back());
  }
  return all;
}

// What rank 0 says of this rank's numbers.
RankNumbers ShareNumbers(const std::vector<RankNumbers>& of_ranks) {
  int rank = 0;
  PMPI_Comm_rank(OwnWorld(), &rank);
  if (rank == 0) {
    for (std::size_t other = 1; other < of_ranks.size(); ++other) {
      const std::string bytes = Pack(of_ranks[other]);
      real.MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(other), 3, OwnWorld());
    }
    return of_ranks.front();
  }
  MPI_Status status;
  int size = 0;
  PMPI_Probe(0, 3, OwnWorld(), &status);
  PMPI_Get_count(&status, MPI_BYTE, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  real.MPI_Recv(bytes.data(), size, MPI_BYTE, 0, 3, OwnWorld(), MPI_STATUS_IGNORE);
  RankNumbers own;
  Unpack(bytes, own);
  return own;
}

RunFacts FactsOfRun(bool has_counters) {
  const auto ticks = static_cast<double>(page->end_tick - page->begin_tick);
  const auto nanoseconds = static_cast<double>(page->end_clock - page->begin_clock);
  const bool is_known = clock_is_tsc && ticks > 0 && nanoseconds > 0;
  const double ticks_a_second = is_known ? ticks / nanoseconds * 1e9 : 1e9;
  return {page->program, static_cast<std::uint64_t>(ticks_a_second), page->started, has_counters};
}

bool WriteOwnDefinitions(OTF2_Archive* archive, const RankNumbers& numbers) {
  if (OTF2_Archive_OpenDefFiles(archive) != OTF2_SUCCESS) return false;
  const auto rank = static_cast<std::uint64_t>(page->rank);
  bool good = WriteLocalDefinitions(archive, rank, offsets, numbers);
  for (const ThreadDefinition& thread : OwnThreads()) {
    good = WriteLocalDefinitions(archive, LocationOf(rank, thread.number), offsets, numbers) && good;
  }
  for (const DeviceDefinition& device : OwnDevices()) {
    for (const ThreadDefinition& stream : device.streams) {
      good = WriteLocalDefinitions(archive, LocationOf(rank, stream.number), offsets, numbers) && good;
    }
  }
  return OTF2_Archive_CloseDefFiles(archive) == OTF2_SUCCESS && good;
}

// By the kernel's numbers, where all processors that the process may use are on one socket.
int SocketOfProcess() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return -1;
  int socket = -1;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &processors)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/physical_package_id");
    int number = -1;
    if (!(file >> number) || number < 0 || (socket >= 0 && number != socket)) return -1;
    socket = number;
  }
  return socket;
}

}  // namespace

RankDefinitions OwnDefinitionsOf(std::uint64_t events) {
  RankDefinitions own;
  own.host = page->host;
  own.socket = SocketOfProcess();
  own.events = events;
  own.begin = page->begin_tick + static_cast<std::uint64_t>(FirstOffset());
  own.end = page->end_tick + static_cast<std::uint64_t>(LastOffset());
  own.calls = UsedCalls();
  for (std::uint32_t i = 0; i < page->regions; ++i) own.regions.emplace_back(page->region[i].name);
  own.communicators = OwnDefinitions();
  own.windows = OwnWindows();
  own.groups = OwnGroups();
  own.offsets = offsets;
  own.threads = OwnThreads();
  own.teams = OwnTeams();
  own.devices = OwnDevices();
  return own;
}

const std::vector<ClockOffset>& OwnClockOffsets() { return offsets; }

void MeasureClockOffset() {
  const std::string host = HostName();
  char first[kNameBytes] = {};
  CopyName(host.c_str(), first);
  int rank = 0, ranks = 0;
  PMPI_Comm_rank(OwnWorld(), &rank);
  PMPI_Comm_size(OwnWorld(), &ranks);
  real.MPI_Bcast(first, sizeof first, MPI_CHAR, 0, OwnWorld());
  const int is_elsewhere = host != first ? 1 : 0;
  std::vector<int> elsewhere(static_cast<std::size_t>(ranks));
  real.MPI_Gather(&is_elsewhere, 1, MPI_INT, elsewhere.data(), 1, MPI_INT, 0, OwnWorld());
  if (is_elsewhere != 0) offsets.push_back(QueryClock());
  for (int other = 1; rank == 0 && other < ranks; ++other) {
    if (elsewhere[static_cast<std::size_t>(other)] != 0) ReplyWithClock(other);
  }
}

bool WriteDefinitions(OTF2_Archive* archive, std::uint64_t events, bool has_counters) {
  std::vector<RankDefinitions> all = Gather(OwnDefinitionsOf(events));
  std::vector<RankNumbers> of_ranks;
  RegionNames names;
  if (!all.empty()) names = NumberDefinitions(all, static_cast<std::uint32_t>(CallId::kCount), of_ranks);
  const bool good = WriteOwnDefinitions(archive, ShareNumbers(of_ranks));
  if (all.empty()) return good;
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive);
  return writer != nullptr && WriteGlobalDefinitions(writer, all, names, FactsOfRun(has_counters)) && good;
}

}  // namespace farscale::collect
