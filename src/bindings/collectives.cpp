#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "schedule/collectives.hpp"

namespace nb = nanobind;

namespace {

using rankwise::CollectiveAlgorithm;
using rankwise::CollectiveSpec;
using rankwise::Index;

CollectiveSpec on(CollectiveSpec spec, const rankwise::Placement& placement) {
  if (rankwise::collective_algorithm(spec.kind, spec.algorithm).needs == rankwise::Needs::nodes) {
    spec.nodes = nodes_of(placement);
  }
  return spec;
}

}  // namespace

void bind_collectives(nb::module_& m) {
  nb::class_<CollectiveAlgorithm>(m, "CollectiveAlgorithm", "What is known about an algorithm of a collective.")
      .def_ro("collective", &CollectiveAlgorithm::kind)
      .def_ro("id", &CollectiveAlgorithm::id)
      .def_ro("summary", &CollectiveAlgorithm::summary)
      .def_ro("source", &CollectiveAlgorithm::source)
      .def_ro("segments", &CollectiveAlgorithm::segments, "It may send piece by piece.")
      .def_ro("has_radix", &CollectiveAlgorithm::has_radix, "It takes a radix, or a number of children or chains.")
      .def_prop_ro(
          "needs_nodes", [](const CollectiveAlgorithm& a) { return a.needs == rankwise::Needs::nodes; },
          "It needs to know which ranks share a node.");
  m.def(
      "collective_algorithms",
      [] {
        const auto table = rankwise::collective_algorithms();
        return std::vector<CollectiveAlgorithm>(table.begin(), table.end());
      },
      "All algorithms of collectives, by collective.");
  nb::class_<CollectiveSpec>(m, "Collective", "A collective by an algorithm.")
      .def(
          "__init__",
          [](CollectiveSpec* self, std::string kind, std::string algorithm, Index ranks, Index bytes, Index segment_bytes,
             Index radix, const std::pair<std::string, std::string>& stages, std::vector<Index> counts, Index root) {
            new (self) CollectiveSpec{
                std::move(kind), std::move(algorithm), ranks, bytes, segment_bytes, root, radix, {}, stages.first,
                stages.second,   std::move(counts)};
          },
          nb::arg("collective"), nb::arg("algorithm"), nb::arg("ranks"), nb::arg("bytes"), nb::arg("segment_bytes") = 0,
          nb::arg("radix") = 2, nb::arg("stages") = std::pair<std::string, std::string>(),
          nb::arg("counts") = std::vector<Index>(), nb::arg("root") = 0,
          "``bytes``: of the vector, or of a block where blocks belong to ranks; ``stages``: of node-aware the algorithms "
          "within "
          "nodes and between them; ``counts``: the bytes of each block where they differ.")
      .def_ro("ranks", &CollectiveSpec::ranks)
      .def(
          "why_not", [](const CollectiveSpec& self, const rankwise::Placement& at) { return why_not(on(self, at)); },
          nb::arg("placement"),
          "Return why there is no schedule; empty where there is one. Raises ValueError for unknown names.")
      .def(
          "check",
          [](const CollectiveSpec& self, const rankwise::Placement& at) {
            const CollectiveSpec spec = on(self, at);
            return check_collective(spec, collective_schedules(spec, false));
          },
          nb::arg("placement"), "Return what is wrong with the schedules: empty where every rank ends with the right blocks.")
      .def(
          "messages",
          [](const CollectiveSpec& self, const rankwise::Placement& at) {
            const rankwise::CollectivePlan plan = plan_collective(on(self, at));
            std::vector<std::tuple<Index, Index, Index, Index>> messages;
            for (const auto& one : plan.messages) messages.emplace_back(one.round, one.from, one.to, plan.bytes(one));
            return messages;
          },
          nb::arg("placement"), "Return (round, from, to, bytes) of each message, by round. Raises ValueError.")
      .def(
          "judged",
          [](const CollectiveSpec& self, const rankwise::Placement& at) {
            rankwise::Walk walk(rankwise::SendMode::isend, collective_schedules(on(self, at), true),
                                rankwise::Walk::Of::collective);
            return Judged{std::move(walk).at(at)};
          },
          nb::arg("placement"),
          "Return the collective on a placement, to be priced with blocks of one byte. Raises ValueError.");
}
