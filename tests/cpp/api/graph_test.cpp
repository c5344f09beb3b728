// Communicators with the topology of a graph: each rank has the neighbours that were given for its number, whoever gave them,
// and no more weight lies between nodes than before.
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "fixture.hpp"

namespace rankwise_test {
namespace {

// The lists of one vertex: a ring of stride 3 where that reaches all, with a heavy edge to the next but one.
struct Lists {
  std::vector<int> sources, source_weights, destinations, destination_weights;
};
Lists lists_of(int vertex, int size) {
  Lists lists;
  for (const int step : {3, -3, 2, -2}) {
    const int heavy = step % 2 == 0 ? 14 : 5;
    lists.destinations.push_back(((vertex + step) % size + size) % size);
    lists.destination_weights.push_back(heavy + step);
    lists.sources.push_back(((vertex - step) % size + size) % size);
    lists.source_weights.push_back(heavy + step);
  }
  return lists;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

// Weight of all edges between nodes, where rank r of comm is vertex r.
long long between_nodes(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  int node = rank_in(comm);
  MPI_Bcast(&node, 1, MPI_INT, 0, shared);
  MPI_Comm_free(&shared);
  std::vector<int> nodes(static_cast<std::size_t>(size));
  MPI_Allgather(&node, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm);
  long long sum = 0;
  for (int v = 0; v < size; ++v) {
    const Lists lists = lists_of(v, size);
    for (std::size_t i = 0; i < lists.destinations.size(); ++i) {
      const auto other = static_cast<std::size_t>(lists.destinations[i]);
      sum += nodes[static_cast<std::size_t>(v)] == nodes[other] ? 0 : lists.destination_weights[i];
    }
  }
  return sum;
}

void require_all_ranks_once(MPI_Comm comm) {
  int world = rank_in(MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  MPI_Allgather(&world, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm);
  EXPECT_EQ(std::set<int>(ranks.begin(), ranks.end()).size(), ranks.size());
}

TEST(CartOfGraphs, AdjacentListsFollowTheNumbersOfRanks) {
  const Lists own = lists_of(world_rank(), world_size());
  for (const int reorder : {0, 1}) {
    for (const bool weighted : {true, false}) {
      MPI_Comm made = MPI_COMM_NULL;
      const int* in_weights = weighted ? own.source_weights.data() : nullptr;
      const int* out_weights = weighted ? own.destination_weights.data() : MPI_UNWEIGHTED;
      ok(rankwise_dist_graph_create_adjacent(MPI_COMM_WORLD, 4, own.sources.data(), in_weights, 4, own.destinations.data(),
                                             out_weights, MPI_INFO_NULL, reorder, &made));
      require_all_ranks_once(made);
      int in = 0, out = 0, has_weights = 0;
      MPI_Dist_graph_neighbors_count(made, &in, &out, &has_weights);
      ASSERT_EQ(in, 4);
      ASSERT_EQ(out, 4);
      EXPECT_EQ(has_weights != 0, weighted);
      std::vector<int> sources(4), source_weights(4, 1), destinations(4), destination_weights(4, 1);
      MPI_Dist_graph_neighbors(made, in, sources.data(), weighted ? source_weights.data() : MPI_UNWEIGHTED, out,
                               destinations.data(), weighted ? destination_weights.data() : MPI_UNWEIGHTED);
      const Lists expected = lists_of(rank_in(made), world_size());
      EXPECT_EQ(sources, expected.sources);
      EXPECT_EQ(destinations, expected.destinations);
      if (weighted) {
        EXPECT_EQ(source_weights, expected.source_weights);
        EXPECT_EQ(destination_weights, expected.destination_weights);
        EXPECT_LE(between_nodes(made), between_nodes(MPI_COMM_WORLD));
      }
      EXPECT_TRUE(reorder == 1 || rank_in(made) == world_rank());
      MPI_Comm_free(&made);
    }
  }
}

TEST(CartOfGraphs, AnyRankMayNameAnyEdge) {
  // Rank 0 names all edges.
  std::vector<int> sources, degrees, destinations, weights;
  for (int v = 0; v < world_size() && world_rank() == 0; ++v) {
    const Lists lists = lists_of(v, world_size());
    sources.push_back(v);
    degrees.push_back(4);
    destinations.insert(destinations.end(), lists.destinations.begin(), lists.destinations.end());
    weights.insert(weights.end(), lists.destination_weights.begin(), lists.destination_weights.end());
  }
  MPI_Comm made = MPI_COMM_NULL;
  ok(rankwise_dist_graph_create(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), degrees.data(),
                                destinations.data(), weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data(), MPI_INFO_NULL, 1,
                                &made));
  require_all_ranks_once(made);
  EXPECT_LE(between_nodes(made), between_nodes(MPI_COMM_WORLD));
  int in = 0, out = 0, has_weights = 0;
  MPI_Dist_graph_neighbors_count(made, &in, &out, &has_weights);
  ASSERT_EQ(out, 4);
  std::vector<int> from(static_cast<std::size_t>(in)), to(4), unused(static_cast<std::size_t>(std::max(in, 4)));
  MPI_Dist_graph_neighbors(made, in, from.data(), unused.data(), out, to.data(), unused.data());
  std::vector<int> expected = lists_of(rank_in(made), world_size()).destinations;
  std::ranges::sort(expected);
  std::ranges::sort(to);
  EXPECT_EQ(to, expected);
  MPI_Comm_free(&made);
}

TEST(CartOfGraphs, AGraphMayBeSmallerThanTheCommunicator) {
  const int vertices = std::max(1, world_size() - 1);
  std::vector<int> index, edges;
  for (int v = 0; v < vertices; ++v) {
    edges.push_back((v + 1) % vertices);
    edges.push_back((v + vertices - 1) % vertices);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm made = MPI_COMM_NULL;
  ok(rankwise_graph_create(MPI_COMM_WORLD, vertices, index.data(), edges.data(), 1, &made));
  EXPECT_EQ(made == MPI_COMM_NULL, world_rank() >= vertices);
  if (made == MPI_COMM_NULL) return;
  std::vector<int> neighbours(2);
  const int rank = rank_in(made);
  MPI_Graph_neighbors(made, rank, 2, neighbours.data());
  EXPECT_EQ(neighbours, (std::vector<int>{(rank + 1) % vertices, (rank + vertices - 1) % vertices}));
  MPI_Comm_free(&made);
}

TEST(CartOfGraphs, AnErrorOfOneRankIsOneOfAll) {
  MPI_Comm made = MPI_COMM_WORLD;
  const int nobody = world_rank() == world_size() - 1 ? world_size() : 0;
  EXPECT_EQ(
      rankwise_dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, nullptr, 1, &nobody, nullptr, MPI_INFO_NULL, 1, &made),
      RANKWISE_ERROR_ARGUMENT);
  EXPECT_EQ(made, MPI_COMM_NULL);
  EXPECT_NE(std::string(rankwise_last_error()).find("the graph names rank " + std::to_string(world_size())), std::string::npos);
  const int negative = world_rank() == 0 ? -1 : 1;
  const int zero = 0;
  EXPECT_EQ(rankwise_dist_graph_create(MPI_COMM_WORLD, 1, &zero, &negative, &zero, nullptr, MPI_INFO_NULL, 1, &made),
            RANKWISE_ERROR_ARGUMENT);
  const int too_many = world_size() + 1;
  EXPECT_EQ(rankwise_graph_create(MPI_COMM_WORLD, too_many, &zero, &zero, 1, &made), RANKWISE_ERROR_ARGUMENT);
}

TEST(CartOfGraphs, AMapWithoutMpiFillsNodesExactly) {
  // A path of six: 0-1 2-3 4-5 heavy, light between; nodes of 4 and 2.
  const std::vector<int> first{0, 1, 2, 3, 4, 5, 5}, targets{1, 2, 3, 4, 5}, weights{9, 1, 9, 1, 9}, sizes{4, 2};
  std::vector<int> nodes(6, -1);
  ok(rankwise_graph_map(6, first.data(), targets.data(), weights.data(), 2, sizes.data(), 0.01, nodes.data()));
  EXPECT_EQ(std::ranges::count(nodes, 1), 2);
  EXPECT_EQ(nodes[0], nodes[1]);
  EXPECT_EQ(nodes[2], nodes[3]);
  EXPECT_EQ(nodes[4], nodes[5]);
  EXPECT_EQ(nodes[2], 0);
  std::vector<int> others(6, -1);  // without an effort the same each time
  for (std::vector<int>* map : {&nodes, &others}) {
    ok(rankwise_graph_map(6, first.data(), targets.data(), weights.data(), 2, sizes.data(), 0.0, map->data()));
  }
  EXPECT_EQ(nodes, others);
  const std::vector<int> wrong{4, 3};
  EXPECT_EQ(rankwise_graph_map(6, first.data(), targets.data(), nullptr, 2, wrong.data(), 0.0, nodes.data()),
            RANKWISE_ERROR_ARGUMENT);
}

TEST(CartOfGraphs, AClockThatHasRunOutBeforeTheSearchLeavesTheDivision) {
  if (world_rank() != 0) return;  // no MPI in it, and much work
  constexpr int count = 12'000;  // divided in far more than a millisecond, in which a search would have made many steps
  std::vector<int> first(count + 1), targets(2 * count), sizes(count / 40, 40), divided(count), timed(count);
  for (int v = 0; v < count; ++v) {
    first[static_cast<std::size_t>(v) + 1] = 2 * (v + 1);
    targets[2 * static_cast<std::size_t>(v)] = (v + 1) % count;
    targets[2 * static_cast<std::size_t>(v) + 1] = (v + 200) % count;
  }
  const auto map = [&](double effort_s, std::vector<int>& found) {
    ok(rankwise_graph_map(count, first.data(), targets.data(), nullptr, count / 40, sizes.data(), effort_s, found.data()));
  };
  map(0.0, divided);
  map(0.001, timed);
  EXPECT_EQ(divided, timed);
}

}  // namespace
}  // namespace rankwise_test
