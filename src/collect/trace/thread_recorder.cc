#include "collect/trace/thread_recorder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "collect/preload/call.h"
#include "collect/devices/devices.h"
#include "collect/trace/recorder.h"
#include "collect/threads/team.h"

namespace farscale::collect {
namespace {

// Events of a thread; chosen: 64 MiB. More are not kept, and then no threads are written.
constexpr std::size_t kMostEvents = std::size_t{1} << 21U;

// A region is entered or left. That of a team, kOpenMpParallel, begins and ends the thread's part of the team, too.
struct ThreadEvent {
  Tick time;
  CallId region;
  bool is_enter;
  std::uint32_t size;  // the team's
  Counts counts;
};

struct RecordedThread {
  std::vector<ThreadEvent> events;
  CallId barrier = CallId::kCount;  // that it is in
  bool is_full = false;
  bool is_counted = false;  // all of its events have counts
  std::uint64_t written = 0;
};

RecordedThread recorded[kMostThreads];
std::map<std::uint32_t, std::set<std::int32_t>> members_by_size;  // changed by the main thread alone

void Keep(std::size_t thread, CallId region, bool is_enter, unsigned size, Tick time) {
  RecordedThread& own = recorded[thread];
  own.is_full |= own.events.size() >= kMostEvents;
  if (own.is_full) return;
  // The main thread ends teams for others, which count no more of what is useful by then.
  const bool is_own = is_enter || region != CallId::kOpenMpParallel;
  const bool may_count = is_own && (own.is_counted || own.events.empty());
  const std::optional<Counts> now = may_count ? CountsOfWorker(thread) : std::nullopt;
  if (is_own) own.is_counted = now.has_value();
  const Counts last = own.events.empty() ? Counts{} : own.events.back().counts;
  own.events.push_back({time, region, is_enter, size, now.value_or(last)});
}

template <typename... Parameters>
void WriteOfMain(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Parameters...),
                 Tick time, auto... values) {
  if (!recording.is_writing) return;
  recording.Check(write(recording.writer, nullptr, time, static_cast<Parameters>(values)...));
}

// This rank's own number of a team; behind all communicators.
std::uint32_t TeamOfSize(std::uint32_t size) { return (3U << 30U) + size; }

bool Write(OTF2_EvtWriter* writer, const ThreadEvent& event, bool with_counts) {
  const bool is_team = event.region == CallId::kOpenMpParallel;
  const auto region = static_cast<std::uint32_t>(event.region);
  bool good = true;
  if (is_team && event.is_enter)
    good = OTF2_EvtWriter_ThreadTeamBegin(writer, nullptr, event.time, TeamOfSize(event.size)) == OTF2_SUCCESS;
  if (event.is_enter) NoteUsed(event.region);
  if (with_counts) {
    constexpr OTF2_Type kTypes[] = {OTF2_TYPE_INT64, OTF2_TYPE_INT64};
    OTF2_MetricValue values[2];
    values[0].signed_int = static_cast<std::int64_t>(event.counts.instructions);
    values[1].signed_int = static_cast<std::int64_t>(event.counts.cycles);
    OTF2_EvtWriter_Metric(writer, nullptr, event.time, kCountersClass, 2, kTypes, values);
  }
  const auto write = event.is_enter ? OTF2_EvtWriter_Enter : OTF2_EvtWriter_Leave;
  good = good && write(writer, nullptr, event.time, region) == OTF2_SUCCESS;
  if (is_team && !event.is_enter)
    good = good && OTF2_EvtWriter_ThreadTeamEnd(writer, nullptr, event.time, TeamOfSize(event.size)) == OTF2_SUCCESS;
  return good;
}

}  // namespace

bool IsRecordingTeams() { return this_thread.is_recording && recording.writer != nullptr && recording.is_writing; }

void RecordFork(unsigned threads, Tick time) {
  WriteOfMain(OTF2_EvtWriter_ThreadFork, time, OTF2_PARADIGM_OPENMP, threads);
}

void RecordTeamBegin(std::size_t thread, unsigned size, Tick time) {
  if (thread != 0) {
    Keep(thread, CallId::kOpenMpParallel, true, size, time);
    return;
  }
  const auto [entry, is_new] = members_by_size.try_emplace(size);
  if (is_new) {
    entry->second.insert(0);
    // A trace of a run that does not come to its end has the main thread of the team alone.
    Define(&RankDefinitions::teams, GroupDefinition{TeamOfSize(size), {0}, {}});
  }
  WriteOfMain(OTF2_EvtWriter_ThreadTeamBegin, time, TeamOfSize(size));
  RecordEnter(CallId::kOpenMpParallel, time);
}

void RecordBarrier(std::size_t thread, bool is_implicit, bool is_enter, Tick time) {
  CallId& open = recorded[thread].barrier;
  if (is_enter) open = is_implicit ? CallId::kOpenMpImplicitBarrier : CallId::kOpenMpBarrier;
  if (open != CallId::kCount) RecordEdge(thread, open, is_enter, time);
  if (!is_enter) open = CallId::kCount;
}

void RecordEdge(std::size_t thread, CallId region, bool is_enter, Tick time) {
  if (thread != 0) {
    Keep(thread, region, is_enter, 0, time);
  } else if (is_enter) {
    RecordEnter(region, time);
  } else {
    RecordLeave(region, time);
  }
}

void RecordDeviceCall(std::size_t thread, bool is_enter, Tick time) {
  RecordEdge(thread, DeviceCall(CallId::kCudaRuntime, CallId::kHipRuntime), is_enter, time);
}

void RecordTeamEnd(std::size_t thread, unsigned size, Tick time) {
  RecordBarrier(thread, true, false, time);
  members_by_size[size].insert(static_cast<std::int32_t>(thread));
  if (thread != 0) {
    Keep(thread, CallId::kOpenMpParallel, false, size, time);
    return;
  }
  RecordLeave(CallId::kOpenMpParallel, time);
  WriteOfMain(OTF2_EvtWriter_ThreadTeamEnd, time, TeamOfSize(size));
}

void RecordJoin(Tick time) { WriteOfMain(OTF2_EvtWriter_ThreadJoin, time, OTF2_PARADIGM_OPENMP); }

bool HasTooManyThreadEvents() {
  return std::ranges::any_of(recorded, [](const RecordedThread& thread) { return thread.is_full; });
}

LocationDefinitions OwnThreads() {
  LocationDefinitions own;
  for (std::size_t thread = 1; thread < kMostThreads && !HasTooManyThreadEvents(); ++thread) {
    if (recorded[thread].written > 0) own.push_back({thread, recorded[thread].written});
  }
  return own;
}

std::vector<GroupDefinition> OwnTeams() {
  std::vector<GroupDefinition> own;
  for (const auto& [size, members] : members_by_size) {
    own.push_back({TeamOfSize(size), {members.begin(), members.end()}, {}});
  }
  return own;
}

bool WriteThreadEvents(OTF2_Archive* archive, TraceSize* estimate) {
  bool good = true;
  for (std::size_t thread = 1; thread < kMostThreads && !HasTooManyThreadEvents(); ++thread) {
    RecordedThread& own = recorded[thread];
    const auto write = [&](OTF2_EvtWriter* writer) {
      return std::ranges::all_of(own.events,
                                 [&](const ThreadEvent& one) { return Write(writer, one, own.is_counted); });
    };
    if (!own.events.empty()) good = WriteLocation(archive, thread, write, own.written, estimate) && good;
  }
  return good;
}

}  // namespace farscale::collect
