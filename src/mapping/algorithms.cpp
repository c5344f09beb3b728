#include "mapping/algorithms.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mapping/mapping.hpp"
#include "mapping/random.hpp"

namespace rankwise {

namespace {

constexpr std::string_view strips_summary = "strips as wide as a node's best block, filled in snake order";

// For the algorithms that have no options.
template <std::unique_ptr<Mapping> (*prepare)(const MappingProblem&)>
std::unique_ptr<Mapping> plain(const MappingProblem& problem, const MappingOptions& /*options*/) {
  return prepare(problem);
}

constexpr MappingAlgorithm table[] = {
    {"blocked", "ranks in row-major order, as the scheduler leaves them", "hunold2020, section II", true, false, true,
     plain<prepare_blocked>},
    {"hyperplane", "halves the grid at multiples of the node size, across the axes that communicate least",
     "hunold2020, section V-A", true, false, true, plain<prepare_hyperplane>},
    {"kd-tree", "halves the axis that is longest for what it communicates, down to single cells", "hunold2020, section V-B",
     true, false, true, plain<prepare_kd_tree>},
    {"stencil-strips", strips_summary, "hunold2020, section V-C, lengths as the paper prints them", true, false, true,
     plain<prepare_stencil_strips_paper>},
    {"stencil-strips:paper", strips_summary, "hunold2020, section V-C, lengths as the paper prints them", false, false, true,
     plain<prepare_stencil_strips_paper>},
    {"stencil-strips:code", strips_summary, "hunold2020, section V-C, lengths as the authors' library takes them", false, false,
     true, plain<prepare_stencil_strips_code>},
    {"nodecart", "one block of the same shape a node, from the prime factors of the node size", "Gropp 2019", true, true, true,
     plain<prepare_nodecart>},
    {"random", "every rank on a cell drawn at random, from a seed", "hunold2020, appendix", false, false, true, prepare_random},
    {"refined", "the best of several constructions, improved by a search that keeps the node sizes", "this library", true,
     false, false, prepare_refined},
    {"auto", "the best of all, and of equals the simplest", "this library", false, false, false, prepare_auto},
};

}  // namespace

std::span<const MappingAlgorithm> mapping_algorithms() { return table; }

const MappingAlgorithm& mapping_algorithm(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &MappingAlgorithm::name);
  if (found != std::end(table)) return *found;
  std::string names;
  for (const MappingAlgorithm& algorithm : table) {
    names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  invalid("mapping algorithm '" + std::string(name.substr(0, 40)) + "' is unknown: take one of " + names);
}

namespace {

class Annotated final : public Mapping {
 public:
  Annotated(std::unique_ptr<Mapping> mapping, Index steps, std::string_view picked)
      : mapping_(std::move(mapping)), steps_(steps), picked_(picked) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override { return mapping_->cell_of_rank(rank); }
  void all_runs(RunSink& sink) const override { mapping_->all_runs(sink); }
  [[nodiscard]] std::string_view picked() const override { return picked_; }
  [[nodiscard]] Index steps() const override { return steps_; }

 private:
  std::unique_ptr<Mapping> mapping_;
  Index steps_;
  std::string_view picked_;
};

}  // namespace

std::unique_ptr<Mapping> annotated(std::unique_ptr<Mapping> mapping, Index steps, std::string_view picked) {
  return std::make_unique<Annotated>(std::move(mapping), steps, picked);
}

// Auto: tries all algorithms and keeps the best map; of equally good ones that of the simpler algorithm.
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
  const Index steps = best->steps();
  return annotated(std::move(best), steps, name);
}

// Blocked: rank r takes cell r.

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

// Random: every rank takes a cell drawn at random, the baseline of hunold2020's appendix.
//
// The permutation is a Feistel network of four rounds over the least even number of bits that can hold all ranks; an
// image beyond the last rank goes through the network again (cycle walking). So one rank's cell takes no memory, and
// all ranks of a program find the same permutation from the same seed.

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
