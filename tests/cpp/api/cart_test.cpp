// Mapped Cartesian communicators: always a permutation, always what the mapping of the whole grid says, on whatever nodes
// MPI tells apart. Run with MPIR_CVAR_NUM_CLIQUES, MPICH pretends that its ranks are on several nodes.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "fixture.hpp"
#include "mapping/effort.hpp"
#include "mapping/mapping.hpp"

namespace rankwise_test {
namespace {

using rankwise::Coords;
using rankwise::Grid;
using rankwise::Index;
using rankwise::Mapping;
using rankwise::MappingProblem;
using rankwise::NodeId;
using rankwise::NodeSizes;
using rankwise::Score;
using rankwise::Stencil;

class Comm {
 public:
  // The ranks with a true flag, in the order of their keys; null on the others.
  Comm(bool member, int key) { MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, key, &comm_); }
  ~Comm() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int size() const {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    return size;
  }
  [[nodiscard]] int rank() const {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Node of each rank, numbered by their lowest ranks: asked of MPI in another way than the library does.
std::vector<int> node_of_rank(MPI_Comm comm) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared);
  int lowest = rank;
  MPI_Bcast(&lowest, 1, MPI_INT, 0, shared);
  MPI_Comm_free(&shared);
  std::vector<int> lowest_of_rank(static_cast<std::size_t>(size));
  MPI_Allgather(&lowest, 1, MPI_INT, lowest_of_rank.data(), 1, MPI_INT, comm);
  std::map<int, int> number;
  std::vector<int> nodes;
  for (const int l : lowest_of_rank) {
    const int next = static_cast<int>(number.size());
    nodes.push_back(number.try_emplace(l, next).first->second);
  }
  return nodes;
}

NodeSizes sizes_of(const std::vector<int>& nodes) {
  std::vector<Index> sizes;
  for (const int node : nodes) {
    if (node >= static_cast<int>(sizes.size())) sizes.resize(static_cast<std::size_t>(node) + 1, 0);
    ++sizes[static_cast<std::size_t>(node)];
  }
  return NodeSizes(sizes);
}

struct Case {
  std::vector<int> dims;
  std::vector<int> periods;
  std::vector<int> offsets;  // flat; empty: nearest neighbours
  std::vector<int> weights;

  [[nodiscard]] int ndims() const { return static_cast<int>(dims.size()); }
  [[nodiscard]] int k() const { return static_cast<int>(weights.size()); }
  [[nodiscard]] Grid grid() const {
    return Grid({dims.begin(), dims.end()}, std::vector<bool>(periods.begin(), periods.end()));
  }
  [[nodiscard]] Stencil stencil() const {
    if (offsets.empty()) return rankwise::parse_stencil("nearest-neighbor", ndims());
    std::vector<Coords> all;
    for (std::size_t i = 0; i < offsets.size(); i += dims.size()) {
      all.emplace_back(offsets.begin() + static_cast<std::ptrdiff_t>(i),
                       offsets.begin() + static_cast<std::ptrdiff_t>(i + dims.size()));
    }
    return Stencil(ndims(), all, {weights.begin(), weights.end()});
  }
};

// The same on all ranks: the generator is.
Case random_case(std::mt19937& random, int cells) {
  Case c;
  const int ndims = 1 + static_cast<int>(random() % 3);
  int left = cells;
  for (int axis = 0; axis + 1 < ndims; ++axis) {
    std::vector<int> divisors;
    for (int d = 1; d <= left; ++d) {
      if (left % d == 0) divisors.push_back(d);
    }
    c.dims.push_back(divisors[random() % divisors.size()]);
    left /= c.dims.back();
  }
  c.dims.push_back(left);
  for (int axis = 0; axis < ndims; ++axis) c.periods.push_back(static_cast<int>(random() % 2));
  std::map<std::vector<int>, int> offsets;
  for (auto tries = random() % 6; tries > 0; --tries) {
    std::vector<int> offset;
    for (int axis = 0; axis < ndims; ++axis) offset.push_back(static_cast<int>(random() % 5) - 2);
    if (std::ranges::any_of(offset, [](int o) { return o != 0; })) offsets[offset] = 1 + static_cast<int>(random() % 9);
  }
  for (const auto& [offset, weight] : offsets) {
    c.offsets.insert(c.offsets.end(), offset.begin(), offset.end());
    c.weights.push_back(weight);
  }
  return c;
}

struct Made {
  rankwise_result result = RANKWISE_SUCCESS;
  MPI_Comm comm = MPI_COMM_NULL;
  ~Made() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
};

void create(Made& made, MPI_Comm comm, const Case& c, int reorder, const char* mapping) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  if (mapping != nullptr) MPI_Info_set(info, "rankwise_mapping", mapping);
  made.result = rankwise_cart_create(comm, c.ndims(), c.dims.data(), c.periods.data(), reorder, c.offsets.data(), c.k(),
                                     c.weights.data(), info, &made.comm);
  MPI_Info_free(&info);
}

// The cell that every rank has got: its rank in the Cartesian communicator, which must agree with its coordinates.
std::vector<int> cell_of_rank(MPI_Comm comm, MPI_Comm cart, const Case& c) {
  int cell = -1;
  MPI_Comm_rank(cart, &cell);
  std::vector<int> dims(c.dims.size()), periods(c.dims.size()), coords(c.dims.size());
  MPI_Cart_get(cart, c.ndims(), dims.data(), periods.data(), coords.data());
  EXPECT_EQ(dims, c.dims);
  EXPECT_EQ(periods, c.periods);
  EXPECT_EQ(c.grid().cell(Coords(coords.begin(), coords.end())), cell);
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> cells(static_cast<std::size_t>(size));
  MPI_Allgather(&cell, 1, MPI_INT, cells.data(), 1, MPI_INT, comm);
  return cells;
}

Score asked(MPI_Comm comm, const Case& c) {
  long long j_sum = -1;
  long long j_max = -1;
  EXPECT_EQ(rankwise_stencil_score(comm, c.ndims(), c.dims.data(), c.periods.data(), c.offsets.data(), c.k(), c.weights.data(),
                                   &j_sum, &j_max),
            RANKWISE_SUCCESS)
      << rankwise_last_error();
  return {j_sum, j_max};
}

Score scored(const Case& c, const std::vector<int>& node_of_cell) {
  return rankwise::score(c.grid(), c.stencil(), std::vector<NodeId>(node_of_cell.begin(), node_of_cell.end()));
}

void expect_equal(const Score& found, const Score& expected) {
  EXPECT_EQ(found.j_sum, expected.j_sum);
  EXPECT_EQ(found.j_max, expected.j_max);
}

// One random arrangement of ranks on nodes, one random problem, one mapping.
void check_against_the_whole_map(const Comm& comm, const Case& c, const std::string& name) {
  const std::vector<int> nodes = node_of_rank(comm.get());
  expect_equal(asked(comm.get(), c), scored(c, nodes));  // rank r has cell r
  const MappingProblem problem(c.grid(), sizes_of(nodes), c.stencil());
  rankwise::MappingOptions options;
  if (!rankwise::mapping_algorithm(name).local) options.steps = rankwise::worthwhile_steps(problem);
  std::unique_ptr<Mapping> mapping;
  try {
    mapping = rankwise::mapping_algorithm(name).prepare(problem, options);
  } catch (const std::invalid_argument&) {
  }
  Made made;
  create(made, comm.get(), c, 1, name.c_str());
  ASSERT_EQ(made.result, mapping ? RANKWISE_SUCCESS : RANKWISE_ERROR_ARGUMENT) << rankwise_last_error();
  if (!mapping) {
    EXPECT_EQ(made.comm, MPI_COMM_NULL);
    return;
  }
  const std::vector<int> cells = cell_of_rank(comm.get(), made.comm, c);
  std::vector<int> sorted = cells;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], static_cast<int>(i)) << "not a permutation";

  std::vector<int> node_of_cell(cells.size());
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    node_of_cell[static_cast<std::size_t>(cells[rank])] = nodes[rank];
  }
  const Score found = asked(made.comm, c);
  expect_equal(found, scored(c, node_of_cell));
  std::vector<NodeId> predicted(cells.size());
  fill_node_of_cell(*mapping, problem.nodes, predicted);
  const Score best = rankwise::score(c.grid(), c.stencil(), predicted);
  const Score before = scored(c, nodes);
  if (name == "auto" && std::pair(before.j_sum, before.j_max) <= std::pair(best.j_sum, best.j_max)) {
    for (std::size_t rank = 0; rank < cells.size(); ++rank) EXPECT_EQ(cells[rank], static_cast<int>(rank));
    return;
  }
  EXPECT_TRUE(std::ranges::equal(node_of_cell, predicted)) << name;
  expect_equal(found, best);
}

TEST(CartProperty, EveryMappingIsThatOfTheWholeGridOnAnyNodes) {
  const char* const names[] = {"blocked", "hyperplane", "kd-tree", "stencil-strips", "nodecart", "random", "refined", "auto"};
  std::mt19937 random(20200914);
  for (int round = 0; round < 40; ++round) {
    // Random members in a random order: nodes of unequal sizes whose ranks are no neighbours.
    std::vector<int> keys(static_cast<std::size_t>(world_size()));
    std::iota(keys.begin(), keys.end(), 0);
    std::ranges::shuffle(keys, random);
    const int members = 1 + static_cast<int>(random() % keys.size());
    const int key = keys[static_cast<std::size_t>(world_rank())];
    const Case c = random_case(random, members);
    const Comm comm(key < members, key);
    if (comm.get() != MPI_COMM_NULL) check_against_the_whole_map(comm, c, names[round % std::size(names)]);
    if (HasFatalFailure()) return;
  }
}

// Who starts these tests on several nodes says which node each rank is on, so that they cannot pass on one unnoticed.
TEST(Cart, TheNodesAreThoseThatTheLauncherMeans) {
  const char* expected = std::getenv("RANKWISE_TEST_NODES");
  if (expected == nullptr) return;
  std::string found;
  for (const int node : node_of_rank(MPI_COMM_WORLD)) found += (found.empty() ? "" : ",") + std::to_string(node);
  EXPECT_EQ(found, expected);
}

Case plane(int rows, int columns) { return {{rows, columns}, {0, 1}, {}, {}}; }

TEST(Cart, WithoutReorderTheRanksKeepTheirOrder) {
  const Case c = plane(1, world_size());
  Made made;
  create(made, MPI_COMM_WORLD, c, 0, "kd-tree");
  ASSERT_EQ(made.result, RANKWISE_SUCCESS) << rankwise_last_error();
  int result = MPI_UNEQUAL;
  MPI_Comm_compare(MPI_COMM_WORLD, made.comm, &result);
  EXPECT_EQ(result, MPI_CONGRUENT);
}

TEST(Cart, RanksBeyondASmallerGridGetNone) {
  if (world_size() < 3) return;
  const Case c = plane(1, world_size() - 1);
  Made made;
  create(made, MPI_COMM_WORLD, c, 1, nullptr);
  ASSERT_EQ(made.result, RANKWISE_SUCCESS) << rankwise_last_error();
  EXPECT_EQ(made.comm == MPI_COMM_NULL, world_rank() == world_size() - 1);
}

TEST(Cart, TheEnvironmentNamesTheMappingUnlessTheInfoDoes) {
  const Case c = plane(world_size(), 1);
  setenv("RANKWISE_MAPPING", "fastest", 1);
  Made refused;
  create(refused, MPI_COMM_WORLD, c, 1, nullptr);
  EXPECT_EQ(refused.result, RANKWISE_ERROR_ARGUMENT);
  EXPECT_NE(std::string(rankwise_last_error()).find("'fastest'"), std::string::npos);
  Made made;
  create(made, MPI_COMM_WORLD, c, 1, "blocked");
  EXPECT_EQ(made.result, RANKWISE_SUCCESS) << rankwise_last_error();
  unsetenv("RANKWISE_MAPPING");
  setenv("RANKWISE_EFFORT", "soon", 1);
  EXPECT_EQ(MPIX_Cart_stencil_comm(MPI_COMM_WORLD, 2, c.dims.data(), c.periods.data(), 1, nullptr, 0, &refused.comm),
            MPI_ERR_ARG);
  EXPECT_NE(std::string(rankwise_last_error()).find("10ms"), std::string::npos);
  setenv("RANKWISE_EFFORT", "2ms", 1);
  Made searched;
  EXPECT_EQ(MPIX_Cart_stencil_comm(MPI_COMM_WORLD, 2, c.dims.data(), c.periods.data(), 1, nullptr, 0, &searched.comm),
            MPI_SUCCESS);
  EXPECT_NE(searched.comm, MPI_COMM_NULL);
  unsetenv("RANKWISE_EFFORT");
}

TEST(Cart, WrongArgumentsAreWrongOnAllRanks) {
  const int n = world_size();
  const int odd = n > 1 && world_rank() == n - 1 ? 1 : 0;
  const auto refused = [&](const Case& c, const std::string& part) {
    Made made;
    create(made, MPI_COMM_WORLD, c, 1, "blocked");
    EXPECT_NE(made.result, RANKWISE_SUCCESS);
    EXPECT_EQ(made.comm, MPI_COMM_NULL);
    EXPECT_NE(std::string(rankwise_last_error()).find(part), std::string::npos) << rankwise_last_error();
  };
  refused(plane(2, n), "cells but the communicator");
  refused(plane(0, n), "size 0");
  refused({{n}, {0}, {0}, {1}}, "0");  // an offset to itself
  refused({{n}, {0}, {1, 1}, {1, 1}}, "twice");
  refused({{n}, {0}, {1}, {-1}}, "weight");
  refused({{1, 1, 1, 1, 1, 1, 1, 1, n}, {0, 0, 0, 0, 0, 0, 0, 0, 0}, {}, {}}, "9 axes");
  if (n > 1) {
    refused({{n}, {odd}, {}, {}}, "period of axis 0 differs between ranks");
    refused({{n - odd}, {0}, {}, {}}, "size of axis 0 differs between ranks");
    refused({{n}, {0}, {1 + odd}, {1}}, "stencil (by a digest) differs between ranks");
    refused({{n * (1 + odd)}, {0}, {}, {}}, "rank " + std::to_string(n - 1) + ": the grid has");
  }
  const Case c = plane(1, n);
  EXPECT_EQ(MPIX_Cart_stencil_comm(MPI_COMM_NULL, 2, c.dims.data(), c.periods.data(), 1, nullptr, 0, nullptr), MPI_ERR_ARG);
  MPI_Comm made = MPI_COMM_WORLD;
  EXPECT_EQ(MPIX_Cart_stencil_comm(MPI_COMM_NULL, 2, c.dims.data(), c.periods.data(), 1, nullptr, 0, &made), MPI_ERR_ARG);
  EXPECT_EQ(made, MPI_COMM_NULL);
}

// The communicator's own way with errors is kept, and goes on to the Cartesian one.
TEST(Cart, ErrorHandlersAreLeftAsTheyWere) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const MPI_Errhandler given : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN}) {
    MPI_Comm_set_errhandler(comm, given);
    Made made;
    create(made, comm, plane(1, world_size()), 1, "kd-tree");
    ASSERT_EQ(made.result, RANKWISE_SUCCESS) << rankwise_last_error();
    for (const MPI_Comm one : {comm, made.comm}) {
      MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
      MPI_Comm_get_errhandler(one, &handler);
      EXPECT_EQ(handler, given);
      MPI_Errhandler_free(&handler);
    }
  }
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace rankwise_test
