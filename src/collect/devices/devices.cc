#include "collect/devices/devices.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "collect/preload/call.h"
#include "collect/devices/device_backend.h"
#include "collect/page.h"
#include "collect/trace/recorder.h"
#include "collect/threads/team.h"
#include "collect/text.h"
#include "collect/trace/thread_recorder.h"

namespace farscale::collect {
namespace {

// Guards all below. Backends call from threads of their own.
std::mutex device_state;
std::atomic<const farscale_device_backend*> backend = nullptr;
std::atomic<bool> is_following = false;  // there are a backend and a run
std::optional<DeviceLedger> ledger;
std::map<std::uint32_t, std::string> device_names;

struct HostCall {
  unsigned depth = 0;
  bool counts = false;
  bool is_recorded = false;
  Tick entered = 0;
  std::uint64_t mpi_before = 0;
};
constinit thread_local HostCall host_call __attribute__((tls_model("initial-exec")));

// With a lock.
void FollowIfPossible() {
  if (backend == nullptr || !IsMeasuring() || ledger) return;
  __atomic_fetch_or(&page->flags, kHasDevices, __ATOMIC_RELAXED);
  ledger.emplace(page->begin_clock);
  // Where the runtime starts in regions that are open, it did nothing before.
  const std::uint32_t regions = __atomic_load_n(&page->regions, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 1; i < regions; ++i) {
    if (page->region[i].open > 0 && (page->flags & kSwitchedOff) == 0) ledger->Open(i, Nanoseconds(CLOCK_MONOTONIC));
  }
  is_following = true;
}

// The ledger's clock less that of the backend. The shortest of some readings is least disturbed.
std::int64_t OffsetOfBackend(const farscale_device_backend& of) {
  constexpr int kReadings = 5;
  if (of.now == nullptr) return 0;
  std::int64_t offset = 0;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = Nanoseconds(CLOCK_MONOTONIC), there = of.now(), after = Nanoseconds(CLOCK_MONOTONIC);
    if (after - before >= shortest) continue;
    shortest = after - before;
    offset = static_cast<std::int64_t>(before + shortest / 2 - there);
  }
  return offset;
}

std::uint64_t Shifted(std::uint64_t time, std::int64_t offset) {
  const std::uint64_t shifted = time + static_cast<std::uint64_t>(offset);
  return offset < 0 && shifted > time ? 0 : shifted;
}

void WriteSums(DevicesRecord& record) {
  std::map<std::uint32_t, std::uint32_t> index_of;
  for (const auto& [key, sums] : ledger->sums()) {
    const auto [region, device] = key;
    const auto [index, is_new] = index_of.try_emplace(device, record.devices);
    record.has_no_room = (is_new && record.devices == kMostDevices) || record.sums == kMostDeviceSums ? 1 : 0;
    if (record.has_no_room != 0) return;
    if (is_new) {
      CopyName(NameOfDevice(device).c_str(), record.name[record.devices++]);
    }
    record.sum[record.sums++] = {region, index->second, sums.kernels, sums.active};
  }
}

void EnterDevice() {
  HostCall& call = host_call;
  if (call.depth++ != 0) return;
  call.counts = is_following.load(std::memory_order_relaxed) && this_thread.depth == 0;
  if (!call.counts) return;
  call.entered = Now();
  if (!IsMainThread()) {
    EnterDeviceInTeam(call.entered);
    return;
  }
  call.mpi_before = page->mpi;
  Store(page->offload_entered, call.entered);
  call.is_recorded = recording.is_writing;
  if (call.is_recorded) RecordEnter(RegionsOfDevices().runtime, call.entered);
}

void LeaveDevice() {
  HostCall& call = host_call;
  if (call.depth == 0 || --call.depth != 0 || !call.counts) return;
  if (!IsMainThread()) {
    LeaveDeviceInTeam(Now());
    return;
  }
  if (page->offload_entered == 0) return;  // the run has ended
  // Time of MPI that is called within the runtime is MPI's.
  const Tick left = Now();
  if (call.is_recorded) RecordLeave(RegionsOfDevices().runtime, left);
  const std::uint64_t taken = left - call.entered, mpi = page->mpi - call.mpi_before;
  Store(page->offload, page->offload + (taken > mpi ? taken - mpi : 0));
  Store(page->offload_entered, 0);
}

}  // namespace

void StartDevices() {
  const std::lock_guard lock(device_state);
  FollowIfPossible();
}

void OpenRegionOfDevices(std::uint32_t region) {
  if (!is_following.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(device_state);
  if (ledger) ledger->Open(region, Nanoseconds(CLOCK_MONOTONIC));
}

void CloseRegionOfDevices(std::uint32_t region) {
  if (!is_following.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(device_state);
    if (ledger) ledger->Close(region, Nanoseconds(CLOCK_MONOTONIC));
    if (!ledger || !ledger->keeps_much()) return;
  }
  // Work of these regions must not come after they are settled. It comes by the functions below, so without the lock.
  const farscale_device_backend* of = backend;
  if (of->flush != nullptr) of->flush();
  const std::lock_guard lock(device_state);
  if (ledger && ledger->keeps_much()) ledger->SettleHalf();
}

// The backend hands over what is left by the functions below, so without the lock.
void FinishDevices() {
  if (!is_following) return;
  const farscale_device_backend* of = backend;
  if (of->flush != nullptr) of->flush();
  const std::lock_guard lock(device_state);
  is_following = false;
  ledger->Settle(page->end_clock);
  page->devices.lost = ledger->lost();
  WriteSums(page->devices);
  page->devices.is_complete = 1;
  ledger.reset();
}

std::string NameOfDevice(std::uint32_t device) {
  const auto name = device_names.find(device);
  return name != device_names.end() ? name->second : std::to_string(device);
}

DeviceRegions RegionsOfDevices() {
  const farscale_device_backend* of = backend;
  const bool is_hip = of != nullptr && of->paradigm == FARSCALE_DEVICE_HIP;
  return is_hip ? DeviceRegions{CallId::kHipRuntime, CallId::kHipKernel, CallId::kHipCopy}
                : DeviceRegions{CallId::kCudaRuntime, CallId::kCudaKernel, CallId::kCudaCopy};
}

namespace {

// Work of all devices of a rank; chosen: 48 MiB. More is not kept, and then no devices are written.
constexpr std::size_t kMostWork = std::size_t{1} << 21U;
// Streams of a device; chosen. Work that overlaps more is cut, which leaves the time that a device is busy as it is.
constexpr std::size_t kMostStreams = 16;

struct KeptWork {
  DeviceInterval interval;
  bool is_kernel = false;
};

// One after the other, in ticks.
struct StreamWork {
  Tick begin, end;
  bool is_kernel;
};

struct RecordedStream {
  std::vector<StreamWork> work;
  std::uint64_t number = 0;  // as a thread's, behind all of them
  std::uint64_t written = 0;
};

std::map<std::uint32_t, std::vector<KeptWork>> kept;  // keys: devices
std::size_t kept_count = 0;
std::map<std::uint32_t, std::vector<RecordedStream>> streams;
std::vector<Tick> switches;  // when recording was interrupted and went on, in turn

// Along the run, from its first to its last reading of both clocks.
Tick TickOf(std::uint64_t clock) {
  const std::uint64_t at = std::clamp(clock, page->begin_clock, page->end_clock);
  const auto nanoseconds = static_cast<double>(page->end_clock - page->begin_clock);
  if (!clock_is_tsc || nanoseconds <= 0) return std::clamp(at, page->begin_tick, page->end_tick);
  const double share = static_cast<double>(at - page->begin_clock) / nanoseconds;
  return page->begin_tick + static_cast<Tick>(share * static_cast<double>(page->end_tick - page->begin_tick));
}

// Calls visit(begin, end) for what of the interval is recorded.
template <typename Visit>
void ForEachRecorded(Tick begin, Tick end, Visit visit) {
  Tick from = 0;
  for (std::size_t i = 0; i <= switches.size(); i += 2) {
    const Tick until = i < switches.size() ? switches[i] : page->end_tick;
    if (std::max(begin, from) < std::min(end, until)) visit(std::max(begin, from), std::min(end, until));
    if (i + 1 >= switches.size()) return;
    from = switches[i + 1];
  }
}

// On the first stream that is done with what it did before.
void AddToStreams(StreamWork work, std::vector<RecordedStream>& of_device) {
  auto free = std::ranges::find_if(of_device,
                                   [&](const RecordedStream& stream) { return stream.work.back().end <= work.begin; });
  if (free == of_device.end() && of_device.size() < kMostStreams) {
    of_device.push_back({{work}});
    return;
  }
  if (free == of_device.end()) {
    --free;
    work.begin = free->work.back().end;
  }
  if (work.begin < work.end) free->work.push_back(work);
}

void FillStreams() {
  std::uint64_t number = kMostThreads;
  for (auto& [device, work] : kept) {
    std::ranges::sort(work, {}, &KeptWork::interval);
    std::vector<RecordedStream>& of_device = streams[device];
    for (const KeptWork& one : work) {
      ForEachRecorded(TickOf(one.interval.begin), TickOf(one.interval.end), [&](Tick begin, Tick end) {
        AddToStreams({begin, end, one.is_kernel}, of_device);
      });
    }
    for (RecordedStream& stream : of_device) stream.number = number++;
  }
  kept.clear();
}

std::uint64_t LocationOfStream(const RecordedStream& stream) {
  return LocationOf(static_cast<std::uint64_t>(page->rank), stream.number);
}

// Nothing where it could not be done.
OTF2_EvtWriter* WriteStream(OTF2_Archive* archive, RecordedStream& stream) {
  OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive, LocationOfStream(stream));
  bool good = writer != nullptr;
  const DeviceRegions regions = RegionsOfDevices();
  for (const StreamWork& work : stream.work) {
    const CallId id = work.is_kernel ? regions.kernel : regions.copy;
    NoteUsed(id);
    good = good && OTF2_EvtWriter_Enter(writer, nullptr, work.begin, static_cast<std::uint32_t>(id)) == OTF2_SUCCESS &&
           OTF2_EvtWriter_Leave(writer, nullptr, work.end, static_cast<std::uint32_t>(id)) == OTF2_SUCCESS;
  }
  good = good && OTF2_EvtWriter_GetNumberOfEvents(writer, &stream.written) == OTF2_SUCCESS;
  return good ? writer : nullptr;
}

}  // namespace

void KeepDeviceWork(std::uint32_t device, bool is_kernel, DeviceInterval work) {
  if (recording.writer == nullptr || HasTooMuchDeviceWork()) return;
  kept[device].push_back({work, is_kernel});
  ++kept_count;
}

void SwitchDeviceWork(bool on, Tick time) {
  if (on == (switches.size() % 2 == 1)) switches.push_back(time);
}

bool HasTooMuchDeviceWork() { return kept_count >= kMostWork; }

std::vector<DeviceDefinition> OwnDevices() {
  std::vector<DeviceDefinition> own;
  for (const auto& [device, of_device] : streams) {
    DeviceDefinition definition{NameOfDevice(device), {}};
    for (const RecordedStream& stream : of_device) {
      if (stream.written > 0) definition.streams.push_back({stream.number, stream.written});
    }
    if (!definition.streams.empty()) own.push_back(std::move(definition));
  }
  return own;
}

bool WriteDeviceEvents(OTF2_Archive* archive) {
  bool good = true;
  if (HasTooMuchDeviceWork()) return good;
  FillStreams();
  for (auto& [device, of_device] : streams) {
    for (RecordedStream& stream : of_device) {
      OTF2_EvtWriter* writer = WriteStream(archive, stream);
      good = writer != nullptr && OTF2_Archive_CloseEvtWriter(archive, writer) == OTF2_SUCCESS && good;
    }
  }
  return good;
}

TraceSize SizeOfDeviceEvents(OTF2_Archive* archive) {
  TraceSize size;
  if (HasTooMuchDeviceWork()) return size;
  FillStreams();
  for (auto& [device, of_device] : streams) {
    for (RecordedStream& stream : of_device) {
      if (WriteStream(archive, stream) == nullptr) continue;
      size.bytes += BytesOfLastWritten(stream.written);
      size.events += stream.written;
    }
  }
  return size;
}

void RemoveDeviceFiles(const std::string& folder) {
  for (const auto& [device, of_device] : streams) {
    for (const RecordedStream& stream : of_device) {
      for (const char* extension : {".evt", ".def"})
        unlink((folder + std::to_string(LocationOfStream(stream)) + extension).c_str());
    }
  }
}

}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int farscale_device_start(const farscale_device_backend* from) {
  const std::lock_guard lock(device_state);
  if (from == nullptr || from->interface != FARSCALE_DEVICE_INTERFACE || backend != nullptr) return 0;
  backend = from;
  FollowIfPossible();
  return 1;
}

FARSCALE_EXPORT void farscale_device_name(std::uint32_t device, const char* name) {
  const std::lock_guard lock(device_state);
  device_names[device] = name;
}

FARSCALE_EXPORT void farscale_device_done(const farscale_device_work* work, std::size_t count) {
  const std::lock_guard lock(device_state);
  if (!ledger) return;
  const std::int64_t offset = OffsetOfBackend(*backend);
  for (const farscale_device_work& one : std::span(work, count)) {
    const bool is_kernel = one.kind == FARSCALE_DEVICE_KERNEL;
    const DeviceInterval interval = {Shifted(one.begin, offset), Shifted(one.end, offset)};
    ledger->Add(one.device, is_kernel, interval);
    KeepDeviceWork(one.device, is_kernel, interval);
  }
  if (ledger->keeps_much()) ledger->SettleHalf();
}

FARSCALE_EXPORT void farscale_device_enter() { EnterDevice(); }
FARSCALE_EXPORT void farscale_device_leave() { LeaveDevice(); }

}  // extern "C"
