// The definitions of a trace, gathered from all ranks and written by rank 0; what is a rank's own beside its events.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <vector>

#include "collect/trace_definitions.h"

namespace farscale::collect {

// How far this node's clock is from that of rank 0, by messages back and forth; called at the begin and at the end of
// the run. Collective.
void MeasureClockOffset();

const std::vector<ClockOffset>& OwnClockOffsets();

// Of this rank, until now.
RankDefinitions OwnDefinitionsOf(std::uint64_t events);

// Collective; whether all could be written here.
bool WriteDefinitions(OTF2_Archive* archive, std::uint64_t events, bool has_counters);

}  // namespace farscale::collect
