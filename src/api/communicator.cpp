#include "api/communicator.hpp"

#include <string>
#include <vector>

namespace rankwise::api {

namespace {

Grid grid_of(MPI_Comm cart, int rank) {
  int ndim = 0;
  RANKWISE_CHECKED(MPI_Cartdim_get, cart, &ndim);
  if (ndim < 1) refuse_argument("the communicator's Cartesian grid has no axis: give MPI_Cart_create at least one");
  const auto n = static_cast<std::size_t>(ndim);
  std::vector<int> dims(n), periods(n), coords(n);
  RANKWISE_CHECKED(MPI_Cart_get, cart, ndim, dims.data(), periods.data(), coords.data());
  const Grid grid(std::vector<Index>(dims.begin(), dims.end()), std::vector<bool>(periods.begin(), periods.end()));
  if (grid.cell(Coords(coords.begin(), coords.end())) != rank) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "this MPI does not number the ranks of a Cartesian grid in row-major order");
  }
  return grid;
}

}  // namespace

std::string text_of(const Grid& grid) {
  std::string text;
  for (int axis = 0; axis < grid.ndim(); ++axis) {
    text += (axis > 0 ? "x" : "") + std::to_string(grid.dim(axis)) + (grid.periodic(axis) ? "" : " (open)");
  }
  return text;
}

void require_mpi() {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (initialised == 0) refuse_usage("MPI is not initialised: call MPI_Init first");
  if (finalised != 0) refuse_usage("MPI is finalised: destroy plans before MPI_Finalize");
}

void require_intra(MPI_Comm comm, const char* wanted) {
  require_mpi();
  const std::string fix = std::string(": pass ") + wanted;
  if (comm == MPI_COMM_NULL) refuse_argument("the communicator is MPI_COMM_NULL" + fix);
  int inter = 0;
  RANKWISE_CHECKED(MPI_Comm_test_inter, comm, &inter);
  if (inter != 0) refuse_argument("the communicator is an inter-communicator" + fix);
}

Duplicate::Duplicate(MPI_Comm comm, const char* wanted) {
  require_intra(comm, wanted);
  RANKWISE_CHECKED(MPI_Comm_dup, comm, &comm_);
  RANKWISE_CHECKED(MPI_Comm_set_errhandler, comm_.get(), MPI_ERRORS_RETURN);
  RANKWISE_CHECKED(MPI_Comm_rank, comm_.get(), &rank_);
}

void Duplicate::free() { RANKWISE_CHECKED(MPI_Comm_free, &comm_); }

namespace {

// The same communicator, where it has a grid.
MPI_Comm with_grid(MPI_Comm cart) {
  require_mpi();
  if (cart == MPI_COMM_NULL) refuse_argument("the communicator is MPI_COMM_NULL: pass one from MPI_Cart_create");
  int is_inter = 0;
  int topology = MPI_UNDEFINED;
  RANKWISE_CHECKED(MPI_Comm_test_inter, cart, &is_inter);
  if (is_simulated) topology = MPI_CART;  // the simulator cannot tell
  if (is_inter == 0 && !is_simulated) RANKWISE_CHECKED(MPI_Topo_test, cart, &topology);
  if (topology != MPI_CART) {
    refuse_argument("the communicator has no Cartesian topology: pass one from MPI_Cart_create");
  }
  return cart;
}

}  // namespace

Communicator::Communicator(MPI_Comm cart)
    : duplicate_(with_grid(cart), "one from MPI_Cart_create"), grid_(grid_of(duplicate_.get(), duplicate_.rank())) {}

}  // namespace rankwise::api
