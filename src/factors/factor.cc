#include "factors/factor.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"

namespace farscale {
namespace {

using enum Factor;

constexpr std::array<FactorType, kFactorCount> kTable = {{
    {kGlobalEfficiency, "globalEfficiency", "Global efficiency", "parallelEfficiency · computationScalability", "POP",
     std::nullopt, FactorKind::kProduct,
     "How much of the cores' time does the useful work of the reference run: all losses together.", "", 6, 'o'},
    {kParallelEfficiency, "parallelEfficiency", "Parallel efficiency", "avg t / T = LB · CommE", "Rosas14, eq. 1",
     kGlobalEfficiency, FactorKind::kShare,
     "The share of the cores' time spent computing rather than waiting or communicating.", "", 0, 'o', false},
    {kMpiParallelEfficiency, "mpiParallelEfficiency", "MPI parallel efficiency",
     "1 − (Σ MPI + Σ waiting for MPI) / (N · T)", "POP", kParallelEfficiency, FactorKind::kShare,
     "The share of the cores' time that MPI does not take, the threads that wait for it included.", ""},
    {kLoadBalance, "loadBalance", "Load balance", "avg t / max t", "Rosas14, eq. 2", kParallelEfficiency,
     FactorKind::kShare,
     "How evenly the computation is spread over the ranks: below 1, most ranks wait for the busiest one.",
     "Divide the work more evenly or balance it at run time; compare instructions to see whether work or speed is "
     "uneven.",
     5, 'd', false},
    {kLoadBalanceIn, "loadBalanceIn", "Load balance within nodes", "max L / max t", "Lopez21, eq. 6", kLoadBalance,
     FactorKind::kDetail, "How evenly the ranks of the busiest node share its work.",
     "Shift work or threads between the ranks of a node, or place heavy and light ranks together."},
    {kLoadBalanceOut, "loadBalanceOut", "Load balance between nodes", "avg t / max L", "Lopez21, eq. 7", kLoadBalance,
     FactorKind::kDetail, "How evenly the work is spread over the nodes.",
     "Distribute the ranks differently over the nodes, or repartition the problem."},
    {kCommunicationEfficiency, "communicationEfficiency", "Communication efficiency", "max t / T = Ser · Trf",
     "Rosas14, POP", kParallelEfficiency, FactorKind::kShare,
     "The share of the run time that the busiest rank spends computing.", "", 1, '^', false},
    {kSerialization, "serializationEfficiency", "Serialization", "max t / T_ideal", "Rosas14, eq. 3",
     kCommunicationEfficiency, FactorKind::kShare,
     "What waiting for one another would cost even on a network that takes no time: chains of dependencies.",
     "Break dependency chains: overlap, reorder or pipeline the work, use fewer synchronising calls.", 1, '^', false},
    {kTransfer, "transferEfficiency", "Transfer", "T_ideal / T", "Rosas14, eq. 4", kCommunicationEfficiency,
     FactorKind::kShare,
     "What the network and the MPI library cost: moving data, latency, contention and overhead of the calls.",
     "Send less and in larger messages, overlap communication with computation, use a faster network or mapping.", 3,
     'v', false},
    {kOmpParallelEfficiency, "ompParallelEfficiency", "OpenMP parallel efficiency", "A / (A + R + I + S)", "POP",
     kParallelEfficiency, FactorKind::kShare,
     "What of the time that MPI leaves to the threads is work rather than waiting for one another or for the runtime.",
     ""},
    {kOmpLoadBalance, "ompLoadBalance", "OpenMP load balance", "(A + R) / (A + R + I)", "POP", kOmpParallelEfficiency,
     FactorKind::kShare, "How evenly the threads of a team share its work: below 1, threads wait at barriers.",
     "Divide loops more evenly or dynamically, and place data near the threads that use it."},
    {kOmpScheduling, "ompSchedulingEfficiency", "OpenMP scheduling", "(A + R + I) / (A + R + I + S)", "POP",
     kOmpParallelEfficiency, FactorKind::kShare,
     "What the OpenMP runtime costs: forks and joins, handing out loops and tasks, locks and critical sections.",
     "Use fewer and longer parallel regions, larger chunks and tasks, and reductions in place of critical sections."},
    {kOmpSerialization, "ompSerializationEfficiency", "OpenMP serialization", "A / (A + R)", "POP",
     kOmpParallelEfficiency, FactorKind::kShare,
     "What of the threads' time is not lost outside of parallel regions, where the main thread computes alone.",
     "Put more of the serial code into parallel regions, or use fewer threads and more processes."},
    {kDeviceOffload, "deviceOffloadEfficiency", "Device offload", "Σ useful / (Σ useful + Σ device runtime)", "POP",
     kParallelEfficiency, FactorKind::kShare,
     "What of the host's time is not spent in the device runtime, waiting for kernels and copies or starting them.",
     "Let the host compute while devices do, and start fewer and larger kernels and copies."},
    {kComputationScalability, "computationScalability", "Computation scalability", "Σ t_ref / Σ t (weak: · P / P_ref)",
     "POP", kGlobalEfficiency, FactorKind::kScalability,
     "How the total computing time grows with the number of cores: below 1, the same work costs more core time.",
     "See which of its parts falls: more instructions mean repeated work, fewer per cycle mean memory or caches.", 2,
     'd'},
    {kInstructionScaling, "instructionScaling", "Instruction scaling", "Σ ins_ref / Σ ins (weak: · P / P_ref)", "POP",
     kComputationScalability, FactorKind::kScalability,
     "How the total number of instructions grows: below 1, more ranks do extra or repeated work.",
     "Look for work done by every rank, such as halos, setup and replicated loops.", 2, 'd'},
    {kIpcScaling, "ipcScaling", "IPC scaling", "IPC / IPC_ref", "POP", kComputationScalability,
     FactorKind::kScalability,
     "How many instructions a core finishes in a cycle, against the reference: caches and memory bandwidth.",
     "Check memory bandwidth and cache use as nodes fill up.", 4, '^'},
    {kFrequencyScaling, "frequencyScaling", "Frequency scaling", "f / f_ref", "POP", kComputationScalability,
     FactorKind::kScalability,
     "How fast the cores' clocks run while computing, against the reference: clocks drop as nodes fill up, and "
     "preempted ranks count as slow.",
     "Check clock limits and whether processes share cores.", 7, 'v'},
    {kSpeedup, "speedup", "Speedup", "T_ref / T an iteration (weak: · P / P_ref)", "POP", std::nullopt,
     FactorKind::kSpeedup, "How much faster than the reference the work gets done.", ""},
    {kDeviceParallelEfficiency, "deviceParallelEfficiency", "Device parallel efficiency", "Σ kernels / (devices · T)",
     "POP", std::nullopt, FactorKind::kShare, "The share of the devices' time that they spend in kernels.", ""},
    {kDeviceLoadBalance, "deviceLoadBalance", "Device load balance", "Σ kernels / (devices · max kernels)", "POP",
     kDeviceParallelEfficiency, FactorKind::kShare, "How evenly kernels are spread over the devices.",
     "Divide the work of devices more evenly."},
    {kDeviceCommunication, "deviceCommunicationEfficiency", "Device communication",
     "max kernels / max (kernels or copies)", "POP", kDeviceParallelEfficiency, FactorKind::kShare,
     "What of the busiest device's time is not spent with copies alone.",
     "Copy less, keep data on the devices, and copy while kernels run."},
    {kDeviceOrchestration, "deviceOrchestrationEfficiency", "Device orchestration", "max (kernels or copies) / T",
     "POP", kDeviceParallelEfficiency, FactorKind::kShare,
     "How much of the run the busiest device has something to do.",
     "Start kernels earlier and several at a time, so that devices need not wait for the host."},
    {kSerializationPhaseEstimate, "serializationPhaseEstimate", "Serialization from phase profiles (check)",
     "max t / Σ over iterations of max t", "Huck10", std::nullopt, FactorKind::kCheck,
     "An estimate of serialization from profiles alone, next to the exact replay: it sees no dependencies within an "
     "iteration and assumes that iterations end together.",
     ""},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kFactorCount; ++i) {
        if (kTable[i].factor != static_cast<Factor>(i)) return false;
        if (kTable[i].parent && *kTable[i].parent >= kTable[i].factor) return false;
      }
      return true;
    }(),
    "the table is in the order of the enumeration, parents before children");

constexpr std::optional<Factor> ParentIn(Factor factor, FactorTree tree) {
  const std::optional<Factor> parent = kTable[static_cast<std::size_t>(factor)].parent;
  if (tree == FactorTree::kMpi) return IsHybrid(factor) ? std::nullopt : parent;
  const bool is_of_mpi = factor == kLoadBalance || factor == kCommunicationEfficiency;
  return is_of_mpi ? std::optional(kMpiParallelEfficiency) : parent;
}

// The children of every factor in the order of the table, and their number, known to the compiler: tables of a million
// rows ask for them again and again.
using ChildrenOfTree = std::array<std::pair<std::array<Factor, 4>, std::size_t>, kFactorCount>;

constexpr ChildrenOfTree ChildrenIn(FactorTree tree) {
  ChildrenOfTree all{};
  for (const FactorType& type : kTable) {
    if (const auto parent = ParentIn(type.factor, tree)) {
      auto& [factors, count] = all[static_cast<std::size_t>(*parent)];
      factors[count++] = type.factor;
    }
  }
  return all;
}

constexpr ChildrenOfTree kChildren[] = {ChildrenIn(FactorTree::kMpi), ChildrenIn(FactorTree::kHybrid)};

std::span<const Factor> ChildrenFor(Factor factor, FactorTree tree) {
  const auto& [factors, count] = kChildren[static_cast<std::size_t>(tree)][static_cast<std::size_t>(factor)];
  return {factors.data(), count};
}

}  // namespace

bool IsParent(Factor factor, FactorTree tree) { return !ChildrenFor(factor, tree).empty(); }

FactorTree TreeOf(const std::vector<Factor>& known) {
  return std::ranges::any_of(known, IsHybrid) ? FactorTree::kHybrid : FactorTree::kMpi;
}

std::optional<Factor> ParentOf(Factor factor, FactorTree tree) { return ParentIn(factor, tree); }

std::string_view FormulaOf(Factor factor, FactorTree tree) {
  const bool is_other = factor == kParallelEfficiency && tree == FactorTree::kHybrid;
  return is_other ? "Σ useful / (N · T) = MPI · OpenMP · device offload" : Describe(factor).formula;
}

const std::array<FactorType, kFactorCount>& AllFactors() { return kTable; }

const FactorType& Describe(Factor factor) { return kTable[static_cast<std::size_t>(factor)]; }

std::optional<Factor> FactorById(std::string_view id) {
  for (const FactorType& type : kTable) {
    if (type.id == id) return type.factor;
  }
  return std::nullopt;
}

std::vector<std::string> FactorIds() {
  std::vector<std::string> ids;
  for (const FactorType& type : kTable) ids.emplace_back(type.id);
  return ids;
}

std::string NameInSentence(Factor factor) {
  const std::string name(Describe(factor).name);
  const std::string first = name.substr(0, name.find(' '));
  const bool is_name = std::any_of(first.begin() + 1, first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_name ? name : ToLower(name.substr(0, 1)) + name.substr(1);
}

std::vector<Factor> ChildrenOf(Factor factor, FactorTree tree) {
  const std::span<const Factor> children = ChildrenFor(factor, tree);
  return {children.begin(), children.end()};
}

int DepthOf(Factor factor, FactorTree tree) {
  int depth = 0;
  for (auto parent = ParentIn(factor, tree); parent; parent = ParentIn(*parent, tree)) ++depth;
  return depth;
}

FactorTree FactorValues::Tree() const {
  for (std::size_t i = 0; i < kFactorCount; ++i) {
    if (IsHybrid(static_cast<Factor>(i)) && values_[i]) return FactorTree::kHybrid;
  }
  return FactorTree::kMpi;
}

bool FactorValues::KnowsChildrenOf(Factor factor, FactorTree tree) const {
  const std::span<const Factor> children = ChildrenFor(factor, tree);
  return !children.empty() && std::ranges::all_of(children, [&](Factor child) { return (*this)[child].has_value(); });
}

void FactorValues::DeriveParents() {
  const FactorTree tree = Tree();
  for (std::size_t i = kFactorCount; i-- > 0;) {  // children come after their parents in the table
    const Factor factor = static_cast<Factor>(i);
    if (values_[i] || !KnowsChildrenOf(factor, tree)) continue;
    double product = 1;
    for (const Factor child : ChildrenFor(factor, tree)) product *= *(*this)[child];
    values_[i] = product;
  }
}

void FactorValues::SetPerfectOpenMp() {
  for (const Factor factor : {kOmpParallelEfficiency, kOmpLoadBalance, kOmpScheduling, kOmpSerialization}) {
    (*this)[factor] = 1;
  }
}

void FactorValues::SetPerfectOffload() { (*this)[kDeviceOffload] = 1; }

}  // namespace farscale
