/* What CoMD's EAM forces need of atoms around the box, by rankwise: each number once to a rank, which fills all its ghosts. */
#include <stdlib.h>
#include <string.h>

#include "CoMDTypes.h"
#include "eam.h"
#include "port.h"

static rankwise_halo halo;
static Domain* domain;
static int ranks, rank[26], pairs[26], *index_of, *at; /* at[c]: where the numbers of a rank's cell c begin in what came */
static struct {
  int cell, ghost;
}* pair[26];           /* a cell of a rank, and a link cell here with the same atoms */
static char* goes[26]; /* whether what a cell holds goes to a rank */

HaloExchange* __real_initForceHaloExchange(Domain* of, LinkCell* b);

HaloExchange* __wrap_initForceHaloExchange(Domain* of, LinkCell* b) { return __real_initForceHaloExchange(domain = of, b); }

static void create(LinkCell* b) {
  const int *n = b->gridSize, key[26] = {0};
  for (int o = 0; o < 27; o += o == 12 ? 2 : 1) {
    const int d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1}, peer = processorNum(domain, d[0], d[1], d[2]);
    int e = 0, low[3], high[3];
    while (e < ranks && rank[e] != peer) ++e;
    if (e == ranks) rank[ranks++] = peer, goes[e] = calloc(b->nLocalBoxes, 1), pair[e] = malloc(b->nHaloBoxes * sizeof **pair);
    for (int a = 0; a < 3; ++a) low[a] = d[a] > 0 ? n[a] - 1 : 0, high[a] = d[a] < 0 ? 0 : n[a] - 1;
    for (int z = low[2]; z <= high[2]; ++z)
      for (int y = low[1]; y <= high[1]; ++y)
        for (int x = low[0]; x <= high[0]; ++x) { /* the cell on the other side of the border has a ghost here */
          goes[e][getBoxFromTuple(b, x, y, z)] = 1;
          pair[e][pairs[e]].cell = getBoxFromTuple(b, x + d[0] * (1 - n[0]), y + d[1] * (1 - n[1]), z + d[2] * (1 - n[2]));
          pair[e][pairs[e]++].ghost = getBoxFromTuple(b, x + d[0], y + d[1], z + d[2]);
        }
  }
  index_of = malloc(ranks * b->nLocalBoxes * MAXATOMS * sizeof *index_of);
  at = malloc(b->nLocalBoxes * sizeof *at);
  check(rankwise_neighbors_create(MPI_COMM_WORLD, ranks, rank, key, ranks, rank, key, &halo));
  check(rankwise_neighbors_capacity(halo, (const size_t[26]){0})); /* they grow to what comes */
}

void port(void* unused, void* data) {
  LinkCell* b = ((ForceExchangeData*)data)->boxes;
  real_t* values = ((ForceExchangeData*)data)->dfEmbed;
  const rankwise_field field = elements(values, sizeof(real_t));
  rankwise_list send[26];
  if (halo == NULL) create(b);
  for (int e = 0, n = 0; e < ranks; send[e].count = index_of + n - send[e].index, ++e) {
    send[e].index = index_of + n;
    for (int c = 0; c < b->nLocalBoxes; ++c)
      for (int i = 0; goes[e][c] && i < b->nAtoms[c]; ++i) index_of[n++] = c * MAXATOMS + i;
  }
  check(rankwise_neighbors_lists(halo, send, NULL));
  check(rankwise_halo_start(halo, 1, &field, NULL));
  check(rankwise_halo_wait(halo));
  for (int e = 0; e < ranks; ++e) {
    const void* came;
    size_t n;
    check(rankwise_halo_received(halo, e, 0, &n, &came));
    memset(at, 0, b->nLocalBoxes * sizeof *at);
    for (int p = 0; p < pairs[e]; ++p) at[pair[e][p].cell] = b->nAtoms[pair[e][p].ghost];
    for (int c = 0, sum = 0; c < b->nLocalBoxes; ++c) at[c] = (sum += at[c]) - at[c];
    for (int p = 0; p < pairs[e]; ++p)
      memcpy(values + pair[e][p].ghost * MAXATOMS, (const real_t*)came + at[pair[e][p].cell],
             b->nAtoms[pair[e][p].ghost] * sizeof(real_t));
  }
}
