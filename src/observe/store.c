#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

struct rank_page* me;
struct edge sink;
int recording;
int threaded;
uint64_t next_check;
uint64_t next_sample = UINT64_MAX;
uint64_t ticks_per_second;

static struct call_site no_sites[MAX_SITES];
struct call_site* sites = no_sites;
struct module* modules;
struct chain* chains;
static uint64_t* shapes;

enum { CHUNK = 65536, LEAST = 4096, EDGE_SLOTS = 4 * MAX_EDGES };

static char* region;
static int descriptor = -1;
static off_t region_at;
static pid_t owner;
static size_t edges_end, events_end[MAX_WINDOWS];  // how far the file has blocks, from the region's begin
static uint16_t edge_slot[EDGE_SLOTS];             // world rank, hashed, to edge; 0: none
static int64_t day_offset_ns;
static struct clock_pair loaded;
static uint64_t next_window;
static uint32_t current;  // window

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// The time of day when the library was loaded, and from then on what has passed by a clock that nobody sets or slews.
// Of several readings the quickest: between the two clocks a rank may lose its core.
struct clock_pair clock_now(void) {
  struct clock_pair best = {0};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 8; i++) {
    uint64_t before = ticks();
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC_RAW);
    uint64_t took = ticks() - before;
    if (took >= least) continue;
    least = took;
    best = (struct clock_pair){before + took / 2, now_ns + day_offset_ns};
  }
  return best;
}

__attribute__((constructor)) static void at_load(void) {
  day_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC_RAW);
  loaded = clock_now();
}

// Compares the clocks: the rate of ticks, and how far the time of day was set meanwhile.
static void compare_clocks(struct rank_page* page) {
  page->last = clock_now();
  page->set_ns = clock_ns(CLOCK_REALTIME) - page->last.ns;
  double seconds = (double)(page->last.ns - page->first.ns) * 1e-9;
  ticks_per_second = (uint64_t)((double)(page->last.ticks - page->first.ticks) / (seconds > 1e-6 ? seconds : 1e-6));
}

// Gives a part of the file blocks before it is written through the mapping, where a full disk would be a SIGBUS.
static int reserve(off_t at, size_t length) {
  if (fallocate(descriptor, 0, at, (off_t)length) == 0) return 1;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return 0;
  static const char zeros[4096];
  for (size_t done = 0; done < length; done += sizeof zeros) {
    if (pwrite(descriptor, zeros, sizeof zeros, at + (off_t)done) != (ssize_t)sizeof zeros) return 0;
  }
  return 1;
}

// Whether there is room for more than what all ranks of the node need for their counts.
static int has_room_for_more_than_counts(int ranks) {
  struct statvfs disk;
  if (fstatvfs(descriptor, &disk)) return 1;
  return (uint64_t)disk.f_bavail * disk.f_frsize >= (uint64_t)(ranks < 256 ? ranks : 256) * (EDGES_AT + CHUNK);
}

// Makes the region writable up to an offset; chunk by chunk.
static int grow(size_t* end, size_t needed) {
  while (*end < needed) {
    size_t more = reserve(region_at + (off_t)*end, CHUNK) ? CHUNK : LEAST;
    if (more == LEAST && !reserve(region_at + (off_t)*end, LEAST)) return 0;
#ifdef MADV_POPULATE_WRITE
    madvise(region + *end, more, MADV_POPULATE_WRITE);
#endif
    *end += more;
  }
  return 1;
}

// Maps the region; on a disk that is nearly full the page and the first edges alone, and tables between them that nobody reads.
static uint32_t map_region(int ranks) {
  int whole = has_room_for_more_than_counts(ranks) && reserve(region_at, EDGES_AT + CHUNK);
  edges_end = EDGES_AT + (whole ? CHUNK : LEAST);
  if (!whole && !(reserve(region_at, COLLECTIVES_AT) && reserve(region_at + EDGES_AT, LEAST))) return LOST_ALL;
  region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, region_at);
  if (region == MAP_FAILED) return LOST_ALL;
  if (whole && has_room_for_more_than_counts(ranks) && reserve(region_at + SITES_AT, REGION - SITES_AT)) {
    sites = (struct call_site*)(void*)(region + SITES_AT);
    modules = (struct module*)(void*)(region + MODULES_AT);
    shapes = (uint64_t*)(void*)(region + SHAPES_AT);
    chains = (struct chain*)(void*)(region + CHAINS_AT);
  }
  if (whole) return 0;
  void* tables = mmap(region + COLLECTIVES_AT, EDGES_AT - COLLECTIVES_AT, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return tables == MAP_FAILED ? LOST_ALL : LOST_TABLES | LOST_EVENTS;
}

static int read_number(const char* path) {
  int value = -1;
  FILE* file = fopen(path, "re");
  if (file) {
    if (fscanf(file, "%d", &value) != 1) value = -1;
    fclose(file);
  }
  return value;
}

static void note_place(struct rank_page* page) {
  gethostname(page->host, sizeof page->host - 1);
  page->core = sched_getcpu();
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", page->core);
  page->socket = read_number(path);
  cpu_set_t allowed;
  page->cores_allowed = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : -1;
  page->cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void write_names(const char* const* names, int count) {
  char text[REGIONS_AT - NAMES_AT] = "";
  size_t length = 0;
  for (int i = 0; i < count; i++) length += (size_t)snprintf(text + length, sizeof text - length, "%s\n", names[i]);
  if (pwrite(descriptor, text, sizeof text, NAMES_AT) < 0) return;  // it has its blocks
}

int store_open(const char* folder, int rank, int ranks, const char* const* names, int name_count) {
  char host[64] = "", path[4096];
  gethostname(host, sizeof host - 1);
  if (snprintf(path, sizeof path, "%s/%s.node", folder, host) >= (int)sizeof path) return 0;
  descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return 0;
  if (!reserve(0, REGIONS_AT)) goto failed;
  _Atomic uint64_t* claimed = mmap(NULL, REGIONS_AT, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (claimed == MAP_FAILED) goto failed;
  uint64_t slot = atomic_fetch_add(claimed, 1);
  if (slot == 0) write_names(names, name_count);
  region_at = REGIONS_AT + (off_t)(slot * REGION);
  munmap((void*)claimed, REGIONS_AT);
  uint32_t lost = map_region(ranks);
  if (lost == LOST_ALL) goto failed;
  struct rank_page* page = (struct rank_page*)(void*)region;
  for (int i = 0; i < MAX_CALLS; i++) page->call[i].call = page->call[i].number = (uint16_t)i;
  if (sites == no_sites) page->sites = MAX_SITES;
  for (int i = 0; i < MAX_WINDOWS; i++) events_end[i] = EVENTS_AT + (size_t)i * WINDOW_EVENTS * sizeof(struct event);
  page->rank = rank;
  page->ranks = ranks;
  page->edges = 1;
  page->lost = lost;
  ((struct edge*)(void*)(region + EDGES_AT))->peer = UINT32_MAX;
  note_place(page);
  page->first = loaded;
  compare_clocks(page);
  page->begun = page->last.ticks;
  next_check = page->begun + ticks_per_second;
  next_window = page->begun + 2 * ticks_per_second;
  if (chains) next_sample = page->begun;
  page->state = STATE_RUNNING;
  atomic_thread_fence(memory_order_release);
  page->layout = LAYOUT;
  owner = getpid();
  page->windows = 1;
  recording = !lost;
  me = page;
  return 1;
failed:
  close(descriptor);
  return 0;
}

void store_close(uint32_t state) {
  if (!me || getpid() != owner) return;
  compare_clocks(me);
  me->ended = me->last.ticks;
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) me->involuntary_switches = (uint64_t)usage.ru_nivcsw;
  if (state && me->state != STATE_ABORTED) me->state = state;  // what aborts may finalize on its way out
}

__attribute__((destructor)) static void at_exit(void) {
  if (me && me->state == STATE_RUNNING) store_close(0);
}

struct edge* edge_of(int world) {
  if (world < 0 || !me) return &sink;
  struct edge* edges = (struct edge*)(void*)(region + EDGES_AT);
  uint32_t slot = (uint32_t)world * UINT32_C(2654435769) % EDGE_SLOTS;
  for (; edge_slot[slot]; slot = (slot + 1) % EDGE_SLOTS) {
    if (edges[edge_slot[slot]].peer == (uint32_t)world) return &edges[edge_slot[slot]];
  }
  if (me->edges > MAX_EDGES) return edges;
  if (!grow(&edges_end, EDGES_AT + (me->edges + 1) * sizeof(struct edge))) {
    me->lost |= LOST_EDGES;
    return edges;
  }
  edges[me->edges].peer = (uint32_t)world;
  edge_slot[slot] = (uint16_t)me->edges;
  return &edges[me->edges++];
}

struct edge* edge_beyond(void) {
  if (!me || !grow(&edges_end, EDGES_AT + sizeof(struct edge))) return &sink;
  return (struct edge*)(void*)(region + EDGES_AT);
}

void count_collective(int call, int comm, int root, uint64_t bytes) {
  struct collective* table = (struct collective*)(void*)(region + COLLECTIVES_AT);
  if (me->collectives > MAX_COLLECTIVES * 3 / 4 && bytes) {
    bytes = UINT64_C(1) << (63 - __builtin_clzll(bytes));  // a table that fills goes on by powers of 2
  }
  uint64_t place = (uint64_t)(uint32_t)root << 24 ^ (uint64_t)comm << 8 ^ (uint64_t)call;
  uint64_t hash = ((bytes * UINT64_C(0x9E3779B97F4A7C15) ^ place) * UINT64_C(0x9E3779B97F4A7C15)) >> 40;
  for (uint32_t i = 0; i < MAX_COLLECTIVES; i++) {
    struct collective* line = &table[(hash + i) % MAX_COLLECTIVES];
    if (!line->calls) {
      *line = (struct collective){0, bytes, root, (uint16_t)call, (uint16_t)comm};
      me->collectives++;
    }
    if (line->bytes == bytes && line->root == root && line->call == call && line->comm == comm) {
      line->calls++;
      return;
    }
  }
}

int number_comm(struct comm_line line) {
  if (!me || me->comms >= MAX_COMMS) return MAX_COMMS;
  struct comm_line* lines = (struct comm_line*)(void*)(region + COMMS_AT);
  lines[me->comms] = line;
  return (int)me->comms++;
}

int number_shape(const struct shape* shape) {
  if (!me || !shapes) return -1;
  uint64_t words = sizeof *shape / sizeof(uint64_t) + shape->counts;
  for (uint64_t at = 0; at < me->shape_words;) {
    const struct shape* known = (const struct shape*)(const void*)(shapes + at);
    if (known->counts == shape->counts && memcmp(known, shape, words * sizeof(uint64_t)) == 0) return (int)at;
    at += sizeof *known / sizeof(uint64_t) + known->counts;
  }
  if (words > MAX_SHAPE_WORDS - me->shape_words) return -1;
  memcpy(shapes + me->shape_words, shape, words * sizeof(uint64_t));
  int at = (int)me->shape_words;
  me->shape_words += (uint32_t)words;
  return at;
}

struct event* next_event(void) {
  struct window* window = &me->window[current];
  size_t first = EVENTS_AT + (size_t)current * WINDOW_EVENTS * sizeof(struct event);
  if (window->events >= WINDOW_EVENTS) {
    recording = 0;
    return NULL;
  }
  size_t end = first + (window->events + 1) * sizeof(struct event);
  if (end > events_end[current] && !(has_room_for_more_than_counts(me->ranks) && grow(&events_end[current], end))) {
    me->lost |= LOST_EVENTS;
    recording = 0;
    return NULL;
  }
  return (struct event*)(void*)(region + first) + window->events++;
}

void check_clock(uint64_t now) {
  compare_clocks(me);
  next_check = now + ticks_per_second;
  if (now < next_window) return;
  // All ranks open a window at the same instants, whether their last one is full or not.
  if (!recording && !(me->lost & LOST_EVENTS)) {
    uint64_t calls = 0;
    for (int i = 0; i < MAX_CALLS; i++) calls += me->call[i].calls;
    for (int i = 0; i < MAX_SITES; i++) calls += sites[i].calls;
    uint32_t number = me->window[current].number + 1;
    current = current == 1 ? 2 : 1;
    me->window[current] = (struct window){calls, 0, number};
    if (me->windows < current + 1) me->windows = current + 1;
    recording = 1;
  }
  while (next_window <= now) next_window = me->begun + 4 * (next_window - me->begun);
}
