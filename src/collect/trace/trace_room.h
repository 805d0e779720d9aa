// Where a rank keeps the events of its trace until they are written: shared memory like its page, so that they outlive
// the process, with all that is needed to make a trace of them [docs/file-formats.md, rooms of traces].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "collect/page.h"
#include "collect/trace/trace_definitions.h"

namespace farscale::collect {

inline constexpr std::uint32_t kRoomVersion = 2;
inline constexpr char kRoomMagic[8] = {'f', 'a', 'r', 's', 'r', 'o', 'o', 'm'};
// Bytes of definitions; chosen: a hundred communicators of a thousand ranks.
inline constexpr std::size_t kLogBytes = std::size_t{1} << 20;

struct RoomHead {
  char magic[8];
  std::uint32_t version;
  std::uint32_t call_count;     // MPI functions that the rank knows
  std::uint32_t has_counters;   // written at every edge
  std::uint32_t is_log_full;    // some definitions are not in the log
  std::uint64_t shared_chunks;  // behind this head; 0 when events are in the memory of the process alone
  std::uint64_t chunks;         // see Chunks
  std::uint64_t events;         // that were written whole
  std::uint64_t log_bytes;
  char log[kLogBytes];  // sizes, each with a packed RankDefinitions of what is new
};

// Numbers of chunks in the file of events, and of more that hold events: one word, so that it changes at once.
struct Chunks {
  std::uint64_t in_file = 0;
  std::uint64_t in_memory = 0;
};
Chunks ChunksOf(const RoomHead& head);
void SetChunks(RoomHead& head, Chunks chunks);

struct Room {
  RoomHead* head = nullptr;
  char* chunks = nullptr;  // kEventChunk bytes each
};

std::string RoomPath(const std::string& job, int rank);
// Where the archive of an estimate is opened, which gets no files of events.
std::string EstimateFolder(const std::string& job);

// A new room for `chunks` chunks, touched. Without enough shared memory its chunks, or all of it, are the process's
// own. Nothing in it, if there is no memory at all.
Room CreateRoom(const std::string& path, std::size_t chunks);

// A room of this user, for reading; nothing in it where there is none.
Room MapRoom(const std::string& path);

// Adds definitions to the log of a room.
void LogDefinitions(RoomHead& head, const RankDefinitions& added);

// All definitions of a log; nothing where they are not whole.
std::optional<RankDefinitions> DefinitionsInLog(const std::string& log);

// The end of a file of events whose writer is gone.

struct EventFile {
  std::uint64_t events = 0;
  std::uint64_t last_time = 0;  // the last event's; 0 without one
};

// Ends a file of chunks behind its event number `events`, or behind its last whole one. Nothing where it is no file of
// events or cannot be written.
std::optional<EventFile> EndEventFile(const std::string& path, std::uint64_t events);

// Bytes of one chunk in memory up to its event number `events`, counted from the begin of the trace.
std::uint64_t UsedOfChunk(const char* chunk, std::uint64_t events);

}  // namespace farscale::collect
