! The messages of known_answer.c, through mpif.h, the module mpi (-DUSE_MPI) or mpi_f08 (-DUSE_F08).
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define WINDOW type(MPI_Win)
#define MESSAGE type(MPI_Message)
#else
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#define WINDOW integer
#define MESSAGE integer
#endif
program known_answer
#ifdef USE_F08
  use mpi_f08
  implicit none
#else
#ifdef USE_MPI
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#endif
  integer, asynchronous :: out(1024), in(1024)
  integer :: rank, ranks, left, right, me, to, from, i, error, counts(1), zeros(1), shape(1), sources(1), targets(1)
  logical :: periodic(1), done
  REQUEST :: requests(2)
  COMM :: other
  DATATYPE :: made
  WINDOW :: win
  MESSAGE :: matched
#ifdef USE_F08
  type(MPI_Status) :: status
#else
  integer :: status(MPI_STATUS_SIZE)
#endif
  integer(kind=MPI_ADDRESS_KIND) :: bytes, at
  double precision :: one, total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  out = 0

  call MPI_Sendrecv(out, 100, MPI_CHARACTER, right, 1, in, 100, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, status, error)
  call MPI_Irecv(in, 8, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 8, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Irecv(in, 10, MPI_CHARACTER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, requests(1), error)
  call MPI_Issend(out, 10, MPI_CHARACTER, right, 3, MPI_COMM_WORLD, requests(2), error)
  done = .false.
  do while (.not. done)
    call MPI_Testall(2, requests, done, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Irecv(in, 7, MPI_CHARACTER, left, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send(out, 7, MPI_CHARACTER, right, 4, MPI_COMM_WORLD, error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)

  call MPI_Recv_init(in, 20, MPI_CHARACTER, left, 5, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send_init(out, 20, MPI_CHARACTER, right, 5, MPI_COMM_WORLD, requests(2), error)
  do i = 1, 3
    call MPI_Startall(2, requests, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Request_free(requests(1), error)
  call MPI_Request_free(requests(2), error)

  call MPI_Type_vector(3, 2, 4, MPI_INTEGER, made, error)
  call MPI_Type_commit(made, error)
  call MPI_Sendrecv(out, 1, made, right, 6, in, 1, made, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Type_free(made, error)
  call MPI_Type_contiguous(5, MPI_INTEGER, made, error)
  call MPI_Type_commit(made, error)
  call MPI_Sendrecv(out, 1, made, right, 7, in, 1, made, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Type_free(made, error)

  do i = 1, 0, -1
    call MPI_Comm_split(MPI_COMM_WORLD, 0, merge(-rank, rank, i == 1), other, error)
    call MPI_Comm_rank(other, me, error)
    to = mod(me + merge(ranks - 1, 1, i == 1), ranks)
    from = mod(me + merge(1, ranks - 1, i == 1), ranks)
    call MPI_Sendrecv(out, 11, MPI_CHARACTER, to, 8, in, 11, MPI_CHARACTER, from, 8, other, MPI_STATUS_IGNORE, error)
    call MPI_Comm_free(other, error)
  end do
  call MPI_Send(out, 99, MPI_CHARACTER, MPI_PROC_NULL, 9, MPI_COMM_WORLD, error)

  shape = ranks
  periodic = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, shape, periodic, .false., other, error)
  call MPI_Neighbor_alltoall(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, other, error)
  call MPI_Comm_free(other, error)
  sources = left
  targets = right
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., other, error)
  counts = 33
  zeros = 0
  call MPI_Neighbor_alltoallv(out, counts, zeros, MPI_CHARACTER, in, counts, zeros, MPI_CHARACTER, other, error)
  call MPI_Comm_free(other, error)

  bytes = 4096
  call MPI_Win_create(in, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
  call MPI_Win_fence(0, win, error)
  at = 0
  call MPI_Put(out, 12, MPI_CHARACTER, right, at, 12, MPI_CHARACTER, win, error)
  at = 100
  call MPI_Get(out(100), 13, MPI_CHARACTER, right, at, 13, MPI_CHARACTER, win, error)
  call MPI_Win_fence(0, win, error)
  call MPI_Win_free(win, error)

  call MPI_Isend(out, 9, MPI_CHARACTER, right, 10, MPI_COMM_WORLD, requests(1), error)
  call MPI_Mprobe(left, 10, MPI_COMM_WORLD, matched, status, error)
  call MPI_Mrecv(in, 9, MPI_CHARACTER, matched, status, error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)

  one = 1
  call MPI_Allreduce(one, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Bcast(out, 50, MPI_CHARACTER, 1, MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0, a, i0)', 'ranks ', ranks, ' sum ', nint(total)
  call MPI_Finalize(error)
end program known_answer
