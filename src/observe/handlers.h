// What is done around each kind of call. All are inlined into the functions that take MPI's places, where the call, its number
// of arguments and its flavour are constants; what happens only within windows of events is not.
#ifndef RANKWISE_OBSERVE_HANDLERS_H
#define RANKWISE_OBSERVE_HANDLERS_H

#include "call_sites.h"
#include "families.h"
#include "handles.h"
#include "events.h"
#include "live.h"

#define HANDLER static inline __attribute__((always_inline)) int

HANDLER invoke(const struct site s, word* a) {
  if (__builtin_expect(s.function == ABSENT, 0)) return call_absent(&s, a);
  switch (s.arguments) {
    case 1: return ((int (*)(word))s.function)(a[0]);
    case 2: return ((int (*)(word, word))s.function)(a[0], a[1]);
    case 3: return ((int (*)(word, word, word))s.function)(a[0], a[1], a[2]);
    case 4: return ((int (*)(word, word, word, word))s.function)(a[0], a[1], a[2], a[3]);
    case 5: return ((int (*)(word, word, word, word, word))s.function)(a[0], a[1], a[2], a[3], a[4]);
    case 6: return ((int (*)(word, word, word, word, word, word))s.function)(a[0], a[1], a[2], a[3], a[4], a[5]);
    case 7: return ((int (*)(word, word, word, word, word, word, word))s.function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    default: return invoke_words(s.function, s.arguments, a);
  }
}

static inline __attribute__((always_inline)) struct span timed(const struct site s, word* a) {
  struct span span = {.seen = recording};
  s.from->calls++;
  if (s.timed || span.seen) span.start = ticks();
  if (s.timed) note_open(&s, a, span.start);
  // Others may call meanwhile; this thread's own calls from within are not the program's.
  if (threaded) unlock_threads();
  span.result = invoke(s, a);
  if (threaded) lock_threads();
  if (s.timed) open_call.since = 0;
  if (s.timed || span.seen) {
    span.end = ticks();
    count_time(s.from, span.start, span.end);
  }
  return span;
}

HANDLER plain(const struct site s, word* a) {
  struct span span = timed(s, a);
  if (span.seen) event_of_time(&s, &span);
  return span.result;
}

HANDLER pcontrol(const struct site s, word* a) {
  struct span span = timed(s, a);
  if (span.seen) event_of_level(&s, &span, (int32_t)a[0]);
  return span.result;
}

// Tests and probes by the thousand would fill the windows: only those that found something are events.
HANDLER polled(const struct site s, word* a) {
  struct span span = timed(s, a);
  if (!span.seen) return span.result;
  if (span.result == 0 && *(const int32_t*)a[s.extra]) {
    span = since_polls(span);
    event_of_time(&s, &span);
  } else {
    note_poll(&s, &span);
  }
  return span.result;
}

// A message is counted before the call, that a rank killed within it is known to have sent it.
HANDLER sent(const struct site s, word* a, int kind, word request) {
  struct hit* hit = hit_of(handle_of(a[5]), (int32_t)a[3]);
  uint64_t bytes = (uint64_t)(count_of(a[1], s.big) * size_of_type(handle_of(a[2])));
  struct edge* edge = hit->edge;
  struct message message = {hit->world, (int32_t)a[4], hit->number, (int64_t)bytes};
  count_message(edge, bytes);
  struct span span = timed(s, a);
  if (span.result) uncount_message(edge, bytes);
  if (span.seen) event_of_send(&s, &span, kind, message, request);
  return span.result;
}

HANDLER send(const struct site s, word* a) { return sent(s, a, 2, 0); }

HANDLER isend(const struct site s, word* a) { return sent(s, a, 0, a[6]); }

// dest: the argument with the receiver, before its tag and the communicator.
HANDLER prepared(const struct site s, word* a, int dest, int64_t bytes, word request) {
  struct hit* hit = hit_of(handle_of(a[dest + 2]), (int32_t)a[dest]);
  struct message message = {hit->world, (int32_t)a[dest + 1], hit->number, bytes};
  struct edge* edge = hit->edge;
  struct span span = timed(s, a);
  if (span.result == 0) keep_persistent(&s, OF_SEND, message, edge, request, a[dest + 2]);
  return span.result;
}

HANDLER send_init(const struct site s, word* a) {
  return prepared(s, a, 3, count_of(a[1], s.big) * size_of_type(handle_of(a[2])), a[6]);
}

HANDLER psend_init(const struct site s, word* a) {
  return prepared(s, a, 4, (int64_t)(int32_t)a[1] * (int64_t)a[2] * size_of_type(handle_of(a[3])), a[8]);
}

HANDLER recv(const struct site s, word* a) {
  char own[64];
  if (recording && a[6] == mpi.status_ignore) a[6] = (word)own;
  struct span span = timed(s, a);
  if (span.seen) event_of_receive(&s, &span, a[5], (const void*)a[6], 0);
  return span.result;
}

HANDLER irecv(const struct site s, word* a) {
  struct span span = timed(s, a);
  if (span.seen) event_of_posted_receive(&s, &span, a, s.big);
  return span.result;
}

HANDLER recv_init(const struct site s, word* a) {
  struct span span = timed(s, a);
  if (span.result == 0) keep_persistent_receive(&s, a, count_of(a[1], s.big) * size_of_type(handle_of(a[2])), 3);
  return span.result;
}

HANDLER precv_init(const struct site s, word* a) {
  struct span span = timed(s, a);
  int64_t bytes = (int64_t)(int32_t)a[1] * (int64_t)a[2] * size_of_type(handle_of(a[3]));
  if (span.result == 0) keep_persistent_receive(&s, a, bytes, 4);
  return span.result;
}

HANDLER mprobe(const struct site s, word* a) {
  struct span span = timed(s, a);
  if (span.seen && span.result == 0) note_matched(&s, &span, a);
  return span.result;
}

HANDLER mrecv(const struct site s, word* a) {
  char own[64];
  word message = handle_at(a[3], 0);
  if (recording && a[4] == mpi.status_ignore) a[4] = (word)own;
  struct span span = timed(s, a);
  if (span.seen) event_of_receive(&s, &span, matched_comm(message), (const void*)a[4], 0);
  return span.result;
}

HANDLER imrecv(const struct site s, word* a) {
  word message = handle_at(a[3], 0);
  struct span span = timed(s, a);
  if (span.seen) event_of_matched_receive(&s, &span, matched_comm(message), a[4]);
  return span.result;
}

// A send and a receive in one call: where the parts of each stand.
struct both {
  int count, type, to, send_tag, from, receive_tag, comm, last;
};

HANDLER exchange(const struct site s, word* a, const struct both at, int waits) {
  char own[64];
  struct hit* hit = hit_of(handle_of(a[at.comm]), (int32_t)a[at.to]);
  uint64_t bytes = (uint64_t)(count_of(a[at.count], s.big) * size_of_type(handle_of(a[at.type])));
  struct edge* edge = hit->edge;
  struct message message = {hit->world, (int32_t)a[at.send_tag], hit->number, (int64_t)bytes};
  count_message(edge, bytes);
  if (waits && recording && a[at.last] == mpi.status_ignore) a[at.last] = (word)own;
  struct span span = timed(s, a);
  if (span.result) uncount_message(edge, bytes);
  if (span.seen && waits) {
    event_of_send(&s, &span, 2, message, 0);
    event_of_receive(&s, &span, a[at.comm], (const void*)a[at.last], 0);
  } else if (span.seen) {
    event_of_both(&s, &span, message, (int32_t)a[at.from], (int32_t)a[at.receive_tag], a[at.comm], a[at.last]);
  }
  return span.result;
}

HANDLER sendrecv(const struct site s, word* a) { return exchange(s, a, (struct both){1, 2, 3, 4, 8, 9, 10, 11}, 1); }
HANDLER isendrecv(const struct site s, word* a) { return exchange(s, a, (struct both){1, 2, 3, 4, 8, 9, 10, 11}, 0); }
HANDLER sendrecv_replace(const struct site s, word* a) { return exchange(s, a, (struct both){1, 2, 3, 4, 5, 6, 7, 8}, 1); }
HANDLER isendrecv_replace(const struct site s, word* a) { return exchange(s, a, (struct both){1, 2, 3, 4, 5, 6, 7, 8}, 0); }

HANDLER start(const struct site s, word* a) {
  word handle = handle_at(a[0], 0);
  struct span span = timed(s, a);
  if (span.result == 0 && persistent_count) count_started(&s, &span, handle);
  return span.result;
}

HANDLER startall(const struct site s, word* a) {
  struct span span = timed(s, a);
  for (int i = 0; span.result == 0 && persistent_count && i < (int32_t)a[0]; i++) {
    count_started(&s, &span, handle_at(a[1], i));
  }
  return span.result;
}

// Waits and tests; extra 1: a test, with a flag before the statuses.
HANDLER wait_one(const struct site s, word* a) {
  if (!recording) return timed(s, a).result;
  return wait_for(&s, a, (struct waiting){a[0], 1, .single = 1, .flag = s.extra, .status = s.extra + 1});
}

HANDLER wait_any(const struct site s, word* a) {
  if (!recording) return timed(s, a).result;
  return wait_for(&s, a,
                  (struct waiting){a[1], (int32_t)a[0], 1, .flag = s.extra ? 3 : 0, .status = s.extra + 3, .indices = 2});
}

HANDLER wait_all(const struct site s, word* a) {
  if (!recording) return timed(s, a).result;
  return wait_for(&s, a, (struct waiting){a[1], (int32_t)a[0], .flag = s.extra ? 2 : 0, .status = s.extra + 2});
}

HANDLER wait_some(const struct site s, word* a) {
  if (!recording) return timed(s, a).result;
  return wait_for(&s, a, (struct waiting){a[1], (int32_t)a[0], .status = 4, .indices = 3, .found = 2});
}

HANDLER request_free(const struct site s, word* a) {
  if (recording || persistent_count) {
    struct request* request = request_find(handle_at(a[0], 0));
    if (request) request_remove(request);
  }
  return plain(s, a);
}

HANDLER cancel(const struct site s, word* a) {
  struct request* request = recording ? request_find(handle_at(a[0], 0)) : 0;
  if (request) request->cancelled = 1;
  return plain(s, a);
}

HANDLER counted(const struct site s, word* a, word request) {
  struct collected what = collected(&s, a);
  count_collected(&s, a, &what);
  struct span span = timed(s, a);
  if (span.seen) event_of_collective(&s, &span, a, &what, request);
  return span.result;
}

HANDLER collective(const struct site s, word* a) { return counted(s, a, 0); }

HANDLER icollective(const struct site s, word* a) { return counted(s, a, a[s.arguments - 1]); }

HANDLER collective_init(const struct site s, word* a) {
  struct collected what = collected(&s, a);
  struct span span = timed(s, a);
  if (span.result == 0) keep_collective(&s, a, &what);
  return span.result;
}

// Calls what reads or writes another rank's window.
HANDLER accessed(const struct site s, word* a, int32_t target, uint64_t bytes) {
  struct span span = timed(s, a);
  if (span.seen) event_of_access(&s, &span, target, (int64_t)bytes);
  return span.result;
}

HANDLER put(const struct site s, word* a) {
  uint64_t bytes = (uint64_t)(count_of(a[1], s.big) * size_of_type(handle_of(a[2])));
  struct hit* hit = find_hit(handle_of(a[s.extra]), (int32_t)a[3], 1);
  count_message(hit->edge, bytes);
  return accessed(s, a, hit->world, bytes);
}

HANDLER get(const struct site s, word* a) {
  uint64_t bytes = (uint64_t)(count_of(a[1], s.big) * size_of_type(handle_of(a[2])));
  struct hit* hit = find_hit(handle_of(a[7]), (int32_t)a[3], 1);
  hit->edge->pulled += bytes;
  return accessed(s, a, hit->world, bytes);
}

HANDLER get_accumulate(const struct site s, word* a) {
  struct hit* hit = find_hit(handle_of(a[11]), (int32_t)a[6], 1);
  uint64_t bytes = (uint64_t)(count_of(a[1], s.big) * size_of_type(handle_of(a[2])));
  if (bytes) count_message(hit->edge, bytes);
  hit->edge->pulled += (uint64_t)(count_of(a[4], s.big) * size_of_type(handle_of(a[5])));
  return accessed(s, a, hit->world, bytes);
}

HANDLER fetch(const struct site s, word* a) {
  struct hit* hit = find_hit(handle_of(a[6]), (int32_t)a[s.extra + 1], 1);
  uint64_t bytes = (uint64_t)size_of_type(handle_of(a[s.extra]));
  count_message(hit->edge, s.call == CALL_Compare_and_swap ? 2 * bytes : bytes);
  hit->edge->pulled += bytes;
  return accessed(s, a, hit->world, bytes);
}

// Handles that are used again are forgotten before another call can get them.
HANDLER forget(const struct site s, word* a) {
  comm_forget(handle_at(a[0], 0));
  return plain(s, a);
}

HANDLER type_free(const struct site s, word* a) {
  type_forget(handle_at(a[0], 0));
  return plain(s, a);
}

HANDLER comm_made(const struct site s, word* a) {
  word parent = handle_of(a[0]);
  struct span span = timed(s, a);
  if (span.seen) event_of_time(&s, &span);
  note_made(parent, span.result ? 0 : handle_at(a[s.extra], 0));
  return span.result;
}

HANDLER cart_create(const struct site s, word* a) {
  note_cart(a);
  return comm_made(s, a);
}

#endif
