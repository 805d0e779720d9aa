#include "collect/recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collect/call.h"
#include "collect/clock.h"
#include "collect/communicators.h"
#include "collect/counters.h"
#include "collect/names.h"
#include "collect/rank_definitions.h"
#include "collect/trace_archive.h"
#include "collect/trace_definitions.h"

namespace farscale::collect {
namespace {

// CPU time is a system call, which takes longer than many MPI calls. It is asked for at an edge only when the last
// answer is older than this; in between it passes like time, so there is nothing to write.
constexpr double kCpuTimeAge = 50e3;  // ns

OTF2_EvtWriter* writer = nullptr;
bool is_writing = false;
bool is_whole = true;  // all events could be written
bool has_counters = false;
std::uint64_t last_time = 0;  // of the last edge
std::uint64_t cpu_asked = 0;  // when
std::uint64_t cpu_age = 0;    // in ticks
std::uint64_t cpu_written = 0;
double ticks_a_nanosecond = 1;
bool is_used[static_cast<std::size_t>(CallId::kCount)];
std::vector<std::string> only;  // regions to record; empty for all
int open_only = 0;              // how many of them are open
bool was_only_open = false;
std::vector<std::uint32_t> open_regions;  // in the trace, by their numbers there

void Check(OTF2_ErrorCode code) {
  if (code == OTF2_SUCCESS) return;
  is_writing = false;
  is_whole = false;
}

void WriteCpuTime(std::uint64_t time) {
  // The question takes a while, and at the end of the run comes late.
  const std::uint64_t now = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  const auto since = static_cast<std::uint64_t>(static_cast<double>(Now() - time) / ticks_a_nanosecond);
  cpu_asked = time;
  if (now > since && now - since > cpu_written) cpu_written = now - since;
  constexpr OTF2_Type kType = OTF2_TYPE_INT64;
  OTF2_MetricValue value;
  value.signed_int = static_cast<std::int64_t>(cpu_written);
  Check(OTF2_EvtWriter_Metric(writer, nullptr, time, kCpuTimeClass, 1, &kType, &value));
}

void WriteCounters(std::uint64_t time) {
  constexpr OTF2_Type kTypes[] = {OTF2_TYPE_INT64, OTF2_TYPE_INT64};
  const Counts counts = ReadCounts();
  OTF2_MetricValue values[2];
  values[0].signed_int = static_cast<std::int64_t>(counts.instructions);
  values[1].signed_int = static_cast<std::int64_t>(counts.cycles);
  Check(OTF2_EvtWriter_Metric(writer, nullptr, time, kCountersClass, 2, kTypes, values));
}

// What is known at an edge, before it.
void WriteSamples(std::uint64_t time) {
  last_time = time;
  if (time - cpu_asked >= cpu_age) [[unlikely]]
    WriteCpuTime(time);
  if (has_counters) WriteCounters(time);
}

void Enter(std::uint32_t region, std::uint64_t time) {
  WriteSamples(time);
  if (region < static_cast<std::uint32_t>(CallId::kCount)) is_used[region] = true;
  Check(OTF2_EvtWriter_Enter(writer, nullptr, time, region));
}

void Leave(std::uint32_t region, std::uint64_t time) {
  WriteSamples(time);
  Check(OTF2_EvtWriter_Leave(writer, nullptr, time, region));
}

bool IsOnly(const char* name) {
  for (const std::string& region : only) {
    if (region == name) return true;
  }
  return false;
}

void ReadOnly() {
  const char* names = std::getenv("FARSCALE_ONLY");
  for (std::string rest = names != nullptr ? names : ""; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    char name[kNameBytes];
    CopyName(rest.substr(0, end).c_str(), name);
    only.emplace_back(name);
    rest.erase(0, end == std::string::npos ? rest.size() : end + 1);
  }
}

void Switch(bool on) {
  const std::uint64_t time = Now();
  last_time = time;
  is_writing = true;
  // What passes while nothing is written is known at both of its ends, and so are regions that go on.
  for (; !on && !open_regions.empty(); open_regions.pop_back()) Leave(open_regions.back(), time);
  if (!on) WriteCpuTime(time);
  Check(OTF2_EvtWriter_MeasurementOnOff(writer, nullptr, time, on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF));
  if (on) cpu_asked = 0;
  is_writing = on;
}

}  // namespace

bool IsRecordingWhole() { return is_whole; }

bool RecordedNothing() { return !only.empty() && !was_only_open; }

std::vector<std::uint32_t> UsedCalls() {
  std::vector<std::uint32_t> used;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(CallId::kCount); ++i) {
    if (is_used[i]) used.push_back(i);
  }
  return used;
}

bool IsWriting() { return is_writing; }

bool StartRecording(const Page& fresh) {
  const std::string why = OpenArchive(fresh, writer);
  if (!why.empty()) {
    if (fresh.rank == 0) std::fprintf(stderr, "farscale: no trace: %s\n", why.c_str());
    return false;
  }
  has_counters = (fresh.flags & kHasCounters) != 0;
  ticks_a_nanosecond = TicksANanosecond();
  cpu_age = static_cast<std::uint64_t>(kCpuTimeAge * ticks_a_nanosecond);
  ReadOnly();
  StartCommunicators();
  MeasureClockOffset();
  return true;
}

void RecordBegin(std::uint64_t together) {
  this_thread.is_recording = true;
  is_writing = true;
  const std::uint64_t time = page->begin_tick;
  if (page->rank == 0) Check(OTF2_EvtWriter_ProgramBegin(writer, nullptr, time, kProgramString, 0, nullptr));
  const auto init = static_cast<std::uint32_t>(CallId::kMPI_Init);
  Enter(init, time);
  Leave(init, together);
  if (!only.empty()) Switch(false);
}

std::string FinishRecording() {
  const bool was_writing = is_writing;
  if (!was_writing && !only.empty()) Switch(true);
  const std::uint64_t time = page->end_tick > last_time ? page->end_tick : last_time;
  const auto finalize = static_cast<std::uint32_t>(CallId::kMPI_Finalize);
  if (is_writing) {
    cpu_asked = 0;
    Enter(finalize, time);
    Leave(finalize, time);
    if (page->rank == 0) {
      Check(OTF2_EvtWriter_ProgramEnd(writer, nullptr, time, static_cast<std::int64_t>(OTF2_UNDEFINED_INT64)));
    }
  }
  is_writing = false;
  this_thread.is_recording = false;
  MeasureClockOffset();
  return CloseArchive(writer, has_counters);
}

void RecordEnter(CallId id, std::uint64_t time) {
  if (is_writing) Enter(static_cast<std::uint32_t>(id), time);
}

void RecordLeave(CallId id, std::uint64_t time) {
  if (is_writing) Leave(static_cast<std::uint32_t>(id), time);
}

namespace {

// Regions of a trace nest, those of a program may overlap: what was entered since and goes on is left and entered
// again.
void LeaveRegion(std::uint32_t region, std::uint64_t time) {
  const auto found = std::find(open_regions.rbegin(), open_regions.rend(), region);
  if (found == open_regions.rend()) return;  // entered before the recording
  const std::vector<std::uint32_t> going_on(found.base(), open_regions.end());
  for (auto inner = going_on.rbegin(); inner != going_on.rend(); ++inner) Leave(*inner, time);
  Leave(region, time);
  open_regions.erase(found.base() - 1, open_regions.end());
  for (const std::uint32_t inner : going_on) {
    Enter(inner, time);
    open_regions.push_back(inner);
  }
}

}  // namespace

void RecordRegion(int index, bool is_start) {
  const auto region = static_cast<std::uint32_t>(CallId::kCount) + static_cast<std::uint32_t>(index);
  const bool switches = !only.empty() && IsOnly(page->region[index].name);
  if (is_start && switches && open_only++ == 0) {
    was_only_open = true;
    Switch(true);
  }
  if (is_writing && is_start) {
    Enter(region, Now());
    open_regions.push_back(region);
  } else if (is_writing) {
    LeaveRegion(region, Now());
  }
  if (!is_start && switches && open_only > 0 && --open_only == 0) Switch(false);
}

void RecordSend(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_MpiSend(writer, nullptr, last_time, static_cast<std::uint32_t>(peer), communicator,
                               static_cast<std::uint32_t>(tag), bytes));
}

void RecordSendPost(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes, std::uint64_t request) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_MpiIsend(writer, nullptr, last_time, static_cast<std::uint32_t>(peer), communicator,
                                static_cast<std::uint32_t>(tag), bytes, request));
}

void RecordSendComplete(std::uint64_t request) {
  if (is_writing) Check(OTF2_EvtWriter_MpiIsendComplete(writer, nullptr, last_time, request));
}

void RecordReceive(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_MpiRecv(writer, nullptr, last_time, static_cast<std::uint32_t>(peer), communicator,
                               static_cast<std::uint32_t>(tag), bytes));
}

void RecordReceivePost(std::uint64_t request) {
  if (is_writing) Check(OTF2_EvtWriter_MpiIrecvRequest(writer, nullptr, last_time, request));
}

void RecordReceiveComplete(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes, std::uint64_t request) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_MpiIrecv(writer, nullptr, last_time, static_cast<std::uint32_t>(peer), communicator,
                                static_cast<std::uint32_t>(tag), bytes, request));
}

void RecordCancelled(std::uint64_t request) {
  if (is_writing) Check(OTF2_EvtWriter_MpiRequestCancelled(writer, nullptr, last_time, request));
}

void RecordCollectiveBegin() {
  if (is_writing) Check(OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, last_time));
}

void RecordCollectiveEnd(OTF2_CollectiveOp operation, std::uint32_t communicator, std::uint32_t root,
                         CollectiveSizes sizes) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, last_time, operation, communicator, root, sizes.sent,
                                        sizes.received));
}

void RecordCollectivePost(std::uint64_t request) {
  if (is_writing) Check(OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, nullptr, last_time, request));
}

void RecordCollectiveComplete(OTF2_CollectiveOp operation, std::uint32_t communicator, std::uint32_t root,
                              CollectiveSizes sizes, std::uint64_t request) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_NonBlockingCollectiveComplete(writer, nullptr, last_time, operation, communicator, root,
                                                     sizes.sent, sizes.received, request));
}

void RecordWindowCreate(std::uint32_t window) {
  if (is_writing) Check(OTF2_EvtWriter_RmaWinCreate(writer, nullptr, last_time, window));
}

void RecordWindowDestroy(std::uint32_t window) {
  if (is_writing) Check(OTF2_EvtWriter_RmaWinDestroy(writer, nullptr, last_time, window));
}

void RecordWindowCollective(OTF2_CollectiveOp operation, std::uint32_t window) {
  if (!is_writing) return;
  constexpr OTF2_RmaSyncLevel kLevel = OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
  Check(OTF2_EvtWriter_RmaCollectiveBegin(writer, nullptr, last_time));
  Check(OTF2_EvtWriter_RmaCollectiveEnd(writer, nullptr, last_time, operation, kLevel, window,
                                        OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
}

void RecordWindowGroup(std::uint32_t window, std::uint32_t group) {
  if (!is_writing) return;
  Check(OTF2_EvtWriter_RmaGroupSync(writer, nullptr, last_time, OTF2_RMA_SYNC_LEVEL_PROCESS, window, group));
}

}  // namespace farscale::collect
