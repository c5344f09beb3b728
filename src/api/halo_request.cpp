#include "api/halo_request.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <tuple>

#include "api/halo_way.hpp"
#include "api/versioned.hpp"

namespace rankwise::api {

rankwise_halo_options default_halo_options() {
  rankwise_halo_options options{};
  options.struct_size = sizeof options;
  options.algorithm = RANKWISE_HALO_AUTO;
  options.corners = 1;
  std::fill_n(options.lower, RANKWISE_MAX_DIMS, 1);
  std::fill_n(options.upper, RANKWISE_MAX_DIMS, 1);
  options.exchanges = 4000;
  return options;
}

HaloRequest read_request(const rankwise_halo_options* given, int axes) {
  constexpr std::size_t least = offsetof(rankwise_halo_options, upper) + sizeof given->upper;
  const rankwise_halo_options options =
      given == nullptr ? default_halo_options()
                       : in_our_version(*given, default_halo_options(), least, "rankwise_halo_options_default");
  const int algorithm = or_asked_halo_algorithm(options.algorithm);
  if (options.corners != 0 && options.corners != 1) {
    refuse_argument("options.corners is " + std::to_string(options.corners) + ": give 1 (edges and corners) or 0 (faces)");
  }
  if (algorithm == RANKWISE_HALO_STAGED && options.corners == 0) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "staged brings edges and corners along: take direct for faces only");
  }
  HaloRequest request;
  if (options.exchanges < 0) {
    refuse_argument("options.exchanges is " + std::to_string(options.exchanges) + ": give 0 or more");
  }
  request.algorithm = algorithm;
  request.exchanges = options.exchanges;
  request.corners = options.corners == 1;
  for (int axis = 0; axis < axes; ++axis) {
    for (const auto& [widths, kept, name] :
         {std::tuple{options.lower, &request.lower, "lower"}, std::tuple{options.upper, &request.upper, "upper"}}) {
      if (widths[axis] < 0) {
        refuse_argument("options." + std::string(name) + "[" + std::to_string(axis) + "] is " + std::to_string(widths[axis]) +
                        ": give a width of 0 or more");
      }
      kept->push_back(widths[axis]);
    }
  }
  return request;
}

HaloField read_field(const rankwise_field& given, std::size_t f, int axes) {
  const std::string name = "fields[" + std::to_string(f) + "]";
  if (given.ndims < axes) {
    refuse_argument(name + ".ndims is " + std::to_string(given.ndims) + " but the communicator's grid has " +
                    std::to_string(axes) + " axes: give those of the grid first");
  }
  HaloField field;
  field.element_bytes = given.element_bytes;
  field.ndim = given.ndims;
  for (int axis = 0; axis < given.ndims; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::string on = " on axis " + std::to_string(axis);
    if (given.overlap[a] < 0) refuse_argument(name + " has an overlap below 0" + on + ": give 0 or more");
    const int least = axis < axes ? given.overlap[a] + 1 : 1;
    if (given.extent[a] < least) {
      refuse_argument(name + " has an extent of " + std::to_string(given.extent[a]) + on + ": give at least " +
                      std::to_string(least));
    }
    field.extent[a] = given.extent[a];
    field.step[a] = given.stride[a];
    if (axis < axes) field.lines.push_back({given.extent[a], {}, {}, given.overlap[a]});
  }
  return field;
}

// The axes of a field, those of the largest step first.
std::vector<int> order_of(const HaloField& field) {
  std::vector<int> order(static_cast<std::size_t>(field.ndim));
  std::iota(order.begin(), order.end(), 0);
  const auto step = [&](int axis) { return std::abs(field.step[static_cast<std::size_t>(axis)]); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return step(a) > step(b); });
  return order;
}

namespace {

struct Stretch {
  const std::byte* begin;
  const std::byte* end;
  std::size_t field;
};

// What a field takes in memory with its halo: row by row, or as one stretch from the first byte to the last.
std::vector<Stretch> stretches(const HaloSpec& spec, std::size_t f, const std::byte* data, bool by_rows) {
  const HaloField& field = spec.fields[f];
  BoxCells extent = field.extent;
  Bytes first = 0;
  Bytes end = static_cast<Bytes>(field.element_bytes);
  for (int axis = 0; axis < field.ndim; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    Interval all{0, field.extent[a]};
    if (axis < spec.grid.ndim()) {
      for (const HaloReach& reach : reaches(field.lines[a], spec.lower[a], spec.upper[a]).receives) {
        all = {std::min(all.begin, reach.ghost.begin), std::max(all.end, reach.ghost.end)};
      }
    }
    extent[a] = all.length();
    data += all.begin * field.step[a];
    (field.step[a] < 0 ? first : end) += (extent[a] - 1) * field.step[a];
  }
  if (!by_rows) return {{data + first, data + end, f}};
  std::vector<Stretch> rows;
  const BoxCopy copy = BoxCopy::of_box(field.ndim, extent, field.element_bytes, field.step, field.step);
  each_row(copy, const_cast<std::byte*>(data), data,
           [&](std::byte*, const std::byte* row, std::size_t bytes) { rows.push_back({row, row + bytes, f}); });
  return rows;
}

}  // namespace

void require_apart(const HaloSpec& spec, const std::vector<std::byte*>& data) {
  for (const bool by_rows : {false, true}) {
    std::vector<Stretch> all;
    for (std::size_t f = 0; f < data.size(); ++f) {
      if (data[f] == nullptr) continue;
      const std::vector<Stretch> own = stretches(spec, f, data[f], by_rows);
      all.insert(all.end(), own.begin(), own.end());
    }
    std::ranges::sort(all, {}, &Stretch::begin);
    const auto shared = std::ranges::adjacent_find(
        all, [](const Stretch& a, const Stretch& b) { return a.field != b.field && b.begin < a.end; });
    if (shared == all.end()) return;
    if (!by_rows) continue;  // one inside the other, perhaps: only rows tell
    refuse_argument("fields " + std::to_string(shared->field) + " and " + std::to_string(std::next(shared)->field) +
                    " share memory: give every field elements and a halo of its own");
  }
}

}  // namespace rankwise::api
