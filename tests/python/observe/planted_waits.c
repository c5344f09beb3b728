// Steps in which ranks wait in one way, since others sleep: "planted_waits late-sender 10 20 times" makes 10 steps with sleeps of
// 20 ms. The file times.RANK gets for each call: step, call, partner, and when it began and ended by MPI_Wtime.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks, ms, step;
static char block[1 << 20];
static FILE* times;

#define CALL(name, partner, call)                                                    \
  do {                                                                               \
    double begun = MPI_Wtime();                                                      \
    call;                                                                            \
    fprintf(times, "%d %s %d %.9f %.9f\n", step, name, partner, begun, MPI_Wtime()); \
  } while (0)
#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static void nap(int naps) {
  struct timespec time = {naps * ms / 1000, naps * ms % 1000 * 1000000L};
  if (naps) nanosleep(&time, NULL);
}

static void barrier(void) { CALL("barrier", -1, MPI_Barrier(WORLD)); }

static void late_sender(void) {
  if (rank == 0) nap(1);
  for (int to = 1; rank == 0 && to < ranks; to++) CALL("send", to, MPI_Send(block, 8, MPI_CHAR, to, 1, WORLD));
  if (rank > 0) CALL("receive", 0, MPI_Recv(block, 8, MPI_CHAR, 0, 1, WORLD, IGNORE));
  barrier();
}

static void late_receiver(void) {
  nap(rank == 1);
  if (rank == 0) CALL("ssend", 1, MPI_Ssend(block, sizeof block, MPI_CHAR, 1, 1, WORLD));
  if (rank == 1) CALL("receive", 0, MPI_Recv(block, sizeof block, MPI_CHAR, 0, 1, WORLD, IGNORE));
  barrier();
}

static void at_barrier(void) {
  nap(rank == 0);
  barrier();
}

static void n_to_n(void) {
  double one = 1, sum;
  nap(rank == 0);
  CALL("allreduce", -1, MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, WORLD));
}

static void sweep(void) {
  if (rank > 0) CALL("receive", rank - 1, MPI_Recv(block, 8, MPI_CHAR, rank - 1, 1, WORLD, IGNORE));
  nap(1);
  if (rank < ranks - 1) CALL("send", rank + 1, MPI_Send(block, 8, MPI_CHAR, rank + 1, 1, WORLD));
  barrier();
}

static void imbalance(void) {
  MPI_Request request[2];
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  nap(1 + (rank == ranks - 1));
  MPI_Irecv(block, 8, MPI_CHAR, left, 1, WORLD, request);
  CALL("send", right, MPI_Isend(block + 8, 8, MPI_CHAR, right, 1, WORLD, request + 1));
  CALL("receive", left, MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  barrier();
}

static void late_broadcast(void) {
  nap(rank == 0);
  CALL("bcast", 0, MPI_Bcast(block, 8, MPI_CHAR, 0, WORLD));
  barrier();
}

static void early_reduce(void) {
  double one = 1, sum;
  nap(rank == 1);
  CALL("reduce", 0, MPI_Reduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, WORLD));
  barrier();
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*make)(void);
  } modes[] = {{"late-sender", late_sender},
               {"late-receiver", late_receiver},
               {"barrier", at_barrier},
               {"n-to-n", n_to_n},
               {"sweep", sweep},
               {"imbalance", imbalance},
               {"late-broadcast", late_broadcast},
               {"early-reduce", early_reduce}};
  MPI_Init(&count, &words);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &ranks);
  ms = atoi(words[3]);
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", words[4], rank);
  times = fopen(name, "w");
  for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
    for (step = 0; strcmp(modes[mode].name, words[1]) == 0 && step < atoi(words[2]); step++) modes[mode].make();
  }
  fclose(times);
  MPI_Finalize();
  return 0;
}
