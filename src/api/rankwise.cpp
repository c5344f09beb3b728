// The C API: handles and the boundary that no exception crosses. What the calls do is in plan.cpp.
#include "rankwise/rankwise.h"

#include <cstdint>
#include <memory>

#include "api/cart.hpp"
#include "api/failure.hpp"
#include "api/fortran_handles.hpp"
#include "api/graph.hpp"
#include "api/handles.hpp"
#include "api/plan.hpp"
#include "api/versioned.hpp"

using namespace rankwise::api;

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
  return guarded([&] {
    if (plan == nullptr) refuse_argument("plan is NULL: give the handle to fill, on all ranks");
    *plan = nullptr;
    *plan = ExchangeHandles::all().make(std::make_unique<Plan>(cart, ndims, cutoff, options));
  });
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

rankwise_result rankwise_cart_create(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                     const int stencil[], int k, const int weights[], MPI_Info info, MPI_Comm* cartcomm) {
  return guarded([&] {
    if (cartcomm == nullptr) refuse_argument("cartcomm is NULL: give the handle to fill, on all ranks");
    *cartcomm = MPI_COMM_NULL;
    *cartcomm = make_cart(oldcomm, {ndims, dims, periods, reorder != 0, stencil, k, weights, info, {}}).comm;
  });
}

rankwise_result rankwise_cart_create_f(rankwise_fint oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                       const int stencil[], int k, const int weights[], rankwise_fint info,
                                       rankwise_fint* cartcomm) {
  MPI_Comm made = MPI_COMM_NULL;
  const rankwise_result result = rankwise_cart_create(comm_of(oldcomm), ndims, dims, periods, reorder, stencil, k, weights,
                                                      info_of(info), cartcomm == nullptr ? nullptr : &made);
  if (cartcomm != nullptr) *cartcomm = handle_of(made);
  return result;
}

int MPIX_Cart_stencil_comm(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder, const int stencil[],
                           int k, MPI_Comm* cartcomm) {
  return mpi_code(rankwise_cart_create(oldcomm, ndims, dims, periods, reorder, stencil, k, nullptr, MPI_INFO_NULL, cartcomm));
}

int MPIX_Cart_stencil_comm_f(rankwise_fint oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                             const int stencil[], int k, rankwise_fint* cartcomm) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPIX_Cart_stencil_comm(comm_of(oldcomm), ndims, dims, periods, reorder, stencil, k,
                                          cartcomm == nullptr ? nullptr : &made);
  if (cartcomm != nullptr) *cartcomm = handle_of(made);
  return code;
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

namespace {

// Fills *newcomm with what make gives; null where it fails.
template <class Make>
rankwise_result fill_comm(MPI_Comm* newcomm, Make&& make) noexcept {
  return guarded([&] {
    if (newcomm == nullptr) refuse_argument("newcomm is NULL: give the handle to fill, on all ranks");
    *newcomm = MPI_COMM_NULL;
    *newcomm = make();
  });
}

}  // namespace

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
  MPI_Comm made = MPI_COMM_NULL;
  const rankwise_result result =
      rankwise_dist_graph_create_adjacent(comm_of(oldcomm), indegree, sources, sourceweights, outdegree, destinations,
                                          destweights, info_of(info), reorder, newcomm == nullptr ? nullptr : &made);
  if (newcomm != nullptr) *newcomm = handle_of(made);
  return result;
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
  MPI_Comm made = MPI_COMM_NULL;
  const rankwise_result result = rankwise_dist_graph_create(comm_of(oldcomm), n, sources, degrees, destinations, weights,
                                                            info_of(info), reorder, newcomm == nullptr ? nullptr : &made);
  if (newcomm != nullptr) *newcomm = handle_of(made);
  return result;
}

rankwise_result rankwise_graph_create(MPI_Comm oldcomm, int nnodes, const int index[], const int edges[], int reorder,
                                      MPI_Comm* newcomm) {
  return fill_comm(newcomm, [&] { return make_graph(oldcomm, nnodes, index, edges, reorder != 0); });
}

rankwise_result rankwise_graph_create_f(rankwise_fint oldcomm, int nnodes, const int index[], const int edges[], int reorder,
                                        rankwise_fint* newcomm) {
  MPI_Comm made = MPI_COMM_NULL;
  const rankwise_result result =
      rankwise_graph_create(comm_of(oldcomm), nnodes, index, edges, reorder, newcomm == nullptr ? nullptr : &made);
  if (newcomm != nullptr) *newcomm = handle_of(made);
  return result;
}

rankwise_result rankwise_graph_map(int vertices, const int first[], const int targets[], const int weights[], int nodes,
                                   const int node_sizes[], double effort_s, int node_of_vertex[]) {
  return guarded([&] { map_graph_alone(vertices, first, targets, weights, nodes, node_sizes, effort_s, node_of_vertex); });
}
