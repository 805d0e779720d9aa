// Files that place the ranks of a job on nodes, for those who start it.
#pragma once

#include "balance/what_if.h"
#include "base/files.h"

namespace farscale {

// Chosen: below this share of the makespan a mapping is not worth an unusual job script.
inline constexpr double kWorthMapping = 0.02;

// The mapping of the largest run that gains most, if that is kWorthMapping or more; else null.
const NodeMapping* MappingWorthHaving(const WhatIf& what_if);

// Nodes are named by their place in the allocation of the job, from 0, as the names of the next job are not known:
//   rankfile.openmpi   mpirun --rankfile rankfile.openmpi, in a job of Slurm, PBS or the like: +n0 is its
//                      first node [mpirun(1), Rankfiles]
//   hosts.slurm        a script for the job: the name of a node for every rank, for SLURM_HOSTFILE and
//                      srun --distribution=arbitrary
//   hosts.mpich        a script for the job: lines name:ranks for mpiexec -f [Hydra]
//   MPICH_RANK_ORDER   ranks node by node, for MPICH_RANK_REORDER_METHOD=3 [Cray MPICH, intro_mpi(3)]
NamedTexts RankFiles(const NodeMapping& mapping);

}  // namespace farscale
