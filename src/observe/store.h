// What a rank keeps in memory that outlives it: a region of a file that all ranks of a node map.
// python/rankwise/observe/parts.py reads the same layout; change LAYOUT with it.
#ifndef RANKWISE_OBSERVE_STORE_H
#define RANKWISE_OBSERVE_STORE_H

#include <stdatomic.h>
#include <stdint.h>

#define LAYOUT 6
enum {
  MAX_CALLS = 256,
  MAX_EDGES = 8192,  // of a rank; edge 0 takes what goes to further ones
  MAX_COLLECTIVES = 1024,
  MAX_COMMS = 1024,
  MAX_CARTS = 16,
  MAX_DIMS = 8,
  MAX_WINDOWS = 3,  // the first, and by turns the last and the one before
  WINDOW_EVENTS = 65536,
  MAX_SITES = 4096,
  MAX_MODULES = 256,
  MAX_CHAINS = 1024,
  MAX_CALLERS = 6,
  MAX_SHAPE_WORDS = 16384,
  HISTOGRAM_BINS = 32,
  MAX_PARTNERS = 16,
  KIND_BITS = 3
};

struct edge {
  uint32_t peer, unused;
  uint64_t messages, bytes, pulled;  // pulled: what this rank fetched from the peer
  uint32_t histogram[HISTOGRAM_BINS];
};

struct event {
  int64_t start, end;  // ticks
  int64_t bytes;
  int32_t peer, tag;
  uint32_t request;
  uint16_t comm;
  uint16_t site_and_kind;  // the site's number above KIND_BITS of kind
};

struct collective {
  uint64_t calls, bytes;  // bytes of each call
  int32_t root;           // world rank, -1 without
  uint16_t call, comm;
};

struct comm_line {
  uint64_t id;  // the same on all ranks of the communicator, where that can be known
  uint32_t size;
  int32_t leader;
  int32_t rank;       // of this process in it
  uint32_t is_inter;  // an inter-communicator, whose size is that of the other group
};

// What MPI's rules for a collective ask for besides its bytes: three words, and of each rank the bytes where they differ.
enum { NOT_COMMUTATIVE = 1, IN_PLACE = 2 };
struct shape {
  uint64_t element_bytes, flags, counts;
  uint64_t bytes[];
};

struct cart {
  int32_t dimensions, reorder, size[MAX_DIMS], periodic[MAX_DIMS];
};

struct window {
  uint64_t first_call;  // calls that the rank had made before
  uint32_t events, number;
};

// A place in the program that calls a function of MPI; in the page those of a call that have no line of their own.
struct call_site {
  uint64_t key;                  // of the address behind the call in memory, and the call (call_sites.h)
  uint64_t offset;               // behind the call, as the module's file has it
  uint64_t calls, timed, ticks;  // how many, how many of them were timed, how long these took together
  uint16_t call, module;         // module: its number from 1 on, 0: none is known
  uint16_t number;               // those of the page first, by their call
  uint16_t is_binding;           // the code is an MPI's binding for another language, not the program's: such keys are marked
};

// A file whose code calls MPI: the program, or a library.
struct module {
  uint32_t build_id_bytes;  // 0: it has none
  uint8_t build_id[20];
  char path[232];
};

// The functions that had called the one that calls MPI, the innermost first.
struct chain {
  uint64_t key;      // 0: none
  uint32_t samples;  // instants at which a call from here was under way
  uint16_t site, callers;
  uint64_t caller[MAX_CALLERS];  // as a site's offset (of Python the line), below the module's number in the upper 16 bits
};

struct clock_pair {
  uint64_t ticks;
  int64_t ns;
};

enum { STATE_CLAIMED, STATE_RUNNING, STATE_FINALIZED, STATE_ABORTED };
enum { LOST_EDGES = 1, LOST_EVENTS = 2, LOST_TABLES = 4, LOST_ALL = 8 };

enum { WAITS_TO_SEND = 1, WAITS_FOR_MESSAGE, WAITS_FOR_ALL };

// Whom a rank waits for: world -1 any, -2 that of a rank in a communicator (rank -1: all of its ranks).
struct partner {
  int32_t world, rank, comm, tag;
  uint32_t kind;
};

// The call that a rank is in, if it has been for half a second.
struct live {
  struct clock_pair now;
  uint64_t since;  // ticks; 0: none
  uint16_t site, waits_for_any;
  uint32_t partners;  // also those beyond the list
  struct partner partner[MAX_PARTNERS];
};

struct rank_page {
  uint64_t layout;
  int32_t rank, ranks;
  uint32_t state, family;
  uint32_t lost, spawned;
  int32_t core, socket;
  int32_t cores, cores_allowed;
  uint32_t threads, edges;
  uint32_t collectives, comms;
  uint32_t carts, windows;
  uint32_t sites, modules;
  uint32_t shape_words, unused;
  uint64_t involuntary_switches;
  struct clock_pair first, last;  // ticks against ns since the epoch, whose day was asked once
  int64_t set_ns;                 // how far the time of day was set between them
  uint64_t begun, ended;          // ticks at the end of Init and the beginning of Finalize
  char host[64], library[192];
  struct cart cart[MAX_CARTS];
  struct window window[MAX_WINDOWS];
  struct call_site call[MAX_CALLS];
  struct live live;
};

// The region: page, collectives, communicators, edges, events, sites, modules, shapes, chains.
#define COLLECTIVES_AT 16384
#define COMMS_AT (COLLECTIVES_AT + MAX_COLLECTIVES * 24)
#define EDGES_AT 65536
#define EVENTS_AT 1441792
#define SITES_AT 9306112
#define MODULES_AT 9502720
#define SHAPES_AT 9568256
#define CHAINS_AT 9699328
#define REGION 9764864
#define REGIONS_AT 16384  // the file begins with the number of slots that ranks have claimed, and the names of calls
#define NAMES_AT 64       // one a line

_Static_assert(sizeof(struct edge) == 160 && sizeof(struct event) == 40, "as parts.py reads");
_Static_assert(sizeof(struct collective) == 24 && sizeof(struct call_site) == 48, "as parts.py reads");
_Static_assert(sizeof(struct module) == 256, "as parts.py reads");
_Static_assert(sizeof(struct rank_page) <= COLLECTIVES_AT, "the page ends before the collectives");
_Static_assert(COMMS_AT + MAX_COMMS * sizeof(struct comm_line) <= EDGES_AT, "communicators end before the edges");
_Static_assert(EDGES_AT + (MAX_EDGES + 1) * sizeof(struct edge) <= EVENTS_AT, "edges end before the events");
_Static_assert(EVENTS_AT + (uint64_t)MAX_WINDOWS * WINDOW_EVENTS * 40 <= SITES_AT, "events end before the sites");
_Static_assert(SITES_AT + MAX_SITES * sizeof(struct call_site) <= MODULES_AT, "sites end before the modules");
_Static_assert(MODULES_AT + MAX_MODULES * sizeof(struct module) <= SHAPES_AT, "modules end before the shapes");
_Static_assert(SHAPES_AT + MAX_SHAPE_WORDS * 8 <= CHAINS_AT, "shapes end before the chains");
_Static_assert(sizeof(struct chain) == 64, "as parts.py reads");
_Static_assert(CHAINS_AT + MAX_CHAINS * sizeof(struct chain) <= REGION, "chains end before the next region");
_Static_assert(MAX_CALLS + MAX_SITES <= 1 << (16 - KIND_BITS), "the number of a site fits an event");

extern struct rank_page* me;  // null while nothing is recorded
extern struct edge sink;      // takes what is not to be counted
extern int recording;         // within a window of events
extern int threaded;          // several threads may call at once
extern uint64_t next_check;   // ticks at which the clocks are compared again
extern uint64_t next_sample;  // ticks at which the call that is under way is asked for its callers
extern uint64_t ticks_per_second;

// Claims a region in the node's file; returns whether there is one. Never prints: the launcher's side says what is missing.
int store_open(const char* folder, int rank, int ranks, const char* const* names, int name_count);
void store_close(uint32_t state);

// The edge to a world rank, made at first use.
struct edge* edge_of(int world);
// All that goes to ranks of other worlds, such as those that the program spawned.
struct edge* edge_beyond(void);

void count_collective(int call, int comm, int root, uint64_t bytes);

// Room for one more event; null, and the window ends, where there is none.
struct event* next_event(void);

// Compares the clocks about each second, and opens later windows at 2, 8, 32 ... seconds.
void check_clock(uint64_t now);

// A number for a new communicator.
int number_comm(struct comm_line line);

// The number of a shape, the same for the same; -1 where there is no more room.
int number_shape(const struct shape* shape);

// Both clocks at one instant.
struct clock_pair clock_now(void);

static inline uint64_t ticks(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
  uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
#error "no tick counter is known for this processor"
#endif
}

static inline void count_message(struct edge* edge, uint64_t bytes) {
  edge->messages++;
  edge->bytes += bytes;
  int bin = bytes ? 64 - __builtin_clzll(bytes) : 0;
  edge->histogram[bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1]++;
}

static inline void uncount_message(struct edge* edge, uint64_t bytes) {
  edge->messages--;
  edge->bytes -= bytes;
  int bin = bytes ? 64 - __builtin_clzll(bytes) : 0;
  edge->histogram[bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1]--;
}

#endif
