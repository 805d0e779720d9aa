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
// definitions. The second answers what to tell the user.
void RecordBegin(std::uint64_t together);
std::string FinishRecording();

// Edges of MPI calls, at the time at which the thread entered and left.
void RecordEnter(CallId id, std::uint64_t time);
void RecordLeave(CallId id, std::uint64_t time);
// A region of the page is entered or left.
void RecordRegion(int index, bool is_start);

// What happens inside the call that was entered last.
struct CollectiveSizes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};
void RecordSend(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes);
void RecordSendPost(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes, std::uint64_t request);
void RecordSendComplete(std::uint64_t request);
void RecordReceive(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes);
void RecordReceivePost(std::uint64_t request);
void RecordReceiveComplete(int peer, std::uint32_t communicator, int tag, std::uint64_t bytes, std::uint64_t request);
void RecordCancelled(std::uint64_t request);
void RecordCollectiveBegin();
void RecordCollectiveEnd(OTF2_CollectiveOp operation, std::uint32_t communicator, std::uint32_t root,
                         CollectiveSizes sizes);
void RecordCollectivePost(std::uint64_t request);
void RecordCollectiveComplete(OTF2_CollectiveOp operation, std::uint32_t communicator, std::uint32_t root,
                              CollectiveSizes sizes, std::uint64_t request);

// Of the ranks of a window, and of a group of them [collect/windows.h].
void RecordWindowCreate(std::uint32_t window);
void RecordWindowDestroy(std::uint32_t window);
void RecordWindowCollective(OTF2_CollectiveOp operation, std::uint32_t window);
void RecordWindowGroup(std::uint32_t window, std::uint32_t group);

// MPI functions that occur in the trace of this rank, by CallId.
std::vector<std::uint32_t> UsedCalls();

// Whether all events could be written until now.
bool IsRecordingWhole();

// Whether regions alone were to be recorded and none of them was started here.
bool RecordedNothing();

// Whether events are written now: not so outside the regions that alone are to be recorded.
bool IsWriting();

}  // namespace farscale::collect
