// What handles stand for: communicators, and requests that are under way.
#ifndef RANKWISE_OBSERVE_HANDLES_H
#define RANKWISE_OBSERVE_HANDLES_H

#include "families.h"
#include "store.h"

#include <stddef.h>

// Communicators, windows and types of the program: their numbers, their ranks in the world, their sizes.

struct comm {
  word handle;
  struct comm* next;    // of the same bucket
  uint64_t id, parent;  // as in comm_line; id 0: not known yet
  word group;           // of the ranks that peers are numbers of
  uint32_t made;        // communicators made of this one
  int is_world, is_window, is_inter;
  int number;  // -1: not used yet
  int size;    // of the group
  struct neighbors* neighbors;
};

// Whom a neighbourhood collective sends to, in the order of its blocks; null edges are skipped. Source: whom it hears from (null:
// the same; ranks of the world, -1 none).
struct neighbors {
  int count, sources;
  int32_t* source;
  struct edge* edge[];
};

// A destination: a communicator and a rank in it, looked up once. edge is null until something is sent.
struct hit {
  word comm;
  int32_t peer, world;
  struct edge* edge;
  int number;
};

enum { HITS = 256, TYPES = 64 };
extern struct hit hits[HITS];
struct type_size {
  word type;
  int64_t bytes;
};
extern struct type_size type_sizes[TYPES];

// Learns the world: its group, this rank. Returns whether it could be learnt. session: an MPI session, or 0.
int world_open(word session, int* rank, int* ranks);

struct comm* comm_of(word handle, int is_window);
struct comm* comm_known(word handle);
// The first of those among which a handle's is.
struct comm* comm_bucket(word handle);
int number_of(struct comm* comm);
int world_rank(struct comm* comm, int rank);
struct neighbors* neighbors_of(struct comm* comm);
void comm_forget(word handle);
void comm_made_of(word parent, word handle);
void type_forget(word type);

// Entries of an array of counts on a communicator, of what is sent or received; whether this rank is the root.
int64_t entries_of(word comm);
int64_t entries_of_neighbors(word comm, int sent);
int is_root(word comm, int root);
int rank_of(word comm);

struct hit* find_hit(word comm, int peer, int is_window);
int64_t find_type_size(word type);
int is_commutative(word op);

static inline struct hit* hit_of(word comm, int peer) {
  struct hit* hit = &hits[((uint32_t)(comm >> 4) ^ (uint32_t)comm ^ (uint32_t)peer * 5) % HITS];
  return __builtin_expect(hit->comm == comm && hit->peer == peer && hit->edge, 1) ? hit : find_hit(comm, peer, 0);
}

static inline int64_t size_of_type(word type) {
  struct type_size* line = &type_sizes[(type ^ type >> 6 ^ type >> 12) % TYPES];
  return __builtin_expect(line->type == type, 1) ? line->bytes : find_type_size(type);
}

// What is under way: requests by their handles, with what their completion needs to know.

enum request_kind { OF_SEND, OF_RECEIVE, OF_BOTH, OF_COLLECTIVE, OF_NOTHING };

// What starting a persistent collective counts.
struct plan {
  int call, root, number;
  uint64_t bytes;
  int edges;
  struct {
    struct edge* edge;
    uint64_t bytes;
  } to[];
};

struct request {
  word handle;
  word comm;
  struct edge* edge;
  struct plan* plan;
  int64_t bytes;
  uint32_t serial;
  int32_t peer, tag;
  uint16_t number;  // of the communicator
  uint8_t kind, call, persistent, active, used, cancelled;
};

// Several may have one handle: libraries share one among requests that were complete at once.
struct request* request_add(word handle);
struct request* request_find(word handle);
void request_remove(struct request* request);
// Copies a request from another thread, by what reads memory that may vanish; returns whether there is one.
int request_peek(word handle, struct request* copy, int (*peek)(void* copy, word from, size_t bytes));
// Forgets all but persistent ones: a window has ended.
void requests_forget(void);

extern uint32_t request_serial;    // of the last request
extern uint32_t persistent_count;  // how many persistent ones there are

#endif
