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
! or ASYNCHRONOUS attribute where a compiler might keep them elsewhere between start and wait.
module rankwise_halo
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_intptr_t, c_loc, c_null_char, c_null_ptr, c_ptr, &
      c_size_t
  implicit none
  private
  public :: rankwise_halo_field, rankwise_halo_options_default, rankwise_halo_create, rankwise_halo_start, &
      rankwise_halo_reduce_start, rankwise_halo_wait, rankwise_halo_test, rankwise_halo_destroy, rankwise_neighbors_create, &
      rankwise_neighbors_lists, rankwise_neighbors_places, rankwise_neighbors_algorithm, rankwise_halo_alloc, &
      rankwise_halo_free, rankwise_halo_save

  integer, parameter, public :: RANKWISE_MAX_DIMS = 6
  integer, parameter, public :: RANKWISE_HALO_AUTO = 0, RANKWISE_HALO_DIRECT = 1, RANKWISE_HALO_STAGED = 2, &
      RANKWISE_HALO_PERSISTENT = 3, RANKWISE_HALO_WINDOW = 4, RANKWISE_HALO_TWO_STEP = 5, RANKWISE_HALO_THREE_STEP = 6, &
      RANKWISE_HALO_LEADER = 7

  integer, parameter :: most_fields = 64

  type, bind(c), public :: rankwise_field
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: element_bytes = 0
    integer(c_int) :: ndims = 0
    integer(c_int) :: extent(RANKWISE_MAX_DIMS) = 0
    integer(c_intptr_t) :: stride(RANKWISE_MAX_DIMS) = 0
    integer(c_int) :: overlap(RANKWISE_MAX_DIMS) = 0
  end type

  type, bind(c), public :: rankwise_halo_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int) :: algorithm = RANKWISE_HALO_AUTO
    integer(c_int) :: corners = 1
    integer(c_int) :: lower(RANKWISE_MAX_DIMS) = 1
    integer(c_int) :: upper(RANKWISE_MAX_DIMS) = 1
    integer(c_int) :: exchanges = 4000
  end type

  ! Elements of an edge, numbered from 0: `count` from `first` on, or those in an index array (c_loc of integers).
  type, bind(c), public :: rankwise_list
    integer(c_size_t) :: count = 0
    integer(c_size_t) :: first = 0
    type(c_ptr) :: index = c_null_ptr
  end type

  interface
    function field_of_array(field, array, lower, upper) result(code) bind(c, name="rankwise_field_of_array")
      import :: c_int, rankwise_field
      type(rankwise_field), intent(inout) :: field
      type(*), dimension(..), intent(in), target :: array
      integer(c_int), intent(in) :: lower(*), upper(*)
      integer(c_int) :: code
    end function
    function options_init(options, struct_size) result(code) bind(c, name="rankwise_halo_options_init")
      import :: c_int, c_size_t, rankwise_halo_options
      type(rankwise_halo_options), intent(inout) :: options
      integer(c_size_t), value :: struct_size
      integer(c_int) :: code
    end function
    function create_f(cart, nfields, fields, options, halo) result(code) bind(c, name="rankwise_halo_create_f")
      import :: c_int, c_ptr, rankwise_field, rankwise_halo_options
      integer(c_int), value :: cart, nfields
      type(rankwise_field), intent(in) :: fields(*)
      type(rankwise_halo_options), intent(in) :: options
      type(c_ptr), intent(out) :: halo
      integer(c_int) :: code
    end function
    function neighbors_create_f(comm, nsend, dest, skey, nrecv, source, rkey, halo) result(code) &
        bind(c, name="rankwise_neighbors_create_f")
      import :: c_int, c_ptr
      integer(c_int), value :: comm, nsend, nrecv
      integer(c_int), intent(in) :: dest(*), skey(*), source(*), rkey(*)
      type(c_ptr), intent(out) :: halo
      integer(c_int) :: code
    end function
    function algorithm_c(halo, algorithm) result(code) bind(c, name="rankwise_neighbors_algorithm")
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
      integer(c_int), value :: algorithm
      integer(c_int) :: code
    end function
    function alloc_c(bytes, memory) result(code) bind(c, name="rankwise_halo_alloc")
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(out) :: memory
      integer(c_int) :: code
    end function
    function free_c(memory) result(code) bind(c, name="rankwise_halo_free")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: memory
      integer(c_int) :: code
    end function
    function save_c(halo, path) result(code) bind(c, name="rankwise_halo_save")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: halo
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: code
    end function
    function lists_c(halo, send, recv) result(code) bind(c, name="rankwise_neighbors_lists")
      import :: c_int, c_ptr, rankwise_list
      type(c_ptr), value :: halo
      type(rankwise_list), intent(in) :: send(*), recv(*)
      integer(c_int) :: code
    end function
    function places_c(halo, recv) result(code) bind(c, name="rankwise_neighbors_places")
      import :: c_int, c_ptr, rankwise_list
      type(c_ptr), value :: halo
      type(rankwise_list), intent(in) :: recv(*)
      integer(c_int) :: code
    end function
    function start_c(halo, nfields, fields, active) result(code) bind(c, name="rankwise_halo_start")
      import :: c_int, c_ptr
      type(c_ptr), value :: halo, fields, active
      integer(c_int), value :: nfields
      integer(c_int) :: code
    end function
    function reduce_start_f(halo, nfields, fields, active, type, op) result(code) bind(c, name="rankwise_halo_reduce_start_f")
      import :: c_int, c_ptr
      type(c_ptr), value :: halo, fields, active
      integer(c_int), value :: nfields, type, op
      integer(c_int) :: code
    end function
    function wait_c(halo) result(code) bind(c, name="rankwise_halo_wait")
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
      integer(c_int) :: code
    end function
    function test_c(halo, done) result(code) bind(c, name="rankwise_halo_test")
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
      integer(c_int), intent(out) :: done
      integer(c_int) :: code
    end function
    function destroy_c(halo) result(code) bind(c, name="rankwise_halo_destroy")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: halo
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

  subroutine rankwise_halo_options_default(options)
    type(rankwise_halo_options), intent(inout) :: options
    integer :: ierror
    ierror = options_init(options, int(storage_size(options) / 8, c_size_t))
  end subroutine

  subroutine rankwise_halo_create(cart, fields, options, halo, ierror)
    integer, intent(in) :: cart
    type(rankwise_field), intent(in) :: fields(:)
    type(rankwise_halo_options), intent(in) :: options
    type(c_ptr), intent(out) :: halo
    integer, intent(out) :: ierror
    ierror = create_f(cart, size(fields), fields, options, halo)
  end subroutine

  subroutine rankwise_neighbors_create(comm, dest, skey, source, rkey, halo, ierror)
    integer, intent(in) :: comm, dest(:), skey(:), source(:), rkey(:)
    type(c_ptr), intent(out) :: halo
    integer, intent(out) :: ierror
    ierror = neighbors_create_f(comm, size(dest), dest, skey, size(source), source, rkey, halo)
  end subroutine

  subroutine rankwise_neighbors_lists(halo, send, recv, ierror)
    type(c_ptr), intent(in) :: halo
    type(rankwise_list), intent(in) :: send(:), recv(:)
    integer, intent(out) :: ierror
    ierror = lists_c(halo, send, recv)
  end subroutine

  subroutine rankwise_neighbors_places(halo, recv, ierror)
    type(c_ptr), intent(in) :: halo
    type(rankwise_list), intent(in) :: recv(:)
    integer, intent(out) :: ierror
    ierror = places_c(halo, recv)
  end subroutine

  ! fields: other arrays than those of create; for lists, those to exchange. active: which of them move now.
  subroutine rankwise_halo_start(halo, ierror, fields, active)
    type(c_ptr), intent(in) :: halo
    integer, intent(out) :: ierror
    type(rankwise_field), intent(in), target, contiguous, optional :: fields(:)
    logical, intent(in), optional :: active(:)
    integer(c_int), target :: flags(most_fields)
    ierror = start_c(halo, number_of(fields), address_of(fields), flags_of(active, flags))
  end subroutine

  subroutine rankwise_halo_reduce_start(halo, type, op, ierror, fields, active)
    type(c_ptr), intent(in) :: halo
    integer, intent(in) :: type, op
    integer, intent(out) :: ierror
    type(rankwise_field), intent(in), target, contiguous, optional :: fields(:)
    logical, intent(in), optional :: active(:)
    integer(c_int), target :: flags(most_fields)
    ierror = reduce_start_f(halo, number_of(fields), address_of(fields), flags_of(active, flags), type, op)
  end subroutine

  integer(c_int) function number_of(fields)
    type(rankwise_field), intent(in), optional :: fields(:)
    number_of = 0
    if (present(fields)) number_of = size(fields)
  end function

  type(c_ptr) function address_of(fields)
    type(rankwise_field), intent(in), target, contiguous, optional :: fields(:)
    address_of = c_null_ptr
    if (present(fields)) address_of = c_loc(fields(1))
  end function

  type(c_ptr) function flags_of(active, flags)
    logical, intent(in), optional :: active(:)
    integer(c_int), intent(out), target :: flags(most_fields)
    flags_of = c_null_ptr
    if (.not. present(active)) return
    flags = 0
    flags(:size(active)) = merge(1, 0, active)
    flags_of = c_loc(flags)
  end function

  subroutine rankwise_halo_wait(halo, ierror)
    type(c_ptr), intent(in) :: halo
    integer, intent(out) :: ierror
    ierror = wait_c(halo)
  end subroutine

  subroutine rankwise_halo_test(halo, done, ierror)
    type(c_ptr), intent(in) :: halo
    logical, intent(out) :: done
    integer, intent(out) :: ierror
    integer(c_int) :: flag
    flag = 0
    ierror = test_c(halo, flag)
    done = flag /= 0
  end subroutine

  subroutine rankwise_neighbors_algorithm(halo, algorithm, ierror)
    type(c_ptr), intent(in) :: halo
    integer, intent(in) :: algorithm
    integer, intent(out) :: ierror
    ierror = algorithm_c(halo, algorithm)
  end subroutine

  ! Memory that ranks of the node can read; c_f_pointer makes an array of it:
  !     call rankwise_halo_alloc(int(8, c_size_t) * (nx + 2) * (ny + 2), memory, ierror)
  !     call c_f_pointer(memory, whole, [nx + 2, ny + 2]);  u(0:, 0:) => whole
  subroutine rankwise_halo_alloc(bytes, memory, ierror)
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr), intent(out) :: memory
    integer, intent(out) :: ierror
    ierror = alloc_c(bytes, memory)
  end subroutine

  subroutine rankwise_halo_free(memory, ierror)
    type(c_ptr), intent(inout) :: memory
    integer, intent(out) :: ierror
    ierror = free_c(memory)
  end subroutine

  subroutine rankwise_halo_save(halo, path, ierror)
    type(c_ptr), intent(in) :: halo
    character(*), intent(in) :: path
    integer, intent(out) :: ierror
    ierror = save_c(halo, path // c_null_char)
  end subroutine

  subroutine rankwise_halo_destroy(halo, ierror)
    type(c_ptr), intent(inout) :: halo
    integer, intent(out) :: ierror
    ierror = destroy_c(halo)
  end subroutine

end module rankwise_halo
