! The program of halo.c in Fortran: a plain MPI program that knows nothing of rankwise and lets MPI reorder its ranks.
!
!     mpifort -O2 halo.F90 -o halo
!     rankwise preload --verbose -- mpiexec -n 8 ./halo
!
! Arguments as there: width (1000), steps (20), layers (1). Compiled with -DUSE_F08 it uses mpi_f08.
program halo
#ifdef USE_F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
#ifdef USE_F08
  type(MPI_Comm) :: cart
  type(MPI_Request) :: request(8)
#else
  integer :: cart, request(8)
#endif
  integer :: width, steps, layers, count, ranks, rank, dims(2), coords(2), neighbor(4), side, step, i, ierror
  integer, parameter :: opposite(4) = [2, 1, 4, 3]
  double precision, allocatable :: out(:, :), in(:, :)
  double precision :: start_s, time_s, slowest_s, own, checksum

  call MPI_Init(ierror)
  width = argument(1, 1000)
  steps = argument(2, 20)
  layers = argument(3, 1)
  count = width * layers
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., cart, ierror)
  call MPI_Comm_rank(cart, rank, ierror)
  call MPI_Cart_coords(cart, rank, 2, coords, ierror)
  call MPI_Cart_shift(cart, 0, 1, neighbor(1), neighbor(2), ierror)
  call MPI_Cart_shift(cart, 1, 1, neighbor(3), neighbor(4), ierror)

  allocate(out(count, 4), in(count, 4))
  out = coords(1) * dims(2) + coords(2)
  in = out
  time_s = 0
  do step = 0, steps  ! step 0 makes the connections and does not count
    call MPI_Barrier(cart, ierror)
    start_s = MPI_Wtime()
    do side = 1, 4
      call MPI_Irecv(in(:, side), count, MPI_DOUBLE_PRECISION, neighbor(side), opposite(side), cart, request(side), ierror)
    end do
    do side = 1, 4
      call MPI_Isend(out(:, side), count, MPI_DOUBLE_PRECISION, neighbor(side), side, cart, request(4 + side), ierror)
    end do
    call MPI_Waitall(8, request, MPI_STATUSES_IGNORE, ierror)
    if (step > 0) time_s = time_s + MPI_Wtime() - start_s
    do i = 1, count
      out(i, :) = 0.25d0 * sum(in(i, :))
    end do
  end do

  own = out(count / 2 + 1, 1) * (1 + rank)
  call MPI_Reduce(own, checksum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, cart, ierror)
  call MPI_Reduce(time_s, slowest_s, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, cart, ierror)
  if (rank == 0) then
    print '("grid ", i0, "x", i0, " step_ms ", f0.3, " checksum ", g0.12)', dims, 1d3 * slowest_s / steps, checksum
  end if
  call MPI_Comm_free(cart, ierror)
  call MPI_Finalize(ierror)

contains

  integer function argument(number, fallback)
    integer, intent(in) :: number, fallback
    character(len=20) :: text
    argument = fallback
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *) argument
  end function

end program halo
