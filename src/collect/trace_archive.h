// The files of a trace: opened by all ranks together, written by each alone, closed together.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>

#include "collect/page.h"
#include "collect/trace_room.h"
#include "collect/trace_size.h"

namespace farscale::collect {

// Sets `writer` to that of this rank's events and `room` to where they wait; returns why not otherwise, the same on all
// ranks. Of an estimate no event is ever written to a file.
std::string OpenArchive(const Page& fresh, bool is_estimate, OTF2_EvtWriter*& writer, Room& room);

// Writes all definitions and closes the files. Returns the message for the user.
std::string CloseArchive(OTF2_EvtWriter* writer, bool has_counters);

// What the events of an estimate would have taken, at rank 0; nothing is left of it. Collective.
TraceSize CloseEstimate();

}  // namespace farscale::collect
