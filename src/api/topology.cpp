#include "api/topology.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/communicator.hpp"
#include "api/environment.hpp"
#include "api/failure.hpp"
#include "cart/nodes.hpp"
#include "mapping/effort.hpp"
#include "mapping/mapping.hpp"
#include "mapping/random.hpp"

namespace rankwise::api {

// Cartesian communicators.

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

// The best map of a search, or of all algorithms, is found by one rank and sent to the others: it takes time and memory
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
  RANKWISE_CHECKED(MPI_Gather, &own, 1, MPI_INT64_T, places.data(), 1, MPI_INT64_T, 0, comm);
  std::array<char, 32> name{};
  std::vector<Index> cells(places.size());
  all_or_none(comm, [&] {
    if (rank != 0) return;
    const MappingOptions options =
        request.effort_s ? by_clock(*request.effort_s, steady_s) : MappingOptions{.steps = worthwhile_steps(problem)};
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
  Index cell = 0;
  RANKWISE_CHECKED(MPI_Scatter, cells.data(), 1, MPI_INT64_T, &cell, 1, MPI_INT64_T, 0, comm);
  RANKWISE_CHECKED(MPI_Bcast, name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm);
  picked = name.data();
  return cell;
}

Index cell_by_itself(MPI_Comm comm, const RankNodes& nodes, const MappingProblem& problem, const CartRequest& request) {
  Index cell = 0;
  all_or_none(comm, [&] { cell = request.algorithm->prepare(problem)->cell_of_rank(nodes.place()); });
  return cell;
}

}  // namespace

Cart make_cart(MPI_Comm oldcomm, const CartArguments& arguments) {
  require_intra(oldcomm);
  const ErrorsReturn errors(oldcomm);
  const CartRequest request = agree(oldcomm, arguments, false);
  const int rank = rank_of(oldcomm);

  OwnedComm within;  // the ranks that get a cell
  const bool has_cell = rank < request.grid->size();
  RANKWISE_CHECKED(MPI_Comm_split, oldcomm, has_cell ? 0 : MPI_UNDEFINED, rank, &within);
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
  OwnedComm ordered;
  RANKWISE_CHECKED(MPI_Comm_split, within.get(), 0, static_cast<int>(cell), &ordered);
  RANKWISE_CHECKED(MPI_Cart_create, ordered.get(), arguments.ndims, arguments.dims, arguments.periods, 0, &cart.comm);
  errors.hand_over(cart.comm);
  return cart;
}

Score score_as_it_is(MPI_Comm comm, const CartArguments& arguments) {
  require_intra(comm);
  const ErrorsReturn errors(comm);
  const CartRequest request = agree(comm, arguments, true);
  return score_of_ranks(comm, RankNodes(comm), *request.grid, *request.stencil);
}

// Communicators of any graph.

namespace {

constexpr Index usual_steps = steps_per_second / 5;
constexpr Index enough_sweeps = 10'000;
constexpr int sent_numbers = 3;  // of a Sent
static_assert(sizeof(Sent) == sent_numbers * sizeof(std::int32_t));

bool is_weighted(const int* weights) { return weights != nullptr && weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY; }
// MPI's own word for what a caller has left out.
const int* or_unweighted(const int* weights) { return weights == nullptr ? MPI_UNWEIGHTED : weights; }

void add(std::vector<Sent>& sent, int from, int to, int weight, int size) {
  for (const int rank : {from, to}) {
    if (rank < 0 || rank >= size) {
      refuse_argument("the graph names rank " + std::to_string(rank) + ": ranks count from 0 to " + std::to_string(size - 1));
    }
  }
  if (weight < 0) refuse_argument("the graph has the weight " + std::to_string(weight) + ": give 0 or more");
  sent.push_back({from, to, weight});
}

void require_list(int count, const int* list, const char* what) {
  if (count < 0 || (count > 0 && list == nullptr)) {
    refuse_argument(std::string(what) + " is NULL or its length negative: give a list, or the length 0");
  }
}

// The vertex of a rank, and the rank that has this rank's vertex.
struct Seat {
  int vertex;
  int holder;
};

// Which vertex each rank takes: those on the node of which it is; who is on the right node already stays.
std::vector<int> vertex_of_rank(const WeightedGraph& graph, std::span<const NodeId> node_of_rank, const MappingOptions& options,
                                Cut& cut) {
  const NodeId nodes = *std::ranges::max_element(node_of_rank) + 1;
  NodeTree tree{std::vector<Index>(slot(nodes), 0), {}, {1}};
  for (const NodeId node : node_of_rank) ++tree.sizes[slot(node)];
  std::vector<int> vertices(node_of_rank.size());
  std::iota(vertices.begin(), vertices.end(), 0);
  const std::int64_t kept = cost_of(graph, tree, node_of_rank);
  cut = {kept, kept};
  if (kept == 0) return vertices;
  const std::vector<NodeId> found = map_graph(graph, tree, options);
  const std::int64_t least = cost_of(graph, tree, found);
  if (least >= kept) return vertices;
  cut.after = least;
  std::vector<std::vector<int>> waiting(slot(nodes));  // vertices of each node whose own rank is elsewhere
  for (std::size_t v = found.size(); v-- > 0;) {
    if (found[v] != node_of_rank[v]) waiting[slot(found[v])].push_back(static_cast<int>(v));
  }
  for (std::size_t rank = 0; rank < vertices.size(); ++rank) {
    const NodeId node = node_of_rank[rank];
    if (found[rank] == node) continue;
    vertices[rank] = waiting[slot(node)].back();
    waiting[slot(node)].pop_back();
  }
  return vertices;
}

// Collective. What all ranks know of the graph, at rank 0.
std::vector<Sent> gathered(MPI_Comm comm, const std::vector<Sent>& sent) {
  const auto ranks = static_cast<std::size_t>(rank_of(comm) == 0 ? size_of(comm) : 0);
  const auto numbers = static_cast<std::int64_t>(sent.size()) * sent_numbers;
  std::int64_t all = 0;
  RANKWISE_CHECKED(MPI_Allreduce, &numbers, &all, 1, MPI_INT64_T, MPI_SUM, comm);
  if (all > std::numeric_limits<int>::max() / 2) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, "the graph has more than 2^30 / 3 edges: give fewer");
  }
  const auto own = static_cast<int>(numbers);
  std::vector<int> counts(ranks);
  std::vector<int> starts(ranks + 1, 0);
  RANKWISE_CHECKED(MPI_Gather, &own, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  std::vector<Sent> result;
  all_or_none(comm, [&] { result.resize(static_cast<std::size_t>(starts.back() / sent_numbers)); });
  RANKWISE_CHECKED(MPI_Gatherv, sent.data(), own, MPI_INT32_T, result.data(), counts.data(), starts.data(), MPI_INT32_T, 0,
                   comm);
  return result;
}

// Collective. graph: all of it, at rank 0.
Seat find_seat(MPI_Comm comm, const std::vector<Sent>& graph, std::optional<double> effort_s, Cut* cut) {
  Cut unused;
  const int size = size_of(comm);
  const int rank = rank_of(comm);
  const RankNodes nodes(comm);
  const auto node = static_cast<NodeId>(nodes.node());
  std::vector<NodeId> node_of_rank(rank == 0 ? slot(size) : 0);
  std::vector<Seat> seats(node_of_rank.size());
  RANKWISE_CHECKED(MPI_Gather, &node, 1, MPI_INT32_T, node_of_rank.data(), 1, MPI_INT32_T, 0, comm);
  all_or_none(comm, [&] {
    if (rank != 0) return;
    MappingOptions options = by_clock(effort_s.value_or(0.0), steady_s);
    const WeightedGraph both_ways = graph_of(size, graph);
    const Index sweep = static_cast<Index>(both_ways.edges.size()) + size;
    if (!effort_s) options.steps = std::min(usual_steps, enough_sweeps * sweep);  // the same map each time
    const std::vector<int> vertices = vertex_of_rank(both_ways, node_of_rank, options, cut != nullptr ? *cut : unused);
    for (int r = 0; r < size; ++r) {
      seats[slot(r)].vertex = vertices[slot(r)];
      seats[slot(vertices[slot(r)])].holder = r;
    }
  });
  Seat seat{};
  RANKWISE_CHECKED(MPI_Scatter, seats.data(), 2, MPI_INT, &seat, 2, MPI_INT, 0, comm);
  return seat;
}

// Both lists of one vertex, in the order in which its edges were named.
struct Lists {
  std::vector<int> sources, source_weights, destinations, destination_weights;
};

// Collective over the ranks in the order of vertices; graph: all of it, at the rank that gathers it.
Lists lists_of_own(MPI_Comm ordered, const std::vector<Sent>& graph, int teller) {
  const auto ranks = static_cast<std::size_t>(rank_of(ordered) == teller ? size_of(ordered) : 0);
  std::vector<int> counts(2 * ranks, 0);  // of each vertex: what comes in, what goes out
  for (const Sent& one : graph) {
    if (ranks == 0) break;
    ++counts[2 * slot(one.to)];
    ++counts[2 * slot(one.from) + 1];
  }
  std::vector<int> starts(ranks + 1, 0);
  std::vector<int> lengths(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    lengths[r] = 2 * (counts[2 * r] + counts[2 * r + 1]);
    starts[r + 1] = starts[r] + lengths[r];
  }
  std::vector<int> packed(slot(starts.back()));
  std::vector<int> next(2 * ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    next[2 * r] = starts[r];
    next[2 * r + 1] = starts[r] + 2 * counts[2 * r];
  }
  for (const Sent& one : graph) {
    if (ranks == 0) break;
    for (const auto& [list, other] : {std::pair(2 * slot(one.to), one.from), std::pair(2 * slot(one.from) + 1, one.to)}) {
      packed[slot(next[list]++)] = other;
      packed[slot(next[list]++)] = one.weight;
    }
  }
  std::array<int, 2> own{};
  RANKWISE_CHECKED(MPI_Scatter, counts.data(), 2, MPI_INT, own.data(), 2, MPI_INT, teller, ordered);
  std::vector<int> here(2 * slot(own[0] + own[1]));
  RANKWISE_CHECKED(MPI_Scatterv, packed.data(), lengths.data(), starts.data(), MPI_INT, here.data(),
                   static_cast<int>(here.size()), MPI_INT, teller, ordered);
  Lists lists;
  for (std::size_t i = 0; i < here.size(); i += 2) {
    const bool in = i < 2 * slot(own[0]);
    (in ? lists.sources : lists.destinations).push_back(here[i]);
    (in ? lists.source_weights : lists.destination_weights).push_back(here[i + 1]);
  }
  return lists;
}

// Collective over the ranks in the order of vertices. Whether a graph is weighted is alike on all ranks; without edges a rank
// may have said MPI_WEIGHTS_EMPTY.
MPI_Comm with_lists(MPI_Comm ordered, const Lists& lists, const int* source_weights, const int* weights, MPI_Info info) {
  const auto shown = [](const int* callers, const std::vector<int>& neighbours, const std::vector<int>& here) -> const int* {
    if (callers == nullptr || callers == MPI_UNWEIGHTED) return MPI_UNWEIGHTED;
    return neighbours.empty() ? MPI_WEIGHTS_EMPTY : here.data();
  };
  MPI_Comm made = MPI_COMM_NULL;
  RANKWISE_CHECKED(MPI_Dist_graph_create_adjacent, ordered, static_cast<int>(lists.sources.size()), lists.sources.data(),
                   shown(source_weights, lists.sources, lists.source_weights), static_cast<int>(lists.destinations.size()),
                   lists.destinations.data(), shown(weights, lists.destinations, lists.destination_weights), info, 0, &made);
  return made;
}

// What the rank of the same number as my vertex knows of it; what I know goes to who has mine.
std::vector<int> from_holder(MPI_Comm comm, const Seat& seat, const int* list, int count) {
  constexpr int tag = 1;
  int there = 0;
  RANKWISE_CHECKED(MPI_Sendrecv, &count, 1, MPI_INT, seat.holder, tag, &there, 1, MPI_INT, seat.vertex, tag, comm,
                   MPI_STATUS_IGNORE);
  std::vector<int> result(static_cast<std::size_t>(there));
  RANKWISE_CHECKED(MPI_Sendrecv, list, count, MPI_INT, seat.holder, tag, result.data(), there, MPI_INT, seat.vertex, tag, comm,
                   MPI_STATUS_IGNORE);
  return result;
}

// What all ranks have agreed on: this rank's part of the graph was read without a fault.
struct Read {
  std::vector<Sent> sent;
  std::optional<double> effort_s;
};

template <class Reader>
Read agree(MPI_Comm comm, bool reorder, MPI_Info info, std::span<const std::int64_t> also_alike, Reader&& reader) {
  Read read;
  Agreement agreement;
  agreement.attempt([&] {
    reader(read.sent, size_of(comm));
    read.effort_s = asked_effort_s(info);
  });
  agreement.alike("reorder", reorder ? 1 : 0);
  agreement.alike("the effort in ns", read.effort_s ? static_cast<Index>(*read.effort_s * 1e9) : -1);
  for (const std::int64_t value : also_alike) agreement.alike("the graph (by a digest)", value);
  agreement.reach(comm);
  return read;
}

}  // namespace

WeightedGraph graph_of(std::int32_t vertices, std::span<const Sent> sent) {
  struct Edge {
    std::int32_t from, to;
    std::int64_t weight;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * sent.size());
  std::int64_t sum = 0;
  for (const Sent& one : sent) {
    if (one.from == one.to) continue;
    edges.push_back({one.from, one.to, one.weight});
    edges.push_back({one.to, one.from, one.weight});
    sum += 2 * std::int64_t{one.weight};
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const std::int64_t scale = sum / most + 1;
  WeightedGraph graph;
  std::size_t at = 0;
  for (std::int32_t v = 0; v < vertices; ++v) {
    while (at < edges.size() && edges[at].from == v) {
      const std::int32_t to = edges[at].to;
      std::int64_t weight = 0;
      for (; at < edges.size() && edges[at].from == v && edges[at].to == to; ++at) weight += edges[at].weight;
      graph.edges.push_back({to, static_cast<std::int32_t>(weight / scale)});
    }
    graph.first.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  return graph;
}

void map_graph_alone(std::int32_t vertices, const int first[], const int targets[], const int weights[], int nodes,
                     const int node_sizes[], double effort_s, int node_of_vertex[]) {
  if (vertices < 1 || nodes < 1) refuse_argument("there are no vertices or no nodes: give at least one of both");
  if (first == nullptr || node_sizes == nullptr || node_of_vertex == nullptr) {
    refuse_argument("first, node_sizes or node_of_vertex is NULL: give all three");
  }
  if (!(effort_s >= 0.0 && effort_s <= 1e6)) refuse_argument("the effort must be 0 to 1e6 s");
  const MappingOptions options = by_clock(effort_s, steady_s);
  std::vector<Sent> sent;
  for (std::int32_t v = 0; v < vertices; ++v) {
    if (first[0] != 0 || first[v + 1] < first[v]) {
      refuse_argument("first does not rise from 0: give where each vertex's targets begin");
    }
    require_list(first[v + 1], targets, "targets");
    for (int e = first[v]; e < first[v + 1]; ++e) add(sent, v, targets[e], is_weighted(weights) ? weights[e] : 1, vertices);
  }
  const NodeTree tree{{node_sizes, node_sizes + nodes}, {}, {1}};
  std::ranges::copy(map_graph(graph_of(vertices, sent), tree, options), node_of_vertex);
}

MPI_Comm make_dist_graph_adjacent(MPI_Comm oldcomm, const Neighbours& given, MPI_Info info, bool reorder, Cut* cut) {
  require_intra(oldcomm);
  const ErrorsReturn errors(oldcomm);
  const int rank = rank_of(oldcomm);
  const Read read = agree(oldcomm, reorder, info, {}, [&](std::vector<Sent>& sent, int size) {
    require_list(given.indegree, given.sources, "sources");
    require_list(given.outdegree, given.destinations, "destinations");
    std::vector<Sent> unused;
    for (int i = 0; i < given.indegree; ++i) {
      add(unused, given.sources[i], rank, is_weighted(given.source_weights) ? given.source_weights[i] : 1, size);
    }
    for (int i = 0; i < given.outdegree; ++i) {
      const int weight = is_weighted(given.destination_weights) ? given.destination_weights[i] : 1;
      add(sent, rank, given.destinations[i], weight, size);
    }
  });
  MPI_Comm made = MPI_COMM_NULL;
  if (!reorder) {
    const int* const into = or_unweighted(given.source_weights);
    const int* const out = or_unweighted(given.destination_weights);
    RANKWISE_CHECKED(MPI_Dist_graph_create_adjacent, oldcomm, given.indegree, given.sources, into, given.outdegree,
                     given.destinations, out, info, 0, &made);
    errors.hand_over(made);
    return made;
  }
  const Seat seat = find_seat(oldcomm, gathered(oldcomm, read.sent), read.effort_s, cut);
  OwnedComm own;  // the lists must not meet messages of the caller
  RANKWISE_CHECKED(MPI_Comm_dup, oldcomm, &own);
  const auto moved = [&](const int* list, int count) { return from_holder(own.get(), seat, list, count); };
  Lists lists;
  lists.sources = moved(given.sources, given.indegree);
  lists.destinations = moved(given.destinations, given.outdegree);
  lists.source_weights = moved(given.source_weights, is_weighted(given.source_weights) ? given.indegree : 0);
  lists.destination_weights = moved(given.destination_weights, is_weighted(given.destination_weights) ? given.outdegree : 0);
  OwnedComm ordered;
  RANKWISE_CHECKED(MPI_Comm_split, oldcomm, 0, seat.vertex, &ordered);
  made = with_lists(ordered.get(), lists, given.source_weights, given.destination_weights, info);
  errors.hand_over(made);
  return made;
}

MPI_Comm make_dist_graph(MPI_Comm oldcomm, const Edges& given, MPI_Info info, bool reorder, Cut* cut) {
  require_intra(oldcomm);
  const ErrorsReturn errors(oldcomm);
  const Read read = agree(oldcomm, reorder, info, {}, [&](std::vector<Sent>& sent, int size) {
    require_list(given.count, given.sources, "sources");
    require_list(given.count, given.degrees, "degrees");
    std::size_t at = 0;
    for (int i = 0; i < given.count; ++i) {
      require_list(given.degrees[i], given.destinations, "destinations");
      for (int d = 0; d < given.degrees[i]; ++d, ++at) {
        add(sent, given.sources[i], given.destinations[at], is_weighted(given.weights) ? given.weights[at] : 1, size);
      }
    }
  });
  // MPI's own function is not asked: MPICH 5.0.2's waits for ever where ranks are on several nodes.
  const std::vector<Sent> graph = gathered(oldcomm, read.sent);
  const int rank = rank_of(oldcomm);
  const int vertex = reorder ? find_seat(oldcomm, graph, read.effort_s, cut).vertex : rank;
  int teller = vertex;
  RANKWISE_CHECKED(MPI_Bcast, &teller, 1, MPI_INT, 0, oldcomm);
  OwnedComm ordered;
  RANKWISE_CHECKED(MPI_Comm_split, oldcomm, 0, vertex, &ordered);
  const Lists lists = lists_of_own(ordered.get(), graph, teller);
  const MPI_Comm made = with_lists(ordered.get(), lists, given.weights, given.weights, info);
  errors.hand_over(made);
  return made;
}

MPI_Comm make_graph(MPI_Comm oldcomm, int vertices, const int index[], const int edges[], bool reorder, Cut* cut) {
  require_intra(oldcomm);
  const ErrorsReturn errors(oldcomm);
  const int rank = rank_of(oldcomm);
  std::array<std::int64_t, 2> digest{vertices, 0};
  const Read read = agree(oldcomm, reorder, MPI_INFO_NULL, digest, [&](std::vector<Sent>& sent, int size) {
    if (vertices < 1 || vertices > size) {
      refuse_argument("the graph has " + std::to_string(vertices) + " vertices but the communicator " + std::to_string(size) +
                      " ranks: give 1 to as many as there are ranks");
    }
    require_list(vertices, index, "index");
    for (int v = 0, e = 0; v < vertices; ++v) {
      if (index[v] < e) refuse_argument("index does not rise: give where each vertex's edges end");
      require_list(index[v], edges, "edges");
      for (; e < index[v]; ++e) {
        add(sent, v, edges[e], 1, vertices);
        digest[1] = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(digest[1])) >> 1) ^ sent.back().to ^ v;
      }
    }
    if (rank != 0) sent.clear();  // one rank tells it
  });
  OwnedComm within;
  const bool has_vertex = rank < vertices;
  RANKWISE_CHECKED(MPI_Comm_split, oldcomm, has_vertex ? 0 : MPI_UNDEFINED, rank, &within);
  if (!has_vertex) return MPI_COMM_NULL;
  OwnedComm ordered;
  const int vertex = reorder ? find_seat(within.get(), read.sent, read.effort_s, cut).vertex : rank;
  RANKWISE_CHECKED(MPI_Comm_split, within.get(), 0, vertex, &ordered);
  MPI_Comm made = MPI_COMM_NULL;
  RANKWISE_CHECKED(MPI_Graph_create, ordered.get(), vertices, index, edges, 0, &made);
  errors.hand_over(made);
  return made;
}

}  // namespace rankwise::api
