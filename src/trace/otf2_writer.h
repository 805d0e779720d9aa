// Writes traces as OTF2 archives in the layout of Score-P: NAME.otf2, NAME.def, and the folder NAME with events and
// definitions of every location.
#pragma once

#include <filesystem>

#include "trace/trace.h"

namespace farscale {

// `anchor` is the anchor file to write, NAME.otf2. Reading it back gives the same timelines; data that a Trace does not
// hold (source lines, worker threads' events, the times of records within a call) is not in the archive either.
// Everything is written beside its place and renamed, the anchor last. Throws an output error when anything of that
// name exists or cannot be written.
void WriteOtf2(const Trace& trace, const std::filesystem::path& anchor);

}  // namespace farscale
