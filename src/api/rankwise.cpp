// The C API: handles and the boundary that no exception crosses. Functions that do nothing but call the function of their plan
// that has their name, and those for Fortran, are made of rankwise.h (boundary.inc, by python/rankwise/header.py). What the
// calls do is in plan.cpp, halo_*.cpp and fft_plan.cpp.

#include <cstdint>
#include <memory>
#include <utility>

#include "api/failure.hpp"
#include "api/fft_plan.hpp"
#include "api/halo_boxes.hpp"
#include "api/halo_lists.hpp"
#include "api/handles.hpp"
#include "api/plan.hpp"
#include "api/topology.hpp"
#include "rankwise/rankwise.h"

using namespace rankwise::api;

struct rankwise_exchange_plan : HandleOf<Plan> {
  static constexpr std::uint64_t kind = 0;
  static constexpr const char* makers = "rankwise_exchange_create";
};
struct rankwise_halo_plan : HandleOf<HaloPlan> {
  static constexpr std::uint64_t kind = 1;
  static constexpr const char* makers = "rankwise_halo_create or rankwise_neighbors_create";
};
struct rankwise_fft_plan : HandleOf<FftPlan> {
  static constexpr std::uint64_t kind = 2;
  static constexpr const char* makers = "rankwise_fft_create";
};

namespace {

template <class Handle>
typename Handle::Held& plan_of(Handle* handle) {
  return Handles<Handle>::plan_of(handle);
}

HaloLists& lists_of(rankwise_halo halo, const char* call) {
  auto* const lists = dynamic_cast<HaloLists*>(&plan_of(halo));
  if (lists == nullptr) {
    refuse_usage(std::string(call) + " is for halos of lists: this one was made by rankwise_halo_create");
  }
  return *lists;
}

// Fills a handle with what make gives; with none where it fails. name: what the caller's function calls it.
template <class Handle, class Make>
rankwise_result fill_handle(Handle* handle, Handle none, const char* name, Make&& make) noexcept {
  return guarded([&] {
    if (handle == nullptr) refuse_argument(std::string(name) + " is NULL: give the handle to fill, on all ranks");
    *handle = none;
    *handle = make();
  });
}

template <class Plan, class Handle, class... Arguments>
rankwise_result create(Handle** handle, const char* name, Arguments... arguments) noexcept {
  return fill_handle<Handle*>(handle, nullptr, name,
                              [&] { return Handles<Handle>::all().make(std::make_unique<Plan>(arguments...)); });
}

template <class Handle>
rankwise_result destroy(Handle** handle) noexcept {
  return guarded([&] { Handles<Handle>::all().destroy(handle); });
}

// Answers a question about a plan into *answer.
template <class Answer, class Question>
rankwise_result ask(Answer* answer, const char* name, Question&& question) noexcept {
  return guarded([&] {
    if (answer == nullptr) refuse_argument(std::string(name) + " is NULL: give the number to fill");
    *answer = question();
  });
}

template <class Make>
rankwise_result fill_comm(MPI_Comm* comm, Make&& make, const char* name = "newcomm") noexcept {
  return fill_handle<MPI_Comm>(comm, MPI_COMM_NULL, name, make);
}

// Likewise for Fortran: create gets a handle of C to fill, NULL where there is none to fill.
template <class Create>
auto fill_fortran_comm(rankwise_fint* comm, Create&& create) {
  MPI_Comm made = MPI_COMM_NULL;
  const auto result = create(comm == nullptr ? nullptr : &made);
  if (comm != nullptr) *comm = handle_of(made);
  return result;
}

// What a function of the style of MPI returns.
int mpi_code(rankwise_result result) {
  switch (result) {
    case RANKWISE_SUCCESS: return MPI_SUCCESS;
    case RANKWISE_ERROR_ARGUMENT: return MPI_ERR_ARG;
    case RANKWISE_ERROR_MPI: return last_mpi_error();
    default: return MPI_ERR_OTHER;
  }
}

}  // namespace

#include "boundary.inc"

const char* rankwise_result_string(rankwise_result result) {
  switch (result) {
    case RANKWISE_SUCCESS: return "success";
    case RANKWISE_ERROR_ARGUMENT: return "wrong argument";
    case RANKWISE_ERROR_USAGE: return "calls out of order";
    case RANKWISE_ERROR_UNSUPPORTED: return "not supported";
    case RANKWISE_ERROR_MEMORY: return "out of memory";
    case RANKWISE_ERROR_MPI: return "error of MPI";
    case RANKWISE_ERROR_INTERNAL: return "internal error of rankwise";
  }
  return "unknown result";
}

const char* rankwise_last_error(void) { return last_message(); }
int rankwise_last_mpi_error(void) { return last_mpi_error(); }
int rankwise_version(void) { return RANKWISE_VERSION; }

// Communicators with a topology.

rankwise_result rankwise_cart_create(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                     const int stencil[], int k, const int weights[], MPI_Info info, MPI_Comm* cartcomm) {
  const auto make = [&] {
    return make_cart(oldcomm, {ndims, dims, periods, reorder != 0, stencil, k, weights, info, {}}).comm;
  };
  return fill_comm(cartcomm, make, "cartcomm");
}

int MPIX_Cart_stencil_comm(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder, const int stencil[],
                           int k, MPI_Comm* cartcomm) {
  return mpi_code(rankwise_cart_create(oldcomm, ndims, dims, periods, reorder, stencil, k, nullptr, MPI_INFO_NULL, cartcomm));
}

rankwise_result rankwise_stencil_score(MPI_Comm comm, int ndims, const int dims[], const int periods[], const int stencil[],
                                       int k, const int weights[], long long* j_sum, long long* j_max) {
  return guarded([&] {
    if (j_sum == nullptr || j_max == nullptr) refuse_argument("j_sum or j_max is NULL: give the numbers to fill");
    const rankwise::Score score = score_as_it_is(comm, {ndims, dims, periods, true, stencil, k, weights, MPI_INFO_NULL, {}});
    *j_sum = score.j_sum;
    *j_max = score.j_max;
  });
}

rankwise_result rankwise_dist_graph_create_adjacent(MPI_Comm oldcomm, int indegree, const int sources[],
                                                    const int sourceweights[], int outdegree, const int destinations[],
                                                    const int destweights[], MPI_Info info, int reorder, MPI_Comm* newcomm) {
  return fill_comm(newcomm, [&] {
    return make_dist_graph_adjacent(oldcomm, {indegree, sources, sourceweights, outdegree, destinations, destweights}, info,
                                    reorder != 0);
  });
}

rankwise_result rankwise_dist_graph_create(MPI_Comm oldcomm, int n, const int sources[], const int degrees[],
                                           const int destinations[], const int weights[], MPI_Info info, int reorder,
                                           MPI_Comm* newcomm) {
  return fill_comm(newcomm,
                   [&] { return make_dist_graph(oldcomm, {n, sources, degrees, destinations, weights}, info, reorder != 0); });
}

rankwise_result rankwise_graph_create(MPI_Comm oldcomm, int nnodes, const int index[], const int edges[], int reorder,
                                      MPI_Comm* newcomm) {
  return fill_comm(newcomm, [&] { return make_graph(oldcomm, nnodes, index, edges, reorder != 0); });
}

rankwise_result rankwise_graph_map(int vertices, const int first[], const int targets[], const int weights[], int nodes,
                                   const int node_sizes[], double effort_s, int node_of_vertex[]) {
  return guarded([&] { map_graph_alone(vertices, first, targets, weights, nodes, node_sizes, effort_s, node_of_vertex); });
}

// Fields and memory of halos.

rankwise_result rankwise_field_array(rankwise_field* field, void* array, size_t element_bytes, int ndims, const int extent[],
                                     const int lower[], const int upper[]) {
  return guarded([&] {
    if (field == nullptr || extent == nullptr || lower == nullptr || upper == nullptr) {
      refuse_argument("field, extent, lower or upper is NULL: give the struct to fill and one number an axis");
    }
    if (ndims < 1 || ndims > RANKWISE_MAX_DIMS) {
      refuse_argument("ndims is " + std::to_string(ndims) + ": give 1 to " + std::to_string(RANKWISE_MAX_DIMS));
    }
    field->element_bytes = element_bytes;
    field->ndims = ndims;
    auto step = static_cast<ptrdiff_t>(element_bytes);
    ptrdiff_t first = 0;
    for (int axis = ndims; axis-- > 0;) {
      field->extent[axis] = extent[axis];
      field->stride[axis] = step;
      first += lower[axis] * step;
      step *= static_cast<ptrdiff_t>(lower[axis]) + extent[axis] + upper[axis];
    }
    field->data = array == nullptr ? nullptr : static_cast<char*>(array) + first;
  });
}

rankwise_result rankwise_halo_alloc(size_t bytes, void** memory) {
  return guarded([&] {
    if (memory == nullptr) refuse_argument("memory is NULL: give the pointer to fill");
    *memory = nullptr;
    *memory = rankwise::allocate_shared(bytes);
  });
}

rankwise_result rankwise_halo_free(void** memory) {
  return guarded([&] {
    if (memory == nullptr) refuse_argument("memory is NULL: give the pointer that rankwise_halo_alloc filled");
    if (*memory != nullptr && !rankwise::free_shared(*memory)) {
      refuse_argument("this memory is not from rankwise_halo_alloc, or has been freed: pass the pointer that it gave");
    }
    *memory = nullptr;
  });
}
