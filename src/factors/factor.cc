#include "factors/factor.h"

#include <algorithm>

#include "base/text.h"

namespace farscale {
namespace {

using enum Factor;

constexpr std::array<FactorType, kFactorCount> kTable = {{
    {kGlobalEfficiency, "globalEfficiency", "Global efficiency", "parallelEfficiency · computationScalability", "POP",
     std::nullopt, FactorKind::kProduct,
     "How much of the cores' time does the useful work of the reference run: all losses together.", ""},
    {kParallelEfficiency, "parallelEfficiency", "Parallel efficiency", "avg t / T = LB · CommE", "Rosas14, eq. 1",
     kGlobalEfficiency, FactorKind::kShare,
     "The share of the cores' time spent computing rather than waiting or communicating.", ""},
    {kLoadBalance, "loadBalance", "Load balance", "avg t / max t", "Rosas14, eq. 2", kParallelEfficiency,
     FactorKind::kShare,
     "How evenly the computation is spread over the ranks: below 1, most ranks wait for the busiest one.",
     "Divide the work more evenly or balance it at run time; compare instructions to see whether work or speed is "
     "uneven."},
    {kLoadBalanceIn, "loadBalanceIn", "Load balance within nodes", "max L / max t", "Lopez21, eq. 6", kLoadBalance,
     FactorKind::kDetail, "How evenly the ranks of the busiest node share its work.",
     "Shift work or threads between the ranks of a node, or place heavy and light ranks together."},
    {kLoadBalanceOut, "loadBalanceOut", "Load balance between nodes", "avg t / max L", "Lopez21, eq. 7", kLoadBalance,
     FactorKind::kDetail, "How evenly the work is spread over the nodes.",
     "Distribute the ranks differently over the nodes, or repartition the problem."},
    {kCommunicationEfficiency, "communicationEfficiency", "Communication efficiency", "max t / T = Ser · Trf",
     "Rosas14, POP", kParallelEfficiency, FactorKind::kShare,
     "The share of the run time that the busiest rank spends computing.", ""},
    {kSerialization, "serializationEfficiency", "Serialization", "max t / T_ideal", "Rosas14, eq. 3",
     kCommunicationEfficiency, FactorKind::kShare,
     "What waiting for one another would cost even on a network that takes no time: chains of dependencies.",
     "Break dependency chains: overlap, reorder or pipeline the work, use fewer synchronising calls."},
    {kTransfer, "transferEfficiency", "Transfer", "T_ideal / T", "Rosas14, eq. 4", kCommunicationEfficiency,
     FactorKind::kShare,
     "What the network and the MPI library cost: moving data, latency, contention and overhead of the calls.",
     "Send less and in larger messages, overlap communication with computation, use a faster network or mapping."},
    {kComputationScalability, "computationScalability", "Computation scalability", "Σ t_ref / Σ t (weak: · P / P_ref)",
     "POP", kGlobalEfficiency, FactorKind::kScalability,
     "How the total computing time grows with the number of cores: below 1, the same work costs more core time.",
     "See which of its parts falls: more instructions mean repeated work, fewer per cycle mean memory or caches."},
    {kInstructionScaling, "instructionScaling", "Instruction scaling", "Σ ins_ref / Σ ins (weak: · P / P_ref)", "POP",
     kComputationScalability, FactorKind::kScalability,
     "How the total number of instructions grows: below 1, more ranks do extra or repeated work.",
     "Look for work done by every rank, such as halos, setup and replicated loops."},
    {kIpcScaling, "ipcScaling", "IPC scaling", "IPC / IPC_ref", "POP", kComputationScalability,
     FactorKind::kScalability,
     "How many instructions a core finishes in a cycle, against the reference: caches and memory bandwidth.",
     "Check memory bandwidth and cache use as nodes fill up."},
    {kFrequencyScaling, "frequencyScaling", "Frequency scaling", "f / f_ref", "POP", kComputationScalability,
     FactorKind::kScalability,
     "How fast the cores' clocks run while computing, against the reference: clocks drop as nodes fill up, and "
     "preempted ranks count as slow.",
     "Check clock limits and whether processes share cores."},
    {kSpeedup, "speedup", "Speedup", "T_ref / T an iteration (weak: · P / P_ref)", "POP", std::nullopt,
     FactorKind::kSpeedup, "How much faster than the reference the work gets done.", ""},
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

constexpr auto kIsParent = [] {
  std::array<bool, kFactorCount> is_parent{};
  for (const FactorType& type : kTable) {
    if (type.parent) is_parent[static_cast<std::size_t>(*type.parent)] = true;
  }
  return is_parent;
}();

}  // namespace

bool IsParent(Factor factor) { return kIsParent[static_cast<std::size_t>(factor)]; }

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
  const bool is_acronym = name.size() > 1 && name[1] >= 'A' && name[1] <= 'Z';
  return is_acronym ? name : ToLower(name.substr(0, 1)) + name.substr(1);
}

std::vector<Factor> ChildrenOf(Factor factor) {
  std::vector<Factor> children;
  for (const FactorType& type : kTable) {
    if (type.parent == factor) children.push_back(type.factor);
  }
  return children;
}

int DepthOf(Factor factor) {
  int depth = 0;
  for (std::optional<Factor> parent = Describe(factor).parent; parent; parent = Describe(*parent).parent) ++depth;
  return depth;
}

bool FactorValues::KnowsChildrenOf(Factor factor) const {
  const auto is_known = [&](const FactorType& type) { return type.parent != factor || (*this)[type.factor]; };
  return kIsParent[static_cast<std::size_t>(factor)] && std::ranges::all_of(kTable, is_known);
}

void FactorValues::DeriveParents() {
  for (std::size_t i = kFactorCount; i-- > 0;) {  // children come after their parents in the table
    const Factor factor = kTable[i].factor;
    if ((*this)[factor] || !KnowsChildrenOf(factor)) continue;
    double product = 1;
    for (std::size_t child = i + 1; child < kFactorCount; ++child) {
      if (kTable[child].parent == factor) product *= *values_[child];
    }
    values_[i] = product;
  }
}

}  // namespace farscale
