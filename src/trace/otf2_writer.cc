#include "trace/otf2_writer.h"

#include <fmt/format.h>
#include <otf2/otf2.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/version.h"
#include "trace/anomalies.h"
#include "trace/otf2_library.h"
#include "trace/timeline_feed.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// Chosen: chunks bound what a record may take, and the largest is the group of MPI_COMM_WORLD, some bytes a rank.
constexpr std::uint64_t kEventChunk = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefinitionChunk = std::uint64_t{1} << 22;

OTF2_FlushType AlwaysFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
const OTF2_FlushCallbacks kFlushCallbacks = {AlwaysFlush, nullptr};

// An archive in the making: a hidden folder beside its place, removed unless it is put there.
class Staging {
 public:
  explicit Staging(const fs::path& anchor)
      : anchor_(anchor), place_(anchor.has_parent_path() ? anchor.parent_path() : fs::path(".")) {
    std::error_code code;
    for (const fs::path& name : Names()) {
      if (!fs::exists(fs::symlink_status(place_ / name, code))) continue;
      throw Error(ErrorKind::kOutput, (place_ / name).string(), "already exists", "choose another name, or remove it");
    }
    folder_ = place_ / fmt::format(".{}.{}.tmp", name(), getpid());
    CreateFolder(folder_);
  }
  ~Staging() {
    std::error_code code;
    fs::remove_all(folder_, code);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const fs::path& folder() const { return folder_; }
  std::string name() const { return anchor_.stem().string(); }

  // The anchor comes last: until it is there, the rest is no archive.
  void Publish() {
    std::vector<fs::path> published;
    for (const fs::path& name : Names()) {
      std::error_code code;
      fs::rename(folder_ / name, place_ / name, code);
      if (!code) {
        published.push_back(place_ / name);
        continue;
      }
      std::error_code ignored;
      for (const fs::path& path : published) fs::remove_all(path, ignored);
      throw Error(ErrorKind::kOutput, (place_ / name).string(), "cannot be written: " + code.message());
    }
  }

 private:
  std::vector<fs::path> Names() const { return {name(), name() + ".def", name() + ".otf2"}; }

  const fs::path anchor_;
  const fs::path place_;
  fs::path folder_;
};

OTF2_CollectiveOp OperationOf(CollectiveKind kind) {
  const auto found = std::ranges::find(kOtf2Collectives, kind, &Otf2Collective::kind);
  return found == std::end(kOtf2Collectives) ? OTF2_CollectiveOp{OTF2_COLLECTIVE_OP_BARRIER} : found->operation;
}

Tick EarliestOf(const RankTimeline& timeline, Tick otherwise) {
  Tick earliest = timeline.empty() ? otherwise : timeline.begin();
  for (const Interruption& interruption : timeline.interruptions()) earliest = std::min(earliest, interruption.begin);
  return Otf2Clock::Bounded(earliest);
}

Otf2Clock ClockOf(const Trace& trace) {
  Tick earliest = 0;
  for (const RankTimeline& timeline : trace.timelines) earliest = std::min(earliest, EarliestOf(timeline, 0));
  Otf2Clock clock;
  clock.origin = static_cast<std::uint64_t>(-earliest);
  clock.length = clock.At(std::max<Tick>(trace.end(), 0)) + 1;
  return clock;
}

// Writes the events of one location.
class LocationWriter : public TimelineSink {
 public:
  LocationWriter(const Trace& trace, const fs::path& anchor, const Otf2Clock& clock, const Otf2MetricClasses& metrics,
                 std::size_t rank, OTF2_EvtWriter* writer)
      : trace_(trace), anchor_(anchor), clock_(clock), metrics_(metrics), rank_(rank), writer_(writer) {
    values_.resize(trace.counters.size());
  }

  void Enter(Tick tick, std::uint32_t region) override {
    WriteMetrics(tick);
    Write(OTF2_EvtWriter_Enter, tick, region);
  }

  void Leave(Tick tick, std::uint32_t region) override {
    WriteMetrics(tick);
    Write(OTF2_EvtWriter_Leave, tick, region);
  }

  void Record(const FedRecord& r) override {
    const std::uint32_t root = r.root.value_or(OTF2_COLLECTIVE_ROOT_NONE);
    switch (r.kind) {
      case RecordKind::kSend: return Write(OTF2_EvtWriter_MpiSend, r.tick, r.peer, r.communicator, r.tag, r.bytes);
      case RecordKind::kSendPost:
        return Write(OTF2_EvtWriter_MpiIsend, r.tick, r.peer, r.communicator, r.tag, r.bytes, r.request);
      case RecordKind::kSendComplete: return Write(OTF2_EvtWriter_MpiIsendComplete, r.tick, r.request);
      case RecordKind::kSendCancelled: return Write(OTF2_EvtWriter_MpiRequestCancelled, r.tick, r.request);
      case RecordKind::kReceive: return Write(OTF2_EvtWriter_MpiRecv, r.tick, r.peer, r.communicator, r.tag, r.bytes);
      case RecordKind::kReceivePost: return Write(OTF2_EvtWriter_MpiIrecvRequest, r.tick, r.request);
      case RecordKind::kReceiveComplete:
        return Write(OTF2_EvtWriter_MpiIrecv, r.tick, r.peer, r.communicator, r.tag, r.bytes, r.request);
      case RecordKind::kCollective:
        Write(OTF2_EvtWriter_MpiCollectiveBegin, r.tick);
        return Write(OTF2_EvtWriter_MpiCollectiveEnd, r.tick, OperationOf(r.collective), r.communicator, root, r.bytes,
                     r.received);
      case RecordKind::kCollectivePost: return Write(OTF2_EvtWriter_NonBlockingCollectiveRequest, r.tick, r.request);
      case RecordKind::kCollectiveComplete:
        return Write(OTF2_EvtWriter_NonBlockingCollectiveComplete, r.tick, OperationOf(r.collective), r.communicator,
                     root, r.bytes, r.received, r.request);
    }
  }

  void SetCounter(Tick, std::uint32_t counter, std::int64_t value) override { values_[counter] = value; }

  void MeasurementOff(Tick tick) override { Write(OTF2_EvtWriter_MeasurementOnOff, tick, OTF2_MEASUREMENT_OFF); }
  void MeasurementOn(Tick tick) override { Write(OTF2_EvtWriter_MeasurementOnOff, tick, OTF2_MEASUREMENT_ON); }
  void BufferFlush(Tick begin, Tick end) override { Write(OTF2_EvtWriter_BufferFlush, begin, clock_.At(end)); }

  void ProgramBegin(Tick tick) { Write(OTF2_EvtWriter_ProgramBegin, tick, kProgramString, 0, nullptr); }
  void ProgramEnd(Tick tick) { Write(OTF2_EvtWriter_ProgramEnd, tick, OTF2_UNDEFINED_INT64); }

 private:
  // A class is written once all its counters have a value.
  void WriteMetrics(Tick tick) {
    for (const std::uint32_t metric : metrics_.of_rank[rank_]) {
      types_.clear();
      samples_.clear();
      for (const std::uint32_t counter : metrics_.counters[metric]) {
        if (!values_[counter]) break;
        types_.push_back(trace_.counters[counter].is_double ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64);
        OTF2_MetricValue value;
        value.signed_int = *values_[counter];
        if (types_.back() == OTF2_TYPE_DOUBLE) value.floating_point = std::bit_cast<double>(*values_[counter]);
        samples_.push_back(value);
        values_[counter].reset();
      }
      if (samples_.empty()) continue;
      Write(OTF2_EvtWriter_Metric, tick, metric, static_cast<std::uint8_t>(samples_.size()), types_.data(),
            samples_.data());
    }
  }

  // An event by the library's function for it.
  template <typename... Values>
  void Write(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Values...), Tick tick,
             std::type_identity_t<Values>... values) const {
    const OTF2_ErrorCode code = write(writer_, nullptr, clock_.At(tick), values...);
    if (code != OTF2_SUCCESS) CheckOtf2Writing(code, anchor_, fmt::format("writing the events of rank {}", rank_));
  }

  const Trace& trace_;
  const fs::path& anchor_;
  const Otf2Clock& clock_;
  const Otf2MetricClasses& metrics_;
  const std::size_t rank_;
  OTF2_EvtWriter* const writer_;
  std::vector<std::optional<std::int64_t>> values_;  // of the next edge
  std::vector<OTF2_Type> types_;
  std::vector<OTF2_MetricValue> samples_;
};

using ArchivePointer = std::unique_ptr<OTF2_Archive, decltype(&OTF2_Archive_Close)>;

// Keeps who recorded the run, however often it was written since.
std::string CreatorOf(const Trace& trace) {
  constexpr std::string_view kRecordedBy = ", recorded by ";
  const std::size_t found = trace.creator.find(kRecordedBy);
  if (found != std::string::npos) return Generator() + trace.creator.substr(found);
  return trace.creator.empty() ? Generator() : Generator() + std::string(kRecordedBy) + trace.creator;
}

// What is not in the trace: threads and their calls, all but some regions.
void WriteUnrecorded(const Trace& trace, const fs::path& anchor, OTF2_Archive* archive) {
  for (const Finding& finding : trace.diagnostics.findings()) {
    for (const auto& [anomaly, property] : {std::pair(&anomaly::kThreadsAtProcessLevel, kPropertyOfThreadedRanks),
                                            std::pair(&anomaly::kRegionsAlone, kPropertyOfRegions)}) {
      if (finding.id != anomaly->id) continue;
      CheckOtf2Writing(OTF2_Archive_SetProperty(archive, property, std::to_string(finding.count).c_str(), true), anchor,
                       "creating the archive");
    }
    if (finding.id != anomaly::kMpiOnWorkerThread.id) continue;
    for (const auto& [property, calls] :
         {std::pair(kPropertyOfOtherThreads, finding.count), std::pair(kPropertyOfAllThreads, finding.population)}) {
      CheckOtf2Writing(OTF2_Archive_SetProperty(archive, property, std::to_string(calls).c_str(), true), anchor,
                       "creating the archive");
    }
  }
}

ArchivePointer OpenArchive(const Trace& trace, const fs::path& anchor, const Staging& staging) {
  CaptureOtf2Errors();
  ArchivePointer archive(OTF2_Archive_Open(staging.folder().c_str(), staging.name().c_str(), OTF2_FILEMODE_WRITE,
                                           kEventChunk, kDefinitionChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE),
                         OTF2_Archive_Close);
  if (!archive) CheckOtf2Writing(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating the archive");
  const std::string creator = CreatorOf(trace);
  CheckOtf2Writing(OTF2_Archive_SetFlushCallbacks(archive.get(), &kFlushCallbacks, nullptr), anchor,
                   "creating the archive");
  CheckOtf2Writing(OTF2_Archive_SetSerialCollectiveCallbacks(archive.get()), anchor, "creating the archive");
  CheckOtf2Writing(OTF2_Archive_SetCreator(archive.get(), creator.c_str()), anchor, "creating the archive");
  WriteUnrecorded(trace, anchor, archive.get());
  return archive;
}

// Calls write(location, rank, thread) for every location.
template <typename Write>
void ForEachLocation(const Trace& trace, Write write) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (int thread = 0; thread < trace.ranks[rank].threads; ++thread) {
      write(LocationOf(rank, thread), rank, thread);
    }
  }
}

void WriteTimeline(const Trace& trace, const LocalRanks& local_ranks, std::size_t rank, LocationWriter& writer) {
  const bool names_program = rank == 0 && !trace.program.empty();
  const RankTimeline& timeline = trace.timelines[rank];
  if (names_program) writer.ProgramBegin(EarliestOf(timeline, trace.begin()));
  FeedTimeline(trace, local_ranks, rank, writer);
  Tick end = timeline.empty() ? trace.begin() : timeline.end();
  for (const Interruption& interruption : timeline.interruptions()) end = std::max(end, interruption.end);
  if (names_program) writer.ProgramEnd(end);
}

// Returns how many events every rank has.
std::vector<std::uint64_t> WriteEvents(const Trace& trace, const fs::path& anchor, const Otf2Clock& clock,
                                       const Otf2MetricClasses& metrics, OTF2_Archive* archive) {
  const LocalRanks local_ranks(trace);
  std::vector<std::uint64_t> events(trace.size());
  CheckOtf2Writing(OTF2_Archive_OpenEvtFiles(archive), anchor, "creating the event files");
  ForEachLocation(trace, [&](OTF2_LocationRef location, std::size_t rank, int thread) {
    OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive, location);
    if (writer == nullptr) CheckOtf2Writing(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating an event file");
    if (thread == 0) {
      LocationWriter location_writer(trace, anchor, clock, metrics, rank, writer);
      WriteTimeline(trace, local_ranks, rank, location_writer);
      CheckOtf2Writing(OTF2_EvtWriter_GetNumberOfEvents(writer, &events[rank]), anchor, "counting the events");
    }
    CheckOtf2Writing(OTF2_Archive_CloseEvtWriter(archive, writer), anchor,
                     fmt::format("writing the events of rank {}", rank));
  });
  CheckOtf2Writing(OTF2_Archive_CloseEvtFiles(archive), anchor, "writing the event files");
  return events;
}

// Nothing in them: references and times of the events are global ones.
void WriteLocalDefinitions(const Trace& trace, const fs::path& anchor, OTF2_Archive* archive) {
  CheckOtf2Writing(OTF2_Archive_OpenDefFiles(archive), anchor, "creating the definition files");
  ForEachLocation(trace, [&](OTF2_LocationRef location, std::size_t, int) {
    OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive, location);
    if (writer == nullptr) CheckOtf2Writing(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating a definition file");
    CheckOtf2Writing(OTF2_Archive_CloseDefWriter(archive, writer), anchor, "writing a definition file");
  });
  CheckOtf2Writing(OTF2_Archive_CloseDefFiles(archive), anchor, "writing the definition files");
}

}  // namespace

void WriteOtf2(const Trace& trace, const fs::path& anchor) {
  if (anchor.extension() != ".otf2") {
    throw Error(ErrorKind::kOutput, anchor.string(), "the name of an OTF2 archive must end in .otf2");
  }
  Staging staging(anchor);
  ArchivePointer archive = OpenArchive(trace, anchor, staging);
  const Otf2Clock clock = ClockOf(trace);
  const Otf2MetricClasses metrics(trace);
  const std::vector<std::uint64_t> events = WriteEvents(trace, anchor, clock, metrics, archive.get());
  WriteLocalDefinitions(trace, anchor, archive.get());
  OTF2_GlobalDefWriter* definitions = OTF2_Archive_GetGlobalDefWriter(archive.get());
  if (definitions == nullptr) CheckOtf2Writing(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating the definitions");
  WriteOtf2Definitions(trace, anchor, definitions, clock, metrics, events);
  CheckOtf2Writing(OTF2_Archive_Close(archive.release()), anchor, "writing the anchor file");
  staging.Publish();
}

}  // namespace farscale
