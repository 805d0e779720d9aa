// The files of a trace: opened by all ranks together, written by each alone, closed together.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/page.h"
#include "collect/trace/trace_definitions.h"
#include "collect/trace/trace_room.h"

namespace farscale::collect {

// Sets `writer` to that of this rank's events and `room` to where they wait; returns why not otherwise, the same on all
// ranks. Of an estimate no event is ever written to a file.
std::string OpenArchive(const Page& fresh, bool is_estimate, OTF2_EvtWriter*& writer, Room& room);

// Writes all definitions and closes the files. Returns the message for the user.
std::string CloseArchive(OTF2_EvtWriter* writer, bool has_counters);

// The size that the events of an estimate would have, at rank 0; nothing is left of it. Collective.
TraceSize CloseEstimate();

// The definitions of a trace, gathered from all ranks and written by rank 0; what is a rank's own beside its events.

// Measures the distance of this node's clock from that of rank 0, by messages; called at the begin and at the end of
// the run. Collective.
void MeasureClockOffset();

const std::vector<ClockOffset>& OwnClockOffsets();

// Those of this rank, until now.
RankDefinitions OwnDefinitionsOf(std::uint64_t events);

// Collective; whether all could be written here.
bool WriteDefinitions(OTF2_Archive* archive, std::uint64_t events, bool has_counters);

}  // namespace farscale::collect
