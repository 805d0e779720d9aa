! The file mpif.h: five calls a rank.
program fortran77
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, mine, got, total, request, code, status(MPI_STATUS_SIZE)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  mine = rank
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Isend(mine, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, request, code)
  call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  if (status(MPI_SOURCE) /= mod(rank + ranks - 1, ranks)) error stop 1
  call MPI_Finalize(code)
end program fortran77
