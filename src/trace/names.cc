#include "trace/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/trace.h"

namespace farscale {
namespace {

template <typename Value>
using NameTable = std::unordered_map<std::string_view, Value>;

// `groups`: meanings with names of functions in lower case without "mpi_", separated by spaces.
template <typename Value>
NameTable<Value> MakeTable(std::initializer_list<std::pair<Value, std::string_view>> groups) {
  NameTable<Value> table;
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

using enum CounterMeaning;

// Names under which counters are commonly recorded (PAPI, perf, LIKWID), in lower case; the first found is taken.
const std::vector<std::pair<CounterMeaning, std::string>>& UsualNames() {
  static const auto names = [] {
    std::vector<std::pair<CounterMeaning, std::string>> all;
    const auto add = [&](CounterMeaning meaning, std::string_view usual) {
      for (std::string& name : Split(usual, ' ')) all.emplace_back(meaning, std::move(name));
    };
    add(kInstructions,
        "papi_tot_ins instructions perf::instructions perf::perf_count_hw_instructions inst_retired:any_p "
        "instr_retired_any");
    add(kCycles,
        "papi_tot_cyc cycles cpu-cycles perf::cycles perf::perf_count_hw_cpu_cycles cpu_clk_unhalted:thread_p "
        "cpu_clk_unhalted_core");
    add(kCpuTime,
        "cpu_time task-clock perf::task-clock perf::perf_count_sw_task_clock perf_count_sw_task_clock cpu-clock "
        "perf::cpu-clock perf::perf_count_sw_cpu_clock perf_count_sw_cpu_clock");
    return all;
  }();
  return names;
}

}  // namespace

bool IsOneSided(MpiCall call) { return call >= MpiCall::kOneSided && call <= MpiCall::kWindowOther; }

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
    // Names of collective functions on files end so [MPI 4.0, 14.4].
    for (const char* ending : {"_all", "_all_begin", "_all_end", "_ordered", "_ordered_begin", "_ordered_end"}) {
      if (name.ends_with(ending)) return MpiCall::kCollectiveInputOutput;
    }
    return MpiCall::kInputOutput;
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

std::optional<std::size_t> ChooseCounter(const Trace& trace, CounterMeaning meaning, const CounterNames& names) {
  const std::string& wanted = meaning == kInstructions ? names.instructions
                              : meaning == kCycles     ? names.cycles
                                                       : names.cpu_time;
  if (!wanted.empty()) {
    const auto found = trace.FindCounter(wanted);
    if (found) return found;
    throw Error(ErrorKind::kUsage, trace.path, "no counter '" + wanted + "' in this trace", ListCounters(trace));
  }
  for (const auto& [of, name] : UsualNames()) {
    for (std::size_t i = 0; of == meaning && i < trace.counters.size(); ++i) {
      if (ToLower(trace.counters[i].name) == name) return i;
    }
  }
  return std::nullopt;
}

std::optional<CounterMeaning> UsualMeaning(const std::string& name) {
  const auto found = std::ranges::find(UsualNames(), ToLower(name), &std::pair<CounterMeaning, std::string>::second);
  return found == UsualNames().end() ? std::nullopt : std::optional(found->first);
}

std::string ToString(CounterMeaning meaning) {
  return meaning == kInstructions ? "instructions" : meaning == kCycles ? "cycles" : "CPU time";
}

double CountsPerSecond(const Counter& counter) {
  const std::string unit = ToLower(Trim(counter.unit));
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, unit) != names.end();
  };
  double per_second = 1e9;
  if (is_one_of({"s", "sec", "second", "seconds"})) per_second = 1;
  if (is_one_of({"ms", "msec", "millisecond", "milliseconds"})) per_second = 1e3;
  // The last two have a micro sign and a mu.
  if (is_one_of({"us", "usec", "microsecond", "microseconds", "\u00b5s", "\u03bcs"})) per_second = 1e6;
  return per_second / counter.scale;
}

void CheckCounterName(const Counter& counter, Diagnostics& diagnostics) {
  for (const auto& [meaning, usual] : UsualNames()) {
    if (counter.name.size() != usual.size()) continue;
    int off = 0;  // bits
    for (std::size_t i = 0; i < usual.size(); ++i) {
      const int any_case = usual[i] >= 'a' && usual[i] <= 'z' ? 0xdf : 0xff;
      off += std::popcount(static_cast<unsigned char>((counter.name[i] ^ usual[i]) & any_case));
    }
    if (off == 0 && !counter.accumulates) {
      diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("'{}' is defined as a level", counter.name));
    }
    if (off == 1) diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("'{}', not '{}'", counter.name, usual));
  }
}

std::string ListCounters(const Trace& trace) {
  std::vector<std::string> names;
  for (const Counter& counter : trace.counters) names.push_back(counter.name);
  return names.empty() ? "it has no counters" : "it has " + Join(names, ", ");
}

}  // namespace farscale
