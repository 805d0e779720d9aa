// Blocking collectives, with the bytes that a rank gives and gets as Score-P counts them: what a root sends or
// receives counts once for every rank.
#include "collect/collective_sizes.h"
#include "collect/communicators.h"
#include "collect/ideal_clock.h"
#include "collect/recorder.h"
#include "collect/traced_functions.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

template <typename Sizes, typename Function>
int Blocking(OTF2_CollectiveOp operation, int root, MPI_Comm in, Sizes sizes, Function function) {
  const TracedCommunicator* found = FindForCollective(in, root != kNoRoot);
  if (found == nullptr) return function();
  const TracedCommunicator communicator = *found;
  RecordCollectiveBegin();
  const int code = function();
  ReduceClock(communicator.shadow, WaitOf(operation, root, communicator));
  RecordCollectiveEnd(operation, communicator.id, RootOf(root), sizes(communicator));
  return code;
}

}  // namespace

int TracedMPI_Barrier(MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes { return CollectiveSizes{}; };
  return Blocking(OTF2_COLLECTIVE_OP_BARRIER, kNoRoot, in, sizes, [&] { return real.MPI_Barrier(in); });
}

int TracedMPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) { return RootSends(c, root, Bytes(count, type)); };
  return Blocking(OTF2_COLLECTIVE_OP_BCAST, root, in, sizes,
                  [&] { return real.MPI_Bcast(buffer, count, type, root, in); });
}

int TracedMPI_Gather(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count, MPI_Datatype type,
                     int root, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootReceives(c, root, PartOf(out, out_count, out_type, count, type),
                        [&] { return All(c, Bytes(count, type)); });
  };
  return Blocking(OTF2_COLLECTIVE_OP_GATHER, root, in, sizes,
                  [&] { return real.MPI_Gather(out, out_count, out_type, buffer, count, type, root, in); });
}

int TracedMPI_Gatherv(const void* out, int out_count, MPI_Datatype out_type, void* buffer, const int counts[],
                      const int places[], MPI_Datatype type, int root, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootReceives(c, root, out == MPI_IN_PLACE ? Bytes(counts[c.rank], type) : Bytes(out_count, out_type),
                        [&] { return Sum(c, counts, type); });
  };
  return Blocking(OTF2_COLLECTIVE_OP_GATHERV, root, in, sizes,
                  [&] { return real.MPI_Gatherv(out, out_count, out_type, buffer, counts, places, type, root, in); });
}

int TracedMPI_Scatter(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count, MPI_Datatype type,
                      int root, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootScatters(c, root, PartOf(buffer, count, type, out_count, out_type),
                        [&] { return All(c, Bytes(out_count, out_type)); });
  };
  return Blocking(OTF2_COLLECTIVE_OP_SCATTER, root, in, sizes,
                  [&] { return real.MPI_Scatter(out, out_count, out_type, buffer, count, type, root, in); });
}

int TracedMPI_Scatterv(const void* out, const int counts[], const int places[], MPI_Datatype out_type, void* buffer,
                       int count, MPI_Datatype type, int root, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootScatters(c, root, buffer == MPI_IN_PLACE ? Bytes(counts[c.rank], out_type) : Bytes(count, type),
                        [&] { return Sum(c, counts, out_type); });
  };
  return Blocking(OTF2_COLLECTIVE_OP_SCATTERV, root, in, sizes,
                  [&] { return real.MPI_Scatterv(out, counts, places, out_type, buffer, count, type, root, in); });
}

int TracedMPI_Allgather(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count,
                        MPI_Datatype type, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, PartOf(out, out_count, out_type, count, type)), All(c, Bytes(count, type))};
  };
  return Blocking(OTF2_COLLECTIVE_OP_ALLGATHER, kNoRoot, in, sizes,
                  [&] { return real.MPI_Allgather(out, out_count, out_type, buffer, count, type, in); });
}

int TracedMPI_Allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* buffer, const int counts[],
                         const int places[], MPI_Datatype type, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, out == MPI_IN_PLACE ? Bytes(counts[c.rank], type) : Bytes(out_count, out_type)),
            Sum(c, counts, type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_ALLGATHERV, kNoRoot, in, sizes,
                  [&] { return real.MPI_Allgatherv(out, out_count, out_type, buffer, counts, places, type, in); });
}

int TracedMPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count,
                       MPI_Datatype type, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, PartOf(out, out_count, out_type, count, type)), All(c, Bytes(count, type))};
  };
  return Blocking(OTF2_COLLECTIVE_OP_ALLTOALL, kNoRoot, in, sizes,
                  [&] { return real.MPI_Alltoall(out, out_count, out_type, buffer, count, type, in); });
}

int TracedMPI_Alltoallv(const void* out, const int out_counts[], const int out_places[], MPI_Datatype out_type,
                        void* buffer, const int counts[], const int places[], MPI_Datatype type, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {out == MPI_IN_PLACE ? Sum(c, counts, type) : Sum(c, out_counts, out_type), Sum(c, counts, type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_ALLTOALLV, kNoRoot, in, sizes, [&] {
    return real.MPI_Alltoallv(out, out_counts, out_places, out_type, buffer, counts, places, type, in);
  });
}

int TracedMPI_Alltoallw(const void* out, const int out_counts[], const int out_places[], const MPI_Datatype out_types[],
                        void* buffer, const int counts[], const int places[], const MPI_Datatype types[], MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {out == MPI_IN_PLACE ? Sum(c, counts, types) : Sum(c, out_counts, out_types), Sum(c, counts, types)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_ALLTOALLW, kNoRoot, in, sizes, [&] {
    return real.MPI_Alltoallw(out, out_counts, out_places, out_types, buffer, counts, places, types, in);
  });
}

int TracedMPI_Allreduce(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes {
    return {Bytes(count, type), Bytes(count, type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_ALLREDUCE, kNoRoot, in, sizes,
                  [&] { return real.MPI_Allreduce(out, buffer, count, type, operation, in); });
}

int TracedMPI_Reduce(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, int root,
                     MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootReceives(c, root, Bytes(count, type), [&] { return Bytes(count, type); });
  };
  return Blocking(OTF2_COLLECTIVE_OP_REDUCE, root, in, sizes,
                  [&] { return real.MPI_Reduce(out, buffer, count, type, operation, root, in); });
}

int TracedMPI_Reduce_scatter(const void* out, void* buffer, const int counts[], MPI_Datatype type, MPI_Op operation,
                             MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {Sum(c, counts, type), Bytes(counts[c.rank], type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_REDUCE_SCATTER, kNoRoot, in, sizes,
                  [&] { return real.MPI_Reduce_scatter(out, buffer, counts, type, operation, in); });
}

int TracedMPI_Reduce_scatter_block(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation,
                                   MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, Bytes(count, type)), Bytes(count, type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, kNoRoot, in, sizes,
                  [&] { return real.MPI_Reduce_scatter_block(out, buffer, count, type, operation, in); });
}

int TracedMPI_Scan(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes {
    return {Bytes(count, type), Bytes(count, type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_SCAN, kNoRoot, in, sizes,
                  [&] { return real.MPI_Scan(out, buffer, count, type, operation, in); });
}

int TracedMPI_Exscan(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm in) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes {
    return {Bytes(count, type), Bytes(count, type)};
  };
  return Blocking(OTF2_COLLECTIVE_OP_EXSCAN, kNoRoot, in, sizes,
                  [&] { return real.MPI_Exscan(out, buffer, count, type, operation, in); });
}

// Generated: the same with counts of type MPI_Count, where the MPI has such functions.
#include "traced_collectives_c.h"

}  // namespace farscale::collect
