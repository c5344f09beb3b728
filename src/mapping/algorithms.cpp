#include "mapping/algorithms.hpp"

#include <algorithm>
#include <string>

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

}  // namespace rankwise
