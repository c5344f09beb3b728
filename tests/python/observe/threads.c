// Four threads of each rank exchange messages at once, of 1 to 4 bytes, a thousand each, and make communicators of their own before.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static MPI_Comm comms[4];
static int rank, size;

static void* exchange(void* number) {
  int bytes = 1 + (int)(long)number;
  char out[4] = "abc", in[4];
  MPI_Request requests[2];
  for (int i = 0; i < 1000; i++) {
    MPI_Irecv(in, bytes, MPI_CHAR, (rank + size - 1) % size, i, comms[bytes - 1], &requests[0]);
    MPI_Isend(out, bytes, MPI_CHAR, (rank + 1) % size, i, comms[bytes - 1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t threads[4];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 77;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 4; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, exchange, (void*)i);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
