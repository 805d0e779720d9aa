#include "collect/trace_definitions.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "collect/call.h"
#include "collect/communicators.h"
#include "collect/recorder.h"
#include "collect/run.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

struct ClockOffset {
  std::uint64_t time;
  std::int64_t offset;
};
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

auto Fields(RankDefinitions& d) {
  return std::tie(d.host, d.events, d.begin, d.end, d.calls, d.regions, d.communicators, d.windows, d.groups);
}
auto Fields(CommunicatorDefinition& d) { return std::tie(d.id, d.members, d.remote); }
auto Fields(GroupDefinition& d) { return std::tie(d.id, d.members); }

// Bytes to send between processes of one machine type: appends them to a text or takes them from its begin.
template <typename Bytes, typename Value>
void Transfer(const Bytes& bytes, Value& value) {
  if constexpr (std::is_trivially_copyable_v<Value>) {
    bytes(&value, sizeof value);
  } else if constexpr (requires { value.resize(1); }) {
    auto size = static_cast<std::uint64_t>(value.size());
    Transfer(bytes, size);
    value.resize(size);
    for (auto& element : value) Transfer(bytes, element);
  } else {
    std::apply([&](auto&... fields) { (Transfer(bytes, fields), ...); }, Fields(value));
  }
}

std::string Pack(RankDefinitions definitions) {
  std::string packed;
  Transfer([&](const void* from, std::size_t size) { packed.append(static_cast<const char*>(from), size); },
           definitions);
  return packed;
}

RankDefinitions Unpack(const std::string& packed) {
  RankDefinitions definitions;
  std::size_t taken = 0;
  const auto take = [&](void* to, std::size_t size) { taken += packed.copy(static_cast<char*>(to), size, taken); };
  Transfer(take, definitions);
  return definitions;
}

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
    all.push_back(Unpack(text));
  }
  return all;
}

// The calls that occur anywhere, as regions of the archive are numbered: without gaps, before the program's own.
std::vector<std::uint32_t> NumberCalls(const std::vector<RankDefinitions>& all) {
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(CallId::kCount), OTF2_UNDEFINED_UINT32);
  for (const RankDefinitions& rank : all) {
    for (const std::uint32_t call : rank.calls) numbers[call] = 0;
  }
  std::uint32_t next_number = 0;
  for (std::uint32_t& number : numbers) {
    if (number == 0) number = next_number++;
  }
  return numbers;
}

// What this rank's numbers of calls, and behind them of its regions, are in the archive, which rank 0 says; it learns
// the names of the regions. The first of a rank's regions is the whole run, which the archive does not have.
std::vector<std::uint32_t> MapRegions(const std::vector<RankDefinitions>& all, std::size_t own_count,
                                      std::vector<std::string>& names) {
  std::vector<std::uint32_t> own(static_cast<std::size_t>(CallId::kCount) + own_count);
  if (all.empty()) {
    real.MPI_Recv(own.data(), static_cast<int>(own.size()), MPI_UINT32_T, 0, 3, OwnWorld(), MPI_STATUS_IGNORE);
    return own;
  }
  const std::vector<std::uint32_t> calls = NumberCalls(all);
  const auto used = static_cast<std::uint32_t>(calls.size() - std::ranges::count(calls, OTF2_UNDEFINED_UINT32));
  std::map<std::string, std::uint32_t> index;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::vector<std::uint32_t> mapped = calls;
    mapped.push_back(OTF2_UNDEFINED_UINT32);
    for (std::size_t i = 1; i < all[rank].regions.size(); ++i) {
      const std::string& name = all[rank].regions[i];
      const auto [entry, is_new] = index.try_emplace(name, used + static_cast<std::uint32_t>(index.size()));
      if (is_new) names.push_back(name);
      mapped.push_back(entry->second);
    }
    if (rank == 0) own = mapped;
    if (rank > 0) {
      real.MPI_Send(mapped.data(), static_cast<int>(mapped.size()), MPI_UINT32_T, static_cast<int>(rank), 3,
                    OwnWorld());
    }
  }
  return own;
}

bool WriteLocalDefinitions(OTF2_Archive* archive, const std::vector<std::uint32_t>& mapping) {
  bool good = OTF2_Archive_OpenDefFiles(archive) == OTF2_SUCCESS;
  OTF2_DefWriter* writer = good ? OTF2_Archive_GetDefWriter(archive, static_cast<std::uint64_t>(page->rank)) : nullptr;
  if (writer == nullptr) return false;
  for (const ClockOffset& offset : offsets) {
    good = OTF2_DefWriter_WriteClockOffset(writer, offset.time, offset.offset, 0) == OTF2_SUCCESS && good;
  }
  OTF2_IdMap* map = OTF2_IdMap_CreateFromUint32Array(mapping.size(), mapping.data(), false);
  good = OTF2_DefWriter_WriteMappingTable(writer, OTF2_MAPPING_REGION, map) == OTF2_SUCCESS && good;
  OTF2_IdMap_Free(map);
  good = OTF2_Archive_CloseDefWriter(archive, writer) == OTF2_SUCCESS && good;
  return OTF2_Archive_CloseDefFiles(archive) == OTF2_SUCCESS && good;
}

RankDefinitions OwnDefinitionsOf(std::uint64_t events) {
  RankDefinitions own;
  own.host = page->host;
  own.events = events;
  own.begin = page->begin_tick + static_cast<std::uint64_t>(FirstOffset());
  own.end = page->end_tick + static_cast<std::uint64_t>(LastOffset());
  own.calls = UsedCalls();
  // Region 0, the whole run, is no region of the archive; keeping its place here keeps the numbers simple.
  for (std::uint32_t i = 0; i < page->regions; ++i) own.regions.emplace_back(page->region[i].name);
  own.communicators = OwnDefinitions();
  own.windows = OwnWindows();
  own.groups = OwnGroups();
  return own;
}

}  // namespace

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
  const RankDefinitions own = OwnDefinitionsOf(events);
  const std::vector<RankDefinitions> all = Gather(own);
  std::vector<std::string> names;
  const bool good = WriteLocalDefinitions(archive, MapRegions(all, own.regions.size(), names));
  if (all.empty()) return good;
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive);
  return writer != nullptr && WriteGlobalDefinitions(writer, all, names, has_counters) && good;
}

}  // namespace farscale::collect
