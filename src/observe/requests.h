// What is under way: requests by their handles, with what their completion needs to know.
#ifndef RANKWISE_OBSERVE_REQUESTS_H
#define RANKWISE_OBSERVE_REQUESTS_H

#include "families.h"
#include "store.h"

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
  uint8_t kind, call, persistent, active, used;
};

// Several may have one handle: libraries share one among requests that were complete at once.
struct request* request_add(word handle);
struct request* request_find(word handle);
void request_remove(struct request* request);
// Forgets all but persistent ones: a window has ended.
void requests_forget(void);

extern uint32_t request_serial;    // of the last request
extern uint32_t persistent_count;  // how many persistent ones there are

#endif
