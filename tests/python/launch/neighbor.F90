! Neighbourhood collectives from Fortran on a periodic line: alltoall, alltoallv, alltoallw (with MPI_BOTTOM), allgather, a
! nonblocking one waited for with others. Prints what rank 0 has received.
program neighbor
#if defined(USE_F08)
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: types(2), column
#else
  implicit none
  include 'mpif.h'
  integer :: comm, requests(2), types(2), column
#endif
  integer :: rank, ranks, ierror, i, dims(1), ones(2), places(2)
  integer :: out(4), in(4), later(4), table(3, 6)
  logical :: periods(1)
  integer(kind=MPI_ADDRESS_KIND) :: at_out(2), at_in(2)

  call MPI_Init(ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  dims(1) = ranks
  periods(1) = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., comm, ierror)
  call MPI_Comm_rank(comm, rank, ierror)
  out = [(100 * rank + i, i = 1, 4)]
  ones = 1
  places = [1, 0]
  in = 0
  call MPI_Neighbor_alltoall(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, comm, ierror)
  if (rank == 0) print '(a, 4i5)', 'alltoall ', in
  in = 0
  call MPI_Neighbor_alltoallv(out, ones, places, MPI_INTEGER, in, ones, places, MPI_INTEGER, comm, ierror)
  if (rank == 0) print '(a, 4i5)', 'alltoallv ', in
  in = 0
  call MPI_Neighbor_allgather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, comm, ierror)
  if (rank == 0) print '(a, 4i5)', 'allgather ', in
  table = reshape([(1000 * rank + i, i = 1, 18)], [3, 6])
  call MPI_Type_vector(3, 1, 1, MPI_INTEGER, column, ierror)
  call MPI_Type_commit(column, ierror)
  types = column
  call MPI_Get_address(table(1, 2), at_out(1), ierror)
  call MPI_Get_address(table(1, 5), at_out(2), ierror)
  call MPI_Get_address(table(1, 1), at_in(1), ierror)
  call MPI_Get_address(table(1, 6), at_in(2), ierror)
  call MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, at_out, types, MPI_BOTTOM, ones, at_in, types, comm, ierror)
  if (rank == 0) print '(a, 18i5)', 'alltoallw ', table
  later = 0
  call MPI_Ineighbor_alltoall(out, 2, MPI_INTEGER, later, 2, MPI_INTEGER, comm, requests(1), ierror)
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (rank == 0) print '(a, 4i5)', 'later ', later
  call MPI_Type_free(column, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Finalize(ierror)
end program neighbor
