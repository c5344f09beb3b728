/* Two exchanges that look alike to whoever sees calls alone, and a collective: expected_sites() of test_call_sites.py reads the
 * marks. */
#include <mpi.h>

static void along_x(int peer, double *a, double *b) {
  MPI_Request requests[2];
  MPI_Irecv(b, 100, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[0]); /* from along_x 6 */
  MPI_Isend(a, 100, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[1]); /* from along_x 6 */
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                        /* from along_x 6 */
}

static void along_y(int peer, double *a, double *b) {
  MPI_Request requests[2];
  MPI_Irecv(b, 100, MPI_DOUBLE, peer, 2, MPI_COMM_WORLD, &requests[0]); /* from along_y 3 */
  MPI_Isend(a, 100, MPI_DOUBLE, peer, 2, MPI_COMM_WORLD, &requests[1]); /* from along_y 3 */
  MPI_Waitall(2,                                                        /* from along_y 3 */
              requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static double a[100], b[100];
  for (int i = 0; i < 3; ++i) {
    along_x(rank ^ 1, a, b);
    along_x(rank ^ 1, b, a);
    along_y(rank ^ 1, a, b);
    double mine = i, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* from main 3 */
  }
  MPI_Finalize();
  return 0;
}
