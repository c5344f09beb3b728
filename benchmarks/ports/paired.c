/* Stands before a program's own exchange of halos, a function of two addresses, and calls that or our port of it.
 *
 *     cc paired.c -DEXCHANGE=haloExchange [-DKIND='a number from a and b: exchanges that are alike'] \
 *        [-DONLY='which of the kinds, in the order in which they come: others are left alone'] \
 *        [-DROUND='a number from a and b: who exchanges is the same in a round'] \
 *        -Wl,--wrap=haloExchange,--wrap=MPI_Allreduce ...                (-DFORTRAN: --wrap=mpi_allreduce_,--wrap=mpi_reduce_)
 *
 * PORT=own, ours or turns (own, ours, ours, own ...) says which. At the end rank 0 writes to the file PORT_REPORT, in JSON, a
 * digest of what all reductions gave, and of each kind of exchange the seconds of own calls and of ours, the slowest rank's. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#ifndef KIND
#define KIND 0
#endif
#ifndef ROUND
#define ROUND kind->of[0].calls + kind->of[1].calls
#endif
#ifdef FORTRAN
#define port port_
#endif
enum { most_kinds = 256 };

void port(void* a, void* b);
void NAME(__real_, EXCHANGE)(void* a, void* b);

typedef struct {
  int calls, room;
  double* time_s;
} Times;
typedef struct {
  uint64_t kind;
  Times of[2];
} Kind; /* own, ours */
static Kind kinds[most_kinds];
static int used;
static uint64_t digest = 14695981039346656037u, digest_then; /* now, and when the last exchange began: times come behind */

static inline uint64_t mixed(uint64_t sum, const void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  return sum;
}

/* Runs at the beginning of MPI_Finalize, whatever the program's language. */
static int report(MPI_Comm comm, int keyval, void* value, void* state) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* file = rank == 0 && getenv("PORT_REPORT") != NULL ? fopen(getenv("PORT_REPORT"), "w") : NULL;
  if (file != NULL) fprintf(file, "{\"digest\": \"%016llx\", \"kinds\": [", (unsigned long long)digest_then);
  for (int k = 0; k < 2 * used; ++k) {
    const Times* times = &kinds[k / 2].of[k % 2];
    double* slowest = malloc((times->calls + 1) * sizeof(double));
    MPI_Reduce(times->time_s, slowest, times->calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (file != NULL) fprintf(file, "%s[", k == 0 ? "[" : k % 2 == 0 ? "], [" : ", ");
    for (int i = 0; file != NULL && i < times->calls; ++i) fprintf(file, "%s%.9g", i > 0 ? ", " : "", slowest[i]);
    if (file != NULL) fprintf(file, "]");
    free(slowest);
  }
  if (file != NULL) fprintf(file, "%s]}\n", used > 0 ? "]" : ""), fclose(file);
  (void)comm, (void)keyval, (void)value, (void)state;
  return MPI_SUCCESS;
}

static Kind* kind_of(uint64_t kind) {
  for (int k = 0; k < used; ++k) {
    if (kinds[k].kind == kind) return &kinds[k];
  }
  if (used == 0) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, report, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  }
  if (used == most_kinds) MPI_Abort(MPI_COMM_WORLD, 3);
  kinds[used].kind = kind;
  return &kinds[used++];
}

void NAME(__wrap_, EXCHANGE)(void* a, void* b) {
  Kind* kind = kind_of((uint64_t)(KIND));
  const char* which = getenv("PORT");
  const int at = (ROUND) % 4, ours = which != NULL && (which[0] == 't' ? at == 1 || at == 2 : which[1] == 'u');
#ifdef ONLY
  if (kind != &kinds[ONLY]) {
    NAME(__real_, EXCHANGE)(a, b);
    return;
  }
#endif
  Times* times = &kind->of[ours];
  if (times->calls == times->room) {
    times->room = 2 * times->room + 64;
    times->time_s = realloc(times->time_s, times->room * sizeof(double));
  }
  digest_then = digest;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  if (ours) {
    port(a, b);
  } else {
    NAME(__real_, EXCHANGE)(a, b);
  }
  times->time_s[times->calls++] = MPI_Wtime() - start_s;
}

/* What reductions give: where a bit of the physics is another one, so is the digest. */
#ifdef FORTRAN
void __real_mpi_allreduce_(void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void __real_mpi_reduce_(void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);

static void mix(const void* data, MPI_Fint count, MPI_Fint type) {
  int bytes;
  MPI_Type_size(MPI_Type_f2c(type), &bytes);
  digest = mixed(digest, data, (size_t)count * (size_t)bytes);
}

void __wrap_mpi_allreduce_(void* in, void* out, MPI_Fint* count, MPI_Fint* type, MPI_Fint* op, MPI_Fint* comm,
                           MPI_Fint* error) {
  __real_mpi_allreduce_(in, out, count, type, op, comm, error);
  mix(out, *count, *type);
}

void __wrap_mpi_reduce_(void* in, void* out, MPI_Fint* count, MPI_Fint* type, MPI_Fint* op, MPI_Fint* root, MPI_Fint* comm,
                        MPI_Fint* error) {
  __real_mpi_reduce_(in, out, count, type, op, root, comm, error);
  if (*root == 0) mix(out, *count, *type); /* rank 0 reports */
}
#else
int __real_MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

int __wrap_MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int bytes;
  const int error = __real_MPI_Allreduce(in, out, count, type, op, comm);
  MPI_Type_size(type, &bytes);
  digest = mixed(digest, out, (size_t)count * (size_t)bytes);
  return error;
}
#endif
