// Random: every rank takes a cell drawn at random, the baseline of hunold2020's appendix.
//
// The permutation is a Feistel network of four rounds over the least even number of bits that can hold all ranks; an
// image beyond the last rank goes through the network again (cycle walking). So one rank's cell takes no memory, and
// all ranks of a program find the same permutation from the same seed.
#include "mapping/algorithms.hpp"
#include "mapping/random.hpp"

namespace rankwise {

namespace {

class RandomMapping final : public Mapping {
 public:
  RandomMapping(Index ranks, std::uint64_t seed) : ranks_(ranks), seed_(mixed(seed)) {
    while ((Index{1} << (2 * half_bits_)) < ranks) ++half_bits_;
  }

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    auto value = static_cast<std::uint64_t>(rank);
    do {
      value = permuted(value);
    } while (value >= static_cast<std::uint64_t>(ranks_));
    return static_cast<Index>(value);
  }

  void all_runs(RunSink& sink) const override {
    for (Index rank = 0; rank < ranks_; ++rank) sink.run(cell_of_rank(rank), 1, 1);
  }

 private:
  [[nodiscard]] std::uint64_t permuted(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(seed_ ^ (right << 2) ^ round) & mask);
      left = right;
      right = next;
    }
    return (left << half_bits_) | right;
  }

  Index ranks_;
  std::uint64_t seed_;
  int half_bits_ = 0;
};

}  // namespace

std::unique_ptr<Mapping> prepare_random(const MappingProblem& problem, const MappingOptions& options) {
  return std::make_unique<RandomMapping>(problem.grid.size(), options.seed);
}

}  // namespace rankwise
