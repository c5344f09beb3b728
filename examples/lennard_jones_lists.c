/* The same molecular-dynamics run as lennard_jones.c by lists: each rank sends the particles near its border, not its whole
 * box; positions out, forces back, new lists every tenth step.
 *
 *     mpiexec -n 8 ./lennard_jones_lists
 *
 * Of the 26 boxes around one, 13 send here: each pair of boxes meets on one rank. */
#include <mpi.h>
#include <rankwise/rankwise.h>
#include <stdio.h>
#include <string.h>

#include "lj.h"

enum { edges = 13, steps_a_list = 10 };

static void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", rankwise_result_string(result), rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Own particles, and behind them the ghosts of each edge. */
typedef struct {
  rankwise_halo halo;
  int dims[3], coords[3], offset[edges][3];
  size_t count, start[edges + 1]; /* start[e]: the first ghost of edge e */
  double *position, *force;
  rankwise_field field;
} system_t;

/* Who sends to whom: edge e brings what the rank at offset[e] has near this one, under the key e. */
static void connect(system_t* s, MPI_Comm cart) {
  int to[edges], from[edges], key[edges], e = 0;
  for (int code = 14; code < 27; ++code, ++e) {
    int there[3], back[3];
    const int o[3] = {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
    for (int i = 0; i < 3; ++i) {
      s->offset[e][i] = o[i];
      there[i] = s->coords[i] + o[i];
      back[i] = s->coords[i] - o[i];
    }
    MPI_Cart_rank(cart, there, &from[e]);
    MPI_Cart_rank(cart, back, &to[e]);
    key[e] = e;
  }
  check(rankwise_neighbors_create(cart, edges, to, key, edges, from, key, &s->halo));
}

/* New lists: the own particles near the side that faces each receiver; room for what comes. */
static void make_lists(system_t* s) {
  int* const index = malloc((edges * s->count + 1) * sizeof(int));
  rankwise_list send[edges], recv[edges];
  int* next = index;
  for (int e = 0; e < edges; ++e) {
    send[e] = (rankwise_list){0, 0, next};
    for (size_t p = 0; p < s->count; ++p) {
      int near = 1;
      for (int i = 0; i < 3; ++i) {
        const double side = lj_length() / s->dims[i], x = s->position[3 * p + (size_t)i] - s->coords[i] * side;
        if (s->offset[e][i] > 0) near = near && x < lj_cutoff + lj_skin;
        if (s->offset[e][i] < 0) near = near && side - x < lj_cutoff + lj_skin;
      }
      if (near) *next++ = (int)p;
    }
    send[e].count = (size_t)(next - send[e].index);
  }
  check(rankwise_neighbors_lists(s->halo, send, NULL)); /* now both ends know how many come */
  s->start[0] = s->count;
  for (int e = 0; e < edges; ++e) {
    check(rankwise_halo_received(s->halo, e, 0, &recv[e].count, NULL));
    recv[e].first = s->start[e];
    recv[e].index = NULL;
    s->start[e + 1] = s->start[e] + recv[e].count;
  }
  check(rankwise_neighbors_places(s->halo, recv));
  free(index);
  s->position = realloc(s->position, (3 * s->start[edges] + 1) * sizeof(double));
  s->force = realloc(s->force, (3 * s->start[edges] + 1) * sizeof(double));
  if (s->position == NULL || s->force == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Forces among the own particles while the ghosts are on their way, then with these; what the ghosts got goes home. Returns
 * this rank's part of the energy. */
static double compute_forces(system_t* s) {
  const double none[3] = {0.0, 0.0, 0.0};
  s->field.data = s->position;
  check(rankwise_halo_start(s->halo, 1, &s->field, NULL));
  memset(s->force, 0, 3 * s->start[edges] * sizeof(double));
  double energy = lj_pairs(s->position, s->force, s->count, s->position, s->force, s->count, none);
  check(rankwise_halo_wait(s->halo));
  for (int e = 0; e < edges; ++e) {
    double shift[3];
    for (int i = 0; i < 3; ++i) {
      const int at = s->coords[i] + s->offset[e][i];
      shift[i] = (at < 0 ? -1 : at >= s->dims[i] ? 1 : 0) * lj_length();
    }
    energy += lj_pairs(s->position, s->force, s->count, s->position + 3 * s->start[e], s->force + 3 * s->start[e],
                       s->start[e + 1] - s->start[e], shift);
  }
  s->field.data = s->force;
  check(rankwise_halo_reduce_start(s->halo, 1, &s->field, NULL, MPI_DOUBLE, MPI_SUM));
  check(rankwise_halo_wait(s->halo));
  return energy;
}

/* Energy and momentum of all ranks. */
static void total(MPI_Comm comm, double potential, const double* velocity, size_t count, double sums[4]) {
  lj_sums(potential, velocity, count, sums);
  MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank;
  const int periods[3] = {1, 1, 1};
  system_t s = {0};
  MPI_Comm cart;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, s.dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, s.dims, periods, 0, &cart);
  MPI_Comm_rank(cart, &rank);
  MPI_Cart_coords(cart, rank, 3, s.coords);
  if (lj_length() / s.dims[0] < lj_cutoff + lj_skin) {
    if (rank == 0) fprintf(stderr, "%d ranks make boxes smaller than the cutoff: start fewer\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t room = 3 * lj_sites * lj_sites * lj_sites;
  double* const velocity = malloc(room * sizeof(double));
  s.position = malloc(room * sizeof(double));
  if (velocity == NULL || s.position == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  s.count = lj_fill(s.dims, s.coords, s.position, velocity);
  check(rankwise_field_default(&s.field));
  s.field.element_bytes = 3 * sizeof(double);
  s.field.stride[0] = 3 * sizeof(double);
  connect(&s, cart);
  make_lists(&s);

  double first[4], last[4];
  double potential = compute_forces(&s);
  total(cart, potential, velocity, s.count, first);
  for (int step = 0; step < lj_steps; ++step) {
    for (size_t i = 0; i < 3 * s.count; ++i) {
      velocity[i] += 0.5 * lj_dt * s.force[i];
      s.position[i] += lj_dt * velocity[i];
    }
    if (step % steps_a_list == 0) make_lists(&s);
    potential = compute_forces(&s);
    for (size_t i = 0; i < 3 * s.count; ++i) velocity[i] += 0.5 * lj_dt * s.force[i];
  }
  total(cart, potential, velocity, s.count, last);
  if (rank == 0) {
    printf("energy_start %.15e\nenergy_end %.15e\nmomentum %.3e %.3e %.3e\n", first[0], last[0], last[1], last[2], last[3]);
  }
  check(rankwise_halo_destroy(&s.halo));
  free(s.force);
  free(s.position);
  free(velocity);
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
