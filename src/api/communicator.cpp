#include "api/communicator.hpp"

#include <vector>

namespace rankwise::api {

namespace {

Grid grid_of(MPI_Comm cart, int rank) {
  int ndim = 0;
  check_mpi(MPI_Cartdim_get(cart, &ndim), "MPI_Cartdim_get");
  if (ndim < 1) refuse_argument("the communicator's Cartesian grid has no axis: give MPI_Cart_create at least one");
  const auto n = static_cast<std::size_t>(ndim);
  std::vector<int> dims(n), periods(n), coords(n);
  check_mpi(MPI_Cart_get(cart, ndim, dims.data(), periods.data(), coords.data()), "MPI_Cart_get");
  const Grid grid(std::vector<Index>(dims.begin(), dims.end()), std::vector<bool>(periods.begin(), periods.end()));
  if (grid.cell(Coords(coords.begin(), coords.end())) != rank) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "this MPI does not number the ranks of a Cartesian grid in row-major order");
  }
  return grid;
}

}  // namespace

void require_mpi() {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (initialised == 0) refuse_usage("MPI is not initialised: call MPI_Init first");
  if (finalised != 0) refuse_usage("MPI is finalised: destroy plans before MPI_Finalize");
}

void require_intra(MPI_Comm comm) {
  require_mpi();
  if (comm == MPI_COMM_NULL) refuse_argument("the communicator is MPI_COMM_NULL: pass one of the ranks to be arranged");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0) refuse_argument("the communicator is an inter-communicator: pass one of a single group");
}

Communicator::Communicator(MPI_Comm cart) {
  require_mpi();
  if (cart == MPI_COMM_NULL) refuse_argument("the communicator is MPI_COMM_NULL: pass one from MPI_Cart_create");
  int is_inter = 0;
  int topology = MPI_UNDEFINED;
  check_mpi(MPI_Comm_test_inter(cart, &is_inter), "MPI_Comm_test_inter");
  if (is_inter == 0) check_mpi(MPI_Topo_test(cart, &topology), "MPI_Topo_test");
  if (topology != MPI_CART) {
    refuse_argument("the communicator has no Cartesian topology: pass one from MPI_Cart_create");
  }
  check_mpi(MPI_Comm_dup(cart, &comm_), "MPI_Comm_dup");
  try {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    grid_ = grid_of(comm_, rank_);
  } catch (...) {
    MPI_Comm_free(&comm_);
    throw;
  }
}

Communicator::~Communicator() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (comm_ != MPI_COMM_NULL && finalised == 0) MPI_Comm_free(&comm_);
}

void Communicator::free() { check_mpi(MPI_Comm_free(&comm_), "MPI_Comm_free"); }

}  // namespace rankwise::api
