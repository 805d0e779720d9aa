/* Starts two more processes of itself, which meet it at a barrier: of both groups, or with the argument "merge" of the
 * one that they make together, where a message goes round, too. With "multiple" by MPI_Comm_spawn_multiple. */
#include <mpi.h>
#include <string.h>

static void meet(MPI_Comm others, int is_child, const char* how) {
  MPI_Comm all;
  int rank, size, token = 1;
  if (strcmp(how, "merge")) {
    MPI_Barrier(others);
    return;
  }
  MPI_Intercomm_merge(others, is_child, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Barrier(all);
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, all, MPI_STATUS_IGNORE);
  MPI_Comm_free(&all);
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  const char* how = argc > 1 ? argv[1] : "";
  int one = 1, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    if (!strcmp(how, "multiple")) {
      char* commands[] = {argv[0], argv[0]};
      int counts[] = {1, 1};
      MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
      MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &children,
                              MPI_ERRCODES_IGNORE);
    } else {
      MPI_Comm_spawn(argv[0], argc > 1 ? &argv[1] : MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                     MPI_ERRCODES_IGNORE);
    }
    meet(children, 0, how);
    MPI_Comm_disconnect(&children);
  } else {
    meet(parent, 1, how);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_disconnect(&parent);
  }
  MPI_Finalize();
  return 0;
}
