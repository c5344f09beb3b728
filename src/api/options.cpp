#include "api/options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/halo_variant.hpp"
#include "api/handles.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise::api {

namespace {

// What a number of a C enumeration means.
struct Name {
  int value;
  std::string id;
};
using Names = std::vector<Name>;

Names algorithm_names() {
  Names names{{RANKWISE_ALGORITHM_AUTO, "auto"}};
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    names.push_back({algorithm.c_value, std::string(algorithm.id)});
  }
  return names;
}

Names send_mode_names() {
  Names names{{RANKWISE_SEND_AUTO, "auto"}};
  for (std::string& id : send_mode_ids()) names.push_back({static_cast<int>(names.size()), std::move(id)});
  return names;
}

Names shell_names() { return {{RANKWISE_SHELL_FULL, "full"}, {RANKWISE_SHELL_EIGHTH, "eighth"}}; }

std::string id_of(int value, const Names& names, const char* what) {
  const auto found = std::ranges::find(names, value, &Name::value);
  if (found != names.end()) return found->id;
  refuse_argument("options." + std::string(what) + " is " + std::to_string(value) + ": take one of rankwise_" + what);
}

// -1 where no name is this one.
std::int64_t number_of(const std::string& id, const Names& names) {
  const auto found = std::ranges::find(names, id, &Name::id);
  return found == names.end() ? -1 : found->value;
}

// What the environment says where the program leaves the choice open.
std::string or_environment(const std::string& id, const char* variable) {
  const char* value = std::getenv(variable);
  return id == "auto" && value != nullptr && *value != '\0' ? value : id;
}

// A number of an option struct, and what to give instead of one beyond its bounds.
struct Bounded {
  const char* name;
  Index value, least, most;
  const char* fix;
};

constexpr Index any = std::numeric_limits<Index>::max();

// Throws Failure for the first that is beyond its bounds.
void require_within(std::initializer_list<Bounded> options) {
  for (const auto& [name, value, least, most, fix] : options) {
    if (value >= least && value <= most) continue;
    refuse_argument("options." + std::string(name) + " is " + std::to_string(value) + ": " + fix);
  }
}

}  // namespace

template <>
rankwise_exchange_options defaults() {
  rankwise_exchange_options options{};
  options.struct_size = sizeof options;
  options.algorithm = RANKWISE_ALGORITHM_AUTO;
  options.send_mode = RANKWISE_SEND_AUTO;
  options.shell = RANKWISE_SHELL_FULL;
  options.replication = 1;
  options.expected_block_bytes = 4096;
  return options;
}

Request read_options(const rankwise_exchange_options* given) {
  constexpr std::size_t least = offsetof(rankwise_exchange_options, expected_block_bytes) + sizeof(std::size_t);
  const auto options = in_our_version(given, defaults<rankwise_exchange_options>(), least, "rankwise_exchange_options_default");
  Request request;
  const Names algorithms = algorithm_names();
  const std::string algorithm = or_environment(id_of(options.algorithm, algorithms, "algorithm"), "RANKWISE_ALGORITHM");
  if (number_of(algorithm, algorithms) < 0) {
    std::string ids;
    for (const Name& name : algorithms) ids += (ids.empty() ? "" : ", ") + name.id;
    refuse_argument("RANKWISE_ALGORITHM is '" + algorithm + "': choose one of " + ids);
  }
  if (algorithm != "auto") request.algorithm = algorithm;
  const std::string mode = or_environment(id_of(options.send_mode, send_mode_names(), "send_mode"), "RANKWISE_SEND_MODE");
  if (mode != "auto") request.mode = parse_send_mode(mode);
  request.shell = parse_shell(id_of(options.shell, shell_names(), "shell"));
  request.replication = options.replication;
  if (options.expected_block_bytes > (std::size_t{1} << 40)) {
    refuse_argument("options.expected_block_bytes is above 2^40: give the bytes of a typical block");
  }
  request.expected_block_bytes = static_cast<Index>(options.expected_block_bytes);
  return request;
}

void add_alike(Agreement& agreement, const Request& request) {
  agreement.alike("the algorithm (by its number)", number_of(request.algorithm.value_or("auto"), algorithm_names()));
  agreement.alike("the send mode (by its number)",
                  number_of(request.mode ? to_string(*request.mode) : "auto", send_mode_names()));
  agreement.alike("the shell (by its number)", number_of(to_string(request.shell), shell_names()));
  agreement.alike("the replication", request.replication);
  agreement.alike("expected_block_bytes", request.expected_block_bytes);
}

template <>
rankwise_field defaults() {
  rankwise_field field{};
  field.element_bytes = 8;
  field.ndims = 1;
  field.stride[0] = 8;
  return field;
}

template <>
rankwise_halo_options defaults() {
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
  const auto options = in_our_version(given, defaults<rankwise_halo_options>(), least, "rankwise_halo_options_default");
  const int algorithm = or_asked_halo_algorithm(options.algorithm);
  require_within({{"corners", options.corners, 0, 1, "give 1 (edges and corners) or 0 (faces)"}});
  if (algorithm == RANKWISE_HALO_STAGED && options.corners == 0) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "staged brings edges and corners along: take direct for faces only");
  }
  HaloRequest request;
  require_within({{"exchanges", options.exchanges, 0, any, "give 0 or more"}});
  request.algorithm = algorithm;
  request.exchanges = options.exchanges;
  request.corners = options.corners == 1;
  for (int axis = 0; axis < axes; ++axis) {
    for (const auto& [widths, kept, name] :
         {std::tuple{options.lower, &request.lower, "lower"}, std::tuple{options.upper, &request.upper, "upper"}}) {
      const std::string of_axis = std::string(name) + "[" + std::to_string(axis) + "]";
      require_within({{of_axis.c_str(), widths[axis], 0, any, "give a width of 0 or more"}});
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

template <>
rankwise_fft_options defaults() {
  rankwise_fft_options options{};
  options.struct_size = sizeof options;
  options.effort = RANKWISE_FFT_EFFORT_TRIALS;
  options.batch = 1;
  return options;
}

FftRequest read_fft_request(const std::int64_t n[3], const rankwise_fft_options* given, int ranks) {
  constexpr std::size_t least = offsetof(rankwise_fft_options, stride_out) + sizeof given->stride_out;
  const auto options = in_our_version(given, defaults<rankwise_fft_options>(), least, "rankwise_fft_options_default");
  if (n == nullptr) refuse_argument("n is NULL: give the points of three axes");
  require_within({{"kind", options.kind, 0, 1, "take one of rankwise_fft_kind"},
                  {"precision", options.precision, 0, 1, "take one of rankwise_fft_precision"},
                  {"order", options.order, 0, 1, "take one of rankwise_fft_order"},
                  {"method", options.method, 0, 3, "take one of rankwise_fft_method"},
                  {"effort", options.effort, 0, 2, "take one of rankwise_fft_effort"},
                  {"in_place", options.in_place, 0, 1, "take one of 0 and 1"},
                  {"in_flight", options.in_flight, 0, 2, "take one of 0, 1 and 2"},
                  {"batch", options.batch, 1, any, "give 1 field or more"},
                  {"chunks", options.chunks, 0, 1024, "give 1 to 1024 slices, or 0"},
                  {"together", options.together, 0, any, "give 1 field or more, or 0"}});
  FftRequest request;
  request.n = {n[0], n[1], n[2]};
  request.is_real = options.kind == RANKWISE_FFT_REAL;
  request.is_double = options.precision == RANKWISE_FFT_DOUBLE;
  request.order = options.order == RANKWISE_FFT_NATURAL ? Order::natural : Order::transposed;
  if (options.method == RANKWISE_FFT_ALLTOALL) request.method = TransposeMethod::alltoall;
  if (options.method == RANKWISE_FFT_PAIRWISE) request.method = TransposeMethod::pairwise;
  if (options.method == RANKWISE_FFT_NODE_AWARE) request.method = TransposeMethod::node_aware;
  request.chunks = options.chunks;
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
