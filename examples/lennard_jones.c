/* A small molecular-dynamics run in C11: positions out by import, forces back by reduce, over an eighth shell.
 *
 *     mpiexec -n 8 ./lennard_jones_c
 *
 * Prints the total energy at the start and the end, and the momentum: the energy is conserved, the momentum zero to
 * rounding, and both are the same on 1, 4 and 8 ranks. */
#include <mpi.h>
#include <rankwise/rankwise.h>
#include <stdio.h>
#include <string.h>

#include "lj.h"

static void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", rankwise_result_string(result), rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The blocks of the window, one after the other in the order of the slots; the own one is the first of an eighth shell. */
typedef struct {
  rankwise_exchange plan;
  int slots;
  int own;
  size_t count;     /* own particles */
  double* position; /* of the whole window */
  double* force;
} system_t;

/* Forces on all particles of the window, then what the ghosts got goes home; returns this rank's part of the energy. */
static double compute_forces(system_t* s, size_t window_elements) {
  check(rankwise_exchange_import_start(s->plan, s->position, 3 * sizeof(double)));
  memset(s->force, 0, 3 * window_elements * sizeof(double));
  check(rankwise_exchange_import_wait(s->plan));
  double energy = 0.0;
  for (int a = 0; a < s->slots; ++a) {
    for (int b = a; b < s->slots; ++b) {
      int offset_a[3], offset_b[3], wrap_a[3], wrap_b[3];
      size_t start_a, start_b, count_a, count_b;
      double shift[3];
      check(rankwise_exchange_offset_of_slot(s->plan, a, offset_a));
      check(rankwise_exchange_offset_of_slot(s->plan, b, offset_b));
      /* Of all ranks that hold both boxes, the one at their common lower corner takes the pair. */
      int here = 1;
      for (int i = 0; i < 3; ++i) here = here && (offset_a[i] == 0 || offset_b[i] == 0);
      if (!here || (a == b && a != s->own)) continue;
      check(rankwise_exchange_slot_crossings(s->plan, a, wrap_a));
      check(rankwise_exchange_slot_crossings(s->plan, b, wrap_b));
      for (int i = 0; i < 3; ++i) shift[i] = (wrap_b[i] - wrap_a[i]) * lj_length();
      check(rankwise_exchange_slot_start(s->plan, a, &start_a));
      check(rankwise_exchange_slot_start(s->plan, b, &start_b));
      check(rankwise_exchange_slot_elements(s->plan, a, &count_a));
      check(rankwise_exchange_slot_elements(s->plan, b, &count_b));
      energy += lj_pairs(s->position + 3 * start_a, s->force + 3 * start_a, count_a, s->position + 3 * start_b,
                         s->force + 3 * start_b, count_b, shift);
    }
  }
  check(rankwise_exchange_reduce_start(s->plan, s->force, 3, MPI_DOUBLE, MPI_SUM));
  check(rankwise_exchange_reduce_wait(s->plan));
  return energy;
}

/* Energy and momentum of all ranks. */
static void total(MPI_Comm comm, double potential, const double* velocity, size_t count, double sums[4]) {
  lj_sums(potential, velocity, count, sums);
  MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank, dims[3] = {0, 0, 0}, coords[3];
  const int periods[3] = {1, 1, 1};
  MPI_Comm cart;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
  MPI_Comm_rank(cart, &rank);
  MPI_Cart_coords(cart, rank, 3, coords);
  if (lj_length() / dims[0] < lj_cutoff + lj_skin) {
    if (rank == 0) fprintf(stderr, "%d ranks make boxes smaller than the cutoff: start fewer\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  const int cutoff[3] = {1, 1, 1};
  rankwise_exchange_options options;
  check(rankwise_exchange_options_default(&options));
  options.shell = RANKWISE_SHELL_EIGHTH;
  system_t s;
  check(rankwise_exchange_create(cart, 3, cutoff, &options, &s.plan));
  check(rankwise_exchange_slots(s.plan, &s.slots));
  check(rankwise_exchange_own_slot(s.plan, &s.own));

  const size_t room = 3 * lj_sites * lj_sites * lj_sites;
  double* const fill = malloc(room * sizeof(double));
  double* const velocity = malloc(room * sizeof(double));
  s.count = lj_fill(dims, coords, fill, velocity);
  check(rankwise_exchange_set_sizes(s.plan, s.count, 3 * sizeof(double)));
  size_t window_elements, own_start;
  check(rankwise_exchange_slot_start(s.plan, s.slots, &window_elements));
  check(rankwise_exchange_slot_start(s.plan, s.own, &own_start));
  s.position = malloc((3 * window_elements + 1) * sizeof(double));
  s.force = malloc((3 * window_elements + 1) * sizeof(double));
  double* const own_position = s.position + 3 * own_start;
  double* const own_force = s.force + 3 * own_start;
  memcpy(own_position, fill, 3 * s.count * sizeof(double));

  double first[4], last[4];
  double potential = compute_forces(&s, window_elements);
  total(cart, potential, velocity, s.count, first);
  for (int step = 0; step < lj_steps; ++step) {
    for (size_t i = 0; i < 3 * s.count; ++i) {
      velocity[i] += 0.5 * lj_dt * own_force[i];
      own_position[i] += lj_dt * velocity[i];
    }
    potential = compute_forces(&s, window_elements);
    for (size_t i = 0; i < 3 * s.count; ++i) velocity[i] += 0.5 * lj_dt * own_force[i];
  }
  total(cart, potential, velocity, s.count, last);
  if (rank == 0) {
    printf("energy_start %.15e\nenergy_end %.15e\nmomentum %.3e %.3e %.3e\n", first[0], last[0], last[1], last[2], last[3]);
  }

  free(s.force);
  free(s.position);
  free(velocity);
  free(fill);
  check(rankwise_exchange_destroy(&s.plan));
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
