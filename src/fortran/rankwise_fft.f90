! 3-D FFTs for Fortran: arrays that are divided among ranks.
!
!     use rankwise_fft
!     call rankwise_fft_options_default(options);  options%kind = RANKWISE_FFT_REAL
!     call rankwise_fft_create(comm, [nx, ny, nz], options, plan, ierror)
!     call rankwise_fft_boxes(plan, in, out, ierror)      ! this rank's parts: then allocate
!     allocate (f(in%size(1), in%size(2), in%size(3)), s(out%size(1), out%size(2), out%size(3)))
!     call rankwise_fft_forward(plan, f, s, 1.0d0, ierror)
!     call rankwise_fft_backward(plan, s, f, 1.0d0 / (real(nx, 8) * ny * nz), ierror)
!
! Meaning and errors: rankwise.h and docs/fft.md, with the axes in Fortran's order: axis 1 is the fastest, that of real arrays
! whose spectrum has n(1) / 2 + 1 points, and boxes begin at 1. Communicators are default INTEGERs, as in `use mpi`; with
! `use mpi_f08` pass comm%MPI_VAL. Arrays must be contiguous, and have the TARGET or ASYNCHRONOUS attribute where a compiler
! might keep them elsewhere between begin and end.
module rankwise_fft
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_null_char, c_null_ptr, c_ptr, c_size_t, c_loc
  implicit none
  private
  public :: rankwise_fft_options_default, rankwise_fft_create, rankwise_fft_boxes, rankwise_fft_elements, &
      rankwise_fft_forward, rankwise_fft_backward, rankwise_fft_in_place, rankwise_fft_begin, rankwise_fft_test, &
      rankwise_fft_end, rankwise_fft_explain, rankwise_fft_destroy

  integer, parameter, public :: RANKWISE_FFT_COMPLEX = 0, RANKWISE_FFT_REAL = 1, RANKWISE_FFT_DOUBLE = 0, &
      RANKWISE_FFT_SINGLE = 1, RANKWISE_FFT_TRANSPOSED = 0, RANKWISE_FFT_NATURAL = 1, RANKWISE_FFT_AUTO = 0, &
      RANKWISE_FFT_ALLTOALL = 1, RANKWISE_FFT_PAIRWISE = 2, RANKWISE_FFT_NODE_AWARE = 3, &
       RANKWISE_FFT_EFFORT_MODEL = 0, RANKWISE_FFT_EFFORT_TRIALS = 1, &
      RANKWISE_FFT_EFFORT_PATIENT = 2

  type, public :: rankwise_fft_box
    integer(c_int64_t) :: lower(3) = 1
    integer(c_int64_t) :: size(3) = 0
  end type

  type, bind(c), public :: rankwise_fft_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int) :: kind = RANKWISE_FFT_COMPLEX
    integer(c_int) :: precision = RANKWISE_FFT_DOUBLE
    integer(c_int) :: order = RANKWISE_FFT_TRANSPOSED
    integer(c_int) :: method = RANKWISE_FFT_AUTO
    integer(c_int) :: effort = RANKWISE_FFT_EFFORT_TRIALS
    integer(c_int) :: in_place = 0
    integer(c_int) :: batch = 1
    integer(c_int) :: grid(2) = 0
    integer(c_int64_t) :: stride_in = 0
    integer(c_int64_t) :: stride_out = 0
    integer(c_int) :: chunks = 0
    integer(c_int) :: together = 0
    integer(c_int) :: in_flight = 0
  end type

  type, bind(c) :: c_box
    integer(c_int64_t) :: lower(3) = 0
    integer(c_int64_t) :: size(3) = 0
  end type

  interface
    function options_init(options, struct_size) result(code) bind(c, name="rankwise_fft_options_init")
      import :: c_int, c_size_t, rankwise_fft_options
      type(rankwise_fft_options), intent(inout) :: options
      integer(c_size_t), value :: struct_size
      integer(c_int) :: code
    end function
    function create_f(comm, n, in, out, options, plan) result(code) bind(c, name="rankwise_fft_create_f")
      import :: c_int, c_int64_t, c_ptr, rankwise_fft_options
      integer(c_int), value :: comm
      integer(c_int64_t), intent(in) :: n(3)
      type(c_ptr), value :: in, out
      type(rankwise_fft_options), intent(in) :: options
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: code
    end function
    function boxes_c(plan, in, out) result(code) bind(c, name="rankwise_fft_boxes")
      import :: c_box, c_int, c_ptr
      type(c_ptr), value :: plan
      type(c_box), intent(inout) :: in, out
      integer(c_int) :: code
    end function
    function elements_c(plan, in, out) result(code) bind(c, name="rankwise_fft_elements")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(out) :: in, out
      integer(c_int) :: code
    end function
    function transform_arrays(plan, call, from, into, scale) result(code) bind(c, name="rankwise_fft_of_arrays")
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: plan
      integer(c_int), value :: call
      type(*), dimension(..), intent(in), target :: from, into
      real(c_double), value :: scale
      integer(c_int) :: code
    end function
    function test_c(plan, done) result(code) bind(c, name="rankwise_fft_test")
      import :: c_int, c_ptr
      type(c_ptr), value :: plan
      integer(c_int), intent(inout) :: done
      integer(c_int) :: code
    end function
    function end_c(plan) result(code) bind(c, name="rankwise_fft_end")
      import :: c_int, c_ptr
      type(c_ptr), value :: plan
      integer(c_int) :: code
    end function
    function explain_c(plan, text, capacity, length) result(code) bind(c, name="rankwise_fft_explain")
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: plan
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
      integer(c_int) :: code
    end function
    function destroy_c(plan) result(code) bind(c, name="rankwise_fft_destroy")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: code
    end function
  end interface

contains

  subroutine rankwise_fft_options_default(options)
    type(rankwise_fft_options), intent(inout) :: options
    integer :: ierror
    ierror = options_init(options, int(storage_size(options) / 8, c_size_t))
  end subroutine

  ! in, out: the boxes that this rank holds of array and spectrum; absent, on all ranks: as the plan likes it.
  subroutine rankwise_fft_create(comm, n, options, plan, ierror, in, out)
    integer, intent(in) :: comm, n(3)
    type(rankwise_fft_options), intent(in) :: options
    type(c_ptr), intent(out) :: plan
    integer, intent(out) :: ierror
    type(rankwise_fft_box), intent(in), optional :: in, out
    type(c_box), target :: boxes(2)
    type(c_ptr) :: address(2)
    address = c_null_ptr
    if (present(in)) then
      boxes(1) = c_box(in%lower(3:1:-1) - 1, in%size(3:1:-1))
      address(1) = c_loc(boxes(1))
    end if
    if (present(out)) then
      boxes(2) = c_box(out%lower(3:1:-1) - 1, out%size(3:1:-1))
      address(2) = c_loc(boxes(2))
    end if
    ierror = create_f(comm, int(n(3:1:-1), c_int64_t), address(1), address(2), options, plan)
  end subroutine

  subroutine rankwise_fft_boxes(plan, in, out, ierror)
    type(c_ptr), intent(in) :: plan
    type(rankwise_fft_box), intent(out) :: in, out
    integer, intent(out) :: ierror
    type(c_box) :: c_in, c_out
    ierror = boxes_c(plan, c_in, c_out)
    in = rankwise_fft_box(c_in%lower(3:1:-1) + 1, c_in%size(3:1:-1))
    out = rankwise_fft_box(c_out%lower(3:1:-1) + 1, c_out%size(3:1:-1))
  end subroutine

  subroutine rankwise_fft_elements(plan, in, out, ierror)
    type(c_ptr), intent(in) :: plan
    integer(c_int64_t), intent(out) :: in, out
    integer, intent(out) :: ierror
    ierror = elements_c(plan, in, out)
  end subroutine

  subroutine rankwise_fft_forward(plan, in, out, scale, ierror)
    type(c_ptr), intent(in) :: plan
    type(*), dimension(..), intent(in), target :: in, out ! `out` is written; without `target` compilers take it that it is not
    real(c_double), intent(in) :: scale
    integer, intent(out) :: ierror
    ierror = transform_arrays(plan, 0, in, out, scale)
  end subroutine

  subroutine rankwise_fft_backward(plan, out, in, scale, ierror)
    type(c_ptr), intent(in) :: plan
    type(*), dimension(..), intent(in), target :: out, in
    real(c_double), intent(in) :: scale
    integer, intent(out) :: ierror
    ierror = transform_arrays(plan, 1, out, in, scale)
  end subroutine

  ! Of a plan with options%in_place = 1.
  subroutine rankwise_fft_in_place(plan, forward, array, scale, ierror)
    type(c_ptr), intent(in) :: plan
    logical, intent(in) :: forward
    type(*), dimension(..), intent(in), target :: array
    real(c_double), intent(in) :: scale
    integer, intent(out) :: ierror
    ierror = transform_arrays(plan, merge(0, 1, forward), array, array, scale)
  end subroutine

  subroutine rankwise_fft_begin(plan, forward, from, into, scale, ierror)
    type(c_ptr), intent(in) :: plan
    logical, intent(in) :: forward
    type(*), dimension(..), intent(in), target :: from, into
    real(c_double), intent(in) :: scale
    integer, intent(out) :: ierror
    ierror = transform_arrays(plan, merge(2, 3, forward), from, into, scale)
  end subroutine

  subroutine rankwise_fft_test(plan, done, ierror)
    type(c_ptr), intent(in) :: plan
    logical, intent(out) :: done
    integer, intent(out) :: ierror
    integer(c_int) :: flag
    flag = 0
    ierror = test_c(plan, flag)
    done = flag /= 0
  end subroutine

  subroutine rankwise_fft_end(plan, ierror)
    type(c_ptr), intent(in) :: plan
    integer, intent(out) :: ierror
    ierror = end_c(plan)
  end subroutine

  subroutine rankwise_fft_explain(plan, text, ierror)
    type(c_ptr), intent(in) :: plan
    character(*), intent(out) :: text
    integer, intent(out) :: ierror
    character(kind=c_char) :: room(len(text) + 1)
    integer(c_size_t) :: length
    integer :: i
    room = c_null_char
    ierror = explain_c(plan, room, int(size(room), c_size_t), length)
    text = ""
    do i = 1, len(text)
      if (room(i) == c_null_char) exit
      text(i:i) = room(i)
    end do
  end subroutine

  subroutine rankwise_fft_destroy(plan, ierror)
    type(c_ptr), intent(inout) :: plan
    integer, intent(out) :: ierror
    ierror = destroy_c(plan)
  end subroutine

end module rankwise_fft
