// What ranks share: answers that are known, and what must hold whatever is asked.
#include "cost/loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include "../machine.hpp"
#include "../refused.hpp"
#include "../rounds.hpp"
#include "decide/representatives.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise {
namespace {

constexpr double gb_per_s = 1e9;

// Inside a node 0.5 us + 0.1 ns/B, between nodes 1 us + 1 ns/B; no gap.
Machine machine(double card_bytes_per_s) {
  const TimeCurve inside({{0, 0.5e-6, 0.1e-9}});
  const TimeCurve outside({{0, 1e-6, 1e-9}});
  const TimeCurve none({{0, 0.0, 0.0}});
  Machine machine;
  machine.links[static_cast<std::size_t>(LinkClass::same_socket)] = LinkCost{inside, inside, inside, none, 0.0};
  machine.links[static_cast<std::size_t>(LinkClass::other_node)] = LinkCost{outside, outside, outside, none, 0.0};
  machine.card = Resource{card_bytes_per_s};
  return machine;
}

Placement cyclic(Index ranks, Index nodes) {
  std::vector<std::int32_t> node_of_rank;
  for (Index rank = 0; rank < ranks; ++rank) node_of_rank.push_back(static_cast<std::int32_t>(rank % nodes));
  return Placement::on_nodes(node_of_rank);
}

Cost of_all(const ExchangeSpec& spec, const Placement& placement, Index bytes, const Machine& on) {
  return Walk(spec).cost_by_steps(bytes, placement, on);
}

Cost of_representatives(const ExchangeSpec& spec, const Placement& placement, Index bytes, const Machine& on) {
  return walk_of_representatives(spec, Layout(rank_grid(spec), placement)).cost(bytes, on);
}

ExchangeSpec periodic(const char* algorithm, SendMode mode, std::vector<Index> dims) {
  const std::vector<bool> wraps(dims.size(), true);
  const std::vector<int> layers(dims.size(), 1);
  return make_spec(algorithm, mode, std::move(dims), wraps, layers);
}

TEST(Loads, KnownAnswersOfExchanges) {
  struct Known {
    ExchangeSpec spec;
    Placement placement;
    double slow_us;   // with a card as fast as one message
    double quick_us;  // four times as fast
  };
  const Placement pairs = Placement::blocked(8, 2);
  const Placement dealt = cyclic(8, 4);
  const Placement packed = Placement::blocked(64, 16);
  const std::vector<Known> cases{
      {periodic("shift", SendMode::isend, {8}), pairs, 21, 11},
      {periodic("shift", SendMode::isend, {8}), dealt, 41, 11},
      {periodic("shift", SendMode::ssend, {8}), pairs, 25, 25},
      {periodic("shift", SendMode::ssend, {8}), dealt, 84, 44},
      {periodic("direct", SendMode::isend, {4, 4, 4}), packed, 2881, 721},
      {periodic("shift", SendMode::isend, {4, 4, 4}), packed, 2886, 726},
  };
  for (const Known& known : cases) {
    for (const auto& [rate, us] : {std::pair{gb_per_s, known.slow_us}, std::pair{4 * gb_per_s, known.quick_us}}) {
      EXPECT_NEAR(of_all(known.spec, known.placement, 10000, machine(rate)).time_s(), us * 1e-6, 1e-12);
      EXPECT_NEAR(of_representatives(known.spec, known.placement, 10000, machine(rate)).time_s(), us * 1e-6, 1e-12);
    }
  }
}

TEST(Loads, FewRanksThatStandForAllAreNotNamedWhereALinkIsMissing) {
  const auto refused = [](Index on_node) {
    const Placement placement = Placement::blocked(64, on_node);
    return rankwise_test::error_of(
        [&] { (void)of_representatives(periodic("direct", SendMode::isend, {64}), placement, 8, Machine{}); });
  };
  EXPECT_EQ(refused(7), "the profile has no link class other-node, which ranks of different nodes need: measure or import it");
  EXPECT_EQ(refused(64), "the profile has no link class same-socket, which ranks of one node need: measure or import it");
}

TEST(Loads, PlainSendsThatWaitShareAsSynchronousOnesDo) {
  Machine waiting = machine(gb_per_s);
  for (auto& link : waiting.links) {
    if (link) link->rendezvous_from_bytes = 1000;
  }
  for (const Placement& placement : {Placement::blocked(8, 2), cyclic(8, 4)}) {
    for (const char* algorithm : {"shift", "direct"}) {
      const ExchangeSpec send = periodic(algorithm, SendMode::send, {8});
      const ExchangeSpec ssend = periodic(algorithm, SendMode::ssend, {8});
      EXPECT_EQ(of_all(send, placement, 10000, waiting).time_s(), of_all(ssend, placement, 10000, waiting).time_s());
      EXPECT_EQ(of_representatives(send, placement, 10000, waiting).time_s(),
                of_representatives(ssend, placement, 10000, waiting).time_s());
      const auto seated_s = [&](const ExchangeSpec& spec) { return Walk(spec).at(placement).cost(10000, waiting).time_s(); };
      EXPECT_EQ(seated_s(send), seated_s(ssend));
    }
  }
}

TEST(Loads, OneStepTakesALatencyAndTheMessagesOfTheBusiestNode) {
  for (const Index ranks_per_node : {4, 8}) {
    const Index ranks = 2 * ranks_per_node;
    const Grid grid({ranks}, {true});
    const Placement placement = Placement::blocked(ranks, ranks_per_node);
    const Program program = stencil_program(grid, Stencil(1, {{ranks_per_node}}));
    const Walk few = walk_of_representatives(program, Layout(grid, placement));
    const auto j_max = static_cast<double>(ranks_per_node);
    EXPECT_NEAR(few.cost(10000, machine(gb_per_s)).time_s(), 1e-6 + j_max * 10e-6, 1e-12);
    EXPECT_NEAR(few.cost(10000, machine(4 * gb_per_s)).time_s(), 1e-6 + std::max(10e-6, j_max * 2.5e-6), 1e-12);
  }
}

TEST(Loads, NoMoreBytesPassACardThanWereMeasuredForIt) {
  // Messages of 3 us leave a node, alone or eight at once, by a card that passes one in 20 us.
  Machine burst = machine(gb_per_s / 2);
  LinkCost& link = *burst.links.back();
  link.send = link.exchange = TimeCurve({{0, 1e-6, 0.2e-9}});
  const Grid grid({16}, {true});
  for (const auto& [distance, own_s, card_s] : {std::tuple{1, 3e-6, 20e-6}, {8, 3e-6 + 7 * 20e-6, 8 * 20e-6}}) {
    const Walk walk =
        walk_of_representatives(stencil_program(grid, Stencil(1, {{distance}})), Layout(grid, Placement::blocked(16, 8)));
    const Cost cost = walk.cost(10000, burst);
    EXPECT_NEAR(*std::max_element(cost.finish_s.begin(), cost.finish_s.end()), own_s, 1e-12) << distance;
    EXPECT_NEAR(cost.time_s(), card_s, 1e-12) << distance;
  }
}

TEST(Loads, ACardPassesSoManyMessagesASecond) {
  const Grid grid({16}, {true});
  const Placement placement = Placement::blocked(16, 8);
  const Walk walk = walk_of_representatives(stencil_program(grid, Stencil(1, {{8}})), Layout(grid, placement));
  Machine slow = machine(4 * gb_per_s);
  slow.card->least_s = 3e-6;
  EXPECT_NEAR(walk.cost(8, slow).time_s(), 1e-6 + 8 * 3e-6, 1e-12);
  EXPECT_NEAR(walk.cost(8, slow).busiest.held_s, 8 * 3e-6, 1e-12);
}

// Questions drawn at random.
struct Drawn {
  ExchangeSpec spec;
  Placement placement;
  Index bytes;
};

class Draws {
 public:
  explicit Draws(bool only_periodic = false) : only_periodic_(only_periodic) {}

  Drawn operator()() {
    while (true) {
      const int ndim = between(1, 3);
      std::vector<Index> dims;
      for (int axis = 0; axis < ndim; ++axis) dims.push_back(between(1, ndim == 1 ? 40 : 8));
      const std::vector<bool> wraps(dims.size(), only_periodic_ || between(0, 1) == 1);
      const std::vector<int> layers(dims.size(), between(1, 2));
      const char* algorithm = std::array{"direct", "shift", "comb"}[static_cast<std::size_t>(between(0, 2))];
      const SendMode mode =
          std::array{SendMode::isend, SendMode::ssend, SendMode::send}[static_cast<std::size_t>(between(0, 2))];
      const Index ranks = std::accumulate(dims.begin(), dims.end(), Index{1}, std::multiplies<>());
      if (ranks > 120 || ranks < 2) continue;
      const Index n = between(1, 12);
      const Index bytes = std::array<Index, 4>{0, 8, 700, 90000}[static_cast<std::size_t>(between(0, 3))];
      Placement placement = between(0, 1) == 1 ? Placement::blocked(ranks, n) : cyclic(ranks, (ranks - 1) / n + 1);
      return {make_spec(algorithm, mode, std::move(dims), wraps, layers), std::move(placement), bytes};
    }
  }

  std::mt19937& random() { return random_; }

 private:
  int between(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  bool only_periodic_;
  std::mt19937 random_{7};
};

TEST(Loads, MoreCardIsNeverSlowerAndNothingIsQuickerThanWithoutSharing) {
  Draws draw;
  for (int i = 0; i < 200; ++i) {
    const Drawn drawn = draw();
    const Walk walk(drawn.spec);
    const Walk few = walk_of_representatives(drawn.spec, Layout(rank_grid(drawn.spec), drawn.placement));
    double all_s = INFINITY;
    double few_s = INFINITY;
    for (const double rate : {1.0, 1.7, 4.0, 30.0, 1e9}) {  // the last: nothing is shared
      const double now_s = walk.cost_by_steps(drawn.bytes, drawn.placement, machine(rate * gb_per_s)).time_s();
      const double few_now_s = few.cost(drawn.bytes, machine(rate * gb_per_s)).time_s();
      EXPECT_TRUE(std::isfinite(now_s) && std::isfinite(few_now_s));
      EXPECT_LE(now_s, all_s * (1 + 1e-12)) << drawn.spec.algorithm << " " << to_string(drawn.spec.mode);
      EXPECT_LE(few_now_s, few_s * (1 + 1e-12)) << drawn.spec.algorithm << " " << to_string(drawn.spec.mode);
      all_s = now_s;
      few_s = few_now_s;
    }
  }
}

TEST(Loads, ANodesNumberMakesNoDifference) {
  Draws draw;
  for (int i = 0; i < 100; ++i) {
    const Drawn drawn = draw();
    std::vector<std::int32_t> others(static_cast<std::size_t>(drawn.placement.nodes()));
    std::iota(others.begin(), others.end(), 0);
    std::shuffle(others.begin(), others.end(), draw.random());
    std::vector<std::int32_t> node_of_rank;
    for (Index rank = 0; rank < drawn.placement.ranks(); ++rank) {
      node_of_rank.push_back(others[static_cast<std::size_t>(drawn.placement.node(rank))]);
    }
    const double time_s = of_all(drawn.spec, drawn.placement, drawn.bytes, machine(2 * gb_per_s)).time_s();
    const double renamed_s = of_all(drawn.spec, Placement::on_nodes(node_of_rank), drawn.bytes, machine(2 * gb_per_s)).time_s();
    EXPECT_NEAR(renamed_s, time_s, 1e-12 * time_s);
  }
}

TEST(Loads, OneMessageAtATimeOfOneRankANodeSharesNothing) {
  for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{8}, {4, 6}, {2, 4, 6}}) {
    const ExchangeSpec spec = periodic("shift", SendMode::ssend, dims);
    const Placement placement = Placement::blocked(spec.ranks(), 1);
    for (const Index bytes : {Index{0}, Index{8}, Index{90000}}) {
      const double alone_s = of_all(spec, placement, bytes, machine(1e9 * gb_per_s)).time_s();
      EXPECT_NEAR(of_all(spec, placement, bytes, machine(gb_per_s)).time_s(), alone_s, 1e-12 * alone_s);
      EXPECT_NEAR(of_representatives(spec, placement, bytes, machine(gb_per_s)).time_s(), alone_s, 1e-12 * alone_s);
    }
  }
}

TEST(Loads, TheFewKnowWhatSocketsAndSwitchesShare) {
  const Machine shared = rankwise_test::shared_machine();
  Draws draw(true);
  for (int i = 0; i < rankwise_test::rounds(100); ++i) {
    const Drawn drawn = draw();
    const Index per_node = drawn.placement.most_on_a_node();
    const Placement placement = Placement::blocked(drawn.spec.ranks(), per_node, (per_node + 1) / 2).with_levels({2, 6});
    const Cost all = of_all(drawn.spec, placement, drawn.bytes, shared);
    const Cost few = of_representatives(drawn.spec, placement, drawn.bytes, shared);
    EXPECT_GE(few.busiest.held_s, all.busiest.held_s * (1 - 1e-9)) << drawn.spec.algorithm << " " << i;
    EXPECT_LE(few.busiest.held_s, all.busiest.held_s * 1.12) << drawn.spec.algorithm << " " << i;
    EXPECT_GE(few.time_s(), all.time_s() * 0.7) << drawn.spec.algorithm << " " << to_string(drawn.spec.mode) << " " << i;
    EXPECT_LE(few.time_s(), all.time_s() * 1.2) << drawn.spec.algorithm << " " << to_string(drawn.spec.mode) << " " << i;
  }
}

TEST(Loads, TheFewKnowHowBusyTheBusiestNodeIs) {
  Draws draw(true);
  int shared = 0;
  for (int i = 0; i < 300; ++i) {
    const Drawn drawn = draw();
    const Busiest all = of_all(drawn.spec, drawn.placement, drawn.bytes, machine(gb_per_s)).busiest;
    const Busiest few = of_representatives(drawn.spec, drawn.placement, drawn.bytes, machine(gb_per_s)).busiest;
    EXPECT_GE(few.held_s, all.held_s * (1 - 1e-9)) << drawn.spec.algorithm;
    EXPECT_LE(few.held_s, all.held_s * 1.12) << drawn.spec.algorithm;
    shared += all.held_s > 0 ? 1 : 0;
  }
  EXPECT_GT(shared, 100);
}

}  // namespace
}  // namespace rankwise
