#include "trace/otf2_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/diagnostics.h"
#include "trace/anomalies.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

using Reader = Otf2LocationReader;

[[noreturn]] void Damaged(const Reader& reader, const std::string& what) {
  throw Error(ErrorKind::kInput, reader.Where(), what, "the event file is damaged");
}

std::uint32_t RegionOf(const Reader& reader, OTF2_RegionRef reference) {
  const std::uint32_t index = reader.definitions.regions[reference];
  if (index == ReferenceTable::kUnknown) Damaged(reader, fmt::format("region {} is not defined", reference));
  return index;
}

std::uint32_t CommunicatorOf(const Reader& reader, OTF2_CommRef reference) {
  const std::uint32_t index = reader.definitions.communicators[reference];
  if (index == ReferenceTable::kUnknown) Damaged(reader, fmt::format("MPI communicator {} is not defined", reference));
  return index;
}

std::uint32_t TeamOf(const Reader& reader, OTF2_CommRef reference) {
  const std::uint32_t index = reader.definitions.teams[reference];
  return index == ReferenceTable::kUnknown ? reader.definitions.unknown_team : index;
}

Tick TickOf(const Reader& reader, OTF2_TimeStamp time) { return static_cast<Tick>(time - reader.definitions.origin); }

CollectiveKind KindOf(const Reader& reader, OTF2_CollectiveOp operation) {
  const auto found = std::ranges::find(kOtf2Collectives, operation, &Otf2Collective::operation);
  if (found == std::end(kOtf2Collectives)) Damaged(reader, fmt::format("unknown collective operation {}", operation));
  return found->kind;
}

// Locks of all ranks have no target, as Score-P writes MPI_Win_lock_all.
std::optional<std::uint32_t> TargetOf(std::uint32_t target) {
  return target == OTF2_UNDEFINED_UINT32 ? std::nullopt : std::optional(target);
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
void AddSample(Reader& reader, Tick tick, const Otf2Metric& metric, OTF2_Type type, const OTF2_MetricValue& value) {
  if (metric.counter == ReferenceTable::kUnknown) return;
  const bool is_double = metric.type == OTF2_TYPE_DOUBLE;
  if ((type == OTF2_TYPE_DOUBLE) != is_double) Damaged(reader, "a metric has values of another type than defined");
  if (metric.use == MetricUse::kTotal) {
    const std::int64_t bits = is_double ? std::bit_cast<std::int64_t>(value.floating_point) : value.signed_int;
    return reader.builder.SetCounter(tick, metric.counter, bits);
  }
  if (metric.use == MetricUse::kCpuTime) return reader.builder.SetCpuTime(tick, metric.counter, value.signed_int);
  double& total = reader.running_totals[metric.counter];
  if (metric.use == MetricUse::kNextIncrement) {
    total += std::exchange(reader.pending_increments[metric.counter], AsDouble(type, value));
  } else {
    total += AsDouble(type, value);
  }
  reader.builder.SetCounter(tick, metric.counter,
                            is_double ? std::bit_cast<std::int64_t>(total) : static_cast<std::int64_t>(total));
}

StreamUse UseOf(const Reader& reader, OTF2_RegionRef reference) {
  const auto found = reader.definitions.stream_uses.find(reference);
  return found == reader.definitions.stream_uses.end() ? StreamUse::kKernel : found->second;
}

void CountMpi(Reader& reader, OTF2_RegionRef region) {
  if (reader.builder.IsMpi(RegionOf(reader, region))) ++reader.mpi_calls_on_worker;
}

}  // namespace

std::string Otf2LocationReader::Where() const {
  return fmt::format("{}, rank {} (location {})", path, location.rank, location.reference);
}

// `set` is a function of the library, `Action` a function of the reader, the event's time and its values.
template <typename... Values, typename Action>
void Otf2EventCallbacks::On(OTF2_ErrorCode (*set)(OTF2_EvtReaderCallbacks*,
                                                  OTF2_CallbackCode (*)(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t,
                                                                        void*, OTF2_AttributeList*, Values...)),
                            Action) {
  set(callbacks_.get(),
      [](OTF2_LocationRef, OTF2_TimeStamp time, std::uint64_t, void* user, OTF2_AttributeList*, Values... values) {
        return StopOnFailure<Reader>(user, [&](Reader& r) {
          const Tick tick = TickOf(r, time);
          r.outside.Note(tick, r.definitions.length);
          Action()(r, tick, values...);
        });
      });
}

void Otf2EventCallbacks::OnRegions() {
  On(OTF2_EvtReaderCallbacks_SetEnterCallback,
     [](Reader& r, Tick tick, auto region) { r.builder.Enter(tick, RegionOf(r, region)); });
  On(OTF2_EvtReaderCallbacks_SetLeaveCallback,
     [](Reader& r, Tick tick, auto region) { r.builder.Leave(tick, RegionOf(r, region)); });
}

void Otf2EventCallbacks::OnTeams() {
  using enum TeamEvent::Kind;
  On(OTF2_EvtReaderCallbacks_SetThreadForkCallback, [](Reader& r, Tick tick, auto...) { r.builder.Team(kFork, tick); });
  On(OTF2_EvtReaderCallbacks_SetThreadJoinCallback, [](Reader& r, Tick tick, auto...) { r.builder.Team(kJoin, tick); });
  On(OTF2_EvtReaderCallbacks_SetThreadTeamBeginCallback,
     [](Reader& r, Tick tick, auto team) { r.builder.Team(kBegin, tick, TeamOf(r, team)); });
  On(OTF2_EvtReaderCallbacks_SetThreadTeamEndCallback,
     [](Reader& r, Tick tick, auto team) { r.builder.Team(kEnd, tick, TeamOf(r, team)); });
}

void Otf2EventCallbacks::OnMessages() {
  On(OTF2_EvtReaderCallbacks_SetMpiSendCallback,
     [](Reader& r, Tick, auto receiver, auto communicator, auto tag, auto bytes) {
       r.builder.Send(receiver, CommunicatorOf(r, communicator), tag, bytes);
     });
  On(OTF2_EvtReaderCallbacks_SetMpiIsendCallback,
     [](Reader& r, Tick, auto receiver, auto communicator, auto tag, auto bytes, auto request) {
       r.builder.SendPost(receiver, CommunicatorOf(r, communicator), tag, bytes, request);
     });
  On(OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback,
     [](Reader& r, Tick, auto request) { r.builder.SendComplete(request); });
  On(OTF2_EvtReaderCallbacks_SetMpiRecvCallback,
     [](Reader& r, Tick, auto sender, auto communicator, auto tag, auto bytes) {
       r.builder.Receive(sender, CommunicatorOf(r, communicator), tag, bytes);
     });
  On(OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback,
     [](Reader& r, Tick, auto request) { r.builder.ReceivePost(request); });
  On(OTF2_EvtReaderCallbacks_SetMpiIrecvCallback,
     [](Reader& r, Tick, auto sender, auto communicator, auto tag, auto bytes, auto request) {
       r.builder.ReceiveComplete(sender, CommunicatorOf(r, communicator), tag, bytes, request);
     });
  On(OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback,
     [](Reader& r, Tick, auto request) { r.builder.RequestCancelled(request); });
}

void Otf2EventCallbacks::OnCollectives() {
  On(OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback,
     [](Reader& r, Tick, auto operation, auto communicator, auto root, auto sent, auto received) {
       r.builder.Collective(KindOf(r, operation), CommunicatorOf(r, communicator), RootOf(root), sent, received);
     });
  On(OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback,
     [](Reader& r, Tick, auto request) { r.builder.CollectivePost(request); });
  On(OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback,
     [](Reader& r, Tick, auto operation, auto communicator, auto root, auto sent, auto received, auto request) {
       r.builder.CollectiveComplete(KindOf(r, operation), CommunicatorOf(r, communicator), RootOf(root), sent, received,
                                    request);
     });
}

// Windows of other paradigms than MPI are not known.
void Otf2EventCallbacks::OnWindows() {
  // A barrier of all ranks of a window, or its creation.
  On(OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback,
     [](Reader& r, Tick, auto operation, auto /*level*/, auto reference, auto root, auto sent, auto received) {
       const std::uint32_t window = r.definitions.windows[reference];
       if (window == ReferenceTable::kUnknown) return;
       CollectiveKind kind = KindOf(r, operation);
       // A window is freed only when all have called: what they did there must be done [MPI 4.0, 12.2.5].
       if (kind == CollectiveKind::kDestroyHandle) kind = CollectiveKind::kBarrier;
       r.builder.Collective(kind, window, RootOf(root), sent, received);
     });
  On(OTF2_EvtReaderCallbacks_SetRmaGroupSyncCallback, [](Reader& r, Tick, auto /*level*/, auto reference, auto group) {
    const std::uint32_t window = r.definitions.windows[reference];
    const auto members = r.definitions.groups.find(group);
    if (window == ReferenceTable::kUnknown || members == r.definitions.groups.end()) return;
    r.builder.SynchroniseGroup(window, members->second, r.definitions.alone);
  });
  const auto lock = [](Reader& r, Tick, auto reference, auto target, auto /*lock*/, auto type) {
    const std::uint32_t window = r.definitions.windows[reference];
    if (window != ReferenceTable::kUnknown) r.builder.Lock(window, TargetOf(target), type == OTF2_LOCK_EXCLUSIVE);
  };
  On(OTF2_EvtReaderCallbacks_SetRmaRequestLockCallback, lock);
  On(OTF2_EvtReaderCallbacks_SetRmaAcquireLockCallback, lock);
  On(OTF2_EvtReaderCallbacks_SetRmaReleaseLockCallback,
     [](Reader& r, Tick, auto reference, auto target, auto /*lock*/) {
       const std::uint32_t window = r.definitions.windows[reference];
       if (window != ReferenceTable::kUnknown) r.builder.Unlock(window, TargetOf(target));
     });
  On(OTF2_EvtReaderCallbacks_SetRmaPutCallback,
     [](Reader& r, Tick, auto, auto /*target*/, auto bytes, auto /*id*/) { r.builder.MoveOneSided(bytes); });
  On(OTF2_EvtReaderCallbacks_SetRmaGetCallback,
     [](Reader& r, Tick, auto, auto /*target*/, auto bytes, auto /*id*/) { r.builder.MoveOneSided(bytes); });
  On(OTF2_EvtReaderCallbacks_SetRmaAtomicCallback,
     [](Reader& r, Tick, auto, auto /*target*/, auto /*type*/, auto sent, auto received, auto /*id*/) {
       r.builder.MoveOneSided(sent + received);
     });
}

// Files of any paradigm: what is asked for when an operation begins, what was read or written when it is done. Those
// that do not block end in another call.
void Otf2EventCallbacks::OnFiles() {
  On(OTF2_EvtReaderCallbacks_SetIoOperationCompleteCallback,
     [](Reader& r, Tick, auto /*file*/, auto bytes, auto /*id*/) {
       r.builder.MoveOnFile(bytes == OTF2_UNDEFINED_UINT64 ? 0 : bytes);
     });
}

void Otf2EventCallbacks::OnCounters() {
  On(OTF2_EvtReaderCallbacks_SetMetricCallback,
     [](Reader& r, Tick tick, auto metric, auto count, auto* types, auto* values) {
       const auto found = r.definitions.metrics.find(metric);
       if (found == r.definitions.metrics.end()) Damaged(r, fmt::format("metric {} is not defined", metric));
       const std::vector<Otf2Metric>& members = found->second;
       if (members.size() != count) {
         Damaged(r, fmt::format("metric {} has {} values instead of {}", metric, count, members.size()));
       }
       for (std::size_t i = 0; i < members.size(); ++i) AddSample(r, tick, members[i], types[i], values[i]);
     });
}

void Otf2EventCallbacks::OnMeasurement() {
  On(OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback, [](Reader& r, Tick tick, auto mode) {
    mode == OTF2_MEASUREMENT_OFF ? r.builder.MeasurementOff(tick) : r.builder.MeasurementOn(tick);
  });
  On(OTF2_EvtReaderCallbacks_SetBufferFlushCallback,
     [](Reader& r, Tick tick, auto stop) { r.builder.BufferFlush(tick, TickOf(r, stop)); });
  On(OTF2_EvtReaderCallbacks_SetProgramBeginCallback, [](Reader& r, Tick, auto name, auto...) {
    if (name < r.definitions.strings.size()) r.program = r.definitions.strings[name];
  });
}

// Of a newer library, or of a damaged type.
void Otf2EventCallbacks::OnUnknown() {
  On(OTF2_EvtReaderCallbacks_SetUnknownCallback,
     [](Reader& r, Tick) { r.builder.diagnostics().Add(anomaly::kRecordNotRead, 1, r.Where()); });
}

Otf2EventCallbacks Otf2EventCallbacks::OfMainThread(bool keep_threads) {
  Otf2EventCallbacks callbacks;
  callbacks.OnRegions();
  callbacks.OnMessages();
  callbacks.OnCollectives();
  callbacks.OnWindows();
  callbacks.OnFiles();
  callbacks.OnCounters();
  callbacks.OnMeasurement();
  callbacks.OnUnknown();
  if (keep_threads) callbacks.OnTeams();
  return callbacks;
}

Otf2EventCallbacks Otf2EventCallbacks::OfWorker(bool keep_threads) {
  Otf2EventCallbacks callbacks;
  if (keep_threads) {
    callbacks.OnRegions();
    callbacks.OnTeams();
    callbacks.OnCounters();
    callbacks.On(OTF2_EvtReaderCallbacks_SetEnterCallback, [](Reader& r, Tick tick, auto region) {  // once more
      CountMpi(r, region);
      r.builder.Enter(tick, RegionOf(r, region));
    });
  } else {
    callbacks.On(OTF2_EvtReaderCallbacks_SetEnterCallback, [](Reader& r, Tick, auto region) { CountMpi(r, region); });
  }
  return callbacks;
}

// Kernels are regions, copies one-sided operations or regions.
Otf2EventCallbacks Otf2EventCallbacks::OfStream() {
  Otf2EventCallbacks callbacks;
  callbacks.On(OTF2_EvtReaderCallbacks_SetEnterCallback,
               [](Reader& r, Tick tick, auto region) { r.stream.Enter(tick, RegionOf(r, region)); });
  callbacks.On(OTF2_EvtReaderCallbacks_SetLeaveCallback,
               [](Reader& r, Tick tick, auto region) { r.stream.Leave(tick, RegionOf(r, region), UseOf(r, region)); });
  const auto begin = [](Reader& r, Tick tick, auto window, auto /*remote*/, auto /*bytes*/, auto id) {
    r.stream.BeginCopy(tick, window, id);
  };
  const auto end = [](Reader& r, Tick tick, auto window, auto id) { r.stream.EndCopy(tick, window, id); };
  callbacks.On(OTF2_EvtReaderCallbacks_SetRmaPutCallback, begin);
  callbacks.On(OTF2_EvtReaderCallbacks_SetRmaGetCallback, begin);
  callbacks.On(OTF2_EvtReaderCallbacks_SetRmaOpCompleteBlockingCallback, end);
  callbacks.On(OTF2_EvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback, end);
  return callbacks;
}

}  // namespace farscale
