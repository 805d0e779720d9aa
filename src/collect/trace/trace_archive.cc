#include <otf2/OTF2_MPI_Collectives.h>  // its functions are of MPI's names, which are the wrappers'
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include "collect/preload/call.h"
#include "collect/trace/communicators.h"
#include "collect/devices/devices.h"
#include "collect/trace/recorder.h"
#include "collect/preload/run.h"
#include "collect/text.h"
#include "collect/trace/thread_recorder.h"

namespace farscale::collect {
namespace {

// Chunks of events that a rank keeps in memory; then they are written to the file, and the trace says so. Chosen: 16
// MiB a rank.
constexpr std::size_t kMostChunks = 16;

OTF2_Archive* otf2_archive = nullptr;
std::string anchor;

Room room;
std::string archive_folder;
bool is_estimated = false;

std::uint64_t event_bytes = 0;  // that wait to be written, in whole chunks

// The chunks of one buffer, and how many of them are in use.
struct BufferChunks {
  std::vector<char*> chunks;
  std::size_t used = 0;
};

BufferChunks* of_events = nullptr;              // those of the main thread's events, which lie in the room
const BufferChunks* of_other_events = nullptr;  // those of the location beside it that got memory last

void NoteWritten() {
  const auto [in_file, in_memory] = ChunksIn(*room.head);
  SetChunks(*room.head, in_file + in_memory, 0);
  event_bytes = 0;
}

// True for another thread than the main one, or a stream of a device.
bool IsOfOthers(OTF2_LocationRef location) { return location != OTF2_UNDEFINED_LOCATION && (location >> 32U) != 0; }

void* Allocate(void*, OTF2_FileType type, OTF2_LocationRef location, void** of_buffer, std::uint64_t size) {
  if (*of_buffer == nullptr) *of_buffer = new (std::nothrow) BufferChunks;
  auto* buffer = static_cast<BufferChunks*>(*of_buffer);
  const bool is_of_others = IsOfOthers(location), is_of_events = type == OTF2_FILETYPE_EVENTS;
  const bool is_in_room = is_of_events && !is_of_others;
  if (buffer == nullptr || (!is_of_others && buffer->used == kMostChunks)) return nullptr;
  if (buffer->used == buffer->chunks.size()) {
    char* fresh = is_in_room ? room.chunks + buffer->used * kEventChunk : static_cast<char*>(std::malloc(size));
    if (fresh == nullptr) return nullptr;
    buffer->chunks.push_back(fresh);
  }
  char* const chunk = buffer->chunks[buffer->used++];
  if (is_of_events) event_bytes += size;
  if (is_of_others) of_other_events = buffer;
  if (is_in_room) {
    of_events = buffer;
    *chunk = 0;  // not the leftover of an earlier chunk
    SetChunks(*room.head, ChunksIn(*room.head).first, buffer->used);
  }
  return chunk;
}

void FreeAll(void*, OTF2_FileType type, OTF2_LocationRef location, void** of_buffer, bool is_last) {
  auto* buffer = static_cast<BufferChunks*>(*of_buffer);
  if (buffer == nullptr) return;
  const bool is_of_events = type == OTF2_FILETYPE_EVENTS, is_in_room = is_of_events && !IsOfOthers(location);
  buffer->used = 0;
  if (is_of_events) event_bytes = 0;
  if (is_in_room) NoteWritten();
  if (!is_last) return;
  for (char* chunk : buffer->chunks) {
    if (!is_in_room) std::free(chunk);
  }
  delete buffer;
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
  if (IsOfOthers(location)) return now;
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
  if (access((archive_folder + "/" + kArchiveName + ".otf2").c_str(), F_OK) == 0) {
    return archive_folder + " contains a trace already; choose another folder, or remove it";
  }
  if (access((archive_folder + "/" + kArchiveName).c_str(), F_OK) == 0) {
    return archive_folder +
           " contains a trace that is not finished; choose another folder, remove it, or try farscale trace "
           "--recover";
  }
  return "";
}

// A trace that is not whole is of no use, and stands in the way of the next.
void RemoveFiles() {
  real.MPI_Barrier(OwnWorld());
  if (page->rank != 0) return;
  unlink((archive_folder + "/" + kArchiveName + ".otf2").c_str());
  RemoveUnfinished(archive_folder);
}

bool Agree(bool good) {
  int mine = good ? 1 : 0, all = 0;
  real.MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, OwnWorld());
  return all != 0;
}

constexpr int kRounds = 10;  // chosen: the fastest of so many exchanges is hardly disturbed

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
    const std::uint64_t middle = begin + shortest / 2;
    best = {middle, static_cast<std::int64_t>(there - middle)};
  }
  return best;
}

std::string Receive(int rank, int tag) {
  MPI_Status status;
  int size = 0;
  PMPI_Probe(rank, tag, OwnWorld(), &status);
  PMPI_Get_count(&status, MPI_BYTE, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  real.MPI_Recv(bytes.data(), size, MPI_BYTE, rank, tag, OwnWorld(), MPI_STATUS_IGNORE);
  return bytes;
}

void Send(const std::string& bytes, int rank, int tag) {
  real.MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, tag, OwnWorld());
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

bool WriteOwnDefinitions(OTF2_Archive* archive, const RankNumbers& numbers) {
  if (OTF2_Archive_OpenDefFiles(archive) != OTF2_SUCCESS) return false;
  const auto rank = static_cast<std::uint64_t>(page->rank);
  std::vector<std::uint64_t> locations = {0};
  for (const auto& [number, events] : OwnThreads()) locations.push_back(number);
  for (const auto& [name, of_device] : OwnDevices()) {
    for (const auto& [number, events] : of_device) locations.push_back(number);
  }
  bool good = true;
  for (const std::uint64_t number : locations) {
    good = WriteLocalDefinitions(archive, LocationOf(rank, number), own_definitions.offsets, numbers) && good;
  }
  return OTF2_Archive_CloseDefFiles(archive) == OTF2_SUCCESS && good;
}

// Collective; whether all could be written here.
bool WriteDefinitions(OTF2_Archive* archive, std::uint64_t events, bool has_counters) {
  RankDefinitions own = own_definitions;
  own.host = page->host;
  own.socket = SocketOfProcess();
  own.events = events;
  own.begin = page->begin_tick;
  own.end = page->end_tick;
  if (!own.offsets.empty()) {  // clocks of two nodes may tick at different rates, so every end of the run has its own
    own.begin += static_cast<std::uint64_t>(own.offsets.front().second);
    own.end += static_cast<std::uint64_t>(own.offsets.back().second);
  }
  for (std::uint32_t i = 0; i < page->regions; ++i) own.regions.emplace_back(page->region[i].name);
  own.threads = OwnThreads();
  own.teams = OwnTeams();
  own.devices = OwnDevices();
  std::vector<RankDefinitions> all;  // one per rank at rank 0; nothing elsewhere
  if (page->rank != 0) {
    Send(Pack(std::move(own)), 0, 2);
  } else {
    all.push_back(std::move(own));
    for (int other = 1; other < page->ranks; ++other) Unpack(Receive(other, 2), all.emplace_back());
  }
  RunFacts facts = FactsOfRun(*page, has_counters);
  const std::vector<RankNumbers> of_ranks =
      NumberDefinitions(all, static_cast<std::uint32_t>(CallId::kCount), facts);  // none on other ranks than 0
  for (std::size_t other = 1; other < of_ranks.size(); ++other) Send(Pack(of_ranks[other]), static_cast<int>(other), 3);
  RankNumbers numbers;
  if (page->rank != 0) Unpack(Receive(0, 3), numbers);
  const bool good = WriteOwnDefinitions(archive, page->rank == 0 ? of_ranks.front() : numbers);
  if (all.empty()) return good;
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive);
  return writer != nullptr && WriteGlobalDefinitions(writer, all, facts) && good;
}

// Whoever reads the archive has to know what is not in it: a sum over all ranks, unless that is 0. The anchor is
// written by rank 0.
bool WriteSum(const char* property, std::uint64_t own) {
  std::uint64_t sum = 0;
  real.MPI_Allreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  if (sum == 0 || page->rank != 0) return true;
  return OTF2_Archive_SetProperty(otf2_archive, property, std::to_string(sum).c_str(), true) == OTF2_SUCCESS;
}

// Leaves nothing of an archive that could not be opened.
std::string NotOpened(const Page& fresh, const std::string& why) {
  if (fresh.rank == 0) rmdir((archive_folder + "/" + kArchiveName).c_str());
  unlink(RoomPath(fresh.job, fresh.rank).c_str());
  return why;
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
  unlink((archive_folder + "/" + kArchiveName + "/" + std::to_string(page->rank) + ".room").c_str());
  good = WriteThreadEvents(otf2_archive, nullptr) && !is_full;
  good = WriteDeviceEvents(otf2_archive, nullptr) && !is_full && good;
  good = OTF2_Archive_CloseEvtFiles(otf2_archive) == OTF2_SUCCESS && good;
  good = WriteDefinitions(otf2_archive, events, with_counters) && good;
  const bool lacks_threads = (page->teams.most > 0 && OwnThreads().empty()) || page->teams.unknown > 0;
  const bool lacks_rest = (page->flags & kRecordsRegions) != 0 && page->rank == 0;
  good = WriteSum(kPropertyOfOtherThreads, __atomic_load_n(&page->other_calls, __ATOMIC_RELAXED)) && good;
  good = WriteSum(kPropertyOfThreadedRanks, lacks_threads ? 1 : 0) && good;
  good = WriteSum(kPropertyOfRegions, lacks_rest ? 1 : 0) && good;
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

bool WriteLocation(OTF2_Archive* archive, std::uint64_t number, const std::function<bool(OTF2_EvtWriter*)>& write,
                   std::uint64_t& written, TraceSize* estimate) {
  OTF2_EvtWriter* writer =
      OTF2_Archive_GetEvtWriter(archive, LocationOf(static_cast<std::uint64_t>(page->rank), number));
  const bool good =
      writer != nullptr && write(writer) && OTF2_EvtWriter_GetNumberOfEvents(writer, &written) == OTF2_SUCCESS;
  if (!good || estimate == nullptr) return good && OTF2_Archive_CloseEvtWriter(archive, writer) == OTF2_SUCCESS;
  // The writer is not closed: that would write its file.
  const std::vector<char*>& chunks = of_other_events->chunks;
  estimate->bytes += (chunks.size() - 1) * kEventChunk + UsedOfChunk(chunks.back(), written);
  estimate->events += written;
  return true;
}

std::string OpenArchive(const Page& fresh, bool estimates, OTF2_EvtWriter*& writer, Room& of_events_here) {
  is_estimated = estimates;
  archive_folder = estimates ? EstimateFolder(fresh.job) : fresh.output;
  const std::string why = fresh.rank == 0 ? MakeFolder() : "";
  if (!Agree(why.empty())) return why.empty() ? "rank 0 could not make the folder" : why;
  anchor = archive_folder + "/" + kArchiveName + ".otf2";
  otf2_archive = OpenToWrite(archive_folder, FARSCALE_GENERATOR, kFlush);
  // The calls of a trace's events have to be whole in the room, whatever ends the process.
  if (otf2_archive != nullptr) room = CreateRoom(RoomPath(fresh.job, fresh.rank), kMostChunks);
  bool good = room.head != nullptr;
  if (good) {
    room.head->call_count = static_cast<std::uint32_t>(CallId::kCount);
    room.head->has_counters = (fresh.flags & kHasCounters) != 0 ? 1 : 0;
  }
  good = good && OTF2_Archive_SetMemoryCallbacks(otf2_archive, &kMemory, nullptr) == OTF2_SUCCESS;
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
  const auto [in_file, in_memory] = ChunksIn(*room.head);
  TraceSize own = {in_file * kEventChunk, 0, room.head->events}, all;
  if (in_memory > 0) {
    own.bytes += (in_memory - 1) * kEventChunk;
    own.bytes += UsedOfChunk(room.chunks + (in_memory - 1) * kEventChunk, room.head->events);
  }
  WriteThreadEvents(otf2_archive, &own);
  WriteDeviceEvents(otf2_archive, &own);
  real.MPI_Allreduce(&own.bytes, &all.bytes, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  real.MPI_Allreduce(&own.events, &all.events, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  real.MPI_Allreduce(&own.bytes, &all.largest, 1, MPI_UINT64_T, MPI_MAX, OwnWorld());
  RemoveFiles();
  if (page->rank == 0) rmdir(archive_folder.c_str());
  unlink(RoomPath(page->job, page->rank).c_str());
  return all;
}

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
  if (is_elsewhere != 0) Define(&RankDefinitions::offsets, QueryClock());
  for (int other = 1; rank == 0 && other < ranks; ++other) {
    if (elsewhere[static_cast<std::size_t>(other)] == 0) continue;
    for (int round = 0; round < kRounds; ++round) {
      char question = 0;
      real.MPI_Recv(&question, 1, MPI_CHAR, other, 1, OwnWorld(), MPI_STATUS_IGNORE);
      const std::uint64_t time = Now();
      real.MPI_Send(&time, 1, MPI_UINT64_T, other, 1, OwnWorld());
    }
  }
}

}  // namespace farscale::collect
