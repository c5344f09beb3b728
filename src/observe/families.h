// The MPIs that there are: their constants, and where their functions lie. No mpi.h: handles, addresses and numbers are words.
#ifndef RANKWISE_OBSERVE_FAMILIES_H
#define RANKWISE_OBSERVE_FAMILIES_H

#include <stdint.h>

typedef uintptr_t word;

enum { MPICH, OPEN_MPI, MPI_ABI };

struct family {
  int number;
  word handle_mask;  // a handle that is an int leaves the upper half of its word as it was
  int handle_bytes;  // in arrays
  int status_bytes, source_at, tag_at;
  int proc_null, any_source, any_tag;
  word in_place, status_ignore;
  int cart, graph, dist_graph;
  int thread_multiple, other_error;
  word world, byte_type, null_request, null_comm;
};

extern struct family mpi;

// Finds out which MPI the program has; returns whether it is one that is known.
int family_find(void);

// The address of a name in the program's MPI (behind us), or null.
void* mpi_symbol(const char* name);

static inline word handle_of(word argument) { return argument & mpi.handle_mask; }

static inline word handle_at(word array, int64_t i) {
  return mpi.handle_bytes == 4 ? ((const uint32_t*)array)[i] : ((const word*)array)[i];
}

static inline int64_t count_of(word argument, int big) { return big ? (int64_t)argument : (int32_t)argument; }

static inline int64_t count_at(word array, int64_t i, int big) {
  return big ? ((const int64_t*)array)[i] : ((const int32_t*)array)[i];
}

static inline int status_source(const void* status) { return *(const int32_t*)((const char*)status + mpi.source_at); }
static inline int status_tag(const void* status) { return *(const int32_t*)((const char*)status + mpi.tag_at); }

// A number for each watched call, and how to reach the originals.

enum {
#define CALL(flavour, name, n, handler, timed, extra, letters) CALL_##name,
#include "calls.h"
  CALL_Init,
  CALL_Finalize,
  CALL_COUNT
};

// A call as it came: which one, through which of its names, and the function behind us.
struct site {
  int call, arguments;
  int big;  // with big counts
  int timed, extra;
  int profiling;  // through PMPI_
  void* function;
  struct call_site* from;  // where the program called it; of the outermost call alone
};

extern const char* const call_names[CALL_COUNT];

// The function behind one of a call's names; ABSENT where the MPI has none.
extern void* originals[CALL_COUNT][4];
extern char absent_mark;
#define ABSENT ((void*)&absent_mark)
void* find_original(int call, int profiling, int big);

static inline void* original(int call, int profiling, int big) {
  void* function = originals[call][profiling * 2 + big];
  return __builtin_expect(function != 0, 1) ? function : find_original(call, profiling, big);
}

// Does without a function that the MPI lacks: by its twin with plain counts, or by an error.
int call_absent(const struct site* site, word* a);

// Where arguments of a function that is absent live on until its request has ended.
void keep_until_later(void* memory);

int invoke_words(void* function, int n, const word* a);

#endif
