// Messages in a ring, each rank to its right: in all 16 of 409 bytes (15 of 377 before MPI 4), one of 16 bytes to the left, and
// 13 bytes fetched from the right. Tells how it ends by its argument: "finalize", "exit", "abort", or "kill RANK".
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[4096], in[4096];

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Status status;

  MPI_Sendrecv(out, 100, MPI_CHAR, right, 1, in, 100, MPI_CHAR, left, 1, world, &status);
  MPI_Irecv(in, 8, MPI_DOUBLE, left, 2, world, &requests[0]);
  MPI_Isend(out, 8, MPI_DOUBLE, right, 2, world, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Irecv(in, 10, MPI_CHAR, MPI_ANY_SOURCE, 3, world, &requests[0]);
  MPI_Issend(out, 10, MPI_CHAR, right, 3, world, &requests[1]);
  for (int done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
  MPI_Irecv(in, 7, MPI_CHAR, left, MPI_ANY_TAG, world, &requests[0]);
  MPI_Send(out, 7, MPI_CHAR, right, 4, world);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  MPI_Recv_init(in, 20, MPI_CHAR, left, 5, world, &requests[0]);
  MPI_Send_init(out, 20, MPI_CHAR, right, 5, world, &requests[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);

  MPI_Datatype type;
  MPI_Type_vector(3, 2, 4, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(out, 1, type, right, 6, in, 1, type, left, 6, world, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  MPI_Type_contiguous(5, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(out, 1, type, right, 7, in, 1, type, left, 7, world, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);

  // Ranks the other way round, and then another communicator that may get the same handle.
  for (int reversed = 1; reversed >= 0; reversed--) {
    MPI_Comm other;
    int me;
    MPI_Comm_split(world, 0, reversed ? -rank : rank, &other);
    MPI_Comm_rank(other, &me);
    int to = (me + (reversed ? size - 1 : 1)) % size, from = (me + (reversed ? 1 : size - 1)) % size;
    MPI_Sendrecv(out, 11, MPI_CHAR, to, 8, in, 11, MPI_CHAR, from, 8, other, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
  }
  MPI_Send(out, 99, MPI_CHAR, MPI_PROC_NULL, 9, world);

  MPI_Comm cart;
  int periodic = 1;
  MPI_Cart_create(world, 1, &size, &periodic, 0, &cart);
  MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, cart);
  MPI_Comm_free(&cart);
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(world, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  int count = 33, zero = 0;
  MPI_Neighbor_alltoallv(out, &count, &zero, MPI_CHAR, in, &count, &zero, MPI_CHAR, graph);
  MPI_Comm_free(&graph);

  MPI_Win window;
  MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, world, &window);
  MPI_Win_fence(0, window);
  MPI_Put(out, 12, MPI_CHAR, right, 0, 12, MPI_CHAR, window);
  MPI_Get(out + 100, 13, MPI_CHAR, right, 100, 13, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);

  MPI_Message message;
  MPI_Isend(out, 9, MPI_CHAR, right, 10, world, &requests[0]);
  MPI_Mprobe(left, 10, world, &message, &status);
  MPI_Mrecv(in, 9, MPI_CHAR, &message, &status);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Psend_init(out, 4, 8, MPI_CHAR, right, 11, world, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, 4, 8, MPI_CHAR, left, 11, world, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  for (int i = 0; i < 4; i++) MPI_Pready(i, requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
#endif

  double one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
  MPI_Bcast(out, 50, MPI_CHAR, 1, world);
  MPI_Barrier(world);
  if (rank == 0) printf("ranks %d sum %.0f version %d\n", size, sum, MPI_VERSION);
  fflush(stdout);
  MPI_Barrier(world);
  const char* how = argc > 1 ? argv[1] : "finalize";
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "abort") == 0) {
    if (rank == 1) MPI_Abort(world, 7);
    MPI_Recv(in, 1, MPI_CHAR, rank, 99, world, &status);
  }
  if (strcmp(how, "kill") == 0) {
    if (rank == atoi(argv[2])) raise(SIGKILL);
    MPI_Recv(in, 1, MPI_CHAR, rank, 99, world, &status);
  }
  MPI_Finalize();
  return strcmp(how, "finalize") == 0 && argc > 2 ? atoi(argv[2]) : 0;
}
