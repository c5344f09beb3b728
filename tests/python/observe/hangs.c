// Programs that hang until they are killed, or for so many seconds: "hangs receive 60".
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static char big[1 << 20];

static void both_receive(void) {
  MPI_Recv(big, 8, MPI_CHAR, (rank + 1) % ranks, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // from both_receive
}

static void both_send(void) { MPI_Ssend(big, sizeof big, MPI_CHAR, (rank + 1) % ranks, 3, MPI_COMM_WORLD); }

static void wait_all(void) {
  MPI_Request request;
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &pair);  // the other way round
  MPI_Irecv(big, 8, MPI_CHAR, rank, 5, pair, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void different_collectives(void) {
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(big, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, big, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void one_computes(void) {
  if (rank == 0) sleep(60);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void one_is_gone(void) {
  if (rank != 0) MPI_Recv(big, 8, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void one_aborts(void) {
  if (rank == 0) sleep(2);
  if (rank == 0) {
    MPI_Abort(MPI_COMM_WORLD, 4);
    pause();  // it may return before the launcher ends all
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*hang)(void);
  } modes[] = {{"receive", both_receive},  {"send", both_send},   {"wait", wait_all},    {"collectives", different_collectives},
               {"computes", one_computes}, {"gone", one_is_gone}, {"aborts", one_aborts}};
  MPI_Init(&count, &words);
  alarm((unsigned)atoi(words[2]));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(modes[i].name, words[1]) == 0) modes[i].hang();
  }
  MPI_Finalize();
  return 0;
}
