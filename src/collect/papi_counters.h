// Counters through PAPI, for processors that the kernel counts on but has no names for. The library is loaded when it
// is asked for, so that farscale neither needs it to be built nor depends on one of its versions.
#pragma once

#include "collect/counters.h"

namespace farscale::collect {

// Of the calling thread. False, with nothing left, where there is no libpapi, or it does not count both.
bool StartPapi();
Counts ReadPapi();
void StopPapi();

}  // namespace farscale::collect
