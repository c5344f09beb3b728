// librankwise_preload.so: an unmodified program's MPI_Cart_create with reorder true gets a communicator with few messages
// across nodes (Hunold et al. 2020), from C and from Fortran; with RANKWISE_GRAPHS=1 so do MPI_Dist_graph_create_adjacent,
// MPI_Dist_graph_create and MPI_Graph_create, from C. Whatever else is called, and whatever is odd, goes on to
// the MPI that the program was made for.
//
// Nothing here knows an MPI: the functions take and pass on any MPI's handles as bits, so that libraries for several MPIs
// may be loaded one behind the other, of which the one that fits acts.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // RTLD_NEXT
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "api/environment.hpp"
#include "preload/arrange.hpp"
#include "preload/look_up.hpp"
#include "preload/neighbor.hpp"

namespace rankwise::preload {

namespace {

// Calls from within ours (MPI's Fortran calls its C, we call MPI_Cart_create) are not for us.
thread_local bool inside = false;
class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = was_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool was_ = inside;
};

const char* file_of(void* function) {
  Dl_info info{};
  return function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Whether it is for this library to act; remembers why not where no library of the chain fits.
bool fits() {
  if (running() == compiled_for()) return true;
  static const bool known = [] {
    const char* why = misfit();
    if (why == nullptr) return false;
    if (is_rank_0()) say(why);
    remember_left(Topology::grid, why);
    return true;
  }();
  static_cast<void>(known);
  return false;
}

using CFunction = int (*)(Handle, int, const int*, const int*, int, void*);
using FortranFunction = void (*)(const int*, const int*, const int*, const int*, const int*, int*, int*);

constexpr int no_mpi = 16;  // no MPI has been found at all: an error, whatever it is called there

int from_c(Handle comm, int ndims, const int* dims, const int* periods, int reorder, void* cart) {
  if (!inside) count_call(Topology::grid, reorder != 0);
  if (reorder != 0 && !inside && cart != nullptr && fits()) {
    const Inside guard;
    if (arrange(comm, ndims, dims, periods, cart)) return 0;
  }
  const auto original = reinterpret_cast<CFunction>(look_up("MPI_Cart_create"));
  if (original == nullptr) return no_mpi;
  const int code = original(comm, ndims, dims, periods, reorder, cart);
  if (code == 0 && neighbor_mode() != NeighborMode::off) neighbor_made(comm_at(reinterpret_cast<Handle>(cart)));
  return code;
}

// Fortran passes addresses. A LOGICAL is as wide as an INTEGER and false is 0, whatever true is (1 or -1); ierror may
// be absent (null) in the Fortran 2008 form.
void from_fortran(const char* name, const int* comm, const int* ndims, const int* dims, const int* periods, const int* reorder,
                  int* cart, int* ierror) {
  const Inside guard;
  count_call(Topology::grid, *reorder != 0);
  if (*reorder != 0 && *ndims > 0 && fits()) {
    std::vector<int> flags;
    try {
      flags.assign(periods, periods + *ndims);
    } catch (const std::bad_alloc&) {
    }
    for (int& flag : flags) flag = flag != 0 ? 1 : 0;
    if (!flags.empty() && arrange_fortran(*comm, *ndims, dims, flags.data(), cart)) {
      if (ierror != nullptr) *ierror = 0;
      return;
    }
  }
  const auto original = reinterpret_cast<FortranFunction>(look_up(name));
  if (original == nullptr) {
    if (ierror != nullptr) *ierror = no_mpi;
    return;
  }
  original(comm, ndims, dims, periods, reorder, cart, ierror);
}

// A function that takes a graph: arranged where that was asked for, else as the program's MPI does it.
template <class Arrange, class Call>
int graph_from_c(const char* name, Handle comm, bool reorder, void* made, Arrange&& arranged, Call&& call) {
  if (!inside) {
    count_call(Topology::graph, reorder);
    if (reorder && !api::environment_flag("RANKWISE_GRAPHS")) {
      const std::string why =
          std::string(name) + " is left as it is: 'rankwise preload --graphs' places such communicators, too";
      remember_left(Topology::graph, why.c_str());
    } else if (reorder && fits()) {
      const Inside guard;
      if (arranged()) return 0;
    }
  }
  void* const original = look_up(name);
  if (original == nullptr) return no_mpi;
  const NeighborParent parent(comm);
  const int code = call(original, parent.comm());
  if (code == 0 && neighbor_mode() != NeighborMode::off) neighbor_made(comm_at(reinterpret_cast<Handle>(made)));
  return code;
}

}  // namespace

Family running() noexcept {
  static const Family family = [] {
    const char* path = file_of(look_up("MPI_Get_library_version"));
    const char* slash = std::strrchr(path, '/');
    const char* file = slash != nullptr ? slash + 1 : path;
    if (std::strstr(file, "mpi_abi") != nullptr) return Family::mpi_abi;
    if (look_up("ompi_mpi_comm_null") != nullptr) return Family::open_mpi;
    // MPICH's ABI initiative: MPICH, Intel's, Cray's and others' are libmpi*.so.12.
    if (std::strstr(file, ".so.12") != nullptr) return Family::mpich;
    return Family::unknown;
  }();
  return family;
}

const char* misfit() noexcept {
  static char text[300] = "";
  static const bool unfit = [] {
    if (running() == compiled_for()) return false;
    const bool last = std::strcmp(file_of(look_up("MPI_Cart_create")), file_of(look_up("MPI_Get_library_version"))) == 0;
    if (!last || some_library_is_for(running())) return false;
    std::snprintf(text, sizeof text,
                  "MPI_Cart_create is left as it is: librankwise_preload was built for %s and this is %s; "
                  "set RANKWISE_MPI=system with this MPI's mpicxx on PATH",
                  name_of(compiled_for()), name_of(running()));
    return true;
  }();
  return unfit ? text : nullptr;
}

}  // namespace rankwise::preload

#define RANKWISE_VISIBLE extern "C" __attribute__((visibility("default")))

// MPI's own declaration is of one MPI's handles: ours has another name, and the same symbol.
RANKWISE_VISIBLE int cart_create_of_any(rankwise::preload::Handle comm, int ndims, const int* dims, const int* periods,
                                        int reorder, void* cart) __asm__("MPI_Cart_create");
int cart_create_of_any(rankwise::preload::Handle comm, int ndims, const int* dims, const int* periods, int reorder,
                       void* cart) {
  return rankwise::preload::from_c(comm, ndims, dims, periods, reorder, cart);
}

RANKWISE_VISIBLE int dist_graph_create_adjacent_of_any(rankwise::preload::Handle comm, int indegree, const int* sources,
                                                       const int* source_weights, int outdegree, const int* destinations,
                                                       const int* destination_weights, rankwise::preload::Handle info,
                                                       int reorder, void* made) __asm__("MPI_Dist_graph_create_adjacent");
int dist_graph_create_adjacent_of_any(rankwise::preload::Handle comm, int indegree, const int* sources,
                                      const int* source_weights, int outdegree, const int* destinations,
                                      const int* destination_weights, rankwise::preload::Handle info, int reorder, void* made) {
  return rankwise::preload::graph_from_c(
      "MPI_Dist_graph_create_adjacent", comm, reorder != 0, made,
      [&] {
        return rankwise::preload::arrange_graph(
            comm, info, {indegree, sources, source_weights, outdegree, destinations, destination_weights}, made);
      },
      [&](void* original, rankwise::preload::Handle parent) {
        return reinterpret_cast<decltype(&dist_graph_create_adjacent_of_any)>(original)(
            parent, indegree, sources, source_weights, outdegree, destinations, destination_weights, info, reorder, made);
      });
}

RANKWISE_VISIBLE int dist_graph_create_of_any(rankwise::preload::Handle comm, int count, const int* sources, const int* degrees,
                                              const int* destinations, const int* weights, rankwise::preload::Handle info,
                                              int reorder, void* made) __asm__("MPI_Dist_graph_create");
int dist_graph_create_of_any(rankwise::preload::Handle comm, int count, const int* sources, const int* degrees,
                             const int* destinations, const int* weights, rankwise::preload::Handle info, int reorder,
                             void* made) {
  return rankwise::preload::graph_from_c(
      "MPI_Dist_graph_create", comm, reorder != 0, made,
      [&] { return rankwise::preload::arrange_graph(comm, info, {count, sources, degrees, destinations, weights}, made); },
      [&](void* original, rankwise::preload::Handle parent) {
        return reinterpret_cast<decltype(&dist_graph_create_of_any)>(original)(parent, count, sources, degrees, destinations,
                                                                               weights, info, reorder, made);
      });
}

RANKWISE_VISIBLE int graph_create_of_any(rankwise::preload::Handle comm, int vertices, const int* index, const int* edges,
                                         int reorder, void* made) __asm__("MPI_Graph_create");
int graph_create_of_any(rankwise::preload::Handle comm, int vertices, const int* index, const int* edges, int reorder,
                        void* made) {
  return rankwise::preload::graph_from_c(
      "MPI_Graph_create", comm, reorder != 0, made,
      [&] { return rankwise::preload::arrange_graph(comm, vertices, index, edges, made); },
      [&](void* original, rankwise::preload::Handle parent) {
        return reinterpret_cast<decltype(&graph_create_of_any)>(original)(parent, vertices, index, edges, reorder, made);
      });
}

// The names that Fortran compilers give a procedure, and that of MPI's Fortran 2008 binding.
#define RANKWISE_FORTRAN(NAME)                                                                                           \
  RANKWISE_VISIBLE void NAME(const int* comm, const int* ndims, const int* dims, const int* periods, const int* reorder, \
                             int* cart, int* ierror) {                                                                   \
    rankwise::preload::from_fortran(#NAME, comm, ndims, dims, periods, reorder, cart, ierror);                           \
  }
RANKWISE_FORTRAN(mpi_cart_create)
RANKWISE_FORTRAN(mpi_cart_create_)
RANKWISE_FORTRAN(mpi_cart_create__)
RANKWISE_FORTRAN(MPI_CART_CREATE)
RANKWISE_FORTRAN(mpi_cart_create_f08_)
RANKWISE_FORTRAN(mpi_cart_create_f08ts_)

namespace rankwise::preload {

// The functions of MPI that neighbourhood collectives need us to take the place of: these themselves, what waits for their requests,
// what makes their communicators, and the end of datatypes. Without RANKWISE_NEIGHBOR all go straight on.

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
