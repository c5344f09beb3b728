#include "pattern/growth.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace rankwise {

namespace {

constexpr std::size_t most_counted = 63;
constexpr std::size_t voters = 6;  // neighbours that name candidates; all of them vote on those
constexpr std::size_t most_candidates = 16;
constexpr double clear_lead = 0.1;
// For a step straight on from the rank behind: as no square leads there, the fewer other ways the better.
constexpr double straight_bonus = 0.25;
constexpr double joined_malus = 0.05;
constexpr double stranger_malus = 0.5;  // for a cell beside whose rank one does not talk to
constexpr int longest_step = 8;

}  // namespace

bool Backbone::has(Kind kind, int shared) const {
  const auto& ranges = shared_of_kind[kind];
  return std::any_of(ranges.begin(), ranges.end(),
                     [shared](const auto& range) { return range.first <= shared && shared <= range.second; });
}

Growth::Growth(const Links& links, CellLayout& layout, const Steps& steps, const Backbone* backbone)
    : links_(links),
      layout_(layout),
      steps_(steps),
      backbone_(backbone),
      placed_neighbours_(links.ranks()),
      waiting_(most_counted + 1),
      unclear_(most_counted + 1),
      doubtful_(most_counted + 1) {
  const std::vector<Rank> placed = layout.placed();
  for (const Rank rank : placed) notify_neighbours(rank);
}

void Growth::notify_neighbours(Rank rank) {
  if (links_.hub(rank)) return;
  const auto peers = links_.of(rank);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (layout_.has(peers[i]) || !follows(rank, i)) continue;
    ++placed_neighbours_[peers[i]];
    queue(peers[i]);
  }
}

void Growth::queue(Rank rank) { waiting_[std::min<std::size_t>(placed_neighbours_[rank], most_counted)].push_back(rank); }

void Growth::place(Rank rank, const Cell& cell) {
  layout_.place(rank, cell);
  notify_neighbours(rank);
}

int Growth::ways_between(Rank a, Rank b) const {
  int ways = 0;
  const auto peers = links_.of(a);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Rank via = peers[i];
    if (links_.hub(via) || !follows(a, i)) continue;
    const auto others = links_.of(via);
    const auto found = std::lower_bound(others.begin(), others.end(), b);
    if (found == others.end() || *found != b) continue;
    if (follows(via, static_cast<std::size_t>(found - others.begin()))) ++ways;
  }
  return ways;
}

double Growth::score(Rank rank, const Cell& cell) const {
  double result = 0;
  const auto peers = links_.of(rank);
  const auto kinds = links_.kinds_of(rank);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Rank peer = peers[i];
    if (!layout_.has(peer) || links_.hub(peer) || !follows(rank, i)) continue;
    const Cell step = layout_.offset(layout_.cell(peer), cell);
    const auto& steps = steps_.of_kind[kinds[i]];
    if (!std::binary_search(steps.begin(), steps.end(), step)) continue;
    result += 1;
    if (placed_neighbours_[rank] > 2) continue;
    const auto behind = layout_.at(layout_.wrapped(sum(layout_.cell(peer), step, -1)));
    if (!behind || !links_.joined(*behind, peer)) continue;
    result += straight_bonus / std::max(1, ways_between(rank, *behind));
    if (links_.joined(rank, *behind)) result -= joined_malus;
  }
  for (const Cell& step : steps_.all) {
    const auto beside = layout_.at(layout_.wrapped(sum(cell, step)));
    if (beside && *beside != rank && !links_.joined(rank, *beside)) result -= stranger_malus;
  }
  return result;
}

std::optional<Growth::Place> Growth::best_place(Rank rank) const {
  const auto peers = links_.of(rank);
  const auto kinds = links_.kinds_of(rank);
  std::vector<std::pair<std::size_t, std::size_t>> asked;  // fewest steps first
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!layout_.has(peers[i]) || links_.hub(peers[i]) || !follows(rank, i)) continue;
    asked.emplace_back(steps_.of_kind[kinds[i]].size(), i);
  }
  if (asked.size() > voters) {
    std::nth_element(asked.begin(), asked.begin() + voters, asked.end());
    asked.resize(voters);
  }
  std::vector<Cell> named;
  for (const auto& [count, i] : asked) {
    for (const Cell& step : steps_.of_kind[kinds[i]]) {
      const Cell cell = layout_.wrapped(sum(layout_.cell(peers[i]), step));
      if (!layout_.at(cell)) named.push_back(cell);
    }
  }
  if (named.empty()) return std::nullopt;
  std::sort(named.begin(), named.end());
  std::vector<std::pair<int, std::size_t>> votes;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (i == 0 || named[i] != named[i - 1]) votes.emplace_back(0, i);
    ++votes.back().first;
  }
  std::sort(votes.rbegin(), votes.rend());
  if (votes.size() > most_candidates) votes.resize(most_candidates);
  const int most = votes.front().first;
  Place best{{}, -1e9, 0};
  double second = -1e9;
  for (const auto& [count, i] : votes) {
    if (count + 1 < most) continue;
    const double value = score(rank, named[i]);
    if (value > best.score) {
      second = best.score;
      best.cell = named[i];
      best.score = value;
    } else {
      second = std::max(second, value);
    }
  }
  best.lead = best.score - second;
  return best;
}

bool Growth::closes_square(Rank rank) const {
  const auto peers = links_.of(rank);
  for (const Rank first : peers) {
    if (!layout_.has(first) || links_.hub(first)) continue;
    for (const Rank third : links_.of(first)) {
      if (third == rank || !layout_.has(third) || links_.hub(third)) continue;
      for (const Rank second : peers) {
        if (second != first && second != third && !links_.hub(second) && links_.joined(second, third)) return true;
      }
    }
  }
  return false;
}

void Growth::run(std::size_t limit) {
  const auto last_of = [](std::vector<std::vector<Rank>>& queues) -> std::optional<std::pair<Rank, std::size_t>> {
    for (std::size_t count = queues.size(); count-- > 1;) {
      if (queues[count].empty()) continue;
      const Rank rank = queues[count].back();
      queues[count].pop_back();
      return std::pair(rank, count);
    }
    return std::nullopt;
  };
  while (layout_.size() < limit) {
    int patience = 0;  // 0: a clear place; 1: the best of equal ones; 2: one that closes no square
    auto next = last_of(waiting_);
    if (!next) {
      patience = 1;
      next = last_of(unclear_);
    }
    if (!next) {
      patience = 2;
      next = last_of(doubtful_);
    }
    if (!next) return;
    const auto [rank, count] = *next;
    if (layout_.has(rank) || std::min<std::size_t>(placed_neighbours_[rank], most_counted) != count) continue;
    const auto best = best_place(rank);
    if (!best || best->score < 0.4) continue;
    if (patience == 0 && best->lead < clear_lead) {
      unclear_[count].push_back(rank);
    } else if (patience < 2 && count == 1 && !closes_square(rank)) {
      doubtful_[count].push_back(rank);
    } else {
      place(rank, best->cell);
    }
  }
}

Steps learn_steps(const Links& links, const CellLayout& layout) {
  struct Count {
    std::uint32_t pairs = 0;
    std::vector<std::uint32_t> of_kind;
  };
  std::map<Cell, Count> counts;
  const std::size_t sampled = std::min<std::size_t>(layout.size(), 4000);
  for (std::size_t i = 0; i < sampled; ++i) {
    const Rank rank = layout.placed()[i];
    const auto peers = links.of(rank);
    const auto kinds = links.kinds_of(rank);
    for (std::size_t j = 0; j < peers.size(); ++j) {
      if (!layout.has(peers[j])) continue;
      const Cell step = layout.offset(rank, peers[j]);
      int length = 0;
      for (const std::int32_t coordinate : step) length += std::abs(coordinate);
      if (length > longest_step) continue;
      Count& count = counts[step];
      count.of_kind.resize(static_cast<std::size_t>(links.kinds()));
      ++count.pairs;
      ++count.of_kind[kinds[j]];
    }
  }
  Steps steps;
  steps.of_kind.resize(static_cast<std::size_t>(links.kinds()));
  for (const auto& [step, count] : counts) {
    if (count.pairs < 2) continue;
    std::uint32_t possible = 0;
    for (std::size_t i = 0; i < sampled; ++i) {
      if (layout.at(layout.wrapped(sum(layout.cell(layout.placed()[i]), step)))) ++possible;
    }
    if (2 * count.pairs < possible) continue;
    steps.all.push_back(step);
    for (std::size_t kind = 0; kind < steps.of_kind.size(); ++kind) {
      if (20 * count.of_kind[kind] >= count.pairs) steps.of_kind[kind].push_back(step);
    }
  }
  return steps;
}

}  // namespace rankwise
