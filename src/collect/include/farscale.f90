! Regions of a program that farscale measures; see farscale.h. Compile this file with the program and link with
! -lfarscale, a library that does nothing unless the program runs under farscale.
module farscale
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: farscale_region_start, farscale_region_stop, farscale_region_report, farscale_query, farscale_metrics

  integer(c_int), parameter, public :: farscale_ok = 0, farscale_not_measuring = 1, farscale_no_such_region = 2, &
       farscale_not_started = 3, farscale_too_many_regions = 4, farscale_other_thread = 5
  integer(c_int), parameter, public :: farscale_local = 0, farscale_all_ranks = 1

  type, bind(c) :: farscale_metrics
     integer(c_int) :: ranks
     integer(c_int) :: nodes
     real(c_double) :: elapsed
     real(c_double) :: useful
     real(c_double) :: mpi
     integer(c_long_long) :: starts
     integer(c_long_long) :: mpi_calls
     real(c_double) :: parallel_efficiency
     real(c_double) :: communication_efficiency
     real(c_double) :: load_balance
     real(c_double) :: load_balance_in
     real(c_double) :: load_balance_out
  end type farscale_metrics

  interface
     integer(c_int) function start_c(name) bind(c, name='farscale_region_start')
       import :: c_int, c_char
       character(kind=c_char), intent(in) :: name(*)
     end function start_c
     integer(c_int) function stop_c(name) bind(c, name='farscale_region_stop')
       import :: c_int, c_char
       character(kind=c_char), intent(in) :: name(*)
     end function stop_c
     integer(c_int) function report_c(name) bind(c, name='farscale_region_report')
       import :: c_int, c_char
       character(kind=c_char), intent(in) :: name(*)
     end function report_c
     integer(c_int) function query_c(name, scope, metrics) bind(c, name='farscale_query')
       import :: c_int, c_char, farscale_metrics
       character(kind=c_char), intent(in) :: name(*)
       integer(c_int), value :: scope
       type(farscale_metrics), intent(out) :: metrics
     end function query_c
  end interface

contains

  subroutine farscale_region_start(name, code)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: code
    integer(c_int) :: result
    result = start_c(trim(name)//c_null_char)
    if (present(code)) code = result
  end subroutine farscale_region_start

  subroutine farscale_region_stop(name, code)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: code
    integer(c_int) :: result
    result = stop_c(trim(name)//c_null_char)
    if (present(code)) code = result
  end subroutine farscale_region_stop

  subroutine farscale_region_report(name, code)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: code
    integer(c_int) :: result
    result = report_c(trim(name)//c_null_char)
    if (present(code)) code = result
  end subroutine farscale_region_report

  subroutine farscale_query(name, scope, metrics, code)
    character(len=*), intent(in) :: name
    integer, intent(in) :: scope
    type(farscale_metrics), intent(out) :: metrics
    integer, intent(out), optional :: code
    integer(c_int) :: result
    result = query_c(trim(name)//c_null_char, int(scope, c_int), metrics)
    if (present(code)) code = result
  end subroutine farscale_query
end module farscale
