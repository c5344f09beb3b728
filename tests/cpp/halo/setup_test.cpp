// What a rank takes to set up its halo does not grow with the ranks: memory counted in all, results and what is thrown away.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "halo/halo.hpp"
#include "halo/node_aware.hpp"

namespace {

thread_local std::size_t taken_bytes = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  taken_bytes += size;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rankwise {
namespace {

// A box of 8^3 doubles, two layers, in the middle of a periodic grid of dim^3 ranks.
HaloSpec box_of(Index dim) {
  const Grid grid({dim, dim, dim}, {true, true, true});
  HaloField field;
  field.ndim = 3;
  field.step = {12 * 12 * 8, 12 * 8, 8};
  for (std::size_t a = 0; a < 3; ++a) {
    field.extent[a] = 8;
    field.lines.push_back({8, {8}, {8}, 0});
  }
  return {grid, grid.cell({dim / 2, dim / 2, dim / 2}), {2, 2, 2}, {2, 2, 2}, true, {field}, {}};
}

std::size_t halo_bytes(Index dim, HaloRoute route) {
  const HaloSpec spec = box_of(dim);
  const std::size_t before = taken_bytes;
  const Halo halo = make_halo(spec, route);
  EXPECT_EQ(halo.stages.front().sends.size(), route == HaloRoute::direct ? 26u : 2u);
  return taken_bytes - before;
}

// The traffic of the node of a rank, nodes being bricks of 2^3; what its own ranks would tell each other.
NodeTraffic traffic_of(const Grid& grid, Index of) {
  const auto node_of = [&](Index rank) {
    Coords at = grid.coords(rank);
    for (Index& each : at) each -= each % 2;
    return grid.cell(at);
  };
  NodeTraffic traffic;
  const Index own = node_of(of);
  for (Index o = 0; o < 8; ++o) traffic.members.push_back(grid.cell_at_offset(grid.coords(own), {o / 4, o / 2 % 2, o % 2}, +1));
  for (const Index member : traffic.members) {
    for (Index o = 0; o < 27; ++o) {
      const Index other = grid.cell_at_offset(grid.coords(member), {o / 9 - 1, o / 3 % 3 - 1, o % 3 - 1}, +1);
      if (other == member) continue;
      const Index node = node_of(other);
      if (node == own) {
        traffic.inside.push_back({{member, other}, own, 64});
        continue;
      }
      traffic.out.push_back({{member, other}, node, 64});
      traffic.in.push_back({{other, member}, node, 64});
    }
  }
  return traffic;
}

std::size_t node_aware_bytes(Index dim, NodeAwareKind kind) {
  const Grid grid({dim, dim, dim}, {true, true, true});
  const Index rank = grid.cell({dim / 2, dim / 2, dim / 2});
  const NodeTraffic own = traffic_of(grid, rank);
  std::vector<NodeLeaders> there;
  for (const NodeLeaders& leaders : node_leaders(kind, own)) {
    const NodeTraffic theirs = traffic_of(grid, leaders.node);
    for (const NodeLeaders& back : node_leaders(kind, theirs)) {
      if (back.node == own.members.front()) there.push_back({leaders.node, back.sender, back.receiver, theirs.members});
    }
  }
  EXPECT_EQ(there.size(), 26u);
  const std::size_t before = taken_bytes;
  EXPECT_FALSE(node_leaders(kind, own).empty());
  const NodeAwareSchedule part = node_aware_schedule(kind, rank, own, there);
  EXPECT_FALSE(part.slots.empty());
  return taken_bytes - before;
}

TEST(HaloSetup, NothingGrowsWithTheRanks) {
  for (const HaloRoute route : {HaloRoute::direct, HaloRoute::staged}) {
    const std::size_t of_64 = halo_bytes(4, route);
    EXPECT_EQ(halo_bytes(16, route), of_64);
    EXPECT_EQ(halo_bytes(64, route), of_64);
  }
  for (const NodeAwareKind kind : {NodeAwareKind::two_step, NodeAwareKind::three_step, NodeAwareKind::leader}) {
    const std::size_t of_512 = node_aware_bytes(8, kind);
    EXPECT_EQ(node_aware_bytes(16, kind), of_512);
    EXPECT_EQ(node_aware_bytes(64, kind), of_512);
  }
}

}  // namespace
}  // namespace rankwise
