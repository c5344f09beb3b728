// Auto: tries all algorithms and keeps the best map; of equally good ones that of the simpler algorithm.
#include <stdexcept>
#include <utility>

#include "mapping/algorithms.hpp"
#include "mapping/score.hpp"

namespace rankwise {

namespace {

class Picked final : public Mapping {
 public:
  Picked(std::string_view name, std::unique_ptr<Mapping> mapping) : name_(name), mapping_(std::move(mapping)) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override { return mapping_->cell_of_rank(rank); }
  void all_runs(RunSink& sink) const override { mapping_->all_runs(sink); }
  [[nodiscard]] std::string_view picked() const override { return name_; }
  [[nodiscard]] Index steps() const override { return mapping_->steps(); }

 private:
  std::string_view name_;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace

std::unique_ptr<Mapping> prepare_auto(const MappingProblem& problem, const MappingOptions& options) {
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  std::unique_ptr<Mapping> best;
  std::string_view name;
  std::pair<Index, Index> least;
  for (const MappingAlgorithm& algorithm : mapping_algorithms()) {
    if (!algorithm.in_all) continue;
    std::unique_ptr<Mapping> mapping;
    try {
      mapping = algorithm.prepare(problem, options);
    } catch (const std::invalid_argument&) {  // it cannot handle the problem
      continue;
    }
    fill_node_of_cell(*mapping, problem.nodes, node_of_cell);
    const Score found = score(problem.grid, problem.stencil, node_of_cell);
    std::pair<Index, Index> value(found.j_sum, found.j_max);
    if (options.objective == Objective::j_max) std::swap(value.first, value.second);
    if (best != nullptr && value >= least) continue;
    best = std::move(mapping);
    name = algorithm.name;
    least = value;
  }
  return std::make_unique<Picked>(name, std::move(best));
}

}  // namespace rankwise
