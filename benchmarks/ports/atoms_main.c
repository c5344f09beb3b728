/* Moves the ghosts of atoms and compares every bit with a direct computation.
 *
 *     mpiexec -n 4 ./atoms [atoms a rank (200)] [lists (8)] [steps a list (10)]
 *
 * Positions and forces are numbers that depend on an atom's id, the step and the place of a ghost; forces are multiples of
 * 1/1024, so that their sum is the same in any order. Prints how many ranks found something wrong; exits with 1 then. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atoms.h"

static uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t z = (a * 0x9E3779B97F4A7C15u) ^ (b + 0x7F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* In [0, 1). */
static double number(uint64_t a, uint64_t b) { return (double)(mixed(a, b) >> 11) * 0x1.0p-53; }

/* Of an atom at a step: within its box when its list is made, a little further on afterwards. */
static void place(const Atoms* s, const int coords[3], int id, int list, int step, double x[3]) {
  for (int a = 0; a < 3; ++a) {
    x[a] = (coords[a] + number((uint64_t)id, (uint64_t)(3 * list + a))) * s->side[a] + 0.01 * step * number((uint64_t)id, 5);
  }
}

/* Of an atom, or of a ghost of it, at a position. */
static uint64_t mark(int id, const double x[3]) {
  uint64_t sum = (uint64_t)id + 1;
  for (int a = 0; a < 3; ++a) {
    uint64_t bits;
    memcpy(&bits, &x[a], sizeof bits);
    sum = mixed(sum, bits);
  }
  return sum;
}

static double force(int id, const double x[3], int axis) { return (double)(mark(id, x) >> (16 * axis) & 1023) / 1024.0 - 0.5; }

/* Calls each(rank, x) for the ghosts of an atom of the rank at `coords`: rank is the one that gets it, x its place there. */
static void each_ghost(const Atoms* all, const int coords[3], const double at_list[3], const double now[3],
                       void (*each)(void* context, int rank, const double x[3]), void* context) {
  Atoms s = *all;
  memcpy(s.coords, coords, sizeof s.coords);
  for (int o = 0; o < 27; ++o) {
    int to[3], near = o != 13, rank;
    double x[3];
    for (int a = 0, rest = o; a < 3; ++a, rest /= 3) {
      const int side = rest % 3 - 1;
      to[a] = coords[a] + side;
      x[a] = now[a] + atoms_shift(&s, a, side);
      near = near && atoms_near(&s, a, at_list[a], side);
    }
    if (!near) continue;
    MPI_Cart_rank(s.cart, to, &rank);
    each(context, rank, x);
  }
}

typedef struct {
  int rank, id;
  uint64_t ghosts;
  double force[3];
} Expected;

static void expect_ghost(void* context, int rank, const double x[3]) {
  Expected* e = context;
  if (rank == e->rank) e->ghosts += mark(e->id, x);
}

static void expect_force(void* context, int rank, const double x[3]) {
  Expected* e = context;
  (void)rank;
  for (int a = 0; a < 3; ++a) e->force[a] += force(e->id, x, a);
}

/* The number of what differs here from a direct computation. */
static int wrong(const Atoms* s, int list, int step) {
  Expected e = {0};
  int ranks, found = 0;
  MPI_Comm_size(s->cart, &ranks);
  MPI_Comm_rank(s->cart, &e.rank);
  for (e.id = 0; e.id < ranks * s->own; ++e.id) {
    int coords[3];
    double at_list[3], now[3];
    MPI_Cart_coords(s->cart, e.id / s->own, 3, coords);
    place(s, coords, e.id, list, 0, at_list);
    place(s, coords, e.id, list, step, now);
    each_ghost(s, coords, at_list, now, expect_ghost, &e);
    if (e.id / s->own != e.rank) continue;
    for (int a = 0; a < 3; ++a) e.force[a] = force(e.id, now, a);
    each_ghost(s, coords, at_list, now, expect_force, &e);
    found += memcmp(e.force, s->f + 3 * (e.id % s->own), sizeof e.force) != 0;
  }
  uint64_t ghosts = 0;
  for (int p = s->own; p < s->all; ++p) ghosts += mark(s->id[p], s->x + 3 * p);
  return found + (ghosts != e.ghosts);
}

int main(int argc, char** argv) {
  const int own = argc > 1 ? atoi(argv[1]) : 200, lists = argc > 2 ? atoi(argv[2]) : 8, steps = argc > 3 ? atoi(argv[3]) : 10;
  const int periods[3] = {1, 1, 1};
  int ranks, rank, found = 0, bad;
  Atoms s = {.own = own, .side = {1.0, 1.25, 1.5}, .cutoff = 0.3, .room = 12 * own + 400};
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, s.dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, s.dims, periods, 0, &s.cart);
  MPI_Comm_rank(s.cart, &rank);
  MPI_Cart_coords(s.cart, rank, 3, s.coords);
  s.id = malloc((size_t)s.room * sizeof *s.id);
  s.x = malloc(3 * (size_t)s.room * sizeof *s.x);
  s.f = malloc(3 * (size_t)s.room * sizeof *s.f);
  for (int list = 0; list < lists; ++list) {
    s.list = list;
    for (int step = 0; step < steps; ++step) {
      for (int p = 0; p < own; ++p) place(&s, s.coords, s.id[p] = rank * own + p, list, step, s.x + 3 * p);
      exchange(&s, &(int){step == 0 ? BORDERS : FORWARD});
      for (int p = 0; p < s.all; ++p) {
        for (int a = 0; a < 3; ++a) s.f[3 * p + a] = force(s.id[p], s.x + 3 * p, a);
      }
      exchange(&s, &(int){REVERSE});
      if (step < 2) found += wrong(&s, list, step);
    }
  }
  bad = found > 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, s.cart);
  if (rank == 0) printf("%d of %d ranks found something wrong\n", bad, ranks);
  MPI_Finalize();
  return bad > 0;
}
