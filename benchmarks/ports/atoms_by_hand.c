/* Ghosts axis by axis: what came over the axes before goes on, six messages in all; nothing is sent to oneself. */
#include <stdlib.h>

#include "atoms.h"

typedef struct {
  int to, from, sent, *list, first, came;
  double shift[3];
} Swap;
static Swap swaps[6];
static double *out, *in;

static void pass(const Atoms* s, const void* sent, int nsent, int to, void* came, int ncame, int from, MPI_Datatype type) {
  MPI_Request request;
  MPI_Irecv(came, ncame, type, from, 0, s->cart, &request);
  MPI_Send(sent, nsent, type, to, 0, s->cart);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void forward(Atoms* s, const Swap* w, int rank) {
  double* packed = w->to == rank ? s->x + 3 * w->first : out;
  for (int i = 0; i < w->sent; ++i) {
    for (int a = 0; a < 3; ++a) packed[3 * i + a] = s->x[3 * w->list[i] + a] + w->shift[a];
  }
  if (w->to != rank) pass(s, out, 3 * w->sent, w->to, s->x + 3 * w->first, 3 * w->came, w->from, MPI_DOUBLE);
}

static void reverse(Atoms* s, const Swap* w, int rank) {
  const double* came = w->to == rank ? s->f + 3 * w->first : in;
  if (w->to != rank) pass(s, s->f + 3 * w->first, 3 * w->came, w->from, in, 3 * w->sent, w->to, MPI_DOUBLE);
  for (int i = 0; i < w->sent; ++i) {
    for (int a = 0; a < 3; ++a) s->f[3 * w->list[i] + a] += came[3 * i + a];
  }
}

static void borders(Atoms* s, int rank) {
  if (out == NULL) {
    out = malloc(3 * s->room * sizeof *out);
    in = malloc(3 * s->room * sizeof *in);
    for (int i = 0; i < 6; ++i) swaps[i].list = malloc(s->room * sizeof(int));
  }
  s->all = s->own;
  for (int i = 0; i < 6; ++i) {
    Swap* w = &swaps[i];
    const int axis = i / 2, side = i % 2 == 0 ? -1 : 1, known = i % 2 == 0 ? s->all : swaps[i - 1].first;
    MPI_Cart_shift(s->cart, axis, side, &w->from, &w->to);
    w->sent = 0;
    for (int p = 0; p < known; ++p) {
      if (atoms_near(s, axis, s->x[3 * p + axis], side)) w->list[w->sent++] = p;
    }
    for (int a = 0; a < 3; ++a) w->shift[a] = a == axis ? atoms_shift(s, axis, side) : 0.0;
    w->first = s->all;
    pass(s, &w->sent, 1, w->to, &w->came, 1, w->from, MPI_INT);
    if (s->all + w->came > s->room) MPI_Abort(s->cart, 4);
    s->all += w->came;
    int* ids = (int*)out;
    for (int p = 0; p < w->sent; ++p) ids[p] = s->id[w->list[p]];
    pass(s, ids, w->sent, w->to, s->id + w->first, w->came, w->from, MPI_INT);
    forward(s, w, rank);
  }
}

void exchange(void* atoms, void* what) {
  Atoms* s = atoms;
  int rank;
  MPI_Comm_rank(s->cart, &rank);
  if (*(int*)what == BORDERS) borders(s, rank);
  for (int i = 0; *(int*)what == FORWARD && i < 6; ++i) forward(s, &swaps[i], rank);
  for (int i = 5; *(int*)what == REVERSE && i >= 0; --i) reverse(s, &swaps[i], rank);
}
