! The same in Fortran. WAY: 1 mpif.h, 2 use mpi, 3 use mpi_f08.
program consumer
#if WAY == 3
  use mpi_f08
#elif WAY == 2
  use mpi
#endif
  use rankwise
  implicit none
#if WAY == 1
  include "mpif.h"
#endif
#if WAY == 3
#define HANDLE(comm) comm%MPI_VAL
  type(MPI_Comm) :: cart
#else
#define HANDLE(comm) comm
  integer :: cart
#endif
  integer :: ierror, rank, ranks, dims(2), stencil(2, 0)
  integer(selected_int_kind(18)) :: j_sum, j_max
  logical :: periods(2)

  call MPI_Init(ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  dims = 0
  periods = [.false., .true.]
  call MPI_Dims_create(ranks, 2, dims, ierror)
  call MPIX_Cart_stencil_comm(HANDLE(MPI_COMM_WORLD), 2, dims, periods, .true., stencil, HANDLE(cart), ierror)
  if (ierror /= 0) error stop 1
  call rankwise_stencil_score(HANDLE(cart), 2, dims, periods, stencil, j_sum, j_max, ierror)
  if (ierror /= 0) error stop 2
  call MPI_Comm_rank(cart, rank, ierror)
  if (rank == 0) print '(a,i0,a,i0)', "rankwise: J_sum ", j_sum, " J_max ", j_max
  call MPI_Comm_free(cart, ierror)
  call MPI_Finalize(ierror)
end program
