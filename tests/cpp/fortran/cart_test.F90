! The Fortran module with real ranks, by `use mpi` or (USE_F08) `use mpi_f08`. Stops with an error where something is
! wrong; argument 1: the J_sum that the nearest neighbours on 4x2 have before.
program cart_test
#ifdef USE_F08
  use mpi_f08
#else
  use mpi
#endif
  use, intrinsic :: iso_c_binding, only: c_long_long, c_ptr
  use rankwise
  use rankwise_halo
  implicit none
#ifdef USE_F08
#define HANDLE(comm) comm%MPI_VAL
  type(MPI_Comm) :: cart
#else
#define HANDLE(comm) comm
  integer :: cart
#endif
  integer, parameter :: dims(2) = [4, 2]
  logical, parameter :: periods(2) = [.false., .true.], open_axes(2) = .false.
  integer, parameter :: nearest(2, 4) = reshape([1, 0, -1, 0, 0, 1, 0, -1], [2, 4])
  integer, parameter :: none(2, 0) = reshape([integer ::], [2, 0])
  integer :: made, ierror, rank, cell, total, found_dims(2), coords(2), expected
  logical :: found_periods(2)
  integer :: from(1), to(1), weight_in(1), weight_out(1)
  integer(c_long_long) :: sum_before, max_before, sum_after, max_after
  character(len=20) :: text

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call get_command_argument(1, text)
  read (text, *) expected

  call rankwise_stencil_score(HANDLE(MPI_COMM_WORLD), 2, dims, open_axes, nearest, sum_before, max_before, ierror)
  call require(ierror == RANKWISE_SUCCESS, "the score before")
  call require(sum_before == expected, "J_sum before")
  call MPIX_Cart_stencil_comm(HANDLE(MPI_COMM_WORLD), 2, dims, open_axes, .true., nearest, made, ierror)
  call require(ierror == MPI_SUCCESS, "MPIX_Cart_stencil_comm")
  call rankwise_stencil_score(made, 2, dims, open_axes, none, sum_after, max_after, ierror)
  call require(ierror == RANKWISE_SUCCESS, "the score after, by the default stencil")
  call require(sum_after == merge(12, 0, expected == 20) .and. max_after == merge(3, 0, expected == 20), "the score after")
  call release(made)

  ! Logicals arrive as they are, and the ranks are those of the cells.
  call MPIX_Cart_stencil_comm(HANDLE(MPI_COMM_WORLD), 2, dims, periods, .true., none, made, ierror)
  call require(ierror == MPI_SUCCESS, "the default stencil")
  HANDLE(cart) = made
  call MPI_Cart_get(cart, 2, found_dims, found_periods, coords, ierror)
  call MPI_Comm_rank(cart, cell, ierror)
  call require(all(found_dims == dims) .and. (all(found_periods .eqv. periods)), "the grid")
  call require(cell == coords(1) * 2 + coords(2), "the coordinates")
  call MPI_Allreduce(cell, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call require(total == 28, "a permutation")
  call release(made)

  ! A ring of stride 3: a rank's neighbours are those of its new number, with their weights.
  call rankwise_dist_graph_create_adjacent(HANDLE(MPI_COMM_WORLD), [modulo(rank - 3, 8)], [modulo(rank + 3, 8)], &
      HANDLE(MPI_INFO_NULL), .true., made, ierror, [7], [7])
  call require(ierror == RANKWISE_SUCCESS, "rankwise_dist_graph_create_adjacent")
  HANDLE(cart) = made
  call MPI_Comm_rank(cart, cell, ierror)
  call MPI_Dist_graph_neighbors(cart, 1, from, weight_in, 1, to, weight_out, ierror)
  call require(from(1) == modulo(cell - 3, 8) .and. to(1) == modulo(cell + 3, 8), "the neighbours")
  call require(weight_in(1) == 7 .and. weight_out(1) == 7, "the weights")
  call release(made)

  call MPIX_Cart_stencil_comm(HANDLE(MPI_COMM_WORLD), 2, dims, periods, .false., none, made, ierror)
  HANDLE(cart) = made
  call MPI_Comm_rank(cart, cell, ierror)
  call require(cell == rank, "without reorder the ranks stay")
  call release(made)

  call MPIX_Cart_stencil_comm(HANDLE(MPI_COMM_WORLD), 2, [9, 9], periods, .true., nearest, made, ierror)
  call require(ierror /= MPI_SUCCESS, "a grid too large is refused")
  call require(index(rankwise_last_error(), "81 cells") > 0, "its message")
  call MPIX_Cart_stencil_comm(HANDLE(MPI_COMM_WORLD), 2, dims, periods, .true., reshape([1, 2, 3], [3, 1]), made, ierror)
  call require(ierror /= MPI_SUCCESS, "an offset of three components on two axes is refused")
  call require_active()
  call MPI_Finalize(ierror)

contains

  ! Of two fields only the second moves, there and back.
  subroutine require_active()
    type(rankwise_field) :: fields(2)
    type(rankwise_halo_options) :: options
    type(c_ptr) :: halo
    integer, target :: still(0:2), moves(0:2)
    still = -1
    moves = [-1, rank, -1]
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [8], [.true.], .false., cart, ierror)
    call rankwise_halo_options_default(options)
    call rankwise_halo_field(fields(1), still, [1], [1], ierror)
    call rankwise_halo_field(fields(2), moves, [1], [1], ierror)
    call rankwise_halo_create(HANDLE(cart), fields, options, halo, ierror)
    call rankwise_halo_start(halo, ierror, active=[.false., .true.])
    call require(ierror == RANKWISE_SUCCESS, "the active field's start")
    call rankwise_halo_wait(halo, ierror)
    call require(all(still == -1) .and. moves(0) == modulo(rank - 1, 8) .and. moves(2) == modulo(rank + 1, 8), "what moved")
    call rankwise_halo_reduce_start(halo, HANDLE(MPI_INTEGER), HANDLE(MPI_SUM), ierror, active=[.false., .true.])
    call require(ierror == RANKWISE_SUCCESS, "the way back of the active field")
    call rankwise_halo_wait(halo, ierror)
    call require(all(still == -1) .and. moves(1) == 3 * rank, "what came back")
    call rankwise_halo_destroy(halo, ierror)
    made = HANDLE(cart)
    call release(made)
  end subroutine

  subroutine release(comm)
    integer, intent(in) :: comm
    HANDLE(cart) = comm
    call MPI_Comm_free(cart, ierror)
  end subroutine

  subroutine require(truth, what)
    logical, intent(in) :: truth
    character(len=*), intent(in) :: what
    if (truth) return
    print *, "rank", rank, "fails: ", what, " / ", rankwise_last_error()
    error stop 1
  end subroutine

end program cart_test
