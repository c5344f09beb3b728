/* The halo of a periodic box of n^3 doubles, one layer, on a graph of 26 neighbours, by MPI_Neighbor_alltoallw with 26 subarray
 * types a side: as the preload serves it and as MPI does, by turns in one run; and what a call costs that is left to MPI.
 *
 *   RANKWISE_NEIGHBOR=always LD_PRELOAD=librankwise_preload.so mpiexec -n 2 preload REPETITIONS N,FIELDS ...
 *   RANKWISE_NEIGHBOR=auto   LD_PRELOAD=librankwise_preload.so mpiexec -n 1 preload REPETITIONS pass
 *
 * Prints JSON lines: {"n":, "fields":, "through_s": [...], "own_s": [...]}, the largest time of the ranks, repetition by repetition.
 * preload.py builds and runs it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*alltoallw)(const void*, const int*, const MPI_Aint*, const MPI_Datatype*, void*, const int*, const MPI_Aint*,
                         const MPI_Datatype*, MPI_Comm);
typedef int (*ialltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*);
typedef int (*wait)(MPI_Request*, MPI_Status*);
static int rank, size;

static int seek(struct dl_phdr_info* object, size_t bytes, void* found) {
  const char* slash = strrchr(object->dlpi_name, '/');
  (void)bytes;
  if (slash == NULL || strncmp(slash + 1, "libmpi.so", 9) != 0) {
    if (slash == NULL || strncmp(slash + 1, "libmpi_abi.so", 13) != 0) return 0;
  }
  *(void**)found = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

/* MPI's own function, whatever stands before it. */
static void* own_function(const char* name) {
  void* library = NULL;
  dl_iterate_phdr(seek, &library);
  void* found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL) {
    fprintf(stderr, "no MPI library has %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return found;
}

static void print_times(const char* name, const double* times, int count, const char* end) {
  if (rank != 0) return;
  printf("\"%s\": [", name);
  for (int i = 0; i < count; ++i) printf("%s%.4e", i ? ", " : "", times[i]);
  printf("]%s", end);
}

/* A box of dims ranks, the first axis over all of them; edges in the order of their offsets. */
static MPI_Comm neighbours(int* dests) {
  int sources[26], n = 0;
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        if (x == 0 && y == 0 && z == 0) continue;
        dests[n] = (rank + x + size) % size;
        sources[n++] = (rank - x + size) % size;
      }
    }
  }
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 26, sources, MPI_UNWEIGHTED, 26, dests, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &comm);
  return comm;
}

static void halo(int repetitions, int n, int fields) {
  int dests[26], ones[26], e = 0;
  MPI_Aint zero[26];
  MPI_Datatype out[26], in[26];
  MPI_Comm comm = neighbours(dests);
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        if (x == 0 && y == 0 && z == 0) continue;
        const int o[3] = {x, y, z};
        int sizes[4] = {fields, n + 2, n + 2, n + 2}, cells[4] = {fields}, from[4] = {0}, to[4] = {0};
        for (int a = 0; a < 3; ++a) {
          cells[a + 1] = o[a] == 0 ? n : 1;
          from[a + 1] = o[a] > 0 ? n : 1;
          to[a + 1] = o[a] == 0 ? 1 : o[a] > 0 ? 0 : n + 1; /* the halo on the other side: from the rank against the offset */
        }
        MPI_Type_create_subarray(4, sizes, cells, from, MPI_ORDER_C, MPI_DOUBLE, &out[e]);
        MPI_Type_create_subarray(4, sizes, cells, to, MPI_ORDER_C, MPI_DOUBLE, &in[e]);
        MPI_Type_commit(&out[e]);
        MPI_Type_commit(&in[e]);
        ones[e] = 1;
        zero[e++] = 0;
      }
    }
  }
  const size_t cells = (size_t)fields * (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2);
  double* box = malloc(cells * sizeof *box);
  double* other = malloc(cells * sizeof *other);
  const alltoallw ways[2] = {MPI_Neighbor_alltoallw, (alltoallw)own_function("MPI_Neighbor_alltoallw")};
  for (int way = 0; way < 2; ++way) { /* both bring the same */
    for (size_t i = 0; i < cells; ++i) box[i] = (double)rank * 1e7 + (double)i, other[i] = way ? other[i] : 0;
    double* into = way ? malloc(cells * sizeof *into) : other;
    if (way) memset(into, 0, cells * sizeof *into);
    ways[way](box, ones, zero, out, into, ones, zero, in, comm);
    if (way && memcmp(into, other, cells * sizeof *into) != 0) {
      fprintf(stderr, "rank %d: different bytes\n", rank);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (way) free(into);
  }
  const int batch = n <= 32 ? 20 : 5;
  double* times[2] = {calloc((size_t)repetitions, 8), calloc((size_t)repetitions, 8)};
  for (int i = -3; i < repetitions; ++i) {
    for (int k = 0; k < 2; ++k) {
      const int way = (k + i) & 1;
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      for (int b = 0; b < batch; ++b) ways[way](box, ones, zero, out, box, ones, zero, in, comm);
      double mine = (MPI_Wtime() - start) / batch, most = 0;
      MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (i >= 0) times[way][i] = most;
    }
  }
  if (rank == 0) printf("{\"n\": %d, \"fields\": %d, ", n, fields);
  print_times("through_s", times[0], repetitions, ", ");
  print_times("own_s", times[1], repetitions, "}\n");
  for (e = 0; e < 26; ++e) {
    MPI_Type_free(&out[e]);
    MPI_Type_free(&in[e]);
  }
  free(box);
  free(other);
  free(times[0]);
  free(times[1]);
  MPI_Comm_free(&comm);
}

/* Calls that are left to MPI: nonblocking ones that no blocking one of their kind went before, from a rank without neighbours. */
static void pass(int repetitions) {
  MPI_Comm comm;
  const int dims[1] = {size}, periods[1] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
  const ialltoall ways[2] = {MPI_Ineighbor_alltoall, (ialltoall)own_function("MPI_Ineighbor_alltoall")};
  const wait waits[2] = {MPI_Wait, (wait)own_function("MPI_Wait")};
  int out[2] = {1, 2}, in[2];
  const int batch = 50; /* short, so that most are not interrupted */
  repetitions *= 40;
  double* times[2] = {calloc((size_t)repetitions, 8), calloc((size_t)repetitions, 8)};
  for (int i = -3; i < repetitions; ++i) {
    for (int k = 0; k < 2; ++k) {
      const int way = (k + i) & 1;
      const double start = MPI_Wtime();
      for (int b = 0; b < batch; ++b) {
        MPI_Request request;
        ways[way](out, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
        waits[way](&request, MPI_STATUS_IGNORE);
      }
      if (i >= 0) times[way][i] = (MPI_Wtime() - start) / batch;
    }
  }
  if (rank == 0) printf("{\"n\": 0, \"fields\": 0, ");
  print_times("through_s", times[0], repetitions, ", ");
  print_times("own_s", times[1], repetitions, "}\n");
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 2; i < argc; ++i) {
    int n = 0, fields = 0;
    if (sscanf(argv[i], "%d,%d", &n, &fields) == 2)
      halo(atoi(argv[1]), n, fields);
    else
      pass(atoi(argv[1]));
  }
  MPI_Finalize();
  return 0;
}
