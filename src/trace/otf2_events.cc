#include "trace/otf2_reader.h"

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

std::uint32_t Resolve(const Reader& reader, const ReferenceTable& table, std::uint32_t reference, const char* what) {
  const std::uint32_t index = table[reference];
  if (index == ReferenceTable::kUnknown) Damaged(reader, fmt::format("{} {} is not defined", what, reference));
  return index;
}

std::uint32_t RegionOf(const Reader& reader, OTF2_RegionRef reference) {
  return Resolve(reader, reader.definitions.regions, reference, "region");
}

std::uint32_t CommunicatorOf(const Reader& reader, OTF2_CommRef reference) {
  return Resolve(reader, reader.definitions.communicators, reference, "MPI communicator");
}

std::uint32_t TeamOf(const Reader& reader, OTF2_CommRef reference) {
  const std::uint32_t index = reader.definitions.teams[reference];
  return index == ReferenceTable::kUnknown ? reader.definitions.unknown_team : index;
}

Tick TickOf(const Reader& reader, OTF2_TimeStamp time) { return static_cast<Tick>(time - reader.definitions.origin); }

CollectiveKind KindOf(const Reader& reader, OTF2_CollectiveOp operation) {
  const auto found = std::ranges::find(kOtf2Collectives, operation, &Otf2Collective::first);
  if (found == std::end(kOtf2Collectives)) Damaged(reader, fmt::format("unknown collective operation {}", operation));
  return found->second;
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

void NoteTime(Reader& reader, Tick tick) {
  constexpr Tick kPerMille = 1000;  // chosen: of the length; less does not change a factor that anybody reads
  const Tick length = reader.definitions.length;
  const Tick beyond = tick < 0 ? -(tick + 1) : tick - length;
  if (length == 0 || beyond <= length / kPerMille) return;
  ++reader.events.outside_run;
  Tick& farthest = tick < 0 ? reader.events.before_run : reader.events.after_run;
  farthest = std::max(farthest, beyond);
}

void CountMpi(Reader& reader, OTF2_RegionRef region) {
  if (reader.builder.definitions().regions[RegionOf(reader, region)].is_mpi) ++reader.events.mpi_calls_on_worker;
}

using EventCallbacks = OTF2_EvtReaderCallbacks;

// `set` is a function of the library, `Action` a function of the reader, the event's time and its values.
template <typename... Values, typename Action>
void On(EventCallbacks* callbacks,
        OTF2_ErrorCode (*set)(EventCallbacks*, OTF2_CallbackCode (*)(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t,
                                                                     void*, OTF2_AttributeList*, Values...)),
        Action) {
  set(callbacks,
      [](OTF2_LocationRef, OTF2_TimeStamp time, std::uint64_t, void* user, OTF2_AttributeList*, Values... values) {
        return StopOnFailure<Reader>(user, [&](Reader& r) {
          const Tick tick = TickOf(r, time);
          NoteTime(r, tick);
          Action()(r, tick, values...);
        });
      });
}

void OnRegions(EventCallbacks* callbacks) {
  On(callbacks, OTF2_EvtReaderCallbacks_SetEnterCallback,
     [](Reader& r, Tick tick, auto region) { r.builder.Enter(tick, RegionOf(r, region)); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetLeaveCallback,
     [](Reader& r, Tick tick, auto region) { r.builder.Leave(tick, RegionOf(r, region)); });
}

void OnTeams(EventCallbacks* callbacks) {
  using enum TeamEvent::Kind;
  On(callbacks, OTF2_EvtReaderCallbacks_SetThreadForkCallback,
     [](Reader& r, Tick tick, auto...) { r.builder.Team(kFork, tick); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetThreadJoinCallback,
     [](Reader& r, Tick tick, auto...) { r.builder.Team(kJoin, tick); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetThreadTeamBeginCallback,
     [](Reader& r, Tick tick, auto team) { r.builder.Team(kBegin, tick, TeamOf(r, team)); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetThreadTeamEndCallback,
     [](Reader& r, Tick tick, auto team) { r.builder.Team(kEnd, tick, TeamOf(r, team)); });
}

void OnMessagesAndCollectives(EventCallbacks* callbacks) {
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiSendCallback,
     [](Reader& r, Tick, auto receiver, auto communicator, auto tag, auto bytes) {
       r.builder.Send(receiver, CommunicatorOf(r, communicator), tag, bytes);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiIsendCallback,
     [](Reader& r, Tick, auto receiver, auto communicator, auto tag, auto bytes, auto request) {
       r.builder.SendPost(receiver, CommunicatorOf(r, communicator), tag, bytes, request);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback,
     [](Reader& r, Tick, auto request) { r.builder.SendComplete(request); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiRecvCallback,
     [](Reader& r, Tick, auto sender, auto communicator, auto tag, auto bytes) {
       r.builder.Receive(sender, CommunicatorOf(r, communicator), tag, bytes);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback,
     [](Reader& r, Tick, auto request) { r.builder.ReceivePost(request); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiIrecvCallback,
     [](Reader& r, Tick, auto sender, auto communicator, auto tag, auto bytes, auto request) {
       r.builder.ReceiveComplete(sender, CommunicatorOf(r, communicator), tag, bytes, request);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback,
     [](Reader& r, Tick, auto request) { r.builder.RequestCancelled(request); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback,
     [](Reader& r, Tick, auto operation, auto communicator, auto root, auto sent, auto received) {
       r.builder.Collective(KindOf(r, operation), CommunicatorOf(r, communicator), RootOf(root), sent, received);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback,
     [](Reader& r, Tick, auto request) { r.builder.CollectivePost(request); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback,
     [](Reader& r, Tick, auto operation, auto communicator, auto root, auto sent, auto received, auto request) {
       r.builder.CollectiveComplete(KindOf(r, operation), CommunicatorOf(r, communicator), RootOf(root), sent, received,
                                    request);
     });
}

// Windows of other paradigms than MPI are not known.
void OnWindows(EventCallbacks* callbacks) {
  // A barrier of all ranks of a window, or its creation.
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback,
     [](Reader& r, Tick, auto operation, auto /*level*/, auto reference, auto root, auto sent, auto received) {
       const std::uint32_t window = r.definitions.windows[reference];
       if (window == ReferenceTable::kUnknown) return;
       CollectiveKind kind = KindOf(r, operation);
       // A window is freed only when all have called: what they did there must be done [MPI 4.0, 12.2.5].
       if (kind == CollectiveKind::kDestroyHandle) kind = CollectiveKind::kBarrier;
       r.builder.Collective(kind, window, RootOf(root), sent, received);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaGroupSyncCallback,
     [](Reader& r, Tick, auto /*level*/, auto reference, auto group) {
       const std::uint32_t window = r.definitions.windows[reference];
       const auto members = r.definitions.groups.find(group);
       if (window == ReferenceTable::kUnknown || members == r.definitions.groups.end()) return;
       r.builder.SynchroniseGroup(window, members->second, r.definitions.alone);
     });
  const auto lock = [](Reader& r, Tick, auto reference, auto target, auto /*lock*/, auto type) {
    const std::uint32_t window = r.definitions.windows[reference];
    if (window != ReferenceTable::kUnknown) r.builder.Lock(window, TargetOf(target), type == OTF2_LOCK_EXCLUSIVE);
  };
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaRequestLockCallback, lock);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaAcquireLockCallback, lock);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaReleaseLockCallback,
     [](Reader& r, Tick, auto reference, auto target, auto /*lock*/) {
       const std::uint32_t window = r.definitions.windows[reference];
       if (window != ReferenceTable::kUnknown) r.builder.Unlock(window, TargetOf(target));
     });
  const auto move = [](Reader& r, Tick, auto, auto /*target*/, auto bytes, auto /*id*/) {
    r.builder.MoveOneSided(bytes);
  };
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaPutCallback, move);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaGetCallback, move);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaAtomicCallback,
     [](Reader& r, Tick, auto, auto /*target*/, auto /*type*/, auto sent, auto received, auto /*id*/) {
       r.builder.MoveOneSided(sent + received);
     });
}

void OnCounters(EventCallbacks* callbacks) {
  On(callbacks, OTF2_EvtReaderCallbacks_SetMetricCallback,
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

Otf2EventCallbacks NewCallbacks() { return {OTF2_EvtReaderCallbacks_New(), OTF2_EvtReaderCallbacks_Delete}; }

}  // namespace

std::string Otf2LocationReader::Where() const {
  return fmt::format("{}, rank {} (location {})", builder.definitions().path, location.rank, location.reference);
}

Otf2EventCallbacks MainThreadCallbacks(bool keep_threads) {
  Otf2EventCallbacks owner = NewCallbacks();
  EventCallbacks* const callbacks = owner.get();
  for (const auto add : {OnRegions, OnMessagesAndCollectives, OnWindows, OnCounters}) add(callbacks);
  if (keep_threads) OnTeams(callbacks);
  // Files of any paradigm: what is asked for when an operation begins, what was read or written when it is done. Those
  // that do not block end in another call.
  On(callbacks, OTF2_EvtReaderCallbacks_SetIoOperationCompleteCallback,
     [](Reader& r, Tick, auto /*file*/, auto bytes, auto /*id*/) {
       r.builder.MoveOnFile(bytes == OTF2_UNDEFINED_UINT64 ? 0 : bytes);
     });
  On(callbacks, OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback, [](Reader& r, Tick tick, auto mode) {
    mode == OTF2_MEASUREMENT_OFF ? r.builder.MeasurementOff(tick) : r.builder.MeasurementOn(tick);
  });
  On(callbacks, OTF2_EvtReaderCallbacks_SetBufferFlushCallback,
     [](Reader& r, Tick tick, auto stop) { r.builder.BufferFlush(tick, TickOf(r, stop)); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetProgramBeginCallback, [](Reader& r, Tick, auto name, auto...) {
    if (name < r.definitions.strings.size()) r.events.program = r.definitions.strings[name];
  });
  // Records of a newer library, or damaged ones.
  On(callbacks, OTF2_EvtReaderCallbacks_SetUnknownCallback,
     [](Reader& r, Tick) { r.builder.diagnostics().Add(anomaly::kRecordNotRead, 1, r.Where()); });
  return owner;
}

Otf2EventCallbacks WorkerCallbacks(bool keep_threads) {
  Otf2EventCallbacks callbacks = NewCallbacks();
  if (!keep_threads) {
    On(callbacks.get(), OTF2_EvtReaderCallbacks_SetEnterCallback,
       [](Reader& r, Tick, auto region) { CountMpi(r, region); });
    return callbacks;
  }
  for (const auto add : {OnRegions, OnTeams, OnCounters}) add(callbacks.get());
  On(callbacks.get(), OTF2_EvtReaderCallbacks_SetEnterCallback, [](Reader& r, Tick tick, auto region) {  // once more
    CountMpi(r, region);
    r.builder.Enter(tick, RegionOf(r, region));
  });
  return callbacks;
}

// Kernels are regions, copies one-sided operations or regions.
Otf2EventCallbacks StreamCallbacks() {
  Otf2EventCallbacks owner = NewCallbacks();
  EventCallbacks* const callbacks = owner.get();
  On(callbacks, OTF2_EvtReaderCallbacks_SetEnterCallback,
     [](Reader& r, Tick tick, auto region) { r.stream.Enter(tick, RegionOf(r, region)); });
  On(callbacks, OTF2_EvtReaderCallbacks_SetLeaveCallback, [](Reader& r, Tick tick, auto region) {
    const auto use = r.definitions.stream_uses.find(region);
    const bool is_kernel = use == r.definitions.stream_uses.end();
    r.stream.Leave(tick, RegionOf(r, region), is_kernel ? StreamUse::kKernel : use->second);
  });
  const auto begin = [](Reader& r, Tick tick, auto window, auto /*remote*/, auto /*bytes*/, auto id) {
    r.stream.BeginCopy(tick, window, id);
  };
  const auto end = [](Reader& r, Tick tick, auto window, auto id) { r.stream.EndCopy(tick, window, id); };
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaPutCallback, begin);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaGetCallback, begin);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaOpCompleteBlockingCallback, end);
  On(callbacks, OTF2_EvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback, end);
  return owner;
}

}  // namespace farscale
