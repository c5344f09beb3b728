#include "events.h"

#include "call_sites.h"
#include "live.h"

#include <stdlib.h>
#include <string.h>

enum { NO_COMM = 0xffff, NO_INDEX = -32766 };

static atomic_flag busy = ATOMIC_FLAG_INIT;

void lock_threads(void) {
  while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
  }
}

void unlock_threads(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

// Ticks since the last event in calls that found nothing, the last of them, and when it ended. They are no events of their own,
// for they would fill the windows: a completion or a probe's find has waited as long, and before any other event stands one.
static struct {
  uint64_t ticks, end;
  struct call_site* from;
} polled;

// Of what passed since the last poll, a loop's own time: up to a microsecond; computing takes longer.
static uint64_t since_poll(uint64_t start) {
  uint64_t between = start - polled.end;
  return polled.ticks && between < ticks_per_second / 1000000 ? between : 0;
}

void note_poll(const struct site* site, const struct span* span) {
  polled.ticks += since_poll(span->start) + span->end - span->start;
  polled.end = span->end;
  polled.from = site->from;
}

struct span since_polls(struct span span) {
  span.start -= polled.ticks + since_poll(span.start);
  polled.ticks = 0;
  return span;
}

static void event(const struct site* site, const struct span* span, int kind, struct message message, uint32_t request) {
  if (polled.ticks) {
    struct span polls = {.start = polled.end - polled.ticks, .end = polled.end};
    polled.ticks = 0;
    event_of_time(&(struct site){.from = polled.from}, &polls);
  }
  struct event* event = next_event();
  if (!event) {
    requests_forget();
    return;
  }
  *event = (struct event){(int64_t)span->start,
                          (int64_t)span->end,
                          message.bytes,
                          message.peer,
                          message.tag,
                          request,
                          (uint16_t)message.number,
                          (uint16_t)((unsigned)site->from->number << KIND_BITS | (unsigned)kind)};
}

static int tag_of(int tag) { return tag == mpi.any_tag ? -1 : tag; }

void event_of_time(const struct site* site, const struct span* span) {
  event(site, span, 6, (struct message){-1, -1, NO_COMM, 0}, 0);
}

void event_of_level(const struct site* site, const struct span* span, int level) {
  event(site, span, 6, (struct message){-1, level, NO_COMM, 0}, 0);
}

void event_of_access(const struct site* site, const struct span* span, int target, int64_t bytes) {
  event(site, span, 6, (struct message){target, -1, NO_COMM, bytes}, 0);
}

// The world rank of a source, which makes no edge.
static struct message source_of(word handle, int rank) {
  struct hit* hit = &hits[((uint32_t)(handle >> 4) ^ (uint32_t)handle ^ (uint32_t)rank * 5) % HITS];
  if (hit->comm == handle && hit->peer == rank) return (struct message){hit->world, -1, hit->number, 0};
  struct comm* comm = handle ? comm_of(handle, 0) : NULL;
  if (!comm) return (struct message){-1, -1, NO_COMM, 0};
  int world = rank < 0 || rank >= comm->size ? -1 : world_rank(comm, rank);
  *hit = (struct hit){handle, rank, world, NULL, number_of(comm)};
  return (struct message){world, -1, hit->number, 0};
}

static int64_t bytes_of_status(const void* status) {
  if (mpi.number == OPEN_MPI) return *(const int64_t*)((const char*)status + 16);
  if (mpi.number == MPICH) return *(const uint32_t*)status | (int64_t)(((const uint32_t*)status)[1] >> 1) << 32;
  static int (*get_count)(const void*, word, int32_t*);
  if (!get_count) *(void**)&get_count = mpi_symbol("PMPI_Get_count");
  int32_t count = 0;
  return get_count && get_count(status, mpi.byte_type, &count) == 0 && count >= 0 ? count : -1;
}

static struct message received(word comm, const void* status) {
  int source = status_source(status);
  struct message message = source_of(comm, source);
  message.tag = source == mpi.proc_null ? -1 : status_tag(status);
  message.bytes = source == mpi.proc_null ? 0 : bytes_of_status(status);
  return message;
}

static struct request* remember(const struct site* site, int kind, struct message message, word request, word comm) {
  struct request* kept = request_add(handle_at(request, 0));
  kept->kind = (uint8_t)kind;
  kept->call = (uint8_t)site->call;
  kept->comm = handle_of(comm);
  kept->bytes = message.bytes;
  kept->peer = message.peer;
  kept->tag = message.tag;
  kept->number = (uint16_t)message.number;
  kept->serial = ++request_serial;
  kept->active = 1;
  return kept;
}

void event_of_send(const struct site* site, const struct span* span, int kind, struct message message, word request) {
  uint32_t serial = 0;
  if (request && span->result == 0) serial = remember(site, OF_SEND, message, request, 0)->serial;
  event(site, span, message.peer < 0 ? 6 : kind, message, serial);
}

void event_of_receive(const struct site* site, const struct span* span, word comm, const void* status, uint32_t serial) {
  if (span->result) return;
  struct message message = received(handle_of(comm), status);
  event(site, span, message.peer < 0 ? 6 : 3, message, serial);
}

static void posted(const struct site* site, const struct span* span, int source, int tag, int64_t bytes, word comm,
                   word request) {
  struct message message = source_of(handle_of(comm), source);
  message.tag = tag_of(tag);
  message.bytes = bytes;
  uint32_t serial = span->result ? 0 : remember(site, OF_RECEIVE, message, request, comm)->serial;
  event(site, span, source == mpi.proc_null ? 6 : 1, message, serial);
}

void event_of_posted_receive(const struct site* site, const struct span* span, const word* a, int big) {
  int64_t bytes = count_of(a[1], big) * size_of_type(handle_of(a[2]));
  posted(site, span, (int32_t)a[3], (int32_t)a[4], bytes, a[5], a[6]);
}

void event_of_matched_receive(const struct site* site, const struct span* span, word comm, word request) {
  posted(site, span, mpi.any_source, mpi.any_tag, 0, comm, request);
}

void event_of_both(const struct site* site, const struct span* span, struct message sent, int from, int tag, word comm,
                   word request) {
  if (span->result) return;
  struct message message = source_of(handle_of(comm), from);
  message.tag = tag_of(tag);
  uint32_t serial = remember(site, OF_BOTH, message, request, comm)->serial;
  event(site, span, sent.peer < 0 ? 6 : 0, sent, serial);
  event(site, span, from == mpi.proc_null ? 6 : 1, message, serial);
}

// Persistent requests.

void keep_persistent(const struct site* site, int kind, struct message message, struct edge* edge, word request, word comm) {
  struct request* kept = remember(site, kind, message, request, comm);
  kept->edge = edge;
  kept->persistent = 1;
  kept->active = 0;
  persistent_count++;
}

void keep_persistent_receive(const struct site* site, const word* a, int64_t bytes, int source) {
  struct message message = source_of(handle_of(a[source + 2]), (int32_t)a[source]);
  message.tag = tag_of((int32_t)a[source + 1]);
  message.bytes = bytes;
  keep_persistent(site, OF_RECEIVE, message, NULL, a[site->arguments - 1], a[source + 2]);
}

void count_started(const struct site* site, const struct span* span, word handle) {
  struct request* request = request_find(handle);
  if (!request || !request->persistent) return;
  struct plan* plan = request->plan;
  request->active = 1;
  request->serial = ++request_serial;
  if (request->kind == OF_SEND) count_message(request->edge, (uint64_t)request->bytes);
  for (int i = 0; plan && i < plan->edges; i++) count_message(plan->to[i].edge, plan->to[i].bytes);
  if (plan && !plan->edges) count_collective(plan->call, plan->number, plan->root, plan->bytes);
  if (!span->seen) return;
  struct message message = {request->peer, request->tag, request->number, request->bytes};
  static const int kinds[] = {[OF_SEND] = 0, [OF_RECEIVE] = 1, [OF_COLLECTIVE] = 5};
  int null = request->kind == OF_SEND && request->peer < 0;
  event(site, span, null ? 6 : kinds[request->kind], message, request->serial);
}

// Matched probes: message handles live among the requests under keys that no request has.

static word message_key(word message) { return message ^ (word)0x5bd1e99500000000; }

void note_matched(const struct site* site, const struct span* span, const word* a) {
  if (site->extra == 4 && !*(const int32_t*)a[3]) {
    note_poll(site, span);
    return;
  }
  struct span waited = since_polls(*span);
  event_of_time(site, &waited);
  struct request* kept = request_add(message_key(handle_at(a[site->extra == 4 ? 4 : 3], 0)));
  kept->kind = OF_NOTHING;
  kept->comm = handle_of(a[2]);
}

word matched_comm(word message) {
  struct request* kept = recording ? request_find(message_key(message)) : NULL;
  if (!kept) return 0;
  word comm = kept->comm;
  request_remove(kept);
  return comm;
}

// Waits and tests.

static int was_cancelled(const void* status) {
  static int (*test)(const void*, int32_t*);
  if (!test) *(void**)&test = mpi_symbol("PMPI_Test_cancelled");
  int32_t flag = 0;
  return test && test(status, &flag) == 0 && flag;
}

// Whether there was anything to complete.
static int complete(const struct site* site, const struct span* span, word handle, const void* status) {
  if (handle == mpi.null_request) return 0;
  struct request* request = request_find(handle);
  if (!request) {
    event(site, span, 4, (struct message){-1, -1, NO_COMM, 0}, 0);
    return 1;
  }
  if (request->persistent && !request->active) return 0;
  struct message message = {request->peer, request->tag, request->number, request->bytes};
  if (request->cancelled && was_cancelled(status)) {
    message = (struct message){-1, -1, NO_COMM, 0};
  } else if ((request->kind == OF_RECEIVE || request->kind == OF_BOTH) && comm_known(request->comm)) {
    message = received(request->comm, status);
  }
  uint32_t serial = request->serial;
  request->active = request->cancelled = 0;
  if (!request->persistent) request_remove(request);
  event(site, span, 4, message, serial);
  return 1;
}

static struct span timed_words(const struct site* site, word* a) {
  struct span span = {.seen = 1};
  site->from->calls++;
  span.start = ticks();
  open_call.from = site->from;
  open_call.since = span.start;
  if (threaded) unlock_threads();
  span.result = site->function == ABSENT ? call_absent(site, a) : invoke_words(site->function, site->arguments, a);
  if (threaded) lock_threads();
  open_call.since = 0;
  span.end = ticks();
  count_time(site->from, span.start, span.end);
  return span;
}

int wait_for(const struct site* site, word* a, struct waiting at) {
  enum { FEW = 32 };
  word few[FEW];
  _Alignas(16) char few_statuses[FEW * 32];
  size_t count = at.count < 0 ? 0 : (size_t)at.count;
  word* handles = count <= FEW ? few : malloc(count * sizeof *handles);
  char* statuses = (char*)a[at.status];
  int own_statuses = a[at.status] == mpi.status_ignore;
  if (own_statuses) {
    statuses = count <= FEW || at.single ? few_statuses : malloc(count * 32);
    a[at.status] = (word)statuses;
  }
  if (!handles || (own_statuses && !statuses)) abort();
  for (size_t i = 0; i < count; i++) handles[i] = handle_at(at.requests, (int64_t)i);
  note_requests((word)at.count, at.requests);
  struct span span = timed_words(site, a);
  int found = 0;
  if (span.result == 0 && !(at.flag && !*(const int32_t*)a[at.flag])) {
    struct span waited = since_polls(span);
    const int32_t* indices = at.indices ? (const int32_t*)a[at.indices] : NULL;
    int completed = at.found ? *(const int32_t*)a[at.found] : at.single ? 1 : (int)count;
    for (int i = 0; i < completed; i++) {
      int index = indices ? indices[i] : i;
      if (index < 0 || index >= (int)count) continue;
      found |= complete(site, &waited, handles[index], statuses + (at.single ? 0 : i) * mpi.status_bytes);
    }
    if (!found) span = waited;
  }
  if (!found) note_poll(site, &span);
  if (handles != few) free(handles);
  if (own_statuses && statuses != few_statuses) free(statuses);
  return span.result;
}

// Collectives.

static uint64_t product(word count, word type, int big) {
  return (uint64_t)(count_of(count, big) * size_of_type(handle_of(type)));
}

static uint64_t sum_of(word counts, int64_t n, int big) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += count_at(counts, i, big);
  return (uint64_t)sum;
}

static uint64_t sum_of_types(word counts, word types, int64_t n, int big) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (uint64_t)(count_at(counts, i, big) * size_of_type(handle_at(types, i)));
  return sum;
}

static uint64_t bytes_to_neighbor(const struct site* site, const word* a, int i) {
  switch (site->extra & 255) {
    case FORM_NEIGHBOR_V: return (uint64_t)(count_at(a[1], i, site->big) * size_of_type(handle_of(a[3])));
    case FORM_NEIGHBOR_W: return (uint64_t)(count_at(a[1], i, site->big) * size_of_type(handle_at(a[3], i)));
    default: return product(a[1], a[2], site->big);
  }
}

static uint64_t contribution(const struct site* site, const word* a, word comm) {
  int in_place = a[0] == mpi.in_place, big = site->big;
  switch (site->extra & 255) {
    case FORM_BCAST: return product(a[1], a[2], big);
    case FORM_GATHER:
    case FORM_ALLGATHER: return in_place ? product(a[4], a[5], big) : product(a[1], a[2], big);
    case FORM_GATHERV:
    case FORM_ALLGATHERV:
      if (!in_place) return product(a[1], a[2], big);
      return (uint64_t)(count_at(a[4], rank_of(comm), big) * size_of_type(handle_of(a[6])));
    case FORM_SCATTER: return a[3] == mpi.in_place ? product(a[1], a[2], big) : product(a[4], a[5], big);
    case FORM_SCATTERV:
      if (a[4] != mpi.in_place) return product(a[5], a[6], big);
      return (uint64_t)(count_at(a[1], rank_of(comm), big) * size_of_type(handle_of(a[3])));
    case FORM_ALLTOALL: return (uint64_t)entries_of(comm) * (in_place ? product(a[4], a[5], big) : product(a[1], a[2], big));
    case FORM_ALLTOALLV:
      return in_place ? sum_of(a[5], entries_of(comm), big) * (uint64_t)size_of_type(handle_of(a[7]))
                      : sum_of(a[1], entries_of(comm), big) * (uint64_t)size_of_type(handle_of(a[3]));
    case FORM_ALLTOALLW:
      return in_place ? sum_of_types(a[5], a[7], entries_of(comm), big) : sum_of_types(a[1], a[3], entries_of(comm), big);
    case FORM_REDUCE:
    case FORM_REDUCE_BLOCK: return product(a[2], a[3], big);
    case FORM_REDUCE_SCATTER: return sum_of(a[2], entries_of(comm), big) * (uint64_t)size_of_type(handle_of(a[3]));
    default: return 0;
  }
}

// The bytes that an all-to-all of a size for each pair sends to a rank, or a reduction leaves there.
static uint64_t bytes_for(const struct site* site, const word* a, int64_t rank) {
  int in_place = a[0] == mpi.in_place, big = site->big;
  if ((site->extra & 255) == FORM_REDUCE_SCATTER) return (uint64_t)(count_at(a[2], rank, big) * size_of_type(handle_of(a[3])));
  word counts = in_place ? a[5] : a[1], type = in_place ? a[7] : a[3];
  int each = (site->extra & 255) == FORM_ALLTOALLW;
  return (uint64_t)(count_at(counts, rank, big) * size_of_type(each ? handle_at(type, rank) : handle_of(type)));
}

static int shape_of(const struct site* site, const word* a) {
  int form = site->extra & 255, reduces = form == FORM_REDUCE || form == FORM_REDUCE_SCATTER || form == FORM_REDUCE_BLOCK;
  int differs = form == FORM_ALLTOALLV || form == FORM_ALLTOALLW || form == FORM_REDUCE_SCATTER;
  word scattered = form == FORM_SCATTER ? a[3] : form == FORM_SCATTERV ? a[4] : a[0];
  int64_t counts = differs ? entries_of(handle_of(a[site->extra >> 8 & 255])) : 0;
  struct shape* shape = malloc(sizeof *shape + (size_t)counts * sizeof(uint64_t));
  if (!shape) abort();
  *shape = (struct shape){.counts = (uint64_t)counts};
  if (reduces) {
    shape->element_bytes = (uint64_t)size_of_type(handle_of(a[3]));
    if (!is_commutative(handle_of(a[4]))) shape->flags |= NOT_COMMUTATIVE;
  }
  if (form != FORM_BARRIER && form != FORM_BCAST && scattered == mpi.in_place) shape->flags |= IN_PLACE;
  for (int64_t i = 0; i < counts; i++) shape->bytes[i] = bytes_for(site, a, i);
  int number = number_shape(shape);
  free(shape);
  return number;
}

struct collected collected(const struct site* site, const word* a) {
  word handle = handle_of(a[site->extra >> 8 & 255]);
  struct comm* comm = comm_of(handle, 0);
  int root_at = site->extra >> 16;
  struct collected what = {root_at ? world_rank(comm, (int32_t)a[root_at]) : -1, number_of(comm), 0, NULL};
  if ((site->extra & 255) < FORM_NEIGHBOR_SAME) {
    what.bytes = contribution(site, a, handle);
    return what;
  }
  what.neighbors = neighbors_of(comm);
  for (int i = 0; i < what.neighbors->count; i++) what.bytes += bytes_to_neighbor(site, a, i);
  return what;
}

void count_collected(const struct site* site, const word* a, const struct collected* what) {
  if (!what->neighbors) {
    count_collective(site->call, what->number, what->root, what->bytes);
    return;
  }
  for (int i = 0; i < what->neighbors->count; i++) {
    if (what->neighbors->edge[i]) count_message(what->neighbors->edge[i], bytes_to_neighbor(site, a, i));
  }
}

static int64_t bytes_from_neighbor(const struct site* site, const word* a, int i) {
  switch (site->extra & 255) {
    case FORM_NEIGHBOR_V: return count_at(a[5], i, site->big) * size_of_type(handle_of(a[7]));
    case FORM_NEIGHBOR_W: return count_at(a[5], i, site->big) * size_of_type(handle_at(a[7], i));
    default:
      return (site->extra >> 8 & 255) == 7 ? count_at(a[4], i, site->big) * size_of_type(handle_of(a[6]))
                                           : (int64_t)product(a[4], a[5], site->big);
  }
}

// A neighbourhood collective is the messages of one call: nobody but the neighbours takes part. Its request is the first one's.
static void event_of_exchange(const struct site* site, const struct span* span, const word* a, const struct collected* what,
                              uint32_t serial) {
  const struct neighbors* all = what->neighbors;
  for (int i = 0; i < all->count; i++) {
    if (!all->edge[i] || all->edge[i]->peer == UINT32_MAX) continue;
    struct message sent = {(int)all->edge[i]->peer, -1, what->number, (int64_t)bytes_to_neighbor(site, a, i)};
    event(site, span, serial ? 0 : 2, sent, serial);
    serial = 0;
  }
  for (int i = 0; i < all->sources; i++) {
    int source = all->source ? all->source[i] : all->edge[i] ? (int)all->edge[i]->peer : -1;
    if (source >= 0) event(site, span, 3, (struct message){source, -1, what->number, bytes_from_neighbor(site, a, i)}, 0);
  }
}

void event_of_collective(const struct site* site, const struct span* span, const word* a, const struct collected* what,
                         word request) {
  struct message message = {what->root, what->neighbors ? -1 : shape_of(site, a), what->number, (int64_t)what->bytes};
  uint32_t serial = 0;
  if (request && span->result == 0) serial = remember(site, OF_COLLECTIVE, message, request, 0)->serial;
  if (what->neighbors) {
    event_of_exchange(site, span, a, what, serial);
  } else {
    event(site, span, 5, message, serial);
  }
}

void keep_collective(const struct site* site, const word* a, const struct collected* what) {
  int count = what->neighbors ? what->neighbors->count : 0;
  struct plan* plan = calloc(1, sizeof *plan + (size_t)count * sizeof plan->to[0]);
  if (!plan) abort();
  *plan = (struct plan){.call = site->call, .root = what->root, .number = what->number, .bytes = what->bytes};
  for (int i = 0; i < count; i++) {
    if (!what->neighbors->edge[i]) continue;
    plan->to[plan->edges].edge = what->neighbors->edge[i];
    plan->to[plan->edges++].bytes = bytes_to_neighbor(site, a, i);
  }
  struct message message = {what->root, what->neighbors ? -1 : shape_of(site, a), what->number, (int64_t)what->bytes};
  keep_persistent(site, OF_COLLECTIVE, message, NULL, a[site->arguments - 1], 0);
  request_find(handle_at(a[site->arguments - 1], 0))->plan = plan;
}

// Communicators.

void note_made(word parent, word handle) {
  struct comm* from = comm_of(parent, 0);
  from->made++;
  if (handle) comm_made_of(parent, handle);
}

void note_cart(const word* a) {
  int dimensions = (int32_t)a[1];
  if (me->carts >= MAX_CARTS || dimensions < 1 || dimensions > MAX_DIMS) return;
  struct cart* cart = &me->cart[me->carts++];
  cart->dimensions = dimensions;
  cart->reorder = (int32_t)a[4];
  for (int i = 0; i < dimensions; i++) {
    cart->size[i] = ((const int32_t*)a[2])[i];
    cart->periodic[i] = ((const int32_t*)a[3])[i];
  }
}
