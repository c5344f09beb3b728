#include "exchange/neighborhood.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "../world.hpp"
#include "measure/together.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

TEST(Neighbors, OfTheCornerOfAnOpenGridAreThoseInside) {
  const Neighbors neighbors = neighbors_of(Grid({3, 4}), parse_stencil("nearest-neighbor", 2), 0);
  EXPECT_EQ(neighbors.sources.size(), 2U);
  EXPECT_EQ(neighbors.destinations.size(), 2U);
}

TEST(Neighbors, EverySendHasItsReceive) {
  const std::vector<std::pair<Grid, const char*>> cases{
      {Grid({3, 4}), "nearest-neighbor-with-hops"}, {Grid({5, 2}, {true, true}), "moore:2"}, {Grid({2, 3, 2}), "1,0,0;0,-2,1"}};
  for (const auto& [grid, name] : cases) {
    std::map<std::pair<int, int>, int> edges;
    for (int cell = 0; cell < grid.size(); ++cell) {
      const Neighbors neighbors = neighbors_of(grid, parse_stencil(name, grid.ndim()), cell);
      for (const int to : neighbors.destinations) ++edges[{cell, to}];
      for (const int from : neighbors.sources) --edges[{from, cell}];
    }
    EXPECT_TRUE(std::all_of(edges.begin(), edges.end(), [](const auto& edge) { return edge.second == 0; })) << name;
  }
}

TEST(StencilExchange, DeliversEveryByteOfEverySize) {
  // A ring of one, two or more: ranks are their own neighbours, or each other's on both sides.
  for (const bool periodic : {false, true}) {
    StencilExchange exchange(MPI_COMM_WORLD, Grid({world_size(), 1}, {periodic, periodic}), parse_stencil("moore:1", 2));
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{100'000}}) {
      exchange.resize(bytes);
      for (std::uint64_t number = 0; number < 3; ++number) {
        exchange.fill(number);
        exchange.run();
        EXPECT_EQ(exchange.mismatch(number), "") << bytes;
      }
      if (bytes > 0 && exchange.messages() > 0) {
        EXPECT_NE(exchange.mismatch(3), "") << "a check that sees nothing";
      }
    }
  }
}

TEST(StencilExchange, RefusesAGridOfAnotherSize) {
  EXPECT_THROW(StencilExchange(MPI_COMM_WORLD, Grid({world_size() + 1}), parse_stencil("nearest-neighbor", 1)),
               std::invalid_argument);
}

TEST(Repetitions, BothStartsTimeEveryRepetition) {
  for (const Start start : {Start::clock, Start::barrier}) {
    Repetitions repetitions{0.001, 4, 4, 1};
    repetitions.start = start;
    std::vector<std::uint64_t> prepared;
    int run = 0;
    std::vector<std::uint64_t> checked;
    const Timed timed = time_repetitions(MPI_COMM_WORLD, ClockOffset{}, repetitions,
                                         {[&](std::uint64_t number) { prepared.push_back(number); }, [&] { ++run; },
                                          [&](std::uint64_t number) { checked.push_back(number); }});
    EXPECT_EQ(run, 5);
    EXPECT_EQ(prepared, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(checked, prepared);
    EXPECT_EQ(timed.time_s.size(), world_rank() == 0 ? 4U : 0U);
    EXPECT_TRUE(std::all_of(timed.time_s.begin(), timed.time_s.end(), [](double t) { return t >= 0.0; }));
  }
}

TEST(Repetitions, WarmUpIsOnlyDoneWithoutBeingAskedWhereTheCountIsEstimated) {
  const auto run_with = [](const Repetitions& repetitions) {
    int run = 0;
    const auto nothing = [](std::uint64_t) {};
    static_cast<void>(time_repetitions(MPI_COMM_WORLD, ClockOffset{}, repetitions, {nothing, [&] { ++run; }, nothing}));
    return run;
  };
  EXPECT_EQ(run_with({0.001, 3, 3, 0}), 3);
  EXPECT_GE(run_with({1e-9, 3, 4, 0}), 4);
}

TEST(Repetitions, AsManyAsTheTimeAllowsWithinTheirBounds) {
  Repetitions repetitions{0.1, 5, 50, 0};
  EXPECT_EQ(repetitions_within(repetitions, 1.0), 5);
  EXPECT_EQ(repetitions_within(repetitions, 0.01), 10);
  EXPECT_EQ(repetitions_within(repetitions, 0.0), 50);
  repetitions.least = 30;
  EXPECT_EQ(repetitions_within(repetitions, 0.03), 30);
  EXPECT_EQ(repetitions_within(repetitions, 0.05), 20);
  EXPECT_EQ(repetitions_within(repetitions, 1.0), 5);
  EXPECT_THROW(require_sensible({0.1, 5, 50, -1}), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
