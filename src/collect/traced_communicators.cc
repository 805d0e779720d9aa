// Functions that make and free communicators. Those that make one are collective, which a trace shows as such.
#include "collect/communicators.h"
#include "collect/recorder.h"
#include "collect/traced_functions.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

// Making a communicator is a collective of the old one, for which ideal clocks do not wait [docs/formulas.md, rules].
template <typename Make>
int MakeFrom(MPI_Comm old, MPI_Comm* made, Make make) {
  const TracedCommunicator* communicator = FindCommunicator(old);
  const std::uint32_t id = communicator != nullptr ? communicator->id : 0;
  if (communicator != nullptr) RecordCollectiveBegin();
  const int code = make();
  if (communicator != nullptr) {
    RecordCollectiveEnd(OTF2_COLLECTIVE_OP_CREATE_HANDLE, id, OTF2_COLLECTIVE_ROOT_NONE, {});
  }
  if (code == MPI_SUCCESS) AddCommunicator(*made);
  return code;
}

}  // namespace

int TracedMPI_Comm_dup(MPI_Comm old, MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Comm_dup(old, made); });
}
// Both MPIs know the handle of the copy at once, as its members do.
int TracedMPI_Comm_idup(MPI_Comm old, MPI_Comm* made, MPI_Request* handle) {
  const int code = real.MPI_Comm_idup(old, made, handle);
  if (code == MPI_SUCCESS) AddCopy(old, *made);
  return code;
}
#if MPI_VERSION >= 4
int TracedMPI_Comm_idup_with_info(MPI_Comm old, MPI_Info info, MPI_Comm* made, MPI_Request* handle) {
  const int code = real.MPI_Comm_idup_with_info(old, info, made, handle);
  if (code == MPI_SUCCESS) AddCopy(old, *made);
  return code;
}
#endif
int TracedMPI_Comm_dup_with_info(MPI_Comm old, MPI_Info info, MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Comm_dup_with_info(old, info, made); });
}
int TracedMPI_Comm_split(MPI_Comm old, int color, int key, MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Comm_split(old, color, key, made); });
}
int TracedMPI_Comm_split_type(MPI_Comm old, int type, int key, MPI_Info info, MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Comm_split_type(old, type, key, info, made); });
}
int TracedMPI_Comm_create(MPI_Comm old, MPI_Group group, MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Comm_create(old, group, made); });
}

// Only the members of the new one call.
int TracedMPI_Comm_create_group(MPI_Comm old, MPI_Group group, int tag, MPI_Comm* made) {
  const int code = real.MPI_Comm_create_group(old, group, tag, made);
  if (code == MPI_SUCCESS) AddCommunicator(*made);
  return code;
}

int TracedMPI_Cart_create(MPI_Comm old, int dimensions, const int sizes[], const int periods[], int reorder,
                          MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Cart_create(old, dimensions, sizes, periods, reorder, made); });
}
int TracedMPI_Cart_sub(MPI_Comm old, const int remain[], MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Cart_sub(old, remain, made); });
}
int TracedMPI_Graph_create(MPI_Comm old, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* made) {
  return MakeFrom(old, made, [&] { return real.MPI_Graph_create(old, nodes, index, edges, reorder, made); });
}
int TracedMPI_Dist_graph_create(MPI_Comm old, int count, const int sources[], const int degrees[],
                                const int destinations[], const int weights[], MPI_Info info, int reorder,
                                MPI_Comm* made) {
  return MakeFrom(old, made, [&] {
    return real.MPI_Dist_graph_create(old, count, sources, degrees, destinations, weights, info, reorder, made);
  });
}
int TracedMPI_Dist_graph_create_adjacent(MPI_Comm old, int in, const int sources[], const int in_weights[], int out,
                                         const int destinations[], const int out_weights[], MPI_Info info, int reorder,
                                         MPI_Comm* made) {
  return MakeFrom(old, made, [&] {
    return real.MPI_Dist_graph_create_adjacent(old, in, sources, in_weights, out, destinations, out_weights, info,
                                               reorder, made);
  });
}

// Both groups call, each with a communicator of its own.
int TracedMPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm* made) {
  const int code = real.MPI_Intercomm_create(local, leader, peers, remote_leader, tag, made);
  if (code == MPI_SUCCESS) AddCommunicator(*made);
  return code;
}

// Those of the old one may be of two runs.
int TracedMPI_Intercomm_merge(MPI_Comm old, int high, MPI_Comm* made) {
  const int code = real.MPI_Intercomm_merge(old, high, made);
  if (code == MPI_SUCCESS) AddCommunicator(*made);
  return code;
}

int TracedMPI_Comm_free(MPI_Comm* communicator) {
  RemoveCommunicator(*communicator);
  return real.MPI_Comm_free(communicator);
}
int TracedMPI_Comm_disconnect(MPI_Comm* communicator) {
  RemoveCommunicator(*communicator);
  return real.MPI_Comm_disconnect(communicator);
}

}  // namespace farscale::collect
