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
  use rankwise_c, c_box => rankwise_fft_box
  implicit none
  private
  public :: rankwise_fft_options, rankwise_fft_options_default, rankwise_fft_create, rankwise_fft_boxes, &
      rankwise_fft_elements, rankwise_fft_forward, rankwise_fft_backward, rankwise_fft_in_place, rankwise_fft_begin, &
      rankwise_fft_test, rankwise_fft_end, rankwise_fft_explain, rankwise_fft_destroy
  public :: RANKWISE_FFT_COMPLEX, RANKWISE_FFT_REAL, RANKWISE_FFT_DOUBLE, RANKWISE_FFT_SINGLE, RANKWISE_FFT_TRANSPOSED, &
      RANKWISE_FFT_NATURAL, RANKWISE_FFT_AUTO, RANKWISE_FFT_ALLTOALL, RANKWISE_FFT_PAIRWISE, RANKWISE_FFT_NODE_AWARE, &
      RANKWISE_FFT_EFFORT_MODEL, RANKWISE_FFT_EFFORT_TRIALS, RANKWISE_FFT_EFFORT_PATIENT

  type, public :: rankwise_fft_box
    integer(c_int64_t) :: lower(3) = 1
    integer(c_int64_t) :: size(3) = 0
  end type

  interface
    function transform_arrays(plan, call, from, into, scale) result(code) bind(c, name="rankwise_fft_of_arrays")
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: call
      type(*), dimension(..), intent(in), target :: from, into
      real(c_double), value :: scale
      integer(c_int) :: code
    end function
  end interface

contains

  ! in, out: the boxes that this rank holds of array and spectrum; absent, on all ranks: as the plan likes it.
  subroutine rankwise_fft_create(comm, n, options, plan, ierror, in, out)
    integer, intent(in) :: comm, n(3)
    type(rankwise_fft_options), intent(in) :: options
    type(c_ptr), intent(out) :: plan
    integer, intent(out) :: ierror
    type(rankwise_fft_box), intent(in), optional :: in, out
    type(c_box), allocatable :: c_in, c_out ! what is not allocated is absent
    if (present(in)) c_in = c_box(in%lower(3:1:-1) - 1, in%size(3:1:-1))
    if (present(out)) c_out = c_box(out%lower(3:1:-1) - 1, out%size(3:1:-1))
    ierror = rankwise_fft_create_f(comm, int(n(3:1:-1), c_int64_t), c_in, c_out, options, plan)
  end subroutine

  subroutine rankwise_fft_boxes(plan, in, out, ierror)
    type(c_ptr), intent(in) :: plan
    type(rankwise_fft_box), intent(out) :: in, out
    integer, intent(out) :: ierror
    type(c_box) :: c_in, c_out
    ierror = rankwise_fft_boxes_c(plan, c_in, c_out)
    in = rankwise_fft_box(c_in%lower(3:1:-1) + 1, c_in%size(3:1:-1))
    out = rankwise_fft_box(c_out%lower(3:1:-1) + 1, c_out%size(3:1:-1))
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

  subroutine rankwise_fft_explain(plan, text, ierror)
    type(c_ptr), intent(in) :: plan
    character(*), intent(out) :: text
    integer, intent(out) :: ierror
    character(kind=c_char) :: room(len(text) + 1)
    integer(c_size_t) :: length
    integer :: i
    room = c_null_char
    ierror = rankwise_fft_explain_c(plan, room, int(size(room), c_size_t), length)
    text = ""
    do i = 1, len(text)
      if (room(i) == c_null_char) exit
      text(i:i) = room(i)
    end do
  end subroutine

end module rankwise_fft
