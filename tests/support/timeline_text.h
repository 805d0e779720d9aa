// A timeline as one line of text, so that a test can say what it expects.
#pragma once

#include <string>

#include "trace/trace.h"

namespace farscale::test {

// What a rank did, in order: "0 +main, 10 +MPI_Send, send to 1 of 64, 20 -MPI_Send, 90 -main". Posts without request
// and completions are "post send to 1 of 64", "post receive", "received 64 from 1"; a collective is "reduce on
// MPI_COMM_WORLD, root 1, 8 and 16 bytes". Tags are left out.
std::string TimelineText(const Trace& trace, std::size_t rank);

// Accumulated values of a counter at the edges of calls: "10 20, 30 40" for two calls.
std::string CounterText(const Trace& trace, std::size_t rank, const std::string& counter);

}  // namespace farscale::test
