// Whether two traces say the same, event by event.
#pragma once

#include <string>

#include "trace/trace.h"

namespace farscale::test {

// The first difference between the definitions or timelines of two traces, in words; empty when there is none. Values
// of counters that are not reliable are not compared, nor where the traces came from.
std::string Difference(const Trace& a, const Trace& b);

}  // namespace farscale::test
