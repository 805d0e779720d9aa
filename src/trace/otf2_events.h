// The events of a location of an OTF2 archive, handed to the builder of a rank.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "trace/device_records.h"
#include "trace/otf2_definitions.h"
#include "trace/trace_builder.h"

namespace farscale {

// Events before the begin or after the end of the run that the properties of the clock give, by more than rounding.
struct EventsOutsideRun {
  std::uint64_t count = 0;
  Tick before = 0, after = 0;  // the farthest event

  // Tick 0 is the begin.
  void Note(Tick tick, Tick length) {
    constexpr Tick kPerMille = 1000;  // chosen: of the length; less does not change a factor that anybody reads
    const Tick beyond = tick < 0 ? -(tick + 1) : tick - length;
    if (length == 0 || beyond <= length / kPerMille) return;
    ++count;
    Tick& farthest = tick < 0 ? before : after;
    farthest = std::max(farthest, beyond);
  }
};

// Input and findings of the callbacks of one location.
struct Otf2LocationReader {
  Otf2LocationReader(const Trace& trace, const Otf2Definitions& all, const Otf2Location& own)
      : path(trace.path),
        definitions(all),
        location(own),
        builder(trace, own.rank),
        running_totals(trace.counters.size()),
        pending_increments(trace.counters.size()) {}

  // "traces.otf2, rank 3 (location 3)"
  std::string Where() const;

  const std::string& path;
  const Otf2Definitions& definitions;
  const Otf2Location& location;
  RankBuilder builder;
  StreamRecords stream;  // for a device
  std::string program;
  std::uint64_t mpi_calls_on_worker = 0;
  EventsOutsideRun outside;
  std::vector<double> running_totals;      // for counters recorded as increments
  std::vector<double> pending_increments;  // valid until the next sample
  std::exception_ptr failure;              // thrown in a callback
};

// Handlers of events for the OTF2 library, whose user data is an Otf2LocationReader.
using Otf2EventCallbacks = std::unique_ptr<OTF2_EvtReaderCallbacks, decltype(&OTF2_EvtReaderCallbacks_Delete)>;

Otf2EventCallbacks MainThreadCallbacks(bool keep_threads);
// Worker threads are read only to know whether they call MPI, unless they are kept.
Otf2EventCallbacks WorkerCallbacks(bool keep_threads);
Otf2EventCallbacks StreamCallbacks();

}  // namespace farscale
