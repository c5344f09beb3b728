// The judge where steps themselves were timed: what an exchange takes is put together of them, and of nothing else.
#include <gtest/gtest.h>

#include <algorithm>

#include "cost/walk.hpp"
#include "schedule/ingredient.hpp"

namespace rankwise {
namespace {

// In us.
constexpr double s1 = 1.0, s2 = 1.5, s4 = 3.5, e1 = 0.5, e2 = 0.75, chain_start = 2.0, chain = 1.25, collective = 0.25;
constexpr double copy = 0.125, add = 0.375, us = 1e-6;

TimeCurve flat(double time_us) { return TimeCurve({{0, time_us * us, 0.0}}); }

Machine timed() {
  Machine machine;
  LinkCost link{flat(7), flat(7), flat(7), flat(5)};
  link.acknowledgement_s = 1.0;
  for (auto& steps : link.steps) {
    steps = StepCosts{flat(s1), flat(s2), flat(s4), flat(e1), flat(e2), flat(chain_start), flat(chain), flat(collective)};
  }
  machine.links[static_cast<std::size_t>(LinkClass::same_socket)] = link;
  machine.copy = flat(copy);
  machine.add = flat(add);
  return machine;
}

double time_us(const Walk& walk, const Machine& machine = timed()) {
  return walk.cost(8, Placement::blocked(2, 2), machine).time_s() / us;
}

double time_us(const char* algorithm, SendMode mode, int k, Index replication = 1) {
  return time_us(Walk(make_spec(algorithm, mode, {2}, {true}, {k}, Shell::full, replication)));
}

constexpr std::array modes{SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self, SendMode::persistent};

TEST(Steps, ADirectExchangeIsOneStepAndItsCopies) {
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::persistent}) {
    for (const char* algorithm : {"direct", "comb"}) {
      EXPECT_NEAR(time_us(algorithm, mode, 1), s2, 1e-9) << algorithm << to_string(mode);
      EXPECT_NEAR(time_us(algorithm, mode, 2), s2 + 2 * copy, 1e-9) << algorithm << to_string(mode);
      EXPECT_NEAR(time_us(algorithm, mode, 4), s4 + 4 * copy, 1e-9) << algorithm << to_string(mode);
    }
  }
  EXPECT_NEAR(time_us("neighbor-alltoall", SendMode::isend, 2), s2 + collective + 2 * copy, 1e-9);
}

TEST(Steps, AShiftIsAFirstStepAndLaterOnes) {
  for (const int k : {1, 2, 4}) {
    for (const SendMode mode : {SendMode::isend, SendMode::isend_self, SendMode::persistent}) {
      EXPECT_NEAR(time_us("shift", mode, k), s2 + (k - 1) * e2, 1e-9) << k << to_string(mode);
    }
    // There and back from the start, then 2k - 1 round trips.
    for (const SendMode mode : {SendMode::send, SendMode::ssend}) {
      EXPECT_NEAR(time_us("shift", mode, k), chain_start + chain + (2 * k - 1) * 2 * chain, 1e-9) << k << to_string(mode);
    }
  }
}

TEST(Steps, TeamsGatherAndAddOnTheWayBack) {
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::persistent}) {
    EXPECT_NEAR(time_us("team-shift", mode, 1, 2), s1 + e1 + add, 1e-9) << to_string(mode);
  }
}

TEST(Steps, AnIngredientIsPricedAsItWasTimed) {
  const auto of = [](const Ingredient& one) {
    return time_us(Walk(one.mode, std::vector<RankSchedule>{make_ingredient(one, 0), make_ingredient(one, 1)}));
  };
  for (const SendMode mode : modes) {
    EXPECT_NEAR(of({Ingredient::Kind::step, mode, 1, 4}), s4, 1e-9) << to_string(mode);
    EXPECT_NEAR(of({Ingredient::Kind::step, mode, 3, 2}), s2 + 2 * e2, 1e-9) << to_string(mode);
    EXPECT_NEAR(of({Ingredient::Kind::copy, mode, 1, 3}), 3 * copy, 1e-9);
    EXPECT_NEAR(of({Ingredient::Kind::add, mode, 1, 3}), 3 * add, 1e-9);
  }
  for (const SendMode mode : {SendMode::send, SendMode::ssend}) {
    EXPECT_NEAR(of({Ingredient::Kind::chain, mode, 3, 1}), chain_start + 5 * chain, 1e-9) << to_string(mode);
  }
}

TEST(Steps, CountOnlyWhereEveryLinkInUseHasThem) {
  Machine machine = timed();
  machine.links[static_cast<std::size_t>(LinkClass::same_socket)]->steps[static_cast<std::size_t>(SendMode::isend)].reset();
  const Walk walk(make_spec("direct", SendMode::isend, {2}, {true}, {4}));
  Machine warm = machine;
  for (auto& steps : warm.links[static_cast<std::size_t>(LinkClass::same_socket)]->steps) steps.reset();
  warm.copy.reset();
  EXPECT_DOUBLE_EQ(time_us(walk, machine), time_us(walk, warm));
  EXPECT_DOUBLE_EQ(time_us(walk, warm), 7 + 3 * 5);
}

TEST(Steps, MoreMessagesThanWereTimedGoOnAlongTheLine) {
  const StepCosts steps = *timed().links[static_cast<std::size_t>(LinkClass::same_socket)]->steps[0];
  EXPECT_NEAR(steps.step_s(true, 3, 8) / us, (s2 + s4) / 2, 1e-9);
  EXPECT_NEAR(steps.step_s(true, 8, 8) / us, s4 + 2 * (s4 - s2), 1e-9);
  EXPECT_NEAR(steps.step_s(false, 4, 8) / us, e1 + 3 * (e2 - e1), 1e-9);
}

}  // namespace
}  // namespace rankwise
