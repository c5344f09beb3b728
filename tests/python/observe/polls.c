// Rank 1 asks rank 0, which computes for 4 ms, and polls for the answer: by tests alone or of some requests, by probes, by
// tests with computing in between, or by tests that it gives up for a barrier.
#include <mpi.h>
#include <string.h>

static void compute(double seconds) {
  double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "test";
  int rank, value = 0, steps = 15;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < steps; step++) {
    if (rank == 0) {
      MPI_Recv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(0.004);
      if (!strcmp(how, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      continue;
    }
    MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    if (!strcmp(how, "probe")) {
      int found = 0;
      while (!found) MPI_Iprobe(0, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
      MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      int done = 0, index[2];
      MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &requests[1]);
      double until = MPI_Wtime() + 0.003;
      while (!done && !(!strcmp(how, "barrier") && MPI_Wtime() > until)) {
        if (!strcmp(how, "some")) MPI_Testsome(2, requests, &done, index, MPI_STATUSES_IGNORE);
        else MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
        if (!strcmp(how, "compute")) compute(0.0005);
      }
      if (!strcmp(how, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
      if (!done) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
