// The backend for HIP by rocprofiler-sdk, which finds it because ROCP_TOOL_LIBRARIES names it. Never run so far: no
// such device was at hand (docs/how-to/hybrid.md).
#include <dlfcn.h>
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/devices/device_backend.h"

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U, kHandedOverAt = kBufferBytes / 8;

farscale_device_done_function done = nullptr;
farscale_device_call_function enter = nullptr, leave = nullptr;
rocprofiler_context_id_t context{};
rocprofiler_buffer_id_t buffer{};
std::unordered_map<std::uint64_t, std::uint32_t> device_of_agent;  // complete before anything is traced

template <typename Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

std::uint64_t RocprofilerClock() {
  rocprofiler_timestamp_t now = 0;
  rocprofiler_get_timestamp(&now);
  return now;
}

void Flush() { rocprofiler_flush_buffer(buffer); }

void Add(rocprofiler_agent_id_t agent, std::uint32_t kind, std::uint64_t begin, std::uint64_t end,
         std::vector<farscale_device_work>& work) {
  const auto device = device_of_agent.find(agent.handle);
  if (device != device_of_agent.end()) work.push_back({device->second, kind, begin, end});
}

// A copy between two devices is work of both.
void OnBuffer(rocprofiler_context_id_t, rocprofiler_buffer_id_t, rocprofiler_record_header_t** headers,
              std::size_t count, void*, std::uint64_t) {
  std::vector<farscale_device_work> work;
  for (std::size_t i = 0; i < count; ++i) {
    const rocprofiler_record_header_t& header = *headers[i];
    if (header.category != ROCPROFILER_BUFFER_CATEGORY_TRACING) continue;
    if (header.kind == ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH) {
      const auto& kernel = *static_cast<rocprofiler_buffer_tracing_kernel_dispatch_record_t*>(header.payload);
      Add(kernel.dispatch_info.agent_id, FARSCALE_DEVICE_KERNEL, kernel.start_timestamp, kernel.end_timestamp, work);
    } else if (header.kind == ROCPROFILER_BUFFER_TRACING_MEMORY_COPY) {
      const auto& copy = *static_cast<rocprofiler_buffer_tracing_memory_copy_record_t*>(header.payload);
      Add(copy.dst_agent_id, FARSCALE_DEVICE_COPY, copy.start_timestamp, copy.end_timestamp, work);
      if (copy.src_agent_id.handle == copy.dst_agent_id.handle) continue;
      Add(copy.src_agent_id, FARSCALE_DEVICE_COPY, copy.start_timestamp, copy.end_timestamp, work);
    }
  }
  if (!work.empty()) done(work.data(), work.size());
}

void OnCall(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t*, void*) {
  if (record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER) enter();
  if (record.phase == ROCPROFILER_CALLBACK_PHASE_EXIT) leave();
}

// The numbers of the kernel's driver are the same in all processes, those of agents need not be.
rocprofiler_status_t OnAgents(rocprofiler_agent_version_t, const void** agents, std::size_t count, void*) {
  const auto name = Find<farscale_device_name_function>("farscale_device_name");
  for (std::size_t i = 0; i < count; ++i) {
    const auto& agent = *static_cast<const rocprofiler_agent_v0_t*>(agents[i]);
    if (agent.type != ROCPROFILER_AGENT_TYPE_GPU) continue;
    device_of_agent[agent.id.handle] = agent.node_id;
    name(agent.node_id, ("HIP " + std::to_string(agent.gpu_id)).c_str());
  }
  return ROCPROFILER_STATUS_SUCCESS;
}

int Initialize(rocprofiler_client_finalize_t, void*) {
  const auto start = Find<farscale_device_start_function>("farscale_device_start");
  static const farscale_device_backend backend = {FARSCALE_DEVICE_INTERFACE, RocprofilerClock, Flush,
                                                  FARSCALE_DEVICE_HIP};
  const auto is_good = [](rocprofiler_status_t status) { return status == ROCPROFILER_STATUS_SUCCESS; };
  const bool is_ready =
      is_good(rocprofiler_query_available_agents(ROCPROFILER_AGENT_INFO_VERSION_0, OnAgents,
                                                 sizeof(rocprofiler_agent_v0_t), nullptr)) &&
      is_good(rocprofiler_create_context(&context)) &&
      is_good(rocprofiler_create_buffer(context, kBufferBytes, kHandedOverAt, ROCPROFILER_BUFFER_POLICY_LOSSLESS,
                                        OnBuffer, nullptr, &buffer)) &&
      is_good(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH, nullptr,
                                                           0, buffer)) &&
      is_good(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MEMORY_COPY, nullptr, 0,
                                                           buffer)) &&
      is_good(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_HIP_RUNTIME_API,
                                                             nullptr, 0, OnCall, nullptr));
  return is_ready && start(&backend) != 0 && is_good(rocprofiler_start_context(context)) ? 0 : -1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) rocprofiler_tool_configure_result_t* rocprofiler_configure(
    std::uint32_t, const char*, std::uint32_t, rocprofiler_client_id_t* client) {
  client->name = "farscale";
  done = Find<farscale_device_done_function>("farscale_device_done");
  enter = Find<farscale_device_call_function>("farscale_device_enter");
  leave = Find<farscale_device_call_function>("farscale_device_leave");
  if (done == nullptr || enter == nullptr || leave == nullptr) return nullptr;
  static rocprofiler_tool_configure_result_t result = {sizeof result, Initialize, nullptr, nullptr};
  return &result;
}
