! As call_sites.c, by a module or by mpif.h.
subroutine along_x(peer, a, b)
#ifdef MODULE
  use MODULE
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: peer, ierror
  real(8) :: a(100), b(100)
#ifdef TYPED
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  call MPI_Irecv(b, 100, MPI_DOUBLE_PRECISION, peer, 1, MPI_COMM_WORLD, requests(1), ierror) ! from along_x 3
  call MPI_Isend(a, 100, MPI_DOUBLE_PRECISION, peer, 1, MPI_COMM_WORLD, requests(2), ierror) ! from along_x 3
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)                                  ! from along_x 3
end subroutine

program call_sites
#ifdef MODULE
  use MODULE
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: ierror, rank, i
  real(8) :: a(100), b(100), total(1), mine(1)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  a = 0
  do i = 1, 3
    call along_x(ieor(rank, 1), a, b)
    mine = i
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror) ! from MAIN 3
  end do
  call MPI_Finalize(ierror)
end program
