#include "trace/mpi_call.h"

#include <string>
#include <unordered_map>

#include "base/text.h"

namespace farscale {
namespace {

// Names in lower case without "mpi_". Functions that are not here are kOther: they take time and wait for nobody.
const std::unordered_map<std::string_view, MpiCall>& Names() {
  using enum MpiCall;
  static const std::unordered_map<std::string_view, MpiCall> names = {
      {"init", kInit},
      {"init_thread", kInit},
      {"finalize", kFinalize},
      {"send", kSend},
      {"rsend", kSend},
      {"bsend", kBufferedSend},
      {"ssend", kSynchronousSend},
      {"isend", kImmediateSend},
      {"irsend", kImmediateSend},
      {"ibsend", kImmediateBufferedSend},
      {"issend", kImmediateSynchronousSend},
      {"recv", kReceive},
      {"mrecv", kReceive},
      {"irecv", kImmediateReceive},
      {"imrecv", kImmediateReceive},
      {"sendrecv", kSendReceive},
      {"sendrecv_replace", kSendReceive},
      {"isendrecv", kImmediateSend},
      {"isendrecv_replace", kImmediateSend},
      {"start", kStart},
      {"startall", kStart},
      {"wait", kWait},
      {"waitall", kWait},
      {"waitany", kWait},
      {"waitsome", kWait},
      {"test", kTest},
      {"testall", kTest},
      {"testany", kTest},
      {"testsome", kTest},
      {"probe", kProbe},
      {"iprobe", kProbe},
      {"mprobe", kProbe},
      {"improbe", kProbe},
      {"neighbor_allgather", kCollective},
      {"neighbor_allgatherv", kCollective},
      {"neighbor_alltoall", kCollective},
      {"neighbor_alltoallv", kCollective},
      {"neighbor_alltoallw", kCollective},
      {"ineighbor_allgather", kImmediateCollective},
      {"ineighbor_allgatherv", kImmediateCollective},
      {"ineighbor_alltoall", kImmediateCollective},
      {"ineighbor_alltoallv", kImmediateCollective},
      {"ineighbor_alltoallw", kImmediateCollective},
      {"put", kOneSided},
      {"get", kOneSided},
      {"rput", kOneSided},
      {"rget", kOneSided},
      {"accumulate", kOneSided},
      {"raccumulate", kOneSided},
      {"get_accumulate", kOneSided},
      {"rget_accumulate", kOneSided},
      {"fetch_and_op", kOneSided},
      {"compare_and_swap", kOneSided},
  };
  return names;
}

// "isend" of "PMPI_Isend" or "mpi_isend_", in lower case; empty for what is no MPI function.
std::string_view PlainName(std::string_view lower) {
  std::string_view name = Trim(lower);
  if (name.starts_with('p')) name.remove_prefix(1);
  if (!name.starts_with("mpi_")) return {};
  name.remove_prefix(4);
  while (!name.empty() && name.back() == '_') name.remove_suffix(1);
  return name;
}

// Of a plain name; non-blocking ones have an i before it.
std::optional<CollectiveKind> KindOfPlain(std::string_view name) {
  using enum CollectiveKind;
  static const std::unordered_map<std::string_view, CollectiveKind> kinds = {
      {"barrier", kBarrier},
      {"bcast", kBroadcast},
      {"gather", kGather},
      {"gatherv", kGather},
      {"scatter", kScatter},
      {"scatterv", kScatter},
      {"allgather", kAllgather},
      {"allgatherv", kAllgather},
      {"alltoall", kAlltoall},
      {"alltoallv", kAlltoall},
      {"alltoallw", kAlltoall},
      {"allreduce", kAllreduce},
      {"reduce", kReduce},
      {"reduce_scatter", kReduceScatter},
      {"reduce_scatter_block", kReduceScatter},
      {"scan", kScan},
      {"exscan", kExscan},
  };
  auto found = kinds.find(name);
  if (found == kinds.end() && name.starts_with('i')) found = kinds.find(name.substr(1));
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

// What comes behind "win_".
MpiCall ClassifyWindowCall(std::string_view name) {
  using enum MpiCall;
  static const std::unordered_map<std::string_view, MpiCall> names = {
      {"fence", kWindowFence}, {"free", kWindowFence},        {"post", kWindowPost},
      {"wait", kWindowWait},   {"complete", kWindowComplete}, {"test", kWindowTest},
      {"lock", kWindowLock},   {"unlock", kWindowLock},       {"lock_all", kWindowLockAll}};
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  if (name.starts_with("unknown")) return kWindowLock;  // a call that the trace does not name may be any of them
  return name == "unlock_all" || name.starts_with("flush") ? kWindowLockAll : kWindowOther;
}

}  // namespace

bool IsOneSided(MpiCall call) { return call >= MpiCall::kOneSided && call <= MpiCall::kWindowOther; }

bool IsWindowSynchronisation(MpiCall call) {
  return call == MpiCall::kWindowFence || call == MpiCall::kWindowPost || call == MpiCall::kWindowComplete ||
         call == MpiCall::kWindowWait;
}

MpiCall ClassifyMpiCall(std::string_view region_name) {
  const std::string lower = ToLower(region_name);
  const std::string_view name = PlainName(lower);
  if (name.empty()) return MpiCall::kNone;
  if (KindOfPlain(name)) return name.starts_with('i') ? MpiCall::kImmediateCollective : MpiCall::kCollective;
  const auto found = Names().find(name);
  if (found != Names().end()) return found->second;
  if (name.starts_with("win_")) return ClassifyWindowCall(name.substr(4));
  if (name.substr(0, 5) == "file_") return MpiCall::kInputOutput;
  return MpiCall::kOther;
}

std::optional<CollectiveKind> CollectiveKindOf(std::string_view region_name) {
  const std::string lower = ToLower(region_name);
  return KindOfPlain(PlainName(lower));
}

std::string_view ToString(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBarrier: return "barrier";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kGather: return "gather";
    case CollectiveKind::kScatter: return "scatter";
    case CollectiveKind::kAllgather: return "allgather";
    case CollectiveKind::kAlltoall: return "alltoall";
    case CollectiveKind::kAllreduce: return "allreduce";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kReduceScatter: return "reduce-scatter";
    case CollectiveKind::kScan: return "scan";
    case CollectiveKind::kExscan: return "exclusive scan";
    case CollectiveKind::kCreateHandle: return "creation of a communicator or other handle";
    case CollectiveKind::kDestroyHandle: return "release of a communicator or other handle";
    case CollectiveKind::kFork: return "fork of a team of threads";
    case CollectiveKind::kThreadBarrier: return "barrier among threads";
    case CollectiveKind::kImplicitBarrier: return "implicit barrier among threads";
  }
  return "collective";
}

}  // namespace farscale
