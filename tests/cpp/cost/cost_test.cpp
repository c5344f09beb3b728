#include "cost/cost.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rankwise {
namespace {

constexpr double alpha_s = 2e-6;
constexpr double beta_s_per_byte = 1e-9;
constexpr double gap_s = 0.5e-6;

// Hockney with an overhead of gap_s a message: E(m) = T(m), g(m) = max(o, beta m).
Machine machine(LinkClass link = LinkClass::other_node) {
  Machine machine;
  const TimeCurve time({{0, alpha_s, beta_s_per_byte}});
  const TimeCurve gap({{0, gap_s, 0.0}, {500, 0.0, beta_s_per_byte}});
  machine.links[static_cast<std::size_t>(link)] = LinkCost{time, time, time, gap, gap_s};
  return machine;
}

Placement one_node_each(Index ranks) {
  Placement placement;
  for (Index rank = 0; rank < ranks; ++rank) placement.push_back({rank, rank, rank});
  return placement;
}

double shift_time_s(SendMode mode, std::vector<Index> dims, int cutoff, Index block_bytes) {
  const std::vector<int> layers(dims.size(), cutoff);
  const std::vector<bool> periodic(dims.size(), true);
  const ExchangeSpec spec{"shift", mode, Grid(std::move(dims), periodic), Window(layers)};
  return Walk(spec).cost(block_bytes, one_node_each(spec.ranks()), machine()).time_s();
}

double message_s(Index bytes) { return alpha_s + beta_s_per_byte * static_cast<double>(bytes); }

TEST(Cost, BlockingShiftOnAnEvenRingIsTheHalfDuplexFormula) {
  // werner2023 Eq. 1 doubled: 4k (alpha + beta m).
  for (const int k : {1, 2, 5, 10}) {
    EXPECT_NEAR(shift_time_s(SendMode::ssend, {64}, k, 1000), 4 * k * message_s(1000), 1e-12) << k;
  }
}

TEST(Cost, BlockingShiftInThreeDimensionsIsEquationThree) {
  // werner2023 Eq. 3: 12k alpha + 2 beta m (8k^3 + 12k^2 + 6k).
  for (const int k : {1, 2}) {
    const double expected_s = 12 * k * alpha_s + 2 * beta_s_per_byte * 100 * (8 * k * k * k + 12 * k * k + 6 * k);
    EXPECT_NEAR(shift_time_s(SendMode::ssend, {6, 6, 6}, k, 100), expected_s, 1e-12) << k;
  }
}

TEST(Cost, NonBlockingShiftTakesOneOverlappingHopAfterTheOther) {
  // k (alpha + beta m + max(o, beta m)): both directions of a hop in flight, the second a gap later.
  for (const int k : {1, 3}) {
    EXPECT_NEAR(shift_time_s(SendMode::isend, {16}, k, 100), k * (message_s(100) + gap_s), 1e-12);
    EXPECT_NEAR(shift_time_s(SendMode::isend, {16}, k, 2000), k * (message_s(2000) + 2000 * beta_s_per_byte), 1e-12);
  }
}

TEST(Cost, AnOddRingPaysForItsSeam) {
  EXPECT_GT(shift_time_s(SendMode::ssend, {5}, 1, 1000), shift_time_s(SendMode::ssend, {6}, 1, 1000));
}

TEST(Cost, CountsTheBusiestRank) {
  const ExchangeSpec spec{"shift", SendMode::ssend, Grid({3}, {false}), Window({1})};
  const Cost cost = Walk(spec).cost(8, one_node_each(3), machine());
  EXPECT_EQ(cost.messages_per_rank, 2);
  EXPECT_EQ(cost.blocks_per_rank, 2);
}

TEST(Cost, NamesALinkClassThatTheMachineLacks) {
  const ExchangeSpec spec{"shift", SendMode::ssend, Grid({2}, {true}), Window({1})};
  try {
    (void)Walk(spec).cost(8, one_node_each(2), machine(LinkClass::same_socket));
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("other-node"), std::string::npos) << error.what();
  }
}

TEST(Cost, ClassesLinksByTheNarrowestThatHoldsBoth) {
  EXPECT_EQ(link_between({0, 0, 0}, {1, 2, 3}), LinkClass::other_node);
  EXPECT_EQ(link_between({0, 0, 0}, {0, 1, 3}), LinkClass::other_socket);
  EXPECT_EQ(link_between({0, 0, 0}, {0, 0, 1}), LinkClass::same_socket);
  EXPECT_EQ(link_between({0, 0, 0}, {0, 0, 0}), LinkClass::same_core);
}

TEST(TimeCurve, UsesTheLineOfItsSize) {
  const TimeCurve curve({{0, 1.0, 0.0}, {100, 0.0, 0.1}});
  EXPECT_DOUBLE_EQ(curve(99), 1.0);
  EXPECT_DOUBLE_EQ(curve(100), 10.0);
  EXPECT_THROW(TimeCurve({}), std::invalid_argument);
  EXPECT_THROW(TimeCurve({{5, 1, 1}, {5, 1, 1}}), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
