#include "collect/trace/trace_recovery.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "collect/trace/trace_definitions.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

namespace fs = std::filesystem;

// A rank in a file, RANK.room.
struct SavedRank {
  std::string page;
  std::uint32_t call_count = 0;
  std::uint32_t has_counters = 0;
  std::uint32_t is_log_full = 0;
  std::uint64_t events = 0;
  std::string log;
};
auto Fields(SavedRank& r) { return std::tie(r.page, r.call_count, r.has_counters, r.is_log_full, r.events, r.log); }

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

bool SaveEvents(const std::string& folder, int rank, const Room& room, std::uint64_t first) {
  const std::string path = FileOf(folder, rank, ".evt");
  const Chunks chunks = ChunksOf(*room.head);
  for (std::uint64_t i = 0; i < chunks.in_memory; ++i) {
    const std::uint64_t chunk = chunks.in_file + i;
    if (chunk >= first && !WriteWhole(path, room.chunks + i * kEventChunk, kEventChunk, chunk * kEventChunk, 0))
      return false;
  }
  return true;
}

std::vector<fs::path> SavedFiles(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(FolderOfEvents(folder), code)) {
    if (entry.path().extension() == ".room") files.push_back(entry.path());
  }
  return files;
}

// A rank, its events ended.
struct FoundRank {
  Page page{};
  SavedRank saved;
  RankDefinitions definitions;
  std::uint64_t last_time = 0;
  bool is_there = false;
};

bool Load(const fs::path& path, FoundRank& rank) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || !Unpack(bytes, rank.saved) || rank.saved.page.size() > sizeof(Page)) return false;
  std::memcpy(&rank.page, rank.saved.page.data(), rank.saved.page.size());
  const Page& page = rank.page;
  const bool is_page = page.version == kPageVersion && page.regions <= kMostRegions && page.rank >= 0 &&
                       page.rank < page.ranks && rank.saved.page.size() >= UsedBytes(page);
  const auto definitions = DefinitionsInLog(rank.saved.log);
  if (!is_page || !definitions || rank.saved.is_log_full != 0) return false;
  rank.definitions = *definitions;
  return true;
}

double TicksASecond(const Page& page) {
  const auto nanoseconds = static_cast<double>(page.end_clock - page.begin_clock);
  const auto ticks = static_cast<double>(page.end_tick - page.begin_tick);
  return (page.flags & kClockIsTsc) != 0 && ticks > 0 && nanoseconds > 0 ? ticks / nanoseconds * 1e9 : 1e9;
}

// The definitions of a rank of which the log has the calls and what it named itself.
void Complete(FoundRank& rank, std::uint64_t events) {
  RankDefinitions& d = rank.definitions;
  const std::int64_t offset = d.offsets.empty() ? 0 : d.offsets.front().offset;
  d.host = rank.page.host;
  d.events = events;
  d.begin = rank.page.begin_tick + static_cast<std::uint64_t>(offset);
  d.end = std::max(rank.last_time, rank.page.end_tick) + static_cast<std::uint64_t>(offset);
  for (std::uint32_t i = 0; i < rank.page.regions; ++i) d.regions.emplace_back(rank.page.region[i].name);
  rank.is_there = true;
}

// The ranks of a run, by rank; what is not there has no events.
std::vector<FoundRank> FindRanks(const std::string& folder) {
  std::vector<FoundRank> ranks;
  for (const fs::path& path : SavedFiles(folder)) {
    FoundRank rank;
    if (!Load(path, rank)) continue;
    const auto events = EndEventFile(FileOf(folder, rank.page.rank, ".evt"), rank.saved.events);
    if (!events) continue;
    rank.last_time = events->last_time;
    Complete(rank, events->events);
    if (ranks.empty()) ranks.resize(static_cast<std::size_t>(rank.page.ranks));
    const auto index = static_cast<std::size_t>(rank.page.rank);
    if (index < ranks.size()) ranks[index] = std::move(rank);
  }
  return ranks;
}

// A file of no events: the header of a chunk and the mark of the file's end.
bool WriteNoEvents(const std::string& path) {
  constexpr bool kIsLittle = std::endian::native == std::endian::little;
  const char bytes[] = {
      3, kIsLittle ? 0x42 : 0x23, kIsLittle ? 1 : 0, 0, 0, 0, 0, 0, 0, kIsLittle ? 0 : 1, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  return WriteWhole(path, bytes, sizeof bytes, 0, O_TRUNC);
}

// Ranks of which nothing is known last as long as the others, on a node of their own.
void FillMissing(const std::string& folder, std::vector<FoundRank>& ranks, std::vector<int>& missing) {
  const auto there = std::ranges::find_if(ranks, &FoundRank::is_there);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].is_there) continue;
    missing.push_back(static_cast<int>(i));
    ranks[i].definitions.host = "unknown";
    ranks[i].definitions.begin = there->definitions.begin;
    ranks[i].definitions.end = there->definitions.end;
    WriteNoEvents(FileOf(folder, static_cast<int>(i), ".evt"));
  }
}

OTF2_FlushType AlwaysFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
constexpr OTF2_FlushCallbacks kFlush = {AlwaysFlush, nullptr};

// Errors are reported by us, once.
OTF2_ErrorCode IgnoreMessage(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char*,
                             va_list) {
  return code;
}

// Events of other threads than the main one are in the memory of the process alone.
int CountThreadedRanks(const std::vector<FoundRank>& ranks) {
  return static_cast<int>(std::ranges::count_if(
      ranks, [](const FoundRank& rank) { return rank.page.teams.most > 0 || rank.page.teams.unknown > 0; }));
}

bool SetCount(OTF2_Archive* archive, const char* property, std::uint64_t count) {
  return count == 0 || OTF2_Archive_SetProperty(archive, property, std::to_string(count).c_str(), true) == OTF2_SUCCESS;
}

// All of an archive but its events, in a folder of its own: the library makes new archives only.
bool WriteArchive(const fs::path& folder, std::vector<FoundRank>& ranks, const std::string& end,
                  const std::string& generator) {
  std::vector<RankDefinitions> all;
  std::uint64_t other_calls = 0;
  for (FoundRank& rank : ranks) {
    other_calls += rank.page.other_calls;
    all.push_back(std::move(rank.definitions));
  }
  const FoundRank& first = *std::ranges::find_if(ranks, &FoundRank::is_there);
  std::vector<RankNumbers> of_ranks;
  const RegionNames names = NumberDefinitions(all, first.saved.call_count, of_ranks);
  const RunFacts facts = {first.page.program, static_cast<std::uint64_t>(TicksASecond(first.page)), first.page.started,
                          first.saved.has_counters != 0};
  OTF2_Error_RegisterCallback(IgnoreMessage, nullptr);
  OTF2_Archive* archive = OTF2_Archive_Open(folder.c_str(), kArchiveName, OTF2_FILEMODE_WRITE, kEventChunk,
                                            kDefinitionChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive == nullptr) return false;
  bool good = OTF2_Archive_SetFlushCallbacks(archive, &kFlush, nullptr) == OTF2_SUCCESS &&
              OTF2_Archive_SetSerialCollectiveCallbacks(archive) == OTF2_SUCCESS &&
              OTF2_Archive_SetCreator(archive, generator.c_str()) == OTF2_SUCCESS &&
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
  good = writer != nullptr && WriteGlobalDefinitions(writer, all, names, facts);
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

void NoteEnds(const std::vector<FoundRank>& ranks, RecoveredTrace& trace) {
  bool is_first = true;
  for (const FoundRank& rank : ranks) {
    if (!rank.is_there || rank.last_time < rank.page.begin_tick) continue;
    const double end = static_cast<double>(rank.last_time - rank.page.begin_tick) / TicksASecond(rank.page);
    if (is_first || end < trace.first_end) {
      trace.first_end = end;
      trace.first_rank = rank.page.rank;
    }
    is_first = false;
    trace.last_end = std::max(trace.last_end, end);
  }
}

}  // namespace

bool SaveRank(const std::string& folder, const Page& state, const Room& room, std::uint64_t first) {
  SavedRank saved;
  saved.page.assign(reinterpret_cast<const char*>(&state), UsedBytes(state));
  saved.call_count = room.head->call_count;
  saved.has_counters = room.head->has_counters;
  saved.is_log_full = room.head->is_log_full;
  saved.events = __atomic_load_n(&room.head->events, __ATOMIC_ACQUIRE);
  saved.log.assign(room.head->log, std::min<std::uint64_t>(room.head->log_bytes, kLogBytes));
  if (!SaveEvents(folder, state.rank, room, first)) return false;
  const std::string bytes = Pack(saved), path = FileOf(folder, state.rank, ".room"), temporary = path + ".tmp";
  return WriteWhole(temporary, bytes.data(), bytes.size(), 0, O_TRUNC) && rename(temporary.c_str(), path.c_str()) == 0;
}

bool HasSavedRanks(const std::string& folder) { return !SavedFiles(folder).empty(); }

bool HasAllRanks(const std::string& folder) {
  const std::vector<fs::path> files = SavedFiles(folder);
  FoundRank rank;
  return !files.empty() && Load(files.front(), rank) && files.size() >= static_cast<std::size_t>(rank.page.ranks);
}

RecoveredTrace RecoverTrace(const std::string& folder, const std::string& end, const std::string& generator) {
  RecoveredTrace trace;
  std::vector<FoundRank> ranks = FindRanks(folder);
  if (ranks.empty()) {
    trace.why = "nothing was saved of the events of any rank";
    trace.is_nothing_saved = true;
    return trace;
  }
  FillMissing(folder, ranks, trace.missing);
  NoteEnds(ranks, trace);
  trace.threaded = CountThreadedRanks(ranks);
  trace.has_devices =
      std::ranges::any_of(ranks, [](const FoundRank& rank) { return (rank.page.flags & kHasDevices) != 0; });
  const std::string sentence =
      end + Format("; rank %d has events until %s", trace.first_rank, FormatSeconds(trace.first_end).c_str());
  const fs::path made = fs::path(folder) / "recovered";
  std::error_code code;
  fs::remove_all(made, code);
  const bool good = WriteArchive(made, ranks, sentence, generator) && MoveArchive(made, folder, ranks.size());
  fs::remove_all(made, code);
  if (!good) {
    trace.why = folder + " cannot be written, or has no room; farscale trace --recover tries again";
    return trace;
  }
  for (const fs::path& file : SavedFiles(folder)) fs::remove(file, code);
  trace.anchor = (fs::path(folder) / kArchiveName).string() + ".otf2";
  return trace;
}

std::string SentenceOf(const RecoveredTrace& trace) {
  if (trace.anchor.empty()) return "there is no trace: " + trace.why;
  std::string text = "the trace ends early: rank " + std::to_string(trace.first_rank) + " has events until " +
                     FormatSeconds(trace.first_end) + ", the last rank until " + FormatSeconds(trace.last_end);
  if (!trace.missing.empty()) {
    text += Format(", %d rank%s none", static_cast<int>(trace.missing.size()), trace.missing.size() == 1 ? "" : "s");
  }
  if (trace.threaded > 0) text += ", without other threads than those that called MPI_Init";
  if (trace.has_devices) text += ", without what devices did";
  return text;
}

void RemoveUnfinished(const std::string& folder) {
  std::error_code code;
  if (fs::exists(fs::path(folder) / (std::string(kArchiveName) + ".otf2"), code)) return;
  fs::remove_all(FolderOfEvents(folder), code);
  fs::remove(fs::path(folder) / (std::string(kArchiveName) + ".def"), code);
}

}  // namespace farscale::collect
