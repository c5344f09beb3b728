// Blocked: rank r takes cell r.
#include "mapping/algorithms.hpp"

namespace rankwise {

namespace {

class Blocked final : public Mapping {
 public:
  explicit Blocked(Index ranks) : ranks_(ranks) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override { return rank; }
  void all_runs(RunSink& sink) const override { sink.run(0, 1, ranks_); }

 private:
  Index ranks_;
};

}  // namespace

std::unique_ptr<Mapping> prepare_blocked(const MappingProblem& problem) {
  return std::make_unique<Blocked>(problem.grid.size());
}

}  // namespace rankwise
