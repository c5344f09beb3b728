#include "api/design.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "api/agreement.hpp"
#include "api/machine.hpp"
#include "cart/nodes.hpp"
#include "decide/contest.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise::api {

namespace {

// What auto chooses from where the program names no algorithm.
std::vector<std::string> with_window() {
  std::vector<std::string> ids;
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    if (algorithm.fills_window) ids.emplace_back(algorithm.id);
  }
  return ids;
}

std::vector<int> read_cutoff(const Grid& grid, int ndims, const int cutoff[]) {
  if (ndims != grid.ndim()) {
    refuse_argument("ndims is " + std::to_string(ndims) + " but the communicator's grid has " + std::to_string(grid.ndim()) +
                    " axes: give one cutoff an axis");
  }
  if (cutoff == nullptr) refuse_argument("cutoff is NULL: give one number of layers an axis");
  return {cutoff, cutoff + ndims};
}

ExchangeSpec make(const std::string& algorithm, SendMode mode, const Grid& grid, const std::vector<int>& cutoff,
                  const Request& request, const NodeMap& nodes) {
  if (const std::string reason = why_not(algorithm, mode, request.shell); !reason.empty()) {
    throw Failure(RANKWISE_ERROR_UNSUPPORTED, reason);
  }
  const Window window(cutoff, request.shell);
  constexpr Index most_slots = Index{1} << 24;
  if (window.slots() > most_slots) {
    refuse_argument("the window has " + std::to_string(window.slots()) + " slots, more than 2^24: make the cutoff smaller");
  }
  ExchangeSpec spec{algorithm, mode, grid, window};
  spec.replication = request.replication;
  spec.nodes = nodes;
  check_spec(spec);
  return spec;
}

// "12.3 us", of all candidates.
std::string times_of(const std::vector<Ranked>& ranked) {
  std::string text;
  for (const Ranked& one : ranked) {
    char time[32];
    std::snprintf(time, sizeof time, " %.4g us", 1e6 * one.time_s);
    text += (text.empty() ? "" : "; ") + to_string(one.candidate) + time;
  }
  return text;
}

struct Choice {
  std::string algorithm;
  SendMode mode = SendMode::isend;
  std::string why;
};

Choice choose(const Grid& grid, const std::vector<int>& cutoff, const Request& request, const Placement& placement) {
  Question question{grid, cutoff, request.shell, with_window(), {}, {}};
  if (request.mode) question.modes = {*request.mode};
  const KnownMachine& known = known_machine();
  const std::vector<Ranked> ranked = Contest(question, placement).ranked(request.expected_block_bytes, known.machine);
  const Candidate& best = ranked.front().candidate;
  return {best.algorithm, best.mode,
          reason(ranked) + "; for blocks of " + std::to_string(request.expected_block_bytes) + " B by " + known.source + " (" +
              times_of(ranked) + ")"};
}

// Rank 0's choice on all ranks.
void spread(Choice& choice, MPI_Comm comm) {
  std::string text = choice.algorithm + '\n' + to_string(choice.mode) + '\n' + choice.why;
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, comm), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm), "MPI_Bcast");
  const std::size_t first = text.find('\n');
  const std::size_t second = text.find('\n', first + 1);
  choice = {text.substr(0, first), parse_send_mode(text.substr(first + 1, second - first - 1)), text.substr(second + 1)};
}

// Rank 0 decides for all, by where they sit.
Choice choose_together(const Communicator& comm, const std::vector<int>& cutoff, const Request& request) {
  const Placement placement = placement_on_root(comm);
  Choice choice;
  Agreement outcome;
  if (comm.rank() == 0) outcome.attempt([&] { choice = choose(comm.grid(), cutoff, request, placement); });
  outcome.reach(comm.get());
  spread(choice, comm.get());
  return choice;
}

// Collective. The node of every rank, as MPI tells.
NodeMap nodes_of(MPI_Comm comm) {
  const RankNodes own(comm);
  const Index node = own.node();
  int ranks = 1;
  check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  std::vector<Index> node_of_rank(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&node, 1, MPI_INT64_T, node_of_rank.data(), 1, MPI_INT64_T, comm), "MPI_Allgather");
  return NodeMap::of(node_of_rank);
}

}  // namespace

Design design_exchange(const Communicator& comm, int ndims, const int cutoff[], const rankwise_exchange_options* options) {
  Agreement agreement;
  Request request;
  std::vector<int> layers(static_cast<std::size_t>(comm.grid().ndim()), 1);
  agreement.attempt([&] { request = read_options(options); });
  agreement.attempt([&] { layers = read_cutoff(comm.grid(), ndims, cutoff); });
  // What no way of sending can serve is refused before anything is decided.
  agreement.attempt([&] {
    Request any;
    any.shell = request.shell;
    static_cast<void>(make("shift", SendMode::isend, comm.grid(), layers, any, {}));
  });
  add_alike(agreement, request);
  for (std::size_t axis = 0; axis < layers.size(); ++axis) {
    agreement.alike("the cutoff of axis " + std::to_string(axis), layers[axis]);
  }
  agreement.reach(comm.get());

  Choice choice{request.algorithm.value_or(""), request.mode.value_or(SendMode::isend), "asked for"};
  if (!request.algorithm) choice = choose_together(comm, layers, request);

  NodeMap nodes;
  if (exchange_algorithm(choice.algorithm).needs_nodes) nodes = nodes_of(comm.get());
  Agreement made;
  std::optional<Design> design;
  made.attempt([&] {
    ExchangeSpec spec = make(choice.algorithm, choice.mode, comm.grid(), layers, request, nodes);
    RankSchedule schedule = make_schedule(spec, comm.rank());
    design = Design{std::move(spec), std::move(schedule), std::move(choice.why)};
  });
  made.reach(comm.get());
  return std::move(*design);
}

}  // namespace rankwise::api
