// Which walk answers: of a part of the grid, of all ranks where they are few, else of those that stand for them; and programs of any pattern.
#include <gtest/gtest.h>

#include "../machine.hpp"
#include "../refused.hpp"
#include "../rounds.hpp"
#include "decide/part.hpp"
#include "decide/representatives.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise {
namespace {

std::size_t walked(const Walk& walk) { return walk.cost(8, rankwise_test::machine()).finish_s.size(); }

ExchangeSpec ring(const char* algorithm, SendMode mode, Index ranks, Shell shell = Shell::full) {
  return make_spec(algorithm, mode, {ranks}, {true}, {1}, shell);
}

// Ranks one a node, from the last node to the first: no part stands for all.
Placement backwards(Index ranks) {
  std::vector<std::int32_t> nodes;
  for (Index rank = ranks; rank-- > 0;) nodes.push_back(static_cast<std::int32_t>(rank));
  return Placement::on_nodes(nodes);
}

TEST(Walks, SmallExchangesAreWalkedByAllTheirRanks) {
  const auto of = [](const char* algorithm, SendMode mode, Index ranks, Shell shell = Shell::full) {
    const ExchangeSpec one = ring(algorithm, mode, ranks, shell);
    return walked(walk_of(one, Layout(one.grid, backwards(ranks))));
  };
  // Each does 4 operations: 6000 of 1500 ranks.
  EXPECT_EQ(of("direct", SendMode::isend, 1500), 1500U);
  EXPECT_EQ(of("direct", SendMode::isend, 1501), 1U);
  EXPECT_EQ(of("shift", SendMode::ssend, 1502), 2U);
  // Each does 2 there.
  EXPECT_EQ(of("direct", SendMode::isend, 3000, Shell::eighth), 3000U);
  EXPECT_EQ(of("direct", SendMode::isend, 3001, Shell::eighth), 1U);
}

// What walk_of() follows of an exchange, and the same of all ranks. rounding: what comes at one time comes in another order, and
// of steps that were timed resources are counted, not followed.
void expect_the_same_of_all(const ExchangeSpec& spec, const Placement& placement, const Machine& machine, Index bytes,
                            double rounding, const std::string& name) {
  const Cost of_tile = walk_of(spec, Layout(rank_grid(spec), placement)).cost(bytes, machine);
  const Cost of_all = Walk(spec).at(placement).cost(bytes, machine);
  EXPECT_NEAR(of_tile.time_s(), of_all.time_s(), 1e-12 + rounding * of_all.time_s()) << name;
  EXPECT_NEAR(of_tile.low_s, of_all.low_s, 1e-12 + rounding * of_all.low_s) << name;
  EXPECT_NEAR(of_tile.high_s, of_all.high_s, 1e-12 + rounding * of_all.high_s) << name;
  EXPECT_NEAR(of_tile.busiest.held_s, of_all.busiest.held_s, 1e-9 * of_all.busiest.held_s) << name;
  EXPECT_EQ(of_tile.busiest.resource, of_all.busiest.resource) << name;
  EXPECT_EQ(of_tile.messages_per_rank, of_all.messages_per_rank) << name;
  EXPECT_EQ(of_tile.blocks_per_rank, of_all.blocks_per_rank) << name;
}

TEST(Walks, ATileOfARepeatingGridStandsForAllRanks) {
  rankwise_test::EveryNth cases(7);
  struct Where {
    std::vector<Index> dims;
    std::vector<bool> periodic;
    Placement placement;
    std::size_t tile;  // and where ranks of one parity send first
    std::size_t of_turns;
  };
  const std::vector<Where> grids{{{12}, {true}, Placement::blocked(12, 1), 1, 2},
                                 {{15}, {true}, Placement::blocked(15, 3), 3, 15},
                                 {{24}, {true}, Placement::blocked(24, 6, 3), 6, 6},
                                 {{4, 6}, {true, true}, Placement::blocked(24, 4, 2), 12, 12},
                                 {{4, 8}, {true, true}, Placement::blocked(32, 4), 4, 8},
                                 {{6, 4}, {true, false}, Placement::blocked(24, 8, 4), 8, 8},
                                 {{3, 8}, {false, true}, Placement::blocked(24, 4), 12, 12},
                                 {{2, 4, 4}, {true, true, true}, Placement::blocked(32, 8), 8, 16}};
  Machine machine = rankwise_test::shared_machine();
  machine.levels.clear();
  for (const Where& where : grids) {
    for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
      if (algorithm.has_teams || algorithm.needs_nodes) continue;
      for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self}) {
        for (const Shell shell : {Shell::full, Shell::eighth}) {
          for (const int k : {1, 2, 3}) {
            const std::string id(algorithm.id);
            if (!why_not(id, mode, shell).empty() || cases.passes_over()) continue;
            const std::vector<int> cutoff(where.dims.size(), k);
            const ExchangeSpec spec = make_spec(id, mode, where.dims, where.periodic, cutoff, shell);
            const std::string name = id + " " + to_string(mode) + " k=" + std::to_string(k) + " on " +
                                     std::to_string(where.dims[0]) + "x.. " + to_string(shell);
            const Walk walk = walk_of(spec, Layout(spec.grid, where.placement));
            const bool turns = is_blocking(mode) && algorithm.takes_turns;
            EXPECT_EQ(walked(walk), turns ? where.of_turns : where.tile) << name;
            for (const Index bytes : {0, 700, 50'000}) {
              expect_the_same_of_all(spec, where.placement, machine, bytes, 1e-5, name);
              expect_the_same_of_all(spec, where.placement, rankwise_test::timed(machine), bytes, 2e-2, name + ", timed");
            }
          }
        }
      }
    }
  }
}

TEST(Walks, ATileOfAlikeTeamsStandsForAllRanks) {
  Machine machine = rankwise_test::shared_machine();
  machine.levels.clear();
  struct Where {
    std::vector<Index> dims;
    Index replication, on_node;
    TeamBoxes boxes;
    std::size_t tile;
  };
  for (const Where& where : std::vector<Where>{{{24}, 4, 2, TeamBoxes::pooled, 4},
                                               {{24}, 2, 8, TeamBoxes::pooled, 8},
                                               {{4, 12}, 4, 3, TeamBoxes::pooled, 12},
                                               {{8, 8}, 4, 8, TeamBoxes::pooled, 16},
                                               {{12}, 3, 3, TeamBoxes::replicated, 3},
                                               {{6, 4}, 2, 4, TeamBoxes::replicated, 4},
                                               {{10}, 4, 2, TeamBoxes::pooled, 10}}) {  // teams of five and of four
    for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend}) {
      const std::vector<bool> periodic(where.dims.size(), true);
      const std::vector<int> cutoff(where.dims.size(), 2);
      const ExchangeSpec spec =
          make_spec("team-shift", mode, where.dims, periodic, cutoff, Shell::full, where.replication, where.boxes);
      const Placement placement = Placement::blocked(spec.ranks(), where.on_node);
      const std::string name = to_string(mode) + " c=" + std::to_string(where.replication) + " on " +
                               std::to_string(where.dims[0]) + ", " + std::to_string(where.on_node) + " a node";
      EXPECT_EQ(walked(walk_of(spec, Layout(rank_grid(spec), placement))), where.tile) << name;
      for (const Index bytes : {0, 700, 50'000}) expect_the_same_of_all(spec, placement, machine, bytes, 1e-5, name);
    }
  }
}

TEST(Walks, ATileOfAHaloStandsForAllRanks) {
  Machine machine = rankwise_test::shared_machine();
  machine.levels.clear();
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend}) {
    const ExchangeSpec spec = make_spec("shift", mode, {4, 6, 4}, {true, true, true}, {1, 2, 1});
    std::vector<std::int32_t> nodes;  // the same nodes in another order: of which no part is known
    for (Index rank = 0; rank < 96; ++rank) nodes.push_back(static_cast<std::int32_t>(11 - rank / 8));
    const Placement reversed = Placement::on_nodes(nodes);
    const Placement placement = Placement::blocked(96, 8);
    const Walk tile = walk_of_halo(spec, {700, 300, 200}, Layout(spec.grid, placement));
    const Walk all = walk_of_halo(spec, {700, 300, 200}, Layout(spec.grid, reversed));
    EXPECT_EQ(walked(tile), is_blocking(mode) ? 16U : 8U);
    EXPECT_EQ(walked(all), 96U);
    const Cost cost = tile.cost(1, machine);
    EXPECT_NEAR(cost.time_s(), all.cost(1, machine).time_s(), 1e-5 * cost.time_s()) << to_string(mode);
    EXPECT_EQ(cost.messages_per_rank, 8);
    EXPECT_EQ(cost.blocks_per_rank, 2 * (700 + 2 * 300 + 200));
  }
}

TEST(Walks, AShorterGridStandsForOneWithLongOpenAxes) {
  // Its nodes repeat along the axis whose ranks fill them, one far from both borders is left, and no more operations than are followed.
  const auto of = [](std::vector<Index> dims, std::vector<bool> periodic, Index on_node, SendMode mode, const char* algorithm) {
    const std::optional<Part> part =
        part_of(Grid(dims, periodic), std::vector<Index>(dims.size(), 1),
                std::vector<Index>(dims.size(), mode == SendMode::ssend ? 2 : 1),
                make_schedule(make_spec(algorithm, mode, dims, periodic, std::vector<int>(dims.size(), 1)),
                              Grid(dims, periodic).cell(std::vector<Index>(dims.size(), 3)))
                    .operations(),
                Placement::blocked(Grid(dims).size(), on_node));
    return part ? std::pair(part->grid.dims(), part->tile) : std::pair(std::vector<Index>{}, std::vector<Index>{});
  };
  using Dims = std::vector<Index>;
  const auto isend = SendMode::isend;
  EXPECT_EQ(of({1500}, {false}, 1, isend, "direct").first, Dims{});  // all are followed
  const auto [line, all] = of({100'000}, {false}, 48, isend, "direct");
  EXPECT_TRUE(line == all && line[0] <= 1500 && line[0] > 1100 && line[0] % 48 == 100'000 % 48) << line[0];
  const auto [turns, both] = of({100'001}, {false}, 3, SendMode::ssend, "shift");
  EXPECT_TRUE(turns == both && turns[0] % 6 == 100'001 % 6) << turns[0];
  const auto [mixed, tile] = of({64, 64, 30}, {false, true, false}, 4, isend, "direct");
  ASSERT_EQ(tile.size(), 3U);
  EXPECT_EQ(tile[1], 2);  // two rows fill whole nodes
  EXPECT_EQ(mixed[1], 64);
  EXPECT_EQ(mixed[0], tile[0]);
  EXPECT_LE(tile[0] * tile[1] * tile[2] * 52, most_operations_of_all);
  EXPECT_GT(tile[0], 3);
  EXPECT_EQ(of({9, 9, 9}, {false, false, false}, 27, isend, "direct").first, Dims{});  // too short
}

TEST(Walks, AShorterGridTakesAsLongAsALongOne) {
  Machine machine = rankwise_test::shared_machine();
  machine.levels.clear();
  for (const SendMode mode : {SendMode::ssend, SendMode::isend, SendMode::isend_self}) {
    for (const Index on_node : {1, 6}) {
      const ExchangeSpec spec = make_spec("shift", mode, {900}, {false}, {2});
      const Placement placement = Placement::blocked(900, on_node);
      const Walk walk = walk_of(spec, Layout(spec.grid, placement));
      EXPECT_LT(walked(walk), 900U);
      const Cost all = Walk(spec).at(placement).cost(5000, machine);
      const Cost cost = walk.cost(5000, machine);
      EXPECT_NEAR(cost.time_s(), all.time_s(), 1e-9 * all.time_s()) << to_string(mode) << on_node;
      EXPECT_EQ(cost.messages_per_rank, all.messages_per_rank);
      EXPECT_LE(cost.low_s, all.low_s);
      EXPECT_GE(cost.high_s, all.high_s);
      History history;
      EXPECT_THROW((void)walk.cost(8, machine, history), std::invalid_argument);
    }
  }
}

TEST(Walks, ATileFillsUnitsOfSwitches) {
  const Machine machine = rankwise_test::shared_machine();
  std::vector<Index> levels;
  for (const SwitchLevel& level : machine.levels) levels.push_back(level.nodes);
  ASSERT_EQ(levels, (std::vector<Index>{2, 6}));
  const Placement placement = Placement::blocked(48, 2);
  for (const SendMode mode : {SendMode::ssend, SendMode::isend}) {
    for (const char* algorithm : {"shift", "direct"}) {
      const ExchangeSpec spec = make_spec(algorithm, mode, {48}, {true}, {5});
      const std::string name = std::string(algorithm) + " " + to_string(mode);
      EXPECT_EQ(walked(walk_of(spec, Layout(spec.grid, placement.with_levels(levels)))), 12U) << name;
      for (const Index bytes : {0, 700, 50'000}) {
        expect_the_same_of_all(spec, placement.with_levels(levels), machine, bytes, 1e-5, name);
      }
    }
  }
  const ExchangeSpec spec = make_spec("shift", SendMode::isend, {48}, {true}, {2});
  const auto of = [&](std::vector<Index> nodes) {
    return walk_of(spec, Layout(spec.grid, placement.with_levels(std::move(nodes))));
  };
  EXPECT_EQ(walked(of({24})), 2U);
  EXPECT_EQ(walked(of({2, 24})), 4U);
  // Of the levels of another machine nothing is known: step by step.
  EXPECT_EQ(of({2}).cost(8, machine).low_s, of({2}).discrepancy(false).low * of({2}).cost(8, machine).time_s());
  History history;
  EXPECT_THROW((void)of(levels).cost(8, machine, history), std::invalid_argument);
}

// Of which every rank (or one only) copies so many blocks, one by one.
Program copies(Index ranks, Index count, Index only = -1) {
  Program program{SendMode::isend, Grid({ranks}, {true}), {0}, {0}, {}};
  program.import = [=](const Grid&, Index rank) {
    RankSchedule schedule;
    schedule.slots = 2;
    schedule.steps.emplace_back();
    if (only >= 0 && rank != only) return schedule;
    schedule.steps[0].ops.assign(static_cast<std::size_t>(count), Op{Op::Kind::copy, rank, 0, {{1, 1}}, {{0, 1}}, {}});
    return schedule;
  };
  return program;
}

TEST(Walks, SmallProgramsAreWalkedByAllTheirRanks) {
  const auto of = [](const Program& program) {
    return walked(walk_of(program, Layout(program.grid, backwards(program.grid.size()))));
  };
  EXPECT_EQ(of(copies(3000, 2)), 3000U);
  EXPECT_EQ(of(copies(3001, 2)), 1U);
  EXPECT_EQ(of(copies(2001, 3)), 1U);
  EXPECT_EQ(of(copies(6000, 1)), 6000U);
  EXPECT_EQ(of(copies(6001, 0)), 1U);
  // The rank in the middle is asked.
  EXPECT_EQ(of(copies(100, 61, 50)), 1U);
  EXPECT_EQ(of(copies(100, 60, 50)), 100U);
  EXPECT_EQ(of(copies(100, 61, 33)), 100U);
  for (const Index ranks : {Index{100}, Index{4000}}) {
    Program there_and_back = copies(ranks, 2);
    there_and_back.reduce = there_and_back.import;
    const Walk walk = walk_of(there_and_back, Layout(there_and_back.grid, backwards(ranks)));
    EXPECT_STREQ(walk.discrepancy(false).kind, "parts in flight");
    EXPECT_EQ(walked(walk), ranks == 100 ? 100U : 1U);
  }
}

TEST(Walks, OfTheFewOfProgramsThatReachFurtherDownThanUp) {
  const auto of = [](const Program& program) {
    return walked(walk_of_representatives(program, Layout(program.grid, Placement::blocked(program.grid.size(), 1))));
  };
  EXPECT_EQ(of(copies(42, 7)), 42U);
  EXPECT_EQ(of(copies(43, 7)), 1U);
  const Stencil down(2, {{-3, 0}, {0, 1}});
  EXPECT_EQ(of(stencil_program(Grid({7, 40}, {false, true}), down)), 7U);
  EXPECT_EQ(of(stencil_program(Grid({8, 40}, {false, true}), down)), 1U);
}

TEST(Walks, ReplicatedTeamsHaveAnAxisOfTheirOwn) {
  const auto of = [](TeamBoxes boxes) {
    return rank_grid(make_spec("team-shift", SendMode::isend, {4, 3}, {true, false}, {1, 1}, Shell::full, 2, boxes));
  };
  EXPECT_EQ(of(TeamBoxes::pooled).dims(), (std::vector<Index>{4, 3}));
  const Grid grid = of(TeamBoxes::replicated);
  EXPECT_EQ(grid.dims(), (std::vector<Index>{4, 3, 2}));
  EXPECT_TRUE(grid.periodic(0) && !grid.periodic(1) && !grid.periodic(2));
}

TEST(Walks, OfNodesAllRanksAreWalkedWhereTheyHaveLittleToDo) {
  const auto of = [](Index nodes) {
    ExchangeSpec spec = make_spec("leader", SendMode::isend, {nodes, 3}, {true, true}, {1, 1});
    spec.nodes = NodeMap::blocked(3 * nodes, 3);
    Index operations = 0;
    for (Index rank = 0; rank < 3; ++rank) operations += make_schedule(spec, rank).operations();
    EXPECT_EQ(operations, 20) << nodes;
    const Placement placement = Placement::blocked(3 * nodes, 3);
    return walked(walk_of(spec, Layout(spec.grid, placement)));
  };
  EXPECT_EQ(of(300), 900U);
  EXPECT_EQ(of(301), 3U);
}

TEST(Walks, OfTheFewSmallGridsAreWalkedWhole) {
  const auto of = [](const ExchangeSpec& spec) {
    return walked(walk_of_representatives(spec, Layout(spec.grid, Placement::blocked(spec.ranks(), 1))));
  };
  EXPECT_EQ(of(ring("direct", SendMode::isend, 75)), 75U);
  EXPECT_EQ(of(ring("direct", SendMode::isend, 76)), 1U);
  EXPECT_EQ(of(ring("shift", SendMode::ssend, 76)), 2U);
  EXPECT_EQ(of(ring("comb", SendMode::ssend, 76)), 1U);
  // Open axes of less than 2k + 2 ranks have no middle.
  const auto open = [&](Index length, int k) {
    return of(make_spec("direct", SendMode::isend, {length, 80}, {false, true}, {k, 1}));
  };
  EXPECT_EQ(open(4, 1), 1U);
  EXPECT_EQ(open(3, 1), 3U);
  EXPECT_EQ(open(6, 2), 1U);
  EXPECT_EQ(open(5, 2), 5U);
}

Grid box(std::vector<Index> dims, bool periodic) {
  const std::size_t ndim = dims.size();
  return Grid(std::move(dims), std::vector<bool>(ndim, periodic));
}

double few_s(const Program& program, const Placement& placement, Index bytes) {
  return walk_of_representatives(program, Layout(program.grid, placement)).cost(bytes, rankwise_test::machine()).time_s();
}

double all_s(const Program& program, const Placement& placement, Index bytes) {
  std::vector<RankSchedule> schedules;
  for (Index rank = 0; rank < program.grid.size(); ++rank) schedules.push_back(program.import(program.grid, rank));
  return Walk(program.mode, std::move(schedules)).cost_by_steps(bytes, placement, rankwise_test::machine()).time_s();
}

TEST(Walks, AnyStencilOnAnyGrid) {
  const Stencil lopsided(2, {{0, 3}, {-2, 0}, {1, 1}, {0, -1}}, {5, 1, 2, 3});
  for (const bool periodic : {true, false}) {
    for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{16, 16}, {6, 24}, {30, 8}}) {
      for (const SendMode mode : {SendMode::isend, SendMode::ssend}) {
        if (!periodic && is_blocking(mode)) continue;  // who waits for whom differs from rank to rank
        const Program program = stencil_program(box(dims, periodic), lopsided, mode);
        EXPECT_EQ(program.lower, (std::vector<Index>{2, 1}));
        EXPECT_EQ(program.upper, (std::vector<Index>{1, 3}));
        const Placement apart = Placement::blocked(program.grid.size(), 1);
        const double all = all_s(program, apart, 1000);
        EXPECT_NEAR(few_s(program, apart, 1000), all, 1e-12) << dims[0] << " " << periodic << " " << to_string(mode);
      }
    }
  }
  // Short open axes of many partners: as on a ring.
  std::vector<Coords> all_around;
  for (Index i = -4; i <= 4; ++i) {
    for (Index j = -4; j <= 4; ++j) {
      if (i != 0 || j != 0) all_around.push_back({i, j});
    }
  }
  const Program wide = stencil_program(box({9, 9}, false), Stencil(2, all_around));
  const Placement apart = Placement::blocked(81, 1);
  EXPECT_NEAR(few_s(wide, apart, 1000), all_s(wide, apart, 1000), 1e-12);
  // What wraps around to the rank itself is not sent: of the offsets one is left, on a ring of two.
  const Program short_ring = stencil_program(box({2}, true), Stencil(1, {{2}, {1}}));
  EXPECT_EQ(short_ring.import(short_ring.grid, 0).operations(), 2);
  EXPECT_EQ(rankwise_test::error_of([&] { (void)stencil_program(box({4}, true), lopsided); }),
            "the stencil is for another number of axes than the grid");
}

TEST(Walks, AllToAllsOfAnyAxes) {
  const Grid grid = box({3, 4}, false);
  const RankSchedule both = transpose_program(grid, {0, 1}, false).import(box({3, 4}, true), 0);
  EXPECT_EQ(both.steps.size(), 1U);
  EXPECT_EQ(both.messages_sent(), 11);
  const RankSchedule rows = transpose_program(grid, {1}, true).import(box({3, 4}, true), 5);
  EXPECT_EQ(rows.steps.size(), 3U);
  EXPECT_EQ(rows.messages_sent(), 3);
  EXPECT_EQ(rows.steps[0].ops[0].peer, 4);
  EXPECT_EQ(rows.steps[0].ops[1].peer, 6);
  EXPECT_EQ(rankwise_test::error_of([] { (void)transpose_program(Grid({1 << 21}), {0}, false); }),
            "an all-to-all of 2097152 ranks is more than is walked: give at most 2^20");
}

TEST(Walks, OfExchangesThatKnowNodesTheRanksOfOneNodeStandForAll) {
  const Machine shared = rankwise_test::shared_machine();
  for (const char* algorithm : {"striped", "leader", "two-step"}) {
    for (const Shell shell : {Shell::full, Shell::eighth}) {
      // A row is a node: every node has the same to do.
      ExchangeSpec spec = make_spec(algorithm, SendMode::isend, {160, 8}, {true, true}, {1, 1}, shell);
      spec.nodes = NodeMap::blocked(1280, 8);
      const Placement placement = Placement::blocked(1280, 8);
      const Walk few = walk_of_nodes(spec, placement);
      EXPECT_EQ(walked(few), 8U) << algorithm;
      const Cost expected = Walk(spec).cost_by_steps(1000, placement, shared);
      const Cost found = few.cost(1000, shared);
      EXPECT_NEAR(found.time_s(), expected.time_s(), 0.08 * expected.time_s()) << algorithm << " " << to_string(shell);
      EXPECT_NEAR(found.busiest.held_s, expected.busiest.held_s, 1e-12) << algorithm << " " << to_string(shell);
    }
  }
}

// Ranks at a border forward less than the one in the middle that stands for them: the card of a node passes what all of its have.
TEST(Walks, OfOpenGridsNodesPassWhatTheirRanksForward) {
  Machine shared = rankwise_test::shared_machine();
  shared.levels.clear();
  for (const char* algorithm : {"shift", "comb"}) {
    for (const std::vector<Index>& dims : {std::vector<Index>{8, 8, 8}, {11, 7, 6}, {30, 12}}) {
      for (const Index ranks_per_node : {1, 6, 48}) {
        const ExchangeSpec spec =
            make_spec(algorithm, SendMode::isend, dims, std::vector<bool>(dims.size()), std::vector<int>(dims.size(), 2));
        const Placement placement = Placement::blocked(spec.ranks(), ranks_per_node);
        const Cost few = walk_of_representatives(spec, Layout(spec.grid, placement)).cost(20'000, shared);
        const Cost all = Walk(spec).at(placement).cost(20'000, shared);
        const std::string name = algorithm + (" of " + std::to_string(dims[0])) + "x.., " + std::to_string(ranks_per_node);
        EXPECT_NEAR(few.busiest.bytes, all.busiest.bytes, 0.03 * all.busiest.bytes) << name;
        EXPECT_NEAR(few.time_s(), all.time_s(), 0.1 * all.time_s()) << name;
      }
    }
  }
}

// Nodes differ there: at a border they have less to do, and get other messages than they send.
TEST(Walks, OfExchangesThatKnowNodesTheOneThatHasMostToDoStandsForAll) {
  const Machine shared = rankwise_test::shared_machine();
  struct Where {
    std::vector<Index> dims;
    std::vector<bool> periodic;
    Index ranks_per_node;
  };
  for (const Where& where : {Where{{8, 8, 6}, {false, false, false}, 4}, Where{{6, 8, 8}, {true, true, true}, 24},
                             Where{{10, 4, 8}, {false, false, false}, 12}, Where{{8, 7, 10}, {false, false, false}, 2}}) {
    for (const char* algorithm : {"striped", "leader", "two-step"}) {
      for (const Shell shell : {Shell::full, Shell::eighth}) {
        ExchangeSpec spec = make_spec(algorithm, SendMode::isend, where.dims, where.periodic, {1, 3, 2}, shell);
        const Placement placement = Placement::blocked(spec.ranks(), where.ranks_per_node);
        spec.nodes = nodes_of(placement);
        const Walk of_all = Walk(spec).at(placement);
        const Walk of_node = walk_of_nodes(spec, placement);
        EXPECT_STREQ(of_node.discrepancy(false).kind, "steps in flight of a node");
        for (const Index bytes : {0, 1'000, 100'000}) {
          const double ratio = of_node.cost(bytes, shared).time_s() / of_all.cost(bytes, shared).time_s();
          const std::string name = algorithm + (" of " + std::to_string(where.ranks_per_node)) + " a node, " + to_string(shell);
          EXPECT_GT(ratio, 0.5) << name << ", " << bytes;
          EXPECT_LT(ratio, 1.2) << name << ", " << bytes;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rankwise
