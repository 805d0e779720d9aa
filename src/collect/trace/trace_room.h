// Where a rank keeps the events of its trace until they are written: shared memory like its page, so that they outlive
// the process, with all that is needed to make a trace of them [docs/file-formats.md, rooms of traces]; and traces that
// are made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "collect/page.h"
#include "collect/trace/trace_definitions.h"

namespace farscale::collect {

inline constexpr std::uint32_t kRoomVersion = 3;
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
  std::uint64_t chunks;         // see ChunksIn
  std::uint64_t events;         // that were written whole
  std::uint64_t log_bytes;
  char log[kLogBytes];  // sizes, each with a packed RankDefinitions of what is new
};

// Numbers of chunks in the file of events, and of more in memory: one word, so that it changes at once.
std::pair<std::uint64_t, std::uint64_t> ChunksIn(const RoomHead& head);
void SetChunks(RoomHead& head, std::uint64_t in_file, std::uint64_t in_memory);

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

void LogDefinitions(RoomHead& head, const RankDefinitions& added);

// All definitions of a log; nothing where they are not whole.
std::optional<RankDefinitions> DefinitionsInLog(const std::string& log);

// Where the whole events of a chunk or a file end.
struct EventsEnd {
  std::uint64_t bytes = 0;  // in the chunk
  std::uint64_t events = 0;
  std::uint64_t last_time = 0;  // the last event's; 0 without one
};

// Ends a file of chunks, whose writer is gone, behind its event number `events`, or behind its last whole one. Nothing
// where it is no file of events or cannot be written.
std::optional<EventsEnd> EndEventFile(const std::string& path, std::uint64_t events);

// Bytes of one chunk in memory up to its event number `events`, counted from the begin of the trace.
std::uint64_t UsedOfChunk(const char* chunk, std::uint64_t events);

// Traces of runs that did not come to MPI_Finalize: the events that ranks had written become whole files again, and the
// definitions are made of what pages and rooms say.

// Saves what a rank has recorded in the folder of its trace: events in `traces/RANK.evt`, from chunk `first` of the
// file on, all else in `traces/RANK.room`. `state` is its page, ended. Whether all could be written.
bool SaveRank(const std::string& folder, const Page& state, const Room& room, std::uint64_t first);

bool HasSavedRanks(const std::string& folder);
// True if all ranks of the run were saved in a folder.
bool HasAllRanks(const std::string& folder);

struct RecoveredTrace {
  std::string anchor;             // empty where there is no trace
  std::string sentence;           // why there is none, or why it ends early and what is not in it, without a full stop
  bool is_nothing_saved = false;  // so that another try would find no more
};

// Makes a trace of the ranks that were saved in a folder and removes what it was made of. `end` says how the run ended.
RecoveredTrace RecoverTrace(const std::string& folder, const std::string& end, const std::string& generator);

void RemoveUnfinished(const std::string& folder);

}  // namespace farscale::collect
