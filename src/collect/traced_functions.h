// MPI functions that leave records in a trace. generate_wrappers.py reads this file: a wrapper calls the function here
// instead of the real one while its thread is recorded. Each calls the real one and answers what it answers.
#pragma once

#include <mpi.h>

namespace farscale::collect {

// Messages.
int TracedMPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int TracedMPI_Bsend(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int TracedMPI_Ssend(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int TracedMPI_Rsend(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int TracedMPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int TracedMPI_Sendrecv(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                       MPI_Status*);
int TracedMPI_Sendrecv_replace(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
#if MPI_VERSION >= 4
int TracedMPI_Isendrecv(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                        MPI_Request*);
int TracedMPI_Isendrecv_replace(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
#endif
int TracedMPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Ibsend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Issend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Irsend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Mprobe(int, int, MPI_Comm, MPI_Message*, MPI_Status*);
int TracedMPI_Improbe(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
int TracedMPI_Mrecv(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*);
int TracedMPI_Imrecv(void*, int, MPI_Datatype, MPI_Message*, MPI_Request*);

// Requests.
int TracedMPI_Send_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Bsend_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Ssend_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Rsend_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Recv_init(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int TracedMPI_Start(MPI_Request*);
int TracedMPI_Startall(int, MPI_Request a2[]);
int TracedMPI_Wait(MPI_Request*, MPI_Status*);
int TracedMPI_Waitall(int, MPI_Request a2[], MPI_Status a3[]);
int TracedMPI_Waitany(int, MPI_Request a2[], int*, MPI_Status*);
int TracedMPI_Waitsome(int, MPI_Request a2[], int*, int a4[], MPI_Status a5[]);
int TracedMPI_Test(MPI_Request*, int*, MPI_Status*);
int TracedMPI_Testall(int, MPI_Request a2[], int*, MPI_Status a4[]);
int TracedMPI_Testany(int, MPI_Request a2[], int*, int*, MPI_Status*);
int TracedMPI_Testsome(int, MPI_Request a2[], int*, int a4[], MPI_Status a5[]);
int TracedMPI_Request_free(MPI_Request*);

// Collectives.
int TracedMPI_Barrier(MPI_Comm);
int TracedMPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm);
int TracedMPI_Gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
int TracedMPI_Gatherv(const void*, int, MPI_Datatype, void*, const int a5[], const int a6[], MPI_Datatype, int,
                      MPI_Comm);
int TracedMPI_Scatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
int TracedMPI_Scatterv(const void*, const int a2[], const int a3[], MPI_Datatype, void*, int, MPI_Datatype, int,
                       MPI_Comm);
int TracedMPI_Allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int TracedMPI_Allgatherv(const void*, int, MPI_Datatype, void*, const int a5[], const int a6[], MPI_Datatype, MPI_Comm);
int TracedMPI_Alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int TracedMPI_Alltoallv(const void*, const int a2[], const int a3[], MPI_Datatype, void*, const int a6[],
                        const int a7[], MPI_Datatype, MPI_Comm);
int TracedMPI_Alltoallw(const void*, const int a2[], const int a3[], const MPI_Datatype a4[], void*, const int a6[],
                        const int a7[], const MPI_Datatype a8[], MPI_Comm);
int TracedMPI_Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int TracedMPI_Reduce(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int TracedMPI_Reduce_scatter(const void*, void*, const int a3[], MPI_Datatype, MPI_Op, MPI_Comm);
int TracedMPI_Reduce_scatter_block(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int TracedMPI_Scan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int TracedMPI_Exscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int TracedMPI_Ibarrier(MPI_Comm, MPI_Request*);
int TracedMPI_Ibcast(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*);
int TracedMPI_Igather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*);
int TracedMPI_Igatherv(const void*, int, MPI_Datatype, void*, const int a5[], const int a6[], MPI_Datatype, int,
                       MPI_Comm, MPI_Request*);
int TracedMPI_Iscatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*);
int TracedMPI_Iscatterv(const void*, const int a2[], const int a3[], MPI_Datatype, void*, int, MPI_Datatype, int,
                        MPI_Comm, MPI_Request*);
int TracedMPI_Iallgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*);
int TracedMPI_Iallgatherv(const void*, int, MPI_Datatype, void*, const int a5[], const int a6[], MPI_Datatype, MPI_Comm,
                          MPI_Request*);
int TracedMPI_Ialltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*);
int TracedMPI_Ialltoallv(const void*, const int a2[], const int a3[], MPI_Datatype, void*, const int a6[],
                         const int a7[], MPI_Datatype, MPI_Comm, MPI_Request*);
int TracedMPI_Ialltoallw(const void*, const int a2[], const int a3[], const MPI_Datatype a4[], void*, const int a6[],
                         const int a7[], const MPI_Datatype a8[], MPI_Comm, MPI_Request*);
int TracedMPI_Iallreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int TracedMPI_Ireduce(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*);
int TracedMPI_Ireduce_scatter(const void*, void*, const int a3[], MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int TracedMPI_Ireduce_scatter_block(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int TracedMPI_Iscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int TracedMPI_Iexscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);

// Communicators.
int TracedMPI_Comm_dup(MPI_Comm, MPI_Comm*);
int TracedMPI_Comm_idup(MPI_Comm, MPI_Comm*, MPI_Request*);
#if MPI_VERSION >= 4
int TracedMPI_Comm_idup_with_info(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*);
#endif
int TracedMPI_Comm_dup_with_info(MPI_Comm, MPI_Info, MPI_Comm*);
int TracedMPI_Comm_split(MPI_Comm, int, int, MPI_Comm*);
int TracedMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm*);
int TracedMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm*);
int TracedMPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm*);
int TracedMPI_Cart_create(MPI_Comm, int, const int a3[], const int a4[], int, MPI_Comm*);
int TracedMPI_Cart_sub(MPI_Comm, const int a2[], MPI_Comm*);
int TracedMPI_Graph_create(MPI_Comm, int, const int a3[], const int a4[], int, MPI_Comm*);
int TracedMPI_Dist_graph_create(MPI_Comm, int, const int a3[], const int a4[], const int a5[], const int a6[], MPI_Info,
                                int, MPI_Comm*);
int TracedMPI_Dist_graph_create_adjacent(MPI_Comm, int, const int a3[], const int a4[], int, const int a6[],
                                         const int a7[], MPI_Info, int, MPI_Comm*);
int TracedMPI_Intercomm_create(MPI_Comm, int, MPI_Comm, int, int, MPI_Comm*);
int TracedMPI_Intercomm_merge(MPI_Comm, int, MPI_Comm*);
int TracedMPI_Comm_free(MPI_Comm*);
int TracedMPI_Comm_disconnect(MPI_Comm*);

// Windows.
int TracedMPI_Win_create(void*, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win*);
int TracedMPI_Win_allocate(MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*);
int TracedMPI_Win_allocate_shared(MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*);
int TracedMPI_Win_create_dynamic(MPI_Info, MPI_Comm, MPI_Win*);
int TracedMPI_Win_free(MPI_Win*);
int TracedMPI_Win_fence(int, MPI_Win);
int TracedMPI_Win_post(MPI_Group, int, MPI_Win);
int TracedMPI_Win_start(MPI_Group, int, MPI_Win);
int TracedMPI_Win_complete(MPI_Win);
int TracedMPI_Win_wait(MPI_Win);
int TracedMPI_Win_test(MPI_Win, int*);

}  // namespace farscale::collect
