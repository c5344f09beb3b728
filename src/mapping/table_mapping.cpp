#include "mapping/table_mapping.hpp"

#include <utility>

namespace rankwise {

namespace {

class TableMapping final : public Mapping {
 public:
  explicit TableMapping(std::vector<Index> cell_of_rank) : cell_of_rank_(std::move(cell_of_rank)) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override { return cell_of_rank_[static_cast<std::size_t>(rank)]; }

  void all_runs(RunSink& sink) const override {
    for (std::size_t begin = 0; begin < cell_of_rank_.size();) {
      std::size_t end = begin + 1;
      while (end < cell_of_rank_.size() && cell_of_rank_[end] == cell_of_rank_[end - 1] + 1) ++end;
      sink.run(cell_of_rank_[begin], 1, static_cast<Index>(end - begin));
      begin = end;
    }
  }

 private:
  std::vector<Index> cell_of_rank_;
};

}  // namespace

std::unique_ptr<Mapping> table_mapping(const NodeSizes& nodes, std::span<const NodeId> node_of_cell) {
  std::vector<Index> next_rank;
  next_rank.reserve(static_cast<std::size_t>(nodes.nodes()));
  Index rank = 0;
  for (Index node = 0; node < nodes.nodes(); ++node) {
    next_rank.push_back(rank);
    rank += nodes.size(node);
  }
  std::vector<Index> cell_of_rank(node_of_cell.size());
  for (std::size_t cell = 0; cell < node_of_cell.size(); ++cell) {
    Index& next = next_rank[static_cast<std::size_t>(node_of_cell[cell])];
    cell_of_rank[static_cast<std::size_t>(next++)] = static_cast<Index>(cell);
  }
  return std::make_unique<TableMapping>(std::move(cell_of_rank));
}

}  // namespace rankwise
