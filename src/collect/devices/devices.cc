#include "collect/devices/devices.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "collect/preload/call.h"
#include "collect/devices/device_backend.h"
#include "collect/page.h"
#include "collect/trace/recorder.h"
#include "collect/threads/team.h"
#include "collect/text.h"

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
  Activity before = Activity::kOutside;  // the worker, which goes on with it
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

std::string NameOfDevice(std::uint32_t device) {
  const auto name = device_names.find(device);
  return name != device_names.end() ? name->second : std::to_string(device);
}

// Work of all devices of a rank; chosen: 48 MiB. More is not kept, and then no devices are written.
constexpr std::size_t kMostWork = std::size_t{1} << 21U;
// Streams of a device; chosen. Work that overlaps more is cut, which leaves the time that a device is busy as it is.
constexpr std::size_t kMostStreams = 16;

// Work one after the other, its times in ticks.
struct RecordedStream {
  std::vector<farscale_device_work> work;
  std::uint64_t number = 0;  // as a thread's, behind all of them
  std::uint64_t written = 0;
};

std::map<std::uint32_t, std::vector<farscale_device_work>> kept;  // keys: devices; in ns
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

// On the first stream that is done with what it did before.
void AddToStreams(farscale_device_work work, std::vector<RecordedStream>& of_device) {
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
  DevicesRecord& record = page->devices;
  record.lost = ledger->lost();
  std::map<std::uint32_t, std::uint32_t> index_of;
  for (const auto& [key, sums] : ledger->sums()) {
    const auto [region, device] = key;
    const auto [index, is_new] = index_of.try_emplace(device, record.devices);
    record.has_no_room = (is_new && record.devices == kMostDevices) || record.sums == kMostDeviceSums ? 1 : 0;
    if (record.has_no_room != 0) break;
    if (is_new) CopyName(NameOfDevice(device).c_str(), record.name[record.devices++]);
    record.sum[record.sums] = sums;
    record.sum[record.sums++].device = index->second;
  }
  record.is_complete = 1;
  ledger.reset();
}

CallId DeviceCall(CallId of_cuda, CallId of_hip) {
  const farscale_device_backend* of = backend;
  return of != nullptr && of->paradigm == FARSCALE_DEVICE_HIP ? of_hip : of_cuda;
}

void SwitchDeviceWork(bool on, Tick time) {
  if (on == (switches.size() % 2 == 1)) switches.push_back(time);
}

bool HasTooMuchDeviceWork() { return kept_count >= kMostWork; }

std::vector<std::pair<std::string, LocationDefinitions>> OwnDevices() {
  std::vector<std::pair<std::string, LocationDefinitions>> own;
  for (const auto& [device, of_device] : streams) {
    LocationDefinitions written;
    for (const RecordedStream& stream : of_device) {
      if (stream.written > 0) written.emplace_back(stream.number, stream.written);
    }
    if (!written.empty()) own.emplace_back(NameOfDevice(device), std::move(written));
  }
  return own;
}

bool WriteDeviceEvents(OTF2_Archive* archive, TraceSize* estimate) {
  bool good = true;
  if (HasTooMuchDeviceWork()) return good;
  std::uint64_t number = kMostThreads;
  for (auto& [device, work] : kept) {
    std::ranges::sort(work, {}, [](const farscale_device_work& one) { return std::pair(one.begin, one.end); });
    std::vector<RecordedStream>& of_device = streams[device];
    for (const farscale_device_work& one : work) {
      const Tick one_begin = TickOf(one.begin), one_end = TickOf(one.end);
      Tick from = 0;  // the parts that are recorded
      for (std::size_t i = 0; i <= switches.size(); i += 2) {
        const Tick until = i < switches.size() ? switches[i] : page->end_tick;
        const Tick begin = std::max(one_begin, from), end = std::min(one_end, until);
        if (begin < end) AddToStreams({device, one.kind, begin, end}, of_device);
        if (i + 1 < switches.size()) from = switches[i + 1];
      }
    }
    for (RecordedStream& stream : of_device) stream.number = number++;
  }
  kept.clear();
  for (auto& [device, of_device] : streams) {
    for (RecordedStream& stream : of_device) {
      const auto write = [&](OTF2_EvtWriter* writer) {
        return std::ranges::all_of(stream.work, [&](const farscale_device_work& work) {
          const CallId id = work.kind == FARSCALE_DEVICE_KERNEL ? DeviceCall(CallId::kCudaKernel, CallId::kHipKernel)
                                                                : DeviceCall(CallId::kCudaCopy, CallId::kHipCopy);
          NoteUsed(id);
          return OTF2_EvtWriter_Enter(writer, nullptr, work.begin, static_cast<std::uint32_t>(id)) == OTF2_SUCCESS &&
                 OTF2_EvtWriter_Leave(writer, nullptr, work.end, static_cast<std::uint32_t>(id)) == OTF2_SUCCESS;
        });
      };
      good = WriteLocation(archive, stream.number, write, stream.written, estimate) && good;
    }
  }
  return good;
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
  for (farscale_device_work one : std::span(work, count)) {
    one.begin = Shifted(one.begin, offset);
    one.end = Shifted(one.end, offset);
    ledger->Add(one.device, one.kind == FARSCALE_DEVICE_KERNEL, {one.begin, one.end});
    if (recording.writer == nullptr || HasTooMuchDeviceWork()) continue;
    kept[one.device].push_back(one);  // for the trace
    ++kept_count;
  }
  if (ledger->keeps_much()) ledger->SettleHalf();
}

FARSCALE_EXPORT void farscale_device_enter() {
  HostCall& call = host_call;
  if (call.depth++ != 0) return;
  call.counts = is_following.load(std::memory_order_relaxed) && this_thread.depth == 0;
  if (!call.counts) return;
  if (!IsMainThread()) {
    call.before = EnterActivity(Activity::kDevice);
    return;
  }
  call.entered = Now();
  call.mpi_before = page->mpi;
  Store(page->offload_entered, call.entered);
  call.is_recorded = recording.is_writing;
  if (call.is_recorded) RecordEnter(DeviceCall(CallId::kCudaRuntime, CallId::kHipRuntime), call.entered);
}

FARSCALE_EXPORT void farscale_device_leave() {
  HostCall& call = host_call;
  if (call.depth == 0 || --call.depth != 0 || !call.counts) return;
  if (!IsMainThread()) {
    LeaveActivity(call.before);
    return;
  }
  if (page->offload_entered == 0) return;  // the run has ended
  // Time of MPI that is called within the runtime is MPI's.
  const Tick left = Now();
  if (call.is_recorded) RecordLeave(DeviceCall(CallId::kCudaRuntime, CallId::kHipRuntime), left);
  const std::uint64_t taken = left - call.entered, mpi = page->mpi - call.mpi_before;
  Store(page->offload, page->offload + (taken > mpi ? taken - mpi : 0));
  Store(page->offload_entered, 0);
}

}  // extern "C"
