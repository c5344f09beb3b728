/* What CoMD's EAM forces need of atoms around the box, by rankwise: an edge to each of the 26 boxes around the own one. */
#include <stdlib.h>
#include <string.h>

#include "CoMDTypes.h"
#include "eam.h"
#include "port.h"

enum { EDGES = 26 };
static rankwise_halo halo;
static Domain* domain;
static int *index_of, cells[EDGES], *owned[EDGES], *ghosts[EDGES]; /* link cells that an edge sends, and those that it fills */

HaloExchange* __real_initForceHaloExchange(Domain* of, LinkCell* boxes);

HaloExchange* __wrap_initForceHaloExchange(Domain* of, LinkCell* boxes) {
  return __real_initForceHaloExchange(domain = of, boxes);
}

static void create(LinkCell* b) {
  const int* n = b->gridSize;
  int to[EDGES], from[EDGES], key[EDGES];
  for (int e = 0; e < EDGES; ++e) {
    const int o = e < 13 ? e : e + 1, d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
    int low[3], high[3];
    for (int a = 0; a < 3; ++a) low[a] = d[a] > 0 ? n[a] - 1 : 0, high[a] = d[a] < 0 ? 0 : n[a] - 1;
    to[e] = processorNum(domain, d[0], d[1], d[2]);
    from[e] = processorNum(domain, -d[0], -d[1], -d[2]);
    key[e] = e;
    owned[e] = malloc(b->nLocalBoxes * sizeof(int));
    ghosts[e] = malloc(b->nLocalBoxes * sizeof(int));
    for (int z = low[2]; z <= high[2]; ++z)
      for (int y = low[1]; y <= high[1]; ++y)
        for (int x = low[0]; x <= high[0]; ++x) {
          owned[e][cells[e]] = getBoxFromTuple(b, x, y, z);
          ghosts[e][cells[e]++] = getBoxFromTuple(b, x - d[0] * n[0], y - d[1] * n[1], z - d[2] * n[2]);
        }
  }
  index_of = malloc(7 * (size_t)b->nLocalBoxes * MAXATOMS * sizeof *index_of);
  check(rankwise_neighbors_create(MPI_COMM_WORLD, EDGES, to, key, EDGES, from, key, &halo));
  check(rankwise_neighbors_capacity(halo, (const size_t[EDGES]){0})); /* they grow to what comes */
}

void port(void* unused, void* data) {
  const LinkCell* b = ((ForceExchangeData*)data)->boxes;
  real_t* values = ((ForceExchangeData*)data)->dfEmbed;
  const rankwise_field field = elements(values, sizeof(real_t));
  rankwise_list send[EDGES];
  if (halo == NULL) create(((ForceExchangeData*)data)->boxes);
  for (int e = 0, n = 0; e < EDGES; ++e) {
    send[e].index = index_of + n;
    for (int c = 0; c < cells[e]; ++c)
      for (int i = 0; i < b->nAtoms[owned[e][c]]; ++i) index_of[n++] = owned[e][c] * MAXATOMS + i;
    send[e].count = index_of + n - send[e].index;
  }
  check(rankwise_neighbors_lists(halo, send, NULL));
  check(rankwise_halo_start(halo, 1, &field, NULL));
  check(rankwise_halo_wait(halo));
  for (int e = 0; e < EDGES; ++e) {
    const void* came;
    size_t n;
    check(rankwise_halo_received(halo, e, 0, &n, &came));
    for (int c = 0; c < cells[e]; came = (const real_t*)came + b->nAtoms[ghosts[e][c++]])
      memcpy(values + ghosts[e][c] * MAXATOMS, came, b->nAtoms[ghosts[e][c]] * sizeof(real_t));
  }
}
