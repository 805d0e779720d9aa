#include "collect/device_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "collect/call.h"
#include "collect/devices.h"
#include "collect/recorder.h"
#include "collect/thread_recorder.h"

namespace farscale::collect {
namespace {

// Of all devices of a rank; chosen: 48 MiB. More is not kept, and then no devices are written.
constexpr std::size_t kMostWork = std::size_t{1} << 21U;
// Of a device; chosen. What overlaps more is cut, which leaves the time in which a device is busy as it is.
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

std::map<std::uint32_t, std::vector<KeptWork>> kept;  // by device
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
