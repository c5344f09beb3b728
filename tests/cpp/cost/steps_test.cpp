// The judge where steps themselves were timed: what an exchange takes is put together of them, and of nothing else.
#include <gtest/gtest.h>

#include "../machine.hpp"
#include "cost/walk.hpp"
#include "schedule/programs.hpp"

namespace rankwise {
namespace {

using rankwise_test::near_class;

constexpr double nano = 1e-9;
const Machine with_steps = rankwise_test::timed(rankwise_test::machine());
const double copy = (*with_steps.copy)(8) / nano, add = (*with_steps.add)(8) / nano;

// What steps with messages of 8 B take within a node, in ns.
struct Times {
  explicit Times(SendMode mode) : costs(*with_steps.links[near_class]->steps[static_cast<std::size_t>(mode)]) {}
  StepCosts costs;
  double s1 = costs.start_1(8) / nano, s2 = costs.start_2(8) / nano, s4 = costs.start_4(8) / nano;
  double e1 = costs.later_1(8) / nano, e2 = costs.later_2(8) / nano;
  double chain_start = (*costs.chain_start)(8) / nano, chain = (*costs.chain)(8) / nano;
  double collective = (*costs.collective)(8) / nano;
};

double time_ns(const Walk& walk, const Machine& machine = with_steps) {
  return walk.cost_by_steps(8, Placement::blocked(2, 2), machine).time_s() / nano;
}

double time_ns(const char* algorithm, SendMode mode, int k, Index replication = 1) {
  return time_ns(Walk(make_spec(algorithm, mode, {2}, {true}, {k}, Shell::full, replication)));
}

constexpr std::array modes{SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self, SendMode::persistent};

TEST(Steps, ADirectExchangeIsOneStepAndItsCopies) {
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::persistent}) {
    const Times t(mode);
    for (const char* algorithm : {"direct", "comb"}) {
      EXPECT_NEAR(time_ns(algorithm, mode, 1), t.s2, 1e-6) << algorithm << to_string(mode);
      EXPECT_NEAR(time_ns(algorithm, mode, 2), t.s2 + 2 * copy, 1e-6) << algorithm << to_string(mode);
      EXPECT_NEAR(time_ns(algorithm, mode, 4), t.s4 + 4 * copy, 1e-6) << algorithm << to_string(mode);
    }
  }
  const Times t(SendMode::isend);
  EXPECT_NEAR(time_ns("neighbor-alltoall", SendMode::isend, 2), t.s2 + t.collective + 2 * copy, 1e-6);
}

TEST(Steps, AShiftIsAFirstStepAndLaterOnes) {
  for (const int k : {1, 2, 4}) {
    for (const SendMode mode : {SendMode::isend, SendMode::isend_self, SendMode::persistent}) {
      const Times t(mode);
      EXPECT_NEAR(time_ns("shift", mode, k), t.s2 + (k - 1) * t.e2, 1e-6) << k << to_string(mode);
    }
    // There and back from the start, then 2k - 1 round trips.
    for (const SendMode mode : {SendMode::send, SendMode::ssend}) {
      const Times t(mode);
      EXPECT_NEAR(time_ns("shift", mode, k), t.chain_start + (4 * k - 1) * t.chain, 1e-6) << k << to_string(mode);
    }
  }
}

TEST(Steps, TeamsGatherAndAddOnTheWayBack) {
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::persistent}) {
    const Times t(mode);
    EXPECT_NEAR(time_ns("team-shift", mode, 1, 2), t.s1 + t.e1 + add, 1e-6) << to_string(mode);
  }
}

TEST(Steps, AnIngredientIsPricedAsItWasTimed) {
  const auto of = [](const Ingredient& one) {
    return time_ns(Walk(one.mode, std::vector<RankSchedule>{make_ingredient(one, 0), make_ingredient(one, 1)}));
  };
  for (const SendMode mode : modes) {
    const Times t(mode);
    EXPECT_NEAR(of({Ingredient::Kind::step, mode, 1, 4}), t.s4, 1e-6) << to_string(mode);
    EXPECT_NEAR(of({Ingredient::Kind::step, mode, 3, 2}), t.s2 + 2 * t.e2, 1e-6) << to_string(mode);
    EXPECT_NEAR(of({Ingredient::Kind::copy, mode, 1, 3}), 3 * copy, 1e-6);
    EXPECT_NEAR(of({Ingredient::Kind::add, mode, 1, 3}), 3 * add, 1e-6);
  }
  for (const SendMode mode : {SendMode::send, SendMode::ssend}) {
    const Times t(mode);
    EXPECT_NEAR(of({Ingredient::Kind::chain, mode, 3, 1}), t.chain_start + 5 * t.chain, 1e-6) << to_string(mode);
  }
}

TEST(Steps, CountOnlyWhereEveryLinkInUseHasThem) {
  Machine machine = with_steps;
  machine.links[near_class]->steps[static_cast<std::size_t>(SendMode::isend)].reset();
  const LinkCost& link = *machine.links[near_class];
  EXPECT_NEAR(time_ns(Walk(make_spec("direct", SendMode::isend, {2}, {true}, {4})), machine),
              (link.exchange(8) + 3 * link.gap(8)) / nano, 1e-6);
  for (const SendMode mode : {SendMode::send, SendMode::ssend}) {
    Machine unchained = with_steps;
    unchained.links[near_class]->steps[static_cast<std::size_t>(mode)]->chain.reset();
    EXPECT_NE(time_ns("direct", mode, 1), time_ns(Walk(make_spec("direct", mode, {2}, {true}, {1})), unchained));
  }
}

TEST(Steps, MoreMessagesThanWereTimedGoOnAlongTheLine) {
  const Times t(SendMode::ssend);
  EXPECT_NEAR(t.costs.step_s(true, 3, 8) / nano, (t.s2 + t.s4) / 2, 1e-6);
  EXPECT_NEAR(t.costs.step_s(true, 8, 8) / nano, t.s4 + 2 * (t.s4 - t.s2), 1e-6);
  EXPECT_NEAR(t.costs.step_s(false, 4, 8) / nano, t.e1 + 3 * (t.e2 - t.e1), 1e-6);
  // Two never take less than one, nor four than two.
  StepCosts odd = t.costs;
  std::swap(odd.start_1, odd.start_4);
  EXPECT_NEAR(odd.step_s(true, 2, 8) / nano, t.s4, 1e-6);
  EXPECT_NEAR(odd.step_s(true, 4, 8) / nano, t.s4, 1e-6);
}

}  // namespace
}  // namespace rankwise
