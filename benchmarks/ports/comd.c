/* CoMD's atom halo by rankwise, atoms that have left their box among them: each goes once to a rank, which makes its images. */
#include <rankwise/rankwise.h>
#include <stdlib.h>

#include "CoMDTypes.h"
#include "port.h"

static rankwise_halo halo;
static int ranks, rank[26], *index_of;
static char* goes[26]; /* whether what a link cell holds goes to a rank */

static void create(SimFlat* s) {
  const int *n = s->boxes->gridSize, key[26] = {0};
  for (int o = 0; o < 27; o += o == 12 ? 2 : 1) {
    const int d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1}, peer = processorNum(s->domain, d[0], d[1], d[2]);
    int e = 0, low[3], high[3];
    while (e < ranks && rank[e] != peer) ++e;
    if (e == ranks) rank[e] = peer, goes[ranks++] = calloc(s->boxes->nTotalBoxes, 1);
    for (int a = 0; a < 3; ++a) low[a] = d[a] > 0 ? n[a] - 1 : -1, high[a] = d[a] < 0 ? 0 : n[a];
    for (int x = low[0]; x <= high[0]; ++x)
      for (int y = low[1]; y <= high[1]; ++y)
        for (int z = low[2]; z <= high[2]; ++z) goes[e][getBoxFromTuple(s->boxes, x, y, z)] = 1;
  }
  index_of = malloc((size_t)ranks * s->boxes->nTotalBoxes * MAXATOMS * sizeof *index_of);
  check(rankwise_neighbors_create(MPI_COMM_WORLD, ranks, rank, key, ranks, rank, key, &halo));
  check(rankwise_neighbors_capacity(halo, (const size_t[26]){0})); /* they grow to what comes */
}

static int inside(const LinkCell* b, int axis, real_t x) { /* the box and the cells around it */
  const real_t cell = (x - b->localMin[axis]) * b->invBoxSize[axis];
  return cell >= -1 && cell < b->gridSize[axis] + 1;
}

static void put(SimFlat* s, int gid, int species, const real_t* r, const real_t* p, int is_own) {
  const real_t* length = s->domain->globalExtent;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1 && inside(s->boxes, 0, r[0] + i * length[0]); ++j)
      for (int k = -1; k <= 1 && inside(s->boxes, 1, r[1] + j * length[1]); ++k)
        if (inside(s->boxes, 2, r[2] + k * length[2]) && !(is_own && i == 0 && j == 0 && k == 0))
          putAtomInBox(s->boxes, s->atoms, gid, species, r[0] + i * length[0], r[1] + j * length[1], r[2] + k * length[2], p[0],
                       p[1], p[2]);
}

void port(void* unused, void* data) {
  SimFlat* s = data;
  const Atoms* a = s->atoms;
  const rankwise_field field[4] = {elements(a->r, 24), elements(a->p, 24), elements(a->gid, 4), elements(a->iSpecies, 4)};
  rankwise_list list[26];
  if (halo == NULL) create(s);
  for (int e = 0, n = 0; e < ranks; ++e) {
    list[e].index = index_of + n;
    for (int box = 0; box < s->boxes->nTotalBoxes; ++box)
      for (int i = 0; goes[e][box] && i < s->boxes->nAtoms[box]; ++i) index_of[n++] = box * MAXATOMS + i;
    list[e].count = index_of + n - list[e].index;
  }
  check(rankwise_neighbors_lists(halo, list, NULL));
  check(rankwise_halo_start(halo, 4, field, NULL));
  check(rankwise_halo_wait(halo));
  for (int e = 0; e < ranks; ++e) {
    const void* came[4];
    size_t n;
    for (int f = 0; f < 4; ++f) check(rankwise_halo_received(halo, e, f, &n, &came[f]));
    for (size_t i = 0; i < n; ++i)
      put(s, ((const int*)came[2])[i], ((const int*)came[3])[i], (const real_t*)came[0] + 3 * i, (const real_t*)came[1] + 3 * i,
          rank[e] == processorNum(s->domain, 0, 0, 0));
  }
}
