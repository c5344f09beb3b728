// What the few that stand for all take on the machine of all-different figures, and how many they are.
#include "../figures.hpp"

#include "../machine.hpp"
#include "decide/representatives.hpp"

namespace rankwise {
namespace {

std::string told(const Walk& walk, Index bytes) {
  const Cost cost = walk.cost(bytes, rankwise_test::shared_machine());
  return std::to_string(cost.finish_s.size()) + " ranks, " + std::to_string(walk.steps()) + " steps, " +
         std::to_string(cost.messages_per_rank) + " of " + std::to_string(cost.blocks_per_rank) + rankwise_test::figures(cost) +
         "\n";
}

TEST(Figures, OfTheFewOfExchanges) {
  std::vector<std::int32_t> dealt;
  for (std::int32_t rank = 0; rank < 279; ++rank) dealt.push_back(rank % 23);
  const std::vector<rankwise_test::Where> places{
      {{40, 30}, {true, false}, {1, 2}, Shell::full, Placement::blocked(1200, 12, 5).with_levels({4, 20}), 800},
      {{3, 24, 4}, {false, true, false}, {1, 2, 2}, Shell::full, Placement::blocked(288, 9, 4), 500},
      {{5, 24, 4}, {false, true, false}, {2, 1, 3}, Shell::eighth, Placement::blocked(480, 17), 500},
      {{9, 31}, {true, true}, {1, 2}, Shell::full, Placement::on_nodes(dealt), 3000}};
  std::string text;
  for (const rankwise_test::Where& where : places) {
    rankwise_test::each_exchange(where, [&](const std::string& name, const ExchangeSpec& spec) {
      text += name + ": " + told(walk_of_representatives(spec, Layout(rank_grid(spec), where.placement)), where.bytes);
    });
  }
  rankwise_test::expect_golden("figures_of_the_few.txt", text);
}

TEST(Figures, OfTheFewOfPrograms) {
  std::string text;
  const auto add = [&](const std::string& what, const Program& program, Index per_node) {
    const Placement placement = Placement::blocked(program.grid.size(), per_node, per_node / 2);
    text += what + ": " + told(walk_of_representatives(program, Layout(program.grid, placement)), 600);
  };
  const Stencil lopsided(2, {{0, 3}, {-2, 0}, {1, 1}, {0, -1}}, {5, 1, 2, 3});
  std::vector<Coords> around;
  std::vector<Index> weights;
  for (Index i = -3; i <= 3; ++i) {
    for (Index j = -2; j <= 2; ++j) {
      if (i == 0 && j == 0) continue;
      around.push_back({i, j});
      weights.push_back(20 + 5 * i + j);
    }
  }
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend}) {
    const std::string sent = " by " + to_string(mode);
    add("lopsided" + sent, stencil_program(Grid({30, 20}, {true, false}), lopsided, mode), 8);
    add("all around" + sent, stencil_program(Grid({5, 40}, {false, true}), Stencil(2, around, weights), mode), 7);
    add("all around, open" + sent, stencil_program(Grid({5, 5}, {false, false}), Stencil(2, around, weights), mode), 7);
    for (const bool pairwise : {false, true}) {
      add("columns" + sent, transpose_program(Grid({12, 10}, {false, false}), {0}, pairwise, mode), 6);
      add("rows" + sent, transpose_program(Grid({12, 40}, {false, false}), {1}, pairwise, mode), 6);
      add("both" + sent, transpose_program(Grid({5, 4}, {false, false}), {0, 1}, pairwise, mode), 6);
    }
    const ExchangeSpec halo = make_spec("shift", mode, {10, 12, 3}, {true, false, false}, {1, 2, 1});
    const Placement placement = Placement::blocked(360, 9);
    text += "halo" + sent + ": " + told(walk_of_shift(halo, {7, 3, 2}, Layout(halo.grid, placement)), 60);
  }
  rankwise_test::expect_golden("figures_of_programs.txt", text);
}

}  // namespace
}  // namespace rankwise
