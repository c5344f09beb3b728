// The thread that notes where its rank waits. It reads what the program's thread may change at any time: memory of the heap and of
// the program through the kernel, which fails where there is none, and all again where the call has ended meanwhile.
#define _GNU_SOURCE
#include "live.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "handles.h"

struct open_call open_call;

static pthread_t thread;
static int has_thread;
static atomic_int ends;

static int peek(void* copy, word from, size_t bytes) {
  struct iovec here = {copy, bytes}, there = {(void*)from, bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static int number_of_handle(word handle) {
  struct comm comm;
  word at = (word)comm_bucket(handle);
  for (int i = 0; i < 64 && at && peek(&comm, at, sizeof comm); i++, at = (word)comm.next) {
    if (comm.handle == handle) return comm.number;
  }
  return -1;
}

static void add_partner(struct live* live, int world, int rank, int comm, int tag, uint32_t kind) {
  if (live->partners < MAX_PARTNERS) live->partner[live->partners] = (struct partner){world, rank, comm, tag, kind};
  live->partners++;
}

static void add_rank(struct live* live, word handle, word rank, word tag, uint32_t kind) {
  int peer = (int32_t)rank;
  if (peer == mpi.proc_null) return;
  handle = handle_of(handle);
  int any = peer == mpi.any_source && kind == WAITS_FOR_MESSAGE;
  int world = any ? -1 : handle == mpi.world ? peer : -2;
  int given = (int32_t)tag == mpi.any_tag ? -1 : (int32_t)tag;
  add_partner(live, world, any ? -1 : peer, number_of_handle(handle), given, kind);
}

static void add_request(struct live* live, word handle) {
  struct request request;
  if (handle == mpi.null_request || !request_peek(handle, &request, peek) || !request.active) return;
  if (request.kind == OF_COLLECTIVE) {
    add_partner(live, -2, -1, request.number, -1, WAITS_FOR_ALL);
  } else if (request.kind != OF_NOTHING) {
    int world = request.kind == OF_RECEIVE && request.peer < 0 ? -1 : request.peer;
    add_partner(live, world, -1, request.number, request.tag, request.kind == OF_SEND ? WAITS_TO_SEND : WAITS_FOR_MESSAGE);
  }
}

static void add_partners(struct live* live, const struct open_call* call) {
  const word* what = call->what;
  switch (call->from->call) {
    case CALL_Send:
    case CALL_Bsend:
    case CALL_Ssend:
    case CALL_Rsend: add_rank(live, what[2], what[0], what[1], WAITS_TO_SEND); break;
    case CALL_Recv:
    case CALL_Probe:
    case CALL_Mprobe: add_rank(live, what[2], what[0], what[1], WAITS_FOR_MESSAGE); break;
    case CALL_Sendrecv:
    case CALL_Sendrecv_replace:
      add_rank(live, what[2], what[0], what[1], WAITS_TO_SEND);
      add_rank(live, what[2], what[3], (word)(int64_t)mpi.any_tag, WAITS_FOR_MESSAGE);
      break;
    case CALL_Wait:
    case CALL_Waitall:
    case CALL_Waitany:
    case CALL_Waitsome:
      live->waits_for_any = call->from->call == CALL_Waitany || call->from->call == CALL_Waitsome;
      for (int32_t i = 0; i < (int32_t)what[0] && i < 1024; i++) {
        word handle = 0;
        if (!peek(&handle, what[1] + (word)i * (word)mpi.handle_bytes, (size_t)mpi.handle_bytes)) break;
        add_request(live, handle);
      }
      break;
    default:
      if (what[2]) add_partner(live, -2, -1, number_of_handle(handle_of(what[2])), -1, WAITS_FOR_ALL);
  }
}

static void look(uint64_t* last) {
  static unsigned looks;
  struct rank_page* page = me;
  struct open_call call = *(volatile struct open_call*)&open_call;
  if (!page) return;
  if (!call.since || call.since != *last) {
    *last = call.since;
    page->live.since = looks = 0;
    return;
  }
  struct live live = {.now = clock_now(), .since = call.since, .site = call.from->number};
  add_partners(&live, &call);
  if (*(volatile uint64_t*)&open_call.since != call.since) return;
  page->live = live;
  if (looks++ % 20 == 0) msync(page, COLLECTIVES_AT, MS_SYNC);  // another node may look
}

static void* watch(void* nothing) {
  uint64_t last = 0;
  while (!atomic_load(&ends)) {
    nanosleep(&(struct timespec){0, 500000000}, NULL);
    if (!atomic_load(&ends)) look(&last);
  }
  return nothing;
}

void live_begin(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for its own threads
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  has_thread = pthread_create(&thread, &small, watch, NULL) == 0;
  pthread_attr_destroy(&small);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void live_end(void) { atomic_store(&ends, has_thread); }
