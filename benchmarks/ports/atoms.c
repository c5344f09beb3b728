/* The ghosts of atoms by rankwise: a halo of lists for each axis, as what came over one goes on over the next. */
#include "atoms.h"

#include <stdlib.h>

#include "port.h"

typedef struct {
  rankwise_halo halo;
  rankwise_list send[2], recv[2];
} Axis; /* edge 0 goes down, edge 1 up */
static Axis axes[3];
static int* index_of;

static void create(const Atoms* s) {
  const int key[2] = {0, 1};
  for (int a = 0; a < 3; ++a) {
    int beside[2];
    MPI_Cart_shift(s->cart, a, 1, &beside[0], &beside[1]);
    check(rankwise_neighbors_create(s->cart, 2, beside, key, 2, (int[2]){beside[1], beside[0]}, key, &axes[a].halo));
  }
  index_of = malloc(2 * (size_t)s->room * sizeof *index_of);
}

static void make_lists(Atoms* s, int a) {
  Axis* axis = &axes[a];
  int* next = index_of;
  for (int e = 0; e < 2; ++e) {
    axis->send[e].index = next;
    for (int p = 0; p < s->all; ++p) {
      if (atoms_near(s, a, s->x[3 * p + a], e == 0 ? -1 : 1)) *next++ = p;
    }
    axis->send[e].count = (size_t)(next - axis->send[e].index);
  }
  check(rankwise_neighbors_lists(axis->halo, axis->send, NULL)); /* now both ends know how many come */
  for (int e = 0; e < 2; ++e) {
    check(rankwise_halo_received(axis->halo, e, 0, &axis->recv[e].count, NULL));
    axis->recv[e].first = (size_t)s->all;
    s->all += (int)axis->recv[e].count;
  }
  if (s->all > s->room) MPI_Abort(s->cart, 4);
  check(rankwise_neighbors_places(axis->halo, axis->recv));
}

void port(void* atoms, void* what) {
  Atoms* s = atoms;
  const int is_new = *(int*)what == BORDERS;
  const rankwise_field force = elements(s->f, 24), field[2] = {elements(s->x, 24), elements(s->id, sizeof *s->id)};
  if (axes[0].halo == NULL) create(s);
  if (is_new) s->all = s->own;
  for (int a = 2; a >= 0 && *(int*)what == REVERSE; --a) {
    check(rankwise_halo_reduce_start(axes[a].halo, 1, &force, NULL, MPI_DOUBLE, MPI_SUM));
    check(rankwise_halo_wait(axes[a].halo));
  }
  for (int a = 0; a < 3 && *(int*)what != REVERSE; ++a) {
    if (is_new) make_lists(s, a);
    check(rankwise_halo_start(axes[a].halo, is_new ? 2 : 1, field, NULL));
    check(rankwise_halo_wait(axes[a].halo));
    for (int e = 0; e < 2; ++e) { /* what came downwards over the border lies above here, and the other way round */
      const double shift = atoms_shift(s, a, e == 0 ? 1 : -1);
      const size_t first = axes[a].recv[e].first;
      for (size_t p = first; shift != 0.0 && p < first + axes[a].recv[e].count; ++p) s->x[3 * p + a] -= shift;
    }
  }
}
