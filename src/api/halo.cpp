// The C API of halos: handles and the boundary that no exception crosses. What the calls do is in halo_*.cpp.
#include <memory>

#include "api/fortran_handles.hpp"
#include "api/halo_boxes.hpp"
#include "api/halo_lists.hpp"
#include "api/handles.hpp"
#include "api/versioned.hpp"
#include "rankwise/rankwise.h"

using namespace rankwise::api;

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
  return guarded([&] {
    if (halo == nullptr) refuse_argument("halo is NULL: give the handle to fill, on all ranks");
    *halo = nullptr;
    *halo = HaloHandles::all().make(std::make_unique<HaloBoxes>(cart, nfields, fields, options));
  });
}

rankwise_result rankwise_halo_create_f(rankwise_fint cart, int nfields, const rankwise_field fields[],
                                       const rankwise_halo_options* options, rankwise_halo* halo) {
  return rankwise_halo_create(comm_of(cart), nfields, fields, options, halo);
}

rankwise_result rankwise_neighbors_create(MPI_Comm comm, int nsend, const int dest[], const int skey[], int nrecv,
                                          const int source[], const int rkey[], rankwise_halo* halo) {
  return guarded([&] {
    if (halo == nullptr) refuse_argument("halo is NULL: give the handle to fill, on all ranks");
    *halo = nullptr;
    *halo = HaloHandles::all().make(
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
