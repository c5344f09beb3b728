#include "decide/representatives.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "../machine.hpp"
#include "../rounds.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise {
namespace {

using rankwise_test::EveryNth;
using rankwise_test::machine;

Placement on_one_node(Index ranks) { return Placement::blocked(ranks, ranks); }

// All ranks of an exchange on one node, and the few that stand for them.
class Both {
 public:
  // timed: on a machine whose steps themselves were timed.
  explicit Both(const ExchangeSpec& spec, bool timed = false)
      : machine_(timed ? rankwise_test::timed(machine()) : machine()),
        placement_(on_one_node(spec.ranks())),
        all_(spec),
        few_(walk_of_representatives(spec, Layout(rank_grid(spec), placement_))) {}

  double all_s(Index bytes) const { return all_.cost_by_steps(bytes, placement_, machine_).time_s(); }
  double few_s(Index bytes) const { return few_.cost(bytes, machine_).time_s(); }

 private:
  Machine machine_;
  Placement placement_;
  Walk all_;
  Walk few_;
};

// The algorithms whose ranks stand for others by their place on the grid.
std::vector<std::string> with_window() {
  std::vector<std::string> ids;
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    if (!algorithm.has_teams && !algorithm.needs_nodes) ids.emplace_back(algorithm.id);
  }
  return ids;
}

class FewStandForAll : public ::testing::TestWithParam<SendMode> {};

TEST_P(FewStandForAll, OnPeriodicGridsExactly) {
  EveryNth cases(5);
  const std::vector<std::vector<Index>> grids{{64}, {31}, {16, 12}, {4, 30}, {6, 4, 6}, {2, 10, 1}};
  for (const std::string& algorithm : with_window()) {
    for (const Shell shell : {Shell::full, Shell::eighth}) {
      if (!why_not(algorithm, GetParam(), shell).empty()) continue;
      for (const std::vector<Index>& dims : grids) {
        const bool odd = dims[0] % 2 == 1;
        if (odd && is_blocking(GetParam()) && algorithm == "shift") continue;  // below
        for (const int k : {1, 2, 5}) {
          if (cases.passes_over()) continue;
          const std::vector<bool> periodic(dims.size(), true);
          const ExchangeSpec spec = make_spec(algorithm, GetParam(), dims, periodic, std::vector<int>(dims.size(), k), shell);
          for (const bool timed : {false, true}) {
            const Both both(spec, timed);
            for (const Index bytes : {0, 800, 20000}) {
              const double all_s = both.all_s(bytes);
              EXPECT_NEAR(both.few_s(bytes), all_s, 1e-12 + 1e-9 * all_s)
                  << algorithm << " k=" << k << " on " << dims[0] << "x.. (" << dims.size() << " axes), " << bytes << " B"
                  << (timed ? ", timed" : "");
            }
          }
        }
      }
    }
  }
}

TEST_P(FewStandForAll, OnOpenGridsToAFewPercent) {
  EveryNth cases(5);
  for (const std::string& algorithm : with_window()) {
    if (!why_not(algorithm, GetParam(), Shell::full).empty()) continue;
    for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{64}, {3, 20}, {12, 14}, {4, 7, 8}}) {
      for (const int k : {1, 2}) {
        if (cases.passes_over()) continue;
        const std::vector<bool> open(dims.size(), false);
        const ExchangeSpec spec = make_spec(algorithm, GetParam(), dims, open, std::vector<int>(dims.size(), k));
        const Both both(spec);
        for (const Index bytes : {100, 20000}) {
          const double all = both.all_s(bytes);
          EXPECT_NEAR(both.few_s(bytes), all, 0.05 * all) << algorithm << " k=" << k << " " << dims[0] << ", " << bytes;
        }
      }
    }
  }
}

TEST_P(FewStandForAll, OnShortOpenGridsToAFewPercentInTheMean) {
  EveryNth cases(4);
  // No rank is far from a border, and there are too many to walk them all. Plain sends all begin with the same partners,
  // which lines and rings do not show.
  const bool plain = GetParam() == SendMode::send;
  for (const std::string& algorithm : with_window()) {
    for (const Shell shell : {Shell::full, Shell::eighth}) {
      if (!why_not(algorithm, GetParam(), shell).empty()) continue;
      double off = 0.0;
      int count = 0;
      for (const std::vector<Index>& dims :
           std::vector<std::vector<Index>>{{5, 5, 5}, {4, 4, 4}, {3, 12, 4}, {2, 6, 5}, {7, 7}}) {
        const std::vector<bool> open(dims.size(), false);
        for (const int k : {1, 2, 4}) {
          if (cases.passes_over()) continue;
          const ExchangeSpec spec = make_spec(algorithm, GetParam(), dims, open, std::vector<int>(dims.size(), k), shell);
          const Both both(spec);
          for (const Index bytes : {0, 800, 20000}) {
            const double ratio = both.few_s(bytes) / both.all_s(bytes);
            off += std::abs(ratio - 1.0);
            ++count;
            EXPECT_GE(ratio, plain || shell == Shell::eighth ? 0.45 : 0.8) << algorithm << " k=" << k << ", " << bytes;
            EXPECT_LE(ratio, 1.15) << algorithm << " k=" << k << ", " << bytes;
          }
        }
      }
      EXPECT_LE(off / count, plain && algorithm == "direct" ? 0.3 : 0.1) << algorithm << " " << to_string(shell);
    }
  }
}

TEST_P(FewStandForAll, OnOpenLinesThatHaveTooManyRanks) {
  for (const std::string& algorithm : with_window()) {
    if (!why_not(algorithm, GetParam(), Shell::full).empty()) continue;
    for (const int k : {16, 20, 35}) {
      const Both both(make_spec(algorithm, GetParam(), {36, 4}, {false, false}, {k, 2}));
      for (const Index bytes : {0, 20000}) {
        const double ratio = both.few_s(bytes) / both.all_s(bytes);
        EXPECT_GE(ratio, 0.3) << algorithm << " k=" << k << ", " << bytes;
        EXPECT_LE(ratio, 1.3) << algorithm << " k=" << k << ", " << bytes;
      }
    }
  }
}

TEST(Few, OfOneRankAreOne) {
  // It only copies its block to the images of itself.
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self}) {
    const ExchangeSpec spec = make_spec("shift", mode, {1, 1}, {true, true}, {2, 2});
    const Both both(spec);
    EXPECT_EQ(both.few_s(1000), 0.0);
    EXPECT_EQ(both.all_s(1000), 0.0);
  }
}

TEST(Few, OfAShortOpenGridAreOne) {
  // 729 ranks of 728 partners would make half a million messages.
  const ExchangeSpec spec = make_spec("direct", SendMode::isend, {9, 9, 9}, {false, false, false}, {4, 4, 4});
  const Placement placement = Placement::blocked(spec.ranks(), 1);
  const Walk walk = walk_of_representatives(spec, Layout(spec.grid, placement));
  const Cost cost = walk.cost(100, machine());
  EXPECT_EQ(cost.finish_s.size(), 1U);
  EXPECT_EQ(cost.messages_per_rank, 728);
}

TEST_P(FewStandForAll, WithTheirPartnersOnOtherNodesWhereNotAllNodesAreCounted) {
  for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{16, 16, 16}, {8, 8, 16}, {16, 16, 8}}) {
    if (!why_not("shift", GetParam(), Shell::full).empty()) continue;
    const ExchangeSpec spec = make_spec("shift", GetParam(), dims, {true, true, true}, {1, 1, 1});
    const Placement apart = Placement::blocked(spec.ranks(), 1);
    const double few = walk_of_representatives(spec, Layout(rank_grid(spec), apart)).cost(1000, machine()).time_s();
    EXPECT_NEAR(few, Walk(spec).cost_by_steps(1000, apart, machine()).time_s(), 1e-12)
        << dims[0] << "x" << dims[1] << "x" << dims[2];
  }
}

TEST_P(FewStandForAll, WhereAllNodesAreAlike) {
  // A row is a node, and rows are rings: every node has the same to do, inside and outside.
  const Machine shared = rankwise_test::shared_machine();
  for (const std::string& algorithm : with_window()) {
    if (!why_not(algorithm, GetParam(), Shell::full).empty()) continue;
    const ExchangeSpec spec = make_spec(algorithm, GetParam(), {12, 8}, {true, true}, {1, 1});
    const Placement rows = Placement::blocked(spec.ranks(), 8);
    const Walk all(spec);
    const Walk few = walk_of_representatives(spec, Layout(spec.grid, rows));
    for (const Index bytes : {8, 20000}) {
      const Cost expected = all.cost_by_steps(bytes, rows, shared);
      const Cost found = few.cost(bytes, shared);
      EXPECT_NEAR(found.time_s(), expected.time_s(), 0.004 * expected.time_s()) << algorithm << " " << bytes;
      EXPECT_NEAR(found.busiest.held_s, expected.busiest.held_s, 1e-12) << algorithm << " " << bytes;
      EXPECT_EQ(found.busiest.resource, expected.busiest.resource) << algorithm << " " << bytes;
      EXPECT_NEAR(found.busiest.bytes, expected.busiest.bytes, 0.5) << algorithm << " " << bytes;
      EXPECT_EQ(found.messages_per_rank, expected.messages_per_rank);
      EXPECT_EQ(found.blocks_per_rank, expected.blocks_per_rank);
    }
  }
}

TEST_P(FewStandForAll, OnOddRingsToTheWaitAtTheSeam) {
  // Where an odd ring closes two ranks send in the same phase; what waits for them is not seen from the middle.
  for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{3}, {5, 20}, {9, 31}, {101}}) {
    const std::vector<bool> periodic(dims.size(), true);
    for (const int k : {1, 2, 4}) {
      const ExchangeSpec spec = make_spec("shift", GetParam(), dims, periodic, std::vector<int>(dims.size(), k));
      const Both both(spec);
      const double all = both.all_s(1000);
      const double seam = 2.5 * static_cast<double>(dims.size()) * 11 * rankwise_test::near_link().ssend(1000);
      EXPECT_LE(both.few_s(1000), all + 1e-12) << dims[0] << " k=" << k;
      EXPECT_GE(both.few_s(1000), all - seam) << dims[0] << " k=" << k;
    }
  }
}

TEST_P(FewStandForAll, MembersStandForTeams) {
  EveryNth cases(5);
  for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{64}, {12, 10}, {4, 4, 6}}) {
    const std::vector<bool> periodic(dims.size(), true);
    for (const Index c : {1, 2, 4, 8}) {
      for (const int k : {1, 2}) {
        if (cases.passes_over()) continue;
        const ExchangeSpec spec = make_spec("team-shift", GetParam() == SendMode::isend_self ? SendMode::isend : GetParam(),
                                            dims, periodic, std::vector<int>(dims.size(), k), Shell::full, c);
        const Both both(spec);
        const double all = both.all_s(1000);
        EXPECT_NEAR(both.few_s(1000), all, 0.05 * all) << dims[0] << " c=" << c << " k=" << k;
      }
    }
  }
}

TEST_P(FewStandForAll, MembersStandForTeamsOfOpenGridsToAFewPercentInTheMean) {
  EveryNth cases(4);
  const SendMode mode = GetParam() == SendMode::isend_self ? SendMode::isend : GetParam();
  for (const Index c : {2, 4, 8}) {
    double off = 0.0;
    int count = 0;
    for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{64}, {12, 10}, {7, 7}, {5, 5, 5}, {3, 12, 4}}) {
      for (const int k : {1, 2, 3}) {
        if (cases.passes_over()) continue;
        const ExchangeSpec spec = make_spec("team-shift", mode, dims, std::vector<bool>(dims.size(), false),
                                            std::vector<int>(dims.size(), k), Shell::full, c);
        const Both both(spec);
        const double ratio = both.few_s(800) / both.all_s(800);
        off += std::abs(ratio - 1.0);
        ++count;
        EXPECT_GE(ratio, 0.75) << dims[0] << " c=" << c << " k=" << k;
        EXPECT_LE(ratio, 1.25) << dims[0] << " c=" << c << " k=" << k;
      }
    }
    EXPECT_LE(off / count, 0.07) << "c=" << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FewStandForAll,
                         ::testing::Values(SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self,
                                           SendMode::persistent));

}  // namespace
}  // namespace rankwise
