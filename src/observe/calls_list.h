// A number for each watched call, and how to reach the originals.
#ifndef RANKWISE_OBSERVE_CALLS_LIST_H
#define RANKWISE_OBSERVE_CALLS_LIST_H

#include "families.h"

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
