#include "trace/otf2_reader.h"

#include <fmt/format.h>
#include <otf2/OTF2_Pthread_Locks.h>  // wants <cstdlib> before it

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/parallel.h"
#include "base/search.h"
#include "trace/anomalies.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// The files of archive.otf2 are archive.def and, for location 7, archive/7.def and archive/7.evt.
fs::path LocationFile(const fs::path& anchor, OTF2_LocationRef location, const char* extension) {
  return anchor.parent_path() / anchor.stem() / fmt::format("{}.{}", location, extension);
}

// Every location has its events, and definitions of its own: they translate the numbers of regions and communicators
// and correct the clock, so that without them all would look right and be wrong. Throws an input error when files are
// missing.
void RequireLocationFiles(const std::string& anchor_path, const std::vector<Otf2Location>& locations) {
  const fs::path anchor(anchor_path);
  constexpr const char* kExtensions[] = {"evt", "def"};
  const std::size_t files = std::size(kExtensions) * locations.size();  // all events, then all definitions
  std::vector<char> is_there(files);
  ParallelForBlocks(files, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      std::error_code code;
      const Otf2Location& location = locations[i % locations.size()];
      is_there[i] =
          fs::is_regular_file(LocationFile(anchor, location.reference, kExtensions[i / locations.size()]), code);
    }
  });
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < files; ++i) {
    if (is_there[i]) continue;
    const Otf2Location& location = locations[i % locations.size()];
    missing.push_back(
        fmt::format("{}.{} (rank {})", location.reference, kExtensions[i / locations.size()], location.rank));
  }
  if (missing.empty()) return;
  const std::size_t count = missing.size();
  if (count > 5) missing.resize(5);
  throw Error(
      ErrorKind::kInput, anchor.string(),
      fmt::format("{} of {} files are missing from {}: {}{}", count, files,
                  (anchor.parent_path() / anchor.stem()).string(), Join(missing, ", "), count > 5 ? ", ..." : ""),
      "copy the whole archive: anchor, definitions and the folder of events");
}

// The open archive, closed whatever happens. Safe for several threads.
class Otf2Archive {
 public:
  explicit Otf2Archive(const std::string& anchor) : anchor_(anchor) {
    CaptureOtf2Errors();
    reader_.reset(OTF2_Reader_Open(anchor.c_str()));
    if (reader_ == nullptr) CheckOtf2(OTF2_ERROR_INVALID, anchor, "opening the OTF2 archive");
    CheckOtf2(OTF2_Reader_SetSerialCollectiveCallbacks(reader()), anchor, "opening the OTF2 archive");
    CheckOtf2(OTF2_Pthread_Reader_SetLockingCallbacks(reader(), nullptr), anchor, "opening the OTF2 archive");
  }
  ~Otf2Archive() {
    if (has_definitions_) OTF2_Reader_CloseDefFiles(reader());
    if (has_events_) OTF2_Reader_CloseEvtFiles(reader());
  }
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  OTF2_Reader* reader() { return reader_.get(); }

  // Opens those of every `step`-th location from `first` on.
  void OpenFiles(const std::vector<Otf2Location>& locations, std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < locations.size(); i += step) {
      CheckOtf2(OTF2_Reader_SelectLocation(reader(), locations[i].reference), anchor_, "selecting a location");
    }
    CheckOtf2(OTF2_Reader_OpenDefFiles(reader()), anchor_, "opening the definition files");
    has_definitions_ = true;
    CheckOtf2(OTF2_Reader_OpenEvtFiles(reader()), anchor_, "opening the event files");
    has_events_ = true;
  }

  // Mapping tables and clock offsets of a location.
  void ReadLocalDefinitions(Otf2LocationReader& location) {
    TakeOtf2Message();
    OTF2_DefReader* definitions = OTF2_Reader_GetDefReader(reader(), location.location.reference);
    if (definitions == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, location.Where(), "opening the definitions");
    std::uint64_t count = 0;
    const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(reader(), definitions, &count);
    OTF2_Reader_CloseDefReader(reader(), definitions);
    CheckOtf2(code, location.Where(), "reading the local definitions");
  }

  // Returns how many events were read.
  std::uint64_t ReadEvents(Otf2LocationReader& location, const OTF2_EvtReaderCallbacks* callbacks) {
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
  std::unique_ptr<OTF2_Reader, decltype(&OTF2_Reader_Close)> reader_{nullptr, OTF2_Reader_Close};
  bool has_definitions_ = false, has_events_ = false;
};

// A text that the library has allocated, or null.
std::string TakeText(char* text) {
  const std::string taken = text != nullptr ? ToUtf8(text) : "";
  std::free(text);
  return taken;
}

// Empty for archives that do not have it.
std::string TextOfProperty(OTF2_Reader* reader, const char* property) {
  char* text = nullptr;
  TakeOtf2Message();
  const bool has_it = OTF2_Reader_GetProperty(reader, property, &text) == OTF2_SUCCESS && text != nullptr;
  if (!has_it) TakeOtf2Message();  // a missing property is no error
  return has_it ? TakeText(text) : "";
}

// A positive number of calls; 0 for archives that do not say it, as those of others.
std::uint64_t CallsByProperty(OTF2_Reader* reader, const char* property) {
  long long calls = 0;
  const bool is_count = ParseInteger(TextOfProperty(reader, property), calls) && calls > 0;
  return is_count ? static_cast<std::uint64_t>(calls) : 0;
}

Otf2LocationEvents ReadLocation(Otf2Archive& archive, const Otf2Layout& layout, const Trace& trace,
                                const Otf2Definitions& definitions, const Otf2Location& location,
                                const OTF2_EvtReaderCallbacks* callbacks) {
  Otf2LocationReader reader(trace, definitions, location);
  Otf2LocationEvents& events = reader.events;
  const std::string where = reader.Where();
  bool needs_definitions = true;  // they may change the events
  if (layout.is_plain) {
    const auto file = [&](const char* extension) {
      return LocationFile(trace.path, location.reference, extension).string();
    };
    needs_definitions = RequireEndOfLocalDefinitions(file("def"), layout.definition_chunk, where);
    RequireEndOfFile(file("evt"), true, layout.event_chunk, where);
  }
  if (needs_definitions) archive.ReadLocalDefinitions(reader);
  events.count = archive.ReadEvents(reader, callbacks);
  // The number of events that the definitions announce is information: writers of other tools announce another one.
  // Plain files that break off have no mark of their end, which is found before; others cannot be checked like that.
  if (location.events != 0 && location.events != events.count) {
    const std::string what = fmt::format("has {} events instead of {}", events.count, location.events);
    if (!layout.is_plain && events.count < location.events) {
      throw Error(ErrorKind::kInput, where, what, "the event file is truncated or damaged");
    }
    events.of_file.Add(anomaly::kHeaderContradicted, 1, where + " " + what);
  }
  events.timeline = reader.builder.Finish();
  events.team_events = reader.builder.TakeTeamEvents();
  events.diagnostics = reader.builder.diagnostics();
  events.stream = reader.stream.Finish(where, events.diagnostics);
  events.stream.rank = location.rank;
  const std::uint64_t calls = location.is_main ? events.timeline.calls() : 0;
  events.of_file.Add(anomaly::kMpiOnWorkerThread, events.mpi_calls_on_worker, where);
  events.of_file.AddPopulation(anomaly::kMpiOnWorkerThread, events.mpi_calls_on_worker + calls);
  return std::move(events);
}

// Events outside of the run by the clock's properties. Some writers give a wrong length, so that many events lie
// outside: then the events are right. A few that more than double the run are damaged time stamps, which decide every
// efficiency. Clocks of devices are checked by themselves.
void CheckTimes(const std::vector<Otf2LocationEvents>& results, const Otf2Definitions& definitions, Trace& trace) {
  constexpr double kFew = 0.01;  // chosen
  std::uint64_t outside = 0, events = 0;
  Tick farthest = 0;
  std::string example;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (definitions.locations[i].IsStream()) continue;
    const Otf2LocationEvents& own = results[i];
    events += own.count;
    outside += own.outside_run;
    const Tick beyond = std::max(own.before_run, own.after_run);
    if (beyond <= farthest) continue;
    farthest = beyond;
    example =
        fmt::format("on rank {}, {} {} of {}", definitions.locations[i].rank, FormatSeconds(trace.Seconds(farthest)),
                    own.after_run < beyond ? "before the begin" : "after the end",
                    FormatSeconds(trace.Seconds(definitions.length)));
  }
  if (outside == 0) return;
  if (farthest > definitions.length && static_cast<double>(outside) < kFew * static_cast<double>(events)) {
    throw Error(ErrorKind::kInput, trace.path,
                fmt::format("{} of {} events lie outside of the run that its clock properties give, some {}", outside,
                            events, example),
                "time stamps are damaged; copy the archive again");
  }
  trace.diagnostics.Add(anomaly::kTimeOutsideRun, outside, example);
  trace.diagnostics.AddPopulation(anomaly::kTimeOutsideRun, events);
}

std::vector<Otf2LocationEvents> ReadLocations(std::vector<std::unique_ptr<Otf2Archive>>& archives,
                                              const Otf2Layout& layout, const Trace& trace,
                                              const Otf2Definitions& definitions, bool keep_threads) {
  const Otf2EventCallbacks of_main = MainThreadCallbacks(keep_threads), of_worker = WorkerCallbacks(keep_threads),
                           of_stream = StreamCallbacks();
  const std::vector<Otf2Location>& locations = definitions.locations;
  // The library searches all locations of a reader for every one it opens, one thread at a time. So locations are dealt
  // out to several readers of the same archive, neighbours to different ones.
  constexpr std::size_t kLocationsOfOne = 128;  // chosen: opening a reader takes as long as searching so many times
  const std::size_t count = layout.is_plain ? (locations.size() + kLocationsOfOne - 1) / kLocationsOfOne : 1;
  while (archives.size() < count) archives.push_back(std::make_unique<Otf2Archive>(trace.path));
  for (std::size_t i = 0; i < archives.size(); ++i) archives[i]->OpenFiles(locations, i, archives.size());
  std::vector<std::uint64_t> events;
  for (const Otf2Location& location : locations) events.push_back(location.events);
  const std::vector<std::size_t> order = LargestFirst(events);
  std::vector<Otf2LocationEvents> results(locations.size());
  ParallelFor(locations.size(), [&](std::size_t i) {
    const std::size_t index = order[i];
    const Otf2Location& location = locations[index];
    const Otf2EventCallbacks& callbacks = location.IsStream() ? of_stream : location.is_main ? of_main : of_worker;
    results[index] =
        ReadLocation(*archives[index % archives.size()], layout, trace, definitions, location, callbacks.get());
  });
  archives.resize(1);  // the others are done
  return results;
}

void KeepLocations(std::vector<Otf2LocationEvents> results, const Otf2Definitions& definitions, bool keep_threads,
                   Trace& trace) {
  CheckTimes(results, definitions, trace);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Otf2Location& location = definitions.locations[i];
    trace.events += results[i].count;
    trace.diagnostics.Merge(results[i].of_file);
    if (!location.is_main) continue;
    trace.diagnostics.Merge(results[i].diagnostics);
    if (trace.program.empty()) trace.program = results[i].program;
    trace.timelines[static_cast<std::size_t>(location.rank)] = std::move(results[i].timeline);
  }
  TeamThreads& threads = trace.team_threads;
  if (!keep_threads) {
    threads = {};
    return;
  }
  threads.of_ranks.resize(trace.size());
  std::vector<Device> devices;
  for (const std::string& name : definitions.devices) devices.push_back({name, {}});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Otf2Location& location = definitions.locations[i];
    Otf2LocationEvents& own = results[i];
    if (location.IsStream()) {
      trace.diagnostics.Merge(own.diagnostics);
      AddStream(own.stream, devices[static_cast<std::size_t>(location.device)]);
    } else if (location.is_main) {
      threads.of_ranks[static_cast<std::size_t>(location.rank)] = std::move(own.team_events);
    } else {
      threads.diagnostics.Merge(own.diagnostics);
      threads.workers.push_back(
          {{location.rank, location.thread}, std::move(own.timeline), std::move(own.team_events)});
    }
  }
  AddDevices(std::move(devices), trace);
  std::ranges::sort(threads.workers, {}, &WorkerThread::location);
  const auto is_in_teams = [](const WorkerThread& worker) { return !worker.team_events.empty(); };
  if (std::ranges::none_of(threads.workers, is_in_teams)) threads = {};
}

}  // namespace

Trace ReadOtf2(const std::string& anchor, const ReadOptions& options) {
  const bool keep_threads = options.keep_threads;
  std::vector<std::unique_ptr<Otf2Archive>> archives;
  std::error_code code;
  const std::string definitions_file = fs::path(anchor).replace_extension(".def").string();
  const std::uintmax_t bytes = fs::file_size(definitions_file, code);
  if (code) {
    throw Error(ErrorKind::kInput, anchor, "its definitions are missing: there is no " + definitions_file,
                "copy the whole archive: anchor, definitions and the folder of events");
  }
  const Otf2Layout layout = RequireSoundAnchor(anchor, bytes);
  if (layout.is_plain) RequireEndOfFile(definitions_file, false, layout.definition_chunk, anchor);
  archives.push_back(std::make_unique<Otf2Archive>(anchor));
  OTF2_Reader* const reader = archives.front()->reader();
  TraceBuilder builder;
  Trace& trace = builder.trace();
  trace.path = anchor;
  std::uint8_t major = 0, minor = 0, bugfix = 0;
  OTF2_Reader_GetVersion(reader, &major, &minor, &bugfix);
  trace.format = fmt::format("OTF2 {}.{}.{}", major, minor, bugfix);
  char* creator = nullptr;
  if (OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS) trace.creator = TakeText(creator);
  const Otf2Definitions definitions = ReadOtf2Definitions(reader, options, builder);
  if (layout.is_plain) RequireLocationFiles(anchor, definitions.locations);
  KeepLocations(ReadLocations(archives, layout, trace, definitions, keep_threads), definitions, keep_threads, trace);
  // MPI calls that were not recorded, since other threads made them. In a part of a run they are those of the whole, so
  // that their share is, too.
  const std::uint64_t unrecorded = CallsByProperty(reader, kPropertyOfOtherThreads);
  const std::uint64_t of_all = CallsByProperty(reader, kPropertyOfAllThreads);
  std::uint64_t recorded = 0;
  for (const RankTimeline& timeline : trace.timelines) recorded += timeline.calls();
  const std::uint64_t others = of_all > recorded ? of_all - recorded : 0;
  trace.diagnostics.Add(anomaly::kMpiOnWorkerThread, unrecorded, "calls that were not recorded");
  trace.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, std::max(others, unrecorded));
  trace.diagnostics.Add(anomaly::kRegionsAlone, CallsByProperty(reader, kPropertyOfRegions) > 0 ? 1 : 0);
  const std::string end = TextOfProperty(reader, kPropertyOfEnd);
  trace.diagnostics.Add(anomaly::kTraceEndsEarly, end.empty() ? 0 : 1, end);
  std::uint64_t threaded = 0;
  for (const Rank& rank : trace.ranks) threaded += rank.threads > 1 ? 1 : 0;
  threaded = std::max(threaded, CallsByProperty(reader, kPropertyOfThreadedRanks));
  if (trace.team_threads.empty()) trace.diagnostics.Add(anomaly::kThreadsAtProcessLevel, threaded);
  // A part of a run has ranks that do nothing in it. MPI programs call MPI_Init at least, so that others were filtered.
  const std::size_t checked = trace.IsCutOut() ? 0 : trace.size();
  for (std::size_t rank = 0; rank < checked; ++rank) {
    if (!trace.timelines[rank].empty()) continue;
    trace.diagnostics.Add(anomaly::kRankWithoutRecords, 1, fmt::format("rank {}", rank));
  }
  trace.diagnostics.AddPopulation(anomaly::kRankWithoutRecords, checked);
  CheckDevices(trace);
  return std::move(builder).Finish();
}

}  // namespace farscale
