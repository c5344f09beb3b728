#include "api/fft_request.hpp"

#include <cstddef>
#include <string>
#include <tuple>

#include "api/versioned.hpp"

namespace rankwise::api {

rankwise_fft_options default_fft_options() {
  rankwise_fft_options options{};
  options.struct_size = sizeof options;
  options.effort = RANKWISE_FFT_EFFORT_TRIALS;
  options.batch = 1;
  return options;
}

FftRequest read_fft_request(const std::int64_t n[3], const rankwise_fft_options* given, int ranks) {
  constexpr std::size_t least = offsetof(rankwise_fft_options, stride_out) + sizeof given->stride_out;
  const rankwise_fft_options options =
      given == nullptr ? default_fft_options()
                       : in_our_version(*given, default_fft_options(), least, "rankwise_fft_options_default");
  if (n == nullptr) refuse_argument("n is NULL: give the points of three axes");
  for (const auto& [value, most, name, values] : {std::tuple{options.kind, 1, "kind", "rankwise_fft_kind"},
                                                  {options.precision, 1, "precision", "rankwise_fft_precision"},
                                                  {options.order, 1, "order", "rankwise_fft_order"},
                                                  {options.method, 3, "method", "rankwise_fft_method"},
                                                  {options.effort, 2, "effort", "rankwise_fft_effort"},
                                                  {options.in_place, 1, "in_place", "0 and 1"},
                                                  {options.in_flight, 2, "in_flight", "0, 1 and 2"}}) {
    if (value < 0 || value > most) {
      refuse_argument("options." + std::string(name) + " is " + std::to_string(value) + ": take one of " + values);
    }
  }
  if (options.batch < 1) refuse_argument("options.batch is " + std::to_string(options.batch) + ": give 1 field or more");
  FftRequest request;
  request.n = {n[0], n[1], n[2]};
  request.is_real = options.kind == RANKWISE_FFT_REAL;
  request.is_double = options.precision == RANKWISE_FFT_DOUBLE;
  request.order = options.order == RANKWISE_FFT_NATURAL ? Order::natural : Order::transposed;
  if (options.method == RANKWISE_FFT_ALLTOALL) request.method = TransposeMethod::alltoall;
  if (options.method == RANKWISE_FFT_PAIRWISE) request.method = TransposeMethod::pairwise;
  if (options.method == RANKWISE_FFT_NODE_AWARE) request.method = TransposeMethod::node_aware;
  if (options.chunks < 0 || options.chunks > 1024) {
    refuse_argument("options.chunks is " + std::to_string(options.chunks) + ": give 1 to 1024 slices, or 0");
  }
  request.chunks = options.chunks;
  if (options.together < 0)
    refuse_argument("options.together is " + std::to_string(options.together) + ": give 1 field or more, or 0");
  request.together = options.together;
  request.in_flight = options.in_flight;
  request.planning = options.effort == RANKWISE_FFT_EFFORT_MODEL    ? Planning::estimate
                     : options.effort == RANKWISE_FFT_EFFORT_TRIALS ? Planning::measure
                                                                    : Planning::patient;
  request.in_place = options.in_place == 1;
  request.batch = options.batch;
  request.grid = {options.grid[0], options.grid[1]};
  request.stride = {options.stride_in, options.stride_out};
  const auto& [p1, p2] = request.grid;
  if ((p1 != 0 || p2 != 0) && (p1 < 1 || p2 < 1 || p1 * p2 != ranks)) {
    refuse_argument("options.grid is " + std::to_string(p1) + "x" + std::to_string(p2) + " but the communicator has " +
                    std::to_string(ranks) + " ranks: give a grid of as many, or 0, 0");
  }
  check({request.n, request.is_real, {1, 1}}, true);
  return request;
}

void add_alike(Agreement& agreement, const FftRequest& request) {
  for (std::size_t axis = 0; axis < 3; ++axis) agreement.alike("n[" + std::to_string(axis) + "]", request.n[axis]);
  agreement.alike("the kind", request.is_real);
  agreement.alike("the precision", !request.is_double);
  agreement.alike("the order", request.order == Order::natural);
  agreement.alike("the method", !request.method ? 0 : 1 + static_cast<int>(*request.method));
  agreement.alike("the chunks", request.chunks);
  agreement.alike("the grid's first number", request.grid[0]);
  agreement.alike("the fields together", request.together);
  agreement.alike("the groups in flight", request.in_flight);
  agreement.alike("the effort", static_cast<int>(request.planning));
  agreement.alike("in_place", request.in_place);
  agreement.alike("the batch", request.batch);
}

}  // namespace rankwise::api
