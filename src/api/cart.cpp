#include "api/topology.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "api/communicator.hpp"
#include "api/environment.hpp"
#include "api/failure.hpp"
#include "cart/nodes.hpp"
#include "mapping/effort.hpp"
#include "mapping/mapping.hpp"

namespace rankwise::api {

namespace {

// 63 bits of what ranks must have alike.
std::int64_t digest(const Stencil& stencil) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a over the numbers
  const auto mix = [&hash](Index value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL; };
  for (const Coords& offset : stencil.offsets()) std::ranges::for_each(offset, mix);
  std::ranges::for_each(stencil.weights(), mix);
  return static_cast<std::int64_t>(hash >> 1);
}

Grid read_grid(const CartArguments& arguments) {
  const int n = arguments.ndims;
  if (n < 1) refuse_argument("ndims is " + std::to_string(n) + ": a grid needs at least one axis");
  if (n > static_cast<int>(max_axes)) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED,
                  "the grid has " + std::to_string(n) + " axes: mapping handles at most " + std::to_string(max_axes));
  }
  if (arguments.dims == nullptr || arguments.periods == nullptr) {
    refuse_argument("dims or periods is NULL: give one number an axis");
  }
  return Grid(std::vector<Index>(arguments.dims, arguments.dims + n),
              std::vector<bool>(arguments.periods, arguments.periods + n));
}

// k = 0 means the nearest neighbours.
Stencil read_stencil(const CartArguments& arguments) {
  if (!arguments.stencil_name.empty()) return parse_stencil(arguments.stencil_name, arguments.ndims);
  if (arguments.k == 0) return parse_stencil("nearest-neighbor", arguments.ndims);
  if (arguments.k < 0 || arguments.stencil == nullptr) {
    refuse_argument(
        "the stencil is NULL or k negative: give k offsets of ndims components, or k = 0 for the nearest "
        "neighbours");
  }
  const auto n = static_cast<std::size_t>(arguments.ndims);
  std::vector<Coords> offsets;
  for (std::size_t i = 0; i < static_cast<std::size_t>(arguments.k); ++i) {
    offsets.emplace_back(arguments.stencil + i * n, arguments.stencil + (i + 1) * n);
  }
  std::vector<Index> weights;
  if (arguments.weights != nullptr) weights.assign(arguments.weights, arguments.weights + arguments.k);
  return Stencil(arguments.ndims, std::move(offsets), std::move(weights));
}

struct CartRequest {
  std::optional<Grid> grid;
  std::optional<Stencil> stencil;
  const MappingAlgorithm* algorithm = nullptr;
  std::optional<double> effort_s;
  bool verbose = false;
};

// What all ranks have understood alike. exactly: the grid must have a cell for each rank.
CartRequest agree(MPI_Comm comm, const CartArguments& arguments, bool exactly) {
  CartRequest request;
  Agreement agreement;
  agreement.attempt([&] {
    request.grid = read_grid(arguments);
    request.stencil = read_stencil(arguments);
    const int size = size_of(comm);
    const Index cells = request.grid->size();
    if (exactly ? cells != size : cells > size) {
      refuse_argument("the grid has " + std::to_string(cells) + " cells but the communicator " + std::to_string(size) +
                      " ranks: change the grid or the number of ranks");
    }
    const std::string mapping = asked(arguments.info, "rankwise_mapping", "RANKWISE_MAPPING");
    request.algorithm = &mapping_algorithm(mapping.empty() ? "auto" : mapping);
    request.effort_s = asked_effort_s(arguments.info);
  });
  const auto on_axis = [&](std::size_t axis, auto value) -> Index {
    return request.grid && static_cast<int>(axis) < request.grid->ndim() ? value(static_cast<int>(axis)) : 0;
  };
  agreement.alike("ndims", arguments.ndims);
  for (std::size_t axis = 0; axis < max_axes; ++axis) {
    const std::string name = " of axis " + std::to_string(axis);
    agreement.alike("the size" + name, on_axis(axis, [&](int i) { return request.grid->dim(i); }));
    agreement.alike("the period" + name, on_axis(axis, [&](int i) { return request.grid->periodic(i) ? 1 : 0; }));
  }
  agreement.alike("the stencil (by a digest)", request.stencil ? digest(*request.stencil) : 0);
  agreement.alike("reorder", arguments.reorder ? 1 : 0);
  agreement.alike("the mapping (by its number)",
                  request.algorithm != nullptr ? request.algorithm - mapping_algorithms().data() : 0);
  agreement.alike("the effort in ns", request.effort_s ? static_cast<Index>(*request.effort_s * 1e9) : -1);
  const std::size_t verbose = agreement.maximise(environment_flag("RANKWISE_VERBOSE") ? 1 : 0);
  agreement.reach(comm);
  request.verbose = agreement.largest(verbose) == 1;
  return request;
}

// The best map of a search, or of all algorithms, is found by one rank and told to the others: it takes time and memory
// that grow like the number of ranks, and is the same for all by construction. Returns this rank's cell, and which
// algorithm it is in picked (empty: the ranks keep their order).
Index cell_by_search(MPI_Comm comm, const RankNodes& nodes, const MappingProblem& problem, const CartRequest& request,
                     std::string& picked) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  // auto leaves alone what is as good as the best that it finds.
  const bool may_keep = request.algorithm->name == std::string_view("auto");
  Score kept;
  if (may_keep) kept = score_of_ranks(comm, nodes, problem.grid, problem.stencil);
  if (may_keep && kept.j_sum == 0) {
    picked.clear();
    return rank;
  }
  const Index own = nodes.place();
  std::vector<Index> places(rank == 0 ? static_cast<std::size_t>(size) : 0);
  check_mpi(MPI_Gather(&own, 1, MPI_INT64_T, places.data(), 1, MPI_INT64_T, 0, comm), "MPI_Gather");
  Agreement agreement;
  std::array<char, 32> name{};
  std::vector<Index> cells(places.size());
  if (rank == 0) {
    agreement.attempt([&] {
      const MappingOptions options =
          request.effort_s ? by_clock(*request.effort_s, now_s) : MappingOptions{.steps = worthwhile_steps(problem)};
      const auto mapping = request.algorithm->prepare(problem, options);
      if (may_keep) {
        std::vector<NodeId> node_of_cell(cells.size());
        fill_node_of_cell(*mapping, problem.nodes, node_of_cell);
        const Score found = score(problem.grid, problem.stencil, node_of_cell);
        if (std::pair(kept.j_sum, kept.j_max) <= std::pair(found.j_sum, found.j_max)) {
          std::iota(cells.begin(), cells.end(), Index{0});
          return;
        }
      }
      (may_keep ? mapping->picked() : request.algorithm->name).copy(name.data(), name.size() - 1);
      std::vector<Index> cell_of_place(cells.size());
      fill_cell_of_rank(*mapping, cell_of_place);
      for (std::size_t r = 0; r < cells.size(); ++r) cells[r] = cell_of_place[static_cast<std::size_t>(places[r])];
    });
  }
  agreement.reach(comm);
  Index cell = 0;
  check_mpi(MPI_Scatter(cells.data(), 1, MPI_INT64_T, &cell, 1, MPI_INT64_T, 0, comm), "MPI_Scatter");
  check_mpi(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm), "MPI_Bcast");
  picked = name.data();
  return cell;
}

Index cell_by_itself(MPI_Comm comm, const RankNodes& nodes, const MappingProblem& problem, const CartRequest& request) {
  Agreement agreement;
  Index cell = 0;
  agreement.attempt([&] { cell = request.algorithm->prepare(problem)->cell_of_rank(nodes.place()); });
  agreement.reach(comm);
  return cell;
}

}  // namespace

Cart make_cart(MPI_Comm oldcomm, const CartArguments& arguments) {
  require_intra(oldcomm);
  const ErrorsReturn errors(oldcomm);
  const CartRequest request = agree(oldcomm, arguments, false);
  const int rank = rank_of(oldcomm);

  ScopedComm within;  // the ranks that get a cell
  const bool has_cell = rank < request.grid->size();
  check_mpi(MPI_Comm_split(oldcomm, has_cell ? 0 : MPI_UNDEFINED, rank, &within), "MPI_Comm_split");
  Cart cart;
  cart.verbose = request.verbose;
  if (!has_cell) return cart;

  Index cell = rank;
  if (arguments.reorder) {
    const RankNodes nodes(within.get());
    const MappingProblem problem(*request.grid, nodes.sizes(), *request.stencil);
    cart.nodes = nodes.sizes().nodes();
    cart.mapping = request.algorithm->name;
    if (request.algorithm->local) {
      cell = cell_by_itself(within.get(), nodes, problem, request);
    } else {
      cell = cell_by_search(within.get(), nodes, problem, request, cart.mapping);
    }
  }
  ScopedComm ordered;
  check_mpi(MPI_Comm_split(within.get(), 0, static_cast<int>(cell), &ordered), "MPI_Comm_split");
  check_mpi(MPI_Cart_create(ordered.get(), arguments.ndims, arguments.dims, arguments.periods, 0, &cart.comm),
            "MPI_Cart_create");
  errors.hand_over(cart.comm);
  return cart;
}

Score score_as_it_is(MPI_Comm comm, const CartArguments& arguments) {
  require_intra(comm);
  const ErrorsReturn errors(comm);
  const CartRequest request = agree(comm, arguments, true);
  return score_of_ranks(comm, RankNodes(comm), *request.grid, *request.stencil);
}

}  // namespace rankwise::api
