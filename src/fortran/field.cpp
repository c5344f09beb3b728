// Where a Fortran array lies, from its descriptor: addresses and strides of slices are taken as they are, nothing is copied.
#include <ISO_Fortran_binding.h>

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
