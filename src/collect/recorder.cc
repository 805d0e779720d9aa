#include "collect/recorder.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "collect/call.h"
#include "collect/clock.h"
#include "collect/communicators.h"
#include "collect/counters.h"
#include "collect/text.h"
#include "collect/trace_definitions.h"
#include "collect/trace_archive.h"

namespace farscale::collect {
namespace {

// CPU time is a system call, which takes longer than many MPI calls. It is asked for at an edge only when the last
// sample is older than this; in between it passes like time, so there is nothing to write.
constexpr double kCpuTimeAge = 50e3;  // ns

bool has_counters = false;
std::uint64_t cpu_asked = 0;  // when
std::uint64_t cpu_age = 0;    // in ticks
std::uint64_t cpu_written = 0;
double ticks_a_nanosecond = 1;
bool is_used[static_cast<std::size_t>(CallId::kCount)];
std::vector<std::string> only;  // regions to record; empty for all
int open_only = 0;              // how many of them are open
bool was_only_open = false;
std::vector<std::uint32_t> open_regions;  // in the trace, by their numbers there

void WriteCpuTime(std::uint64_t time) {
  // The question takes a while, and at the end of the run comes late.
  const std::uint64_t now = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  const auto since = static_cast<std::uint64_t>(static_cast<double>(Now() - time) / ticks_a_nanosecond);
  cpu_asked = time;
  if (now > since && now - since > cpu_written) cpu_written = now - since;
  constexpr OTF2_Type kType = OTF2_TYPE_INT64;
  OTF2_MetricValue value;
  value.signed_int = static_cast<std::int64_t>(cpu_written);
  recording.Check(OTF2_EvtWriter_Metric(recording.writer, nullptr, time, kCpuTimeClass, 1, &kType, &value));
}

void WriteCounters(std::uint64_t time) {
  constexpr OTF2_Type kTypes[] = {OTF2_TYPE_INT64, OTF2_TYPE_INT64};
  const Counts counts = ReadCounts();
  OTF2_MetricValue values[2];
  values[0].signed_int = static_cast<std::int64_t>(counts.instructions);
  values[1].signed_int = static_cast<std::int64_t>(counts.cycles);
  recording.Check(OTF2_EvtWriter_Metric(recording.writer, nullptr, time, kCountersClass, 2, kTypes, values));
}

// What is known at an edge, before it.
void WriteSamples(std::uint64_t time) {
  recording.last_time = time;
  if (time - cpu_asked >= cpu_age) [[unlikely]]
    WriteCpuTime(time);
  if (has_counters) WriteCounters(time);
}

void Enter(std::uint32_t region, std::uint64_t time) {
  WriteSamples(time);
  if (region < static_cast<std::uint32_t>(CallId::kCount)) is_used[region] = true;
  recording.Check(OTF2_EvtWriter_Enter(recording.writer, nullptr, time, region));
}

void Leave(std::uint32_t region, std::uint64_t time) {
  WriteSamples(time);
  recording.Check(OTF2_EvtWriter_Leave(recording.writer, nullptr, time, region));
}

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

void Switch(bool on) {
  const std::uint64_t time = Now();
  recording.last_time = time;
  recording.is_writing = true;
  // What passes while nothing is written is known at both of its ends, and so are regions that go on.
  for (; !on && !open_regions.empty(); open_regions.pop_back()) Leave(open_regions.back(), time);
  if (!on) WriteCpuTime(time);
  recording.Check(OTF2_EvtWriter_MeasurementOnOff(recording.writer, nullptr, time,
                                                  on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF));
  if (on) cpu_asked = 0;
  recording.is_writing = on;
}

}  // namespace

Recording recording;

bool RecordedNothing() { return !only.empty() && !was_only_open; }

std::vector<std::uint32_t> UsedCalls() {
  std::vector<std::uint32_t> used;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(CallId::kCount); ++i) {
    if (is_used[i]) used.push_back(i);
  }
  return used;
}

bool StartRecording(const Page& fresh) {
  const std::string why = OpenArchive(fresh, recording.writer);
  if (!why.empty()) {
    if (fresh.rank == 0) std::fprintf(stderr, "farscale: no trace: %s\n", why.c_str());
    return false;
  }
  has_counters = (fresh.flags & kHasCounters) != 0;
  ticks_a_nanosecond = TicksANanosecond();
  cpu_age = static_cast<std::uint64_t>(kCpuTimeAge * ticks_a_nanosecond);
  for (const std::string& line : Split(Variable("FARSCALE_ONLY"), "\n")) {
    char name[kNameBytes];
    CopyName(line.c_str(), name);
    only.emplace_back(name);
  }
  StartCommunicators();
  MeasureClockOffset();
  return true;
}

void RecordBegin(std::uint64_t together) {
  this_thread.is_recording = true;
  recording.is_writing = true;
  const std::uint64_t time = page->begin_tick;
  if (page->rank == 0)
    recording.Check(OTF2_EvtWriter_ProgramBegin(recording.writer, nullptr, time, kProgramString, 0, nullptr));
  const auto init = static_cast<std::uint32_t>(CallId::kMPI_Init);
  Enter(init, time);
  Leave(init, together);
  if (!only.empty()) Switch(false);
}

std::string FinishRecording() {
  const bool was_writing = recording.is_writing;
  if (!was_writing && !only.empty()) Switch(true);
  const std::uint64_t time = page->end_tick > recording.last_time ? page->end_tick : recording.last_time;
  const auto finalize = static_cast<std::uint32_t>(CallId::kMPI_Finalize);
  if (recording.is_writing) {
    cpu_asked = 0;
    Enter(finalize, time);
    Leave(finalize, time);
    if (page->rank == 0) {
      recording.Check(
          OTF2_EvtWriter_ProgramEnd(recording.writer, nullptr, time, static_cast<std::int64_t>(OTF2_UNDEFINED_INT64)));
    }
  }
  recording.is_writing = false;
  this_thread.is_recording = false;
  MeasureClockOffset();
  return CloseArchive(recording.writer, has_counters);
}

void RecordEnter(CallId id, std::uint64_t time) {
  if (recording.is_writing) Enter(static_cast<std::uint32_t>(id), time);
}

void RecordLeave(CallId id, std::uint64_t time) {
  if (recording.is_writing) Leave(static_cast<std::uint32_t>(id), time);
}

void RecordRegion(int index, bool is_start) {
  const auto region = static_cast<std::uint32_t>(CallId::kCount) + static_cast<std::uint32_t>(index);
  const bool switches = std::ranges::find(only, page->region[index].name) != only.end();
  if (is_start && switches && open_only++ == 0) {
    was_only_open = true;
    Switch(true);
  }
  if (recording.is_writing && is_start) {
    Enter(region, Now());
    open_regions.push_back(region);
  } else if (recording.is_writing) {
    LeaveRegion(region, Now());
  }
  if (!is_start && switches && open_only > 0 && --open_only == 0) Switch(false);
}

}  // namespace farscale::collect
