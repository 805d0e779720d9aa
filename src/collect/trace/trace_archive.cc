#include "collect/trace/trace_archive.h"

#include <otf2/OTF2_MPI_Collectives.h>  // its functions are of MPI's names, which are the wrappers'
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "collect/preload/call.h"
#include "collect/trace/communicators.h"
#include "collect/devices/devices.h"
#include "collect/page_file.h"
#include "collect/trace/recorder.h"
#include "collect/preload/run.h"
#include "collect/text.h"
#include "collect/trace/thread_recorder.h"

namespace farscale::collect {
namespace {

// Chunks of events that a rank keeps in memory; then they are written to the file, and the trace says so. Chosen: 16
// MiB a rank.
constexpr std::size_t kMostChunks = 16;
constexpr const char* kName = kArchiveName;

OTF2_Archive* otf2_archive = nullptr;
std::string anchor;

Room room;
std::string archive_folder;
bool is_estimated = false;

std::uint64_t event_bytes = 0;  // that wait to be written, in whole chunks

// The chunks of one buffer.
struct BufferChunks {
  void* chunk[kMostChunks];
  std::size_t made;
  std::size_t used;
};

BufferChunks* of_events = nullptr;  // those of the one buffer of events

void NoteUsed(std::size_t used) { SetChunks(*room.head, {ChunksOf(*room.head).in_file, used}); }

// The chunks in memory are in the file now.
void NoteWritten() {
  const Chunks chunks = ChunksOf(*room.head);
  SetChunks(*room.head, {chunks.in_file + chunks.in_memory, 0});
  event_bytes = 0;
}

void* Allocate(void*, OTF2_FileType type, OTF2_LocationRef location, void** of_buffer, std::uint64_t size) {
  if (IsLocationOfThread(location)) {
    if (type == OTF2_FILETYPE_EVENTS) event_bytes += size;
    return AllocateForThread(of_buffer, size);
  }
  if (*of_buffer == nullptr) *of_buffer = std::calloc(1, sizeof(BufferChunks));
  auto* chunks = static_cast<BufferChunks*>(*of_buffer);
  if (chunks == nullptr || chunks->used == kMostChunks) return nullptr;
  const bool is_of_events = type == OTF2_FILETYPE_EVENTS;
  if (chunks->used == chunks->made) {
    void* fresh = is_of_events ? room.chunks + chunks->made * kEventChunk : std::malloc(size);
    if (fresh == nullptr) return nullptr;
    chunks->chunk[chunks->made++] = fresh;
  }
  void* const chunk = chunks->chunk[chunks->used++];
  if (is_of_events) {
    of_events = chunks;
    event_bytes += size;
    *static_cast<char*>(chunk) = 0;  // not the leftover of an earlier chunk
    NoteUsed(chunks->used);
  }
  return chunk;
}

void FreeAll(void*, OTF2_FileType type, OTF2_LocationRef location, void** of_buffer, bool is_last) {
  if (IsLocationOfThread(location)) {
    if (type == OTF2_FILETYPE_EVENTS) event_bytes = 0;
    FreeOfThread(of_buffer);
    return;
  }
  auto* chunks = static_cast<BufferChunks*>(*of_buffer);
  if (chunks == nullptr) return;
  chunks->used = 0;
  if (type == OTF2_FILETYPE_EVENTS) NoteWritten();
  if (!is_last) return;
  for (std::size_t i = 0; type != OTF2_FILETYPE_EVENTS && i < chunks->made; ++i) std::free(chunks->chunk[i]);
  std::free(chunks);
  *of_buffer = nullptr;
}

Tick flush_began = 0;

bool is_full = false;

// The OTF2 library does not survive a file that cannot take its events.
OTF2_FlushType BeforeFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  flush_began = Now();
  if (is_estimated) {
    NoteWritten();
    if (of_events != nullptr) of_events->used = 0;
    return OTF2_NO_FLUSH;
  }
  struct statvfs disk;
  if (!is_full && statvfs(page->output, &disk) == 0) is_full = disk.f_bavail * disk.f_frsize < 2 * event_bytes;
  return is_full ? OTF2_NO_FLUSH : OTF2_FLUSH;
}

OTF2_TimeStamp AfterFlush(void*, OTF2_FileType, OTF2_LocationRef location) {
  const Tick now = Now();
  if (IsLocationOfThread(location)) return now;
  recording.Count();  // the library adds one that says so
  if (page->end_tick == 0) Store(page->flushed, page->flushed + (now - flush_began));
  return now;
}

constexpr OTF2_MemoryCallbacks kMemory = {Allocate, FreeAll};
constexpr OTF2_FlushCallbacks kFlush = {BeforeFlush, AfterFlush};

// Made by rank 0 alone, before the others open it.
std::string MakeFolder() {
  for (std::size_t end = archive_folder.find('/', 1); end != std::string::npos;
       end = archive_folder.find('/', end + 1)) {
    mkdir(archive_folder.substr(0, end).c_str(), 0777);
  }
  if (mkdir(archive_folder.c_str(), 0777) != 0 && errno != EEXIST)
    return archive_folder + " cannot be made: " + std::strerror(errno);
  if (access((archive_folder + "/" + kName + ".otf2").c_str(), F_OK) == 0) {
    return archive_folder + " contains a trace already; choose another archive_folder, or remove it";
  }
  if (access((archive_folder + "/" + kName).c_str(), F_OK) == 0) {
    return archive_folder +
           " contains a trace that is not finished; choose another archive_folder, remove it, or try farscale trace "
           "--recover";
  }
  return "";
}

std::string FileOfRank(int rank, const char* extension) {
  return archive_folder + "/" + kName + "/" + std::to_string(rank) + extension;
}

// Errors are reported by us, once.
OTF2_ErrorCode IgnoreMessage(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char*,
                             va_list) {
  return code;
}

// A trace that is not whole is of no use, and stands in the way of the next.
void RemoveFiles() {
  RemoveThreadFiles(archive_folder + "/" + kName + "/");
  RemoveDeviceFiles(archive_folder + "/" + kName + "/");
  real.MPI_Barrier(OwnWorld());
  if (page->rank != 0) return;
  for (int rank = 0; rank < page->ranks; ++rank) {
    for (const char* extension : {".evt", ".def", ".room"}) unlink(FileOfRank(rank, extension).c_str());
  }
  rmdir((archive_folder + "/" + kName).c_str());
  for (const char* extension : {".def", ".otf2"}) unlink((archive_folder + "/" + kName + extension).c_str());
}

bool Agree(bool good) {
  int mine = good ? 1 : 0, all = 0;
  real.MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, OwnWorld());
  return all != 0;
}

// Whoever reads the archive has to know what is not in it; the anchor is written by rank 0.
bool WriteCallsOfOtherThreads() {
  const std::uint64_t calls = __atomic_load_n(&page->other_calls, __ATOMIC_RELAXED);
  std::uint64_t of_all = 0;
  real.MPI_Allreduce(&calls, &of_all, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  if (of_all == 0 || page->rank != 0) return true;
  return OTF2_Archive_SetProperty(otf2_archive, kPropertyOfOtherThreads, std::to_string(of_all).c_str(), true) ==
         OTF2_SUCCESS;
}

// Likewise for threads whose events are not recorded.
bool WriteThreadedRanks() {
  const bool lacks_teams = page->teams.most > 0 && OwnThreads().empty();
  const std::uint64_t has_threads = lacks_teams || page->teams.unknown > 0 ? 1 : 0;
  std::uint64_t ranks = 0;
  real.MPI_Allreduce(&has_threads, &ranks, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  if (ranks == 0 || page->rank != 0) return true;
  return OTF2_Archive_SetProperty(otf2_archive, kPropertyOfThreadedRanks, std::to_string(ranks).c_str(), true) ==
         OTF2_SUCCESS;
}

// Likewise that the rest was not asked for.
bool WriteRegionsAlone() {
  if ((page->flags & kRecordsRegions) == 0 || page->rank != 0) return true;
  return OTF2_Archive_SetProperty(otf2_archive, kPropertyOfRegions, "1", true) == OTF2_SUCCESS;
}

// Leaves nothing of an archive that could not be opened.
std::string NotOpened(const Page& fresh, const std::string& why) {
  if (fresh.rank == 0) rmdir((archive_folder + "/" + kName).c_str());
  unlink(RoomPath(fresh.job, fresh.rank).c_str());
  return why;
}

// The calls of a trace's events have to be whole in the room, whatever ends the process.
bool OpenRoom(const Page& fresh) {
  room = CreateRoom(RoomPath(fresh.job, fresh.rank), kMostChunks);
  if (room.head == nullptr) return false;
  room.head->call_count = static_cast<std::uint32_t>(CallId::kCount);
  room.head->has_counters = (fresh.flags & kHasCounters) != 0 ? 1 : 0;
  return true;
}

std::string Close(OTF2_EvtWriter* writer, bool with_counters) {
  std::uint64_t events = 0;
  OTF2_EvtWriter_GetNumberOfEvents(writer, &events);
  const std::uint64_t not_followed = UnknownCommunicators();
  bool good = recording.is_complete;
  if (good) good = OTF2_Archive_CloseEvtWriter(otf2_archive, writer) == OTF2_SUCCESS && !is_full;
  if (!Agree(good)) {
    RemoveFiles();
    return "warning: there is no trace: " + archive_folder + " has no room for it";
  }
  unlink(FileOfRank(page->rank, ".room").c_str());
  good = WriteThreadEvents(otf2_archive) && !is_full;
  good = WriteDeviceEvents(otf2_archive) && !is_full && good;
  good = OTF2_Archive_CloseEvtFiles(otf2_archive) == OTF2_SUCCESS && good;
  good = WriteDefinitions(otf2_archive, events, with_counters) && good;
  good = WriteCallsOfOtherThreads() && good;
  good = WriteThreadedRanks() && good;
  good = WriteRegionsAlone() && good;
  good = OTF2_Archive_Close(otf2_archive) == OTF2_SUCCESS && good;
  std::uint64_t unknown_of_all = 0;
  real.MPI_Allreduce(&not_followed, &unknown_of_all, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  const bool is_empty = Agree(RecordedNothing());
  if (!Agree(good)) {
    RemoveFiles();
    return "warning: there is no trace: " + anchor + " could not be written whole";
  }
  std::string message;
  if (is_empty) message = "warning: no rank started a region that was to be recorded, so there is none in the trace\n";
  if (unknown_of_all > 0) {
    message += "warning: " + std::to_string(unknown_of_all) +
               " operations on communicators with ranks of another run, or of two groups and with a root, are in the "
               "trace as calls alone\n";
  }
  if (!Agree(!HasTooManyThreadEvents())) {
    message += "warning: OpenMP's threads have more events than are kept, so the trace has the main threads alone\n";
  }
  if (!Agree(!HasTooMuchDeviceWork())) {
    message += "warning: devices did more than is kept of a rank, so the trace is without kernels and copies there\n";
  }
  return message + "wrote " + anchor;
}

}  // namespace

std::string OpenArchive(const Page& fresh, bool estimates, OTF2_EvtWriter*& writer, Room& of_events_here) {
  is_estimated = estimates;
  archive_folder = estimates ? EstimateFolder(fresh.job) : fresh.output;
  const std::string why = fresh.rank == 0 ? MakeFolder() : "";
  if (!Agree(why.empty())) return why.empty() ? "rank 0 could not make the archive_folder" : why;
  anchor = archive_folder + "/" + kName + ".otf2";
  OTF2_Error_RegisterCallback(IgnoreMessage, nullptr);
  otf2_archive = OTF2_Archive_Open(archive_folder.c_str(), kName, OTF2_FILEMODE_WRITE, kEventChunk, kDefinitionChunk,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  bool good = otf2_archive != nullptr && OpenRoom(fresh);
  good = good && OTF2_Archive_SetFlushCallbacks(otf2_archive, &kFlush, nullptr) == OTF2_SUCCESS;
  good = good && OTF2_Archive_SetMemoryCallbacks(otf2_archive, &kMemory, nullptr) == OTF2_SUCCESS;
  good = good && OTF2_Archive_SetCreator(otf2_archive, FARSCALE_GENERATOR) == OTF2_SUCCESS;
  if (!Agree(good)) return NotOpened(fresh, anchor + " cannot be written");
  good = OTF2_MPI_Archive_SetCollectiveCallbacks(otf2_archive, OwnWorld(), MPI_COMM_NULL) == OTF2_SUCCESS;
  good = good && OTF2_Archive_OpenEvtFiles(otf2_archive) == OTF2_SUCCESS;
  if (good) writer = OTF2_Archive_GetEvtWriter(otf2_archive, static_cast<OTF2_LocationRef>(fresh.rank));
  if (!Agree(good && writer != nullptr)) return NotOpened(fresh, anchor + " cannot be written");
  of_events_here = room;
  return "";
}

std::string CloseArchive(OTF2_EvtWriter* writer, bool with_counters) {
  const std::string message = Close(writer, with_counters);
  unlink(RoomPath(page->job, page->rank).c_str());
  return message;
}

TraceSize CloseEstimate() {
  const Chunks chunks = ChunksOf(*room.head);
  std::uint64_t own[2] = {chunks.in_file * kEventChunk, room.head->events};
  if (chunks.in_memory > 0) {
    own[0] += (chunks.in_memory - 1) * kEventChunk;
    own[0] += UsedOfChunk(room.chunks + (chunks.in_memory - 1) * kEventChunk, room.head->events);
  }
  for (const TraceSize& others : {SizeOfThreadEvents(otf2_archive), SizeOfDeviceEvents(otf2_archive)}) {
    own[0] += others.bytes;
    own[1] += others.events;
  }
  std::uint64_t sums[2] = {}, largest = 0;
  real.MPI_Allreduce(own, sums, 2, MPI_UINT64_T, MPI_SUM, OwnWorld());
  real.MPI_Allreduce(own, &largest, 1, MPI_UINT64_T, MPI_MAX, OwnWorld());
  RemoveFiles();
  if (page->rank == 0) rmdir(archive_folder.c_str());
  unlink(RoomPath(page->job, page->rank).c_str());
  return {sums[0], largest, sums[1]};
}

namespace {

std::vector<ClockOffset> offsets;  // this rank's; none on the node of rank 0

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

// Receives this rank's numbers from rank 0.
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

// The kernel's number of the socket, where all processors that the process may use are on one socket.
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
