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

#endif
