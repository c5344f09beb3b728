// What a walk says beside the time: who did what when, how far it may be off, and what it refuses.
#include "cost/walk.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../figures.hpp"
#include "../machine.hpp"
#include "../refused.hpp"
#include "schedule/collectives.hpp"
#include "schedule/programs.hpp"

namespace rankwise {
namespace {

using rankwise_test::error_of;

const LinkCost net = rankwise_test::far_link();

Op op_of(Op::Kind kind, Index peer, int tag = 0, Index blocks = 1) {
  Op op;
  op.kind = kind;
  op.peer = peer;
  op.tag = tag;
  op.slots = {{0, blocks}};
  return op;
}

RankSchedule steps_of(std::vector<Step> steps) {
  RankSchedule schedule;
  schedule.steps = std::move(steps);
  schedule.slots = 8;
  return schedule;
}

ExchangeSpec ring(const char* algorithm, SendMode mode, int k, Shell shell = Shell::full) {
  return make_spec(algorithm, mode, {16}, {true}, {k}, shell);
}

Cost apart(const ExchangeSpec& spec, Index bytes) {
  return Walk(spec).cost_by_steps(bytes, Placement::blocked(spec.ranks(), 1), rankwise_test::machine());
}

TEST(Walk, TellsHowFarSchedulesOfAKindMayBeOff) {
  struct Known {
    ExchangeSpec spec;
    const char* kind;
    double low;
    double high;
  };
  for (const Known& known : {Known{ring("direct", SendMode::isend, 2), "one step in flight", 0.98, 1.02},
                             Known{ring("shift", SendMode::isend, 2), "several steps in flight", 0.75, 1.04},
                             Known{ring("direct", SendMode::isend, 1, Shell::eighth), "parts in flight", 0.69, 1.41},
                             Known{ring("direct", SendMode::ssend, 2), "one blocking step", 0.85, 1.29},
                             Known{ring("shift", SendMode::ssend, 2), "several blocking steps", 0.69, 1.31},
                             Known{ring("direct", SendMode::ssend, 1, Shell::eighth), "blocking parts", 0.67, 1.50}}) {
    EXPECT_STREQ(Walk(known.spec).discrepancy(false).kind, known.kind);
    const Cost cost = apart(known.spec, 8);
    EXPECT_DOUBLE_EQ(cost.low_s, known.low * cost.time_s()) << known.kind;
    EXPECT_DOUBLE_EQ(cost.high_s, known.high * cost.time_s()) << known.kind;
  }
}

TEST(Walk, HandshakesOfMoreMessagesInFlightThanInARingLeaveACardLessIdle) {
  const auto cost = [](int k, std::vector<std::pair<Index, double>> shares) {
    const ExchangeSpec spec = ring("direct", SendMode::isend, k);  // of a rank 2 k messages are in flight
    Machine machine = rankwise_test::machine();
    machine.card = Resource{3e8, 0.0, false, std::move(shares)};
    return Walk(spec).cost_by_steps(100000, Placement::blocked(spec.ranks(), 2), machine);
  };
  EXPECT_DOUBLE_EQ(cost(1, {{30000, 0.9}, {100000, 0.4}}).time_s(), cost(1, {{100000, 0.4}}).time_s());
  const Cost covered = cost(2, {{30000, 0.9}, {100000, 0.4}});
  EXPECT_DOUBLE_EQ(covered.time_s(), cost(2, {{100000, std::sqrt(0.9 * 0.4)}}).time_s());
  // As far as such halos were seen to be off, but no quicker than streams.
  EXPECT_DOUBLE_EQ(covered.low_s, 0.72 * covered.time_s());
  EXPECT_DOUBLE_EQ(covered.high_s, 1.17 * covered.time_s());
  const Cost less = cost(1, {{100000, 0.9}});
  const Cost streams = cost(1, {});
  EXPECT_LT(0.72 * less.time_s(), streams.low_s);
  EXPECT_DOUBLE_EQ(less.low_s, streams.low_s);
  EXPECT_DOUBLE_EQ(less.high_s, 1.17 * less.time_s());
  EXPECT_DOUBLE_EQ(cost(1, {{100000, 0.96}}).high_s, 1.02 * cost(1, {{100000, 0.96}}).time_s());
}

TEST(Walk, NothingIsDoneBeforeTheBusiestResourceHasPassedMostOfIt) {
  const auto cost = [](double least_s, SendMode mode, const char* algorithm = "direct", int k = 1) {
    Machine machine = rankwise_test::machine();
    machine.card = Resource{1e12, least_s};
    return Walk(ring(algorithm, mode, k)).cost_by_steps(8, Placement::blocked(16, 8), machine);
  };
  const Cost waits = cost(100e-6, SendMode::ssend);
  EXPECT_DOUBLE_EQ(waits.busiest.held_s, 200e-6);
  EXPECT_DOUBLE_EQ(waits.low_s, 0.9 * 200e-6);
  EXPECT_LT(0.84 * waits.time_s(), waits.low_s);
  const Cost in_flight = cost(100e-6, SendMode::isend);
  EXPECT_DOUBLE_EQ(in_flight.low_s, 0.98 * in_flight.time_s());
  const Cost in_steps = cost(100e-6, SendMode::isend, "shift", 2);
  EXPECT_DOUBLE_EQ(in_steps.low_s, 0.9 * in_steps.busiest.held_s);
  EXPECT_LT(0.81 * in_steps.time_s(), in_steps.low_s);
  Cost of_none;
  EXPECT_EQ(of_none.time_s(), 0.0);
  of_none.busiest.held_s = 3.0;
  EXPECT_EQ(of_none.time_s(), 3.0);
  of_none.finish_s = {1.0, 4.0, 2.0};
  EXPECT_EQ(of_none.time_s(), 4.0);
}

// Nothing that bounds the time from below, and so cuts the walk short, is more than the time.
TEST(Walk, WhatIsDoneWithinATimeIsNotGivenUpBefore) {
  int found = 0;
  const auto expect_within = [&found](const std::string& name, const ExchangeSpec& spec, const Placement& placement) {
    const Machine machine = rankwise_test::shared_machine();
    const Walk walk = Walk(spec).at(placement);
    for (const Index bytes : {0, 30, 700, 50'000}) {
      const Cost cost = walk.cost(bytes, machine);
      const std::optional<Cost> within = walk.cost_within(cost.time_s() * (1 + 1e-9), bytes, machine);
      ASSERT_TRUE(within) << name << ", " << bytes << " B";
      EXPECT_EQ(within->finish_s, cost.finish_s);
      EXPECT_FALSE(walk.cost_within(cost.time_s() * (1 - 1e-6), bytes, machine)) << name << ", " << bytes << " B";
      ++found;
    }
  };
  for (const bool periodic : {true, false}) {
    for (const Index ranks_per_node : {1, 4, 24}) {
      const rankwise_test::Where where{
          {4, 6}, {periodic, !periodic}, {2, 1}, Shell::full, Placement::blocked(24, ranks_per_node), Index{1'000}};
      rankwise_test::each_exchange(
          where, [&](const std::string& name, const ExchangeSpec& spec) { expect_within(name, spec, where.placement); });
    }
  }
  EXPECT_GT(found, 400);
}

TEST(Walk, PlainSendsWaitFromTheLargestThresholdOfAllLinksOn) {
  Machine machine = rankwise_test::machine();
  const ExchangeSpec send = ring("shift", SendMode::send, 1);
  const auto waits = [&](Index bytes) {
    const Placement placement = Placement::blocked(16, 1);
    const double ssend_s = Walk(ring("shift", SendMode::ssend, 1)).cost_by_steps(bytes, placement, machine).time_s();
    return Walk(send).cost_by_steps(bytes, placement, machine).time_s() == ssend_s;
  };
  EXPECT_FALSE(waits(1 << 20));
  machine.links.back()->rendezvous_from_bytes = 1000;
  EXPECT_FALSE(waits(1 << 20));  // a link is known that never waits
  machine.links[static_cast<std::size_t>(LinkClass::same_socket)]->rendezvous_from_bytes = 2000;
  EXPECT_FALSE(waits(1999));
  EXPECT_TRUE(waits(2000));
  for (auto& link : machine.links) {
    if (link) link->rendezvous_from_bytes = 0;
  }
  EXPECT_TRUE(waits(0));
  // What could not finish if sends waited goes on without.
  const std::vector<RankSchedule> both{steps_of({{{op_of(Op::Kind::send, 1)}}, {{op_of(Op::Kind::recv, 1)}}}),
                                       steps_of({{{op_of(Op::Kind::send, 0)}}, {{op_of(Op::Kind::recv, 0)}}})};
  const Placement placement = Placement::blocked(2, 1);
  const double time_s = Walk(SendMode::send, both).cost_by_steps(4000, placement, machine).time_s();
  EXPECT_DOUBLE_EQ(time_s, 2 * net.gap(4000));
  EXPECT_DOUBLE_EQ(Walk(SendMode::send, both).at(placement).cost(4000, machine).time_s(), time_s);
  EXPECT_EQ(error_of([&] { Walk(SendMode::ssend, both); }), "the schedule cannot finish: rank 0 waits for rank 1 for ever");
}

TEST(Walk, WhatItCannotTellIsRefused) {
  const Walk walk(ring("direct", SendMode::isend, 1));
  const Machine machine = rankwise_test::machine();
  const Placement sixteen = Placement::blocked(16, 1);
  EXPECT_EQ(error_of([&] { (void)walk.cost_by_steps(-1, sixteen, machine); }), "block size -1 B is negative: give at least 0");
  EXPECT_EQ(error_of([&] { (void)walk.cost_by_steps((Index{1} << 62) + 1, sixteen, machine); }),
            "messages of 1 blocks of 4611686018427387905 B are too large: make the blocks smaller");
  EXPECT_EQ(error_of([&] { (void)walk.cost_by_steps(Index{1} << 62, sixteen, machine); }), "");
  const std::string other = "the placement has 15 ranks, the schedule 16: give one location a rank";
  EXPECT_EQ(error_of([&] { (void)walk.cost_by_steps(8, Placement::blocked(15, 1), machine); }), other);
  EXPECT_EQ(error_of([&] { (void)Walk(ring("direct", SendMode::isend, 1)).at(Placement::blocked(15, 1)); }), other);
  History history;
  EXPECT_EQ(error_of([&] { (void)walk.cost(8, machine, history); }), "few ranks stand for all: a time line is of all");
  EXPECT_EQ(error_of([&] { (void)walk.cost_by_steps(8, Placement::blocked(16, 8), Machine{}); }),
            "the profile has no link class other-node, which ranks 0 and 15 need: measure or import it");
  const std::string slots =
      "the windows of all ranks have more than 200 million slots, which are too many to walk: make the "
      "cutoff or the grid smaller";
  const auto cube = [](int k) { return make_spec("direct", SendMode::isend, {300, 300, 300}, {true, true, true}, {k, k, k}); };
  EXPECT_EQ(error_of([&] { Walk{cube(1)}; }), slots);
}

TEST(Walk, CountsStepsAndWhatTheBusiestRankSends) {
  const Walk shift(make_spec("shift", SendMode::isend, {6, 6}, {true, true}, {2, 1}, Shell::eighth));
  EXPECT_EQ(shift.steps(), 3U);
  EXPECT_EQ(shift.message_blocks(), (std::vector<Index>{1, 2}));
  const Walk copies(make_spec("shift", SendMode::isend, {2, 1}, {true, true}, {1, 1}));
  EXPECT_EQ(copies.message_blocks(), (std::vector<Index>{0, 3}));
  const Cost cost = shift.cost_by_steps(8, Placement::blocked(36, 1), rankwise_test::machine());
  EXPECT_EQ(cost.messages_per_rank, 6);
  EXPECT_EQ(cost.blocks_per_rank, 10);
}

std::string told(const History& history) {
  std::string text;
  const auto ns = [](double time_s) { return std::to_string(std::llround(1e9 * time_s)); };
  for (const History::Stretch& step : history.steps) {
    text += std::to_string(step.rank) + ": " + ns(step.begin_s) + "-" + ns(step.end_s) + " " +
            std::array{"message", "messages", "shared", "processor"}[static_cast<std::size_t>(step.term)];
    for (std::size_t i = step.first; i < step.first + step.count; ++i) {
      const History::Message& m = history.messages[i];
      text += std::string(m.sends ? " >" : " <") + (m.blocking ? "!" : "") + std::to_string(m.peer) + " tag " +
              std::to_string(m.tag) + " " + std::to_string(m.bytes) + " B " + ns(m.posted_s) + "-" + ns(m.done_s);
      EXPECT_EQ(m.rank, step.rank);
    }
    text += "\n";
  }
  return text;
}

std::string history_of(SendMode mode, std::vector<RankSchedule> schedules, Index bytes) {
  const auto ranks = static_cast<Index>(schedules.size());
  History history;
  (void)Walk(mode, std::move(schedules)).at(Placement::blocked(ranks, 1)).cost(bytes, rankwise_test::machine(), history);
  return told(history);
}

TEST(History, OfMessagesOneByOne) {
  // Rank 0 sends to 1, which is late by a message of 2, and goes on to 2. Where sends wait for nobody, 1 takes in both at once.
  const auto ranks = [] {
    return std::vector<RankSchedule>{steps_of({{{op_of(Op::Kind::send, 1, 5, 2)}}, {{op_of(Op::Kind::send, 2, 6)}}}),
                                     steps_of({{{op_of(Op::Kind::recv, 2, 7)}}, {{op_of(Op::Kind::recv, 0, 5, 2)}}}),
                                     steps_of({{{op_of(Op::Kind::send, 1, 7)}}, {{op_of(Op::Kind::recv, 0, 6)}}})};
  };
  EXPECT_EQ(history_of(SendMode::ssend, ranks(), 100),
            "2: 0-2104 message >!1 tag 7 100 B 0-2104\n"
            "1: 0-2104 message <2 tag 7 100 B 0-2104\n"
            "0: 0-4617 message >!1 tag 5 200 B 0-4617\n"
            "1: 2104-4310 message <0 tag 5 200 B 2104-4310\n"
            "0: 4617-7028 message >!2 tag 6 100 B 4617-7028\n"
            "2: 2104-6721 message <0 tag 6 100 B 2104-6721\n");
  EXPECT_EQ(history_of(SendMode::send, ranks(), 100),
            "0: 0-503 message >!1 tag 5 200 B 0-503\n"
            "2: 0-503 message >!1 tag 7 100 B 0-503\n"
            "0: 503-1006 message >!2 tag 6 100 B 503-1006\n"
            "1: 0-2003 shared <2 tag 7 100 B 0-2003\n"
            "2: 503-2506 shared <0 tag 6 100 B 503-2506\n"
            "1: 2003-2520 shared <0 tag 5 200 B 2003-2520\n");
  EXPECT_EQ(history_of(SendMode::isend, ranks(), 100),
            "2: 0-1500 message >1 tag 7 100 B 0-1500\n"
            "1: 0-1500 message <2 tag 7 100 B 0-1500\n"
            "0: 0-3091 message >1 tag 5 200 B 0-3091\n"
            "1: 1500-3091 message <0 tag 5 200 B 1500-3091\n"
            "0: 3091-4591 message >2 tag 6 100 B 3091-4591\n"
            "2: 1500-4591 message <0 tag 6 100 B 1500-4591\n");
  EXPECT_EQ(history_of(SendMode::isend_self, ranks(), 100),
            "2: 0-1696 message >1 tag 7 100 B 0-1696\n"
            "1: 0-1696 message <2 tag 7 100 B 0-1696\n"
            "0: 0-3488 message >1 tag 5 200 B 0-3488\n"
            "1: 1696-3488 message <0 tag 5 200 B 1696-3488\n"
            "0: 3488-5184 message >2 tag 6 100 B 3488-5184\n"
            "2: 1696-5184 message <0 tag 6 100 B 1696-5184\n");
}

TEST(History, TagsOfTheWayBackAreOnesOfItsOwn) {
  History history;
  (void)Walk(ring("direct", SendMode::isend, 1, Shell::eighth))
      .at(Placement::blocked(16, 1))
      .cost(8, rankwise_test::machine(), history);
  EXPECT_EQ(history.messages.size(), 64U);
  EXPECT_EQ(history.messages[31].tag >> 20, 0);
  EXPECT_EQ(history.messages[32].tag >> 20, 1);
}

TEST(History, OfStepsInFlightSaysWhatTheyTakeLongestFor) {
  const auto of = [](int k, Index bytes, const Machine& machine, Index per_node) {
    const ExchangeSpec spec = make_spec("direct", SendMode::isend, {64}, {true}, {k});
    History history;
    (void)Walk(spec).at(Placement::blocked(64, per_node)).cost(bytes, machine, history);
    return history.steps.front().term;
  };
  const Machine machine = rankwise_test::machine();
  EXPECT_EQ(of(1, 8, machine, 1), History::Term::message);
  EXPECT_EQ(of(3, 8, machine, 1), History::Term::messages);
  EXPECT_EQ(of(12, 8, machine, 1), History::Term::processor);
  Machine slow = machine;
  slow.card = Resource{1e9, 5e-6};
  EXPECT_EQ(of(1, 8, slow, 1), History::Term::shared);
  // A message on its own is that, whatever the step before took longest for.
  RankSchedule busy[2];
  for (Index rank : {0, 1}) {
    std::vector<Op> ops;
    for (const Op::Kind kind : {Op::Kind::recv, Op::Kind::send}) {
      for (int tag = 0; tag < 12; ++tag) ops.push_back(op_of(kind, 1 - rank, tag));
    }
    busy[rank] = steps_of({{ops}, {{op_of(rank == 0 ? Op::Kind::send : Op::Kind::recv, 1 - rank)}}});
  }
  History history;
  (void)Walk(SendMode::isend, {busy[0], busy[1]}).at(Placement::blocked(2, 1)).cost(8, machine, history);
  ASSERT_EQ(history.steps.size(), 4U);
  for (const History::Stretch& step : history.steps) {
    EXPECT_EQ(step.term, step.count == 1 ? History::Term::message : History::Term::messages);
  }
  // Where steps were timed: the longest is 10 us of 1, 12 of 2, 18 of 4.
  const auto flat = [](double time_us) { return TimeCurve({{0, time_us * 1e-6, 0.0}}); };
  Machine timed = machine;
  for (auto& steps : timed.links.back()->steps) steps = StepCosts{flat(10), flat(12), flat(18), flat(4), flat(5)};
  EXPECT_EQ(of(1, 8, timed, 1), History::Term::message);
  EXPECT_EQ(of(2, 8, timed, 1), History::Term::messages);
  timed.card = Resource{1e9, 20e-6};
  EXPECT_EQ(of(1, 8, timed, 1), History::Term::shared);
}

// LogGP: what a root sends to each rank in turn leaves a gap apart where no send waits for its receiver, and comes in so.
TEST(Walk, SendsOfACollectiveThatWaitForNobodyFollowEachOtherByTheGap) {
  Machine machine;
  const TimeCurve time({{0, 1e-6, 1e-9}});
  machine.links.back() = LinkCost{time, time, time, TimeCurve({{0, 3e-7, 1e-9}})};
  machine.card = Resource{2e9};
  const auto time_s = [&](const char* kind, Index bytes) {
    const CollectiveSpec spec{kind, "linear", 8, bytes};
    return Walk(SendMode::isend, collective_schedules(spec, true), Walk::Of::collective)
        .at(Placement::blocked(8, 1))
        .cost(1, machine)
        .time_s();
  };
  const double waits_s = time_s("scatter", 1000);
  EXPECT_DOUBLE_EQ(waits_s, 7 * 2e-6);
  const CollectiveSpec scatter{"scatter", "linear", 8, 1000};
  const Walk walk =
      Walk(SendMode::isend, collective_schedules(scatter, true), Walk::Of::collective).at(Placement::blocked(8, 1));
  const Cost unknown = walk.cost(1, machine);
  EXPECT_DOUBLE_EQ(unknown.high_s, 1.01 * waits_s);
  EXPECT_DOUBLE_EQ(unknown.low_s, 0.99 * waits_s);
  // Nobody said that they wait.
  const std::optional<Machine> other = machine.where_sends_may_go_on();
  ASSERT_TRUE(other);
  EXPECT_NEAR(walk.cost(1, *other).time_s(), 2e-6 + 6 * 1.3e-6, 1e-12);
  machine.links.back()->rendezvous_from_bytes = 65536;
  EXPECT_NEAR(time_s("scatter", 1000), 2e-6 + 6 * 1.3e-6, 1e-12);
  EXPECT_FALSE(machine.where_sends_may_go_on());
  const Cost known = walk.cost(1, machine);
  EXPECT_DOUBLE_EQ(known.low_s, 0.97 * known.time_s());
  EXPECT_DOUBLE_EQ(known.high_s, 1.21 * known.time_s());
  EXPECT_NEAR(time_s("gather", 1000), 2e-6 + 6 * 1.3e-6, 1e-12);
  EXPECT_NEAR(time_s("scatter", 100000), 7 * 101e-6, 1e-12);
  machine.card = Resource{5e8};  // what passes the card keeps them farther apart than the gap does
  EXPECT_NEAR(time_s("scatter", 1000), 2e-6 + 6 * 2e-6, 1e-12);
}

// What the event clock adds to a walk, on links of 1 us + 1 ns/B whose cards pass as much as one message.
class GoesOn : public testing::Test {
 protected:
  GoesOn() {
    const TimeCurve time({{0, 1e-6, 1e-9}});
    machine_.links.back() = LinkCost{time, time, time, TimeCurve({{0, 0.0, 0.0}}), 0.0};
    machine_.card = Resource{1e9};
  }
  // Messages by phase, each of a rank to another, of so many bytes, where ranks first compute.
  struct Message {
    std::int32_t phase;
    std::int32_t from;
    std::int32_t to;
    Index bytes;
  };
  [[nodiscard]] Cost cost(Index ranks, Index each, const std::vector<Message>& messages,
                          const std::vector<double>& compute_s) const {
    std::vector<std::int32_t> phase;
    std::vector<std::int32_t> from;
    std::vector<std::int32_t> to;
    std::vector<Index> bytes;
    for (const Message& one : messages) {
      phase.push_back(one.phase);
      from.push_back(one.from);
      to.push_back(one.to);
      bytes.push_back(one.bytes);
    }
    return Walk(SendMode::isend, phased_schedules(ranks, {phase, from, to, bytes}, compute_s), Walk::Of::program)
        .at(Placement::blocked(ranks, each))
        .cost(1, machine_);
  }

  Machine machine_;
};

// Ranks 0 and 1 share a card; 1 sends when the message of 0 is half through, and from then on each has half of it.
TEST_F(GoesOn, MessagesShareTheirCardWhileTheyAreInFlight) {
  const Cost apart = cost(4, 2, {{0, 0, 2, 2000}, {0, 1, 3, 2000}}, {0, 5e-6, 0, 0});
  EXPECT_NEAR(apart.finish_s[2], 3e-6, 1e-15);
  EXPECT_NEAR(apart.finish_s[3], 8e-6, 1e-15);
  const Cost half = cost(4, 2, {{0, 0, 2, 2000}, {0, 1, 3, 2000}}, {0, 1e-6, 0, 0});
  EXPECT_NEAR(half.finish_s[2], 4e-6, 1e-15);
  EXPECT_NEAR(half.finish_s[3], 5e-6, 1e-15);
}

// A message of a later phase of one rank shares it with an earlier phase of another.
TEST_F(GoesOn, PhasesOfRanksThatAreAheadShareWithThoseBehind) {
  machine_.links.back()->rendezvous_from_bytes = 65536;
  // Rank 1's second message flows from 2 us on, when its first is there; rank 0, which was late, joins it at 3 us.
  const Cost late = cost(4, 2, {{0, 0, 2, 4000}, {0, 1, 3, 1000}, {1, 1, 3, 4000}}, {2e-6, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_NEAR(late.finish_s[3], 9e-6, 1e-15);
  EXPECT_NEAR(late.finish_s[2], 10e-6, 1e-15);
}

// One behind the other they pass a way that was never free: g apart, as with two partners.
TEST_F(GoesOn, MessagesOfOneConnectionAreAGapApart) {
  machine_.links.back()->rendezvous_from_bytes = 65536;
  machine_.links.back()->exchange_gap = TimeCurve({{0, 5e-7, 1e-9}});
  const Cost one_peer = cost(2, 1, {{0, 0, 1, 1000}, {0, 0, 1, 1000}}, {0, 0});
  EXPECT_NEAR(one_peer.finish_s[1], 2e-6 + 1.5e-6, 1e-15);
  const Cost two_peers = cost(3, 1, {{0, 0, 1, 1000}, {0, 0, 2, 1000}}, {0, 0, 0});
  EXPECT_NEAR(two_peers.finish_s[1], 2e-6 + 1.5e-6, 1e-15);
}

// Likewise where one alone would hold the way for longer than the next one is apart from it.
TEST_F(GoesOn, MessagesOfOneConnectionOverlapAsThoseOfTwoDo) {
  machine_.links.back()->rendezvous_from_bytes = 65536;
  machine_.links.back()->exchange_gap = TimeCurve({{0, 0.0, 4e-10}});
  machine_.card = Resource{5e9};
  const Cost one_peer = cost(2, 1, {{0, 0, 1, 1000}, {0, 0, 1, 1000}, {0, 0, 1, 1000}}, {0, 0});
  EXPECT_NEAR(one_peer.finish_s[1], 2e-6 + 2 * 4e-7, 1e-15);
  const Cost three_peers = cost(4, 1, {{0, 0, 1, 1000}, {0, 0, 2, 1000}, {0, 0, 3, 1000}}, {0, 0, 0, 0});
  EXPECT_NEAR(three_peers.finish_s[1], 2e-6 + 2 * 4e-7, 1e-15);
}

TEST_F(GoesOn, AConnectionDeliversInOrder) {
  machine_.links.back()->rendezvous_from_bytes = 65536;
  const Cost two = cost(2, 1, {{0, 0, 1, 3000}, {1, 0, 1, 1000}}, {0, 0, 0, 0});
  EXPECT_NEAR(two.finish_s[1], 1e-6 + 4e-6, 1e-15);
  EXPECT_NEAR(two.finish_s[0], 0.0, 1e-15);  // it has sent, and goes on
}

}  // namespace
}  // namespace rankwise
