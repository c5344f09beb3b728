// Auto: tries all algorithms and keeps the best map; of equally good ones that of the simpler algorithm.
#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

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
  std::tuple<Index, Index, const MappingAlgorithm*> least;
  // What is searched comes first, for where a clock has run out a large grid cannot be scored again and again.
  std::vector<const MappingAlgorithm*> order;
  for (const MappingAlgorithm& algorithm : mapping_algorithms()) {
    if (algorithm.in_all) order.push_back(&algorithm);
  }
  if (options.left_s) std::ranges::stable_partition(order, [](const auto* algorithm) { return !algorithm->local; });
  constexpr Index soon_scored = 500'000;
  const Index edges = problem.grid.size() * static_cast<Index>(problem.stencil.offsets().size());
  for (const MappingAlgorithm* const each : order) {
    if (best != nullptr && edges > soon_scored && options.left_s && options.left_s() <= 0) break;
    std::unique_ptr<Mapping> mapping;
    try {
      mapping = each->prepare(problem, options);
    } catch (const std::invalid_argument&) {  // it cannot handle the problem
      continue;
    }
    fill_node_of_cell(*mapping, problem.nodes, node_of_cell);
    const Score found = score(problem.grid, problem.stencil, node_of_cell);
    const bool is_for_sum = options.objective == Objective::j_sum;
    // The table begins with the simple ones.
    const std::tuple value(is_for_sum ? found.j_sum : found.j_max, is_for_sum ? found.j_max : found.j_sum, each);
    if (best != nullptr && value >= least) continue;
    best = std::move(mapping);
    name = each->name;
    least = value;
  }
  return std::make_unique<Picked>(name, std::move(best));
}

}  // namespace rankwise
