#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include <otf2/OTF2_Pthread_Locks.h>  // wants <cstdlib> before it

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/format_readers.h"
#include "trace/otf2_definitions.h"
#include "trace/otf2_integrity.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// What the callbacks of one location need.
struct LocationReader {
  LocationReader(const Trace& trace, const Otf2Definitions& definitions_in, const Otf2Location& location_in)
      : definitions(definitions_in), location(location_in), builder(trace, location_in.rank) {
    running_totals.resize(trace.counters.size());
    pending_increments.resize(trace.counters.size());
  }

  Tick ToTick(OTF2_TimeStamp time) const { return static_cast<Tick>(time - definitions.origin); }

  std::uint32_t Region(OTF2_RegionRef reference) const {
    const std::uint32_t index = definitions.regions[reference];
    if (index == ReferenceTable::kUnknown) Damaged(fmt::format("region {} is not defined", reference));
    return index;
  }

  std::uint32_t Communicator(OTF2_CommRef reference) const {
    const std::uint32_t index = definitions.communicators[reference];
    if (index == ReferenceTable::kUnknown) Damaged(fmt::format("MPI communicator {} is not defined", reference));
    return index;
  }

  std::uint32_t Team(OTF2_CommRef reference) const {
    const std::uint32_t index = definitions.teams[reference];
    return index == ReferenceTable::kUnknown ? definitions.unknown_team : index;
  }

  [[noreturn]] void Damaged(const std::string& what) const {
    throw Error(ErrorKind::kInput, Where(), what, "the event file is damaged");
  }
  std::string Where() const {
    return fmt::format("{}, rank {} (location {})", path, location.rank, location.reference);
  }

  std::string path;
  const Otf2Definitions& definitions;
  const Otf2Location& location;
  RankBuilder builder;
  std::string program;
  std::uint64_t mpi_calls_on_worker = 0;
  std::vector<double> running_totals;      // of counters recorded as increments
  std::vector<double> pending_increments;  // valid until the next sample
  std::exception_ptr failure;
};

CollectiveKind KindOf(OTF2_CollectiveOp operation, const LocationReader& reader) {
  const auto found = std::ranges::find(kOtf2Collectives, operation, &Otf2Collective::operation);
  if (found == std::end(kOtf2Collectives)) reader.Damaged(fmt::format("unknown collective operation {}", operation));
  return found->kind;
}

std::optional<std::uint32_t> RootOf(std::uint32_t root) {
  const bool names_a_rank =
      root != OTF2_COLLECTIVE_ROOT_NONE && root != OTF2_COLLECTIVE_ROOT_SELF && root != OTF2_COLLECTIVE_ROOT_THIS_GROUP;
  return names_a_rank ? std::optional(root) : std::nullopt;
}

double AsDouble(OTF2_Type type, const OTF2_MetricValue& value) {
  switch (type) {
    case OTF2_TYPE_INT64: return static_cast<double>(value.signed_int);
    case OTF2_TYPE_DOUBLE: return value.floating_point;
    default: return static_cast<double>(value.unsigned_int);
  }
}

// A sample of one metric; increments are summed up so that every kept counter is an accumulated count.
void AddSample(LocationReader& reader, Tick tick, const Otf2Metric& metric, OTF2_Type type,
               const OTF2_MetricValue& value) {
  if (metric.counter == ReferenceTable::kUnknown) return;
  const bool is_double = metric.type == OTF2_TYPE_DOUBLE;
  if ((type == OTF2_TYPE_DOUBLE) != is_double) {
    reader.Damaged("a metric has values of another type than defined");
  }
  if (metric.use == MetricUse::kTotal) {
    const std::int64_t bits = is_double ? std::bit_cast<std::int64_t>(value.floating_point) : value.signed_int;
    reader.builder.SetCounter(tick, metric.counter, bits);
    return;
  }
  if (metric.use == MetricUse::kCpuTime) {
    reader.builder.SetCpuTime(tick, metric.counter, value.signed_int);
    return;
  }
  double& total = reader.running_totals[metric.counter];
  if (metric.use == MetricUse::kNextIncrement) {
    total += std::exchange(reader.pending_increments[metric.counter], AsDouble(type, value));
  } else {
    total += AsDouble(type, value);
  }
  reader.builder.SetCounter(tick, metric.counter,
                            is_double ? std::bit_cast<std::int64_t>(total) : static_cast<std::int64_t>(total));
}

// What to do with the events of a location.
class EventCallbacks {
 public:
  // `set` is a function of the library, `Action` a function of the reader, the event's time and its values.
  template <typename... Values, typename Action>
  void On(OTF2_ErrorCode (*set)(OTF2_EvtReaderCallbacks*,
                                OTF2_CallbackCode (*)(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*,
                                                      OTF2_AttributeList*, Values...)),
          Action) {
    set(callbacks_.get(), [](OTF2_LocationRef, OTF2_TimeStamp time, std::uint64_t, void* user, OTF2_AttributeList*,
                             Values... values) {
      return StopOnFailure<LocationReader>(user, [&](LocationReader& r) { Action()(r, r.ToTick(time), values...); });
    });
  }

  const OTF2_EvtReaderCallbacks* get() const { return callbacks_.get(); }

 private:
  std::unique_ptr<OTF2_EvtReaderCallbacks, decltype(&OTF2_EvtReaderCallbacks_Delete)> callbacks_{
      OTF2_EvtReaderCallbacks_New(), OTF2_EvtReaderCallbacks_Delete};
};

using Reader = LocationReader;

void AddTeamCallbacks(EventCallbacks& callbacks) {
  using enum TeamEvent::Kind;
  callbacks.On(OTF2_EvtReaderCallbacks_SetThreadForkCallback,
               [](Reader& r, Tick tick, OTF2_Paradigm, std::uint32_t) { r.builder.Team(kFork, tick); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetThreadJoinCallback,
               [](Reader& r, Tick tick, OTF2_Paradigm) { r.builder.Team(kJoin, tick); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetThreadTeamBeginCallback,
               [](Reader& r, Tick tick, OTF2_CommRef team) { r.builder.Team(kBegin, tick, r.Team(team)); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetThreadTeamEndCallback,
               [](Reader& r, Tick tick, OTF2_CommRef team) { r.builder.Team(kEnd, tick, r.Team(team)); });
}

void AddMessageCallbacks(EventCallbacks& callbacks) {
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiSendCallback,
               [](Reader& r, Tick, std::uint32_t receiver, OTF2_CommRef communicator, std::uint32_t tag,
                  std::uint64_t bytes) { r.builder.Send(receiver, r.Communicator(communicator), tag, bytes); });
  callbacks.On(
      OTF2_EvtReaderCallbacks_SetMpiIsendCallback,
      [](Reader& r, Tick, std::uint32_t receiver, OTF2_CommRef communicator, std::uint32_t tag, std::uint64_t bytes,
         std::uint64_t request) { r.builder.SendPost(receiver, r.Communicator(communicator), tag, bytes, request); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback,
               [](Reader& r, Tick, std::uint64_t request) { r.builder.SendComplete(request); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiRecvCallback,
               [](Reader& r, Tick, std::uint32_t sender, OTF2_CommRef communicator, std::uint32_t tag,
                  std::uint64_t bytes) { r.builder.Receive(sender, r.Communicator(communicator), tag, bytes); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback,
               [](Reader& r, Tick, std::uint64_t request) { r.builder.ReceivePost(request); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiIrecvCallback,
               [](Reader& r, Tick, std::uint32_t sender, OTF2_CommRef communicator, std::uint32_t tag,
                  std::uint64_t bytes, std::uint64_t request) {
                 r.builder.ReceiveComplete(sender, r.Communicator(communicator), tag, bytes, request);
               });
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback,
               [](Reader& r, Tick, std::uint64_t request) { r.builder.RequestCancelled(request); });
}

void AddCollectiveCallbacks(EventCallbacks& callbacks) {
  callbacks.On(OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback,
               [](Reader& r, Tick, OTF2_CollectiveOp operation, OTF2_CommRef communicator, std::uint32_t root,
                  std::uint64_t sent, std::uint64_t received) {
                 r.builder.Collective(KindOf(operation, r), r.Communicator(communicator), RootOf(root), sent, received);
               });
  callbacks.On(OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback,
               [](Reader& r, Tick, std::uint64_t request) { r.builder.CollectivePost(request); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback,
               [](Reader& r, Tick, OTF2_CollectiveOp operation, OTF2_CommRef communicator, std::uint32_t root,
                  std::uint64_t sent, std::uint64_t received, std::uint64_t request) {
                 r.builder.CollectiveComplete(KindOf(operation, r), r.Communicator(communicator), RootOf(root), sent,
                                              received, request);
               });
  // A barrier of all ranks of a window, or its creation. Windows of other paradigms are not known.
  callbacks.On(OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback,
               [](Reader& r, Tick, OTF2_CollectiveOp operation, OTF2_RmaSyncLevel, OTF2_RmaWinRef reference,
                  std::uint32_t root, std::uint64_t sent, std::uint64_t received) {
                 const std::uint32_t window = r.definitions.windows[reference];
                 if (window == ReferenceTable::kUnknown) return;
                 CollectiveKind kind = KindOf(operation, r);
                 // A window is freed only when all have called: what they did there must be done [MPI 4.0, 12.2.5].
                 if (kind == CollectiveKind::kDestroyHandle) kind = CollectiveKind::kBarrier;
                 r.builder.Collective(kind, window, RootOf(root), sent, received);
               });
  callbacks.On(OTF2_EvtReaderCallbacks_SetRmaGroupSyncCallback,
               [](Reader& r, Tick, OTF2_RmaSyncLevel, OTF2_RmaWinRef reference, OTF2_GroupRef group) {
                 const std::uint32_t window = r.definitions.windows[reference];
                 const auto members = r.definitions.groups.find(group);
                 if (window == ReferenceTable::kUnknown || members == r.definitions.groups.end()) return;
                 r.builder.SynchroniseGroup(window, members->second, r.definitions.alone);
               });
}

void AddMainCallbacks(EventCallbacks& callbacks) {
  callbacks.On(OTF2_EvtReaderCallbacks_SetEnterCallback,
               [](Reader& r, Tick tick, OTF2_RegionRef region) { r.builder.Enter(tick, r.Region(region)); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetLeaveCallback,
               [](Reader& r, Tick tick, OTF2_RegionRef region) { r.builder.Leave(tick, r.Region(region)); });
  AddMessageCallbacks(callbacks);
  AddCollectiveCallbacks(callbacks);
  callbacks.On(OTF2_EvtReaderCallbacks_SetMetricCallback,
               [](Reader& r, Tick tick, OTF2_MetricRef metric, std::uint8_t count, const OTF2_Type* types,
                  const OTF2_MetricValue* values) {
                 const auto found = r.definitions.metrics.find(metric);
                 if (found == r.definitions.metrics.end()) r.Damaged(fmt::format("metric {} is not defined", metric));
                 if (found->second.size() != count) {
                   r.Damaged(fmt::format("metric {} has {} values instead of {}", metric, count, found->second.size()));
                 }
                 for (std::uint8_t i = 0; i < count; ++i) AddSample(r, tick, found->second[i], types[i], values[i]);
               });
  callbacks.On(OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback,
               [](Reader& r, Tick tick, OTF2_MeasurementMode mode) {
                 mode == OTF2_MEASUREMENT_OFF ? r.builder.MeasurementOff(tick) : r.builder.MeasurementOn(tick);
               });
  callbacks.On(OTF2_EvtReaderCallbacks_SetBufferFlushCallback,
               [](Reader& r, Tick tick, OTF2_TimeStamp stop) { r.builder.BufferFlush(tick, r.ToTick(stop)); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetProgramBeginCallback,
               [](Reader& r, Tick, OTF2_StringRef name, std::uint32_t, const OTF2_StringRef*) {
                 if (name < r.definitions.strings.size()) r.program = r.definitions.strings[name];
               });
}

// Worker threads are read only to know whether they call MPI, unless they are kept.
void AddWorkerCallbacks(EventCallbacks& callbacks, bool keep_threads) {
  if (!keep_threads) {
    callbacks.On(OTF2_EvtReaderCallbacks_SetEnterCallback, [](Reader& r, Tick, OTF2_RegionRef region) {
      if (r.builder.IsMpi(r.Region(region))) ++r.mpi_calls_on_worker;
    });
    return;
  }
  callbacks.On(OTF2_EvtReaderCallbacks_SetEnterCallback, [](Reader& r, Tick tick, OTF2_RegionRef region) {
    const std::uint32_t index = r.Region(region);
    if (r.builder.IsMpi(index)) ++r.mpi_calls_on_worker;
    r.builder.Enter(tick, index);
  });
  callbacks.On(OTF2_EvtReaderCallbacks_SetLeaveCallback,
               [](Reader& r, Tick tick, OTF2_RegionRef region) { r.builder.Leave(tick, r.Region(region)); });
}

// The files of archive.otf2 are archive.def and, for location 7, archive/7.def and archive/7.evt.
fs::path DefinitionsFile(fs::path anchor) { return anchor.replace_extension(".def"); }
fs::path LocationFile(const fs::path& anchor, OTF2_LocationRef location, const char* extension) {
  return anchor.parent_path() / anchor.stem() / fmt::format("{}.{}", location, extension);
}

// Every location has its events, and definitions of its own: they translate the numbers of regions and communicators
// and correct the clock, so that without them all would look right and be wrong.
void RequireLocationFiles(const fs::path& anchor, const std::vector<Otf2Location>& locations) {
  std::vector<std::string> missing;
  for (const char* extension : {"evt", "def"}) {
    for (const Otf2Location& location : locations) {
      std::error_code code;
      if (fs::is_regular_file(LocationFile(anchor, location.reference, extension), code)) continue;
      missing.push_back(fmt::format("{}.{} (rank {})", location.reference, extension, location.rank));
    }
  }
  if (missing.empty()) return;
  const std::size_t count = missing.size();
  if (count > 5) missing.resize(5);
  throw Error(
      ErrorKind::kInput, anchor.string(),
      fmt::format("{} of {} files are missing from {}: {}{}", count, 2 * locations.size(),
                  (anchor.parent_path() / anchor.stem()).string(), Join(missing, ", "), count > 5 ? ", ..." : ""),
      "copy the whole archive: anchor, definitions and the folder of events");
}

std::uintmax_t DefinitionBytes(const std::string& anchor) {
  std::error_code code;
  const fs::path definitions = DefinitionsFile(anchor);
  const std::uintmax_t bytes = fs::file_size(definitions, code);
  if (code) {
    throw Error(ErrorKind::kInput, anchor, "its definitions are missing: there is no " + definitions.string(),
                "copy the whole archive: anchor, definitions and the folder of events");
  }
  return bytes;
}

void RequireEnds(const LocationReader& reader, const Otf2Layout& layout) {
  if (!layout.is_plain) return;
  const OTF2_LocationRef location = reader.location.reference;
  RequireEndOfFile(LocationFile(reader.path, location, "def").string(), Otf2FileKind::kDefinitions,
                   layout.definition_chunk, reader.Where());
  RequireEndOfFile(LocationFile(reader.path, location, "evt").string(), Otf2FileKind::kEvents, layout.event_chunk,
                   reader.Where());
}

// The open archive, closed whatever happens. Safe for several threads.
class Archive {
 public:
  Archive(const std::string& anchor, const Otf2Layout& layout) : anchor_(anchor), layout_(layout) {
    CaptureOtf2Errors();
    reader_.reset(OTF2_Reader_Open(anchor.c_str()));
    if (reader_ == nullptr) CheckOtf2(OTF2_ERROR_INVALID, anchor, "opening the OTF2 archive");
    CheckOtf2(OTF2_Reader_SetSerialCollectiveCallbacks(reader()), anchor, "opening the OTF2 archive");
    CheckOtf2(OTF2_Pthread_Reader_SetLockingCallbacks(reader(), nullptr), anchor, "opening the OTF2 archive");
  }
  ~Archive() {
    if (has_definitions_) OTF2_Reader_CloseDefFiles(reader());
    if (has_events_) OTF2_Reader_CloseEvtFiles(reader());
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  OTF2_Reader* reader() { return reader_.get(); }
  const Otf2Layout& layout() const { return layout_; }

  void OpenFiles(const std::vector<Otf2Location>& locations) {
    for (const Otf2Location& location : locations) {
      CheckOtf2(OTF2_Reader_SelectLocation(reader(), location.reference), anchor_, "selecting a location");
    }
    CheckOtf2(OTF2_Reader_OpenDefFiles(reader()), anchor_, "opening the definition files");
    has_definitions_ = true;
    CheckOtf2(OTF2_Reader_OpenEvtFiles(reader()), anchor_, "opening the event files");
    has_events_ = true;
  }

  // Mapping tables and clock offsets of a location.
  void ReadLocalDefinitions(LocationReader& location) {
    TakeOtf2Message();
    OTF2_DefReader* definitions = OTF2_Reader_GetDefReader(reader(), location.location.reference);
    if (definitions == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, location.Where(), "opening the definitions");
    std::uint64_t count = 0;
    const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(reader(), definitions, &count);
    OTF2_Reader_CloseDefReader(reader(), definitions);
    CheckOtf2(code, location.Where(), "reading the local definitions");
  }

  // Returns how many events were read.
  std::uint64_t ReadEvents(LocationReader& location, const OTF2_EvtReaderCallbacks* callbacks) {
    TakeOtf2Message();
    OTF2_EvtReader* events = OTF2_Reader_GetEvtReader(reader(), location.location.reference);
    if (events == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, location.Where(), "opening the event file");
    std::uint64_t count = 0;
    OTF2_ErrorCode code = OTF2_EvtReader_ApplyMappingTables(events, true);
    if (code == OTF2_SUCCESS) code = OTF2_EvtReader_ApplyClockOffsets(events, true);
    if (code == OTF2_SUCCESS) code = OTF2_Reader_RegisterEvtCallbacks(reader(), events, callbacks, &location);
    if (code == OTF2_SUCCESS) code = OTF2_Reader_ReadAllLocalEvents(reader(), events, &count);
    OTF2_Reader_CloseEvtReader(reader(), events);
    if (location.failure) std::rethrow_exception(location.failure);
    CheckOtf2(code, location.Where(), fmt::format("reading the event after number {}", count));
    return count;
  }

 private:
  std::string anchor_;
  Otf2Layout layout_;
  std::unique_ptr<OTF2_Reader, decltype(&OTF2_Reader_Close)> reader_{nullptr, OTF2_Reader_Close};
  bool has_definitions_ = false;
  bool has_events_ = false;
};

void CheckEventCount(const LocationReader& reader, std::uint64_t count) {
  const std::uint64_t expected = reader.location.events;
  if (expected == 0 || expected == count) return;
  throw Error(ErrorKind::kInput, reader.Where(), fmt::format("has {} events instead of {}", count, expected),
              "the event file is truncated or damaged");
}

std::string Creator(OTF2_Reader* reader) {
  char* text = nullptr;
  if (OTF2_Reader_GetCreator(reader, &text) != OTF2_SUCCESS || text == nullptr) return "";
  std::string creator = ToUtf8(text);
  std::free(text);
  return creator;
}

// A positive number of calls; 0 for archives that do not say it, as those of others.
std::uint64_t CallsByProperty(OTF2_Reader* reader, const char* property) {
  char* text = nullptr;
  TakeOtf2Message();
  if (OTF2_Reader_GetProperty(reader, property, &text) != OTF2_SUCCESS || text == nullptr) {
    TakeOtf2Message();  // that there is no such property is no error
    return 0;
  }
  long long calls = 0;
  const bool is_count = ParseInteger(text, calls) && calls > 0;
  std::free(text);
  return is_count ? static_cast<std::uint64_t>(calls) : 0;
}

// MPI calls that were not recorded, since other threads made them. In a part of a run they are those of the whole, so
// that their share is, too.
void AddUnrecordedCalls(OTF2_Reader* reader, Trace& trace) {
  const std::uint64_t unrecorded = CallsByProperty(reader, kPropertyOfOtherThreads);
  const std::uint64_t of_all = CallsByProperty(reader, kPropertyOfAllThreads);
  std::uint64_t recorded = 0;
  for (const RankTimeline& timeline : trace.timelines) recorded += timeline.calls();
  const std::uint64_t others = of_all > recorded ? of_all - recorded : 0;
  trace.diagnostics.Add(anomaly::kMpiOnWorkerThread, unrecorded, "calls that were not recorded");
  trace.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, std::max(others, unrecorded));
}

std::string Format(OTF2_Reader* reader) {
  std::uint8_t major = 0, minor = 0, bugfix = 0;
  OTF2_Reader_GetVersion(reader, &major, &minor, &bugfix);
  return fmt::format("OTF2 {}.{}.{}", major, minor, bugfix);
}

// What is known of a location once its events are read.
struct LocationResult {
  RankTimeline timeline;
  std::vector<TeamEvent> team_events;
  std::uint64_t mpi_calls_on_worker = 0;
  Diagnostics diagnostics;
  std::string program;
  std::string where;
  std::uint64_t events = 0;
};

LocationResult ReadLocation(Archive& archive, const Trace& trace, const Otf2Definitions& definitions,
                            const Otf2Location& location, const OTF2_EvtReaderCallbacks* callbacks) {
  LocationReader reader(trace, definitions, location);
  reader.path = trace.path;
  RequireEnds(reader, archive.layout());
  archive.ReadLocalDefinitions(reader);
  LocationResult result;
  result.events = archive.ReadEvents(reader, callbacks);
  CheckEventCount(reader, result.events);
  result.program = reader.program;
  result.where = reader.Where();
  result.mpi_calls_on_worker = reader.mpi_calls_on_worker;
  result.timeline = reader.builder.Finish();
  result.team_events = reader.builder.TakeTeamEvents();
  result.diagnostics = reader.builder.diagnostics();
  return result;
}

void AddMpiOnWorkers(const LocationResult& result, bool is_main, Diagnostics& diagnostics) {
  diagnostics.Add(anomaly::kMpiOnWorkerThread, result.mpi_calls_on_worker, result.where);
  const std::uint64_t calls = is_main ? result.timeline.calls() : 0;
  diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, result.mpi_calls_on_worker + calls);
}

// Of locations in the order of ranks, then threads.
void KeepThreads(const std::vector<Otf2Location>& locations, std::vector<LocationResult>& results,
                 TeamThreads& threads) {
  threads.of_ranks.resize(static_cast<std::size_t>(std::ranges::count_if(locations, &Otf2Location::is_main)));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Otf2Location& location = locations[i];
    if (location.is_main) {
      threads.of_ranks[static_cast<std::size_t>(location.rank)] = std::move(results[i].team_events);
      continue;
    }
    threads.diagnostics.Merge(results[i].diagnostics);
    threads.workers.push_back(
        {{location.rank, location.thread}, std::move(results[i].timeline), std::move(results[i].team_events)});
  }
  std::ranges::sort(threads.workers, {}, &WorkerThread::location);
  const auto is_in_teams = [](const WorkerThread& worker) { return !worker.team_events.empty(); };
  if (std::ranges::none_of(threads.workers, is_in_teams)) threads = {};
}

void ReadLocations(Archive& archive, const Otf2Definitions& definitions, bool keep_threads, TraceBuilder& builder) {
  EventCallbacks main_callbacks, worker_callbacks;
  AddMainCallbacks(main_callbacks);
  AddWorkerCallbacks(worker_callbacks, keep_threads);
  if (keep_threads) AddTeamCallbacks(main_callbacks);
  if (keep_threads) AddTeamCallbacks(worker_callbacks);
  std::vector<std::uint64_t> sizes;
  for (const Otf2Location& location : definitions.locations) sizes.push_back(location.events);
  const std::vector<std::size_t> order = LargestFirst(sizes);
  std::vector<LocationResult> results(order.size());
  ParallelFor(order.size(), [&](std::size_t i) {
    const Otf2Location& location = definitions.locations[order[i]];
    results[order[i]] = ReadLocation(archive, builder.definitions(), definitions, location,
                                     location.is_main ? main_callbacks.get() : worker_callbacks.get());
  });
  Trace& trace = builder.trace();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Otf2Location& location = definitions.locations[i];
    trace.events += results[i].events;
    AddMpiOnWorkers(results[i], location.is_main, trace.diagnostics);
    if (!location.is_main) continue;
    trace.diagnostics.Merge(results[i].diagnostics);
    if (trace.program.empty()) trace.program = results[i].program;
    trace.timelines[static_cast<std::size_t>(location.rank)] = std::move(results[i].timeline);
  }
  if (!keep_threads) trace.team_threads = {};
  if (keep_threads) KeepThreads(definitions.locations, results, trace.team_threads);
}

}  // namespace

Trace ReadOtf2(const std::string& anchor, const CounterSelection& counters, bool keep_threads) {
  const Otf2Layout layout = RequireSoundAnchor(anchor, DefinitionBytes(anchor));
  if (layout.is_plain) {
    RequireEndOfFile(DefinitionsFile(anchor).string(), Otf2FileKind::kDefinitions, layout.definition_chunk, anchor);
  }
  Archive archive(anchor, layout);
  TraceBuilder builder;
  builder.trace().path = anchor;
  builder.trace().format = Format(archive.reader());
  builder.trace().creator = Creator(archive.reader());
  const Otf2Definitions definitions = ReadOtf2Definitions(archive.reader(), counters, builder);
  if (layout.is_plain) RequireLocationFiles(anchor, definitions.locations);
  archive.OpenFiles(definitions.locations);
  ReadLocations(archive, definitions, keep_threads, builder);
  AddUnrecordedCalls(archive.reader(), builder.trace());
  std::uint64_t threaded = 0;
  for (const Rank& rank : builder.definitions().ranks) threaded += rank.threads > 1 ? 1 : 0;
  builder.trace().diagnostics.Add(anomaly::kThreadsAtProcessLevel, threaded);
  return std::move(builder).Finish();
}

}  // namespace farscale
