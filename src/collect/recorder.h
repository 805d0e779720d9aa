// Records the events of the main thread as an OTF2 archive, in the layout that Score-P uses: one location a rank.
// Nothing here throws: an error of writing ends the recording with a message, never the program.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/page.h"
#include "mpi_functions.h"

namespace farscale::collect {

// Opens the archive, before the run begins. Collective. False, after a message, where that is not possible.
bool StartRecording(const Page& fresh);
// The first events of the run, MPI_Init from its begin to where all ranks are together, and the last with all
// definitions. The second returns the message for the user.
void RecordBegin(std::uint64_t together);
std::string FinishRecording();

// Edges of MPI calls, at the time at which the thread entered and left.
void RecordEnter(CallId id, std::uint64_t time);
void RecordLeave(CallId id, std::uint64_t time);
// A region of the page is entered or left.
void RecordRegion(int index, bool is_start);

struct Recording {
  OTF2_EvtWriter* writer = nullptr;
  bool is_writing = false;      // events are written now: not so outside the regions that alone are to be recorded
  bool is_complete = true;      // all events could be written until now
  std::uint64_t last_time = 0;  // of the last edge

  void Check(OTF2_ErrorCode code) {
    if (code == OTF2_SUCCESS) return;
    is_writing = false;
    is_complete = false;
  }
};
extern Recording recording;

// Writes an event inside the call that was entered last, with a function of OTF2's event writer.
template <typename... Parameters>
void Record(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Parameters...),
            auto... values) {
  if (!recording.is_writing) return;
  recording.Check(write(recording.writer, nullptr, recording.last_time, static_cast<Parameters>(values)...));
}

// MPI functions that occur in the trace of this rank, by CallId.
std::vector<std::uint32_t> UsedCalls();

// Whether regions alone were to be recorded and none of them was started here.
bool RecordedNothing();

}  // namespace farscale::collect
