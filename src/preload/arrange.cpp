#include "preload/arrange.hpp"

#include <mpi.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/failure.hpp"
#include "api/topology.hpp"
#include "preload/look_up.hpp"

namespace rankwise::preload {

namespace {

using api::Cart;
using api::CartArguments;

MPI_Comm comm_of(Handle handle) { return (MPI_Comm)handle; }  // an int or a pointer, as MPI has it

std::string size_text(int ndims, const int dims[]) {
  std::string text;
  for (int axis = 0; axis < ndims; ++axis) text += (axis == 0 ? "" : "x") + std::to_string(dims[axis]);
  return text;
}

std::string described(MPI_Comm before, const Cart& cart, const CartArguments& arguments) {
  // A grid smaller than the communicator has no score before: its cells were not all that ranks had.
  int ranks = 0;
  int cells = 0;
  MPI_Comm_size(before, &ranks);
  MPI_Comm_size(cart.comm, &cells);
  const std::string what = "MPI_Cart_create " + size_text(arguments.ndims, arguments.dims) + " on " +
                           std::to_string(cart.nodes) + (cart.nodes == 1 ? " node, " : " nodes, ") + arguments.stencil_name +
                           ": ";
  const Score after = api::score_as_it_is(cart.comm, arguments);
  const std::string scores = "J_sum " + std::to_string(after.j_sum) + ", J_max " + std::to_string(after.j_max);
  if (cart.mapping.empty()) return what + "the ranks stay where they are (" + scores + ")";
  if (ranks != cells) return what + cart.mapping + " gives " + scores;
  const Score first = api::score_as_it_is(before, arguments);
  return what + cart.mapping + " turns J_sum " + std::to_string(first.j_sum) + " into " + std::to_string(after.j_sum) +
         ", J_max " + std::to_string(first.j_max) + " into " + std::to_string(after.j_max);
}

bool is_first(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank == 0;
}

// Whether there is anything to arrange: what is not left to MPI's own words.
bool is_ordinary_cart(MPI_Comm comm, int ndims, const int dims[], const int periods[]) {
  if (!preload::is_ordinary((Handle)comm) || ndims < 1 || dims == nullptr || periods == nullptr) return false;
  int ranks = 0;
  if (MPI_Comm_size(comm, &ranks) != MPI_SUCCESS) return false;
  long long cells = 1;
  for (int axis = 0; axis < ndims; ++axis) {
    if (dims[axis] < 1 || dims[axis] > ranks) return false;
    cells *= dims[axis];
    if (cells > ranks) return false;
  }
  return true;
}

// What ranks of a communicator and its grid were given before, to be given again without a search: a communicator of the same
// order, kept for as long as the program runs.
struct Known {
  MPI_Group group = MPI_GROUP_NULL;  // of the communicator that the program passed
  std::uint64_t key = 0;
  MPI_Comm order = MPI_COMM_NULL;  // null on ranks beyond the grid
  std::string mapping;
  int before = -1;      // this rank there,
  int after = -1;       // and here
  bool speaks = false;  // of the ranks that have another number here the first one there
};
std::vector<Known> all_known;
std::mutex guarding;
constexpr std::size_t most_known = 16;

// 63 bits of what the mapping depends on besides the group: the grid, and what the environment asks for.
std::uint64_t key_of(int ndims, const int dims[], const int periods[]) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ULL; };
  for (int axis = 0; axis < ndims; ++axis) {
    mix(static_cast<std::uint64_t>(dims[axis]));
    mix(periods[axis] != 0 ? 1 : 0);
  }
  for (const char* name : {"RANKWISE_STENCIL", "RANKWISE_MAPPING", "RANKWISE_EFFORT", "RANKWISE_VERBOSE"}) {
    const char* value = std::getenv(name);
    for (const char* c = value != nullptr ? value : ""; *c != '\0'; ++c) mix(static_cast<unsigned char>(*c));
    mix(256);
  }
  return hash >> 1;
}

void watch_made(MPI_Comm made, const Known& known) {
  if (made != MPI_COMM_NULL && known.before != known.after) watch((Handle)made, known.before, known.after, known.speaks);
}

// Makes the communicator of one that was made before, if all ranks have one. Errors are those of the caller's communicator.
bool make_again(MPI_Comm comm, std::uint64_t key, int ndims, const int dims[], const int periods[], MPI_Comm* made) {
  Known* known = nullptr;
  MPI_Group group = MPI_GROUP_NULL;
  if (MPI_Comm_group(comm, &group) != MPI_SUCCESS) return false;
  for (Known& one : all_known) {
    int result = MPI_UNEQUAL;
    if (one.key == key && MPI_Group_compare(group, one.group, &result) == MPI_SUCCESS && result == MPI_IDENT) known = &one;
  }
  MPI_Group_free(&group);
  // Ranks that do not agree, and such that have not kept it, find out together: the largest key, and the largest complement.
  const auto own = static_cast<std::int64_t>(known != nullptr ? key : 0);
  std::int64_t both[] = {own, ~own};
  std::int64_t largest[2];
  if (MPI_Allreduce(both, largest, 2, MPI_INT64_T, MPI_MAX, comm) != MPI_SUCCESS) return false;
  if (known == nullptr || largest[0] != ~largest[1]) return false;
  if (known->order == MPI_COMM_NULL) {
    *made = MPI_COMM_NULL;
  } else {
    if (MPI_Cart_create(known->order, ndims, dims, periods, 0, made) != MPI_SUCCESS) return false;
    MPI_Errhandler callers = MPI_ERRHANDLER_NULL;
    if (MPI_Comm_get_errhandler(comm, &callers) == MPI_SUCCESS) {
      MPI_Comm_set_errhandler(*made, callers);
      MPI_Errhandler_free(&callers);
    }
  }
  count_placed(Topology::grid, known->mapping.empty() ? nullptr : known->mapping.c_str());
  watch_made(*made, *known);
  return true;
}

// What is known of one that was made. Collective over those that have a cell.
Known known_of(MPI_Comm comm, std::uint64_t key, const Cart& cart) {
  Known known{MPI_GROUP_NULL, key, MPI_COMM_NULL, cart.mapping};
  if (cart.mapping.empty() || cart.comm == MPI_COMM_NULL) return known;
  int first = 0;
  MPI_Comm_rank(comm, &known.before);
  MPI_Comm_rank(cart.comm, &known.after);
  const int own = known.before != known.after ? known.before : INT_MAX;
  known.speaks = MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, cart.comm) == MPI_SUCCESS && first == known.before;
  return known;
}

// Collective over those that have a cell; a rank that can keep no more just asks again next time, as then do all.
void keep(MPI_Comm comm, Known known, const Cart& cart) {
  if (cart.comm != MPI_COMM_NULL && MPI_Comm_dup(cart.comm, &known.order) != MPI_SUCCESS) return;
  if (MPI_Comm_group(comm, &known.group) != MPI_SUCCESS) return;
  all_known.push_back(std::move(known));
}

bool arrange_comm(MPI_Comm comm, int ndims, const int dims[], const int periods[], MPI_Comm* made) {
  static const char* const lacks = lacking();
  if (lacks != nullptr) {
    remember_left(Topology::grid, (std::string("MPI_Cart_create is left as it is: this MPI has no ") + lacks).c_str());
    return false;
  }
  if (!is_ordinary_cart(comm, ndims, dims, periods)) {
    remember_left(Topology::grid,
                  "MPI_Cart_create is left as it is: its arguments are not those of a grid of an ordinary communicator");
    return false;
  }
  Cart cart;
  try {
    const std::lock_guard guard(guarding);
    const std::uint64_t key = key_of(ndims, dims, periods);
    if (make_again(comm, key, ndims, dims, periods, made)) return true;
    CartArguments arguments{ndims, dims, periods};
    const char* stencil = std::getenv("RANKWISE_STENCIL");
    arguments.stencil_name = stencil != nullptr && *stencil != '\0' ? stencil : "nearest-neighbor";
    cart = api::make_cart(comm, arguments);
    count_placed(Topology::grid, cart.mapping.empty() ? nullptr : cart.mapping.c_str());
    const Known known = known_of(comm, key, cart);
    if (all_known.size() < most_known) keep(comm, known, cart);
    watch_made(cart.comm, known);
    if (cart.verbose && cart.comm != MPI_COMM_NULL) {
      const std::string text = described(comm, cart, arguments);
      if (is_first(comm)) say(text.c_str());
    }
  } catch (...) {
    const std::string why = api::current_failure().what();
    if (cart.comm == MPI_COMM_NULL) {
      const std::string text = "MPI_Cart_create is left as it is: " + why;
      remember_left(Topology::grid, text.c_str());
      if (is_first(comm)) say(text.c_str());
      return false;
    }
    say(("the score is unknown: " + why).c_str());
  }
  *made = cart.comm;
  return true;
}

}  // namespace

// By the name of this symbol 'rankwise preload' knows for which MPI a library is, and libraries know of each other, without
// loading or opening any: who opens a library of a program that ends has it begin once more.
#if defined(OPEN_MPI)
#define RANKWISE_FAMILY open_mpi
#define RANKWISE_MARK rankwise_preload_for_openmpi
#elif defined(MPI_ABI)
#define RANKWISE_FAMILY mpi_abi
#define RANKWISE_MARK rankwise_preload_for_abi
#else
#define RANKWISE_FAMILY mpich
#define RANKWISE_MARK rankwise_preload_for_mpich
#endif
extern "C" {
__attribute__((visibility("default"))) extern const char RANKWISE_MARK;
const char RANKWISE_MARK = 1;
}

Family compiled_for() noexcept { return Family::RANKWISE_FAMILY; }

bool some_library_is_for(Family family) noexcept {
  const char* names[] = {"abi", "mpich", "openmpi", ""};
  char mark[64];
  std::snprintf(mark, sizeof mark, "rankwise_preload_for_%s", names[static_cast<int>(family)]);
  return look_up_loaded(mark) != nullptr;
}

const char* name_of(Family family) noexcept {
  switch (family) {
    case Family::mpi_abi: return "the MPI-5 ABI";
    case Family::mpich: return "MPICH";
    case Family::open_mpi: return "Open MPI";
    case Family::unknown: break;
  }
  return "an unknown MPI";
}

Handle comm_at(Handle pointer) noexcept { return pointer == 0 ? 0 : (Handle) * reinterpret_cast<const MPI_Comm*>(pointer); }

bool is_ordinary(Handle handle) noexcept {
  const MPI_Comm comm = comm_of(handle);
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) MPI_Finalized(&finalised);
  if (initialised == 0 || finalised != 0 || comm == MPI_COMM_NULL) return false;
  int inter = 0;
  return MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter == 0;
}

bool arrange(Handle comm, int ndims, const int dims[], const int periods[], void* cart) noexcept {
  MPI_Comm made = MPI_COMM_NULL;
  if (!arrange_comm(comm_of(comm), ndims, dims, periods, &made)) return false;
  *static_cast<MPI_Comm*>(cart) = made;
  return true;
}

bool arrange_fortran(int comm, int ndims, const int dims[], const int periods[], int* cart) noexcept {
  MPI_Comm made = MPI_COMM_NULL;
#if defined(MPI_ABI)
  if (!arrange_comm(MPI_Comm_fromint(comm), ndims, dims, periods, &made)) return false;
  *cart = MPI_Comm_toint(made);
#else
  if (!arrange_comm(MPI_Comm_f2c(comm), ndims, dims, periods, &made)) return false;
  *cart = MPI_Comm_c2f(made);
#endif
  return true;
}

// Graphs of neighbours that a program gives MPI: arranged as the C API does it.

namespace {

bool left_as_it_is(const char* name, const std::string& why) {
  remember_left(Topology::graph, (std::string(name) + " is left as it is: " + why).c_str());
  return false;
}

template <class Make>
bool arranged(const char* name, Handle comm, void* made, Make&& make) noexcept {
  try {
    static const char* const lacks = lacking();
    if (lacks != nullptr) return left_as_it_is(name, std::string("this MPI has no ") + lacks);
    if (made == nullptr || !is_ordinary(comm)) return left_as_it_is(name, "its communicator is not an ordinary one");
    api::Cut cut;
    *static_cast<MPI_Comm*>(made) = make(cut);
    const bool gains = cut.after < cut.before;
    count_placed(Topology::graph, gains ? "multisection" : nullptr);
    if (!is_first((MPI_Comm)comm)) return true;
    const std::string between = "weight " + std::to_string(cut.before);
    say((std::string(name) + ": " +
         (gains ? between + " between nodes becomes " + std::to_string(cut.after)
                : "the ranks stay where they are (" + between + " between nodes)"))
            .c_str());
    return true;
  } catch (...) {
    return left_as_it_is(name, api::current_failure().what());
  }
}

}  // namespace

bool arrange_graph(Handle comm, Handle info, const api::Neighbours& neighbours, void* made) noexcept {
  return arranged("MPI_Dist_graph_create_adjacent", comm, made, [&](api::Cut& cut) {
    return api::make_dist_graph_adjacent((MPI_Comm)comm, neighbours, (MPI_Info)info, true, &cut);
  });
}

bool arrange_graph(Handle comm, Handle info, const api::Edges& edges, void* made) noexcept {
  return arranged("MPI_Dist_graph_create", comm, made,
                  [&](api::Cut& cut) { return api::make_dist_graph((MPI_Comm)comm, edges, (MPI_Info)info, true, &cut); });
}

bool arrange_graph(Handle comm, int vertices, const int index[], const int edges[], void* made) noexcept {
  return arranged("MPI_Graph_create", comm, made,
                  [&](api::Cut& cut) { return api::make_graph((MPI_Comm)comm, vertices, index, edges, true, &cut); });
}

}  // namespace rankwise::preload
