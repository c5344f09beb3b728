! Heat in a periodic box, in three dimensions with edges and corners (a stencil of 27 points), in Fortran: the halo by
! rankwise. Argument: cells of the whole box along an edge (24); they are shared out as evenly as they go, so that ranks
! may have boxes of different extents. Prints sums that do not depend on the number of ranks.
!
!     mpifort -O2 -cpp heat.F90 -I$PREFIX/include/rankwise/fortran -L$PREFIX/lib -lrankwise_fortran -lrankwise -o heat
program heat
#ifdef USE_F08
  use mpi_f08
#define HANDLE(comm) comm%MPI_VAL
#else
  use mpi
#define HANDLE(comm) comm
#endif
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr, c_size_t
  use rankwise_halo
  implicit none
  integer, parameter :: real_kind = kind(1.0d0), steps = 10
#ifdef USE_F08
  type(MPI_Comm) :: cart
#else
  integer :: cart
#endif
  integer :: ierror, rank, ranks, n, axis, step, i, j, k, dims(3), coords(3), first(3), own(3)
  character(len=20) :: text
  real(real_kind), pointer, contiguous :: whole(:, :, :, :), u(:, :, :, :)
  real(real_kind) :: total, weighted(2), sums(2)
  type(rankwise_field) :: field(1)
  type(rankwise_halo_options) :: options
  type(c_ptr) :: halo, memory

  call MPI_Init(ierror)
  n = 24
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) n
  end if
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  dims = 0
  call MPI_Dims_create(ranks, 3, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, [.true., .true., .true.], .false., cart, ierror)
  call MPI_Comm_rank(cart, rank, ierror)
  call MPI_Cart_coords(cart, rank, 3, coords, ierror)
  do axis = 1, 3
    first(axis) = coords(axis) * n / dims(axis)
    own(axis) = (coords(axis) + 1) * n / dims(axis) - first(axis)
  end do

  ! Two time levels in one array: the halo is that of the slice that is current.
  ! Ranks of a node read each other's.
  call rankwise_halo_alloc(int(2 * storage_size(total) / 8, c_size_t) * product(own + 2), memory, ierror)
  if (ierror /= 0) error stop "rankwise_halo_alloc failed"
  call c_f_pointer(memory, whole, [own + 2, 2])
  u(0:, 0:, 0:, 1:) => whole
  u = 0
  do k = 1, own(3)
    do j = 1, own(2)
      do i = 1, own(1)
        u(i, j, k, 1) = mod((first(1) + i) * 7 + (first(2) + j) * 13 + (first(3) + k) * 29, 101)
      end do
    end do
  end do
  call rankwise_halo_options_default(options)
  call rankwise_halo_field(field(1), u(:, :, :, 1), [1, 1, 1], [1, 1, 1], ierror)
  if (ierror == 0) call rankwise_halo_create(HANDLE(cart), field, options, halo, ierror)
  if (ierror /= 0) error stop "rankwise_halo_create failed"

  do step = 1, steps
    call rankwise_halo_field(field(1), u(:, :, :, 1), [1, 1, 1], [1, 1, 1], ierror)
    call rankwise_halo_start(halo, ierror, field)
    if (ierror == 0) call rankwise_halo_wait(halo, ierror)
    if (ierror /= 0) error stop "the exchange failed"
    do k = 1, own(3)
      do j = 1, own(2)
        do i = 1, own(1)
          total = sum(u(i - 1:i + 1, j - 1:j + 1, k - 1:k + 1, 1))
          u(i, j, k, 2) = 0.75_real_kind * u(i, j, k, 1) + 0.25_real_kind * total / 27
        end do
      end do
    end do
    u(1:own(1), 1:own(2), 1:own(3), 1) = u(1:own(1), 1:own(2), 1:own(3), 2)
  end do

  weighted = 0
  do k = 1, own(3)
    do j = 1, own(2)
      do i = 1, own(1)
        weighted(1) = weighted(1) + u(i, j, k, 1)
        weighted(2) = weighted(2) + u(i, j, k, 1) * mod((first(1) + i) * 3 + (first(2) + j) * 5 + (first(3) + k) * 11, 17)
      end do
    end do
  end do
  call MPI_Reduce(weighted, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, cart, ierror)
  if (rank == 0) print '("heat ", f0.6, " ", f0.6)', sums
  call rankwise_halo_destroy(halo, ierror)
  call rankwise_halo_free(memory, ierror)
  call MPI_Finalize(ierror)
end program heat
