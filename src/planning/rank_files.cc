#include "planning/rank_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace farscale {
namespace {

using Nodes = std::vector<std::int32_t>;

// Ranks of a node take its slots in their order.
std::string OpenMpi(const Nodes& nodes) {
  std::string text;
  std::map<std::int32_t, int> slots;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    text += fmt::format("rank {}=+n{} slot={}\n", rank, nodes[rank], slots[nodes[rank]]++);
  }
  return text;
}

// Lines of a shell script after which `host n` prints the name of node n of the job.
std::string NamesOfNodes(std::size_t nodes) {
  return fmt::format(
      "set -eu\nhosts=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
      "[ \"$(echo \"$hosts\" | wc -l)\" -ge {0} ] || "
      "{{ echo \"$0: the job needs {0} nodes\" >&2; exit 1; }}\n"
      "host() {{ echo \"$hosts\" | sed -n \"$(($1 + 1))p\"; }}\n",
      nodes);
}

std::string Slurm(const Nodes& nodes, std::size_t count) {
  return fmt::format(
      "#!/bin/sh\n# In the job: sh hosts.slurm > hosts; SLURM_HOSTFILE=hosts srun "
      "--distribution=arbitrary -n {} PROGRAM\n{}for node in {}; do host \"$node\"; done\n",
      nodes.size(), NamesOfNodes(count), fmt::join(nodes, " "));
}

std::string RankOrder(const Nodes& nodes) {
  std::vector<std::size_t> ranks(nodes.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank] = rank;
  std::ranges::stable_sort(ranks, {}, [&](std::size_t rank) { return nodes[rank]; });
  return fmt::format("# export MPICH_RANK_REORDER_METHOD=3; ranks node by node\n{}\n", fmt::join(ranks, ","));
}

// A line for ranks in a row on one node.
std::string Mpich(const Nodes& nodes, std::size_t count) {
  std::string lines;
  for (std::size_t rank = 0; rank < nodes.size();) {
    std::size_t next = rank;
    while (next < nodes.size() && nodes[next] == nodes[rank]) ++next;
    lines += fmt::format("echo \"$(host {}):{}\"\n", nodes[rank], next - rank);
    rank = next;
  }
  return fmt::format("#!/bin/sh\n# In the job: sh hosts.mpich > hosts; mpiexec -f hosts -n {} PROGRAM\n{}{}",
                     nodes.size(), NamesOfNodes(count), lines);
}

}  // namespace

const NodeMapping* MappingWorthHaving(const WhatIf& what_if) {
  const NodeMapping* best = nullptr;
  for (const NodeMapping& mapping : what_if.mappings) {
    if (mapping.placement == Placement::kAsMeasured || mapping.gain.value < kWorthMapping) continue;
    const BalanceRun& run = what_if.runs[mapping.run];
    if (run.grown_from || run.is_unexplained) continue;  // nobody has made the run, or replays of it tell nothing
    const bool is_larger = best == nullptr || mapping.node_of_rank.size() > best->node_of_rank.size();
    const bool gains_more = best != nullptr && mapping.run == best->run && mapping.gain.value > best->gain.value;
    if (is_larger || gains_more) best = &mapping;
  }
  return best;
}

NamedTexts RankFiles(const NodeMapping& mapping) {
  const Nodes& nodes = mapping.node_of_rank;
  return {{"rankfile.openmpi", OpenMpi(nodes)},
          {"hosts.slurm", Slurm(nodes, mapping.nodes)},
          {"hosts.mpich", Mpich(nodes, mapping.nodes)},
          {"MPICH_RANK_ORDER", RankOrder(nodes)}};
}

}  // namespace farscale
