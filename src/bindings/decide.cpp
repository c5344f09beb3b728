#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "decide/contest.hpp"
#include "decide/fft_judge.hpp"

namespace nb = nanobind;

namespace {

using rankwise::Index;

rankwise::Question question(std::vector<Index> dims, std::vector<bool> periodic, std::vector<int> cutoff,
                            const std::string& shell, std::vector<std::string> algorithms,
                            const std::vector<std::string>& modes, std::vector<Index> replications) {
  rankwise::Question question{rankwise::Grid(std::move(dims), std::move(periodic)),
                              std::move(cutoff),
                              rankwise::parse_shell(shell),
                              std::move(algorithms),
                              {},
                              std::move(replications)};
  for (const std::string& mode : modes) question.modes.push_back(rankwise::parse_send_mode(mode));
  return question;
}

}  // namespace

void bind_decide(nb::module_& m) {
  m.def("fft_groups", &rankwise::fft_groups, nb::arg("batch"), nb::arg("together"),
        "Return the groups of a batch whose fields travel together: (how many, fields).");
  m.def("fft_together", &rankwise::fft_together, nb::arg("ranks"), nb::arg("batch"), nb::arg("field_bytes"),
        "Return how many fields may travel together.");
  m.def("fft_hidden", &rankwise::fft_hidden, nb::arg("groups"), nb::arg("chunks"), nb::arg("in_flight"),
        "Return how often the smaller of local work and exchange is hidden in so many groups.");
  using rankwise::Contest;
  using rankwise::Ranked;
  nb::class_<Ranked>(m, "Ranked", "A way to carry out an exchange, and what it costs.")
      .def_prop_ro("algorithm", [](const Ranked& r) { return r.candidate.algorithm; })
      .def_prop_ro("mode", [](const Ranked& r) { return rankwise::to_string(r.candidate.mode); })
      .def_prop_ro("replication", [](const Ranked& r) { return r.candidate.replication; })
      .def_prop_ro("name", [](const Ranked& r) { return rankwise::to_string(r.candidate); })
      .def_ro("time_s", &Ranked::time_s)
      .def_ro("low_s", &Ranked::low_s, "Within these 95 % of simulations of the same machine lie.")
      .def_ro("high_s", &Ranked::high_s)
      .def_ro("empty_s", &Ranked::empty_s, "Of it with blocks of 0 B: what the number of messages costs.")
      .def_ro("messages", &Ranked::messages, "Of the rank that sends most.")
      .def_ro("bytes", &Ranked::bytes, "Likewise.")
      .def_ro("steps", &Ranked::steps, "One after the other, of the import or the way back.");
  nb::class_<Contest>(m, "Contest", "Candidates for one exchange, to be ranked for any block size and machine.")
      .def(
          "__init__",
          [](Contest* self, std::vector<Index> dims, std::vector<bool> periodic, std::vector<int> cutoff,
             const std::string& shell, std::vector<std::string> algorithms, const std::vector<std::string>& modes,
             std::vector<Index> replications, const rankwise::Placement& placement) {
            const rankwise::Question asked = question(std::move(dims), std::move(periodic), std::move(cutoff), shell,
                                                      std::move(algorithms), modes, std::move(replications));
            new (self) Contest(asked, placement);
          },
          nb::arg("dims"), nb::arg("periodic"), nb::arg("cutoff"), nb::arg("shell"), nb::arg("algorithms"), nb::arg("modes"),
          nb::arg("replications"), nb::arg("placement"),
          "Empty lists of algorithms, modes and replications mean all there are. "
          "Raises ValueError where nothing fits.")
      .def("ranked", &Contest::ranked, nb::arg("block_bytes"), nb::arg("machine"),
           "Return the candidates, fastest first. Raises ValueError where the machine lacks a link.")
      .def(
          "ranked_one",
          [](const Contest& self, const Ranked& r, Index block_bytes, const rankwise::Machine& machine) {
            return self.ranked_one(r.candidate, block_bytes, machine);
          },
          nb::arg("ranked"), nb::arg("block_bytes"), nb::arg("machine"), "Return one of the candidates.")
      .def(
          "message_blocks", [](const Contest& self, const Ranked& r) { return self.message_blocks(r.candidate); },
          nb::arg("ranked"), "Return the numbers of blocks that the messages of a candidate have.");
  m.def("reason", &rankwise::reason, nb::arg("ranked"), nb::arg("intervals_s") = std::vector<std::pair<double, double>>{},
        "Return why the first of the ranked candidates is ahead, in words; intervals_s of each, in order: those that meet "
        "cannot be told apart. Raises ValueError where there are fewer or more of these than candidates.");
}
