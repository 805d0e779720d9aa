#include "collect/trace/recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "collect/trace/communicators.h"
#include "collect/threads/counters.h"
#include "collect/devices/devices.h"
#include "collect/page_file.h"
#include "collect/preload/run.h"
#include "collect/text.h"
#include "collect/trace/trace_room.h"

namespace farscale::collect {
namespace {

// CPU time is a system call, which takes longer than many MPI calls. It is asked for at an edge only when the last
// sample is older than this; in between it passes like time, so there is nothing to write.
constexpr double kCpuTimeAge = 50e3;  // ns

bool has_counters = false;
bool is_estimate = false;
std::uint64_t save_age = 0;     // in ticks; 0: events are not saved while the program runs
std::uint64_t saved_at = 0;     // when they were
std::uint64_t saved_chunk = 0;  // chunk of the file, from which on they have to be saved
std::uint64_t cpu_asked = 0;    // when
std::uint64_t cpu_age = 0;      // in ticks
std::uint64_t cpu_written = 0;
double ticks_a_nanosecond = 1;
bool is_used[static_cast<std::size_t>(CallId::kCount)];
std::vector<RecordedRegion> only;      // regions to record; empty for all
std::vector<std::uint64_t> seen_only;  // occurrences of each until now
std::vector<bool> is_only_open;        // one of those that are recorded
int open_only = 0;                     // the number of them that are open
bool was_only_open = false;
bool is_switched_off = false;  // the program did so
bool trace_has_begun = false;
bool is_on = true;                        // as the trace says
std::vector<std::uint32_t> open_regions;  // in the trace, by their numbers there
// Counts while the recording was off, which are no part of the counters in the trace, and those when it was switched
// off.
std::uint64_t cpu_left_out = 0, cpu_at_off = 0;
Counts counts_left_out, counts_at_off;

void WriteCpuTime(std::uint64_t time) {
  // The question takes a while, and at the end of the run comes late.
  const std::uint64_t now = Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_left_out;
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
  values[0].signed_int = static_cast<std::int64_t>(counts.instructions - counts_left_out.instructions);
  values[1].signed_int = static_cast<std::int64_t>(counts.cycles - counts_left_out.cycles);
  recording.Check(OTF2_EvtWriter_Metric(recording.writer, nullptr, time, kCountersClass, 2, kTypes, values));
}

// Events in memory go to the folder of the trace, for a node that may fail.
void SaveEvents(std::uint64_t time) {
  saved_at = time;
  const auto state = std::make_unique<Page>(*page);
  const Tick now = Now();
  EndAsOf(*state, now, Nanoseconds(CLOCK_MONOTONIC));
  state->termination = Termination::kLost;
  SaveRank(page->output, *state, recording.room, saved_chunk);
  const auto [in_file, in_memory] = ChunksIn(*recording.room.head);
  saved_chunk = in_file + in_memory - 1;
  const Tick stop = Now();
  Store(page->flushed, page->flushed + (stop - now));
  recording.Check(OTF2_EvtWriter_BufferFlush(recording.writer, nullptr, time, stop));
}

// Records that are known at an edge, before it.
void WriteSamples(std::uint64_t time) {
  recording.last_time = time;
  if (time - cpu_asked >= cpu_age) [[unlikely]] {
    if (save_age != 0 && time - saved_at >= save_age) SaveEvents(time);
    WriteCpuTime(time);
  }
  if (has_counters) WriteCounters(time);
}

void Enter(std::uint32_t region, std::uint64_t time) {
  WriteSamples(time);
  if (region < static_cast<std::uint32_t>(CallId::kCount)) NoteUsed(static_cast<CallId>(region));
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

void LeaveOutCounts(bool on) {
  const std::uint64_t cpu = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  const Counts counts = has_counters ? ReadCounts() : Counts{};
  if (on) {
    cpu_left_out += cpu - cpu_at_off;
    counts_left_out.instructions += counts.instructions - counts_at_off.instructions;
    counts_left_out.cycles += counts.cycles - counts_at_off.cycles;
  }
  cpu_at_off = cpu;
  counts_at_off = counts;
}

// Follows who switches: the program, and the regions that alone are to be recorded.
void Switch(bool on) {
  if (on == is_on || !trace_has_begun || !recording.is_complete) return;
  is_on = on;
  const std::uint64_t time = Now();
  recording.last_time = time;
  recording.is_writing = true;
  // The time while nothing is written is known at both of its ends, and so are regions that go on.
  for (; !on && !is_switched_off && !open_regions.empty(); open_regions.pop_back()) Leave(open_regions.back(), time);
  if (!on) WriteCpuTime(time);
  if (!on && has_counters) WriteCounters(time);
  recording.Check(OTF2_EvtWriter_MeasurementOnOff(recording.writer, nullptr, time,
                                                  on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF));
  if (on) cpu_asked = 0;
  // Those that were left in between.
  for (std::size_t i = open_regions.size(); on && i-- > 0;) {
    const std::uint32_t region = open_regions[i];
    if (page->region[region - static_cast<std::uint32_t>(CallId::kCount)].open == 0) LeaveRegion(region, time);
  }
  recording.is_writing = recording.is_writing && on;
  SwitchDeviceWork(on, time);
}

void Switch() { Switch(!is_switched_off && (only.empty() || open_only > 0)); }

// Only the outermost start of a region is an occurrence, and its last stop ends it.
void SwitchBy(int index, bool is_start) {
  const RegionRecord& region = page->region[index];
  for (std::size_t i = 0; i < only.size(); ++i) {
    const RecordedRegion& one = only[i];
    if (region.open != 0 || one.name != region.name) continue;
    if (is_start) ++seen_only[i];
    if (is_start ? seen_only[i] < one.first || seen_only[i] > one.last : !is_only_open[i]) continue;
    is_only_open[i] = is_start;
    was_only_open = was_only_open || is_start;
    if (one.window != one.name) (is_start ? OpenQuietly : CloseQuietly)(one.window.c_str());
    open_only += is_start ? 1 : -1;
    Switch();
  }
}

}  // namespace

Recording recording;
RankDefinitions own_definitions;

bool RecordedNothing() { return !only.empty() && !was_only_open; }

void NoteUsed(CallId id) {
  const auto call = static_cast<std::uint32_t>(id);
  if (is_used[call]) [[likely]]
    return;
  is_used[call] = true;
  Define(&RankDefinitions::calls, std::pair(call, std::string(kCallNames[call])));
}

bool StartRecording(Page& fresh, bool estimates) {
  is_estimate = estimates;
  const std::string why = OpenArchive(fresh, estimates, recording.writer, recording.room);
  if (!why.empty()) {
    if (fresh.rank == 0) std::fprintf(stderr, "farscale: no trace: %s\n", why.c_str());
    return false;
  }
  has_counters = (fresh.flags & kHasCounters) != 0;
  ticks_a_nanosecond = TicksANanosecond();
  cpu_age = static_cast<std::uint64_t>(kCpuTimeAge * ticks_a_nanosecond);
  const double save_seconds = estimates ? 0 : std::atof(Variable("FARSCALE_FLUSH").c_str());
  save_age = static_cast<std::uint64_t>(save_seconds * 1e9 * ticks_a_nanosecond);
  only = RecordedRegions();
  seen_only.resize(only.size());
  is_only_open.resize(only.size());
  if (!only.empty()) fresh.flags |= kRecordsRegions;
  StartCommunicators();
  MeasureClockOffset();
  return true;
}

void RecordBegin(std::uint64_t together) {
  this_thread.is_recording = true;
  trace_has_begun = true;
  recording.is_writing = true;
  const std::uint64_t time = page->begin_tick;
  saved_at = time;
  if (page->rank == 0)
    recording.Check(OTF2_EvtWriter_ProgramBegin(recording.writer, nullptr, time, kProgramString, 0, nullptr));
  const auto init = static_cast<std::uint32_t>(CallId::kMPI_Init);
  Enter(init, time);
  Leave(init, together);
  Switch();
}

void RecordEnd() {
  if (is_switched_off) LeaveOutCounts(true);
  Switch(true);
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
}

std::string FinishRecording() {
  RecordEnd();
  MeasureClockOffset();
  return CloseArchive(recording.writer, has_counters);
}

TraceSize FinishEstimate() {
  RecordEnd();
  return CloseEstimate();
}

void RecordEnter(CallId id, std::uint64_t time) {
  if (recording.is_writing) Enter(static_cast<std::uint32_t>(id), time);
}

void RecordLeave(CallId id, std::uint64_t time) {
  if (recording.is_writing) Leave(static_cast<std::uint32_t>(id), time);
}

void SwitchRecording(bool on) {
  if (on) LeaveOutCounts(true);
  is_switched_off = !on;
  Switch();
  if (!on) LeaveOutCounts(false);
  if (!recording.is_writing) return;
  for (std::uint32_t i = 1; i < page->regions; ++i) {  // those that were entered in between
    const std::uint32_t region = static_cast<std::uint32_t>(CallId::kCount) + i;
    if (page->region[i].open == 0 || std::ranges::find(open_regions, region) != open_regions.end()) continue;
    Enter(region, recording.last_time);
    open_regions.push_back(region);
  }
}

void RecordRegion(int index, bool is_start) {
  const auto region = static_cast<std::uint32_t>(CallId::kCount) + static_cast<std::uint32_t>(index);
  if (is_start) SwitchBy(index, true);
  if (recording.is_writing && is_start) {
    Enter(region, Now());
    open_regions.push_back(region);
  } else if (recording.is_writing) {
    LeaveRegion(region, Now());
  }
  if (!is_start) SwitchBy(index, false);
}

}  // namespace farscale::collect
