// Where Fortran arrays lie, from their descriptors: addresses and strides of slices are taken as they are, nothing is copied.
#include <ISO_Fortran_binding.h>

#include <cstddef>

#include "rankwise/rankwise.h"

extern "C" RANKWISE_API int rankwise_field_of_array(rankwise_field* field, const CFI_cdesc_t* array, const int lower[],
                                                    const int upper[]) {
  if (rankwise_field_default(field) != RANKWISE_SUCCESS || array->rank < 1 || array->rank > RANKWISE_MAX_DIMS) {
    return RANKWISE_ERROR_ARGUMENT;
  }
  auto* data = static_cast<char*>(array->base_addr);
  field->element_bytes = array->elem_len;
  field->ndims = array->rank;
  for (int axis = 0; axis < array->rank; ++axis) {
    field->stride[axis] = array->dim[axis].sm;
    field->extent[axis] = static_cast<int>(array->dim[axis].extent) - lower[axis] - upper[axis];
    if (data != nullptr) data += lower[axis] * array->dim[axis].sm;
  }
  field->data = data;
  return RANKWISE_SUCCESS;
}

namespace {

// The bytes of an array that lies in one piece; 0 of any other, which the call then refuses on all ranks.
std::size_t bytes_of(const CFI_cdesc_t* array) {
  std::size_t bytes = array->elem_len;
  for (int axis = 0; axis < array->rank; ++axis) {
    if (array->dim[axis].extent > 1 && array->dim[axis].sm != static_cast<CFI_index_t>(bytes)) return 0;
    bytes *= static_cast<std::size_t>(array->dim[axis].extent);
  }
  return bytes;
}

}  // namespace

// call: 0 forward, 1 backward, 2 begin forward, 3 begin backward.
extern "C" RANKWISE_API int rankwise_fft_of_arrays(rankwise_fft plan, int call, const CFI_cdesc_t* from,
                                                   const CFI_cdesc_t* into, double scale) {
  const std::size_t from_bytes = bytes_of(from);
  const std::size_t into_bytes = bytes_of(into);
  if (call == 0) return rankwise_fft_forward(plan, from->base_addr, from_bytes, into->base_addr, into_bytes, scale);
  if (call == 1) return rankwise_fft_backward(plan, from->base_addr, from_bytes, into->base_addr, into_bytes, scale);
  return rankwise_fft_begin(plan, call == 2, from->base_addr, from_bytes, into->base_addr, into_bytes, scale);
}
