#include "trace/mpi_call.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace farscale {
namespace {

template <typename Meaning>
using NameTable = std::unordered_map<std::string_view, Meaning>;

// `groups`: meanings with names of functions in lower case without "mpi_", separated by spaces.
template <typename Meaning>
NameTable<Meaning> MakeTable(std::initializer_list<std::pair<Meaning, std::string_view>> groups) {
  NameTable<Meaning> table;
  for (auto [meaning, names] : groups) {
    for (std::size_t end = 0; !names.empty(); names.remove_prefix(std::min(end + 1, names.size()))) {
      end = std::min(names.find(' '), names.size());
      table[names.substr(0, end)] = meaning;
    }
  }
  return table;
}

// Functions that are not here are kOther: they take time and do not wait for other ranks.
const NameTable<MpiCall>& Names() {
  using enum MpiCall;
  static const NameTable<MpiCall> names = MakeTable<MpiCall>({
      {kInit, "init init_thread"},
      {kFinalize, "finalize"},
      {kSend, "send rsend"},
      {kBufferedSend, "bsend"},
      {kSynchronousSend, "ssend"},
      {kImmediateSend, "isend irsend isendrecv isendrecv_replace"},
      {kImmediateBufferedSend, "ibsend"},
      {kImmediateSynchronousSend, "issend"},
      {kReceive, "recv mrecv"},
      {kImmediateReceive, "irecv imrecv"},
      {kSendReceive, "sendrecv sendrecv_replace"},
      {kStart, "start startall"},
      {kWait, "wait waitall waitany waitsome"},
      {kTest, "test testall testany testsome"},
      {kProbe, "probe iprobe mprobe improbe"},
      {kCollective, "neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw"},
      {kImmediateCollective,
       "ineighbor_allgather ineighbor_allgatherv ineighbor_alltoall ineighbor_alltoallv ineighbor_alltoallw"},
      {kOneSided,
       "put get rput rget accumulate raccumulate get_accumulate rget_accumulate fetch_and_op compare_and_swap"},
      {kWindowFence, "win_fence win_free"},
      {kWindowPost, "win_post"},
      {kWindowWait, "win_wait"},
      {kWindowComplete, "win_complete"},
      {kWindowTest, "win_test"},
      {kWindowLock, "win_lock win_unlock"},
      {kWindowLockAll, "win_lock_all win_unlock_all"},
      {kCollectiveInputOutput,
       "file_open file_close file_set_size file_preallocate file_set_view file_set_atomicity file_sync"},
  });
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

// Names of collective functions on files end so [MPI 4.0, 14.4].
bool IsCollectiveOnFile(std::string_view name) {
  constexpr std::string_view kEndings[] = {"_all",     "_all_begin",     "_all_end",
                                           "_ordered", "_ordered_begin", "_ordered_end"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Non-blocking collectives have an i before their names.
std::optional<CollectiveKind> KindByPlainName(std::string_view name) {
  using enum CollectiveKind;
  static const NameTable<CollectiveKind> kinds = MakeTable<CollectiveKind>({
      {kBarrier, "barrier"},
      {kBroadcast, "bcast"},
      {kGather, "gather gatherv"},
      {kScatter, "scatter scatterv"},
      {kAllgather, "allgather allgatherv"},
      {kAlltoall, "alltoall alltoallv alltoallw"},
      {kAllreduce, "allreduce"},
      {kReduce, "reduce"},
      {kReduceScatter, "reduce_scatter reduce_scatter_block"},
      {kScan, "scan"},
      {kExscan, "exscan"},
  });
  auto found = kinds.find(name);
  if (found == kinds.end() && name.starts_with('i')) found = kinds.find(name.substr(1));
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool IsOneSided(MpiCall call) { return call >= MpiCall::kOneSided && call <= MpiCall::kWindowOther; }

bool IsInputOutput(MpiCall call) { return call == MpiCall::kInputOutput || call == MpiCall::kCollectiveInputOutput; }

bool IsAmongNeighbours(std::string_view region_name) {
  const std::string lower = ToLower(region_name);
  const std::string_view name = PlainName(lower);
  return name.starts_with("neighbor_") || name.starts_with("ineighbor_");
}

bool IsWindowSynchronisation(MpiCall call) {
  return call == MpiCall::kWindowFence || call == MpiCall::kWindowPost || call == MpiCall::kWindowComplete ||
         call == MpiCall::kWindowWait;
}

MpiCall ClassifyMpiCall(std::string_view region_name) {
  const std::string lower = ToLower(region_name);
  const std::string_view name = PlainName(lower);
  if (name.empty()) return MpiCall::kNone;
  if (KindByPlainName(name)) return name.starts_with('i') ? MpiCall::kImmediateCollective : MpiCall::kCollective;
  const auto found = Names().find(name);
  if (found != Names().end()) return found->second;
  if (name.starts_with("win_unknown")) return MpiCall::kWindowLock;  // the trace does not name it: any of them
  if (name.starts_with("win_flush")) return MpiCall::kWindowLockAll;
  if (name.starts_with("win_")) return MpiCall::kWindowOther;
  if (name.starts_with("file_")) {
    return IsCollectiveOnFile(name) ? MpiCall::kCollectiveInputOutput : MpiCall::kInputOutput;
  }
  return MpiCall::kOther;
}

std::optional<CollectiveKind> CollectiveKindOf(std::string_view region_name) {
  const std::string lower = ToLower(region_name);
  return KindByPlainName(PlainName(lower));
}

std::string_view ToString(CollectiveKind kind) {
  constexpr std::string_view kNames[] = {"barrier",
                                         "broadcast",
                                         "gather",
                                         "scatter",
                                         "allgather",
                                         "alltoall",
                                         "allreduce",
                                         "reduce",
                                         "reduce-scatter",
                                         "scan",
                                         "exclusive scan",
                                         "creation of a communicator or other handle",
                                         "release of a communicator or other handle",
                                         "fork of a team of threads",
                                         "barrier among threads",
                                         "implicit barrier among threads"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace farscale
