// What is noted of calls within windows of events, and of requests and collectives always. Not inlined.
#ifndef RANKWISE_OBSERVE_EVENTS_H
#define RANKWISE_OBSERVE_EVENTS_H

#include "families.h"
#include "handles.h"

// A call and the ticks around it.
struct span {
  uint64_t start, end;
  int result, seen;  // seen: within a window of events
};

struct message {
  int peer;  // world rank, -1: none or any
  int tag, number;
  int64_t bytes;
};

// Where the parts of a wait or test stand; 0: it has none (a request stands first).
struct waiting {
  word requests;
  int count;
  int single;  // one status, not one for each request
  int flag, status, indices, found;
};

enum form {
  FORM_BARRIER,
  FORM_BCAST,
  FORM_GATHER,
  FORM_GATHERV,
  FORM_SCATTER,
  FORM_SCATTERV,
  FORM_ALLGATHER,
  FORM_ALLGATHERV,
  FORM_ALLTOALL,
  FORM_ALLTOALLV,
  FORM_ALLTOALLW,
  FORM_REDUCE,
  FORM_REDUCE_SCATTER,
  FORM_REDUCE_BLOCK,
  FORM_NEIGHBOR_SAME,
  FORM_NEIGHBOR_V,
  FORM_NEIGHBOR_W
};

// A collective call: bytes are what this rank contributes (of alltoall to all, of scatter and bcast a rank's share).
struct collected {
  int root, number;
  uint64_t bytes;
  struct neighbors* neighbors;
};

// A test or probe that found nothing; and a call that found something, from when the polls before it began: as long before it
// as these took, that what was computed in between stays so.
void note_poll(const struct site* site, const struct span* span);
struct span since_polls(struct span span);

void event_of_time(const struct site* site, const struct span* span);
void event_of_level(const struct site* site, const struct span* span, int level);
// One-sided: target is the rank whose window is written or read.
void event_of_access(const struct site* site, const struct span* span, int target, int64_t bytes);
// request: address of the request that the call made, or 0.
void event_of_send(const struct site* site, const struct span* span, int kind, struct message message, word request);
void event_of_receive(const struct site* site, const struct span* span, word comm, const void* status, uint32_t serial);
void event_of_posted_receive(const struct site* site, const struct span* span, const word* a, int big);
void event_of_matched_receive(const struct site* site, const struct span* span, word comm, word request);
void event_of_both(const struct site* site, const struct span* span, struct message sent, int from, int tag, word comm,
                   word request);

void keep_persistent(const struct site* site, int kind, struct message message, struct edge* edge, word request, word comm);
// source: where the source stands, with tag and communicator behind it and the request last.
void keep_persistent_receive(const struct site* site, const word* a, int64_t bytes, int source);
void count_started(const struct site* site, const struct span* span, word handle);

// Matched probes: the communicator of a message, until it is received.
void note_matched(const struct site* site, const struct span* span, const word* a);
word matched_comm(word message);

// Calls a wait or test and notes the requests that it completed.
int wait_for(const struct site* site, word* a, struct waiting at);

struct collected collected(const struct site* site, const word* a);
void count_collected(const struct site* site, const word* a, const struct collected* what);
void event_of_collective(const struct site* site, const struct span* span, const word* a, const struct collected* what,
                         word request);
void keep_collective(const struct site* site, const word* a, const struct collected* what);

void note_made(word parent, word handle);
void note_cart(const word* a);

void lock_threads(void);
void unlock_threads(void);

#endif
