// What exchanges take on the machine of all-different figures: of all ranks, with steps that were timed, and of the few.
#include "../figures.hpp"

#include "../machine.hpp"

namespace rankwise {
namespace {

using rankwise_test::Where;

std::vector<std::pair<Where, Machine>> places() {
  // Nodes of one to eight ranks, dealt unevenly, of two sockets each; switches above two and six of them.
  const std::vector<std::int32_t> nodes{0, 0, 3, 0, 1, 2, 2, 5, 2, 2, 2, 3, 4, 4, 4, 6, 4, 4, 7, 4};
  std::vector<std::int32_t> sockets;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    sockets.push_back(2 * nodes[rank] + static_cast<std::int32_t>(rank % 3 / 2));
  }
  const Placement uneven = Placement::on_nodes(nodes, sockets).with_levels({2, 6});
  const Machine shared = rankwise_test::shared_machine();
  Machine duplex = shared;
  duplex.card = Resource{1e9 / 0.311, 29e-9};
  Machine crowded = shared;  // of sockets slower than their messages, without switches
  crowded.levels.clear();
  crowded.socket = Resource{1e9 / 0.107};
  crowded.memory = Resource{1e9 / 0.101};
  crowded.card.reset();
  return {{{{5, 4}, {true, false}, {1, 2}, Shell::full, uneven, 700}, shared},
          {{{21}, {false}, {3}, Shell::full, Placement::blocked(21, 4, 3, 2).with_levels({2, 6}), 90}, duplex},
          {{{7, 4, 3}, {false, true, true}, {1, 1, 1}, Shell::eighth, Placement::blocked(84, 28, 11).with_levels({2}), 9000},
           crowded}};
}

TEST(Figures, OfExchanges) {
  std::string text;
  for (const auto& [where, machine] : places()) {
    rankwise_test::each_exchange(where, [&](const std::string& name, const ExchangeSpec& spec) {
      const Walk walk(spec);
      const Cost all = walk.cost_by_steps(where.bytes, where.placement, machine);
      const Cost by_events = Walk(spec).at(where.placement).cost(where.bytes, machine);
      text += name + ", " + std::to_string(all.messages_per_rank) + " of " + std::to_string(all.blocks_per_rank) +
              rankwise_test::figures(all) +
              rankwise_test::figures(walk.cost_by_steps(where.bytes, where.placement, rankwise_test::timed(machine))) +
              rankwise_test::figures(
                  walk_of_representatives(spec, Layout(rank_grid(spec), where.placement)).cost(where.bytes, machine)) +
              rankwise_test::figures(by_events) + "\n";
    });
  }
  rankwise_test::expect_golden("figures_of_exchanges.txt", text);
}

}  // namespace
}  // namespace rankwise
