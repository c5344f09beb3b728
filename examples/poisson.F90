! A spectral Poisson solver in Fortran: laplace u = f in a periodic box, against a known solution; transforms by rankwise.
! Argument: points of the box along an edge (24). Prints the largest error of any point.
!
!     mpifort -O2 -cpp poisson.F90 -I$PREFIX/include/rankwise/fortran -L$PREFIX/lib -lrankwise_fortran -lrankwise -o poisson
program poisson
#ifdef USE_F08
  use mpi_f08
#define HANDLE(comm) comm%MPI_VAL
#else
  use mpi
#define HANDLE(comm) comm
#endif
  use, intrinsic :: iso_c_binding, only: c_ptr
  use rankwise_fft
  implicit none
  integer, parameter :: real_kind = kind(1.0d0)
  integer :: ierror, rank, n, i, j, k
  real(real_kind) :: step, x, y, z, k2, worst, all
  real(real_kind), allocatable, target :: field(:, :, :), known(:, :, :)
  complex(real_kind), allocatable, target :: spectrum(:, :, :)
  character(len=20) :: text
  type(rankwise_fft_options) :: options
  type(rankwise_fft_box) :: in, out
  type(c_ptr) :: fft

  call MPI_Init(ierror)
  n = 24
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) n
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  step = 2 * acos(-1.0_real_kind) / n

  call rankwise_fft_options_default(options)
  options%kind = RANKWISE_FFT_REAL
  call rankwise_fft_create(HANDLE(MPI_COMM_WORLD), [n, n, n], options, fft, ierror)
  if (ierror /= 0) error stop "rankwise_fft_create failed"
  call rankwise_fft_boxes(fft, in, out, ierror)
  allocate (field(in%size(1), in%size(2), in%size(3)), known(in%size(1), in%size(2), in%size(3)))
  allocate (spectrum(out%size(1), out%size(2), out%size(3)))

  do k = 1, int(in%size(3))
    do j = 1, int(in%size(2))
      do i = 1, int(in%size(1))
        x = step * (in%lower(1) + i - 2)
        y = step * (in%lower(2) + j - 2)
        z = step * (in%lower(3) + k - 2)
        known(i, j, k) = sin(x) * cos(2 * y) + sin(3 * z) * cos(x)
        field(i, j, k) = -5 * sin(x) * cos(2 * y) - 10 * sin(3 * z) * cos(x)
      end do
    end do
  end do

  call rankwise_fft_forward(fft, field, spectrum, 1.0_real_kind, ierror)
  if (ierror /= 0) error stop "rankwise_fft_forward failed"
  do k = 1, int(out%size(3))
    do j = 1, int(out%size(2))
      do i = 1, int(out%size(1))
        k2 = wave(out%lower(1) + i - 2)**2 + wave(out%lower(2) + j - 2)**2 + wave(out%lower(3) + k - 2)**2
        spectrum(i, j, k) = merge(spectrum(i, j, k) / (-max(k2, 1.0_real_kind)), (0.0_real_kind, 0.0_real_kind), k2 > 0)
      end do
    end do
  end do
  call rankwise_fft_backward(fft, spectrum, field, 1 / real(n, real_kind)**3, ierror)
  if (ierror /= 0) error stop "rankwise_fft_backward failed"

  worst = 0
  if (size(field) > 0) worst = maxval(abs(field - known))
  call MPI_Reduce(worst, all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. all < 1d-12) print '("poisson ", i0, ": off by less than 1e-12")', n
  if (rank == 0 .and. .not. all < 1d-12) print '("poisson ", i0, ": off by ", es9.1)', n, all
  call rankwise_fft_destroy(fft, ierror)
  call MPI_Finalize(ierror)

contains

  ! The wave number of a point of an axis, counted from 0.
  real(real_kind) function wave(point)
    integer(selected_int_kind(18)), intent(in) :: point
    wave = real(merge(point - n, point, 2 * point > n), real_kind)
  end function

end program poisson
