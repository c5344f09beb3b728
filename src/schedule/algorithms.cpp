#include "schedule/algorithms.hpp"

#include <algorithm>

namespace rankwise {

RankSchedule make_direct(const ExchangeSpec& spec, Index rank);
RankSchedule make_direct_alike(const ExchangeSpec& spec, Index rank);
RankSchedule make_neighbor_alltoall(const ExchangeSpec& spec, Index rank);
RankSchedule make_shift(const ExchangeSpec& spec, Index rank);
RankSchedule make_shift_posted(const ExchangeSpec& spec, Index rank);
RankSchedule make_comb(const ExchangeSpec& spec, Index rank);
RankSchedule make_node_aware(const ExchangeSpec& spec, Index rank);
std::vector<Index> node_aware_origins(const ExchangeSpec& spec, Index rank);
RankSchedule make_team_shift(const ExchangeSpec& spec, Index rank);
RankSchedule make_team_combine(const ExchangeSpec& spec, Index rank);
std::vector<Index> team_origins(const ExchangeSpec& spec, Index rank);
Index own_team_slot(const ExchangeSpec& spec, Index rank);
std::vector<SlotOf> contributions_to_team(const ExchangeSpec& spec, Index rank);

namespace {

std::string_view forwards_nothing(SendMode mode, Shell /*shell*/) {
  return mode == SendMode::isend_self ? "isend-self forwards what has arrived, which only shift does: choose shift, or isend"
                                      : "";
}

std::string_view only_isend(SendMode mode, Shell /*shell*/) {
  return mode != SendMode::isend
             ? "neighbor-alltoall sends in MPI's own way, all messages in flight: its only send mode is isend"
             : "";
}

std::string_view no_eighth(SendMode mode, Shell shell) {
  return shell == Shell::eighth
             ? "team-shift has no eighth shell, for visiting blocks bring no forces back: choose full or all-pairs"
             : forwards_nothing(mode, shell);
}

std::string_view only_blocking(SendMode mode, Shell /*shell*/) {
  return is_blocking(mode) ? ""
                           : "shift-posted posts the receives of blocking sends first, which others do anyway: choose "
                             "shift, or ssend or send";
}

std::string_view all_combinations(SendMode /*mode*/, Shell /*shell*/) { return ""; }

constexpr ExchangeAlgorithm table[] = {
    {.id = "direct",
     .c_value = 1,
     .summary = "one message a partner, all in flight together",
     .source = "as programs do it",
     .why_not = forwards_nothing,
     .make = make_direct,
     .make_alike = make_direct_alike,
     .fills_window = true},
    {.id = "neighbor-alltoall",
     .c_value = 2,
     .summary = "one neighbourhood collective of MPI",
     .source = "MPI 3.0, section 7.6",
     .costed_as = "direct",
     .why_not = only_isend,
     .make = make_neighbor_alltoall},
    {.id = "shift",
     .c_value = 3,
     .summary = "axis by axis, from neighbour to neighbour: fewest messages",
     .source = "Plimpton 1995; werner2023, sections 2.2 and 4.2",
     .why_not = all_combinations,
     .make = make_shift,
     .fills_window = true,
     .by_axis = true,
     .takes_turns = true},
    {.id = "comb",
     .c_value = 4,
     .summary = "axis by axis, straight to the receivers",
     .source = "this library, after Träff and Hunold",
     .why_not = forwards_nothing,
     .make = make_comb,
     .fills_window = true,
     .by_axis = true},
    {.id = "team-shift",
     .c_value = 5,
     .summary = "teams of ranks pool their boxes and process those of other teams in turn",
     .source = "Driscoll et al. 2013; werner2023, section 2.3",
     .why_not = no_eighth,
     .make = make_team_shift,
     .make_reduce = make_team_combine,
     .origins = team_origins,
     .own_slot = own_team_slot,
     .contributions_to = contributions_to_team,
     .has_teams = true},
    {.id = "striped",
     .c_value = 6,
     .summary = "one message a pair of nodes, dealt evenly over their ranks; gathered before, handed out after",
     .source = "Bienz, Gropp and Olson 2019, three-step",
     .why_not = forwards_nothing,
     .make = make_node_aware,
     .origins = node_aware_origins,
     .needs_nodes = true},
    {.id = "leader",
     .c_value = 7,
     .summary = "one message a pair of nodes, all by the first rank of each; gathered before, handed out after",
     .source = "as MPI libraries do it in collectives",
     .why_not = forwards_nothing,
     .make = make_node_aware,
     .origins = node_aware_origins,
     .needs_nodes = true},
    {.id = "two-step",
     .c_value = 8,
     .summary = "every block once to each node that needs it, handed out there",
     .source = "Bienz, Gropp and Olson 2020, two-step",
     .why_not = forwards_nothing,
     .make = make_node_aware,
     .origins = node_aware_origins,
     .needs_nodes = true},
    {.id = "shift-posted",
     .c_value = 9,
     .summary = "shift whose blocking sends take no turns: every receive is posted before its hop's send",
     .source = "werner2023, sections 3.2 and 6.2.1",
     .why_not = only_blocking,
     .make = make_shift_posted,
     .fills_window = true,
     .by_axis = true},
};

}  // namespace

std::span<const ExchangeAlgorithm> exchange_algorithms() { return table; }

const ExchangeAlgorithm& exchange_algorithm(std::string_view id) {
  const auto* found = std::ranges::find(table, id, &ExchangeAlgorithm::id);
  if (found != std::end(table)) return *found;
  std::string ids;
  for (const ExchangeAlgorithm& algorithm : table) {
    ids += ids.empty() ? "" : &algorithm == std::end(table) - 1 ? " or " : ", ";
    ids += algorithm.id;
  }
  invalid("exchange algorithm '" + std::string(id.substr(0, 40)) + "' is unknown: choose " + ids);
}

RankSchedule reversed_import(const ExchangeSpec& spec, Index rank) { return reversed(make_schedule(spec, rank), spec.mode); }

std::vector<Index> window_origins(const ExchangeSpec& spec, Index rank) {
  const Coords own = spec.grid.coords(rank);
  std::vector<Index> origins;
  for (Index slot = 0; slot < spec.window.slots(); ++slot) {
    origins.push_back(spec.grid.cell_at_offset(own, spec.window.offset(slot), +1));
  }
  return origins;
}

Index window_centre(const ExchangeSpec& spec, Index /*rank*/) { return spec.window.centre(); }

std::vector<SlotOf> window_contributions(const ExchangeSpec& spec, Index rank) {
  std::vector<SlotOf> contributions;
  for (Index slot = 0; slot < spec.window.slots(); ++slot) {
    const Index holder = rank_at_offset(spec.grid, rank, spec.window.offset(slot), -1);
    if (holder >= 0) contributions.push_back({holder, slot});
  }
  return contributions;
}

}  // namespace rankwise
