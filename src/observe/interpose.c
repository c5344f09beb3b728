// The functions that take MPI's places. Each call is noted once, however the MPI's own parts (Fortran, say) call each other.
// Cases for other numbers of arguments fall away, but only after the compiler has looked at them.
#pragma GCC diagnostic ignored "-Warray-bounds"
#include "handlers.h"

#include "call_sites.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static __thread int inside __attribute__((tls_model("initial-exec")));

#define DEFINE(symbol, name, n, handler, timed, extra, big, profiling)                                              \
  EXPORT int symbol(PARAMETERS_##n(word)) {                                                                         \
    word a[] = {WORDS_##n};                                                                                         \
    struct site site = {CALL_##name, n, big, timed, extra, profiling, original(CALL_##name, profiling, big), NULL}; \
    if (UNLIKELY(inside || !me)) return invoke(site, a);                                                            \
    inside = 1;                                                                                                     \
    if (UNLIKELY(threaded)) lock_threads();                                                                         \
    site.from = site_of(__builtin_return_address(0), CALL_##name);                                                  \
    int result = handler(site, a);                                                                                  \
    if (UNLIKELY(threaded)) unlock_threads();                                                                       \
    inside = 0;                                                                                                     \
    return result;                                                                                                  \
  }
#define DEFINE_S(name, n, handler, timed, extra)           \
  DEFINE(MPI_##name, name, n, handler, timed, extra, 0, 0) \
  DEFINE(PMPI_##name, name, n, handler, timed, extra, 0, 1)
#define DEFINE_B(name, n, handler, timed, extra)               \
  DEFINE_S(name, n, handler, timed, extra)                     \
  DEFINE(MPI_##name##_c, name, n, handler, timed, extra, 1, 0) \
  DEFINE(PMPI_##name##_c, name, n, handler, timed, extra, 1, 1)
#define CALL(flavour, name, n, handler, timed, extra, letters) DEFINE_##flavour(name, n, handler, timed, extra)
#include "calls.h"

// Beginning and end.

static int level;  // of threads, as the MPI gives it

static void begin(word session) {
  const char* folder = getenv("RANKWISE_OBSERVE_DIR");
  int rank = -1, ranks = 0;
  if (me || !folder || !*folder || !family_find() || !world_open(session, &rank, &ranks)) return;
  if (!store_open(folder, rank, ranks, call_names, CALL_COUNT)) return;
  live_begin();
  threaded = level >= mpi.thread_multiple;
  me->family = (uint32_t)mpi.number;
  me->threads = (uint32_t)level;
  number_of(comm_of(mpi.world, 0));
  int (*version)(char*, int32_t*);
  *(void**)&version = mpi_symbol("MPI_Get_library_version");
  char text[16384];
  int32_t length = 0;
  if (version(text, &length) == 0) {
    length = length < (int32_t)sizeof me->library - 1 ? length : (int32_t)sizeof me->library - 1;
    memcpy(me->library, text, (size_t)length);
  }
  int (*parent)(word*);
  *(void**)&parent = mpi_symbol("PMPI_Comm_get_parent");
  word handle = 0;
  me->spawned = !session && parent && parent(&handle) == 0 && handle != mpi.null_comm;
}

static int first(const char* name, int n, word a0, word a1, word a2, word a3, int* result) {
  const word a[] = {a0, a1, a2, a3};
  void* function = mpi_symbol(name);
  if (!function && name[0] == 'P') function = mpi_symbol(name + 1);
  if (!function) {
    *result = 15;
    return 0;
  }
  int outermost = !inside;
  inside = 1;
  *result = invoke_words(function, n, a);
  if (outermost) inside = 0;
  return outermost && *result == 0;
}

#define DEFINE_FIRST(prefix)                                                                              \
  EXPORT int prefix##_Init(word count, word arguments) {                                                  \
    int result;                                                                                           \
    if (first(#prefix "_Init", 2, count, arguments, 0, 0, &result)) begin_inside(0);                      \
    return result;                                                                                        \
  }                                                                                                       \
  EXPORT int prefix##_Init_thread(word count, word arguments, word required, word provided) {             \
    int result;                                                                                           \
    if (first(#prefix "_Init_thread", 4, count, arguments, required, provided, &result)) {                \
      level = *(const int32_t*)provided;                                                                  \
      begin_inside(0);                                                                                    \
    }                                                                                                     \
    return result;                                                                                        \
  }                                                                                                       \
  EXPORT int prefix##_Session_init(word info, word handler, word session) {                               \
    int result;                                                                                           \
    if (first(#prefix "_Session_init", 3, info, handler, session, 0, &result)) begin_of_session(session); \
    return result;                                                                                        \
  }                                                                                                       \
  EXPORT int prefix##_Finalize(void) {                                                                    \
    int result;                                                                                           \
    if (!inside) end(STATE_FINALIZED);                                                                    \
    first(#prefix "_Finalize", 0, 0, 0, 0, 0, &result);                                                   \
    return result;                                                                                        \
  }                                                                                                       \
  EXPORT int prefix##_Session_finalize(word session) {                                                    \
    int result;                                                                                           \
    if (!inside && me) store_close(STATE_FINALIZED);                                                      \
    first(#prefix "_Session_finalize", 1, session, 0, 0, 0, &result);                                     \
    return result;                                                                                        \
  }                                                                                                       \
  EXPORT int prefix##_Abort(word comm, word code) {                                                       \
    int result;                                                                                           \
    if (!inside && me) store_close(STATE_ABORTED);                                                        \
    first(#prefix "_Abort", 2, comm, code, 0, 0, &result);                                                \
    return result;                                                                                        \
  }

static void begin_inside(word session) {
  inside = 1;
  begin(session);
  inside = 0;
}

static void begin_of_session(word session) {
  if (me || !family_find()) return;
  level = mpi.thread_multiple;
  begin_inside(handle_at(session, 0));
}

static void end(uint32_t state) {
  if (!me) return;
  live_end();
  store_close(state);
  me = NULL;
}

DEFINE_FIRST(MPI)
DEFINE_FIRST(PMPI)
