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
        static const auto test = reinterpret_cast<F5>(look_up("MPI_Testany"));
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
        static const auto test = reinterpret_cast<F5>(look_up("MPI_Testsome"));
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

const int* ints(Handle pointer) { return reinterpret_cast<const int*>(pointer); }

// Whether a function that takes a graph has been served: the graph is arranged where that was asked for.
template <class Arrange>
bool graph_placed(const char* name, bool reorder, Arrange arranged) {
  if (inside) return false;
  count_call(Topology::graph, reorder);
  if (reorder && !api::environment_flag("RANKWISE_GRAPHS")) {
    const std::string why = std::string(name) + " is left as it is: 'rankwise preload --graphs' places such communicators, too";
    remember_left(Topology::graph, why.c_str());
  } else if (reorder && fits()) {
    const Inside guard;
    return arranged();
  }
  return false;
}

}  // namespace

}  // namespace rankwise::preload

// A call that was left to MPI before goes straight on; all else is in a function of its own, so that such a call saves no register.
#define RANKWISE_NEIGHBOR_OF(FUNCTION, SYMBOL, KIND, FORM, LARGE, COMM, N)                                                   \
  extern "C" __attribute__((visibility("default"))) int FUNCTION(PARAMETERS_##N(rankwise::preload::Handle)) __asm__(SYMBOL); \
  static constinit std::atomic<int (*)(PARAMETERS_##N(rankwise::preload::Handle))> FUNCTION##_original{nullptr};             \
  __attribute__((noinline, cold)) static int FUNCTION##_seen(PARAMETERS_##N(rankwise::preload::Handle)) {                    \
    using namespace rankwise::preload;                                                                                       \
    static const auto original = reinterpret_cast<int (*)(PARAMETERS_##N(Handle))>(original_of(SYMBOL));                     \
    watch_use(COMM);                                                                                                         \
    if (original == nullptr) return 16;                                                                                      \
    FUNCTION##_original.store(original, std::memory_order_relaxed);                                                          \
    int result = 0;                                                                                                          \
    if (!neighbors_off.load(std::memory_order_relaxed) &&                                                                    \
        serve_neighbor(                                                                                                      \
            {NeighborKind::KIND, NeighborForm::FORM, LARGE, N, {WORDS_##N}, reinterpret_cast<void*>(original), COMM},        \
            &result)) {                                                                                                      \
      return result;                                                                                                         \
    }                                                                                                                        \
    return original(WORDS_##N);                                                                                              \
  }                                                                                                                          \
  int FUNCTION(PARAMETERS_##N(rankwise::preload::Handle)) {                                                                  \
    using namespace rankwise::preload;                                                                                       \
    const auto original = FUNCTION##_original.load(std::memory_order_relaxed);                                               \
    const bool straight = original != nullptr && !watching.load(std::memory_order_relaxed);                                  \
    if (straight &&                                                                                                          \
        (neighbors_off.load(std::memory_order_relaxed) || is_left(NeighborKind::KIND, NeighborForm::FORM, COMM))) {          \
      return original(WORDS_##N);                                                                                            \
    }                                                                                                                        \
    return FUNCTION##_seen(WORDS_##N);                                                                                       \
  }
#define RANKWISE_NEIGHBOR(NAME, KIND, FORM, COMM, N)                                         \
  RANKWISE_NEIGHBOR_OF(rankwise_of_##NAME, "MPI_" #NAME, KIND, FORM, false, COMM, N)         \
  RANKWISE_NEIGHBOR_OF(rankwise_of_p##NAME, "PMPI_" #NAME, KIND, FORM, false, COMM, N)       \
  RANKWISE_NEIGHBOR_OF(rankwise_of_##NAME##_c, "MPI_" #NAME "_c", KIND, FORM, true, COMM, N) \
  RANKWISE_NEIGHBOR_OF(rankwise_of_p##NAME##_c, "PMPI_" #NAME "_c", KIND, FORM, true, COMM, N)

RANKWISE_NEIGHBOR(Neighbor_allgather, allgather, blocking, a6, 7)
RANKWISE_NEIGHBOR(Neighbor_allgatherv, allgatherv, blocking, a7, 8)
RANKWISE_NEIGHBOR(Neighbor_alltoall, alltoall, blocking, a6, 7)
RANKWISE_NEIGHBOR(Neighbor_alltoallv, alltoallv, blocking, a8, 9)
RANKWISE_NEIGHBOR(Neighbor_alltoallw, alltoallw, blocking, a8, 9)
RANKWISE_NEIGHBOR(Ineighbor_allgather, allgather, nonblocking, a6, 8)
RANKWISE_NEIGHBOR(Ineighbor_allgatherv, allgatherv, nonblocking, a7, 9)
RANKWISE_NEIGHBOR(Ineighbor_alltoall, alltoall, nonblocking, a6, 8)
RANKWISE_NEIGHBOR(Ineighbor_alltoallv, alltoallv, nonblocking, a8, 10)
RANKWISE_NEIGHBOR(Ineighbor_alltoallw, alltoallw, nonblocking, a8, 10)
RANKWISE_NEIGHBOR(Neighbor_allgather_init, allgather, persistent, a6, 9)
RANKWISE_NEIGHBOR(Neighbor_allgatherv_init, allgatherv, persistent, a7, 10)
RANKWISE_NEIGHBOR(Neighbor_alltoall_init, alltoall, persistent, a6, 9)
RANKWISE_NEIGHBOR(Neighbor_alltoallv_init, alltoallv, persistent, a8, 11)
RANKWISE_NEIGHBOR(Neighbor_alltoallw_init, alltoallw, persistent, a8, 11)

RANKWISE_INSTEAD(Wait, (waited(1, a0, [&] { return original(a0, a1); })), 2)
RANKWISE_INSTEAD(Waitall, (waited(a0, a1, [&] { return original(a0, a1, a2); })), 3)
RANKWISE_INSTEAD(Waitany, (wait_any(original, a0, a1, a2, a3)), 4)
RANKWISE_INSTEAD(Waitsome, (wait_some(original, a0, a1, a2, a3, a4)), 5)
RANKWISE_INSTEAD(Test, (tested(1, a0, [&] { return original(a0, a1, a2); })), 3)
RANKWISE_INSTEAD(Testall, (tested(a0, a1, [&] { return original(a0, a1, a2, a3); })), 4)
RANKWISE_INSTEAD(Testany, (tested(a0, a1, [&] { return original(a0, a1, a2, a3, a4); })), 5)
RANKWISE_INSTEAD(Testsome, (tested(a0, a1, [&] { return original(a0, a1, a2, a3, a4); })), 5)
RANKWISE_INSTEAD(Request_get_status, (tested(1, reinterpret_cast<Handle>(&a0), [&] { return original(a0, a1, a2); })), 3)
RANKWISE_INSTEAD(Start, (start(1, a0) != 0 ? 16 : original(a0)), 1)
RANKWISE_INSTEAD(Startall, (start(a0, a1) != 0 ? 16 : original(a0, a1)), 2)
RANKWISE_AFTER(Request_free, neighbor_forget(reinterpret_cast<const void*>(a0)), 1)
RANKWISE_AFTER(Type_free, neighbor_type_freed(a0), 1)

// ARRANGED: what places the graph, if the program asks for that by the usual name.
#define RANKWISE_GRAPH(NAME, REORDER, MADE, ARRANGED, CALL, N)                                                          \
  RANKWISE_INSTEAD_OF(                                                                                                  \
      rankwise_of_##NAME, "MPI_" #NAME,                                                                                 \
      (graph_placed("MPI_" #NAME, static_cast<int>(REORDER) != 0, [&] { return ARRANGED; }) ? 0 : made(CALL, MADE)), N) \
  RANKWISE_INSTEAD_OF(rankwise_of_p##NAME, "PMPI_" #NAME, made(CALL, MADE), N)
RANKWISE_GRAPH(Graph_create, a4, a5, arrange_graph(a0, static_cast<int>(a1), ints(a2), ints(a3), reinterpret_cast<void*>(a5)),
               original(NeighborParent(a0).comm(), a1, a2, a3, a4, a5), 6)
RANKWISE_GRAPH(Dist_graph_create_adjacent, a8, a9,
               arrange_graph(a0, a7, {static_cast<int>(a1), ints(a2), ints(a3), static_cast<int>(a4), ints(a5), ints(a6)},
                             reinterpret_cast<void*>(a9)),
               original(NeighborParent(a0).comm(), a1, a2, a3, a4, a5, a6, a7, a8, a9), 10)
RANKWISE_GRAPH(Dist_graph_create, a7, a8,
               arrange_graph(a0, a6, {static_cast<int>(a1), ints(a2), ints(a3), ints(a4), ints(a5)},
                             reinterpret_cast<void*>(a8)),
               original(NeighborParent(a0).comm(), a1, a2, a3, a4, a5, a6, a7, a8), 9)
