// Halos of boxes: the known answers, and random boxes followed cell by cell.
#include "halo/halo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "../rounds.hpp"
#include "check.hpp"

namespace rankwise {
namespace {

// The extents of all boxes: for each axis of the grid, of each coordinate.
using Extents = std::vector<std::vector<Index>>;

struct World {
  std::vector<Index> dims;
  std::vector<bool> periodic;
  std::vector<Index> lower;
  std::vector<Index> upper;
  bool corners = true;
  std::vector<Extents> fields;              // of each field
  std::vector<std::vector<Index>> overlap;  // of each field and axis
  Index components = 1;                     // an axis beyond the grid's
};

World cube(const std::vector<Index>& dims, Index n, Index width, std::size_t fields = 1) {
  World world{dims, std::vector<bool>(dims.size(), true), {}, {}, true, {}, {}, 1};
  world.lower.assign(dims.size(), width);
  world.upper = world.lower;
  Extents extents;
  for (const Index dim : dims) extents.emplace_back(static_cast<std::size_t>(dim), n);
  world.fields.assign(fields, extents);
  world.overlap.assign(fields, std::vector<Index>(dims.size(), 0));
  return world;
}

std::vector<HaloSpec> specs_of(const World& world) {
  const Grid grid(world.dims, world.periodic);
  std::vector<HaloSpec> specs;
  for (Index rank = 0; rank < grid.size(); ++rank) {
    HaloSpec spec{grid, rank, world.lower, world.upper, world.corners, {}, {}};
    const Coords coords = grid.coords(rank);
    for (std::size_t f = 0; f < world.fields.size(); ++f) {
      HaloField field;
      field.ndim = grid.ndim() + (world.components > 1 ? 1 : 0);
      for (int axis = 0; axis < grid.ndim(); ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const std::vector<Index>& extents = world.fields[f][a];
        HaloLine line{extents[static_cast<std::size_t>(coords[a])], {}, {}, world.overlap[f][a]};
        const auto gather = [&](std::vector<Index>& known, Index direction, Index width) {
          while (reaches_further(known, line.overlap, width)) {
            const Index c = grid.shifted(axis, coords[a], direction * static_cast<Index>(known.size() + 1));
            if (c < 0) return;
            known.push_back(extents[static_cast<std::size_t>(c)]);
          }
        };
        const Index width = std::max(world.lower[a], world.upper[a]);
        gather(line.below, -1, width);
        gather(line.above, +1, width);
        field.extent[a] = line.extent;
        field.lines.push_back(std::move(line));
      }
      field.extent[static_cast<std::size_t>(grid.ndim())] = world.components;
      field.step = dense_steps(spec, field);
      spec.fields.push_back(std::move(field));
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<Halo> halos_of(const std::vector<HaloSpec>& specs, HaloRoute route) {
  std::vector<Halo> halos;
  for (const HaloSpec& spec : specs) halos.push_back(make_halo(spec, route));
  return halos;
}

std::size_t bytes_sent(const Halo& halo) {
  std::size_t bytes = 0;
  for (const HaloStage& stage : halo.stages) {
    for (const HaloMessage& message : stage.sends) bytes += message.bytes();
  }
  return bytes;
}

TEST(Halo, TwoRanksSendEachElementOnce) {
  const Halo halo = make_halo(specs_of(cube({2, 1, 1}, 32, 1))[0], HaloRoute::direct);
  std::size_t regions = 0;
  std::size_t bytes = 0;
  for (const HaloRegion& region : halo.regions) {
    if (region.peer != 1) continue;
    ++regions;
    bytes += region.bytes;
  }
  EXPECT_EQ(regions, 18u);
  EXPECT_EQ(bytes, 18496u);
  EXPECT_EQ(halo.stages[0].local[0].size(), 8u);
  ASSERT_EQ(halo.stages[0].sends.size(), 1u);
  EXPECT_EQ(halo.stages[0].sends[0].bytes(), 16384u);
  EXPECT_EQ(halo.ghost_bytes, 8u * (34 * 34 * 34 - 32 * 32 * 32));
  EXPECT_EQ(bytes_sent(make_halo(specs_of(cube({2, 1, 1}, 32, 1))[0], HaloRoute::staged)), 16384u);
}

TEST(Halo, FourFieldsTwoWideAreTheSumOfTheirRegions) {
  const Halo halo = make_halo(specs_of(cube({2, 1, 1}, 64, 2, 4))[0], HaloRoute::direct);
  std::size_t bytes = 0;
  for (const HaloRegion& region : halo.regions) bytes += region.peer == 1 ? region.bytes : 0;
  EXPECT_EQ(bytes, 591872u);
  EXPECT_EQ(halo.stages[0].sends.size(), 1u);
}

TEST(Halo, DistinctNeighboursGetTheirFacesEdgesAndCorners) {
  World world = cube({3, 3, 3}, 5, 2);
  const Halo box = make_halo(specs_of(world)[13], HaloRoute::direct);
  EXPECT_EQ(box.stages[0].sends.size(), 26u);
  EXPECT_EQ(bytes_sent(box), 8u * (9 * 9 * 9 - 5 * 5 * 5));
  const Halo staged = make_halo(specs_of(world)[13], HaloRoute::staged);
  ASSERT_EQ(staged.stages.size(), 3u);
  for (const HaloStage& stage : staged.stages) EXPECT_EQ(stage.sends.size(), 2u);
  EXPECT_EQ(bytes_sent(staged), bytes_sent(box));
  world.corners = false;
  const Halo star = make_halo(specs_of(world)[13], HaloRoute::direct);
  EXPECT_EQ(star.stages[0].sends.size(), 6u);
  EXPECT_EQ(bytes_sent(star), 8u * 6 * 5 * 5 * 2);
  EXPECT_THROW(static_cast<void>(make_halo(specs_of(world)[13], HaloRoute::staged)), std::invalid_argument);
}

// Direct halos, of which the ranks of the same parity (or all) read each other's memory.
std::vector<Halo> read_halos(const std::vector<HaloSpec>& specs, bool all) {
  std::vector<Halo> halos = halos_of(specs, HaloRoute::direct);
  for (std::size_t r = 0; r < specs.size(); ++r) {
    const auto reads = [&](Index peer) { return all || (peer - static_cast<Index>(r)) % 2 == 0; };
    std::vector<HaloSource> sources;
    std::vector<Index> readers;
    for (const HaloMessage& message : halos[r].stages[0].receives) {
      if (!reads(message.peer)) continue;
      sources.push_back({message.peer, {}});
      const HaloSpec& theirs = specs[static_cast<std::size_t>(message.peer)];
      for (const HaloField& field : theirs.fields) sources.back().steps.push_back(field.step);
    }
    for (const HaloMessage& message : halos[r].stages[0].sends) {
      if (reads(message.peer)) readers.push_back(message.peer);
    }
    read_from(halos[r], specs[r], sources, readers);
  }
  return halos;
}

void expect_right(const World& world, const std::string& what) {
  const std::vector<HaloSpec> specs = specs_of(world);
  for (const HaloRoute route : {HaloRoute::direct, HaloRoute::staged}) {
    if (route == HaloRoute::staged && !world.corners) continue;
    for (const std::string& finding : check_halos(specs, halos_of(specs, route))) {
      ADD_FAILURE() << what << ", " << (route == HaloRoute::direct ? "direct" : "staged") << ": " << finding;
    }
  }
  for (const bool all : {false, true}) {
    for (const std::string& finding : check_halos(specs, read_halos(specs, all))) {
      ADD_FAILURE() << what << ", read from memory: " << finding;
    }
  }
}

TEST(Halo, APeriodicAxisOfTwoRanksDoesNotSwapItsFaces) { expect_right(cube({2}, 4, 1), "ring of 2"); }

World random_world(std::mt19937& random) {
  const auto draw = [&](Index least, Index most) { return std::uniform_int_distribution<Index>(least, most)(random); };
  World world;
  const auto axes = static_cast<std::size_t>(draw(1, 3));
  for (std::size_t a = 0; a < axes; ++a) {
    world.dims.push_back(draw(1, axes == 1 ? 6 : 3));
    world.periodic.push_back(draw(0, 1) == 1);
    world.lower.push_back(draw(0, axes == 3 ? 3 : 6));
    world.upper.push_back(draw(0, axes == 3 ? 3 : 6));
  }
  world.corners = draw(0, 2) > 0;
  world.components = draw(0, 3) == 0 ? 3 : 1;
  for (Index f = draw(1, 3); f > 0; --f) {
    Extents extents;
    std::vector<Index> overlap;
    for (const Index dim : world.dims) {
      overlap.push_back(draw(0, 4) == 0 ? 1 : 0);
      extents.emplace_back();
      for (Index c = 0; c < dim; ++c) extents.back().push_back(draw(1, 4) + overlap.back());
    }
    world.fields.push_back(std::move(extents));
    world.overlap.push_back(std::move(overlap));
  }
  return world;
}

TEST(Halo, RandomBoxesAreRightCellByCell) {
  const unsigned rounds = static_cast<unsigned>(rankwise_test::rounds(1500, 10));
  for (unsigned seed = 0; seed < rounds && !HasFailure(); ++seed) {
    std::mt19937 random(seed);
    expect_right(random_world(random), "seed " + std::to_string(seed));
  }
}

TEST(Halo, MessagesGoOnceToEachDistinctRankAndNeverToOneself) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::vector<HaloSpec> specs = specs_of(random_world(random));
    for (const HaloSpec& spec : specs) {
      const Halo halo = make_halo(spec, HaloRoute::direct);
      std::vector<Index> peers;
      for (const HaloMessage& message : halo.stages[0].sends) peers.push_back(message.peer);
      EXPECT_TRUE(std::ranges::is_sorted(peers));
      EXPECT_EQ(std::ranges::adjacent_find(peers), peers.end());
      EXPECT_EQ(std::ranges::find(peers, spec.rank), peers.end());
    }
  }
}

// Faults of every class, each planted in one rank's halo of a right world: all must be found.
TEST(Halo, PlantedFaultsAreFound) {
  World world = cube({3, 2}, 4, 1, 2);
  world.fields[1] = {{3, 5, 2}, {5, 3}};
  const std::vector<HaloSpec> specs = specs_of(world);
  const auto finds = [&](HaloRoute route, const char* fault, auto plant) {
    std::vector<Halo> halos = halos_of(specs, route);
    ASSERT_TRUE(check_halos(specs, halos).empty());
    plant(halos[2]);
    EXPECT_FALSE(check_halos(specs, halos).empty()) << fault;
  };
  for (const HaloRoute route : {HaloRoute::direct, HaloRoute::staged}) {
    const auto sent = [](Halo& halo) -> HaloMessage& { return halo.stages[0].sends[0]; };
    const auto got = [](Halo& halo) -> HaloMessage& { return halo.stages[0].receives[0]; };
    finds(route, "a message dropped", [&](Halo& halo) { halo.stages[0].sends.pop_back(); });
    finds(route, "a message doubled", [&](Halo& halo) { halo.stages[0].sends.push_back(sent(halo)); });
    finds(route, "a wrong peer", [&](Halo& halo) { sent(halo).peer = 4 - sent(halo).peer; });
    finds(route, "a message to oneself", [&](Halo& halo) { sent(halo).peer = 2; });
    finds(route, "a piece not sent", [&](Halo& halo) { sent(halo).sections[0].copies.pop_back(); });
    finds(route, "a piece not taken", [&](Halo& halo) { got(halo).sections[0].copies.pop_back(); });
    finds(route, "a piece taken twice",
          [&](Halo& halo) { got(halo).sections[0].copies.push_back(got(halo).sections[0].copies[0]); });
    finds(route, "a shorter message", [&](Halo& halo) { sent(halo).sections[1].bytes -= 8; });
    finds(route, "fields in another order", [&](Halo& halo) { std::swap(sent(halo).sections[0], sent(halo).sections[1]); });
    finds(route, "a place beside", [&](Halo& halo) { got(halo).sections[0].copies[0].into += 8; });
    finds(route, "a source beside", [&](Halo& halo) { sent(halo).sections[0].copies[0].from -= 8; });
    finds(route, "a source far away", [&](Halo& halo) { sent(halo).sections[0].copies[0].from += 1 << 20; });
    finds(route, "a place far away", [&](Halo& halo) { got(halo).sections[0].copies[0].into -= 1 << 20; });
    finds(route, "past the message", [&](Halo& halo) { sent(halo).sections[0].copies[0].into += 1 << 20; });
    finds(route, "the way back: far away", [&](Halo& halo) { halo.back.sends[0].sections[0].copies[0].from += 1 << 20; });
    finds(route, "the way back: a piece dropped", [&](Halo& halo) { halo.back.receives[0].sections[0].copies.pop_back(); });
    finds(route, "the way back: a piece twice",
          [&](Halo& halo) { halo.back.receives[0].sections[0].copies.push_back(halo.back.receives[0].sections[0].copies[0]); });
    finds(route, "the way back: a message dropped", [&](Halo& halo) { halo.back.sends.pop_back(); });
  }
  const auto finds_read = [&](const char* fault, auto plant) {
    std::vector<Halo> halos = read_halos(specs, true);
    ASSERT_TRUE(check_halos(specs, halos).empty());
    ASSERT_GT(halos[2].stages[0].pulls.size(), 1u);
    plant(halos[2].stages[0].pulls);
    EXPECT_FALSE(check_halos(specs, halos).empty()) << fault;
  };
  using Pulls = std::vector<HaloMessage>;
  finds_read("nothing read from a rank", [](Pulls& pulls) { pulls.pop_back(); });
  finds_read("read twice", [](Pulls& pulls) { pulls.push_back(pulls[0]); });
  finds_read("read from another rank", [](Pulls& pulls) { std::swap(pulls[0].peer, pulls[1].peer); });
  finds_read("read from beside", [](Pulls& pulls) { pulls[0].sections[0].copies[0].from += 8; });
  finds_read("read from far away", [](Pulls& pulls) { pulls[0].sections[0].copies[0].from += 1 << 20; });
  finds_read("an image left out", [](Pulls& pulls) { pulls[0].sections[1].copies.pop_back(); });
  finds(HaloRoute::staged, "forwarded a step early", [](Halo& halo) { std::swap(halo.stages[0], halo.stages[1]); });
}

TEST(Copy, BoxesBecomeTheLongestRowsThatThereAre) {
  const BoxCells extent{4, 5, 6};
  const BoxSteps dense{240, 48, 8};
  EXPECT_EQ(BoxCopy::of_box(3, extent, 8, dense, dense).row_bytes, 960u);
  const BoxCopy face = BoxCopy::of_box(3, {4, 5, 1}, 8, {1000, 48, 8}, {40, 8, 8});
  EXPECT_EQ(face.row_bytes, 8u);
  EXPECT_EQ(face.loops, 2);
  EXPECT_EQ(face.bytes(), 160u);
  // The first axis is the fastest: rows along it.
  EXPECT_EQ(BoxCopy::of_box(3, extent, 8, {8, 32, 160}, {8, 32, 160}).row_bytes, 960u);
  EXPECT_EQ(BoxCopy::of_box(3, extent, 8, {8, 80, 800}, {8, 32, 160}).row_bytes, 32u);
}

TEST(Reach, WidthsBeyondTheNeighbourReachTheNext) {
  const HaloLine line{5, {2, 4}, {1, 1, 7}, 0};
  const HaloReaches found = reaches(line, 3, 4);
  ASSERT_EQ(found.receives.size(), 6u);
  EXPECT_EQ(found.receives[0].ghost, (Interval{-3, -2}));
  EXPECT_EQ(found.receives[0].owned, (Interval{3, 4}));
  EXPECT_EQ(found.receives[5].ghost, (Interval{7, 9}));
  EXPECT_TRUE(reaches_further({2}, 0, 3));
  EXPECT_FALSE(reaches_further({2, 4}, 0, 3));
  EXPECT_THROW(static_cast<void>(reaches({1, {}, {}, 1}, 1, 1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(reaches({1, {}, {}, 0}, -1, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
