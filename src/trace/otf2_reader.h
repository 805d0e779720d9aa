// The definitions of an OTF2 archive and the events of its locations.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/device_records.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"
#include "trace/trace_reader.h"

namespace farscale {

// References of definitions as used in event records -> index in the trace. Score-P numbers densely, others need
// not, so small references index a vector and the rest a map.
class ReferenceTable {
 public:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

  void Set(std::uint32_t reference, std::uint32_t index);
  std::uint32_t operator[](std::uint32_t reference) const {
    if (reference < dense_.size()) return dense_[reference];
    const auto found = sparse_.find(reference);
    return found == sparse_.end() ? kUnknown : found->second;
  }

 private:
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint32_t, std::uint32_t> sparse_;
};

// The relation of a metric's values to an accumulated count [OTF2 3.0, OTF2_MetricMode].
enum class MetricUse : std::uint8_t {
  kTotal,          // the value is the accumulated count (accumulated since start)
  kIncrement,      // the value is the increase since the last sample
  kNextIncrement,  // the value is the increase until the next sample
  kCpuTime,        // the accumulated CPU time, sampled now and then
  kLevel,          // absolute values are not counts
};

struct Otf2Metric {
  std::uint32_t counter = ReferenceTable::kUnknown;  // kUnknown: not kept
  MetricUse use = MetricUse::kLevel;
  OTF2_Type type = OTF2_TYPE_UINT64;
};

inline constexpr std::int32_t kNoDevice = -1;

struct Otf2Location {
  OTF2_LocationRef reference = 0;
  std::int32_t rank = 0;
  bool is_main = false;             // carries the rank's timeline; others are worker threads or streams of devices
  std::int32_t thread = 0;          // 0 for the main one, workers from 1 on in the order of their references
  std::uint64_t events = 0;         // as defined; 0 when the writer did not say
  std::int32_t device = kNoDevice;  // for a stream: index into the names of devices

  bool IsStream() const { return device != kNoDevice; }
};

struct Otf2Definitions {
  std::uint64_t origin = 0;  // time stamp of tick 0
  // Length of the run by the properties of the clock; 0: unknown. Score-P's reach a little beyond the events.
  Tick length = 0;
  ReferenceTable regions;
  ReferenceTable communicators;
  // Windows of one-sided communication, each a communicator of its own with the ranks of the one it was made of.
  ReferenceTable windows;
  std::unordered_map<std::uint32_t, std::vector<std::int32_t>> groups;  // world ranks; of MPI, where there are windows
  std::uint32_t alone = ReferenceTable::kUnknown;                       // a communicator of every rank by itself
  ReferenceTable teams;            // communicators of threads, by the same references
  std::uint32_t unknown_team = 0;  // for those that are not defined
  std::unordered_map<std::uint32_t, std::vector<Otf2Metric>> metrics;  // indexed by class or instance reference
  std::vector<Otf2Location> locations;                                 // CPU threads of ranks, then streams
  std::vector<std::string> devices;                                    // names
  std::unordered_map<OTF2_RegionRef, StreamUse> stream_uses;           // regions that are no kernels
  std::vector<std::string> strings;                                    // indexed by reference; "" where undefined
};

// Reads the definitions through `reader` into `builder`; with streams of devices only where threads are kept. Throws an
// input error when they are damaged or contain no rank.
Otf2Definitions ReadOtf2Definitions(OTF2_Reader* reader, const ReadOptions& options, TraceBuilder& builder);

// The records of a location.
struct Otf2LocationEvents {
  RankTimeline timeline;
  std::vector<TeamEvent> team_events;
  DeviceWork stream;
  std::string program;
  std::uint64_t count = 0;
  std::uint64_t mpi_calls_on_worker = 0;
  // Events before the begin or after the end of the run that the properties of the clock give, by more than rounding.
  std::uint64_t outside_run = 0;
  Tick before_run = 0, after_run = 0;  // the farthest of them
  Diagnostics diagnostics;
  Diagnostics of_file;  // also of a location whose timeline is not kept
};

// Input and results of the callbacks of one location.
struct Otf2LocationReader {
  Otf2LocationReader(const Trace& trace, const Otf2Definitions& all, const Otf2Location& own)
      : definitions(all),
        location(own),
        builder(trace, own.rank),
        running_totals(trace.counters.size()),
        pending_increments(trace.counters.size()) {}

  // "traces.otf2, rank 3 (location 3)"
  std::string Where() const;

  const Otf2Definitions& definitions;
  const Otf2Location& location;
  RankBuilder builder;
  StreamRecords stream;  // for a device
  Otf2LocationEvents events;
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
