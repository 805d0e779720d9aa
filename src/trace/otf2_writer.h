// Writes traces as OTF2 archives in the layout of Score-P: NAME.otf2, NAME.def, and the folder NAME with events and
// definitions of every location.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale {

// `anchor` is the anchor file to write, NAME.otf2. Reading it back gives the same timelines; what a Trace does not hold
// (source lines, worker threads' events, the times of records within a call) is not in the archive either. Everything
// is written beside its place and renamed, the anchor last. Throws an output error when anything of that name exists
// or cannot be written.
void WriteOtf2(const Trace& trace, const std::filesystem::path& anchor);

// The global definitions of an OTF2 archive that is written, and what its events have to know of them.

// Time stamps are not negative, ticks may be: `origin` is the time stamp of tick 0.
struct Otf2Clock {
  std::uint64_t origin = 0;
  std::uint64_t length = 0;

  // Ticks of calls and regions lie within this, those of interruptions in a damaged trace may not.
  static constexpr Tick kFurthestTick = Tick{1} << 62;
  static Tick Bounded(Tick tick) { return std::clamp(tick, -kFurthestTick, kFurthestTick); }

  std::uint64_t At(Tick tick) const { return origin + static_cast<std::uint64_t>(Bounded(tick)); }
};

// Counters that a rank records together: a sample of all is one record. Counters that are not reliable begin one edge
// later than the others, so they are kept apart.
struct Otf2MetricClasses {
  explicit Otf2MetricClasses(const Trace& trace);

  std::vector<std::vector<std::uint32_t>> counters;  // by class
  std::vector<std::vector<std::uint32_t>> of_rank;   // classes
};

// Reference of the program's name, which events need before the definitions are written.
inline constexpr OTF2_StringRef kProgramString = 1;

// The threads of a rank as Score-P numbers them; 0 is the main thread.
inline OTF2_LocationRef LocationOf(std::size_t rank, int thread) {
  return static_cast<std::uint64_t>(thread) << 32 | rank;
}

// Throws an output error when `code` or an earlier call of the library on this thread is no success.
void CheckOtf2Writing(OTF2_ErrorCode code, const std::filesystem::path& anchor, const std::string& doing);

// Indices in the trace are the references in the archive. `events`: how many every rank has.
void WriteOtf2Definitions(const Trace& trace, const std::filesystem::path& anchor, OTF2_GlobalDefWriter* writer,
                          const Otf2Clock& clock, const Otf2MetricClasses& metrics,
                          const std::vector<std::uint64_t>& events);

}  // namespace farscale
