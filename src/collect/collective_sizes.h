// Bytes that one rank gives to a collective and gets from it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>

#include "collect/communicators.h"
#include "collect/ideal_clock.h"
#include "collect/recorder.h"

namespace farscale::collect {

inline constexpr int kNoRoot = std::numeric_limits<int>::min();  // no MPI has such a constant

inline std::uint32_t RootOf(int root) {
  return root == kNoRoot ? OTF2_COLLECTIVE_ROOT_NONE : static_cast<std::uint32_t>(root);
}

// As under the rules `bsc` [docs/formulas.md, rules].
inline ClockWait WaitOf(OTF2_CollectiveOp operation, int root, const TracedCommunicator& communicator) {
  if (operation == OTF2_COLLECTIVE_OP_SCAN || operation == OTF2_COLLECTIVE_OP_EXSCAN) return ClockWait::kLower;
  const bool is_sent_away = operation == OTF2_COLLECTIVE_OP_REDUCE && communicator.rank != root;
  return is_sent_away ? ClockWait::kNothing : ClockWait::kAll;
}

inline std::uint64_t Bytes(std::int64_t count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

// What one rank contributes; with MPI_IN_PLACE, what it has in the other buffer.
inline std::uint64_t PartOf(const void* buffer, std::int64_t count, MPI_Datatype type, std::int64_t other_count,
                            MPI_Datatype other_type) {
  return buffer == MPI_IN_PLACE ? Bytes(other_count, other_type) : Bytes(count, type);
}

inline std::uint64_t All(const TracedCommunicator& communicator, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(communicator.size) * bytes;
}

// Counts are of type int or MPI_Count.
template <typename Count>
std::uint64_t Sum(const TracedCommunicator& communicator, const Count* counts, MPI_Datatype type) {
  std::uint64_t sum = 0;
  for (int i = 0; i < communicator.size; ++i) sum += Bytes(counts[i], type);
  return sum;
}

template <typename Count>
std::uint64_t Sum(const TracedCommunicator& communicator, const Count* counts, const MPI_Datatype* types) {
  std::uint64_t sum = 0;
  for (int i = 0; i < communicator.size; ++i) sum += Bytes(counts[i], types[i]);
  return sum;
}

inline CollectiveSizes RootSends(const TracedCommunicator& communicator, int root, std::uint64_t bytes) {
  return {communicator.rank == root ? All(communicator, bytes) : 0, bytes};
}

// What counts at the root alone is asked for there alone: elsewhere the arguments mean nothing.
template <typename AtRoot>
CollectiveSizes RootReceives(const TracedCommunicator& communicator, int root, std::uint64_t sent, AtRoot received) {
  return {sent, communicator.rank == root ? received() : 0};
}

template <typename AtRoot>
CollectiveSizes RootScatters(const TracedCommunicator& communicator, int root, std::uint64_t received, AtRoot sent) {
  return {communicator.rank == root ? sent() : 0, received};
}

}  // namespace farscale::collect
