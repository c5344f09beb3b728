#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/check.hpp"
#include "schedule/collectives.hpp"
#include "schedule/schedule.hpp"
#include "schedule/teams.hpp"

namespace nb = nanobind;

namespace {

using rankwise::CollectiveAlgorithm;
using rankwise::CollectiveSpec;
using rankwise::ExchangeAlgorithm;
using rankwise::Index;

using Offsets = std::vector<rankwise::Coords>;

// One operation as Python sees it.
struct Operation {
  std::string kind;
  Index peer;
  int tag;
  std::vector<std::pair<Index, Index>> slots;  // (first, count)
  std::vector<Index> origins;                  // whose blocks they hold
  Offsets offsets;                             // of each slot from the own box; empty for team-shift but for visits
  std::vector<std::size_t> after;
};

// One exchange: its schedules are made when they are first needed.
class Exchange {
 public:
  Exchange(const std::string& algorithm, const std::string& mode, std::vector<Index> dims, std::vector<bool> periodic,
           const std::vector<int>& cutoff, const std::string& shell, Index replication, const std::string& team_boxes)
      : spec_(make_spec(algorithm, rankwise::parse_send_mode(mode), std::move(dims), std::move(periodic), cutoff,
                        rankwise::parse_shell(shell), replication, rankwise::parse_team_boxes(team_boxes))) {}

  // The same of ranks on these nodes, which some algorithms need to know.
  [[nodiscard]] Exchange on_nodes(const std::vector<Index>& node_of_rank) const {
    Exchange exchange = *this;
    exchange.spec_.nodes = rankwise::NodeMap::of(node_of_rank);
    check_spec(exchange.spec_);
    return exchange;
  }

  [[nodiscard]] Index ranks() const { return spec_.ranks(); }
  [[nodiscard]] bool includes_reduce() const { return rankwise::includes_reduce(spec_); }
  [[nodiscard]] std::vector<std::string> check() const { return check_exchange(spec_); }

  // The exchange of ranks that sit there: some know nodes.
  [[nodiscard]] rankwise::ExchangeSpec on(const rankwise::Placement& placement) const {
    rankwise::ExchangeSpec spec = spec_;
    if (rankwise::exchange_algorithm(spec.algorithm).needs_nodes) spec.nodes = nodes_of(placement);
    return spec;
  }
  [[nodiscard]] rankwise::Walk judged(const rankwise::Placement& placement) const {
    return walk_of(on(placement), rankwise::Layout(rank_grid(spec_), placement));
  }

  [[nodiscard]] std::pair<Index, Index> counts(Index rank) const {
    rankwise::RankSchedule schedule = make_schedule(spec_, rank);
    Index messages = schedule.messages_sent();
    Index blocks = schedule.blocks_sent();
    if (includes_reduce()) {
      schedule = make_reduce(spec_, rank);
      messages += schedule.messages_sent();
      blocks += schedule.blocks_sent();
    }
    return {messages, blocks};
  }

  [[nodiscard]] std::vector<std::vector<Operation>> steps(Index rank, bool reduce) const {
    const std::vector<Index> origins = rankwise::origins(spec_, rank);
    const rankwise::RankSchedule schedule = reduce ? make_reduce(spec_, rank) : make_schedule(spec_, rank);
    std::vector<std::vector<Operation>> steps;
    for (const rankwise::Step& step : schedule.steps) {
      std::vector<Operation>& operations = steps.emplace_back();
      for (const rankwise::Op& op : step.ops) operations.push_back(described(origins, op));
    }
    return steps;
  }

 private:
  [[nodiscard]] Operation described(const std::vector<Index>& origins, const rankwise::Op& op) const {
    using Kind = rankwise::Op::Kind;
    const char* kind = op.kind == Kind::send   ? "send"
                       : op.kind == Kind::recv ? "recv"
                       : op.kind == Kind::copy ? "copy"
                                               : "visit";
    Operation operation{kind, op.peer, op.tag, {}, {}, {}, op.after};
    const bool teams = rankwise::exchange_algorithm(spec_.algorithm).has_teams;
    for (const auto& [first, count] : op.slots) {
      operation.slots.emplace_back(first, count);
      for (Index slot = first; slot < first + count; ++slot) {
        operation.origins.push_back(origins[static_cast<std::size_t>(slot)]);
        if (teams) continue;
        // A block that is only passed on has no offset.
        operation.offsets.push_back(slot < spec_.window.slots() ? spec_.window.offset(slot) : rankwise::Coords());
      }
    }
    if (op.kind == Kind::visit) operation.offsets.push_back(rankwise::Teams(spec_).window().offset(op.tag));
    return operation;
  }

  rankwise::ExchangeSpec spec_;
};

// The send modes (or else the shells) of a list that an algorithm can be combined with.
std::vector<std::string> allowed(const ExchangeAlgorithm& algorithm, const std::vector<std::string>& ids, bool modes) {
  std::vector<std::string> found;
  for (const std::string& id : ids) {
    const bool can = modes ? algorithm.why_not(rankwise::parse_send_mode(id), rankwise::Shell::full).empty()
                           : algorithm.why_not(rankwise::SendMode::isend, rankwise::parse_shell(id)).empty();
    if (can) found.push_back(id);
  }
  return found;
}

CollectiveSpec on(CollectiveSpec spec, const rankwise::Placement& placement) {
  if (rankwise::collective_algorithm(spec.kind, spec.algorithm).needs == rankwise::Needs::nodes) {
    spec.nodes = nodes_of(placement);
  }
  return spec;
}

void bind_collectives(nb::module_& m) {
  nb::class_<CollectiveAlgorithm>(m, "CollectiveAlgorithm", "What is known about an algorithm of a collective.")
      .def_ro("collective", &CollectiveAlgorithm::kind)
      .def_ro("id", &CollectiveAlgorithm::id)
      .def_ro("summary", &CollectiveAlgorithm::summary)
      .def_ro("source", &CollectiveAlgorithm::source)
      .def_ro("segments", &CollectiveAlgorithm::segments, "It may send piece by piece.")
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

}  // namespace

void bind_schedule(nb::module_& m) {
  nb::class_<ExchangeAlgorithm>(m, "ExchangeAlgorithm", "What is known about an exchange algorithm.")
      .def_ro("id", &ExchangeAlgorithm::id)
      .def_ro("summary", &ExchangeAlgorithm::summary)
      .def_ro("source", &ExchangeAlgorithm::source)
      .def_ro("fills_window", &ExchangeAlgorithm::fills_window,
              "By a program's own messages, knowing no more than the grid: what 'auto' may take.")
      .def_ro("needs_nodes", &ExchangeAlgorithm::needs_nodes, "It needs to know which ranks share a node.")
      .def_ro("has_teams", &ExchangeAlgorithm::has_teams, "Ranks pool their boxes; a round includes the way back.")
      .def_prop_ro(
          "modes", [](const ExchangeAlgorithm& a) { return allowed(a, rankwise::send_mode_ids(), true); },
          "The send modes that it can be combined with.")
      .def_prop_ro(
          "shells", [](const ExchangeAlgorithm& a) { return allowed(a, rankwise::shell_ids(), false); },
          "The shells that it can be combined with.");
  m.def(
      "exchange_algorithms",
      [] {
        const auto table = rankwise::exchange_algorithms();
        return std::vector<ExchangeAlgorithm>(table.begin(), table.end());
      },
      "All exchange algorithms, in the order of tables.");
  m.def("send_modes", &rankwise::send_mode_ids, "The ids of all send modes.");
  m.def("shells", &rankwise::shell_ids, "The ids of all shells.");
  m.def("team_boxes", &rankwise::team_boxes_ids, "The ids of the ways in which teams get their boxes.");
  m.def(
      "why_not",
      [](const std::string& algorithm, const std::string& mode, const std::string& shell) {
        return rankwise::why_not(algorithm, rankwise::parse_send_mode(mode), rankwise::parse_shell(shell));
      },
      nb::arg("algorithm"), nb::arg("mode"), nb::arg("shell"),
      "Return why an algorithm cannot be combined with a send mode or a shell; empty when it can. Raises ValueError for "
      "unknown names.");
  nb::class_<Operation>(m, "Operation", "What a rank does in a step: send, recv, copy or visit.")
      .def_ro("kind", &Operation::kind)
      .def_ro("peer", &Operation::peer)
      .def_ro("tag", &Operation::tag)
      .def_ro("slots", &Operation::slots, "Ranges (first, count) of slots.")
      .def_ro("origins", &Operation::origins, "The rank whose block belongs in each slot; -1 for none.")
      .def_ro("offsets", &Operation::offsets,
              "The offset of each slot from the own box; empty where its block is only passed on. Of a visit: the one offset "
              "of the visiting team.")
      .def_ro("after", &Operation::after, "The operations of the step that must have completed before.");
  nb::class_<Exchange>(m, "Exchange", "The schedules of one neighbour exchange.")
      .def(nb::init<const std::string&, const std::string&, std::vector<Index>, std::vector<bool>, const std::vector<int>&,
                    const std::string&, Index, const std::string&>(),
           nb::arg("algorithm"), nb::arg("mode"), nb::arg("dims"), nb::arg("periodic"), nb::arg("cutoff"),
           nb::arg("shell") = "full", nb::arg("replication") = 1, nb::arg("team_boxes") = "pooled",
           "Raises ValueError for unknown names, sizes that do not fit, and combinations that make no sense.")
      .def("on_nodes", &Exchange::on_nodes, nb::arg("node_of_rank"),
           "Return the exchange of ranks on these nodes, which some algorithms need to know before they have schedules.")
      .def_prop_ro("ranks", &Exchange::ranks)
      .def_prop_ro("includes_reduce", &Exchange::includes_reduce, "Whether a round includes the way back.")
      .def("check", &Exchange::check,
           "What is wrong with the schedules there and back: blocks that are missing, doubled or misplaced, ranks that "
           "wait for each other for ever. Empty when they are right.")
      .def(
          "judged", [](const Exchange& self, const rankwise::Placement& placement) { return Judged{self.judged(placement)}; },
          nb::arg("placement"), "Return the exchange on a placement, of large ones a few ranks standing for all.")
      .def(
          "of_all",
          [](const Exchange& self, const rankwise::Placement& placement) {
            return Judged{rankwise::Walk(self.on(placement)).at(placement)};
          },
          nb::arg("placement"), "Return the exchange on a placement, every rank walked at its place.")
      .def(
          "of_representatives",
          [](const Exchange& self, const rankwise::Placement& placement) {
            const rankwise::ExchangeSpec spec = self.on(placement);
            return Judged{walk_of_representatives(spec, rankwise::Layout(rank_grid(spec), placement))};
          },
          nb::arg("placement"), "Return the exchange on a placement, a few ranks standing for all however small it is.")
      .def("counts", &Exchange::counts, nb::arg("rank"), "Return (messages, blocks) that a rank sends in a round.")
      .def("steps", &Exchange::steps, nb::arg("rank"), nb::arg("reduce"),
           "Return the operations of each step of a rank's import, or of its way back.");
  bind_collectives(m);
}
