#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "decide/contest.hpp"
#include "decide/judge.hpp"
#include "profile/profile.hpp"
#include "schedule/programs.hpp"

namespace nb = nanobind;

namespace {

using rankwise::Index;
using rankwise::Machine;
using rankwise::Placement;

using Lines = std::vector<std::tuple<Index, double, double>>;
using Rates = std::map<std::string, double>;
using Nodes = Input<std::int32_t>;

rankwise::TimeCurve curve(const Lines& lines) {
  std::vector<rankwise::TimeLine> time_lines;
  for (const auto& [from_bytes, alpha_s, beta_s_per_byte] : lines) {
    time_lines.push_back({from_bytes, alpha_s, beta_s_per_byte});
  }
  return rankwise::TimeCurve(std::move(time_lines));
}

rankwise::LinkClass link_class(const std::string& name) {
  const std::optional<rankwise::LinkClass> known = rankwise::find_link_class(name);
  if (!known) rankwise::invalid("link class '" + name + "' is unknown");
  return *known;
}

std::optional<rankwise::Resource> resource(const std::map<std::string, Rates>& shared, const char* name) {
  const auto found = shared.find(name);
  if (found == shared.end()) return std::nullopt;
  rankwise::Resource resource;
  for (const auto& [key, value] : found->second) {
    if (key == "bytes_per_s") {
      resource.bytes_per_s = value;
    } else if (key == "messages_per_s") {
      resource.least_s = 1 / value;
    } else if (key == "half_duplex") {
      resource.half_duplex = value != 0;
    } else {
      rankwise::invalid("a resource has no '" + key + "'");
    }
  }
  return resource;
}

Machine machine(const std::map<std::string, std::map<std::string, Lines>>& links, const std::map<std::string, Rates>& shared,
                const std::vector<std::pair<Index, double>>& levels) {
  Machine machine;
  for (const auto& [name, curves] : links) {
    const rankwise::TimeCurve send = curve(curves.at("send"));
    const auto curve_of = [&](const char* key) -> std::optional<rankwise::TimeCurve> {
      const auto found = curves.find(key);
      if (found == curves.end()) return std::nullopt;
      return curve(found->second);
    };
    rankwise::LinkCost cost{send, curve_of("ssend").value_or(send), curve_of("exchange").value_or(send),
                            curve_of("exchange-gap")};
    if (const auto overhead = curve_of("overhead")) cost.overhead_s = (*overhead)(0);
    if (const auto limit = curve_of("rendezvous")) cost.rendezvous_from_bytes = static_cast<Index>((*limit)(0));
    machine.links[static_cast<std::size_t>(link_class(name))] = std::move(cost);
  }
  machine.card = resource(shared, "card");
  machine.memory = resource(shared, "memory");
  machine.socket = resource(shared, "socket");
  machine.sockets = resource(shared, "sockets");
  for (const auto& [nodes, up_bytes_per_s] : levels) machine.levels.push_back({nodes, up_bytes_per_s});
  machine.check();
  return machine;
}

Lines send_lines(const Machine& machine, const std::string& link) {
  const std::optional<rankwise::LinkClass> known = machine.stand_in(link_class(link));
  if (!known) return {};
  Lines lines;
  for (const auto& line : machine.links[static_cast<std::size_t>(*known)]->send.lines()) {
    lines.emplace_back(line.from_bytes, line.alpha_s, line.beta_s_per_byte);
  }
  return lines;
}

std::optional<double> rate(const std::optional<rankwise::Resource>& resource) {
  return resource ? std::optional<double>(resource->bytes_per_s) : std::nullopt;
}

std::string resource_name(std::size_t resource) {
  static constexpr std::array names{"socket", "sockets", "memory", "card-out", "card-in", "card"};
  if (resource < names.size()) return names[resource];
  return std::string(resource % 2 == rankwise::shared_count % 2 ? "uplink-" : "downlink-") +
         std::to_string((resource - rankwise::shared_count) / 2);
}

// How long messages between nodes hold a resource, each.
std::vector<double> held_s(const Machine& machine, const std::string& resource, const Input<Index>& sizes) {
  const std::size_t count = rankwise::links_up(machine.levels.size());
  std::size_t number = 0;
  while (number < count && resource_name(number) != resource) ++number;
  if (number == count) rankwise::invalid("the machine has no resource '" + resource + "'");
  std::vector<double> held;
  for (const Index size : span_of(sizes)) {
    held.push_back(std::max(0.0, machine.hold_s(number, rankwise::LinkClass::other_node, size)));
  }
  return held;
}

// Of each message or step so many figures, one row after the other.
template <typename Row, typename Value, std::size_t Columns>
std::vector<std::array<Value, Columns>> table(const std::vector<Row>& rows, std::array<Value, Columns> (*of)(const Row&)) {
  std::vector<std::array<Value, Columns>> found;
  found.reserve(rows.size());
  for (const Row& row : rows) found.push_back(of(row));
  return found;
}

auto history(const Judged& judged, Index block_bytes, const Machine& on) {
  using Message = rankwise::History::Message;
  using Stretch = rankwise::History::Stretch;
  rankwise::History history;
  const rankwise::Cost cost = judged.walk.cost(block_bytes, on, history);
  return std::tuple(
      cost,
      table<Message, Index, 6>(
          history.messages,
          [](const Message& m) -> std::array<Index, 6> { return {m.rank, m.peer, m.tag, m.sends, m.blocking, m.bytes}; }),
      table<Message, double, 2>(history.messages,
                                [](const Message& m) -> std::array<double, 2> { return {m.posted_s, m.done_s}; }),
      table<Stretch, Index, 4>(
          history.steps,
          [](const Stretch& s) -> std::array<Index, 4> { return {s.rank, s.first, s.count, static_cast<Index>(s.term)}; }),
      table<Stretch, double, 2>(history.steps, [](const Stretch& s) -> std::array<double, 2> { return {s.begin_s, s.end_s}; }));
}

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
            rankwise::Question asked{rankwise::Grid(std::move(dims), std::move(periodic)),
                                     std::move(cutoff),
                                     rankwise::parse_shell(shell),
                                     std::move(algorithms),
                                     {},
                                     std::move(replications)};
            for (const std::string& mode : modes) asked.modes.push_back(rankwise::parse_send_mode(mode));
            new (self) Contest(asked, placement, [] {
              if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
            });
          },
          nb::arg("dims"), nb::arg("periodic"), nb::arg("cutoff"), nb::arg("shell"), nb::arg("algorithms"), nb::arg("modes"),
          nb::arg("replications"), nb::arg("placement"),
          "Empty lists of algorithms, modes and replications mean all there are. "
          "Raises ValueError where nothing fits.")
      .def("ranked", &Contest::ranked, nb::arg("block_bytes"), nb::arg("machine"),
           "Return the candidates, fastest first. Raises ValueError where the machine lacks a link.")
      .def("first", &Contest::first, nb::arg("block_bytes"), nb::arg("machine"),
           "Return the fastest candidate, without empty_s. Raises ValueError where the machine lacks a link.")
      .def(
          "ranked_one",
          [](const Contest& self, const Ranked& r, Index block_bytes, const rankwise::Machine& machine) {
            return self.ranked_one(r.candidate, block_bytes, machine);
          },
          nb::arg("ranked"), nb::arg("block_bytes"), nb::arg("machine"), "Return one of the candidates, without empty_s.")
      .def(
          "message_blocks", [](const Contest& self, const Ranked& r) { return self.message_blocks(r.candidate); },
          nb::arg("ranked"), "Return the numbers of blocks that the messages of a candidate have.");
  m.def("reason", &rankwise::reason, nb::arg("ranked"), nb::arg("intervals_s") = std::vector<std::pair<double, double>>{},
        "Return why the first of the ranked candidates is ahead, in words; intervals_s of each, in order: those that meet "
        "cannot be told apart. Raises ValueError where there are fewer or more of these than candidates.");
}

}  // namespace

void bind_cost(nb::module_& m) {
  nb::class_<Machine>(m, "Machine", "What messages cost over each class of link, and what ranks share.")
      .def(
          "__init__",
          [](Machine* self, const std::map<std::string, std::map<std::string, Lines>>& links,
             const std::map<std::string, Rates>& shared,
             const std::vector<std::pair<Index, double>>& levels) { new (self) Machine(machine(links, shared, levels)); },
          nb::arg("links"), nb::arg("shared") = std::map<std::string, Rates>{},
          nb::arg("levels") = std::vector<std::pair<Index, double>>{},
          "links: {link class: {'send' | 'ssend' | 'exchange' | 'exchange-gap' | 'overhead' | 'rendezvous' (the value at "
          "0: from how many bytes on plain sends wait; all but send optional): [(from_bytes, alpha_s, beta_s_per_byte), "
          "...]}}; shared: {'card' | 'memory' | 'socket' | 'sockets': "
          "{'bytes_per_s': ..., 'messages_per_s' (optional): ..., 'half_duplex' (optional): 0 or 1}}; levels: (nodes of a "
          "unit, bytes/s of its links up), the inner first. Raises ValueError for rates that are not above 0.")
      .def_static(
          "from_profile",
          [](const std::string& profile, const std::string& link_model, bool loaded) {
            return rankwise::read_machine(profile, {link_model, loaded});
          },
          nb::arg("profile"), nb::arg("link_model") = "", nb::arg("loaded") = false,
          "profile: its JSON text; link_model: empty for what the profile chose; loaded: as measured under background "
          "traffic. Raises ValueError for figures that are wrong or missing.")
      .def(
          "alone", [](const Machine& self) { return self.alone(); },
          "Return the machine as a simulation knows it: every way of sending costs a plain send, a rank's messages leave "
          "without a gap.")
      .def(
          "with_card",
          [](const Machine& self, double bytes_per_s) {
            Machine machine = self;
            machine.card = rankwise::Resource{bytes_per_s};
            machine.check();
            return machine;
          },
          nb::arg("bytes_per_s"), "Return the machine with a card of this rate.")
      .def("where_sends_may_go_on", &Machine::where_sends_may_go_on,
           "The machine where no send waits whose limit is not known; None where all limits are.")
      .def("with_network", &Machine::with_network, nb::arg("latency"), nb::arg("bandwidth"),
           "Return the machine with another network: latency between nodes times a factor, and the bandwidth of links between "
           "nodes, of the card and of all switches times another. Raises ValueError for factors that are not above 0.")
      .def(
          "slower",
          [](const Machine& self, const Rates& links, const Rates& shared) {
            rankwise::Factors factors;
            factors.links.fill(1.0);
            for (const auto& [name, factor] : links) factors.links[static_cast<std::size_t>(link_class(name))] = factor;
            factors.card = shared.at("card");
            factors.memory = shared.at("memory");
            factors.socket = shared.at("socket");
            factors.sockets = shared.at("sockets");
            return self.slower(factors);
          },
          nb::arg("links"), nb::arg("shared"),
          "Return the machine whose links, by class, take so many times as long, and whose card, memory, socket and sockets "
          "are "
          "so many times as slow.")
      .def("quickest", &Machine::quickest, nb::arg("sizes"),
           "Return a machine on which no program of messages of these sizes takes longer than on this one: each goes over its "
           "quickest link, nothing is shared. All links are of the class same-socket.")
      .def("held_s", &held_s, nb::arg("resource"), nb::arg("sizes"),
           "Return how long a message between nodes of each size (int64, bytes) holds a resource: card-out, card-in, card (0 "
           "unless half-duplex), uplink-0, ... Raises ValueError.")
      .def(
          "has",
          [](const Machine& self, const std::string& link) {
            return self.links[static_cast<std::size_t>(link_class(link))].has_value();
          },
          nb::arg("link"), "Whether a class of link is known.")
      .def("lines", &send_lines, nb::arg("link"),
           "Return (from_bytes, alpha_s, beta_s_per_byte) of a plain send over a class, or over the one that stands for it.")
      .def(
          "lane",
          [](const Machine& self, const std::string& link) {
            const auto known = self.stand_in(link_class(link));
            return known ? self.links[static_cast<std::size_t>(*known)]->send.lane() : 0.0;
          },
          nb::arg("link"), "Return the bytes/s of one message.")
      .def_prop_ro(
          "rendezvous_from_bytes",
          [](const Machine& self) {
            std::optional<Index> limit;
            for (const auto& link : self.links) {
              if (link && link->rendezvous_from_bytes) limit = link->rendezvous_from_bytes;
            }
            return limit;
          },
          "From which size on a plain send over the farthest link of which it is known waits for its receiver; None: of none.")
      .def_prop_ro("card_bytes_per_s", [](const Machine& self) { return rate(self.card); })
      .def_prop_ro("card_is_half_duplex", [](const Machine& self) { return self.card && self.card->half_duplex; })
      .def_prop_ro("memory_bytes_per_s", [](const Machine& self) { return rate(self.memory); })
      .def_prop_ro(
          "levels",
          [](const Machine& self) {
            std::vector<std::pair<Index, double>> levels;
            for (const auto& level : self.levels) levels.emplace_back(level.nodes, level.up_bytes_per_s);
            return levels;
          },
          "(nodes of a unit, bytes/s of its links up) of each level of switches.");

  nb::class_<Placement>(m, "Placement", "Where each rank sits.")
      .def_static("blocked", &Placement::blocked, nb::arg("ranks"), nb::arg("ranks_per_node"), nb::arg("per_socket") = 0,
                  nb::arg("per_cache") = 0,
                  "Nodes filled one after the other, and likewise their sockets and caches (0: one socket; no cache known).")
      .def_static(
          "at",
          [](const std::vector<std::array<Index, 4>>& places) {
            std::vector<rankwise::Location> locations;
            locations.reserve(places.size());
            for (const auto& [node, socket, cache, core] : places) locations.push_back({node, socket, core, cache});
            return Placement(std::move(locations));
          },
          nb::arg("places"), "(node, socket, cache, core) of each rank, numbered over the machine; cache -1 where not known.")
      .def_static(
          "on_nodes",
          [](const Nodes& nodes, const std::optional<Nodes>& sockets) {
            if (!sockets) return Placement::on_nodes({nodes.data(), nodes.size()});
            return Placement::on_nodes({nodes.data(), nodes.size()}, {sockets->data(), sockets->size()});
          },
          nb::arg("node_of_rank"), nb::arg("socket_of_rank") = nb::none(),
          "The node of each rank (int32) and its socket, numbered over the machine (None: one socket a node).")
      .def("with_levels", &Placement::with_levels, nb::arg("nodes_of_unit"),
           "Return it with levels of switches, the inner first.")
      .def_prop_ro("ranks", &Placement::ranks)
      .def_prop_ro("nodes", &Placement::nodes)
      .def_prop_ro("most_on_a_node", &Placement::most_on_a_node)
      .def(
          "node", [](const Placement& self, Index rank) { return self[rank].node; }, nb::arg("rank"))
      .def(
          "location",
          [](const Placement& self, Index rank) {
            const rankwise::Location at = self[rank];
            return std::array<Index, 4>{at.node, at.socket, at.cache, at.core};
          },
          nb::arg("rank"), "Return (node, socket, cache, core).")
      .def(
          "link_between",
          [](const Placement& self, Index a, Index b) { return to_string(rankwise::link_between(self[a], self[b])); },
          nb::arg("a"), nb::arg("b"), "Return the class of the link between two ranks.");

  nb::class_<rankwise::Cost>(m, "Cost", "What a round costs.")
      .def_prop_ro("time_s", &rankwise::Cost::time_s)
      .def_ro("low_s", &rankwise::Cost::low_s, "Within these 95 % of simulations of the same machine lie.")
      .def_ro("high_s", &rankwise::Cost::high_s)
      .def_ro("messages_per_rank", &rankwise::Cost::messages_per_rank, "Of the rank that sends most.")
      .def_ro("blocks_per_rank", &rankwise::Cost::blocks_per_rank, "Likewise.")
      .def_prop_ro(
          "busiest",
          [](const rankwise::Cost& self) {
            return std::tuple(resource_name(self.busiest.resource), self.busiest.unit, self.busiest.held_s, self.busiest.bytes);
          },
          "(resource, its number or -1, seconds for which it is held, bytes that pass it) of what is held longest.");

  nb::class_<Judged>(m, "Judged", "A program on a placement, to be priced for any block size and machine.")
      .def(
          "cost", [](const Judged& self, Index block_bytes, const Machine& on) { return self.walk.cost(block_bytes, on); },
          nb::arg("block_bytes"), nb::arg("machine"), nb::call_guard<nb::gil_scoped_release>(),
          "Raises ValueError where the machine lacks a link.")
      .def("history", &history, nb::arg("block_bytes"), nb::arg("machine"),
           "Return the cost, and when each rank did what, of a program whose ranks all stay at their places: of each message "
           "rank, "
           "peer, tag, sends, blocking, bytes, and when it was posted and done (s); of each step rank, first message, "
           "messages, term (0 a "
           "message on its own, 1 further ones in flight with it, 2 what others send over its way, 3 the processor), and when "
           "it "
           "begins and ends (s).")
      .def_prop_ro(
          "message_blocks", [](const Judged& self) { return self.walk.message_blocks(); },
          "The numbers of blocks that messages have.")
      .def_prop_ro("steps", [](const Judged& self) { return self.walk.steps(); })
      .def_prop_ro(
          "kind", [](const Judged& self) { return self.walk.discrepancy(false).kind; },
          "Of its schedules, as intervals of few ranks that stand for all know it.");

  m.def(
      "judge_stencil",
      [](std::vector<Index> dims, std::vector<bool> periodic, std::vector<rankwise::Coords> offsets, std::vector<Index> weights,
         const Placement& placement, const std::string& mode) {
        const rankwise::Grid on(std::move(dims), std::move(periodic));
        const rankwise::Stencil stencil(on.ndim(), std::move(offsets), std::move(weights));
        return Judged{rankwise::walk_of(rankwise::stencil_program(on, stencil, rankwise::parse_send_mode(mode)),
                                        rankwise::Layout(on, placement))};
      },
      nb::arg("dims"), nb::arg("periodic"), nb::arg("offsets"), nb::arg("weights"), nb::arg("placement"),
      nb::arg("mode") = "isend", "One step of messages to all offsets, of so many blocks as their weights (empty: one).");
  m.def(
      "judge_phases",
      [](const Input<std::int32_t>& phase, const Input<std::int32_t>& from, const Input<std::int32_t>& to,
         const Input<Index>& bytes, const Input<double>& compute_s, const Placement& placement, const std::string& mode,
         bool observed) {
        const rankwise::PhasedMessages messages{span_of(phase), span_of(from), span_of(to), span_of(bytes)};
        rankwise::Walk walk(rankwise::parse_send_mode(mode),
                            rankwise::phased_schedules(placement.ranks(), messages, span_of(compute_s)),
                            observed ? rankwise::Walk::Of::program : rankwise::Walk::Of::exchange);
        return Judged{std::move(walk).at(placement)};
      },
      nb::arg("phase"), nb::arg("from_rank"), nb::arg("to_rank"), nb::arg("bytes"), nb::arg("compute_s"), nb::arg("placement"),
      nb::arg("mode") = "isend", nb::arg("observed") = false,
      "Messages by phase, after computing (of each phase and rank); observed: of a program that was recorded. Blocks are of "
      "one byte.");
  m.def(
      "judge_transpose",
      [](std::vector<Index> dims, const std::vector<int>& axes, bool pairwise, const Placement& placement) {
        const rankwise::Grid on(std::move(dims));
        return Judged{rankwise::walk_of(rankwise::transpose_program(on, axes, pairwise), rankwise::Layout(on, placement))};
      },
      nb::arg("dims"), nb::arg("axes"), nb::arg("pairwise"), nb::arg("placement"),
      "A personalised all-to-all of the ranks along some axes of a grid, all groups at once: step by step, or at once.");
  m.def(
      "judge_halo_shift",
      [](std::vector<Index> dims, const std::vector<int>& cutoff, const std::vector<Index>& blocks, const std::string& mode,
         const Placement& placement) {
        std::vector<bool> periodic(dims.size(), true);
        const rankwise::ExchangeSpec spec =
            rankwise::make_spec("shift", rankwise::parse_send_mode(mode), std::move(dims), std::move(periodic), cutoff);
        return Judged{rankwise::walk_of_halo(spec, blocks, rankwise::Layout(spec.grid, placement))};
      },
      nb::arg("dims"), nb::arg("cutoff"), nb::arg("blocks"), nb::arg("mode"), nb::arg("placement"),
      "A shift on a periodic grid, whose messages along each axis have so many blocks.");
  m.attr("SOUND_SHARE") = rankwise::sound_share;
  bind_decide(m);
}
