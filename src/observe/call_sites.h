// Where in the program a function of MPI was called: by the address behind the call, known to the outermost function that takes
// MPI's place. Names come later, from the module's file (python/rankwise/observe/call_sites.py).
#ifndef RANKWISE_OBSERVE_CALL_SITES_H
#define RANKWISE_OBSERVE_CALL_SITES_H

#include "store.h"

// The lines of all sites, hashed by address and call; where the disk is nearly full, lines that are never used.
extern struct call_site* sites;
extern struct module* modules;
extern struct chain* chains;  // null: there is no room for any

// The line of a key, made at first sight, or the program's behind that of a binding, where its call is known; where there is no
// line left, that of the call in the page.
struct call_site* site_find(uint64_t key, int call);

// The innermost frames of Python, at most so many, that are not of the package whose library has this path (null: any); how many
// are known (python.c).
struct python_caller {
  const void* code;
  const char *instruction, *file;
};

int python_callers(const char* library, struct python_caller* callers, int most);

// Whether an address is in the interpreter's code.
int is_of_interpreter(const void* address);

// The part of a module in memory that holds an address; of no bytes where none does.
struct segment {
  uint64_t begin, bytes;
};

struct segment segment_of(const void* address);

// Its line; the module is then its file and function, a line each.
uint64_t python_site(const struct python_caller* caller, struct module* module);

// Where Fortran called last (fortran.c); 0: it has been used.
extern __thread uint64_t fortran_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));

// An address and a call in one word: addresses of programs have less than 48 bits.
static inline uint64_t site_key(uint64_t address, int call) { return address ^ (uint64_t)call << 48; }

static inline uint64_t site_hash(uint64_t key) { return key * UINT64_C(0x9E3779B97F4A7C15) >> 52; }

// Notes who had called a site's function, if an instant that is sampled lies in the call's time (ticks).
void sample_callers(const struct call_site* site, uint64_t start, uint64_t end);

// Counts the time of a call (ticks), and does what is due.
static inline void count_time(struct call_site* site, uint64_t start, uint64_t end) {
  site->ticks += end - start;
  site->timed++;
  if (end >= next_check) check_clock(end);
  if (end >= next_sample) sample_callers(site, start, end);
}

static inline struct call_site* site_of(const void* caller, int call) {
  uint64_t key = site_key((uint64_t)(uintptr_t)caller, call);
  struct call_site* site = &sites[site_hash(key)];
  return __builtin_expect(site->key == key, 1) ? site : site_find(key, call);
}

_Static_assert(MAX_SITES == 1 << (64 - 52), "a hash is the place of a line");

#endif
