// Random programs that cannot deadlock, with the times a real machine would have measured.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace farscale::test {

struct RandomProgramOptions {
  int ranks = 5;
  int steps = 60;              // communications, over all ranks
  bool large_messages = true;  // some above the eager limit
  bool collectives = true;
  bool sub_communicators = true;
  bool non_blocking = true;
  bool counters = false;  // instructions and cycles at every edge
  bool regions = true;    // a user region "loop" around every tenth or so of the steps
};

// Options of many kinds, for a property to be tried on many programs.
RandomProgramOptions VariedOptions(std::uint64_t seed);

// The same trace for the same seed, on every machine.
Trace MakeRandomProgram(std::uint64_t seed, const RandomProgramOptions& options = {});

}  // namespace farscale::test
