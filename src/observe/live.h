// Where a rank is while it runs: the call that it is in, for a thread of its own that looks twice a second and notes what lasts.
#ifndef RANKWISE_OBSERVE_LIVE_H
#define RANKWISE_OBSERVE_LIVE_H

#include "families.h"
#include "store.h"

struct open_call {
  uint64_t since;  // ticks; 0: the rank is in no call that may wait
  struct call_site* from;
  word what[4];  // partner or count, tag or requests, communicator, source
};
extern struct open_call open_call;

void live_begin(void);
void live_end(void);

static inline void note_requests(word count, word requests) {
  open_call.what[0] = count;
  open_call.what[1] = requests;
}

static inline void note_message(word partner, word tag, word comm) {
  open_call.what[0] = partner;
  open_call.what[1] = tag;
  open_call.what[2] = comm;
}

// Notes whom a call waits for; of the call, which is a constant where this is inlined, the words that add_partners (live.c) reads.
static inline __attribute__((always_inline)) void note_open(const struct site* s, const word* a, uint64_t now) {
  switch (s->call) {
    case CALL_Send:
    case CALL_Bsend:
    case CALL_Ssend:
    case CALL_Rsend:
    case CALL_Recv: note_message(a[3], a[4], a[5]); break;
    case CALL_Probe:
    case CALL_Mprobe: note_message(a[0], a[1], a[2]); break;
    case CALL_Sendrecv:
      note_message(a[3], a[4], a[10]);
      open_call.what[3] = a[8];
      break;
    case CALL_Sendrecv_replace:
      note_message(a[3], a[4], a[7]);
      open_call.what[3] = a[5];
      break;
    case CALL_Wait: note_requests(1, a[0]); break;
    case CALL_Waitall:
    case CALL_Waitany:
    case CALL_Waitsome: note_requests(a[0], a[1]); break;
    case CALL_Barrier: open_call.what[2] = a[0]; break;
    default: open_call.what[2] = s->extra & 0xff00 ? a[s->extra >> 8 & 0xff] : 0;
  }
  open_call.from = s->from;
  open_call.since = now;
}

#endif
