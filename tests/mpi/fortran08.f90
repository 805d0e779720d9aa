! The module mpi_f08: nine calls a rank, two of them non-blocking, in a region of the Fortran module.
program fortran08
  use mpi_f08
  use farscale
  implicit none
  integer :: rank, ranks, mine, got, total
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: copy
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  mine = rank
  call farscale_region_start('exchange')
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, copy)
  call MPI_Isend(mine, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, copy, requests(1))
  call MPI_Irecv(got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1, copy, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Sendrecv(mine, 1, MPI_INTEGER, mod(rank + 1, ranks), 2, got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 2, &
       copy, status)
  call MPI_Bcast(mine, 1, MPI_INTEGER, 0, copy)
  call MPI_Barrier(copy)
  call MPI_Comm_free(copy)
  call farscale_region_stop('exchange')
  if (got /= mod(rank + ranks - 1, ranks) .or. total /= ranks * (ranks - 1) / 2) error stop 1
  call MPI_Finalize()
end program fortran08
