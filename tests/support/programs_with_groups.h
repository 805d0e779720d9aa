// Programs whose ranks do different work, as real ones of their kind do, and programs whose ranks only seem to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale::test {

// Molecular dynamics as GROMACS does it: three of eight ranks for the mesh (PME), the others for particles (PP).
// Halo exchange among the PP ranks, FFT with alltoalls among the PME ranks, coordinates and forces between them. An
// iteration is a region "step" of all ranks, when there are regions.
struct DynamicsOptions {
  int ranks = 32;
  int steps = 10;
  bool regions = true;        // do_md and pmeonly around everything, and kernels within
  bool interleaved = false;   // PME ranks among the others, else the last ones
  bool sums_energies = true;  // an allreduce of the PP ranks in every step
  bool mesh_halo = false;     // the PME ranks exchange borders of the mesh by MPI_Sendrecv
  double imbalance = 0.3;     // of the PP ranks: the most loaded one takes so much longer
  std::uint64_t seed = 1;
};

std::vector<std::size_t> MeshRanks(const DynamicsOptions& options);
Trace MakeDynamics(const DynamicsOptions& options);

// Rank 0 hands out tasks of varying length and collects results.
Trace MakeMasterWorker(int ranks, int tasks_a_worker, bool regions);

// A stencil with an allreduce in every step that sends its fields to the last ranks every other step; these write them,
// by MPI_File_write or by other means.
Trace MakeOutputServers(int ranks, int servers, bool mpi_output);

// Ocean and atmosphere: stencils, one with allreduces and the other with broadcasts, that exchange fluxes.
Trace MakeCoupled(int ranks, bool regions);

// Programs of one kind of rank, each odd in its own way; see the names.
struct NamedProgram {
  std::string name;
  Trace trace;
};
std::vector<NamedProgram> MakeAlikePrograms(int ranks, std::uint64_t seed);

}  // namespace farscale::test
