// Cartesian communicators whose ranks sit where few messages of a stencil cross nodes.
#pragma once

#include <mpi.h>

#include <string>

#include "grid/grid.hpp"
#include "mapping/score.hpp"

namespace rankwise::api {

// What a caller asks for, as it came; not looked at before all ranks can hear what is wrong with it.
struct CartArguments {
  int ndims = 0;
  const int* dims = nullptr;
  const int* periods = nullptr;
  bool reorder = true;
  const int* stencil = nullptr;  // k x ndims offsets; nearest-neighbor where k is 0
  int k = 0;
  const int* weights = nullptr;  // k of them, or null: all 1
  MPI_Info info = MPI_INFO_NULL;
  std::string stencil_name{};  // a stencil by its name (grid/stencil.hpp) instead of offsets; empty: the offsets count
};

struct Cart {
  MPI_Comm comm = MPI_COMM_NULL;  // null on ranks beyond the grid
  std::string mapping;            // how its ranks were mapped; empty where they keep their order
  bool verbose = false;           // whether some rank has RANKWISE_VERBOSE set
  Index nodes = 0;                // as many as its ranks are on; 0 on ranks beyond the grid
};

// Collective. The mapping is that of the info's key rankwise_mapping, else of RANKWISE_MAPPING, else auto; the effort
// of a search that of rankwise_effort, else of RANKWISE_EFFORT, else what it is worth (mapping/effort.hpp).
// Throws Failure, alike on all ranks; nothing is left behind then.
Cart make_cart(MPI_Comm oldcomm, const CartArguments& arguments);

// Collective: the score when rank r of comm has cell r. Throws Failure, alike on all ranks.
Score score_as_it_is(MPI_Comm comm, const CartArguments& arguments);

}  // namespace rankwise::api
