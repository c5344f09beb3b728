#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "cost/cost.hpp"
#include "schedule/transpose.hpp"

namespace nb = nanobind;

void bind_transpose(nb::module_& m) {
  m.def(
      "transpose_cost",
      [](rankwise::Index block_bytes, const std::vector<std::array<rankwise::Index, 3>>& placement,
         const rankwise::Machine& machine) {
        rankwise::Placement locations;
        for (const auto& [node, socket, core] : placement) locations.push_back({node, socket, core});
        const auto ranks = static_cast<rankwise::Index>(locations.size());
        if (ranks < 2) return 0.0;
        return rankwise::Walk(rankwise::SendMode::isend, rankwise::make_transposes(ranks))
            .cost(block_bytes, locations, machine)
            .time_s();
      },
      nb::arg("block_bytes"), nb::arg("placement"), nb::arg("machine"),
      "Seconds of a pairwise transpose among ranks at (node, socket, core) each, block_bytes from each to each. Raises "
      "ValueError when the machine lacks a link class that is needed.");
}
