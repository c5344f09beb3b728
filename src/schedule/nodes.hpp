// On which node each rank sits: what algorithms need to know that send little between nodes.
#pragma once

#include <memory>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

// Copies are cheap. Nodes count from 0, in the order of their lowest ranks.
class NodeMap {
 public:
  NodeMap() = default;  // nothing is known
  // So many ranks a node, in order; the last node may have fewer. Throws std::invalid_argument below 1.
  [[nodiscard]] static NodeMap blocked(Index ranks, Index ranks_per_node);
  // node_of_rank: equal numbers for ranks of one node, whatever the numbers.
  [[nodiscard]] static NodeMap of(const std::vector<Index>& node_of_rank);

  [[nodiscard]] bool is_known() const { return ranks_ > 0; }
  [[nodiscard]] Index ranks() const { return ranks_; }
  [[nodiscard]] Index node_of(Index rank) const;
  // How many ranks a node has, and its i-th, in ascending order.
  [[nodiscard]] Index members(Index node) const;
  [[nodiscard]] Index member(Index node, Index i) const;

 private:
  struct Table {
    std::vector<Index> node_of_rank;
    std::vector<std::vector<Index>> members;
  };
  Index ranks_ = 0;
  Index per_node_ = 1;
  std::shared_ptr<const Table> table_;  // null: blocked
};

}  // namespace rankwise
