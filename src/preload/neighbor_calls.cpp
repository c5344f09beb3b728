// The functions of MPI that neighbourhood collectives need us to take the place of: these themselves, what waits for their requests,
// what makes their communicators, and the end of datatypes. Without RANKWISE_NEIGHBOR all go straight on.
#include "preload/look_up.hpp"
#include "preload/neighbor.hpp"
#include "preload/watch.hpp"
#include "preload/words.hpp"

namespace rankwise::preload {

namespace {

template <class Function>
Function found(const char* name) {
  return reinterpret_cast<Function>(look_up(name));
}

const void* at(Handle pointer) { return reinterpret_cast<const void*>(pointer); }

// Waits or tests with requests of ours among the others: `own` is MPI's, called as soon as something may be done.
template <class Own>
int waited(Handle count, Handle requests, Own own) {
  const int code = neighbor_requests() ? neighbor_finish(static_cast<int>(count), at(requests)) : 0;
  const int theirs = own();
  return code != 0 ? code : theirs;
}

template <class Own>
int tested(Handle count, Handle requests, Own own) {
  bool some = false;
  const int code = neighbor_requests() ? neighbor_progress(static_cast<int>(count), at(requests), &some) : 0;
  const int theirs = own();
  return code != 0 ? code : theirs;
}

// Until one of them is done: test(&done) is MPI's test, own MPI's wait, which is left to wait where none is ours.
template <class Test, class Own>
int waited_for_some(Handle count, Handle requests, Test test, Own own) {
  while (neighbor_requests()) {
    bool some = false;
    if (const int code = neighbor_progress(static_cast<int>(count), at(requests), &some); code != 0) return code;
    if (!some) break;
    bool done = false;
    const int code = test(&done);
    if (code != 0 || done) return code;
  }
  return own();
}

using F4 = int (*)(Handle, Handle, Handle, Handle);
using F5 = int (*)(Handle, Handle, Handle, Handle, Handle);

int wait_any(F4 own, Handle count, Handle requests, Handle index, Handle status) {
  return waited_for_some(
      count, requests,
      [&](bool* done) {
        static const auto test = found<F5>("MPI_Testany");
        int flag = 0;
        const int code = test(count, requests, index, reinterpret_cast<Handle>(&flag), status);
        *done = flag != 0;
        return code;
      },
      [&] { return own(count, requests, index, status); });
}

int wait_some(F5 own, Handle count, Handle requests, Handle outcount, Handle indices, Handle statuses) {
  return waited_for_some(
      count, requests,
      [&](bool* done) {
        static const auto test = found<F5>("MPI_Testsome");
        const int code = test(count, requests, outcount, indices, statuses);
        *done = *reinterpret_cast<const int*>(outcount) != 0;
        return code;
      },
      [&] { return own(count, requests, outcount, indices, statuses); });
}

int start(Handle count, Handle requests) {
  return neighbor_requests() ? neighbor_start(static_cast<int>(count), at(requests)) : 0;
}

int made(int code, Handle pointer) {
  if (code == 0 && neighbor_mode() != NeighborMode::off) neighbor_made(comm_at(pointer));
  return code;
}

}  // namespace

}  // namespace rankwise::preload

#define RANKWISE_LIST(...) __VA_ARGS__
// BODY: what is returned, of original and the words a0, a1 ...
#define RANKWISE_INSTEAD_OF(FUNCTION, SYMBOL, BODY, PARAMETERS)                              \
  extern "C" __attribute__((visibility("default"))) int FUNCTION PARAMETERS __asm__(SYMBOL); \
  int FUNCTION PARAMETERS {                                                                  \
    using namespace rankwise::preload;                                                       \
    static const auto original = reinterpret_cast<int(*) PARAMETERS>(original_of(SYMBOL));   \
    return original != nullptr ? BODY : 16;                                                  \
  }
#define RANKWISE_INSTEAD(NAME, BODY, ...) RANKWISE_INSTEAD_BOTH(NAME, BODY, __VA_ARGS__)
#define RANKWISE_INSTEAD_BOTH(NAME, BODY, PARAMETERS, ARGUMENTS)          \
  RANKWISE_INSTEAD_OF(rankwise_of_##NAME, "MPI_" #NAME, BODY, PARAMETERS) \
  RANKWISE_INSTEAD_OF(rankwise_of_p##NAME, "PMPI_" #NAME, (BODY), PARAMETERS)

// A call that was left to MPI before goes straight on; all else is in a function of its own, so that such a call saves no register.
#define RANKWISE_NEIGHBOR_OF(FUNCTION, SYMBOL, KIND, FORM, LARGE, COMM, COUNT, PARAMETERS, ARGUMENTS)               \
  extern "C" __attribute__((visibility("default"))) int FUNCTION PARAMETERS __asm__(SYMBOL);                        \
  static constinit std::atomic<int(*) PARAMETERS> FUNCTION##_original{nullptr};                                     \
  __attribute__((noinline, cold)) static int FUNCTION##_seen PARAMETERS {                                           \
    using namespace rankwise::preload;                                                                              \
    static const auto original = reinterpret_cast<int(*) PARAMETERS>(original_of(SYMBOL));                          \
    watch_use(COMM);                                                                                                \
    if (original == nullptr) return 16;                                                                             \
    FUNCTION##_original.store(original, std::memory_order_relaxed);                                                 \
    int result = 0;                                                                                                 \
    if (!neighbors_off.load(std::memory_order_relaxed) && serve_neighbor({NeighborKind::KIND,                       \
                                                                          NeighborForm::FORM,                       \
                                                                          LARGE,                                    \
                                                                          COUNT,                                    \
                                                                          {RANKWISE_LIST ARGUMENTS},                \
                                                                          reinterpret_cast<void*>(original),        \
                                                                          COMM},                                    \
                                                                         &result)) {                                \
      return result;                                                                                                \
    }                                                                                                               \
    return original ARGUMENTS;                                                                                      \
  }                                                                                                                 \
  int FUNCTION PARAMETERS {                                                                                         \
    using namespace rankwise::preload;                                                                              \
    const auto original = FUNCTION##_original.load(std::memory_order_relaxed);                                      \
    const bool straight = original != nullptr && !watching.load(std::memory_order_relaxed);                         \
    if (straight &&                                                                                                 \
        (neighbors_off.load(std::memory_order_relaxed) || is_left(NeighborKind::KIND, NeighborForm::FORM, COMM))) { \
      return original ARGUMENTS;                                                                                    \
    }                                                                                                               \
    return FUNCTION##_seen ARGUMENTS;                                                                               \
  }
#define RANKWISE_NEIGHBOR(NAME, KIND, FORM, LARGE, COMM, COUNT, ...) \
  RANKWISE_NEIGHBOR_BOTH(NAME, KIND, FORM, LARGE, COMM, COUNT, __VA_ARGS__)
#define RANKWISE_NEIGHBOR_BOTH(NAME, KIND, FORM, LARGE, COMM, COUNT, PARAMETERS, ARGUMENTS)                       \
  RANKWISE_NEIGHBOR_OF(rankwise_of_##NAME, "MPI_" #NAME, KIND, FORM, LARGE, COMM, COUNT, PARAMETERS, ARGUMENTS)   \
  RANKWISE_NEIGHBOR_OF(rankwise_of_p##NAME, "PMPI_" #NAME, KIND, FORM, LARGE, COMM, COUNT, PARAMETERS, ARGUMENTS) \
  RANKWISE_NEIGHBOR_LARGE(NAME##_c, KIND, FORM, COMM, COUNT, PARAMETERS, ARGUMENTS)
#define RANKWISE_NEIGHBOR_LARGE(NAME, KIND, FORM, COMM, COUNT, PARAMETERS, ARGUMENTS)                          \
  RANKWISE_NEIGHBOR_OF(rankwise_of_##NAME, "MPI_" #NAME, KIND, FORM, true, COMM, COUNT, PARAMETERS, ARGUMENTS) \
  RANKWISE_NEIGHBOR_OF(rankwise_of_p##NAME, "PMPI_" #NAME, KIND, FORM, true, COMM, COUNT, PARAMETERS, ARGUMENTS)

RANKWISE_NEIGHBOR(Neighbor_allgather, allgather, blocking, false, a6, 7, RANKWISE_7)
RANKWISE_NEIGHBOR(Neighbor_allgatherv, allgatherv, blocking, false, a7, 8, RANKWISE_8)
RANKWISE_NEIGHBOR(Neighbor_alltoall, alltoall, blocking, false, a6, 7, RANKWISE_7)
RANKWISE_NEIGHBOR(Neighbor_alltoallv, alltoallv, blocking, false, a8, 9, RANKWISE_9)
RANKWISE_NEIGHBOR(Neighbor_alltoallw, alltoallw, blocking, false, a8, 9, RANKWISE_9)
RANKWISE_NEIGHBOR(Ineighbor_allgather, allgather, nonblocking, false, a6, 8, RANKWISE_8)
RANKWISE_NEIGHBOR(Ineighbor_allgatherv, allgatherv, nonblocking, false, a7, 9, RANKWISE_9)
RANKWISE_NEIGHBOR(Ineighbor_alltoall, alltoall, nonblocking, false, a6, 8, RANKWISE_8)
RANKWISE_NEIGHBOR(Ineighbor_alltoallv, alltoallv, nonblocking, false, a8, 10, RANKWISE_10)
RANKWISE_NEIGHBOR(Ineighbor_alltoallw, alltoallw, nonblocking, false, a8, 10, RANKWISE_10)
RANKWISE_NEIGHBOR(Neighbor_allgather_init, allgather, persistent, false, a6, 9, RANKWISE_9)
RANKWISE_NEIGHBOR(Neighbor_allgatherv_init, allgatherv, persistent, false, a7, 10, RANKWISE_10)
RANKWISE_NEIGHBOR(Neighbor_alltoall_init, alltoall, persistent, false, a6, 9, RANKWISE_9)
RANKWISE_NEIGHBOR(Neighbor_alltoallv_init, alltoallv, persistent, false, a8, 11, RANKWISE_11)
RANKWISE_NEIGHBOR(Neighbor_alltoallw_init, alltoallw, persistent, false, a8, 11, RANKWISE_11)

RANKWISE_INSTEAD(Wait, (waited(1, a0, [&] { return original(a0, a1); })), RANKWISE_2)
RANKWISE_INSTEAD(Waitall, (waited(a0, a1, [&] { return original(a0, a1, a2); })), RANKWISE_3)
RANKWISE_INSTEAD(Waitany, (wait_any(original, a0, a1, a2, a3)), RANKWISE_4)
RANKWISE_INSTEAD(Waitsome, (wait_some(original, a0, a1, a2, a3, a4)), RANKWISE_5)
RANKWISE_INSTEAD(Test, (tested(1, a0, [&] { return original(a0, a1, a2); })), RANKWISE_3)
RANKWISE_INSTEAD(Testall, (tested(a0, a1, [&] { return original(a0, a1, a2, a3); })), RANKWISE_4)
RANKWISE_INSTEAD(Testany, (tested(a0, a1, [&] { return original(a0, a1, a2, a3, a4); })), RANKWISE_5)
RANKWISE_INSTEAD(Testsome, (tested(a0, a1, [&] { return original(a0, a1, a2, a3, a4); })), RANKWISE_5)
RANKWISE_INSTEAD(Request_get_status, (tested(1, reinterpret_cast<Handle>(&a0), [&] { return original(a0, a1, a2); })),
                 RANKWISE_3)
RANKWISE_INSTEAD(Start, (start(1, a0) != 0 ? 16 : original(a0)), RANKWISE_1)
RANKWISE_INSTEAD(Startall, (start(a0, a1) != 0 ? 16 : original(a0, a1)), RANKWISE_2)
RANKWISE_BOTH(Request_free, rankwise::preload::neighbor_forget(reinterpret_cast<const void*>(a0)), RANKWISE_1)
RANKWISE_BOTH(Type_free, rankwise::preload::neighbor_type_freed(a0), RANKWISE_1)

// Those that make graphs by their other names: interpose.cpp has the usual ones.
#define RANKWISE_INSTEAD_OF_P(NAME, BODY, ...) RANKWISE_INSTEAD_OF_P_OF(NAME, BODY, __VA_ARGS__)
#define RANKWISE_INSTEAD_OF_P_OF(NAME, BODY, PARAMETERS, ARGUMENTS) \
  RANKWISE_INSTEAD_OF(rankwise_of_p##NAME, "PMPI_" #NAME, BODY, PARAMETERS)
RANKWISE_INSTEAD_OF_P(Graph_create, (made(original(NeighborParent(a0).comm(), a1, a2, a3, a4, a5), a5)), RANKWISE_6)
RANKWISE_INSTEAD_OF_P(Dist_graph_create_adjacent,
                      (made(original(NeighborParent(a0).comm(), a1, a2, a3, a4, a5, a6, a7, a8, a9), a9)), RANKWISE_10)
RANKWISE_INSTEAD_OF_P(Dist_graph_create, (made(original(NeighborParent(a0).comm(), a1, a2, a3, a4, a5, a6, a7, a8), a8)),
                      RANKWISE_9)
