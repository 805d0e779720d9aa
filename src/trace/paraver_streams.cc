#include "trace/paraver_streams.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "trace/device_records.h"

namespace farscale {
namespace {

constexpr std::uint32_t kMemoryTransfer = 17;  // state of streams that copy; those that run kernels are running

// "CUDA-D1-host" of "CUDA-D1.S2-host"; empty for a thread.
std::string DeviceOf(std::string_view thread) {
  const std::size_t stream = thread.find(".S"), host = thread.find('-', stream);
  if (!thread.starts_with("CUDA-D") || stream == std::string_view::npos || host == std::string_view::npos) return "";
  return std::string(thread.substr(0, stream)) + std::string(thread.substr(host));
}

// Devices of the threads of an application by task and thread; empty where the names are of another trace.
using DeviceNames = std::map<std::pair<std::size_t, std::uint32_t>, std::string>;

DeviceNames DevicesOf(const ParaverNames& names, const ParaverHeader& header, std::size_t application) {
  DeviceNames devices;
  std::size_t next = 0;
  for (std::size_t k = 0; k < header.applications.size(); ++k) {
    const std::vector<ParaverTask>& tasks = header.applications[k].tasks;
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      const auto threads = static_cast<std::uint32_t>(std::max(tasks[task].threads, 1));
      for (std::uint32_t thread = 0; thread < threads; ++thread, ++next) {
        if (next >= names.thread_names.size()) return {};
        const std::string device = k == application ? DeviceOf(names.thread_names[next]) : "";
        if (!device.empty() && thread > 0) devices[{task, thread}] = device;
      }
    }
  }
  return next == names.thread_names.size() ? devices : DeviceNames();
}

void AddState(const ParaverThreadState& state, StreamSpans& spans) {
  if (state.end <= state.begin) return;
  if (state.state == kParaverRunning) spans.kernels.push_back({state.begin, state.end});
  if (state.state == kMemoryTransfer) spans.copies.push_back({state.begin, state.end});
}

}  // namespace

void AddParaverDevices(const ParaverNames& names, const ParaverHeader& header, std::size_t application,
                       std::vector<std::vector<ParaverThreadState>>& states, TraceBuilder& builder) {
  const DeviceNames device_of = DevicesOf(names, header, application);
  if (device_of.empty()) return;
  Trace& trace = builder.trace();
  for (const auto& [place, device] : device_of) --trace.ranks[place.first].threads;
  std::map<std::string, DeviceWorkBuilder> devices;
  for (std::size_t task = 0; task < states.size(); ++task) {
    std::map<std::string, StreamSpans> of_task;
    std::erase_if(states[task], [&](const ParaverThreadState& state) {
      const auto device = device_of.find({task, state.thread});
      if (device == device_of.end()) return false;
      AddState(state, of_task[device->second]);
      return true;
    });
    for (const auto& [name, spans] : of_task) devices[name].Add(static_cast<std::int32_t>(task), spans);
  }
  for (const auto& [name, work] : devices) {
    Device device{name, work.Finish()};
    if (!device.of_ranks.empty()) trace.devices.push_back(std::move(device));
  }
}

}  // namespace farscale
