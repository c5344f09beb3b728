// Calls of MPI that a program makes under SMPI, listed in simulated time: stands before SMPI's functions in a program that is
// linked with -Wl,-Bsymbolic. Each rank leaves the file RECORD_DIR/<rank>: its events as python/rankwise/observe/record.py has them.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION, COLLECTIVE, TIME_ONLY };
enum { Isend, Irecv, Send, Recv, Sendrecv, Wait, Waitall, Waitany, Barrier, Bcast, Reduce, Allreduce, Alltoall };

struct event {
  int64_t start, end, bytes;
  int32_t peer, tag;
  uint32_t request;
  uint16_t comm;
  uint8_t call, kind;
} __attribute__((packed));
struct open_request {
  MPI_Request request;
  uint32_t serial;
  int sends;
  MPI_Comm comm;
};

static struct event* events;
static struct open_request* open_ones;
static size_t count, room, open_count, open_room;
static uint32_t serial;
static int me, ranks, splits, computes;
static int64_t last, compute_ns;
static struct {
  MPI_Comm comm;
  int number;
} comms[1024];
static int comm_count;

static int64_t now(void) { return (int64_t)(MPI_Wtime() * 1e9 + 0.5); }

// A call begins: where others have ended since the last one, the rank has computed.
static int64_t begin(void) {
  if (computes && compute_ns) {
    int64_t mine = compute_ns + compute_ns * (me % 3) / 20;
    struct timespec t = {mine / 1000000000, mine % 1000000000};
    nanosleep(&t, NULL);
  }
  computes = 0;
  int64_t t = now();
  return t > last ? t : last + 1;
}

// Calls have a tick of their own, though simulated ones may take no time.
static int64_t ended(int64_t start) {
  int64_t t = now();
  return last = t > start ? t : start + 1;
}

static int size_of(MPI_Datatype type) {
  int size;
  MPI_Type_size(type, &size);
  return size;
}

static int number_of(MPI_Comm comm) {
  for (int i = 0; i < comm_count; ++i) {
    if (comms[i].comm == comm) return comms[i].number;
  }
  return 0;
}

static int world_of(int peer, MPI_Comm comm) {
  if (peer < 0 || number_of(comm) == 0) return peer < 0 ? -1 : peer;
  MPI_Group all, group;
  int found;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(comm, &group);
  MPI_Group_translate_ranks(group, 1, &peer, all, &found);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return found;
}

static void event(int64_t start, int64_t end, int64_t bytes, int peer, int tag, uint32_t request, MPI_Comm comm, int call, int kind) {
  if (count == room) events = realloc(events, (room = room ? 2 * room : 4096) * sizeof *events);
  struct event one = {start, end, bytes, peer, tag, request, (uint16_t)number_of(comm), (uint8_t)call, (uint8_t)kind};
  events[count++] = one;
}

static uint32_t remember(MPI_Request request, int sends, MPI_Comm comm) {
  if (open_count == open_room) open_ones = realloc(open_ones, (open_room = open_room ? 2 * open_room : 64) * sizeof *open_ones);
  struct open_request one = {request, ++serial, sends, comm};
  open_ones[open_count++] = one;
  return serial;
}

static struct open_request forget(MPI_Request request) {
  struct open_request none = {MPI_REQUEST_NULL, 0, 1, MPI_COMM_WORLD};
  for (size_t i = 0; i < open_count; ++i) {
    if (open_ones[i].request == request) {
      struct open_request one = open_ones[i];
      open_ones[i] = open_ones[--open_count];
      return one;
    }
  }
  return none;
}

static void completed(int64_t start, int64_t end, struct open_request one, const MPI_Status* status, int call) {
  if (!one.serial) return;
  int bytes = 0;
  if (!one.sends) MPI_Get_count(status, MPI_BYTE, &bytes);
  event(start, end, bytes, one.sends ? -1 : world_of(status->MPI_SOURCE, one.comm), one.sends ? -1 : status->MPI_TAG, one.serial,
        one.comm, call, COMPLETION);
}

static void started(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  compute_ns = getenv("RECORD_COMPUTE_NS") ? atoll(getenv("RECORD_COMPUTE_NS")) : 0;
}

int MPI_Init(int* argc, char*** argv) {
  int result = PMPI_Init(argc, argv);
  started();
  return result;
}

int MPI_Init_thread(int* argc, char*** argv, int wanted, int* given) {
  int result = PMPI_Init_thread(argc, argv, wanted, given);
  started();
  return result;
}

int MPI_Finalize(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%d", getenv("RECORD_DIR"), me);
  FILE* file = fopen(path, "wb");
  fwrite(events, sizeof *events, count, file);
  fclose(file);
  return PMPI_Finalize();
}

int MPI_Isend(const void* buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  int64_t start = begin();
  int result = PMPI_Isend(buffer, n, type, to, tag, comm, request);
  if (to != MPI_PROC_NULL) {
    event(start, ended(start), (int64_t)n * size_of(type), world_of(to, comm), tag, remember(*request, 1, comm), comm, Isend, SEND);
  }
  return result;
}

int MPI_Irecv(void* buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  int64_t start = begin();
  int result = PMPI_Irecv(buffer, n, type, from, tag, comm, request);
  if (from != MPI_PROC_NULL) {
    int peer = from == MPI_ANY_SOURCE ? -1 : world_of(from, comm);
    event(start, ended(start), 0, peer, tag, remember(*request, 0, comm), comm, Irecv, RECEIVE);
  }
  return result;
}

int MPI_Send(const void* buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int64_t start = begin();
  int result = PMPI_Send(buffer, n, type, to, tag, comm);
  if (to != MPI_PROC_NULL) event(start, ended(start), (int64_t)n * size_of(type), world_of(to, comm), tag, 0, comm, Send, BLOCKING_SEND);
  return result;
}

static int received(int64_t start, int64_t end, const MPI_Status* status, MPI_Comm comm, int call) {
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  event(start, end, bytes, world_of(status->MPI_SOURCE, comm), status->MPI_TAG, 0, comm, call, BLOCKING_RECEIVE);
  computes = 1;
  return bytes;
}

int MPI_Recv(void* buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  int64_t start = begin();
  int result = PMPI_Recv(buffer, n, type, from, tag, comm, &own);
  if (from != MPI_PROC_NULL) received(start, ended(start), &own, comm, Recv);
  if (status != MPI_STATUS_IGNORE) *status = own;
  return result;
}

int MPI_Sendrecv(const void* out, int n, MPI_Datatype type, int to, int tag, void* in, int most, MPI_Datatype of, int from, int tag_in,
                 MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  int64_t start = begin();
  int result = PMPI_Sendrecv(out, n, type, to, tag, in, most, of, from, tag_in, comm, &own);
  int64_t end = ended(start);
  if (to != MPI_PROC_NULL) event(start, end, (int64_t)n * size_of(type), world_of(to, comm), tag, 0, comm, Sendrecv, BLOCKING_SEND);
  if (from != MPI_PROC_NULL) received(start, end, &own, comm, Sendrecv);
  if (status != MPI_STATUS_IGNORE) *status = own;
  return result;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  MPI_Status own;
  struct open_request one = forget(*request);
  int64_t start = begin();
  int result = PMPI_Wait(request, &own);
  completed(start, ended(start), one, &own, Wait);
  computes = !open_count;
  if (status != MPI_STATUS_IGNORE) *status = own;
  return result;
}

int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
  struct open_request* ones = malloc((n + 1) * sizeof *ones);
  MPI_Status* own = malloc((n + 1) * sizeof *own);
  for (int i = 0; i < n; ++i) ones[i] = forget(requests[i]);
  int64_t start = begin();
  int result = PMPI_Waitall(n, requests, own);
  int64_t end = ended(start);
  for (int i = 0; i < n; ++i) completed(start, end, ones[i], &own[i], Waitall);
  if (statuses != MPI_STATUSES_IGNORE) memcpy(statuses, own, n * sizeof *own);
  free(ones);
  free(own);
  computes = !open_count;
  return result;
}

int MPI_Waitany(int n, MPI_Request* requests, int* which, MPI_Status* status) {
  MPI_Status own;
  MPI_Request* before = malloc((n + 1) * sizeof *before);
  memcpy(before, requests, n * sizeof *before);
  int64_t start = begin();
  int result = PMPI_Waitany(n, requests, which, &own);
  int64_t end = ended(start);
  if (*which != MPI_UNDEFINED) completed(start, end, forget(before[*which]), &own, Waitany);
  free(before);
  computes = !open_count;
  if (status != MPI_STATUS_IGNORE) *status = own;
  return result;
}

static int collective(int64_t start, int64_t bytes, int root, MPI_Comm comm, int call) {
  event(start, ended(start), bytes, root < 0 ? -1 : world_of(root, comm), -1, 0, comm, call, COLLECTIVE);
  computes = 1;
  return 0;
}

int MPI_Barrier(MPI_Comm comm) {
  int64_t start = begin();
  PMPI_Barrier(comm);
  return collective(start, 0, -1, comm, Barrier);
}

int MPI_Bcast(void* buffer, int n, MPI_Datatype type, int root, MPI_Comm comm) {
  int64_t start = begin();
  PMPI_Bcast(buffer, n, type, root, comm);
  return collective(start, (int64_t)n * size_of(type), root, comm, Bcast);
}

int MPI_Reduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  int64_t start = begin();
  PMPI_Reduce(in, out, n, type, op, root, comm);
  return collective(start, (int64_t)n * size_of(type), root, comm, Reduce);
}

int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int64_t start = begin();
  PMPI_Allreduce(in, out, n, type, op, comm);
  return collective(start, (int64_t)n * size_of(type), -1, comm, Allreduce);
}

int MPI_Alltoall(const void* in, int n, MPI_Datatype type, void* out, int m, MPI_Datatype of, MPI_Comm comm) {
  int64_t start = begin();
  int size;
  MPI_Comm_size(comm, &size);
  PMPI_Alltoall(in, n, type, out, m, of, comm);
  return collective(start, (int64_t)n * size_of(type) * size, -1, comm, Alltoall);
}

static int known(MPI_Comm comm) {
  // Common to all its ranks: which split it was, and the world's rank of its first.
  int first = me;
  ++splits;
  if (comm == MPI_COMM_NULL) return MPI_SUCCESS;
  PMPI_Bcast(&first, 1, MPI_INT, 0, comm);
  comms[comm_count].comm = comm;
  comms[comm_count++].number = 1 + (splits - 1) * ranks + first;
  return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  PMPI_Comm_split(comm, color, key, made);
  return known(*made);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  PMPI_Comm_dup(comm, made);
  return known(*made);
}
