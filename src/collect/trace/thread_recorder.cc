#include "collect/trace/thread_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "collect/preload/call.h"
#include "collect/devices/devices.h"
#include "collect/trace/trace_room.h"
#include "collect/trace/recorder.h"
#include "collect/threads/thread_counter.h"

namespace farscale::collect {
namespace {

// Events of a thread; chosen: 64 MiB. More are not kept, and then no threads are written.
constexpr std::size_t kMostEvents = std::size_t{1} << 21U;

enum class EventKind : std::uint32_t {
  kTeamBegin,
  kTeamEnd,
  kEnterBarrier,
  kEnterImplicitBarrier,
  kLeaveBarrier,
  kLeaveImplicitBarrier,
  kBeginTask,
  kEndTask,
  kEnterDevice,
  kLeaveDevice
};

struct ThreadEvent {
  Tick time;
  EventKind kind;
  std::uint32_t size;  // the team's
  Counts counts;
};

struct RecordedThread {
  std::vector<ThreadEvent> events;
  bool is_in_barrier = false;
  bool is_in_implicit_barrier = false;
  bool is_full = false;
  bool is_counted = false;  // all of its events have counts
  std::uint64_t written = 0;
};

RecordedThread recorded[kMostThreads];
std::map<std::uint32_t, std::set<std::uint64_t>> members_by_size;  // changed by the main thread alone

// Memory of the location whose events were written last.
struct {
  std::size_t chunks = 0;
  const char* last = nullptr;
} event_memory;

CallId BarrierOf(bool is_implicit) { return is_implicit ? CallId::kOpenMpImplicitBarrier : CallId::kOpenMpBarrier; }

void Keep(std::size_t thread, EventKind kind, unsigned size, Tick time) {
  RecordedThread& own = recorded[thread];
  own.is_full |= own.events.size() >= kMostEvents;
  if (own.is_full) return;
  // The main thread ends teams for others, which count no more of what is useful by then.
  const bool is_own = kind != EventKind::kTeamEnd;
  if (is_own) own.is_counted = CounterOfThread(thread).has_own() && (own.is_counted || own.events.empty());
  const Counts last = own.events.empty() ? Counts{} : own.events.back().counts;
  own.events.push_back({time, kind, size, is_own && own.is_counted ? CounterOfThread(thread).CountsNow() : last});
}

// For the main thread, whose events are written at once.
template <typename... Parameters>
void WriteOfMain(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Parameters...),
                 Tick time, auto... values) {
  if (!recording.is_writing) return;
  recording.Check(write(recording.writer, nullptr, time, static_cast<Parameters>(values)...));
}

// This rank's own number of a team; behind all communicators.
std::uint32_t TeamOfSize(std::uint32_t size) { return (3U << 30U) + size; }

// A trace of a run that does not come to its end has the main thread of the team alone.
void NoteTeam(std::uint32_t size) {
  const auto [entry, is_new] = members_by_size.try_emplace(size);
  if (!is_new) return;
  entry->second.insert(0);
  RankDefinitions added;
  added.teams.push_back({TeamOfSize(size), {0}});
  NoteDefinitions(added);
}

OTF2_ErrorCode Write(OTF2_EvtWriter* writer, const ThreadEvent& event, bool with_counts) {
  const auto write_counts = [&] {
    constexpr OTF2_Type kTypes[] = {OTF2_TYPE_INT64, OTF2_TYPE_INT64};
    OTF2_MetricValue values[2];
    values[0].signed_int = static_cast<std::int64_t>(event.counts.instructions);
    values[1].signed_int = static_cast<std::int64_t>(event.counts.cycles);
    if (with_counts) OTF2_EvtWriter_Metric(writer, nullptr, event.time, kCountersClass, 2, kTypes, values);
  };
  const auto enter = [&](CallId id) {
    NoteUsed(id);
    write_counts();
    return OTF2_EvtWriter_Enter(writer, nullptr, event.time, static_cast<std::uint32_t>(id));
  };
  const auto leave = [&](CallId id) {
    write_counts();
    return OTF2_EvtWriter_Leave(writer, nullptr, event.time, static_cast<std::uint32_t>(id));
  };
  OTF2_ErrorCode code = OTF2_SUCCESS;
  switch (event.kind) {
    case EventKind::kTeamBegin:
      code = OTF2_EvtWriter_ThreadTeamBegin(writer, nullptr, event.time, TeamOfSize(event.size));
      return code == OTF2_SUCCESS ? enter(CallId::kOpenMpParallel) : code;
    case EventKind::kTeamEnd:
      code = leave(CallId::kOpenMpParallel);
      return code != OTF2_SUCCESS ? code
                                  : OTF2_EvtWriter_ThreadTeamEnd(writer, nullptr, event.time, TeamOfSize(event.size));
    case EventKind::kEnterBarrier: return enter(CallId::kOpenMpBarrier);
    case EventKind::kEnterImplicitBarrier: return enter(CallId::kOpenMpImplicitBarrier);
    case EventKind::kLeaveBarrier: return leave(CallId::kOpenMpBarrier);
    case EventKind::kLeaveImplicitBarrier: return leave(CallId::kOpenMpImplicitBarrier);
    case EventKind::kBeginTask: return enter(CallId::kOpenMpTask);
    case EventKind::kEndTask: return leave(CallId::kOpenMpTask);
    case EventKind::kEnterDevice: return enter(RegionsOfDevices().runtime);
    case EventKind::kLeaveDevice: return leave(RegionsOfDevices().runtime);
  }
  return code;
}

// Nothing where it could not be done.
OTF2_EvtWriter* WriteThread(OTF2_Archive* archive, std::size_t thread) {
  RecordedThread& own = recorded[thread];
  const std::uint64_t location = LocationOf(static_cast<std::uint64_t>(page->rank), thread);
  OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive, location);
  bool good = writer != nullptr;
  for (const ThreadEvent& event : own.events) good = good && Write(writer, event, own.is_counted) == OTF2_SUCCESS;
  good = good && OTF2_EvtWriter_GetNumberOfEvents(writer, &own.written) == OTF2_SUCCESS;
  return good ? writer : nullptr;
}

}  // namespace

bool IsRecordingTeams() { return this_thread.is_recording && recording.writer != nullptr && recording.is_writing; }

void RecordFork(unsigned threads, Tick time) {
  WriteOfMain(OTF2_EvtWriter_ThreadFork, time, OTF2_PARADIGM_OPENMP, threads);
}

void RecordTeamBegin(std::size_t thread, unsigned size, Tick time) {
  if (thread != 0) {
    Keep(thread, EventKind::kTeamBegin, size, time);
    return;
  }
  NoteTeam(size);
  WriteOfMain(OTF2_EvtWriter_ThreadTeamBegin, time, TeamOfSize(size));
  RecordEnter(CallId::kOpenMpParallel, time);
}

void RecordBarrier(std::size_t thread, bool is_implicit, bool is_enter, Tick time) {
  RecordedThread& own = recorded[thread];
  if (!is_enter) {
    if (!own.is_in_barrier) return;
    is_implicit = own.is_in_implicit_barrier;
  }
  own.is_in_barrier = is_enter;
  own.is_in_implicit_barrier = is_implicit;
  if (thread == 0 && is_enter) RecordEnter(BarrierOf(is_implicit), time);
  if (thread == 0 && !is_enter) RecordLeave(BarrierOf(is_implicit), time);
  if (thread == 0) return;
  if (is_enter) {
    Keep(thread, is_implicit ? EventKind::kEnterImplicitBarrier : EventKind::kEnterBarrier, 0, time);
  } else {
    Keep(thread, is_implicit ? EventKind::kLeaveImplicitBarrier : EventKind::kLeaveBarrier, 0, time);
  }
}

void RecordTask(std::size_t thread, bool is_begin, Tick time) {
  if (thread != 0) {
    Keep(thread, is_begin ? EventKind::kBeginTask : EventKind::kEndTask, 0, time);
  } else if (is_begin) {
    RecordEnter(CallId::kOpenMpTask, time);
  } else {
    RecordLeave(CallId::kOpenMpTask, time);
  }
}

void RecordDeviceCall(std::size_t thread, bool is_enter, Tick time) {
  Keep(thread, is_enter ? EventKind::kEnterDevice : EventKind::kLeaveDevice, 0, time);
}

void RecordTeamEnd(std::size_t thread, unsigned size, Tick time) {
  RecordBarrier(thread, true, false, time);
  members_by_size[size].insert(thread);
  if (thread != 0) {
    Keep(thread, EventKind::kTeamEnd, size, time);
    return;
  }
  RecordLeave(CallId::kOpenMpParallel, time);
  WriteOfMain(OTF2_EvtWriter_ThreadTeamEnd, time, TeamOfSize(size));
}

void RecordJoin(Tick time) { WriteOfMain(OTF2_EvtWriter_ThreadJoin, time, OTF2_PARADIGM_OPENMP); }

bool HasTooManyThreadEvents() {
  return std::ranges::any_of(recorded, [](const RecordedThread& thread) { return thread.is_full; });
}

std::vector<ThreadDefinition> OwnThreads() {
  std::vector<ThreadDefinition> own;
  for (std::size_t thread = 1; thread < kMostThreads && !HasTooManyThreadEvents(); ++thread) {
    if (recorded[thread].written > 0) own.push_back({thread, recorded[thread].written});
  }
  return own;
}

std::vector<TeamDefinition> OwnTeams() {
  std::vector<TeamDefinition> own;
  for (const auto& [size, members] : members_by_size) {
    own.push_back({TeamOfSize(size), {members.begin(), members.end()}});
  }
  return own;
}

bool WriteThreadEvents(OTF2_Archive* archive) {
  bool good = true;
  for (std::size_t thread = 1; thread < kMostThreads && !HasTooManyThreadEvents(); ++thread) {
    if (recorded[thread].events.empty()) continue;
    OTF2_EvtWriter* writer = WriteThread(archive, thread);
    good = writer != nullptr && OTF2_Archive_CloseEvtWriter(archive, writer) == OTF2_SUCCESS && good;
  }
  return good;
}

// The writers are not closed: that would write their files.
TraceSize SizeOfThreadEvents(OTF2_Archive* archive) {
  TraceSize size;
  for (std::size_t thread = 1; thread < kMostThreads && !HasTooManyThreadEvents(); ++thread) {
    if (recorded[thread].events.empty() || WriteThread(archive, thread) == nullptr) continue;
    const std::uint64_t events = recorded[thread].written;
    size.bytes += BytesOfLastWritten(events);
    size.events += events;
  }
  return size;
}

std::uint64_t BytesOfLastWritten(std::uint64_t events) {
  return (event_memory.chunks - 1) * kEventChunk + UsedOfChunk(event_memory.last, events);
}

void RemoveThreadFiles(const std::string& folder) {
  for (std::size_t thread = 1; thread < kMostThreads; ++thread) {
    const std::uint64_t location = LocationOf(static_cast<std::uint64_t>(page->rank), thread);
    for (const char* extension : {".evt", ".def"}) unlink((folder + std::to_string(location) + extension).c_str());
  }
}

bool IsLocationOfThread(std::uint64_t location) {
  return location != OTF2_UNDEFINED_LOCATION && (location >> 32U) != 0;
}

void* AllocateForThread(void** of_buffer, std::uint64_t size) {
  if (*of_buffer == nullptr) *of_buffer = new std::vector<void*>;
  auto& chunks = *static_cast<std::vector<void*>*>(*of_buffer);
  void* chunk = std::malloc(size);
  if (chunk == nullptr) return nullptr;
  chunks.push_back(chunk);
  event_memory = {chunks.size(), static_cast<const char*>(chunk)};
  return chunk;
}

void FreeOfThread(void** of_buffer) {
  auto* chunks = static_cast<std::vector<void*>*>(*of_buffer);
  if (chunks == nullptr) return;
  for (void* chunk : *chunks) std::free(chunk);
  delete chunks;
  *of_buffer = nullptr;
}

}  // namespace farscale::collect
