// Non-blocking collectives, with the bytes that a rank gives and gets as Score-P counts them: what a root sends or
// receives counts once for every rank.
#include "collect/collective_sizes.h"
#include "collect/communicators.h"
#include "collect/recorder.h"
#include "collect/requests.h"
#include "collect/traced_functions.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

template <typename Sizes, typename Function>
int Immediate(OTF2_CollectiveOp operation, int root, MPI_Comm in, const MPI_Request* handle, Sizes sizes,
              Function function) {
  const int code = function();
  const TracedCommunicator* communicator = FindForCollective(in, root != kNoRoot);
  if (code != MPI_SUCCESS || communicator == nullptr) return code;
  TracedRequest request;
  request.kind = RequestKind::kCollective;
  request.communicator = communicator->id;
  request.shadow = communicator->shadow;
  request.wait = WaitOf(operation, root, *communicator);
  request.operation = operation;
  request.root = RootOf(root);
  request.sizes = sizes(*communicator);
  AddRequest(*handle, request);
  return code;
}

}  // namespace

int TracedMPI_Ibarrier(MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes { return CollectiveSizes{}; };
  return Immediate(OTF2_COLLECTIVE_OP_BARRIER, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Ibarrier(in, handle); });
}

int TracedMPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) { return RootSends(c, root, Bytes(count, type)); };
  return Immediate(OTF2_COLLECTIVE_OP_BCAST, root, in, handle, sizes,
                   [&] { return real.MPI_Ibcast(buffer, count, type, root, in, handle); });
}

int TracedMPI_Igather(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count, MPI_Datatype type,
                      int root, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootReceives(c, root, PartOf(out, out_count, out_type, count, type),
                        [&] { return All(c, Bytes(count, type)); });
  };
  return Immediate(OTF2_COLLECTIVE_OP_GATHER, root, in, handle, sizes,
                   [&] { return real.MPI_Igather(out, out_count, out_type, buffer, count, type, root, in, handle); });
}

int TracedMPI_Igatherv(const void* out, int out_count, MPI_Datatype out_type, void* buffer, const int counts[],
                       const int places[], MPI_Datatype type, int root, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootReceives(c, root, out == MPI_IN_PLACE ? Bytes(counts[c.rank], type) : Bytes(out_count, out_type),
                        [&] { return Sum(c, counts, type); });
  };
  return Immediate(OTF2_COLLECTIVE_OP_GATHERV, root, in, handle, sizes, [&] {
    return real.MPI_Igatherv(out, out_count, out_type, buffer, counts, places, type, root, in, handle);
  });
}

int TracedMPI_Iscatter(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count,
                       MPI_Datatype type, int root, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootScatters(c, root, PartOf(buffer, count, type, out_count, out_type),
                        [&] { return All(c, Bytes(out_count, out_type)); });
  };
  return Immediate(OTF2_COLLECTIVE_OP_SCATTER, root, in, handle, sizes,
                   [&] { return real.MPI_Iscatter(out, out_count, out_type, buffer, count, type, root, in, handle); });
}

int TracedMPI_Iscatterv(const void* out, const int counts[], const int places[], MPI_Datatype out_type, void* buffer,
                        int count, MPI_Datatype type, int root, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootScatters(c, root, buffer == MPI_IN_PLACE ? Bytes(counts[c.rank], out_type) : Bytes(count, type),
                        [&] { return Sum(c, counts, out_type); });
  };
  return Immediate(OTF2_COLLECTIVE_OP_SCATTERV, root, in, handle, sizes, [&] {
    return real.MPI_Iscatterv(out, counts, places, out_type, buffer, count, type, root, in, handle);
  });
}

int TracedMPI_Iallgather(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count,
                         MPI_Datatype type, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, PartOf(out, out_count, out_type, count, type)), All(c, Bytes(count, type))};
  };
  return Immediate(OTF2_COLLECTIVE_OP_ALLGATHER, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Iallgather(out, out_count, out_type, buffer, count, type, in, handle); });
}

int TracedMPI_Iallgatherv(const void* out, int out_count, MPI_Datatype out_type, void* buffer, const int counts[],
                          const int places[], MPI_Datatype type, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, out == MPI_IN_PLACE ? Bytes(counts[c.rank], type) : Bytes(out_count, out_type)),
            Sum(c, counts, type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_ALLGATHERV, kNoRoot, in, handle, sizes, [&] {
    return real.MPI_Iallgatherv(out, out_count, out_type, buffer, counts, places, type, in, handle);
  });
}

int TracedMPI_Ialltoall(const void* out, int out_count, MPI_Datatype out_type, void* buffer, int count,
                        MPI_Datatype type, MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, PartOf(out, out_count, out_type, count, type)), All(c, Bytes(count, type))};
  };
  return Immediate(OTF2_COLLECTIVE_OP_ALLTOALL, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Ialltoall(out, out_count, out_type, buffer, count, type, in, handle); });
}

int TracedMPI_Ialltoallv(const void* out, const int out_counts[], const int out_places[], MPI_Datatype out_type,
                         void* buffer, const int counts[], const int places[], MPI_Datatype type, MPI_Comm in,
                         MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {out == MPI_IN_PLACE ? Sum(c, counts, type) : Sum(c, out_counts, out_type), Sum(c, counts, type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_ALLTOALLV, kNoRoot, in, handle, sizes, [&] {
    return real.MPI_Ialltoallv(out, out_counts, out_places, out_type, buffer, counts, places, type, in, handle);
  });
}

int TracedMPI_Ialltoallw(const void* out, const int out_counts[], const int out_places[],
                         const MPI_Datatype out_types[], void* buffer, const int counts[], const int places[],
                         const MPI_Datatype types[], MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {out == MPI_IN_PLACE ? Sum(c, counts, types) : Sum(c, out_counts, out_types), Sum(c, counts, types)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_ALLTOALLW, kNoRoot, in, handle, sizes, [&] {
    return real.MPI_Ialltoallw(out, out_counts, out_places, out_types, buffer, counts, places, types, in, handle);
  });
}

int TracedMPI_Iallreduce(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm in,
                         MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes {
    return {Bytes(count, type), Bytes(count, type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_ALLREDUCE, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Iallreduce(out, buffer, count, type, operation, in, handle); });
}

int TracedMPI_Ireduce(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, int root,
                      MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) {
    return RootReceives(c, root, Bytes(count, type), [&] { return Bytes(count, type); });
  };
  return Immediate(OTF2_COLLECTIVE_OP_REDUCE, root, in, handle, sizes,
                   [&] { return real.MPI_Ireduce(out, buffer, count, type, operation, root, in, handle); });
}

int TracedMPI_Ireduce_scatter(const void* out, void* buffer, const int counts[], MPI_Datatype type, MPI_Op operation,
                              MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {Sum(c, counts, type), Bytes(counts[c.rank], type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_REDUCE_SCATTER, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Ireduce_scatter(out, buffer, counts, type, operation, in, handle); });
}

int TracedMPI_Ireduce_scatter_block(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation,
                                    MPI_Comm in, MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator& c) -> CollectiveSizes {
    return {All(c, Bytes(count, type)), Bytes(count, type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Ireduce_scatter_block(out, buffer, count, type, operation, in, handle); });
}

int TracedMPI_Iscan(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm in,
                    MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes {
    return {Bytes(count, type), Bytes(count, type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_SCAN, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Iscan(out, buffer, count, type, operation, in, handle); });
}

int TracedMPI_Iexscan(const void* out, void* buffer, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm in,
                      MPI_Request* handle) {
  const auto sizes = [&](const TracedCommunicator&) -> CollectiveSizes {
    return {Bytes(count, type), Bytes(count, type)};
  };
  return Immediate(OTF2_COLLECTIVE_OP_EXSCAN, kNoRoot, in, handle, sizes,
                   [&] { return real.MPI_Iexscan(out, buffer, count, type, operation, in, handle); });
}

// Generated: the same with counts of type MPI_Count, where the MPI has such functions.
#include "traced_immediate_collectives_c.h"

}  // namespace farscale::collect
