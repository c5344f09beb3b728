// What a caller asks of a halo of boxes, read from its structs.
#pragma once

#include <vector>

#include "api/failure.hpp"
#include "halo/halo.hpp"
#include "rankwise/rankwise.h"

namespace rankwise::api {

struct HaloRequest {
  int algorithm = RANKWISE_HALO_AUTO;
  bool corners = true;
  std::vector<Index> lower;  // of each axis of the grid
  std::vector<Index> upper;
  int exchanges = 0;
};

[[nodiscard]] rankwise_halo_options default_halo_options();
// given: of any version; may be null. axes: of the grid. Throws Failure.
[[nodiscard]] HaloRequest read_request(const rankwise_halo_options* given, int axes);
[[nodiscard]] HaloField read_field(const rankwise_field& given, std::size_t f, int axes);
// The axes of a field, those of the largest step first.
[[nodiscard]] std::vector<int> order_of(const HaloField& field);
// Throws Failure where fields share a byte.
void require_apart(const HaloSpec& spec, const std::vector<std::byte*>& data);

}  // namespace rankwise::api
