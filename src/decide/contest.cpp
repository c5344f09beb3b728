#include "decide/contest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

// Equals are ranked in these orders: the simplest first, a program's own messages before MPI's way of sending them.
constexpr std::array first_of_equals{"direct", "comb", "shift"};
constexpr std::array mode_order{SendMode::isend, SendMode::persistent, SendMode::isend_self, SendMode::send, SendMode::ssend};
constexpr std::array<Index, 3> usual_replications{2, 4, 8};

template <class Value, class Order>
bool asked(const std::vector<Value>& list, const Order& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

ExchangeSpec spec_of(const Question& question, const Candidate& candidate) {
  const Grid& grid = question.grid;
  std::vector<bool> periodic;
  for (int axis = 0; axis < grid.ndim(); ++axis) periodic.push_back(grid.periodic(axis));
  ExchangeSpec spec = make_spec(candidate.algorithm, candidate.mode, grid.dims(), std::move(periodic), question.cutoff,
                                question.shell, candidate.replication);
  if (exchange_algorithm(candidate.algorithm).needs_nodes) spec.nodes = question.nodes;
  return spec;
}

// Why a candidate does not fit; empty when it does.
std::string misfit(const Question& question, const Candidate& candidate) {
  try {
    check_spec(spec_of(question, candidate));
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

// Persistent requests and MPI's collective cost what isend costs, as far as the model knows.
Candidate costed_as(Candidate candidate) {
  if (candidate.mode == SendMode::persistent) candidate.mode = SendMode::isend;
  candidate.algorithm = exchange_algorithm(candidate.algorithm).costed_as;
  return candidate;
}

// Whether the schedules of a node's ranks are made in some milliseconds, and there is anything to gain from knowing nodes.
bool is_quick_on_nodes(const Question& question) {
  constexpr Index most_slots = 20'000;
  if (!question.nodes.is_known() || question.shell == Shell::all_pairs) return false;
  const Index of_node = question.nodes.members(question.nodes.node_of(question.grid.size() / 2));
  return Window(question.cutoff, question.shell).slots() * of_node <= most_slots;
}

std::vector<std::string> in_order() {
  std::vector<std::string> ids(first_of_equals.begin(), first_of_equals.end());
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) {
    if (std::find(ids.begin(), ids.end(), algorithm.id) == ids.end()) ids.emplace_back(algorithm.id);
  }
  return ids;
}

}  // namespace

std::vector<Candidate> candidates(const Question& question) {
  for (const std::string& algorithm : question.algorithms) {
    static_cast<void>(why_not(algorithm, SendMode::isend, question.shell));  // refuses unknown names
  }
  std::vector<Candidate> found;
  std::string first_misfit;
  for (const std::string& algorithm : in_order()) {
    if (!asked(question.algorithms, algorithm)) continue;
    const bool teams = exchange_algorithm(algorithm).has_teams;
    // Ranks that have a node each, or all one, have nothing to gain from knowing it.
    const bool knows_nodes = exchange_algorithm(algorithm).needs_nodes;
    if (knows_nodes && question.algorithms.empty() && !is_quick_on_nodes(question)) continue;
    std::vector<Index> replications{1};
    if (teams) replications = question.replications;
    if (teams && replications.empty()) replications.assign(usual_replications.begin(), usual_replications.end());
    for (const SendMode mode : mode_order) {
      if (!asked(question.modes, mode)) continue;
      // One message after the other they are never the best, and priced worst.
      if (knows_nodes && question.modes.empty() && is_blocking(mode)) continue;
      for (const Index c : replications) {
        const Candidate candidate{algorithm, mode, c};
        const std::string why = misfit(question, candidate);
        if (why.empty()) {
          found.push_back(candidate);
        } else if (first_misfit.empty()) {
          first_misfit = why;
        }
      }
    }
  }
  if (found.empty()) invalid(first_misfit);
  return found;
}

Contest::Contest(Question question, const Placement& placement) {
  const Layout layout(question.grid, placement);
  const bool shared_nodes = placement.nodes() > 1 && placement.nodes() < placement.ranks();
  if (shared_nodes || !question.algorithms.empty()) question.nodes = nodes_of(placement);
  std::map<std::string, std::size_t> numbers;
  for (const Candidate& candidate : candidates(question)) {
    const Candidate costed = costed_as(candidate);
    const auto [known, added] = numbers.try_emplace(to_string(costed), walks_.size());
    if (added) walks_.push_back(walk_of(spec_of(question, costed), layout));
    entries_.push_back({candidate, known->second});
  }
}

namespace {

Ranked priced(const Candidate& candidate, const Walk& walk, Index block_bytes, const Machine& machine) {
  const Cost cost = walk.cost(block_bytes, machine);
  return {candidate,
          cost.time_s(),
          cost.low_s,
          cost.high_s,
          walk.cost(0, machine).time_s(),
          cost.messages_per_rank,
          cost.blocks_per_rank * block_bytes,
          static_cast<Index>(walk.steps()),
          cost.busiest};
}

}  // namespace

std::vector<Ranked> Contest::ranked(Index block_bytes, const Machine& machine) const {
  std::vector<Ranked> of_walk;
  for (const Walk& walk : walks_) of_walk.push_back(priced({}, walk, block_bytes, machine));
  std::vector<Ranked> ranked;
  for (const Entry& entry : entries_) {
    ranked.push_back(of_walk[entry.walk]);
    ranked.back().candidate = entry.candidate;
  }
  // By picoseconds, so that what costs the same stays in order whatever was rounded.
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::llround(1e12 * a.time_s) < std::llround(1e12 * b.time_s);
  });
  return ranked;
}

Ranked Contest::ranked_one(const Candidate& candidate, Index block_bytes, const Machine& machine) const {
  return priced(candidate, walks_[entry_of(candidate).walk], block_bytes, machine);
}

const Contest::Entry& Contest::entry_of(const Candidate& candidate) const {
  for (const Entry& entry : entries_) {
    if (to_string(entry.candidate) == to_string(candidate)) return entry;
  }
  invalid(to_string(candidate) + " is no candidate of this contest");
}

std::vector<Index> Contest::message_blocks(const Candidate& candidate) const {
  return walks_[entry_of(candidate).walk].message_blocks();
}

std::string to_string(const Candidate& candidate) {
  const std::string teams = candidate.replication > 1 ? " c=" + std::to_string(candidate.replication) : "";
  return candidate.algorithm + teams + ", " + to_string(candidate.mode);
}

}  // namespace rankwise
