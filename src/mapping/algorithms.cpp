#include "mapping/algorithms.hpp"

#include <algorithm>
#include <string>

namespace rankwise {

namespace {

constexpr std::string_view strips_summary = "strips as wide as a node's best block, filled in snake order";

constexpr MappingAlgorithm table[] = {
    {"blocked", "ranks in row-major order, as the scheduler leaves them", "hunold2020, section II", true, false, true,
     prepare_blocked},
    {"hyperplane", "halves the grid at multiples of the node size, across the axes that communicate least",
     "hunold2020, section V-A", true, false, true, prepare_hyperplane},
    {"kd-tree", "halves the axis that is longest for what it communicates, down to single cells",
     "hunold2020, section V-B", true, false, true, prepare_kd_tree},
    {"stencil-strips", strips_summary, "hunold2020, section V-C, lengths as the paper prints them", true, false, true,
     prepare_stencil_strips_paper},
    {"stencil-strips:paper", strips_summary, "hunold2020, section V-C, lengths as the paper prints them", false, false,
     true, prepare_stencil_strips_paper},
    {"stencil-strips:code", strips_summary, "hunold2020, section V-C, lengths as the authors' library takes them",
     false, false, true, prepare_stencil_strips_code},
    {"nodecart", "one block of the same shape a node, from the prime factors of the node size", "Gropp 2019", true,
     true, true, prepare_nodecart},
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
