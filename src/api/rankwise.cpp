// The C API: handles and the boundary that no exception crosses. What the calls do is in plan.cpp, halo_*.cpp and fft_plan.cpp.

#include <cstdint>
#include <memory>

#include "api/failure.hpp"
#include "api/fft_plan.hpp"
#include "api/halo_boxes.hpp"
#include "api/halo_lists.hpp"
#include "api/handles.hpp"
#include "api/plan.hpp"
#include "api/topology.hpp"
#include "rankwise/rankwise.h"

using namespace rankwise::api;

namespace {

// Fills a handle with what make gives; with none where it fails. name: what the caller's function calls it.
template <class Handle, class Make>
rankwise_result fill_handle(Handle* handle, Handle none, const char* name, Make&& make) noexcept {
  return guarded([&] {
    if (handle == nullptr) refuse_argument(std::string(name) + " is NULL: give the handle to fill, on all ranks");
    *handle = none;
    *handle = make();
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

}  // namespace

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

// Exchanges.

struct rankwise_exchange_plan : HandleOf<Plan> {
  static constexpr std::uint64_t kind = 0;
};

namespace {

using ExchangeHandles = Handles<rankwise_exchange_plan>;
constexpr const char* maker = "rankwise_exchange_create";

Plan& plan_of(rankwise_exchange handle) { return ExchangeHandles::plan_of(handle, maker); }

// Answers a question about a plan into *answer.
template <class Answer, class Question>
rankwise_result ask(rankwise_exchange handle, Answer* answer, Question&& question) noexcept {
  return guarded([&] {
    const Plan& plan = plan_of(handle);
    if (answer == nullptr) refuse_argument("the pointer for the answer is NULL");
    *answer = question(plan);
  });
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

rankwise_result rankwise_exchange_options_init(rankwise_exchange_options* options, size_t struct_size) {
  return guarded([&] { fill(options, struct_size, default_options()); });
}

rankwise_result rankwise_exchange_create(MPI_Comm cart, int ndims, const int cutoff[], const rankwise_exchange_options* options,
                                         rankwise_exchange* plan) {
  return fill_handle<rankwise_exchange>(
      plan, nullptr, "plan", [&] { return ExchangeHandles::all().make(std::make_unique<Plan>(cart, ndims, cutoff, options)); });
}

rankwise_result rankwise_exchange_create_f(rankwise_fint cart, int ndims, const int cutoff[],
                                           const rankwise_exchange_options* options, rankwise_exchange* plan) {
  return rankwise_exchange_create(comm_of(cart), ndims, cutoff, options, plan);
}

rankwise_result rankwise_exchange_set_sizes(rankwise_exchange plan, size_t elements, size_t element_bytes) {
  return guarded([&] { plan_of(plan).set_sizes(elements, element_bytes); });
}

rankwise_result rankwise_exchange_destroy(rankwise_exchange* plan) {
  return guarded([&] { ExchangeHandles::all().destroy(plan, maker); });
}

rankwise_result rankwise_exchange_import_start(rankwise_exchange plan, void* window, size_t element_bytes) {
  return guarded([&] { plan_of(plan).import_start({window, nullptr}, element_bytes); });
}

rankwise_result rankwise_exchange_import_blocks_start(rankwise_exchange plan, void* const blocks[], size_t element_bytes) {
  return guarded([&] { plan_of(plan).import_start({nullptr, blocks}, element_bytes); });
}

rankwise_result rankwise_exchange_import_wait(rankwise_exchange plan) {
  return guarded([&] { plan_of(plan).import_wait(); });
}

rankwise_result rankwise_exchange_reduce_start(rankwise_exchange plan, void* window, int values_per_element, MPI_Datatype type,
                                               MPI_Op op) {
  return guarded([&] { plan_of(plan).reduce_start({window, nullptr}, {values_per_element, type, op}); });
}

rankwise_result rankwise_exchange_reduce_start_f(rankwise_exchange plan, void* window, int values_per_element,
                                                 rankwise_fint type, rankwise_fint op) {
  return rankwise_exchange_reduce_start(plan, window, values_per_element, type_of(type), op_of(op));
}

rankwise_result rankwise_exchange_reduce_blocks_start(rankwise_exchange plan, void* const blocks[], int values_per_element,
                                                      MPI_Datatype type, MPI_Op op) {
  return guarded([&] { plan_of(plan).reduce_start({nullptr, blocks}, {values_per_element, type, op}); });
}

rankwise_result rankwise_exchange_reduce_blocks_start_f(rankwise_exchange plan, void* const blocks[], int values_per_element,
                                                        rankwise_fint type, rankwise_fint op) {
  return rankwise_exchange_reduce_blocks_start(plan, blocks, values_per_element, type_of(type), op_of(op));
}

rankwise_result rankwise_exchange_reduce_wait(rankwise_exchange plan) {
  return guarded([&] { plan_of(plan).reduce_wait(); });
}

rankwise_result rankwise_exchange_visit(rankwise_exchange plan, const void* own, size_t element_bytes, void* result,
                                        int values_per_element, MPI_Datatype type, MPI_Op op, rankwise_visit_function visit,
                                        void* context) {
  return guarded([&] { plan_of(plan).visit(own, element_bytes, result, {values_per_element, type, op}, visit, context); });
}

rankwise_result rankwise_exchange_visit_f(rankwise_exchange plan, const void* own, size_t element_bytes, void* result,
                                          int values_per_element, rankwise_fint type, rankwise_fint op,
                                          rankwise_visit_function visit, void* context) {
  return rankwise_exchange_visit(plan, own, element_bytes, result, values_per_element, type_of(type), op_of(op), visit,
                                 context);
}

rankwise_result rankwise_exchange_explain(rankwise_exchange plan, char* text, size_t capacity, size_t* length) {
  return guarded([&] { give_text(plan_of(plan).explain(), text, capacity, length); });
}

rankwise_result rankwise_exchange_slots(rankwise_exchange plan, int* slots) {
  return ask(plan, slots, [](const Plan& p) { return p.slots(); });
}

rankwise_result rankwise_exchange_own_slot(rankwise_exchange plan, int* slot) {
  return ask(plan, slot, [](const Plan& p) { return p.own_slot(); });
}

rankwise_result rankwise_exchange_slot_of_offset(rankwise_exchange plan, const int offset[], int* slot) {
  return ask(plan, slot, [&](const Plan& p) { return p.slot_of_offset(offset); });
}

rankwise_result rankwise_exchange_offset_of_slot(rankwise_exchange plan, int slot, int offset[]) {
  return guarded([&] { plan_of(plan).offset_of_slot(slot, offset); });
}

rankwise_result rankwise_exchange_slot_rank(rankwise_exchange plan, int slot, int* rank) {
  return ask(plan, rank, [&](const Plan& p) { return p.slot_rank(slot); });
}

rankwise_result rankwise_exchange_slot_crossings(rankwise_exchange plan, int slot, int crossings[]) {
  return guarded([&] { plan_of(plan).slot_crossings(slot, crossings); });
}

rankwise_result rankwise_exchange_slot_elements(rankwise_exchange plan, int slot, size_t* elements) {
  return ask(plan, elements, [&](const Plan& p) { return p.slot_elements(slot); });
}

rankwise_result rankwise_exchange_slot_start(rankwise_exchange plan, int slot, size_t* elements) {
  return ask(plan, elements, [&](const Plan& p) { return p.slot_start(slot); });
}

// Communicators with a topology.

rankwise_result rankwise_cart_create(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                     const int stencil[], int k, const int weights[], MPI_Info info, MPI_Comm* cartcomm) {
  const auto make = [&] {
    return make_cart(oldcomm, {ndims, dims, periods, reorder != 0, stencil, k, weights, info, {}}).comm;
  };
  return fill_comm(cartcomm, make, "cartcomm");
}

rankwise_result rankwise_cart_create_f(rankwise_fint oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                       const int stencil[], int k, const int weights[], rankwise_fint info,
                                       rankwise_fint* cartcomm) {
  return fill_fortran_comm(cartcomm, [&](MPI_Comm* made) {
    return rankwise_cart_create(comm_of(oldcomm), ndims, dims, periods, reorder, stencil, k, weights, info_of(info), made);
  });
}

int MPIX_Cart_stencil_comm(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder, const int stencil[],
                           int k, MPI_Comm* cartcomm) {
  return mpi_code(rankwise_cart_create(oldcomm, ndims, dims, periods, reorder, stencil, k, nullptr, MPI_INFO_NULL, cartcomm));
}

int MPIX_Cart_stencil_comm_f(rankwise_fint oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                             const int stencil[], int k, rankwise_fint* cartcomm) {
  return fill_fortran_comm(cartcomm, [&](MPI_Comm* made) {
    return MPIX_Cart_stencil_comm(comm_of(oldcomm), ndims, dims, periods, reorder, stencil, k, made);
  });
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

rankwise_result rankwise_stencil_score_f(rankwise_fint comm, int ndims, const int dims[], const int periods[],
                                         const int stencil[], int k, const int weights[], long long* j_sum, long long* j_max) {
  return rankwise_stencil_score(comm_of(comm), ndims, dims, periods, stencil, k, weights, j_sum, j_max);
}

rankwise_result rankwise_dist_graph_create_adjacent(MPI_Comm oldcomm, int indegree, const int sources[],
                                                    const int sourceweights[], int outdegree, const int destinations[],
                                                    const int destweights[], MPI_Info info, int reorder, MPI_Comm* newcomm) {
  return fill_comm(newcomm, [&] {
    return make_dist_graph_adjacent(oldcomm, {indegree, sources, sourceweights, outdegree, destinations, destweights}, info,
                                    reorder != 0);
  });
}

rankwise_result rankwise_dist_graph_create_adjacent_f(rankwise_fint oldcomm, int indegree, const int sources[],
                                                      const int sourceweights[], int outdegree, const int destinations[],
                                                      const int destweights[], rankwise_fint info, int reorder,
                                                      rankwise_fint* newcomm) {
  return fill_fortran_comm(newcomm, [&](MPI_Comm* made) {
    return rankwise_dist_graph_create_adjacent(comm_of(oldcomm), indegree, sources, sourceweights, outdegree, destinations,
                                               destweights, info_of(info), reorder, made);
  });
}

rankwise_result rankwise_dist_graph_create(MPI_Comm oldcomm, int n, const int sources[], const int degrees[],
                                           const int destinations[], const int weights[], MPI_Info info, int reorder,
                                           MPI_Comm* newcomm) {
  return fill_comm(newcomm,
                   [&] { return make_dist_graph(oldcomm, {n, sources, degrees, destinations, weights}, info, reorder != 0); });
}

rankwise_result rankwise_dist_graph_create_f(rankwise_fint oldcomm, int n, const int sources[], const int degrees[],
                                             const int destinations[], const int weights[], rankwise_fint info, int reorder,
                                             rankwise_fint* newcomm) {
  return fill_fortran_comm(newcomm, [&](MPI_Comm* made) {
    return rankwise_dist_graph_create(comm_of(oldcomm), n, sources, degrees, destinations, weights, info_of(info), reorder,
                                      made);
  });
}

rankwise_result rankwise_graph_create(MPI_Comm oldcomm, int nnodes, const int index[], const int edges[], int reorder,
                                      MPI_Comm* newcomm) {
  return fill_comm(newcomm, [&] { return make_graph(oldcomm, nnodes, index, edges, reorder != 0); });
}

rankwise_result rankwise_graph_create_f(rankwise_fint oldcomm, int nnodes, const int index[], const int edges[], int reorder,
                                        rankwise_fint* newcomm) {
  return fill_fortran_comm(
      newcomm, [&](MPI_Comm* made) { return rankwise_graph_create(comm_of(oldcomm), nnodes, index, edges, reorder, made); });
}

rankwise_result rankwise_graph_map(int vertices, const int first[], const int targets[], const int weights[], int nodes,
                                   const int node_sizes[], double effort_s, int node_of_vertex[]) {
  return guarded([&] { map_graph_alone(vertices, first, targets, weights, nodes, node_sizes, effort_s, node_of_vertex); });
}

// Halos.

struct rankwise_halo_plan : HandleOf<HaloPlan> {
  static constexpr std::uint64_t kind = 1;
};

namespace {

using HaloHandles = Handles<rankwise_halo_plan>;
constexpr const char* halo_makers = "rankwise_halo_create or rankwise_neighbors_create";

HaloPlan& halo_of(rankwise_halo handle) { return HaloHandles::plan_of(handle, halo_makers); }

}  // namespace

rankwise_result rankwise_field_init(rankwise_field* field, size_t struct_size) {
  return guarded([&] {
    rankwise_field defaults{};
    defaults.element_bytes = 8;
    defaults.ndims = 1;
    defaults.stride[0] = 8;
    fill(field, struct_size, defaults);
  });
}

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

rankwise_result rankwise_halo_options_init(rankwise_halo_options* options, size_t struct_size) {
  return guarded([&] { fill(options, struct_size, default_halo_options()); });
}

rankwise_result rankwise_halo_create(MPI_Comm cart, int nfields, const rankwise_field fields[],
                                     const rankwise_halo_options* options, rankwise_halo* halo) {
  return fill_handle<rankwise_halo>(halo, nullptr, "halo", [&] {
    return HaloHandles::all().make(std::make_unique<HaloBoxes>(cart, nfields, fields, options));
  });
}

rankwise_result rankwise_halo_create_f(rankwise_fint cart, int nfields, const rankwise_field fields[],
                                       const rankwise_halo_options* options, rankwise_halo* halo) {
  return rankwise_halo_create(comm_of(cart), nfields, fields, options, halo);
}

rankwise_result rankwise_neighbors_create(MPI_Comm comm, int nsend, const int dest[], const int skey[], int nrecv,
                                          const int source[], const int rkey[], rankwise_halo* halo) {
  return fill_handle<rankwise_halo>(halo, nullptr, "halo", [&] {
    return HaloHandles::all().make(
        std::make_unique<HaloLists>(comm, HaloLists::Ends{nsend, dest, skey}, HaloLists::Ends{nrecv, source, rkey}));
  });
}

rankwise_result rankwise_neighbors_create_f(rankwise_fint comm, int nsend, const int dest[], const int skey[], int nrecv,
                                            const int source[], const int rkey[], rankwise_halo* halo) {
  return rankwise_neighbors_create(comm_of(comm), nsend, dest, skey, nrecv, source, rkey, halo);
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

rankwise_result rankwise_neighbors_algorithm(rankwise_halo halo, int algorithm) {
  return guarded([&] { halo_of(halo).set_algorithm(algorithm); });
}

rankwise_result rankwise_halo_save(rankwise_halo halo, const char* path) {
  return guarded([&] { halo_of(halo).save(path); });
}

rankwise_result rankwise_neighbors_lists(rankwise_halo halo, const rankwise_list send[], const rankwise_list recv[]) {
  return guarded([&] { halo_of(halo).set_lists(send, recv); });
}

rankwise_result rankwise_neighbors_places(rankwise_halo halo, const rankwise_list recv[]) {
  return guarded([&] { halo_of(halo).set_places(recv); });
}

rankwise_result rankwise_neighbors_capacity(rankwise_halo halo, const size_t bytes[]) {
  return guarded([&] { halo_of(halo).set_capacity(bytes); });
}

rankwise_result rankwise_halo_received(rankwise_halo halo, int edge, int field, size_t* elements, const void** where) {
  return guarded([&] { halo_of(halo).received(edge, field, elements, where); });
}

rankwise_result rankwise_halo_start(rankwise_halo halo, int nfields, const rankwise_field fields[], const int active[]) {
  return guarded([&] { halo_of(halo).start(nfields, fields, active); });
}

rankwise_result rankwise_halo_reduce_start(rankwise_halo halo, int nfields, const rankwise_field fields[], const int active[],
                                           MPI_Datatype type, MPI_Op op) {
  return guarded([&] { halo_of(halo).reduce_start(nfields, fields, active, type, op); });
}

rankwise_result rankwise_halo_reduce_start_f(rankwise_halo halo, int nfields, const rankwise_field fields[], const int active[],
                                             rankwise_fint type, rankwise_fint op) {
  return rankwise_halo_reduce_start(halo, nfields, fields, active, type_of(type), op_of(op));
}

rankwise_result rankwise_halo_wait(rankwise_halo halo) {
  return guarded([&] { halo_of(halo).wait(); });
}

rankwise_result rankwise_halo_test(rankwise_halo halo, int* done) {
  return guarded([&] {
    if (done == nullptr) refuse_argument("done is NULL: give the flag to fill");
    *done = halo_of(halo).test() ? 1 : 0;
  });
}

rankwise_result rankwise_halo_explain(rankwise_halo halo, char* text, size_t capacity, size_t* length) {
  return guarded([&] { give_text(halo_of(halo).explain(), text, capacity, length); });
}

rankwise_result rankwise_halo_destroy(rankwise_halo* halo) {
  return guarded([&] { HaloHandles::all().destroy(halo, halo_makers); });
}

// 3-D FFTs.

struct rankwise_fft_plan : HandleOf<FftPlan> {
  static constexpr std::uint64_t kind = 2;
};

namespace {

using FftHandles = Handles<rankwise_fft_plan>;
constexpr const char* fft_maker = "rankwise_fft_create";

FftPlan& fft_of(rankwise_fft handle) { return FftHandles::plan_of(handle, fft_maker); }

}  // namespace

rankwise_result rankwise_fft_options_init(rankwise_fft_options* options, size_t struct_size) {
  return guarded([&] { fill(options, struct_size, default_fft_options()); });
}

rankwise_result rankwise_fft_create(MPI_Comm comm, const int64_t n[3], const rankwise_fft_box* in, const rankwise_fft_box* out,
                                    const rankwise_fft_options* options, rankwise_fft* plan) {
  return fill_handle<rankwise_fft>(
      plan, nullptr, "plan", [&] { return FftHandles::all().make(std::make_unique<FftPlan>(comm, n, in, out, options)); });
}

rankwise_result rankwise_fft_create_f(rankwise_fint comm, const int64_t n[3], const rankwise_fft_box* in,
                                      const rankwise_fft_box* out, const rankwise_fft_options* options, rankwise_fft* plan) {
  return rankwise_fft_create(comm_of(comm), n, in, out, options, plan);
}

rankwise_result rankwise_fft_boxes(rankwise_fft plan, rankwise_fft_box* in, rankwise_fft_box* out) {
  return guarded([&] { fft_of(plan).boxes(in, out); });
}

rankwise_result rankwise_fft_elements(rankwise_fft plan, int64_t* in, int64_t* out) {
  return guarded([&] { fft_of(plan).elements(in, out); });
}

rankwise_result rankwise_fft_forward(rankwise_fft plan, const void* in, size_t in_bytes, void* out, size_t out_bytes,
                                     double scale) {
  return guarded([&] { fft_of(plan).run(rankwise::Direction::forward, {in, in_bytes, out, out_bytes}, scale); });
}

rankwise_result rankwise_fft_backward(rankwise_fft plan, const void* out, size_t out_bytes, void* in, size_t in_bytes,
                                      double scale) {
  return guarded([&] { fft_of(plan).run(rankwise::Direction::backward, {out, out_bytes, in, in_bytes}, scale); });
}

rankwise_result rankwise_fft_begin(rankwise_fft plan, int forward, const void* from, size_t from_bytes, void* into,
                                   size_t into_bytes, double scale) {
  return guarded([&] {
    const auto direction = forward != 0 ? rankwise::Direction::forward : rankwise::Direction::backward;
    fft_of(plan).begin(direction, {from, from_bytes, into, into_bytes}, scale);
  });
}

rankwise_result rankwise_fft_test(rankwise_fft plan, int* done) {
  return guarded([&] {
    if (done == nullptr) refuse_argument("done is NULL: give the flag to fill");
    *done = fft_of(plan).test() ? 1 : 0;
  });
}

rankwise_result rankwise_fft_end(rankwise_fft plan) {
  return guarded([&] { fft_of(plan).end(); });
}

rankwise_result rankwise_fft_explain(rankwise_fft plan, char* text, size_t capacity, size_t* length) {
  return guarded([&] { give_text(fft_of(plan).explain(), text, capacity, length); });
}

rankwise_result rankwise_fft_destroy(rankwise_fft* plan) {
  return guarded([&] { FftHandles::all().destroy(plan, fft_maker); });
}
