! Measuring is off but for 60 of 260 ms, in which the ranks compute alike.
program pcontrol77
  implicit none
  include 'mpif.h'
  integer :: rank, code
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Pcontrol(0)
  if (rank == 0) call compute(100)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call MPI_Pcontrol(1)
  call compute(60)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call MPI_Pcontrol(0)
  if (rank /= 0) call compute(100)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call MPI_Finalize(code)
contains
  subroutine compute(milliseconds)
    integer, intent(in) :: milliseconds
    double precision :: end
    end = MPI_Wtime() + milliseconds / 1d3
    do while (MPI_Wtime() < end)
    end do
  end subroutine compute
end program pcontrol77
