// Snake: rank r takes the r-th cell on a way through the grid that turns round at the end of each row.
#include "mapping/algorithms.hpp"

namespace rankwise {

namespace {

class Snake final : public Mapping {
 public:
  explicit Snake(const Grid& grid) : ranks_(grid.size()), row_(grid.dims().back()) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    const Index row = rank / row_;
    const Index column = rank % row_;
    return row * row_ + (row % 2 == 0 ? column : row_ - 1 - column);
  }

  void all_runs(RunSink& sink) const override {
    for (Index first = 0; first < ranks_; first += row_) {
      const bool back = first / row_ % 2 == 1;
      sink.run(back ? first + row_ - 1 : first, back ? -1 : 1, row_);
    }
  }

 private:
  Index ranks_;
  Index row_;
};

}  // namespace

std::unique_ptr<Mapping> prepare_snake(const MappingProblem& problem) { return std::make_unique<Snake>(problem.grid); }

}  // namespace rankwise
