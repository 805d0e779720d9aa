#include "collect/trace/trace_room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "collect/page_file.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPageBytes = 4096;  // a divisor of the page size of any processor we run on
constexpr std::size_t kHeadBytes = (sizeof(RoomHead) + kPageBytes - 1) / kPageBytes * kPageBytes;

// The MPI and the program need shared memory, too; chosen: a rank takes at most a quarter of what is left.
constexpr std::size_t kShareOfFree = 4;

void* MapShared(const std::string& path, std::size_t bytes) {
  struct statvfs disk;
  const bool is_known = statvfs(PageFolder().c_str(), &disk) == 0;
  return is_known && bytes <= disk.f_bavail * disk.f_frsize / kShareOfFree ? MapNewFile(path, bytes) : nullptr;
}

void* MapOwn(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

constexpr unsigned kBitsInMemory = 16;

// A chunk of OTF2 is a header (its mark, the byte order, the numbers of its first and its last event) and records; a
// record is a byte of type, one with its length, and so many bytes. Time stamps are nine bytes, and no events.
constexpr std::uint8_t kEndOfFile = 2, kChunkHeader = 3, kTimeStamp = 5, kFirstEvent = 10;
constexpr std::uint8_t kLongRecord = 0xFF;  // the length follows in eight bytes
constexpr std::size_t kHeaderBytes = 18, kFirstAt = 2, kLastAt = 10;

std::uint64_t NumberAt(const std::uint8_t* bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

// The first events of a chunk, `most` at most.
EventsEnd Walk(const std::uint8_t* chunk, std::size_t size, std::uint64_t most) {
  EventsEnd walked{kHeaderBytes, 0, 0};
  std::uint64_t time = 0;
  std::size_t at = kHeaderBytes;
  while (walked.events < most && at + 2 <= size) {
    const std::uint8_t type = chunk[at];
    std::size_t next = at + 9;
    if (type != kTimeStamp) {
      const std::uint8_t length = chunk[at + 1];
      if (type < kTimeStamp || (length == kLongRecord && at + 10 > size)) break;
      next = at + 2 + length;
      if (length == kLongRecord) {
        const std::uint64_t bytes = NumberAt(chunk + at + 2);
        if (bytes > size) break;
        next = at + 10 + static_cast<std::size_t>(bytes);
      }
    }
    if (next > size) break;
    if (type == kTimeStamp) time = NumberAt(chunk + at + 1);
    at = next;
    if (type < kFirstEvent) continue;
    ++walked.events;
    walked.bytes = at;
    walked.last_time = time;
  }
  return walked;
}

std::optional<EventsEnd> EndEvents(int file, std::uint64_t events) {
  struct stat status;
  const auto size = fstat(file, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  const auto write = [&](const void* from, std::size_t bytes, std::uint64_t at) {
    return pwrite(file, from, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  };
  for (std::uint64_t chunk = (size + kEventChunk - 1) / kEventChunk; chunk-- > 0;) {
    const std::uint64_t begin = chunk * kEventChunk;
    std::vector<std::uint8_t> bytes(std::min(kEventChunk, size - begin));
    const ssize_t read = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (bytes.size() <= kHeaderBytes || read != static_cast<ssize_t>(bytes.size())) continue;
    const std::uint64_t first = NumberAt(&bytes[kFirstAt]);
    if (bytes[0] != kChunkHeader || first == 0 || (first > events && chunk > 0)) continue;
    EventsEnd end = Walk(bytes.data(), bytes.size(), events >= first ? events - first + 1 : 0);
    // A chunk without an event begins with one of the others; the one before it is as good an end.
    if (end.events == 0 && chunk > 0) continue;
    end.events += first - 1;
    const bool is_ended = write(&end.events, sizeof end.events, begin + kLastAt) &&
                          write(&kEndOfFile, 1, begin + end.bytes) &&
                          ftruncate(file, static_cast<off_t>(begin + end.bytes + 1)) == 0;
    return is_ended ? std::optional(end) : std::nullopt;
  }
  return std::nullopt;
}

// A rank in a file, RANK.room, and what is made of it.
struct SavedRank {
  std::uint32_t version = kRoomVersion;
  std::string page_bytes;
  std::uint32_t call_count = 0;
  std::uint32_t has_counters = 0;
  std::uint32_t is_log_full = 0;
  std::uint64_t events = 0;
  std::string log;

  bool is_there = false;  // all below is known, and its file of events has been ended
  Page page{};
  RankDefinitions definitions;
  std::uint64_t last_time = 0;
};
auto Fields(SavedRank& r) {
  return std::tie(r.version, r.page_bytes, r.call_count, r.has_counters, r.is_log_full, r.events, r.log);
}

fs::path FolderOfEvents(const std::string& folder) { return fs::path(folder) / kArchiveName; }

fs::path FileOf(const std::string& folder, int rank, const char* extension) {
  return FolderOfEvents(folder) / (std::to_string(rank) + extension);
}

bool WriteWhole(const std::string& path, const char* from, std::size_t bytes, std::uint64_t at, int flags) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t part = pwrite(file, from + done, bytes - done, static_cast<off_t>(at + done));
    if (part <= 0) break;
    done += static_cast<std::size_t>(part);
  }
  return close(file) == 0 && done == bytes;
}

std::vector<fs::path> SavedFiles(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(FolderOfEvents(folder), code)) {
    if (entry.path().extension() == ".room") files.push_back(entry.path());
  }
  return files;
}

bool Load(const fs::path& path, SavedRank& rank) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || !Unpack(bytes, rank) || rank.version != kRoomVersion || rank.page_bytes.size() > sizeof(Page)) {
    return false;
  }
  std::memcpy(&rank.page, rank.page_bytes.data(), rank.page_bytes.size());
  const Page& page = rank.page;
  const bool is_page = page.version == kPageVersion && page.regions <= kMostRegions && page.rank >= 0 &&
                       page.rank < page.ranks && rank.page_bytes.size() >= UsedBytes(page) && HasTexts(page);
  const auto definitions = DefinitionsInLog(rank.log);
  if (!is_page || !definitions || rank.is_log_full != 0) return false;
  rank.definitions = *definitions;
  return true;
}

// The ranks of a run, by rank; what is not there has no events. The log has the calls of a rank and what it named
// itself, the page all else of its definitions.
std::vector<SavedRank> FindRanks(const std::string& folder) {
  std::vector<SavedRank> ranks;
  for (const fs::path& path : SavedFiles(folder)) {
    SavedRank rank;
    if (!Load(path, rank)) continue;
    const auto end = EndEventFile(FileOf(folder, rank.page.rank, ".evt"), rank.events);
    if (!end) continue;
    rank.is_there = true;
    rank.last_time = end->last_time;
    RankDefinitions& d = rank.definitions;
    const auto offset = static_cast<std::uint64_t>(d.offsets.empty() ? 0 : d.offsets.front().second);
    d.host = rank.page.host;
    d.events = end->events;
    d.begin = rank.page.begin_tick + offset;
    d.end = std::max(rank.last_time, rank.page.end_tick) + offset;
    for (std::uint32_t i = 0; i < rank.page.regions; ++i) d.regions.emplace_back(rank.page.region[i].name);
    if (ranks.empty()) ranks.resize(static_cast<std::size_t>(rank.page.ranks));
    const auto index = static_cast<std::size_t>(rank.page.rank);
    if (index < ranks.size()) ranks[index] = std::move(rank);
  }
  return ranks;
}

// Ranks of which nothing is known last as long as the others, on a node of their own. Returns how many there are.
std::size_t FillMissing(const std::string& folder, std::vector<SavedRank>& ranks) {
  // A file of no events: the header of a chunk and the mark of the file's end.
  constexpr bool kIsLittle = std::endian::native == std::endian::little;
  const char no_events[] = {
      3, kIsLittle ? 0x42 : 0x23, kIsLittle ? 1 : 0, 0, 0, 0, 0, 0, 0, kIsLittle ? 0 : 1, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  const auto there = std::ranges::find_if(ranks, &SavedRank::is_there);
  std::size_t missing = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].is_there) continue;
    ++missing;
    ranks[i].definitions.host = "unknown";
    ranks[i].definitions.begin = there->definitions.begin;
    ranks[i].definitions.end = there->definitions.end;
    WriteWhole(FileOf(folder, static_cast<int>(i), ".evt"), no_events, sizeof no_events, 0, O_TRUNC);
  }
  return missing;
}

OTF2_FlushType AlwaysFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
constexpr OTF2_FlushCallbacks kFlush = {AlwaysFlush, nullptr};

// Events of other threads than the main one are in the memory of the process alone.
int CountThreadedRanks(const std::vector<SavedRank>& ranks) {
  return static_cast<int>(std::ranges::count_if(
      ranks, [](const SavedRank& rank) { return rank.page.teams.most > 0 || rank.page.teams.unknown > 0; }));
}

bool SetCount(OTF2_Archive* archive, const char* property, std::uint64_t count) {
  return count == 0 || OTF2_Archive_SetProperty(archive, property, std::to_string(count).c_str(), true) == OTF2_SUCCESS;
}

// All of an archive but its events, in a folder of its own: the library makes new archives only.
bool WriteArchive(const fs::path& folder, std::vector<SavedRank>& ranks, const std::string& end,
                  const std::string& generator) {
  std::vector<RankDefinitions> all;
  std::uint64_t other_calls = 0;
  for (SavedRank& rank : ranks) {
    other_calls += rank.page.other_calls;
    all.push_back(std::move(rank.definitions));
  }
  const SavedRank& first = *std::ranges::find_if(ranks, &SavedRank::is_there);
  RunFacts facts = FactsOfRun(first.page, first.has_counters != 0);
  const std::vector<RankNumbers> of_ranks = NumberDefinitions(all, first.call_count, facts);
  OTF2_Archive* archive = OpenToWrite(folder, generator.c_str(), kFlush);
  if (archive == nullptr) return false;
  bool good = OTF2_Archive_SetSerialCollectiveCallbacks(archive) == OTF2_SUCCESS &&
              OTF2_Archive_SetProperty(archive, kPropertyOfEnd, end.c_str(), true) == OTF2_SUCCESS &&
              OTF2_Archive_OpenDefFiles(archive) == OTF2_SUCCESS;
  good = good && SetCount(archive, kPropertyOfOtherThreads, other_calls) &&
         SetCount(archive, kPropertyOfThreadedRanks, static_cast<std::uint64_t>(CountThreadedRanks(ranks))) &&
         SetCount(archive, kPropertyOfRegions, (first.page.flags & kRecordsRegions) != 0 ? 1 : 0);
  for (std::size_t rank = 0; good && rank < all.size(); ++rank) {
    good = WriteLocalDefinitions(archive, rank, all[rank].offsets, of_ranks[rank]);
  }
  good = good && OTF2_Archive_CloseDefFiles(archive) == OTF2_SUCCESS;
  OTF2_GlobalDefWriter* writer = good ? OTF2_Archive_GetGlobalDefWriter(archive) : nullptr;
  good = writer != nullptr && WriteGlobalDefinitions(writer, all, facts);
  return OTF2_Archive_Close(archive) == OTF2_SUCCESS && good;
}

// The anchor comes last: with it the trace is whole.
bool MoveArchive(const fs::path& from, const std::string& folder, std::size_t ranks) {
  std::error_code code;
  for (std::size_t rank = 0; rank < ranks && !code; ++rank) {
    const std::string name = std::to_string(rank) + ".def";
    fs::rename(FolderOfEvents(from) / name, FolderOfEvents(folder) / name, code);
  }
  for (const char* extension : {".def", ".otf2"}) {
    const std::string name = std::string(kArchiveName) + extension;
    if (!code) fs::rename(from / name, fs::path(folder) / name, code);
  }
  return !code;
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> ChunksIn(const RoomHead& head) {
  const std::uint64_t both = __atomic_load_n(&head.chunks, __ATOMIC_RELAXED);
  return {both >> kBitsInMemory, both & ((1U << kBitsInMemory) - 1)};
}

void SetChunks(RoomHead& head, std::uint64_t in_file, std::uint64_t in_memory) {
  __atomic_store_n(&head.chunks, in_file << kBitsInMemory | in_memory, __ATOMIC_RELEASE);
}

std::string RoomPath(const std::string& job, int rank) { return PagePath(job, rank) + ".trace"; }
std::string EstimateFolder(const std::string& job) { return PagePath(job, 0) + ".estimate"; }

Room CreateRoom(const std::string& path, std::size_t chunks) {
  const std::size_t bytes = chunks * kEventChunk;
  Room room;
  bool is_shared = true;
  auto* memory = static_cast<char*>(MapShared(path, kHeadBytes + bytes));
  if (memory != nullptr) {
    room.chunks = memory + kHeadBytes;
  } else {
    is_shared = false;
    memory = static_cast<char*>(MapShared(path, kHeadBytes));
    if (memory == nullptr) memory = static_cast<char*>(MapOwn(kHeadBytes));
    room.chunks = static_cast<char*>(MapOwn(bytes));
  }
  if (memory == nullptr || room.chunks == nullptr) return {};
  // The first touch of a page of memory takes longer than the calls whose events it holds.
  for (std::size_t i = 0; i < bytes; i += kPageBytes) static_cast<volatile char*>(room.chunks)[i] = 0;
  room.head = reinterpret_cast<RoomHead*>(memory);
  std::memcpy(room.head->magic, kRoomMagic, sizeof kRoomMagic);
  room.head->version = kRoomVersion;
  room.head->shared_chunks = is_shared ? chunks : 0;
  return room;
}

Room MapRoom(const std::string& path) {
  std::size_t bytes = 0;
  const int file = OpenOwnFile(path, bytes);
  if (file < 0) return {};
  void* memory = bytes >= kHeadBytes ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) return {};
  auto* head = static_cast<RoomHead*>(memory);
  const bool is_room = std::memcmp(head->magic, kRoomMagic, sizeof kRoomMagic) == 0 && head->version == kRoomVersion &&
                       head->shared_chunks <= (bytes - kHeadBytes) / kEventChunk;
  if (is_room) return {head, static_cast<char*>(memory) + kHeadBytes};
  munmap(memory, bytes);
  return {};
}

void LogDefinitions(RoomHead& head, const RankDefinitions& added) {
  const std::string packed = Pack(added);
  const auto size = static_cast<std::uint64_t>(packed.size());
  if (size + sizeof size > kLogBytes - head.log_bytes) {
    head.is_log_full = 1;
    return;
  }
  std::memcpy(head.log + head.log_bytes, &size, sizeof size);
  std::memcpy(head.log + head.log_bytes + sizeof size, packed.data(), packed.size());
  __atomic_store_n(&head.log_bytes, head.log_bytes + sizeof size + size, __ATOMIC_RELEASE);
}

std::optional<RankDefinitions> DefinitionsInLog(const std::string& log) {
  const auto append = [](auto& list, auto& more) {
    list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  RankDefinitions all;
  for (std::size_t at = 0; at < log.size();) {
    std::uint64_t size = 0;
    if (log.size() - at < sizeof size) return std::nullopt;
    std::memcpy(&size, log.data() + at, sizeof size);
    at += sizeof size;
    RankDefinitions added;
    if (size > log.size() - at || !Unpack(std::string_view(log).substr(at, size), added)) return std::nullopt;
    append(all.calls, added.calls);
    append(all.communicators, added.communicators);
    append(all.windows, added.windows);
    append(all.groups, added.groups);
    append(all.offsets, added.offsets);
    append(all.teams, added.teams);
    at += size;
  }
  return all;
}

std::optional<EventsEnd> EndEventFile(const std::string& path, std::uint64_t events) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  const std::optional<EventsEnd> end = EndEvents(file, events);
  close(file);
  return end;
}

std::uint64_t UsedOfChunk(const char* chunk, std::uint64_t events) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(chunk);
  const std::uint64_t first = NumberAt(bytes + kFirstAt);
  return Walk(bytes, kEventChunk, events >= first ? events - first + 1 : 0).bytes;
}

bool SaveRank(const std::string& folder, const Page& state, const Room& room, std::uint64_t first) {
  SavedRank saved;
  saved.page_bytes.assign(reinterpret_cast<const char*>(&state), UsedBytes(state));
  saved.call_count = room.head->call_count;
  saved.has_counters = room.head->has_counters;
  saved.is_log_full = room.head->is_log_full;
  saved.events = __atomic_load_n(&room.head->events, __ATOMIC_ACQUIRE);
  saved.log.assign(room.head->log, std::min<std::uint64_t>(room.head->log_bytes, kLogBytes));
  const std::string events = FileOf(folder, state.rank, ".evt");
  const auto [in_file, in_memory] = ChunksIn(*room.head);
  for (std::uint64_t i = 0; i < in_memory; ++i) {
    const std::uint64_t chunk = in_file + i;
    if (chunk >= first && !WriteWhole(events, room.chunks + i * kEventChunk, kEventChunk, chunk * kEventChunk, 0))
      return false;
  }
  const std::string bytes = Pack(saved), path = FileOf(folder, state.rank, ".room"), temporary = path + ".tmp";
  return WriteWhole(temporary, bytes.data(), bytes.size(), 0, O_TRUNC) && rename(temporary.c_str(), path.c_str()) == 0;
}

bool HasSavedRanks(const std::string& folder) { return !SavedFiles(folder).empty(); }

bool HasAllRanks(const std::string& folder) {
  const std::vector<fs::path> files = SavedFiles(folder);
  SavedRank rank;
  return !files.empty() && Load(files.front(), rank) && files.size() >= static_cast<std::size_t>(rank.page.ranks);
}

RecoveredTrace RecoverTrace(const std::string& folder, const std::string& end, const std::string& generator) {
  RecoveredTrace trace;
  const auto is_foreign = [](const fs::path& file) {
    SavedRank rank;
    return !Load(file, rank) && rank.version != kRoomVersion;
  };
  if (std::ranges::any_of(SavedFiles(folder), is_foreign)) {
    trace.sentence = "what was saved is of another version of farscale, which alone can make a trace of it";
    return trace;
  }
  std::vector<SavedRank> ranks = FindRanks(folder);
  if (ranks.empty()) {
    trace.sentence = "nothing was saved of the events of any rank";
    trace.is_nothing_saved = true;
    return trace;
  }
  const std::size_t missing = FillMissing(folder, ranks);
  // Seconds of the run until the last event of each rank that has some, with its number; the first to end first.
  std::vector<std::pair<double, int>> ends;
  for (const SavedRank& rank : ranks) {
    if (!rank.is_there || rank.last_time < rank.page.begin_tick) continue;
    const auto ticks = static_cast<double>(rank.last_time - rank.page.begin_tick);
    ends.emplace_back(ticks / TicksASecond(rank.page), rank.page.rank);
  }
  if (ends.empty()) ends.emplace_back(0, 0);
  std::ranges::sort(ends);
  const std::string until =
      Format("rank %d has events until %s", ends.front().second, FormatSeconds(ends.front().first).c_str());
  const fs::path made = fs::path(folder) / "recovered";
  std::error_code code;
  fs::remove_all(made, code);
  const bool good = WriteArchive(made, ranks, end + "; " + until, generator) && MoveArchive(made, folder, ranks.size());
  fs::remove_all(made, code);
  if (!good) {
    trace.sentence = folder + " cannot be written, or has no room; farscale trace --recover tries again";
    return trace;
  }
  for (const fs::path& file : SavedFiles(folder)) fs::remove(file, code);
  trace.anchor = (fs::path(folder) / kArchiveName).string() + ".otf2";
  trace.sentence = "the trace ends early: " + until + ", the last rank until " + FormatSeconds(ends.back().first);
  if (missing > 0) trace.sentence += Format(", %d rank%s none", static_cast<int>(missing), missing == 1 ? "" : "s");
  if (CountThreadedRanks(ranks) > 0) trace.sentence += ", without other threads than those that called MPI_Init";
  const auto has_devices = [](const SavedRank& rank) { return (rank.page.flags & kHasDevices) != 0; };
  if (std::ranges::any_of(ranks, has_devices)) trace.sentence += ", without what devices did";
  return trace;
}

void RemoveUnfinished(const std::string& folder) {
  std::error_code code;
  if (fs::exists(fs::path(folder) / (std::string(kArchiveName) + ".otf2"), code)) return;
  fs::remove_all(FolderOfEvents(folder), code);
  fs::remove(fs::path(folder) / (std::string(kArchiveName) + ".def"), code);
}

}  // namespace farscale::collect
