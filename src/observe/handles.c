#include "handles.h"

#include <stdlib.h>
#include <string.h>

struct hit hits[HITS];
struct type_size type_sizes[TYPES];

enum { BUCKETS = 1024, UNDEFINED = -32766 };
static struct comm* buckets[BUCKETS];
static word world_group;

// The MPI's own functions, which the program's calls do not see.
#define OWN(name)                           \
  static void* own;                         \
  if (!own) own = mpi_symbol("PMPI_" name); \
  if (!own) own = mpi_symbol("MPI_" name)
#define CALL_OWN(...) (((int (*)())own)(__VA_ARGS__))

static int translate(word from, int rank) {
  OWN("Group_translate_ranks");
  int32_t in = rank, out = UNDEFINED;
  if (CALL_OWN(from, (word)1, &in, world_group, &out)) return -1;
  return out == UNDEFINED || out == mpi.proc_null ? -1 : out;
}

// What the MPI says of a handle; 0 where it does not.
#define ASKED(FUNCTION, name)                                \
  FUNCTION(word handle) {                                    \
    OWN(name);                                               \
    int32_t value = 0;                                       \
    return own && CALL_OWN(handle, &value) == 0 ? value : 0; \
  }
ASKED(static int size_of_comm, "Comm_size")
ASKED(static int remote_size, "Comm_remote_size")
ASKED(static int is_inter, "Comm_test_inter")
ASKED(static int group_size, "Group_size")
ASKED(static int dimensions_of, "Cartdim_get")
ASKED(static int topology_of, "Topo_test")
ASKED(int rank_of, "Comm_rank")

static word group_of(const struct comm* comm) {
  word group = 0;
  if (comm->is_window) {
    OWN("Win_get_group");
    CALL_OWN(comm->handle, &group);
  } else if (comm->is_inter) {
    OWN("Comm_remote_group");
    CALL_OWN(comm->handle, &group);
  } else {
    OWN("Comm_group");
    CALL_OWN(comm->handle, &group);
  }
  return group;
}

int world_open(word session, int* rank, int* ranks) {
  if (session) {
    OWN("Group_from_session_pset");
    if (!own || CALL_OWN(session, "mpi://WORLD", &world_group)) return 0;
  } else {
    OWN("Comm_group");
    if (!own || CALL_OWN(mpi.world, &world_group)) return 0;
  }
  OWN("Group_rank");
  int32_t value = -1;
  if (!own || CALL_OWN(world_group, &value) || value < 0) return 0;
  *rank = value;
  *ranks = group_size(world_group);
  return *ranks > 0;
}

static uint64_t mix(uint64_t a, uint64_t b) {
  a = (a ^ b) * UINT64_C(0x9E3779B97F4A7C15);
  return a ^ a >> 29;
}

static struct comm** bucket_of(word handle) { return &buckets[(handle ^ handle >> 5 ^ handle >> 13) % BUCKETS]; }

struct comm* comm_bucket(word handle) { return *bucket_of(handle); }

struct comm* comm_known(word handle) {
  struct comm* comm = *bucket_of(handle);
  while (comm && comm->handle != handle) comm = comm->next;
  return comm;
}

struct comm* comm_of(word handle, int is_window) {
  struct comm* comm = comm_known(handle);
  if (!comm) {
    comm = calloc(1, sizeof *comm);
    if (!comm) abort();
    *comm = (struct comm){.handle = handle, .number = -1, .is_window = is_window, .next = *bucket_of(handle)};
    *bucket_of(handle) = comm;
  }
  if (!comm->group) {
    comm->is_world = !is_window && handle == mpi.world;
    comm->is_inter = !is_window && !comm->is_world && is_inter(handle);
    comm->group = group_of(comm);
    comm->size = group_size(comm->group);
  }
  return comm;
}

int world_rank(struct comm* comm, int rank) {
  if (rank < 0) return -1;
  return comm->is_world ? rank : translate(comm->group, rank);
}

int number_of(struct comm* comm) {
  if (comm->number >= 0) return comm->number;
  int leader = world_rank(comm, 0);
  uint64_t id = comm->id;
  if (comm->is_inter) {
    // Both sides see the other's group: what they have in common is the pair of leaders.
    OWN("Comm_group");
    word group = 0;
    CALL_OWN(comm->handle, &group);
    int local = translate(group, 0);
    id = mix(mix((uint64_t)(leader < local ? leader : local) + 7, (uint64_t)(leader < local ? local : leader)), 77);
  } else if (!id) {
    id = mix(mix((uint64_t)comm->size, comm->is_window ? 3 : comm->is_world ? 1 : 2), 5);
  }
  comm->number = number_comm((struct comm_line){mix(id, (uint64_t)(comm->is_inter ? 0 : leader)), (uint32_t)comm->size, leader,
                                                comm->is_window ? -1 : rank_of(comm->handle), (uint32_t)comm->is_inter});
  return comm->number;
}

void comm_made_of(word parent, word handle) {
  if (handle == mpi.null_comm || !handle) return;
  comm_forget(handle);
  struct comm *from = comm_of(parent, 0), *comm = comm_of(handle, 0);
  uint64_t of = from->id ? from->id : mix((uint64_t)from->size, (uint64_t)world_rank(from, 0));
  comm->id = mix(mix(of, from->made), 11);
}

void comm_forget(word handle) {
  for (struct comm** at = bucket_of(handle); *at; at = &(*at)->next) {
    struct comm* comm = *at;
    if (comm->handle != handle) continue;
    *at = comm->next;
    if (comm->group) {
      OWN("Group_free");
      CALL_OWN(&comm->group);
    }
    if (comm->neighbors) free(comm->neighbors->source);
    free(comm->neighbors);
    free(comm);
    break;
  }
  for (int i = 0; i < HITS; i++) {
    if (hits[i].comm == handle) hits[i] = (struct hit){0};
  }
}

void type_forget(word type) {
  for (int i = 0; i < TYPES; i++) {
    if (type_sizes[i].type == type) type_sizes[i] = (struct type_size){0};
  }
}

struct hit* find_hit(word handle, int peer, int is_window) {
  struct hit* hit = &hits[((uint32_t)(handle >> 4) ^ (uint32_t)handle ^ (uint32_t)peer * 5) % HITS];
  if (hit->comm == handle && hit->peer == peer && hit->edge) return hit;
  struct comm* comm = comm_of(handle, is_window);
  int is_rank = peer >= 0 && peer != mpi.proc_null && peer < comm->size;
  int world = is_rank ? world_rank(comm, peer) : -1;
  struct edge* edge = is_rank && world < 0 ? edge_beyond() : edge_of(world);
  *hit = (struct hit){handle, peer, world, edge, is_window ? -1 : number_of(comm)};
  return hit;
}

int is_commutative(word op) {
  OWN("Op_commutative");
  int32_t commutes = 1;
  if (own) CALL_OWN(op, &commutes);
  return commutes != 0;
}

int64_t find_type_size(word type) {
  OWN("Type_size_x");
  int64_t bytes = 0;
  if (own) {
    CALL_OWN(type, &bytes);
  } else {
    static void* plain;
    if (!plain) plain = mpi_symbol("MPI_Type_size");
    int32_t few = 0;
    ((int (*)(word, int32_t*))plain)(type, &few);
    bytes = few;
  }
  if (bytes < 0) bytes = 0;
  type_sizes[(type ^ type >> 6 ^ type >> 12) % TYPES] = (struct type_size){type, bytes};
  return bytes;
}

// Neighbours.

static void add(struct neighbors* list, struct comm* comm, int rank) {
  list->edge[list->count++] = rank < 0 ? NULL : edge_of(world_rank(comm, rank));
}

static struct neighbors* room_for(int64_t count) {
  struct neighbors* list = calloc(1, sizeof *list + (size_t)count * sizeof list->edge[0]);
  if (!list) abort();
  return list;
}

static struct neighbors* of_cart(struct comm* comm) {
  int dimensions = dimensions_of(comm->handle);
  struct neighbors* list = room_for(2 * (int64_t)dimensions);
  static void* shift;
  if (!shift) shift = mpi_symbol("PMPI_Cart_shift");
  if (!shift) shift = mpi_symbol("MPI_Cart_shift");
  for (int i = 0; i < dimensions; i++) {
    int32_t below = mpi.proc_null, above = mpi.proc_null;
    ((int (*)(word, word, word, int32_t*, int32_t*))shift)(comm->handle, (word)i, 1, &below, &above);
    add(list, comm, below);
    add(list, comm, above);
  }
  list->sources = list->count;
  return list;
}

static struct neighbors* of_dist_graph(struct comm* comm) {
  int32_t in = 0, out = 0, weighted = 0;
  {
    OWN("Dist_graph_neighbors_count");
    CALL_OWN(comm->handle, &in, &out, &weighted);
  }
  struct neighbors* list = room_for(out);
  list->sources = in;
  int32_t* ranks = calloc((size_t)(2 * (in + out) + 4), sizeof *ranks);
  if (!ranks) abort();
  OWN("Dist_graph_neighbors");
  CALL_OWN(comm->handle, (word)in, ranks, ranks + in + 1, (word)out, ranks + 2 * in + 2, ranks + 2 * in + out + 3);
  for (int i = 0; i < out; i++) add(list, comm, ranks[2 * in + 2 + i]);
  list->source = calloc((size_t)in + 1, sizeof *list->source);
  if (!list->source) abort();
  for (int i = 0; i < in; i++) list->source[i] = world_rank(comm, ranks[i]);
  free(ranks);
  return list;
}

static struct neighbors* of_graph(struct comm* comm) {
  int32_t count = 0;
  word rank = (word)rank_of(comm->handle);
  {
    OWN("Graph_neighbors_count");
    CALL_OWN(comm->handle, rank, &count);
  }
  struct neighbors* list = room_for(count);
  list->sources = count;
  int32_t* ranks = calloc((size_t)count + 1, sizeof *ranks);
  if (!ranks) abort();
  OWN("Graph_neighbors");
  CALL_OWN(comm->handle, rank, (word)count, ranks);
  for (int i = 0; i < count; i++) add(list, comm, ranks[i]);
  free(ranks);
  return list;
}

struct neighbors* neighbors_of(struct comm* comm) {
  if (comm->neighbors) return comm->neighbors;
  int kind = topology_of(comm->handle);
  comm->neighbors = kind == mpi.cart         ? of_cart(comm)
                    : kind == mpi.dist_graph ? of_dist_graph(comm)
                    : kind == mpi.graph      ? of_graph(comm)
                                             : room_for(0);
  return comm->neighbors;
}

int64_t entries_of(word handle) {
  handle = handle_of(handle);
  return is_inter(handle) ? remote_size(handle) : size_of_comm(handle);
}

int64_t entries_of_neighbors(word handle, int sent) {
  struct neighbors* list = neighbors_of(comm_of(handle_of(handle), 0));
  return sent ? list->count : list->sources;
}

int is_root(word comm, int root) { return root == -3 || root == -4 || rank_of(handle_of(comm)) == root; }

uint32_t request_serial, persistent_count;

static struct request* table;
static uint32_t size, used;

static uint32_t place_of(word handle) {
  return (uint32_t)(((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (size - 1);
}

static struct request* free_place(word handle) {
  uint32_t i = place_of(handle);
  while (table[i].used) i = (i + 1) & (size - 1);
  return &table[i];
}

static void rebuild(uint32_t new_size, int persistent_only) {
  struct request* old = table;
  uint32_t old_size = size;
  table = calloc(new_size, sizeof *table);
  if (!table) abort();
  size = new_size;
  used = 0;
  for (uint32_t i = 0; i < old_size; i++) {
    if (!old[i].used || (persistent_only && !old[i].persistent)) continue;
    *free_place(old[i].handle) = old[i];
    used++;
  }
  free(old);
}

struct request* request_add(word handle) {
  if (2 * (used + 1) > size) rebuild(size ? 2 * size : 256, 0);
  struct request* request = free_place(handle);
  memset(request, 0, sizeof *request);
  request->handle = handle;
  request->used = 1;
  used++;
  return request;
}

struct request* request_find(word handle) {
  if (!used) return NULL;
  for (uint32_t i = place_of(handle); table[i].used; i = (i + 1) & (size - 1)) {
    if (table[i].handle == handle) return &table[i];
  }
  return NULL;
}

int request_peek(word handle, struct request* copy, int (*peek)(void* copy, word from, size_t bytes)) {
  struct request* first = table;
  uint32_t last = size;
  for (uint32_t i = 0; first && i < last; i++) {
    uint32_t place = ((uint32_t)(((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >> 32) + i) & (last - 1);
    if (!peek(copy, (word)&first[place], sizeof *copy) || !copy->used) return 0;
    if (copy->handle == handle) return 1;
  }
  return 0;
}

void request_remove(struct request* request) {
  if (request->persistent) {
    persistent_count--;
    free(request->plan);
  }
  uint32_t hole = (uint32_t)(request - table);
  table[hole].used = 0;
  used--;
  // What was pushed past the hole moves up, so that it is found without it.
  for (uint32_t i = (hole + 1) & (size - 1); table[i].used; i = (i + 1) & (size - 1)) {
    uint32_t home = place_of(table[i].handle);
    if (((i - home) & (size - 1)) < ((i - hole) & (size - 1))) continue;
    table[hole] = table[i];
    table[i].used = 0;
    hole = i;
  }
}

void requests_forget(void) {
  if (used) rebuild(size, 1);
}
