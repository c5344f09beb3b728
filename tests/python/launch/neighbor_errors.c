/* Neighbourhood collectives with what MPI refuses, and with what it takes: the class of each error, from one rank. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Comm comm;
static void tell(const char* what, int code) {
  int kind = 0;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
  printf("%s %d\n", what, kind);
}

static int own_handler_called;
static void handler(MPI_Comm* c, int* code, ...) {
  (void)c;
  (void)code;
  ++own_handler_called;
}

/* Two ranks, on either side of an intercommunicator (MPICH aborts in a neighbourhood of that), then beside each other; and a buffer
 * that neighbourhoods do not know. */
static void two_sides(int rank) {
  MPI_Comm between;
  int out[2] = {rank, rank}, in[2] = {-1, -1};
  const int two = 2, periodic = 1;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
  MPI_Comm_dup(between, &comm);
  MPI_Sendrecv(&out[0], 1, MPI_INT, 0, 0, &in[0], 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  printf("across %d\n", in[0]);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&between);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &periodic, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 30; ++i) tell("in between", MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
#ifdef OPEN_MPI /* MPICH reads from there */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  tell("no send buffer", MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, in, 1, MPI_INT, comm) != MPI_SUCCESS);
  tell("no receive buffer", MPI_Neighbor_alltoall(out, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm) != MPI_SUCCESS);
#endif
  printf("%d %d\n", in[0], in[1]);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 2) {
    if (rank == 1) freopen("/dev/null", "w", stdout);
    two_sides(rank);
    MPI_Finalize();
    return 0;
  }
  const int one = 1, minus[2] = {-1, 1}, ones[2] = {1, 1}, places[2] = {0, 1};
  const MPI_Aint at[2] = {0, 4};
  int out[4] = {1, 2, 3, 4}, in[8] = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Cart_create(world, 1, &one, &one, 0, &comm); /* two edges to itself */
  tell("fine", MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
  printf("crossed %d %d\n", in[0], in[1]);
  tell("negative", MPI_Neighbor_alltoall(out, -1, MPI_INT, in, 1, MPI_INT, comm));
  tell("no type", MPI_Neighbor_alltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm));
  tell("negative of a list", MPI_Neighbor_alltoallv(out, minus, places, MPI_INT, in, ones, places, MPI_INT, comm));
  MPI_Datatype loose, types[2] = {MPI_INT, MPI_DATATYPE_NULL}, both[2] = {MPI_INT, MPI_INT};
  tell("no type of a list", MPI_Neighbor_alltoallw(out, ones, at, types, in, ones, at, both, comm));
  MPI_Type_contiguous(1, MPI_INT, &loose);
  tell("not committed", MPI_Neighbor_alltoall(out, 1, loose, in, 1, MPI_INT, comm));
  MPI_Type_commit(&loose);
  tell("committed", MPI_Neighbor_alltoall(out, 1, loose, in, 1, MPI_INT, comm));
  MPI_Type_free(&loose);
  tell("no grid", MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, world) != MPI_SUCCESS);
  tell("negative, later", MPI_Ineighbor_alltoall(out, -1, MPI_INT, in, 1, MPI_INT, comm, &request));
  tell("nothing at all", MPI_Neighbor_alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm));

  /* A type's number may come again with another meaning. */
  for (int gap = 1; gap < 4; ++gap) {
    MPI_Datatype strided;
    int row[8] = {0};
    MPI_Type_vector(2, 1, gap, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Datatype in_rows[2] = {strided, strided};
    const MPI_Aint apart[2] = {0, 16};
    const int twos[2] = {2, 2};
    tell("strided", MPI_Neighbor_alltoallw(out, twos, at, both, row, ones, apart, in_rows, comm));
    MPI_Type_free(&strided);
    for (int i = 0; i < 8; ++i) printf("%d ", row[i]);
    printf("\n");
  }

  MPI_Errhandler mine;
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(comm, mine);
  (void)MPI_Neighbor_alltoall(out, -1, MPI_INT, in, 1, MPI_INT, comm);
  printf("handler %d\n", own_handler_called);
  MPI_Comm again;
  MPI_Comm_dup(comm, &again);
  MPI_Comm_free(&comm);
  memset(in, 0, sizeof in);
  tell("a copy", MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, again, &request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("crossed? %d\n", in[0] + in[1]);
  tell("a copy, at once", MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, again));
  MPI_Comm_free(&again);
  MPI_Comm_free(&world);
  MPI_Finalize();
  return 0;
}
