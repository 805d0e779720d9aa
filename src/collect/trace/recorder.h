// Records the events of the main thread as an OTF2 archive, in the layout that Score-P uses: one location a rank.
// Nothing here throws: an error of writing ends the recording with a message, never the program.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collect/preload/call.h"
#include "collect/page.h"
#include "collect/trace/trace_definitions.h"
#include "collect/trace/trace_room.h"
#include "mpi_functions.h"

namespace farscale::collect {

// Opens the archive, before the run begins, or only finds out how large it would be. Collective. False, after a
// message, where that is not possible.
bool StartRecording(Page& fresh, bool estimates);
// The first events of the run, MPI_Init from its begin to where all ranks are together, and the last with all
// definitions. The second returns the message for the user.
void RecordBegin(std::uint64_t together);
std::string FinishRecording();
// The same where a trace is only estimated: how large it would have been. Collective.
TraceSize FinishEstimate();

// Edges of MPI calls, at the time at which the thread entered and left.
void RecordEnter(CallId id, std::uint64_t time);
void RecordLeave(CallId id, std::uint64_t time);
void RecordRegion(int index, bool is_start);
// Called by the program: nothing is recorded until it is on again.
void SwitchRecording(bool on);

struct Recording {
  OTF2_EvtWriter* writer = nullptr;
  Room room;
  bool is_writing = false;      // events are written now: not so outside the regions that alone are to be recorded
  bool is_complete = true;      // all events could be written until now
  std::uint64_t last_time = 0;  // the last edge's

  void Check(OTF2_ErrorCode code) {
    if (code == OTF2_SUCCESS) [[likely]] {
      Count();
      return;
    }
    is_writing = false;
    is_complete = false;
  }
  // An event is whole now: what ends the process later does not take it away.
  void Count() { __atomic_store_n(&room.head->events, room.head->events + 1, __ATOMIC_RELEASE); }
};
extern Recording recording;

// True if events of the calling thread are written now.
inline bool IsWriting() { return recording.is_writing && !this_thread.is_followed; }

// Writes an event inside the call that was entered last, with a function of OTF2's event writer.
template <typename... Parameters>
void Record(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Parameters...),
            auto... values) {
  if (!IsWriting()) return;
  recording.Check(write(recording.writer, nullptr, recording.last_time, static_cast<Parameters>(values)...));
}

// A call, or a region of OpenMP or of devices, occurs in the trace of this rank.
void NoteUsed(CallId id);

// Adds to what a trace needs to know of this rank, also for one of a run that does not come to its end.
extern RankDefinitions own_definitions;
template <typename Definition>
void Define(std::vector<Definition> RankDefinitions::*list, const Definition& definition) {
  const auto held = HoldSharedState();
  RankDefinitions added;
  (added.*list).push_back(definition);
  (own_definitions.*list).push_back(definition);
  if (recording.room.head != nullptr) LogDefinitions(*recording.room.head, added);
}

// True if regions alone were to be recorded and none of them was started here.
bool RecordedNothing();

// The files of a trace (trace_archive.cc): opened by all ranks together, written by each alone, closed together.

// Sets `writer` to that of this rank's events and `room` to where they wait; returns why not otherwise, the same on all
// ranks. Of an estimate no event is ever written to a file.
std::string OpenArchive(const Page& fresh, bool is_estimate, OTF2_EvtWriter*& writer, Room& room);

// Writes all definitions and closes the files. Returns the message for the user.
std::string CloseArchive(OTF2_EvtWriter* writer, bool has_counters);

// Writes the events of one more location of this rank, by `write`, and closes it; of an estimate no file is written,
// and their size is added to it. False where that could not be done. `number` is that of a thread, or behind all of
// them; `written` becomes the number of events.
bool WriteLocation(OTF2_Archive* archive, std::uint64_t number, const std::function<bool(OTF2_EvtWriter*)>& write,
                   std::uint64_t& written, TraceSize* estimate);

// The size that the events of an estimate would have, at rank 0; nothing is left of it. Collective.
TraceSize CloseEstimate();

// Measures and defines the distance of this node's clock from that of rank 0, by messages; called at the begin and at
// the end of the run. Collective.
void MeasureClockOffset();

}  // namespace farscale::collect
