// The files of a trace: opened by all ranks together, written by each alone, closed together.
#pragma once

#include <otf2/otf2.h>

#include <string>

#include "collect/page.h"

namespace farscale::collect {

// Sets `writer` to that of this rank's events; returns why not otherwise, the same on all ranks.
std::string OpenArchive(const Page& fresh, OTF2_EvtWriter*& writer);

// Writes all definitions and closes the files. Returns the message for the user.
std::string CloseArchive(OTF2_EvtWriter* writer, bool has_counters);

}  // namespace farscale::collect
