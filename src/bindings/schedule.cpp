#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "cost/cost.hpp"
#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace nb = nanobind;

namespace {

using rankwise::Index;

using Lines = std::vector<std::tuple<Index, double, double>>;

rankwise::TimeCurve curve(const Lines& lines) {
  std::vector<rankwise::TimeLine> time_lines;
  for (const auto& [from_bytes, alpha_s, beta_s_per_byte] : lines) {
    time_lines.push_back({from_bytes, alpha_s, beta_s_per_byte});
  }
  return rankwise::TimeCurve(std::move(time_lines));
}

rankwise::Machine machine(const std::map<std::string, std::map<std::string, Lines>>& links) {
  rankwise::Machine machine;
  for (const auto& [name, curves] : links) {
    bool known = false;
    for (std::size_t i = 0; i < rankwise::link_class_count; ++i) {
      if (to_string(static_cast<rankwise::LinkClass>(i)) != name) continue;
      machine.links[i] = rankwise::LinkCost{curve(curves.at("send")), curve(curves.at("ssend")),
                                            curve(curves.at("exchange")), curve(curves.at("exchange-gap"))};
      known = true;
    }
    if (!known) rankwise::invalid("link class '" + name + "' is unknown");
  }
  return machine;
}

// The schedules of all ranks of one exchange, built once and then counted, checked and costed.
class Exchange {
 public:
  Exchange(const std::string& algorithm, const std::string& mode, std::vector<Index> dims, std::vector<bool> periodic,
           std::vector<int> cutoff)
      : spec_{algorithm, rankwise::parse_send_mode(mode), rankwise::Grid(std::move(dims), std::move(periodic)),
              rankwise::Window(std::move(cutoff))},
        schedules_(make_schedules(spec_)) {}

  [[nodiscard]] std::vector<std::string> check() const { return check_schedules(spec_, schedules_); }

  [[nodiscard]] std::tuple<double, Index, Index> cost(Index block_bytes,
                                                      const std::vector<std::array<Index, 3>>& placement,
                                                      const rankwise::Machine& on) const {
    rankwise::Placement locations;
    locations.reserve(placement.size());
    for (const auto& [node, socket, core] : placement) locations.push_back({node, socket, core});
    const rankwise::Cost cost = walk(spec_, schedules_, block_bytes, locations, on);
    return {cost.time_s(), cost.messages_per_rank, cost.blocks_per_rank * block_bytes};
  }

 private:
  rankwise::ExchangeSpec spec_;
  std::vector<rankwise::RankSchedule> schedules_;
};

}  // namespace

void bind_schedule(nb::module_& m) {
  nb::class_<rankwise::Machine>(m, "Machine", "What messages cost: for each link class the time curves by way of sending.")
      .def(
          "__init__",
          [](rankwise::Machine* self, const std::map<std::string, std::map<std::string, Lines>>& links) {
            new (self) rankwise::Machine(machine(links));
          },
          nb::arg("links"),
          "links: {link class: {'send' | 'ssend' | 'exchange' | 'exchange-gap': [(from_bytes, alpha_s, "
          "beta_s_per_byte), ...]}}.");
  nb::class_<Exchange>(m, "Exchange", "The schedules of all ranks of one neighbour exchange.")
      .def(nb::init<const std::string&, const std::string&, std::vector<Index>, std::vector<bool>, std::vector<int>>(),
           nb::arg("algorithm"), nb::arg("mode"), nb::arg("dims"), nb::arg("periodic"), nb::arg("cutoff"),
           "Raises ValueError for an unknown algorithm or mode, or sizes that do not fit.")
      .def("check", &Exchange::check,
           "What is wrong with the schedules: blocks that are missing, doubled or misplaced, ranks that wait for "
           "each other for ever. Empty when they are right.")
      .def("cost", &Exchange::cost, nb::arg("block_bytes"), nb::arg("placement"), nb::arg("machine"),
           "Return (time_s, messages_per_rank, bytes_per_rank) for blocks of block_bytes and one (node, socket, core) "
           "a rank; the counts are those of the rank that sends most.");
}
