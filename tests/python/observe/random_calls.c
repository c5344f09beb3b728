// Random programs, one after the other in one launch, that count themselves what they send: random_calls SEED PROGRAMS.
// Each rank prints "expect RANK PEER MESSAGES BYTES PULLED" for each other rank that it sent something to, or fetched from.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 32, MOST = 4096, LIVE = 6 };
static char out[MOST * 8], in[MOST * 8], window_memory[MOST];
static long messages[MAX_RANKS], bytes[MAX_RANKS], pulled[MAX_RANKS];
static int rank, size;

// The same numbers on all ranks, which so know the whole program.
static unsigned long state;
static int draw(int n) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return (int)((state >> 33) % (unsigned long)n);
}

struct ring {
  MPI_Comm comm;
  int me, size, world[MAX_RANKS];
};

static struct ring ring_of(MPI_Comm comm) {
  struct ring ring = {.comm = comm};
  MPI_Group group, all;
  int ranks[MAX_RANKS];
  MPI_Comm_rank(comm, &ring.me);
  MPI_Comm_size(comm, &ring.size);
  for (int i = 0; i < ring.size; i++) ranks[i] = i;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_translate_ranks(group, ring.size, ranks, all, ring.world);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return ring;
}

static void sent(const struct ring* ring, int to, long n) {
  messages[ring->world[to]]++;
  bytes[ring->world[to]] += n;
}

// A type of some bytes; the caller frees it where it was made.
static MPI_Datatype type_of(int* n, int* made) {
  MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_BYTE, MPI_SHORT}, type = types[draw(5)];
  MPI_Type_size(type, n);
  int kind = draw(4), a = 1 + draw(4), b = 1 + draw(3);
  MPI_Datatype old = type;
  *made = kind < 3;
  if (kind == 0) MPI_Type_contiguous(a, old, &type), *n *= a;
  if (kind == 1) MPI_Type_vector(a, b, b + 2, old, &type), *n *= a * b;
  if (kind == 2) {
    int at[] = {0, 5, 9}, lengths[] = {a, b, 1};
    MPI_Type_indexed(3, lengths, at, old, &type);
    *n *= a + b + 1;
  }
  if (*made) MPI_Type_commit(&type);
  return type;
}

static void exchange(const struct ring* ring, int kind) {
  int unit, made, n = draw(12), shift = draw(ring->size), tag = draw(3);
  int to = (ring->me + shift) % ring->size, from = (ring->me + ring->size - shift) % ring->size;
  MPI_Datatype type = type_of(&unit, &made);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Comm comm = ring->comm;
  MPI_Message message;
  int done = 0, index, indices[2], times = 1 + draw(3), any = draw(2);
  int source = any ? MPI_ANY_SOURCE : from;
  if (any) MPI_Barrier(comm);  // nothing else may be under way that any source would take
  switch (kind) {
    case 0: MPI_Sendrecv(out, n, type, to, tag, in, n, type, source, tag, comm, MPI_STATUS_IGNORE); break;
    case 1: MPI_Sendrecv_replace(in, n, type, to, tag, source, tag, comm, &statuses[0]); break;
    case 2:
      MPI_Irecv(in, n, type, source, MPI_ANY_TAG, comm, &requests[0]);
      if (draw(2))
        MPI_Send(out, n, type, to, tag, comm);
      else
        MPI_Ssend(out, n, type, to, tag, comm);
      MPI_Wait(&requests[0], draw(2) ? MPI_STATUS_IGNORE : &statuses[0]);
      break;
    case 3:
      MPI_Irecv(in, n, type, source, tag, comm, &requests[0]);
      MPI_Isend(out, n, type, to, tag, comm, &requests[1]);
      for (int left = 2; left > 0; left--) MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      break;
    case 4:
      MPI_Irecv(in, n, type, source, tag, comm, &requests[0]);
      MPI_Issend(out, n, type, to, tag, comm, &requests[1]);
      for (int left = 2; left > 0; left -= done)
        MPI_Waitsome(2, requests, &done, indices, draw(2) ? statuses : MPI_STATUSES_IGNORE);
      break;
    case 5:
      MPI_Recv_init(in, n, type, source, tag, comm, &requests[0]);
      MPI_Send_init(out, n, type, to, tag, comm, &requests[1]);
      for (int i = 0; i < times; i++) {
        if (any && i) MPI_Barrier(comm);
        if (draw(2))
          MPI_Startall(2, requests);
        else
          MPI_Start(&requests[0]), MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
      MPI_Request_free(&requests[0]);
      MPI_Request_free(&requests[1]);
      for (int i = 1; i < times; i++) sent(ring, to, (long)n * unit);
      break;
    case 6:
      MPI_Isend(out, n, type, to, tag, comm, &requests[0]);
      MPI_Mprobe(source, tag, comm, &message, &statuses[0]);
      if (draw(2))
        MPI_Mrecv(in, n, type, &message, MPI_STATUS_IGNORE);
      else
        MPI_Imrecv(in, n, type, &message, &requests[1]), MPI_Wait(&requests[1], &statuses[1]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case 7:
      MPI_Irecv(in, n, type, source, tag, comm, &requests[0]);
      MPI_Isend(out, n, type, to, tag, comm, &requests[1]);
      while (!done) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
      break;
    case 8:
      MPI_Irecv(in, n, type, source, tag, comm, &requests[0]);
      MPI_Isend(out, n, type, to, tag, comm, &requests[1]);
      MPI_Request_free(&requests[1]);
      while (!done) MPI_Test(&requests[0], &done, &statuses[0]);
      MPI_Barrier(comm);
      break;
#if MPI_VERSION >= 5  // MPICH 4.0 loses a reference to the type here
    case 9:
      MPI_Isendrecv(out, n, type, to, tag, in, n, type, source, tag, comm, &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
#endif
    default: MPI_Sendrecv(out, n, type, to, tag, in, n, type, from, tag, comm, &statuses[0]);
  }
  sent(ring, to, (long)n * unit);
  if (any) MPI_Barrier(comm);
  if (made) MPI_Type_free(&type);
}

// One rank to another; the rest does nothing.
static void pair(const struct ring* ring) {
  int a = draw(ring->size), b = draw(ring->size), n = draw(MOST), tag = draw(9);
  if (a == b) {
    MPI_Send(out, n, MPI_CHAR, MPI_PROC_NULL, tag, ring->comm);
    MPI_Recv(in, n, MPI_CHAR, MPI_PROC_NULL, tag, ring->comm, MPI_STATUS_IGNORE);
  } else if (ring->me == a) {
    MPI_Send(out, n, MPI_CHAR, b, tag, ring->comm);
    sent(ring, b, n);
  } else if (ring->me == b) {
    MPI_Recv(in, MOST, MPI_CHAR, a, tag, ring->comm, MPI_STATUS_IGNORE);
  }
}

static void one_sided(const struct ring* ring) {
  MPI_Win window;
  int n = draw(100), to = (ring->me + draw(ring->size)) % ring->size;
  MPI_Win_create(window_memory, MOST, 1, MPI_INFO_NULL, ring->comm, &window);
  MPI_Win_fence(0, window);
  for (int i = draw(3); i >= 0; i--) {
    switch (draw(3)) {
      case 0: MPI_Put(out, n, MPI_CHAR, to, 0, n, MPI_CHAR, window), sent(ring, to, n); break;
      case 1: MPI_Get(in, n, MPI_CHAR, to, 1000, n, MPI_CHAR, window), pulled[ring->world[to]] += n; break;
      default: MPI_Accumulate(out, n, MPI_INT, to, 2000, n, MPI_INT, MPI_SUM, window), sent(ring, to, 4L * n);
    }
    MPI_Win_fence(0, window);
  }
  MPI_Win_free(&window);
}

static void neighbors(const struct ring* ring) {
  MPI_Comm comm;
  int n = draw(9), shape[] = {ring->size}, periodic[] = {draw(2)}, shift = draw(ring->size);
  int to = (ring->me + shift) % ring->size, from = (ring->me + ring->size - shift) % ring->size;
  if (draw(2)) {
    MPI_Cart_create(ring->comm, 1, shape, periodic, 0, &comm);
    MPI_Neighbor_alltoall(out, n, MPI_INT, in, n, MPI_INT, comm);
    if (periodic[0] || ring->me > 0) sent(ring, (ring->me + ring->size - 1) % ring->size, 4L * n);
    if (periodic[0] || ring->me < ring->size - 1) sent(ring, (ring->me + 1) % ring->size, 4L * n);
  } else {
    int counts[] = {n}, zeros[] = {0};
    MPI_Request request;
    MPI_Dist_graph_create_adjacent(ring->comm, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    if (draw(2))
      MPI_Neighbor_alltoallv(out, counts, zeros, MPI_SHORT, in, counts, zeros, MPI_SHORT, comm);
    else
      MPI_Ineighbor_allgather(out, n, MPI_SHORT, in, n, MPI_SHORT, comm, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent(ring, to, 2L * n);
  }
  MPI_Comm_free(&comm);
}

// Both halves of the world send to each other.
static void between_halves(void) {
  if (size < 2) return;
  MPI_Comm half, inter;
  int low = rank < size / 2, n = draw(50), other = low ? size / 2 : 0, of_other = low ? size - size / 2 : size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, 3, &inter);
  int me = low ? rank : rank - size / 2;
  if (me < size / 2 && me < of_other) {
    MPI_Sendrecv(out, n, MPI_CHAR, me, 1, in, n, MPI_CHAR, me, 1, inter, MPI_STATUS_IGNORE);
    messages[other + me]++;
    bytes[other + me] += n;
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void collective(const struct ring* ring) {
  int counts[MAX_RANKS], at[MAX_RANKS];
  for (int i = 0; i < ring->size; i++) counts[i] = 3, at[i] = 3 * i;
  switch (draw(4)) {
    case 0: MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_DOUBLE, MPI_SUM, ring->comm); break;
    case 1: MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, ring->comm); break;
    case 2: MPI_Gather(out, 5, MPI_CHAR, in, 5, MPI_CHAR, draw(ring->size), ring->comm); break;
    default: MPI_Allgatherv(out, 3, MPI_INT, in, counts, at, MPI_INT, ring->comm);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  int programs = argc > 2 ? atoi(argv[2]) : 100;
  for (int program = 0; program < programs; program++) {
    state = seed * 1000003UL + (unsigned long)program;
    struct ring rings[LIVE] = {ring_of(MPI_COMM_WORLD)};
    int live = 1;
    for (int call = 4 + draw(12); call > 0; call--) {
      // What is drawn must be the same on all ranks: of communicators that are split, each part goes its own way alike.
      struct ring* ring = &rings[draw(live)];
      unsigned long before = state;
      int kind = draw(20);
      if (kind < 10)
        exchange(ring, kind);
      else if (kind < 12)
        pair(ring);
      else if (kind == 12)
        one_sided(ring);
      else if (kind == 13)
        neighbors(ring);
      else if (kind == 14)
        between_halves();
      else if (kind == 15)
        collective(ring);
      else if (kind < 18 && live < LIVE) {
        MPI_Comm made;
        int way = draw(3);
        if (way == 0) MPI_Comm_dup(ring->comm, &made);
        if (way == 1) MPI_Comm_split(ring->comm, 0, -ring->me, &made);
        if (way == 2) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, (rank * 7) % 5, &made);
        rings[live++] = ring_of(made);
      } else if (live > 1) {
        MPI_Comm_free(&rings[--live].comm);
      }
      state = before;
      for (int i = 0; i < 3; i++) draw(2);  // go on alike, however much was drawn
    }
    while (live > 1) MPI_Comm_free(&rings[--live].comm);
  }
  for (int i = 0; i < size; i++) {
    if (messages[i] || pulled[i]) printf("expect %d %d %ld %ld %ld\n", rank, i, messages[i], bytes[i], pulled[i]);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
