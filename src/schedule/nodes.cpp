#include "schedule/nodes.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace rankwise {

NodeMap NodeMap::blocked(Index ranks, Index ranks_per_node) {
  if (ranks_per_node < 1) invalid(std::to_string(ranks_per_node) + " ranks a node are too few: give at least 1");
  NodeMap map;
  map.ranks_ = ranks;
  map.per_node_ = ranks_per_node;
  return map;
}

NodeMap NodeMap::of(const std::vector<Index>& node_of_rank) {
  auto table = std::make_shared<Table>();
  std::map<Index, Index> number;
  for (const Index id : node_of_rank) {
    const auto [known, added] = number.try_emplace(id, static_cast<Index>(table->members.size()));
    if (added) table->members.emplace_back();
    table->members[static_cast<std::size_t>(known->second)].push_back(static_cast<Index>(table->node_of_rank.size()));
    table->node_of_rank.push_back(known->second);
  }
  NodeMap map;
  map.ranks_ = static_cast<Index>(node_of_rank.size());
  map.table_ = std::move(table);
  return map;
}

Index NodeMap::node_of(Index rank) const {
  return table_ ? table_->node_of_rank[static_cast<std::size_t>(rank)] : rank / per_node_;
}

Index NodeMap::members(Index node) const {
  if (table_) return static_cast<Index>(table_->members[static_cast<std::size_t>(node)].size());
  return std::min(per_node_, ranks_ - node * per_node_);
}

Index NodeMap::member(Index node, Index i) const {
  return table_ ? table_->members[static_cast<std::size_t>(node)][static_cast<std::size_t>(i)] : node * per_node_ + i;
}

}  // namespace rankwise
