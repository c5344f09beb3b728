! Halos for Fortran: arrays and slices as they are, several at once.
!
!     use rankwise_halo
!     type(rankwise_field) :: fields(2)
!     call rankwise_halo_field(fields(1), u, [1, 1, 1], [1, 1, 1], ierror)   ! u(0:nx+1, 0:ny+1, 0:nz+1)
!     call rankwise_halo_field(fields(2), v, [1, 1, 1], [1, 1, 1], ierror)
!     call rankwise_halo_create(cart, fields, options, halo, ierror)
!     call rankwise_halo_start(halo, ierror)
!     call rankwise_halo_wait(halo, ierror)
!
! Meaning and errors: rankwise.h and docs/halo.md. Axis i of an array is axis i of the grid of MPI_Cart_create. Communicators,
! types and operations are default INTEGERs, as in `use mpi`; with `use mpi_f08` pass comm%MPI_VAL. Arrays must have the TARGET
! or ASYNCHRONOUS attribute where a compiler might keep them elsewhere between start and wait. What rankwise.h and this module
! name alike, and take alike, is in rankwise_c (made of the header). Elements of a rankwise_list are numbered from 0.
!
! Memory that ranks of the node can read; c_f_pointer makes an array of it:
!
!     call rankwise_halo_alloc(int(8, c_size_t) * (nx + 2) * (ny + 2), memory, ierror)
!     call c_f_pointer(memory, whole, [nx + 2, ny + 2]);  u(0:, 0:) => whole
module rankwise_halo
  use rankwise_c
  implicit none
  private
  public :: rankwise_field, rankwise_halo_field, rankwise_halo_options, rankwise_halo_options_default, rankwise_halo_create, &
      rankwise_halo_start, rankwise_halo_reduce_start, rankwise_halo_wait, rankwise_halo_test, rankwise_halo_destroy, &
      rankwise_list, rankwise_neighbors_create, rankwise_neighbors_lists, rankwise_neighbors_places, &
      rankwise_neighbors_algorithm, rankwise_halo_alloc, rankwise_halo_free, rankwise_halo_save
  public :: RANKWISE_MAX_DIMS, RANKWISE_HALO_AUTO, RANKWISE_HALO_DIRECT, RANKWISE_HALO_STAGED, RANKWISE_HALO_PERSISTENT, &
      RANKWISE_HALO_WINDOW, RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP, RANKWISE_HALO_LEADER

  interface
    function field_of_array(field, array, lower, upper) result(code) bind(c, name="rankwise_field_of_array")
      import
      type(rankwise_field), intent(inout) :: field
      type(*), dimension(..), intent(in), target :: array
      integer(c_int), intent(in) :: lower(*), upper(*)
      integer(c_int) :: code
    end function
  end interface

contains

  ! Describes an array of which lower(i) elements before and upper(i) behind those that this rank owns are its halo.
  ! For lists: of one axis, without a halo.
  subroutine rankwise_halo_field(field, array, lower, upper, ierror)
    type(rankwise_field), intent(inout) :: field
    type(*), dimension(..), intent(in), target :: array ! without `target` compilers take it that no exchange changes it
    integer, intent(in) :: lower(:), upper(:)
    integer, intent(out) :: ierror
    ierror = 1
    if (size(lower) /= rank(array) .or. size(upper) /= rank(array)) return
    ierror = field_of_array(field, array, lower, upper)
  end subroutine

  subroutine rankwise_halo_create(cart, fields, options, halo, ierror)
    integer, intent(in) :: cart
    type(rankwise_field), intent(in) :: fields(:)
    type(rankwise_halo_options), intent(in) :: options
    type(c_ptr), intent(out) :: halo
    integer, intent(out) :: ierror
    ierror = rankwise_halo_create_f(cart, size(fields), fields, options, halo)
  end subroutine

  subroutine rankwise_neighbors_create(comm, dest, skey, source, rkey, halo, ierror)
    integer, intent(in) :: comm, dest(:), skey(:), source(:), rkey(:)
    type(c_ptr), intent(out) :: halo
    integer, intent(out) :: ierror
    ierror = rankwise_neighbors_create_f(comm, size(dest), dest, skey, size(source), source, rkey, halo)
  end subroutine

  ! fields: other arrays than those of create; for lists, those to exchange. active: which of them move now.
  subroutine rankwise_halo_start(halo, ierror, fields, active)
    type(c_ptr), intent(in) :: halo
    integer, intent(out) :: ierror
    type(rankwise_field), intent(in), contiguous, optional :: fields(:)
    logical, intent(in), optional :: active(:)
    integer(c_int), allocatable :: flags(:) ! what is not allocated is absent
    if (present(active)) allocate (flags, source=merge(1, 0, active))
    ierror = rankwise_halo_start_c(halo, number_of(fields), fields, flags)
  end subroutine

  subroutine rankwise_halo_reduce_start(halo, type, op, ierror, fields, active)
    type(c_ptr), intent(in) :: halo
    integer, intent(in) :: type, op
    integer, intent(out) :: ierror
    type(rankwise_field), intent(in), contiguous, optional :: fields(:)
    logical, intent(in), optional :: active(:)
    integer(c_int), allocatable :: flags(:)
    if (present(active)) allocate (flags, source=merge(1, 0, active))
    ierror = rankwise_halo_reduce_start_f(halo, number_of(fields), fields, flags, type, op)
  end subroutine

  integer(c_int) function number_of(fields)
    type(rankwise_field), intent(in), optional :: fields(:)
    number_of = 0
    if (present(fields)) number_of = size(fields)
  end function

  subroutine rankwise_halo_save(halo, path, ierror)
    type(c_ptr), intent(in) :: halo
    character(*), intent(in) :: path
    integer, intent(out) :: ierror
    ierror = rankwise_halo_save_c(halo, path // c_null_char)
  end subroutine

end module rankwise_halo
