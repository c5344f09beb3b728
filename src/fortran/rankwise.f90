! rankwise for Fortran: Cartesian communicators with few messages across nodes, and their scores.
!
!     use rankwise
!     call MPIX_Cart_stencil_comm(MPI_COMM_WORLD, 2, [6, 8], [.false., .true.], .true., stencil, cart, ierror)
!
! Meaning, results and environment: rankwise.h. Communicators are default INTEGERs, as in `use mpi` and mpif.h; with
! `use mpi_f08` pass comm%MPI_VAL. A stencil is an array stencil(ndims, k): one column an offset; a zero-sized array means
! the nearest neighbours. Needs no MPI to be compiled, and so serves every MPI that librankwise was built with.
! The plans of an exchange are called through ISO_C_BINDING as rankwise.h says (docs/c-api.md).
module rankwise
  use rankwise_c
  implicit none
  private
  public :: MPIX_Cart_stencil_comm, rankwise_stencil_score, rankwise_dist_graph_create_adjacent, rankwise_last_error
  public :: RANKWISE_SUCCESS, RANKWISE_ERROR_ARGUMENT, RANKWISE_ERROR_USAGE, RANKWISE_ERROR_UNSUPPORTED, &
      RANKWISE_ERROR_MEMORY, RANKWISE_ERROR_MPI, RANKWISE_ERROR_INTERNAL

contains

  ! Collective. Rank r of newcomm has the neighbours given for r and is on a node that suits them. The weights: both or none,
  ! alike on all ranks. info: MPI_INFO_NULL or rankwise_effort. ierror: a result of the C API, alike on all ranks.
  subroutine rankwise_dist_graph_create_adjacent(oldcomm, sources, destinations, info, reorder, newcomm, ierror, &
      sourceweights, destweights)
    integer, intent(in) :: oldcomm, sources(:), destinations(:), info
    logical, intent(in) :: reorder
    integer, intent(out) :: newcomm, ierror
    integer, intent(in), optional :: sourceweights(:), destweights(:)
    integer(c_int) :: heavy_in(size(sources) + 1), heavy_out(size(destinations) + 1)
    if (present(sourceweights) .and. present(destweights)) then
      heavy_in(:size(sources)) = sourceweights
      heavy_out(:size(destinations)) = destweights
      ierror = rankwise_dist_graph_create_adjacent_f(oldcomm, size(sources), sources, heavy_in, size(destinations), &
          destinations, heavy_out, info, merge(1, 0, reorder), newcomm)
    else
      ierror = rankwise_dist_graph_create_adjacent_f(oldcomm, size(sources), sources, outdegree=size(destinations), &
          destinations=destinations, info=info, reorder=merge(1, 0, reorder), newcomm=newcomm)
    end if
  end subroutine

  ! Collective. ierror: MPI_SUCCESS, or an MPI error code, alike on all ranks (rankwise_last_error says what is wrong).
  subroutine MPIX_Cart_stencil_comm(oldcomm, ndims, dims, periods, reorder, stencil, cartcomm, ierror)
    integer, intent(in) :: oldcomm, ndims, dims(ndims), stencil(:, :)
    logical, intent(in) :: periods(ndims), reorder
    integer, intent(out) :: cartcomm, ierror
    ierror = MPIX_Cart_stencil_comm_f(oldcomm, ndims, dims, merge(1, 0, periods), merge(1, 0, reorder), stencil, &
        columns(stencil, ndims), cartcomm)
  end subroutine

  ! Collective: messages of the stencil that cross nodes when rank r of comm has cell r of the grid; over all nodes, and
  ! from the node that sends most. ierror: RANKWISE_SUCCESS, or another of the RANKWISE_ERROR codes.
  subroutine rankwise_stencil_score(comm, ndims, dims, periods, stencil, j_sum, j_max, ierror)
    integer, intent(in) :: comm, ndims, dims(ndims), stencil(:, :)
    logical, intent(in) :: periods(ndims)
    integer(c_long_long), intent(out) :: j_sum, j_max
    integer, intent(out) :: ierror
    ierror = rankwise_stencil_score_f(comm, ndims, dims, merge(1, 0, periods), stencil, columns(stencil, ndims), &
        j_sum=j_sum, j_max=j_max)
  end subroutine

  ! One line on the last error of the calling thread; empty when there was none.
  function rankwise_last_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: c_text(:)
    integer :: length
    call c_f_pointer(rankwise_last_error_c(), c_text, [1024])
    length = 0
    do while (length < 1023 .and. c_text(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate(character(len=length) :: text)
    if (length > 0) text = transfer(c_text(1:length), text)
  end function

  ! The number of offsets; -1, which the library refuses on all ranks alike, where a column is no offset of ndims axes.
  pure integer(c_int) function columns(stencil, ndims)
    integer, intent(in) :: stencil(:, :), ndims
    columns = size(stencil, 2)
    if (size(stencil) == 0) columns = 0
    if (columns > 0 .and. size(stencil, 1) /= ndims) columns = -1
  end function

end module rankwise
