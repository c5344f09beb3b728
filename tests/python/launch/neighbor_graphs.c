/* Neighbourhood collectives on random graphs and grids, by all calls and forms, with random types: neighbor_graphs SEED GRAPHS [LARGEST].
 * Prints a sum over all bytes of all receive buffers, gaps included, every 100 graphs: the same whoever carries the calls out. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, ALLGATHER = 0, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW };
static int rank, size, largest = 12;
static uint64_t seed, graph, sum;

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
/* The same on all ranks for the same words. */
static int pick(int of, int a, int b, int c) {
  return (int)(mix(mix(mix(mix(seed, graph), (uint64_t)a), (uint64_t)b), (uint64_t)c) % (uint64_t)of);
}
static uint64_t own_state;
static int own(int of) { return (int)((own_state = mix(own_state, 1)) % (uint64_t)of); }

struct side {
  int n, peer[MOST], count[MOST], place[MOST];
  MPI_Aint at[MOST];
  MPI_Datatype type[MOST];
  int made[MOST], ints[MOST];
  unsigned char* memory;
  size_t bytes;
};

static void die(const char* what) {
  fprintf(stderr, "rank %d, graph %d: %s\n", rank, (int)graph, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The number of ints on the i-th edge from one rank to another, as both reckon it. */
static int ints_of(int kind, int from, int to, int i, int same) {
  if (kind == ALLGATHER || kind == ALLTOALL) return pick(largest, 1, 0, 0);
  if (kind == ALLGATHERV) return pick(largest, 2, from, 0);
  return pick(largest, 3, from * 100 + to, same ? 0 : i);
}

/* A committed type of that many ints in some layout, to be sent `*count` times. */
static MPI_Datatype layout(int ints, int pairs, int* count, int* made) {
  MPI_Datatype type = MPI_INT, inner;
  *made = 1;
  *count = 1;
  if (pairs) { /* an int and a double with a hole between them, which only MPI can pack */
    *made = 0;
    *count = ints;
    return MPI_DOUBLE_INT;
  }
  switch (own(ints == 0 ? 2 : 9)) {
    case 0:
      *count = ints;
      *made = 0;
      return MPI_INT;
    case 1:
      *count = ints;
      MPI_Type_create_resized(MPI_INT, 0, 12, &type);
      break;
    case 2: MPI_Type_vector(ints, 1, 1 + own(3), MPI_INT, &type); break;
    case 3: {
      const int sizes[3] = {ints + 1, 3, 2}, cells[3] = {ints, 1, 1}, starts[3] = {own(2), own(3), own(2)};
      MPI_Type_create_subarray(3, sizes, cells, starts, MPI_ORDER_C, MPI_INT, &type);
      break;
    }
    case 4: {
      int places[64], lengths[64], n = 0, done = 0, at = 0;
      while (done < ints) {
        lengths[n] = 1 + own(3);
        if (lengths[n] > ints - done) lengths[n] = ints - done;
        places[n] = at;
        at += lengths[n] + own(3);
        done += lengths[n++];
      }
      if (own(2))
        for (int i = 0, j = n - 1; i < j; ++i, --j) { /* not ascending in memory */
          int t = places[i];
          places[i] = places[j];
          places[j] = t;
          t = lengths[i];
          lengths[i] = lengths[j];
          lengths[j] = t;
        }
      MPI_Type_indexed(n, lengths, places, MPI_INT, &type);
      break;
    }
    case 5: MPI_Type_create_hvector(ints, 1, 4 + 4 * own(3), MPI_INT, &type); break;
    case 6: {
      const int first = own(ints + 1), lengths[2] = {first, ints - first};
      const MPI_Aint places[2] = {0, 4 * first + 8};
      const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
      MPI_Type_create_struct(2, lengths, places, types, &type);
      break;
    }
    case 7: {
      int places[64];
      for (int i = 0; i < ints; ++i) places[i] = 2 * i + (i % 2);
      MPI_Type_create_indexed_block(ints, 1, places, MPI_INT, &type);
      break;
    }
    default: {
      const int sizes[2] = {4, 5}, cells[2] = {1, 1}, starts[2] = {own(4), own(5)};
      MPI_Type_create_subarray(2, sizes, cells, starts, MPI_ORDER_FORTRAN, MPI_INT, &inner);
      MPI_Type_contiguous(ints, inner, &type);
      MPI_Type_free(&inner);
    }
  }
  MPI_Type_commit(&type);
  return type;
}

/* Types and places of all edges of a side; memory that holds them with gaps. */
static void lay_out(struct side* s, int kind, int send, int pairs) {
  size_t at = 0;
  const int one_type = kind != ALLTOALLW;
  int made = 0, count = 1;
  s->made[0] = 0;
  MPI_Datatype common = MPI_DATATYPE_NULL;
  if (one_type) {
    common = layout(1, pairs, &count, &made);
  }
  for (int e = 0; e < s->n; ++e) {
    MPI_Aint low, extent, true_low, true_extent;
    if (one_type) {
      s->type[e] = common;
      s->count[e] = s->ints[e];
      s->made[e] = made && e == 0;
    } else {
      s->type[e] = layout(s->ints[e], pairs, &s->count[e], &s->made[e]);
    }
    MPI_Type_get_extent(s->type[e], &low, &extent);
    MPI_Type_get_true_extent(s->type[e], &true_low, &true_extent);
    const size_t span = (size_t)(extent * (s->count[e] > 0 ? s->count[e] : 0) + true_extent + 16);
    if (one_type) {
      s->place[e] = (int)(at / (size_t)extent) + 1;
      at = (size_t)s->place[e] * (size_t)extent + span;
    } else {
      s->at[e] = (MPI_Aint)at;
      at += (span + 15) / 8 * 8;
    }
    if (kind == ALLTOALL || kind == ALLGATHER) at = ((size_t)(e + 1) * (size_t)(s->count[e] + 1) * (size_t)extent) + span;
  }
  if (one_type && s->n == 0) {
    s->type[0] = common;
    s->count[0] = kind == ALLGATHER || kind == ALLTOALL ? ints_of(kind, 0, 0, 0, 0) : 0;
    s->made[0] = made;
  }
  if (send && (kind == ALLGATHER || kind == ALLGATHERV)) at += 4096;
  s->bytes = at + 64;
  s->memory = malloc(s->bytes);
}

static void release(struct side* s) {
  for (int e = 0; e < (s->n > 0 ? s->n : 1); ++e) {
    if (s->made[e]) MPI_Type_free(&s->type[e]);
  }
  free(s->memory);
}

static void refill(struct side* s, int salt) {
  for (size_t i = 0; i < s->bytes; ++i) s->memory[i] = (unsigned char)mix(own_state, i + (size_t)salt * 7919);
}
static void add_sum(const struct side* s) {
  uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)rank;
  for (size_t i = 0; i < s->bytes; ++i) hash = (hash ^ s->memory[i]) * 0x100000001b3u;
  sum += mix(hash, graph);
}

/* Waits in one of MPI's ways. */
static void complete(MPI_Request* request, int persistent) {
  int flag = 0, index = 0, none;
  MPI_Request both[2] = {MPI_REQUEST_NULL, *request};
  const int way = own(9);
  /* MPICH 5.0.2's own Testall fails with persistent ones. */
  switch (persistent && way == 5 ? 0 : way) {
    case 0: MPI_Wait(request, MPI_STATUS_IGNORE); return;
    case 1:
      while (!flag) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
      return;
    case 2: MPI_Waitall(2, both, MPI_STATUSES_IGNORE); break;
    case 3:
      MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE);
      if (index != 1) die("Waitany");
      break;
    case 4:
      MPI_Waitsome(2, both, &none, &index, MPI_STATUSES_IGNORE);
      if (none != 1 || index != 1) die("Waitsome");
      break;
    case 5:
      while (!flag) MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE);
      break;
    case 6:
      while (!flag) MPI_Testany(2, both, &index, &flag, MPI_STATUS_IGNORE);
      break;
    case 7:
      for (none = 0; none == 0;) MPI_Testsome(2, both, &none, &index, MPI_STATUSES_IGNORE);
      break;
    default:
      while (!flag) MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
      MPI_Wait(request, MPI_STATUS_IGNORE);
      return;
  }
  *request = both[1];
}

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define LARGE 1
#define PERSISTENT 1
#else
#define LARGE 0
#define PERSISTENT 0
#endif

static void call(int kind, int form, int large, struct side* s, struct side* r, MPI_Comm comm, MPI_Request* q) {
  const void* out = s->memory;
  void* in = r->memory;
  MPI_Aint s_at[MOST], r_at[MOST];
  int code = 0;
  memcpy(s_at, s->at, sizeof s_at);
  memcpy(r_at, r->at, sizeof r_at);
  if (kind == ALLTOALLW && pick(4, 9, 0, 0) == 0) { /* places as addresses */
    for (int e = 0; e < s->n; ++e) s_at[e] += (MPI_Aint)s->memory;
    for (int e = 0; e < r->n; ++e) r_at[e] += (MPI_Aint)r->memory;
    out = in = MPI_BOTTOM;
  }
#define SAME out, s->count[0], s->type[0], in, r->count[0], r->type[0]
#define GATHERV out, s->count[0], s->type[0], in, r->count, r->place, r->type[0]
#define V out, s->count, s->place, s->type[0], in, r->count, r->place, r->type[0]
#define W out, s->count, s_at, s->type, in, r->count, r_at, r->type
  if (form == 0 && !large) {
    if (kind == ALLGATHER) code = MPI_Neighbor_allgather(SAME, comm);
    if (kind == ALLGATHERV) code = MPI_Neighbor_allgatherv(GATHERV, comm);
    if (kind == ALLTOALL) code = MPI_Neighbor_alltoall(SAME, comm);
    if (kind == ALLTOALLV) code = MPI_Neighbor_alltoallv(V, comm);
    if (kind == ALLTOALLW) code = MPI_Neighbor_alltoallw(W, comm);
  }
  if (form == 1 && !large) {
    if (kind == ALLGATHER) code = MPI_Ineighbor_allgather(SAME, comm, q);
    if (kind == ALLGATHERV) code = MPI_Ineighbor_allgatherv(GATHERV, comm, q);
    if (kind == ALLTOALL) code = MPI_Ineighbor_alltoall(SAME, comm, q);
    if (kind == ALLTOALLV) code = MPI_Ineighbor_alltoallv(V, comm, q);
    if (kind == ALLTOALLW) code = MPI_Ineighbor_alltoallw(W, comm, q);
  }
#if PERSISTENT
  if (form == 2 && !large) {
    if (kind == ALLGATHER) code = MPI_Neighbor_allgather_init(SAME, comm, MPI_INFO_NULL, q);
    if (kind == ALLGATHERV) code = MPI_Neighbor_allgatherv_init(GATHERV, comm, MPI_INFO_NULL, q);
    if (kind == ALLTOALL) code = MPI_Neighbor_alltoall_init(SAME, comm, MPI_INFO_NULL, q);
    if (kind == ALLTOALLV) code = MPI_Neighbor_alltoallv_init(V, comm, MPI_INFO_NULL, q);
    if (kind == ALLTOALLW) code = MPI_Neighbor_alltoallw_init(W, comm, MPI_INFO_NULL, q);
  }
#endif
#if LARGE
  MPI_Count sc[MOST], rc[MOST];
  MPI_Aint sp[MOST], rp[MOST];
  for (int e = 0; e < s->n; ++e) sc[e] = s->count[e], sp[e] = s->place[e];
  for (int e = 0; e < r->n; ++e) rc[e] = r->count[e], rp[e] = r->place[e];
  if (form == 0 && large) {
    if (kind == ALLGATHER) code = MPI_Neighbor_allgather_c(SAME, comm);
    if (kind == ALLGATHERV) code = MPI_Neighbor_allgatherv_c(out, s->count[0], s->type[0], in, rc, rp, r->type[0], comm);
    if (kind == ALLTOALL) code = MPI_Neighbor_alltoall_c(SAME, comm);
    if (kind == ALLTOALLV) code = MPI_Neighbor_alltoallv_c(out, sc, sp, s->type[0], in, rc, rp, r->type[0], comm);
    if (kind == ALLTOALLW) code = MPI_Neighbor_alltoallw_c(out, sc, s_at, s->type, in, rc, r_at, r->type, comm);
  }
  if (form == 1 && large) {
    if (kind == ALLGATHER) code = MPI_Ineighbor_allgather_c(SAME, comm, q);
    if (kind == ALLGATHERV) code = MPI_Ineighbor_allgatherv_c(out, s->count[0], s->type[0], in, rc, rp, r->type[0], comm, q);
    if (kind == ALLTOALL) code = MPI_Ineighbor_alltoall_c(SAME, comm, q);
    if (kind == ALLTOALLV) code = MPI_Ineighbor_alltoallv_c(out, sc, sp, s->type[0], in, rc, rp, r->type[0], comm, q);
    if (kind == ALLTOALLW) code = MPI_Ineighbor_alltoallw_c(out, sc, s_at, s->type, in, rc, r_at, r->type, comm, q);
    if (code == 0) MPI_Wait(q, MPI_STATUS_IGNORE); /* its lists may go */
  }
  if (form == 2 && large) { /* its lists must stay: started here */
    if (kind == ALLGATHER) code = MPI_Neighbor_allgather_init_c(SAME, comm, MPI_INFO_NULL, q);
    if (kind == ALLGATHERV)
      code = MPI_Neighbor_allgatherv_init_c(out, s->count[0], s->type[0], in, rc, rp, r->type[0], comm, MPI_INFO_NULL, q);
    if (kind == ALLTOALL) code = MPI_Neighbor_alltoall_init_c(SAME, comm, MPI_INFO_NULL, q);
    if (kind == ALLTOALLV)
      code = MPI_Neighbor_alltoallv_init_c(out, sc, sp, s->type[0], in, rc, rp, r->type[0], comm, MPI_INFO_NULL, q);
    if (kind == ALLTOALLW)
      code = MPI_Neighbor_alltoallw_init_c(out, sc, s_at, s->type, in, rc, r_at, r->type, comm, MPI_INFO_NULL, q);
    if (code == 0) {
      MPI_Start(q);
      complete(q, 1);
      MPI_Request_free(q);
    }
  }
#endif
  if (code != 0) die("a call failed");
}

/* A grid, with its neighbours as the standard orders them. */
static MPI_Comm make_grid(struct side* s, struct side* r) {
  int dims[3] = {0, 0, 0}, periods[3], ndims = 1 + pick(3, 20, 0, 0);
  MPI_Comm comm;
  MPI_Dims_create(size, ndims, dims);
  for (int a = 0; a < ndims; ++a) periods[a] = pick(3, 21, a, 0) > 0;
  if (pick(2, 22, 0, 0))
    for (int a = 0, b = ndims - 1; a < b; ++a, --b) {
      int t = dims[a];
      dims[a] = dims[b];
      dims[b] = t;
    }
  MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &comm);
  s->n = r->n = 2 * ndims;
  for (int a = 0; a < ndims; ++a) {
    MPI_Cart_shift(comm, a, 1, &s->peer[2 * a], &s->peer[2 * a + 1]);
  }
  memcpy(r->peer, s->peer, sizeof r->peer);
  return comm;
}

/* Edges that all ranks know, each rank's neighbours in an order of its own; several edges from one rank to another stay in order. */
static MPI_Comm make_graph(struct side* s, struct side* r, int from_grid) {
  const int edges = pick(4 * size + 1, 30, 0, 0);
  const int turn_s = own(size), turn_r = own(size);
  MPI_Comm comm, old = MPI_COMM_WORLD;
  s->n = r->n = 0;
  for (int i = 0; i < size; ++i) {
    for (int e = 0; e < edges; ++e) {
      const int from = pick(size, 31, e, 0), to = pick(3, 32, e, 0) == 0 ? (from + 1) % size : pick(size, 33, e, 0);
      if (from == rank && to == (i + turn_s) % size) s->peer[s->n++] = to;
      if (to == rank && from == (i + turn_r) % size) r->peer[r->n++] = from;
    }
  }
  if (from_grid) {
    const int periods[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &old);
  }
  s->peer[s->n] = r->peer[r->n] = 0; /* never without an address */
  MPI_Dist_graph_create_adjacent(old, r->n, r->peer, MPI_UNWEIGHTED, s->n, s->peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  if (from_grid) MPI_Comm_free(&old);
  return comm;
}

static void count_edges(struct side* s, int kind, int sends, int same) {
  for (int e = 0; e < s->n; ++e) {
    int before = 0;
    for (int f = 0; f < e; ++f) before += s->peer[f] == s->peer[e];
    s->ints[e] = s->peer[e] == MPI_PROC_NULL && kind != ALLTOALL && kind != ALLGATHER ? 1
                 : sends ? ints_of(kind, rank, s->peer[e], before, same)
                         : ints_of(kind, s->peer[e], rank, before, same);
  }
}

static void one_graph(int from_grids) {
  static struct side s, r;
  const int kind = pick(5, 40, 0, 0), grid = pick(3, 41, 0, 0) == 0;
  const int pairs = pick(6, 42, 0, 0) == 0;
  own_state = mix(mix(seed, graph), (uint64_t)rank + 77);
  MPI_Comm comm = grid ? make_grid(&s, &r) : make_graph(&s, &r, from_grids && pick(4, 43, 0, 0) == 0);
  count_edges(&s, kind, 1, grid);
  count_edges(&r, kind, 0, grid);
  lay_out(&s, kind, 1, pairs);
  lay_out(&r, kind, 0, pairs);
  if (kind == ALLGATHERV || kind == ALLGATHER) s.count[0] = ints_of(kind, rank, 0, 0, 0);
  for (int times = 0; times < 1 + pick(3, 44, 0, 0); ++times) {
    const int form = pick(PERSISTENT ? 3 : 2, 45, times, 0), large = LARGE && pick(3, 46, times, 0) == 0;
    MPI_Request request = MPI_REQUEST_NULL;
    refill(&s, times);
    refill(&r, times + 100);
    call(kind, form, large, &s, &r, comm, &request);
    if (form == 1 && !large) complete(&request, 0);
    if (form == 2 && !large) {
      for (int again = 0; again < 2; ++again) {
        if (again) refill(&s, times + 200);
        if (own(2))
          MPI_Start(&request);
        else
          MPI_Startall(1, &request);
        complete(&request, 1);
        add_sum(&r);
      }
      MPI_Request_free(&request);
    }
    add_sum(&r);
  }
  release(&s);
  release(&r);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const int graphs = argc > 2 ? atoi(argv[2]) : 100;
  if (argc > 3) largest = atoi(argv[3]);
  for (graph = 0; graph < (uint64_t)graphs; ++graph) {
    one_graph(argc > 4);
    if (graph % 100 == 99 || graph + 1 == (uint64_t)graphs) {
      unsigned long long mine = sum, all = 0;
      MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
      if (rank == 0) printf("%d graphs %016llx\n", (int)graph + 1, all);
    }
  }
  MPI_Finalize();
  return 0;
}
