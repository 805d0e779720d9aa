#include "collect/trace_archive.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "collect/call.h"
#include "collect/communicators.h"
#include "collect/recorder.h"
#include "collect/run.h"
#include "collect/trace_definitions.h"

#include <otf2/OTF2_MPI_Collectives.h>  // its functions are of MPI's names, which are the wrappers'

namespace farscale::collect {
namespace {

// Bytes of chunks, chosen: the largest record of events is small, that of definitions is the group of MPI_COMM_WORLD.
constexpr std::uint64_t kEventChunk = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefinitionChunk = std::uint64_t{1} << 22;
// Chunks of events that a rank keeps in memory; then they are written to the file, and the trace says so. Chosen: 16
// MiB a rank.
constexpr std::size_t kMostChunks = 16;
constexpr const char* kName = "traces";
// Number of MPI calls by other threads than those that called MPI_Init, as trace/otf2_reader.cc knows it.
constexpr const char* kPropertyOfOtherThreads = "FARSCALE::CALLS_OF_OTHER_THREADS";
constexpr const char* kPropertyOfThreadedRanks = "FARSCALE::RANKS_WITH_THREADS";

OTF2_Archive* archive = nullptr;
std::string anchor;

// Room for all chunks of events, touched before the run begins: the first touch of a page of memory takes longer than
// the calls whose events it holds.
constexpr std::size_t kRoomBytes = kMostChunks * kEventChunk;
char* room = nullptr;

bool MakeRoom() {
  void* memory = mmap(nullptr, kRoomBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, kRoomBytes, MADV_HUGEPAGE);
  room = static_cast<char*>(memory);
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < kRoomBytes; i += page_bytes) static_cast<volatile char*>(room)[i] = 0;
  return true;
}

std::uint64_t event_bytes = 0;  // that wait to be written, in whole chunks

// The chunks of one buffer.
struct Chunks {
  void* chunk[kMostChunks];
  std::size_t made;
  std::size_t used;
};

void* Allocate(void*, OTF2_FileType type, OTF2_LocationRef, void** of_buffer, std::uint64_t size) {
  if (*of_buffer == nullptr) *of_buffer = std::calloc(1, sizeof(Chunks));
  auto* chunks = static_cast<Chunks*>(*of_buffer);
  if (chunks == nullptr || chunks->used == kMostChunks) return nullptr;
  if (chunks->used == chunks->made) {
    void* fresh = type == OTF2_FILETYPE_EVENTS ? room + chunks->made * kEventChunk : std::malloc(size);
    if (fresh == nullptr) return nullptr;
    chunks->chunk[chunks->made++] = fresh;
  }
  if (type == OTF2_FILETYPE_EVENTS) event_bytes += size;
  return chunks->chunk[chunks->used++];
}

void FreeAll(void*, OTF2_FileType type, OTF2_LocationRef, void** of_buffer, bool is_last) {
  auto* chunks = static_cast<Chunks*>(*of_buffer);
  if (chunks == nullptr) return;
  chunks->used = 0;
  if (type == OTF2_FILETYPE_EVENTS) event_bytes = 0;
  if (!is_last) return;
  if (type == OTF2_FILETYPE_EVENTS) {
    munmap(room, kRoomBytes);
  } else {
    for (std::size_t i = 0; i < chunks->made; ++i) std::free(chunks->chunk[i]);
  }
  std::free(chunks);
  *of_buffer = nullptr;
}

Tick flush_began = 0;

bool is_full = false;

// The OTF2 library does not survive a file that cannot take its events.
OTF2_FlushType BeforeFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  flush_began = Now();
  struct statvfs disk;
  if (!is_full && statvfs(page->output, &disk) == 0) is_full = disk.f_bavail * disk.f_frsize < 2 * event_bytes;
  return is_full ? OTF2_NO_FLUSH : OTF2_FLUSH;
}

OTF2_TimeStamp AfterFlush(void*, OTF2_FileType, OTF2_LocationRef) {
  const Tick now = Now();
  if (page->end_tick == 0) Store(page->flushed, page->flushed + (now - flush_began));
  return now;
}

constexpr OTF2_MemoryCallbacks kMemory = {Allocate, FreeAll};
constexpr OTF2_FlushCallbacks kFlush = {BeforeFlush, AfterFlush};

// Made by rank 0 alone, before the others open it.
std::string MakeFolder(const std::string& folder) {
  for (std::size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1)) {
    mkdir(folder.substr(0, end).c_str(), 0777);
  }
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return folder + " cannot be made: " + std::strerror(errno);
  if (access((folder + "/" + kName + ".otf2").c_str(), F_OK) == 0) {
    return folder + " contains a trace already; choose another folder, or remove it";
  }
  if (access((folder + "/" + kName).c_str(), F_OK) == 0) {
    return folder + " contains a trace that is not finished; choose another folder, or remove it";
  }
  return "";
}

// Errors are reported by us, once.
OTF2_ErrorCode IgnoreMessage(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char*,
                             va_list) {
  return code;
}

// A trace that is not whole is of no use, and stands in the way of the next.
void RemoveFiles() {
  const std::string folder = std::string(page->output) + "/", events = folder + kName + "/";
  for (int rank = 0; page->rank == 0 && rank < page->ranks; ++rank) {
    for (const char* extension : {".evt", ".def"}) unlink((events + std::to_string(rank) + extension).c_str());
  }
  if (page->rank != 0) return;
  rmdir(events.c_str());
  for (const char* extension : {".def", ".otf2"}) unlink((folder + kName + extension).c_str());
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
  return OTF2_Archive_SetProperty(archive, kPropertyOfOtherThreads, std::to_string(of_all).c_str(), true) ==
         OTF2_SUCCESS;
}

// Likewise for threads, whose events are not recorded.
bool WriteThreadedRanks() {
  const std::uint64_t has_threads = page->teams.most > 0 || page->teams.unknown > 0 ? 1 : 0;
  std::uint64_t ranks = 0;
  real.MPI_Allreduce(&has_threads, &ranks, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
  if (ranks == 0 || page->rank != 0) return true;
  return OTF2_Archive_SetProperty(archive, kPropertyOfThreadedRanks, std::to_string(ranks).c_str(), true) ==
         OTF2_SUCCESS;
}

// Leaves nothing of an archive that could not be opened.
std::string NotOpened(const Page& fresh, const std::string& why) {
  if (fresh.rank == 0) rmdir((std::string(fresh.output) + "/" + kName).c_str());
  return why;
}

}  // namespace

std::string OpenArchive(const Page& fresh, OTF2_EvtWriter*& writer) {
  const std::string folder = fresh.output;
  const std::string why = fresh.rank == 0 ? MakeFolder(folder) : "";
  if (!Agree(why.empty())) return why.empty() ? "rank 0 could not make the folder" : why;
  anchor = folder + "/" + kName + ".otf2";
  OTF2_Error_RegisterCallback(IgnoreMessage, nullptr);
  archive = OTF2_Archive_Open(folder.c_str(), kName, OTF2_FILEMODE_WRITE, kEventChunk, kDefinitionChunk,
                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  bool good = archive != nullptr && MakeRoom();
  good = good && OTF2_Archive_SetFlushCallbacks(archive, &kFlush, nullptr) == OTF2_SUCCESS;
  good = good && OTF2_Archive_SetMemoryCallbacks(archive, &kMemory, nullptr) == OTF2_SUCCESS;
  good = good && OTF2_Archive_SetCreator(archive, FARSCALE_GENERATOR) == OTF2_SUCCESS;
  if (!Agree(good)) return NotOpened(fresh, anchor + " cannot be written");
  good = OTF2_MPI_Archive_SetCollectiveCallbacks(archive, OwnWorld(), MPI_COMM_NULL) == OTF2_SUCCESS;
  good = good && OTF2_Archive_OpenEvtFiles(archive) == OTF2_SUCCESS;
  if (good) writer = OTF2_Archive_GetEvtWriter(archive, static_cast<OTF2_LocationRef>(fresh.rank));
  if (!Agree(good && writer != nullptr)) return NotOpened(fresh, anchor + " cannot be written");
  return "";
}

std::string CloseArchive(OTF2_EvtWriter* writer, bool has_counters) {
  std::uint64_t events = 0;
  OTF2_EvtWriter_GetNumberOfEvents(writer, &events);
  const std::uint64_t unknown = UnknownCommunicators();
  bool good = recording.is_complete;
  if (good) good = OTF2_Archive_CloseEvtWriter(archive, writer) == OTF2_SUCCESS && !is_full;
  if (!Agree(good)) {
    RemoveFiles();
    return "warning: there is no trace: " + std::string(page->output) + " has no room for it";
  }
  good = OTF2_Archive_CloseEvtFiles(archive) == OTF2_SUCCESS && good;
  good = WriteDefinitions(archive, events, has_counters) && good;
  good = WriteCallsOfOtherThreads() && good;
  good = WriteThreadedRanks() && good;
  good = OTF2_Archive_Close(archive) == OTF2_SUCCESS && good;
  std::uint64_t unknown_of_all = 0;
  real.MPI_Allreduce(&unknown, &unknown_of_all, 1, MPI_UINT64_T, MPI_SUM, OwnWorld());
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
  return message + "wrote " + anchor;
}

}  // namespace farscale::collect
