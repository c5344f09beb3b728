// Small schedules as they stand, and what malformed ones are told of.
#include "told.hpp"

#include <gtest/gtest.h>

#include "../refused.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/check.hpp"
#include "schedule/programs.hpp"

namespace rankwise {
namespace {

using rankwise_test::error_of;

std::string of(const char* algorithm, SendMode mode, std::vector<Index> dims, int k, Index rank, bool periodic = true,
               Shell shell = Shell::full, Index replication = 1) {
  const std::size_t ndim = dims.size();
  ExchangeSpec spec = make_spec(algorithm, mode, std::move(dims), std::vector<bool>(ndim, periodic), std::vector<int>(ndim, k),
                                shell, replication);
  spec.nodes = NodeMap::blocked(spec.ranks(), 3);
  return told(make_schedule(spec, rank));
}

TEST(Told, Direct) {
  EXPECT_EQ(of("direct", SendMode::isend, {4}, 1, 1), "< 0 0+1 < 2 2+1 > 2 1+1 > 0 1+1 | ");
  EXPECT_EQ(of("direct", SendMode::ssend, {3}, 2, 0),
            "< 1 0+1 < 2 1+1 < 1 3+1 < 2 4+1 > 2 2+1 > 1 2+1 @4 > 2 2+1 @5 > 1 2+1 @6 | ");
  EXPECT_EQ(of("direct", SendMode::isend, {3}, 1, 0, false), "< 1 2+1 > 1 1+1 | ");
}

TEST(Told, Comb) {
  EXPECT_EQ(of("comb", SendMode::isend, {3, 3}, 1, 4),
            "< 3 #1 3+1 < 5 #1 5+1 > 5 #1 4+1 > 3 #1 4+1 | < 1 0+3 < 7 6+3 > 7 3+3 > 1 3+3 | ");
  EXPECT_EQ(of("comb", SendMode::send, {3}, 2, 1, false), "< 0 1+1 < 2 3+1 > 2 2+1 > 0 2+1 @2 | ");
}

TEST(Told, Shift) {
  EXPECT_EQ(of("shift", SendMode::isend, {5}, 2, 2),
            "< 1 1+1 > 3 2+1 < 3 #1 3+1 > 1 #1 2+1 | < 1 #2 0+1 > 3 #2 1+1 < 3 #3 4+1 > 1 #3 3+1 | ");
  EXPECT_EQ(of("shift", SendMode::isend, {3, 4}, 1, 5, false),
            "< 4 #2 3+1 > 6 #2 4+1 < 6 #3 5+1 > 4 #3 4+1 | < 1 0+3 > 9 3+3 < 9 #1 6+3 > 1 #1 3+3 | ");
  EXPECT_EQ(of("shift", SendMode::ssend, {4}, 1, 1), "< 0 0+1 | > 2 1+1 | < 2 #1 2+1 | > 0 #1 1+1 | ");
  EXPECT_EQ(of("shift", SendMode::ssend, {3}, 1, 2), "< 1 0+1 | > 0 1+1 | > 1 #1 1+1 | < 0 #1 2+1 | ");
  EXPECT_EQ(of("shift", SendMode::ssend, {3}, 1, 0), "> 1 1+1 | < 2 0+1 | < 1 #1 2+1 | > 2 #1 1+1 | ");
  EXPECT_EQ(of("shift", SendMode::isend_self, {5}, 3, 2),
            "< 1 2+1 > 3 3+1 < 1 #2 1+1 > 3 #2 2+1 @0 < 1 #4 0+1 > 3 #4 1+1 @2 < 3 #1 4+1 > 1 #1 3+1 < 3 #3 5+1 > 1 #3 4+1 "
            "@6 < 3 #5 6+1 > 1 #5 5+1 @8 | ");
  EXPECT_EQ(of("shift", SendMode::isend_self, {1}, 2, 0),
            "= 0 1+1 from 2+1 = 0 #2 0+1 from 1+1 @0 = 0 #1 3+1 from 2+1 = 0 #3 4+1 from 3+1 @2 | ");
  EXPECT_EQ(of("shift-posted", SendMode::send, {4}, 1, 1), "< 0 0+1 > 2 1+1 | < 2 #1 2+1 > 0 #1 1+1 | ");
  EXPECT_EQ(of("shift", SendMode::isend, {4}, 2, 1, true, Shell::eighth), "< 2 #1 1+1 > 0 #1 0+1 | < 2 #3 2+1 > 0 #3 1+1 | ");
}

TEST(Told, TeamShift) {
  EXPECT_EQ(of("team-shift", SendMode::isend, {6}, 2, 0, true, Shell::full, 2),
            "< 1 1+1 > 1 0+1 | < 4 #1 2+2 > 2 #1 0+2 | < 4 #1 4+2 > 2 #1 2+2 * 0 2+2 | * 0 #2 4+2 | ");
  EXPECT_EQ(of("team-shift", SendMode::ssend, {6}, 2, 1, true, Shell::full, 2), "< 0 0+1 > 0 1+1 | | * 1 #1 0+2 | | ");
  EXPECT_EQ(of("team-shift", SendMode::isend, {7}, 2, 6, false, Shell::full, 3),
            "< 3 0+1 > 5 3+1 | < 4 1+2 > 4 3+1 0+1 | | | ");
}

TEST(Told, OfNodes) {
  for (const auto& [algorithm, text] : {std::pair{"striped",
                                                  "< 1 2+1 < 2 3+1 > 1 1+1 | > 4 #1 1+1 3+1 | < 1 #2 0+1 | "
                                                  "< 0 0+1 < 2 2+1 > 2 1+1 > 0 1+1 | < 3 #1 3+2 | > 2 #2 3+1 > 0 #2 4+1 | "},
                                        {"leader",
                                         "< 1 2+1 < 2 3+1 > 1 1+1 | < 3 #1 4+1 0+1 > 3 #1 1+1 3+1 | > 2 #2 4+1 | "
                                         "< 0 0+1 < 2 2+1 > 2 1+1 > 0 1+1 | | | "},
                                        {"two-step",
                                         "< 1 2+1 > 1 1+1 > 3 #1 1+1 | < 2 #2 0+1 | "
                                         "< 0 0+1 < 2 2+1 < 3 #1 3+1 > 2 1+1 > 0 1+1 | > 2 #2 3+1 | "}}) {
    EXPECT_EQ(of(algorithm, SendMode::isend, {6}, 1, 0) + of(algorithm, SendMode::isend, {6}, 1, 1), text);
  }
  EXPECT_EQ(of("striped", SendMode::ssend, {8}, 2, 4),
            "< 3 1+1 < 5 3+1 > 5 2+1 > 3 2+1 @2 | > 7 #1 2+2 | < 3 #2 0+1 < 5 #2 4+1 | ");
}

TEST(Told, TheWayBackIsTheSameReversed) {
  const ExchangeSpec spec = make_spec("shift", SendMode::isend_self, {5}, {true}, {2}, Shell::eighth);
  EXPECT_EQ(told(make_schedule(spec, 1)) + told(make_reduce(spec, 1)),
            "< 2 #1 1+1 > 0 #1 0+1 < 2 #3 2+1 > 0 #3 1+1 @0 | > 2 #1 1+1 @3 < 0 #1 0+1 > 2 #3 2+1 < 0 #3 1+1 | ");
  const ExchangeSpec direct = make_spec("direct", SendMode::ssend, {4}, {true}, {2}, Shell::eighth);
  EXPECT_EQ(told(make_schedule(direct, 1)) + told(make_reduce(direct, 1)),
            "< 2 1+1 < 3 2+1 > 0 0+1 > 3 0+1 @2 | > 2 1+1 > 3 2+1 @0 < 0 0+1 < 3 0+1 | ");
}

TEST(Told, Ingredients) {
  using Kind = Ingredient::Kind;
  const auto both = [](const Ingredient& one) {
    return told(make_ingredient(one, one.a)) + "/ " + told(make_ingredient(one, one.b));
  };
  EXPECT_EQ(both({Kind::step, SendMode::isend, 2, 2}),
            "< 1 1+1 < 1 #1 2+1 > 1 0+1 > 1 #1 0+1 | < 1 #2 3+1 < 1 #3 4+1 > 1 #2 1+1 > 1 #3 2+1 | / < 0 1+1 < 0 #1 2+1 > 0 "
            "0+1 > 0 #1 0+1 | < 0 #2 3+1 < 0 #3 4+1 > 0 #2 1+1 > 0 #3 2+1 | ");
  EXPECT_EQ(both({Kind::step, SendMode::ssend, 1, 2, 3, 1}),
            "< 1 1+1 < 1 #1 2+1 > 1 0+1 > 1 #1 0+1 @2 | / < 3 1+1 < 3 #1 2+1 > 3 0+1 > 3 #1 0+1 @2 | ");
  EXPECT_EQ(both({Kind::step, SendMode::isend_self, 3, 2}),
            "< 1 1+1 > 1 0+1 < 1 #2 3+1 > 1 #2 1+1 @0 < 1 #4 5+1 > 1 #4 3+1 @2 < 1 #1 2+1 > 1 #1 0+1 < 1 #3 4+1 > 1 #3 2+1 "
            "@6 < 1 #5 6+1 > 1 #5 4+1 @8 | / < 0 1+1 > 0 0+1 < 0 #2 3+1 > 0 #2 1+1 @0 < 0 #4 5+1 > 0 #4 3+1 @2 < 0 #1 2+1 > "
            "0 #1 0+1 < 0 #3 4+1 > 0 #3 2+1 @6 < 0 #5 6+1 > 0 #5 4+1 @8 | ");
  EXPECT_EQ(both({Kind::chain, SendMode::ssend, 2, 1}),
            "> 1 0+1 | < 1 1+1 | > 1 1+1 | < 1 2+1 | / < 0 1+1 | > 0 1+1 | < 0 2+1 | > 0 2+1 | ");
  EXPECT_EQ(both({Kind::collective, SendMode::isend, 3, 2}),
            "< 1 1+1 < 1 #1 2+1 > 1 0+1 > 1 #1 0+1 | / < 0 1+1 < 0 #1 2+1 > 0 0+1 > 0 #1 0+1 | ");
  EXPECT_EQ(both({Kind::copy, SendMode::isend, 1, 2}),
            "= 0 1+1 from 0+1 = 0 2+1 from 0+1 | / = 1 1+1 from 0+1 = 1 2+1 from 0+1 | ");
  EXPECT_EQ(both({Kind::add, SendMode::isend, 1, 2}),
            "= 0 0+1 from 2+1 = 0 1+1 from 3+1 | / = 1 0+1 from 2+1 = 1 1+1 from 3+1 | ");
  std::string slots;
  for (const Kind kind : {Kind::step, Kind::chain, Kind::collective, Kind::copy, Kind::add}) {
    const RankSchedule one = make_ingredient({kind, SendMode::ssend, 3, 2}, 0);
    slots += std::to_string(one.slots) + (one.adds() ? " adds" : "") + (one.neighborhood ? " neighborhood" : "") + ", ";
    EXPECT_EQ(told(make_ingredient({kind, SendMode::ssend, 3, 2}, 2)), "");
  }
  EXPECT_EQ(slots, "7, 4, 7 neighborhood, 7, 4 adds, ");
  EXPECT_EQ(parse_ingredient_kind("add"), Kind::add);
  EXPECT_EQ(error_of([] { (void)parse_ingredient_kind("salt"); }),
            "ingredient 'salt' is unknown: choose step, chain, collective, copy or add");
  const auto wrong = [](const Ingredient& one) { return error_of([&] { check_ingredient(one); }); };
  for (const int count : {0, 65}) {
    EXPECT_EQ(wrong({Kind::step, SendMode::isend, count, 1}), "an ingredient has 1 to 64 hops of 1 to 64 messages");
    EXPECT_EQ(wrong({Kind::step, SendMode::isend, 1, count}), "an ingredient has 1 to 64 hops of 1 to 64 messages");
  }
  EXPECT_EQ(wrong({Kind::step, SendMode::isend, 64, 64}), "");
  for (const auto& [a, b] : {std::pair<Index, Index>{1, 1}, {-1, 0}, {0, -1}}) {
    EXPECT_EQ(wrong({Kind::step, SendMode::isend, 1, 1, a, b}), "an ingredient needs two ranks");
  }
  EXPECT_EQ(wrong({Kind::chain, SendMode::persistent}), "a chain is of sends that block: choose ssend or send");
  EXPECT_EQ(wrong({Kind::chain, SendMode::send}), "");
}

TEST(Told, ProgramsThatWereObserved) {
  const std::vector<std::int32_t> phase{0, 0, 1}, from{0, 1, 1}, to{1, 0, 0};
  const std::vector<Index> bytes{5, 7, 9};
  const std::vector<double> compute_s{0.5, 0.0, 0.25, 2.0};
  const auto made = [&] { return phased_schedules(2, {phase, from, to, bytes}, compute_s); };
  EXPECT_EQ(told(made()[0]) + "/ " + told(made()[1]),
            "~ 0 0.500000 | > 1 0+5 < 1 0+7 | ~ 0 0.250000 | < 1 0+9 | / | < 0 0+5 > 0 0+7 | ~ 1 2.000000 | > 0 0+9 | ");
  EXPECT_EQ(made()[0].slots, 9);
  const std::vector<Index> falling{5, 7, 3};
  EXPECT_EQ(phased_schedules(2, {phase, from, to, falling}, compute_s)[0].slots, 7);
  EXPECT_EQ(phased_schedules(2, {phase, from, to, falling}, compute_s)[1].slots, 7);
  const auto refused = [&](Index ranks, std::vector<std::int32_t> p, std::vector<std::int32_t> f, std::vector<std::int32_t> t,
                           std::vector<Index> b) {
    return error_of([&] { (void)phased_schedules(ranks, {p, f, t, b}, compute_s); });
  };
  EXPECT_EQ(refused(2, phase, from, to, bytes), "");
  EXPECT_EQ(refused(0, phase, from, to, bytes), "computing is given for every phase and rank");
  EXPECT_EQ(refused(3, phase, from, to, bytes), "computing is given for every phase and rank");
  EXPECT_EQ(refused(1, {}, {}, {}, {}), "");
  const std::string parts = "every message has a phase, two ranks and a size";
  EXPECT_EQ(refused(2, phase, {0, 1}, to, bytes), parts);
  EXPECT_EQ(refused(2, phase, from, {1, 0}, bytes), parts);
  EXPECT_EQ(refused(2, phase, from, to, {5, 7}), parts);
  const std::string nobody = "a message is of a rank that does not exist";
  EXPECT_EQ(refused(2, phase, {0, 2, 1}, to, bytes), nobody);
  EXPECT_EQ(refused(2, phase, {0, -1, 1}, to, bytes), nobody);
  EXPECT_EQ(refused(2, phase, from, {1, 2, 0}, bytes), nobody);
  EXPECT_EQ(refused(2, phase, from, {1, -1, 0}, bytes), nobody);
  EXPECT_EQ(refused(2, phase, from, to, {5, -1, 9}), "a message has less than no bytes");
  EXPECT_EQ(refused(2, phase, from, to, {5, 0, 9}), "");
  EXPECT_EQ(refused(2, {0, 1, 0}, from, to, bytes), "messages are sorted by phase, and every phase exists");
  EXPECT_EQ(refused(2, {0, 1, 2}, from, to, bytes), "messages are sorted by phase, and every phase exists");
}

TEST(Told, WhatIsMalformed) {
  const auto wrong = [](const std::function<void(std::vector<RankSchedule>&)>& change, bool adds = false) {
    std::vector<RankSchedule> schedules = make_schedules(make_spec("direct", SendMode::isend, {2}, {true}, {1}));
    change(schedules);
    std::string text;
    for (const std::string& finding : find_malformed(schedules, {3, 3}, adds)) text += finding + ". ";
    return text;
  };
  const auto op = [](auto change) {
    return [change](std::vector<RankSchedule>& schedules) { change(schedules[1].steps[0].ops[2]); };
  };
  const std::string start = "rank 1 in step 0, operation 2 ";
  EXPECT_EQ(wrong([](auto&) {}), "");
  EXPECT_EQ(wrong([](auto&) {}, true), "rank 0 does not add up what arrives. rank 1 does not add up what arrives. ");
  EXPECT_EQ(wrong([](auto& s) { s[1].steps[0].ops[0].adds = true; }), "rank 1 adds up what arrives. ");
  EXPECT_EQ(wrong([](auto& s) { s.pop_back(); }), "there are schedules of 1 ranks, not of 2. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].slots = 4; }), "rank 0 has 4 slots, not 3. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].passing = 4; }), "rank 0 passes on 4 slots. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].passing = -1; }), "rank 0 passes on -1 slots. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].passing = 3; }), "");
  EXPECT_EQ(wrong([](auto& s) { s[0].place = {0, 1}; }), "rank 0 has no place for each of its slots. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].place = {0, 1, 3}; }), "rank 0 has no place for each of its slots. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].place = {0, 1, -1}; }), "rank 0 has no place for each of its slots. ");
  EXPECT_EQ(wrong([](auto& s) { s[0].place = {0, 0, 2}; }), "");
  EXPECT_EQ(wrong(op([](Op& o) { o.peer = 2; })), start + "names rank 2. ");
  EXPECT_EQ(wrong(op([](Op& o) { o.peer = -1; })), start + "names rank -1. ");
  EXPECT_EQ(wrong(op([](Op& o) { o.kind = Op::Kind::visit, o.peer = 2; })), "");
  for (const SlotRange range : {SlotRange{-1, 1}, {0, -1}, {4, 0}, {1, 3}}) {
    EXPECT_EQ(wrong(op([=](Op& o) { o.slots = {range}; })), start + "names slots beyond its 3. ");
    EXPECT_EQ(wrong(op([=](Op& o) { o.source = {range}; })), start + "names slots beyond its 3. ");
  }
  EXPECT_EQ(wrong(op([](Op& o) { o.slots = {{3, 0}, {0, 3}}; })), "");
  EXPECT_EQ(wrong(op([](Op& o) { o = {Op::Kind::copy, 1, 0, {{0, 2}}, {{0, 1}, {1, 2}}, {}}; })),
            start + "copies 3 slots to 2. ");
  EXPECT_EQ(wrong(op([](Op& o) { o = {Op::Kind::copy, 1, 0, {{0, 2}}, {{0, 1}, {2, 1}}, {}}; })), "");
  EXPECT_EQ(wrong(op([](Op& o) { o.after = {0, 4}; })), start + "comes after operation 4. ");
  EXPECT_EQ(wrong(op([](Op& o) { o.after = {0, 1, 3}; })), "");
  EXPECT_EQ(wrong(op([](Op& o) { o.after = {2}; })), "rank 1 in step 0 has operations that come after themselves. ");
}

TEST(Told, NamesAndWhatDoesNotFit) {
  EXPECT_EQ(error_of([] { (void)parse_send_mode("post"); }),
            "send mode 'post' is unknown: choose ssend, send, isend, isend-self or persistent");
  EXPECT_EQ(error_of([] { (void)parse_shell("half"); }), "shell 'half' is unknown: choose full, eighth or all-pairs");
  EXPECT_EQ(error_of([] { (void)parse_team_boxes("own"); }), "team boxes 'own' is unknown: choose pooled or replicated");
  EXPECT_EQ(parse_team_boxes("replicated"), TeamBoxes::replicated);
  EXPECT_EQ(to_string(SendMode::persistent), "persistent");
  EXPECT_EQ(to_string(static_cast<Shell>(9)), "?");
  EXPECT_EQ(shell_ids(), (std::vector<std::string>{"full", "eighth", "all-pairs"}));
  ExchangeSpec spec = make_spec("striped", SendMode::isend, {6}, {true}, {1});
  EXPECT_EQ(error_of([&] { check_spec(spec); }),
            "striped needs to know which ranks share a node: say how many do, or choose an algorithm that does not");
  spec.nodes = NodeMap::blocked(5, 2);
  EXPECT_EQ(error_of([&] { check_spec(spec); }), "the nodes have 5 ranks, the grid 6: give one node a rank");
  spec.nodes = NodeMap::blocked(6, 2);
  EXPECT_EQ(error_of([&] { (void)make_schedule(spec, 6); }), "rank 6 is outside the grid of 6 ranks");
  EXPECT_EQ(error_of([&] { (void)make_reduce(spec, -1); }), "rank -1 is outside the grid of 6 ranks");
  EXPECT_EQ(error_of([&] { (void)NodeMap::blocked(6, 0); }), "0 ranks a node are too few: give at least 1");
  const auto made = [](const char* algorithm, const std::vector<int>& cutoff, Index replication, TeamBoxes boxes) {
    return error_of([&] { (void)make_spec(algorithm, SendMode::isend, {4, 4}, {}, cutoff, Shell::full, replication, boxes); });
  };
  EXPECT_EQ(made("shift", {1}, 1, TeamBoxes::pooled), "the cutoff has 1 axes, the grid 2: give one cutoff an axis");
  const std::string teams = " needs teams, which shift does not have: choose team-shift, or replication 1";
  EXPECT_EQ(made("shift", {1, 1}, 2, TeamBoxes::pooled), "replication 2" + teams);
  EXPECT_EQ(made("shift", {1, 1}, 1, TeamBoxes::replicated), "replication 1" + teams);
}

TEST(Told, WhatAScheduleSendsAndHolds) {
  const auto op = [](Op::Kind kind, SlotRange slots) { return Op{kind, 1, 0, {slots}, {}, {}}; };
  RankSchedule schedule;
  schedule.steps = {{{op(Op::Kind::send, {0, 2}), op(Op::Kind::recv, {2, 4})}},
                    {{op(Op::Kind::send, {4, 1}), op(Op::Kind::copy, {0, 7})}}};
  EXPECT_EQ(schedule.operations(), 4);
  EXPECT_EQ(schedule.messages_sent(), 2);
  EXPECT_EQ(schedule.blocks_sent(), 3);
  const auto goes_back = [](const char* algorithm, Shell shell) {
    return includes_reduce(make_spec(algorithm, SendMode::isend, {4}, {true}, {1}, shell));
  };
  EXPECT_TRUE(goes_back("direct", Shell::eighth) && goes_back("team-shift", Shell::full));
  EXPECT_FALSE(goes_back("direct", Shell::full));
  const auto wide = [](int k) { return error_of([=] { (void)Window({(1 << 20) - 1, k - 1}, Shell::eighth); }); };
  EXPECT_EQ(wide(1 << 20), "");
  EXPECT_EQ(wide((1 << 20) + 1), "the window has more than 2^40 slots: make the cutoff smaller");
  EXPECT_EQ(error_of([] { (void)exchange_algorithm("sideways"); }),
            "exchange algorithm 'sideways' is unknown: choose direct, neighbor-alltoall, shift, comb, team-shift, striped, "
            "leader, two-step or shift-posted");
}

TEST(Told, NodesInTheOrderOfTheirLowestRanks) {
  const NodeMap map = NodeMap::of({7, 3, 3, 7, 5});
  std::string text;
  for (Index rank = 0; rank < map.ranks(); ++rank) text += std::to_string(map.node_of(rank)) + " ";
  for (Index node = 0; node < 3; ++node) {
    text += "|";
    for (Index i = 0; i < map.members(node); ++i) text += " " + std::to_string(map.member(node, i));
  }
  EXPECT_EQ(text, "0 1 1 0 2 | 0 3| 1 2| 4");
  const NodeMap blocked = NodeMap::blocked(7, 3);
  EXPECT_EQ(blocked.members(2), 1);
  EXPECT_EQ(blocked.members(1), 3);
  EXPECT_EQ(blocked.member(2, 0), 6);
  EXPECT_EQ(blocked.node_of(5), 1);
  EXPECT_FALSE(NodeMap().is_known());
}

}  // namespace
}  // namespace rankwise
