#include "cost/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../machine.hpp"

namespace rankwise {
namespace {

using rankwise_test::machine;

const LinkCost far = rankwise_test::far_link();

Placement one_node_each(Index ranks) { return Placement::blocked(ranks, 1); }

double time_s(const ExchangeSpec& spec, Index block_bytes, const Machine& on) {
  return Walk(spec).cost_by_steps(block_bytes, one_node_each(spec.ranks()), on).time_s();
}

double shift_time_s(SendMode mode, std::vector<Index> dims, int cutoff, Index block_bytes) {
  const std::vector<int> layers(dims.size(), cutoff);
  const std::vector<bool> periodic(dims.size(), true);
  const ExchangeSpec spec{"shift", mode, Grid(std::move(dims), periodic), Window(layers)};
  return time_s(spec, block_bytes, machine());
}

TEST(Cost, BlockingShiftOnAnEvenRingIsTheHalfDuplexFormula) {
  // werner2023 Eq. 1 doubled: 4k (alpha + beta m). Sending and receiving in turn, only the last message of those that receive
  // first is not answered.
  for (const int k : {1, 2, 5, 10}) {
    EXPECT_NEAR(shift_time_s(SendMode::ssend, {64}, k, 1000), 4 * k * far.ssend(1000) + *far.acknowledgement_s, 1e-12) << k;
  }
}

TEST(Cost, PlainSendsThatWaitForTheirReceiversCostWhatSynchronousOnesDo) {
  Machine waiting = machine();
  for (std::optional<LinkCost>& link : waiting.links) {
    if (link) link->rendezvous_from_bytes = 1000;
  }
  for (const char* algorithm : {"direct", "comb", "shift"}) {
    const ExchangeSpec send = make_spec(algorithm, SendMode::send, {8, 8}, {true, true}, {1, 1});
    const ExchangeSpec ssend = make_spec(algorithm, SendMode::ssend, {8, 8}, {true, true}, {1, 1});
    EXPECT_NEAR(time_s(send, 1000, waiting), time_s(ssend, 1000, waiting), 1e-12) << algorithm;
    EXPECT_LT(time_s(send, 300, waiting), time_s(ssend, 300, waiting)) << algorithm;
  }
}

TEST(Cost, ReceivesThatArePostedBeforeTakeWhatAnExchangeDoes) {
  const ExchangeSpec direct = make_spec("direct", SendMode::send, {64}, {true}, {1});
  EXPECT_NEAR(time_s(direct, 8, machine()), far.exchange(8) + far.gap(8), 1e-12);
}

TEST(Cost, EveryMessageThatNoAnswerCoversIsAcknowledged) {
  // Direct sends to one partner after the other, who has long been waiting.
  for (const int k : {1, 2}) {
    const ExchangeSpec direct = make_spec("direct", SendMode::ssend, {64}, {true}, {k});
    EXPECT_NEAR(time_s(direct, 1000, machine()), 2 * k * (far.ssend(1000) + *far.acknowledgement_s), 1e-12);
  }
}

TEST(Cost, MessagesThatComeInAnyOrderArriveAGapApart) {
  // Ranks 1 and 2 send to rank 0; the replay hears of rank 1 first, though its message is sent after a longer one.
  const auto send = [](Index to, int tag) { return Step{{Op{Op::Kind::send, to, tag, {{0, 1}}, {}, {}}}}; };
  const auto recv = [](Index from, int tag) { return Op{Op::Kind::recv, from, tag, {{0, 1}}, {}, {}}; };
  RankSchedule gathers;
  gathers.steps = {{{recv(1, 0), recv(2, 0)}}};
  RankSchedule late;
  late.steps = {send(3, 1), send(0, 0)};
  RankSchedule early;
  early.steps = {send(0, 0)};
  RankSchedule other;
  other.steps = {{{recv(1, 1)}}};
  for (RankSchedule* schedule : {&gathers, &late, &early, &other}) schedule->slots = 1;
  const Walk walk(SendMode::send, {gathers, late, early, other});
  const double finish_s = walk.cost_by_steps(100, one_node_each(4), machine()).finish_s[0];
  // The early one at T, the late one, sent a gap later, at T + gap.
  EXPECT_NEAR(finish_s, far.exchange(100) + far.gap(100), 1e-12);
  // Two that are sent at once come a gap apart, though they take as long.
  const Walk at_once(SendMode::send, {gathers, early, early});
  EXPECT_NEAR(at_once.cost_by_steps(100, one_node_each(3), machine()).finish_s[0], far.exchange(100) + far.gap(100), 1e-12);
  // A card that a message holds for longer than its own time lets the late one in that much later.
  Machine slow = machine();
  slow.card = Resource{1e12, 5e-6};
  EXPECT_NEAR(walk.cost_by_steps(100, one_node_each(4), slow).finish_s[0],
              far.exchange(100) + far.gap(100) + 5e-6 - far.send.hold_s(100), 1e-12);
}

TEST(Cost, BlockingShiftInThreeDimensionsIsEquationThree) {
  // werner2023 Eq. 3: 12k alpha + 2 beta m (8k^3 + 12k^2 + 6k).
  for (const int k : {1, 2}) {
    double expected_s = 3 * *far.acknowledgement_s;
    for (Index axis = 0, bytes = 100; axis < 3; ++axis, bytes *= 2 * k + 1) expected_s += 4 * k * far.ssend(bytes);
    EXPECT_NEAR(shift_time_s(SendMode::ssend, {6, 6, 6}, k, 100), expected_s, 1e-12) << k;
  }
}

TEST(Cost, NonBlockingShiftTakesOneOverlappingHopAfterTheOther) {
  // k (E + g): both directions of a hop in flight, the second a gap later.
  for (const int k : {1, 3}) {
    for (const Index bytes : {100, 2000}) {
      EXPECT_NEAR(shift_time_s(SendMode::isend, {16}, k, bytes), k * (far.exchange(bytes) + far.gap(bytes)), 1e-12);
    }
  }
}

TEST(Cost, SelfSynchronisingShiftOverlapsItsHops) {
  for (const Index bytes : {Index{8}, Index{400}, Index{2000}, Index{100000}}) {
    const double hop_s = far.exchange(bytes) + far.gap(bytes);
    const double further_s = std::max(far.exchange(bytes), hop_s - 2 * far.overhead());
    EXPECT_NEAR(shift_time_s(SendMode::isend_self, {32}, 1, bytes), hop_s, 1e-12);
    for (const int k : {2, 3, 10}) {
      EXPECT_NEAR(shift_time_s(SendMode::isend_self, {32}, k, bytes), 2 * hop_s + (k - 2) * further_s, 1e-12) << k;
    }
  }
}

TEST(Cost, PersistentSendsCostWhatIsendsDo) {
  EXPECT_EQ(shift_time_s(SendMode::persistent, {6, 6}, 2, 100), shift_time_s(SendMode::isend, {6, 6}, 2, 100));
}

TEST(Cost, DirectMessagesFollowEachOtherByTheGap) {
  for (const int k : {1, 2}) {
    for (const Index bytes : {Index{8}, Index{3000}}) {
      const ExchangeSpec spec = make_spec("direct", SendMode::isend, {6, 6}, {true, true}, {k, k});
      const double n = (2 * k + 1) * (2 * k + 1) - 1;
      const double expected_s = std::max(2 * n * far.overhead(), far.exchange(bytes) + (n - 1) * far.gap(bytes));
      EXPECT_NEAR(time_s(spec, bytes, machine()), expected_s, 1e-12);
      // MPI's collective is the same messages.
      const ExchangeSpec collective = make_spec("neighbor-alltoall", SendMode::isend, {6, 6}, {true, true}, {k, k});
      EXPECT_EQ(time_s(collective, bytes, machine()), time_s(spec, bytes, machine()));
    }
  }
}

TEST(Cost, CombTakesOneLatencyAnAxis) {
  for (const int k : {1, 2}) {
    const ExchangeSpec spec = make_spec("comb", SendMode::isend, {6, 6, 6}, {true, true, true}, {k, k, k});
    double expected_s = 0;
    for (Index bytes = 100, axis = 0; axis < 3; ++axis, bytes *= 2 * k + 1) {
      expected_s += std::max(4 * k * far.overhead(), far.exchange(bytes) + (2 * k - 1) * far.gap(bytes));
    }
    EXPECT_NEAR(time_s(spec, 100, machine()), expected_s, 1e-12) << k;
  }
}

// As the closed forms of team shift have it: nothing but alpha + beta m a message.
Machine hockney() {
  Machine plain = machine().alone();
  plain.card.reset();
  return plain;
}

// The most messages that a member sends from skew to the end, its own block being there already: max_j S_j - z_j, with
// z_j = 1 where offset 0 (of index zero in the window) is member j's.
Index most_shifts(Index w, Index c, Index zero) {
  Index most = 0;
  for (Index j = 0; j < std::min(c, w); ++j) most = std::max(most, (w - 1 - j) / c + 1 - (zero % c == j ? 1 : 0));
  return most;
}

TEST(Cost, PooledTeamShiftIsItsClosedForm) {
  // n_a = S + 2 ceil(lg c), n_b = c S + (c - 1)(1 + f), f = 1; S less the message that the own block saves.
  struct Case {
    std::vector<Index> dims;
    int k;
    Index c;
    Index w;
    Index lg_c;
    Index shifts;
  };
  for (const Case& t :
       {Case{{24}, 2, 2, 3, 1, 2}, Case{{24}, 4, 2, 5, 1, 2}, Case{{24}, 7, 4, 5, 2, 2}, Case{{24}, 8, 4, 5, 2, 2},
        Case{{24}, 4, 1, 9, 0, 8}, Case{{24}, 6, 3, 5, 2, 2}, Case{{12, 12}, 2, 4, 9, 2, 2}, Case{{8, 8, 8}, 2, 8, 27, 3, 4}}) {
    const ExchangeSpec spec = make_spec("team-shift", SendMode::send, t.dims, std::vector<bool>(t.dims.size(), true),
                                        std::vector<int>(t.dims.size(), t.k), Shell::full, t.c);
    const Index shifts = most_shifts(t.w, t.c, t.w / 2);
    EXPECT_EQ(shifts, t.shifts);
    const Index messages = shifts + 2 * t.lg_c;
    const Index blocks = t.c * shifts + 2 * (t.c - 1);
    const Walk walk(spec);
    const Cost cost = walk.cost_by_steps(1000, one_node_each(spec.ranks()), hockney());
    EXPECT_NEAR(cost.time_s(),
                static_cast<double>(messages) * far.send(0) + static_cast<double>(blocks) * (far.send(1000) - far.send(0)),
                1e-12)
        << t.k << " " << t.c;
    EXPECT_EQ(cost.messages_per_rank, messages);
    EXPECT_EQ(cost.blocks_per_rank, blocks);
  }
}

TEST(Cost, ReplicatedTeamShiftIsItsClosedForm) {
  // [max_j(popcount j + S_j - z_j) + lg c](alpha + beta m), reached where the last member has the longest way.
  const Index c = 4;
  const ExchangeSpec all =
      make_spec("team-shift", SendMode::send, {16}, {true}, {1}, Shell::all_pairs, c, TeamBoxes::replicated);
  EXPECT_NEAR(time_s(all, 1000, hockney()), (2 + 4 + 2) * far.send(1000), 1e-12);
  // Otherwise it is an upper bound, for members that finish early are added up early.
  for (const int k : {1, 2, 3, 5}) {
    const Index w = 2 * k + 1;
    Index most = 0;
    for (Index j = 0; j < std::min(c, w); ++j) {
      const Index hops = std::popcount(static_cast<unsigned>(j));
      most = std::max(most, hops + (w - 1 - j) / c + 1 - (j == k ? 1 : 0));
    }
    const ExchangeSpec spec = make_spec("team-shift", SendMode::send, {16}, {true}, {k}, Shell::full, c, TeamBoxes::replicated);
    const double time = time_s(spec, 1000, hockney());
    EXPECT_LE(time, static_cast<double>(most + 2) * far.send(1000) + 1e-12) << k;
    EXPECT_GE(time, static_cast<double>(most) * far.send(1000) - 1e-12) << k;
  }
}

TEST(Cost, AnEighthShellGoesThereAndBack) {
  const ExchangeSpec spec = make_spec("shift", SendMode::ssend, {8}, {true}, {3}, Shell::eighth);
  const Cost cost = Walk(spec).cost_by_steps(1000, one_node_each(8), machine());
  EXPECT_EQ(cost.messages_per_rank, 2 * 3);
  EXPECT_NEAR(cost.time_s(), 2 * (2 * 3 * far.ssend(1000) + *far.acknowledgement_s), 1e-12);
}

TEST(Cost, AnOddRingPaysForItsSeam) {
  EXPECT_GT(shift_time_s(SendMode::ssend, {5}, 1, 1000), shift_time_s(SendMode::ssend, {6}, 1, 1000));
}

TEST(Cost, CountsTheBusiestRank) {
  const ExchangeSpec spec{"shift", SendMode::ssend, Grid({3}, {false}), Window({1})};
  const Cost cost = Walk(spec).cost_by_steps(8, one_node_each(3), machine());
  EXPECT_EQ(cost.messages_per_rank, 2);
  EXPECT_EQ(cost.blocks_per_rank, 2);
}

TEST(Cost, NamesALinkClassThatTheMachineLacks) {
  Machine inside = machine();
  inside.links.back().reset();
  const ExchangeSpec spec{"shift", SendMode::ssend, Grid({2}, {true}), Window({1})};
  try {
    (void)Walk(spec).cost_by_steps(8, one_node_each(2), inside);
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("other-node"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rankwise
