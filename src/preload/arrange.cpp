#include "preload/arrange.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/cart.hpp"
#include "api/environment.hpp"
#include "api/failure.hpp"

namespace rankwise::preload {

namespace {

using api::Cart;
using api::CartArguments;

MPI_Comm comm_of(Handle handle) { return (MPI_Comm)handle; }  // an int or a pointer, as MPI has it

// Whether the names that were left open when this library was loaded mean something by now.
bool is_reachable() {
#if defined(OPEN_MPI)
  if (static_cast<const void*>(&ompi_mpi_comm_null) == nullptr) return false;
#endif
  // Functions are looked up when they are first called, unless the user wants them all at the start.
  return &MPI_Comm_size != nullptr || std::getenv("LD_BIND_NOW") == nullptr;
}

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
                           std::to_string(cart.nodes) + (cart.nodes == 1 ? " node, " : " nodes, ") + arguments.stencil_name + ": ";
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
bool is_ordinary(MPI_Comm comm, int ndims, const int dims[], const int periods[]) {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) MPI_Finalized(&finalised);
  if (initialised == 0 || finalised != 0 || comm == MPI_COMM_NULL) return false;
  if (ndims < 1 || dims == nullptr || periods == nullptr) return false;
  int inter = 0;
  if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return false;
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

bool arrange_comm(MPI_Comm comm, int ndims, const int dims[], const int periods[], MPI_Comm* made) {
  if (!is_reachable() || !is_ordinary(comm, ndims, dims, periods)) return false;
  Cart cart;
  try {
    CartArguments arguments{ndims, dims, periods};
    const char* stencil = std::getenv("RANKWISE_STENCIL");
    arguments.stencil_name = stencil != nullptr && *stencil != '\0' ? stencil : "nearest-neighbor";
    cart = api::make_cart(comm, arguments);
    if (cart.verbose && cart.comm != MPI_COMM_NULL) {
      const std::string text = described(comm, cart, arguments);
      if (is_first(comm)) say(text.c_str());
    }
  } catch (...) {
    const std::string why = api::current_failure().what();
    if (cart.comm == MPI_COMM_NULL) {
      if (is_first(comm)) say(("MPI_Cart_create is left as it is: " + why).c_str());
      return false;
    }
    say(("the score is unknown: " + why).c_str());
  }
  *made = cart.comm;
  return true;
}

}  // namespace

Family compiled_for() noexcept {
#if defined(OPEN_MPI)
  return Family::open_mpi;
#elif defined(MPI_ABI)
  return Family::mpi_abi;
#else
  return Family::mpich;
#endif
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

void say(const char* text) noexcept {
  if (api::environment_flag("RANKWISE_VERBOSE")) std::fprintf(stderr, "rankwise: %s\n", text);
}

}  // namespace rankwise::preload
