#include "pattern/growth.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "mapping/random.hpp"

namespace rankwise {

CellLayout::CellLayout(std::size_t ranks, const Cell& period)
    : period_(period), cells_(ranks), placed_(ranks), table_(std::bit_ceil(2 * ranks + 2)) {}

std::size_t CellLayout::slot(const Cell& cell) const {
  std::uint64_t hash = 0;
  for (const std::int32_t coordinate : cell) {
    hash = (hash ^ static_cast<std::uint32_t>(coordinate)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  std::size_t at = mixed(hash) & (table_.size() - 1);
  while (table_[at] != 0 && cells_[table_[at] - 1] != cell) at = (at + 1) & (table_.size() - 1);
  return at;
}

std::optional<Rank> CellLayout::at(const Cell& cell) const {
  const Rank found = table_[slot(cell)];
  if (found == 0) return std::nullopt;
  return found - 1;
}

Cell CellLayout::wrapped(Cell cell) const {
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (period_[i] > 0) cell[i] = (cell[i] % period_[i] + period_[i]) % period_[i];
  }
  return cell;
}

Cell CellLayout::offset(const Cell& a, const Cell& b) const {
  Cell step = sum(b, a, -1);
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (period_[i] == 0) continue;
    if (2 * step[i] > period_[i]) step[i] -= period_[i];
    if (2 * step[i] < -period_[i]) step[i] += period_[i];
  }
  return step;
}

void CellLayout::place(Rank rank, const Cell& cell) {
  table_[slot(cell)] = rank + 1;
  cells_[rank] = cell;
  placed_[rank] = true;
  order_.push_back(rank);
}

namespace {

constexpr std::size_t most_counted = 63;
constexpr std::size_t voters = 6;  // neighbours that name candidates; all of them vote on those
constexpr std::size_t most_candidates = 16;
constexpr double clear_lead = 0.1;
// For a step straight on from the rank behind: as no square leads there, the fewer other ways the better.
constexpr double straight_bonus = 0.25;
constexpr double joined_malus = 0.05;
constexpr double stranger_malus = 0.5;  // for a cell next to a rank that one does not talk to
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
    const auto neighbor = layout_.at(layout_.wrapped(sum(cell, step)));
    if (neighbor && *neighbor != rank && !links_.joined(rank, *neighbor)) result -= stranger_malus;
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

namespace {

constexpr std::size_t most_members = 9;  // two for each of four axes, and one that is there by chance
constexpr std::size_t most_groups = 12;
constexpr int any_number = INT32_MAX;

// Neighbours of the seed alike in weight and in how many neighbours they share with it.
struct Group {
  Kind kind = 0;
  int least = 0;
  int most = 0;
  std::vector<Rank> members;
};

std::vector<Group> groups_around(const Links& links, Rank seed, int tolerance) {
  std::vector<std::array<std::uint32_t, 3>> all;  // kind, shared, rank
  const auto peers = links.of(seed);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (links.hub(peers[i])) continue;
    all.push_back({links.kinds_of(seed)[i], links.shared_of(seed)[i], peers[i]});
  }
  std::sort(all.begin(), all.end());
  std::vector<Group> groups;
  for (const auto& [kind, shared, rank] : all) {
    const auto count = static_cast<int>(shared);
    if (groups.empty() || groups.back().kind != kind || count > groups.back().most + tolerance) {
      groups.push_back({static_cast<Kind>(kind), count, count, {}});
    }
    groups.back().most = count;
    groups.back().members.push_back(rank);
  }
  return groups;
}

Backbone backbone_of(const std::vector<Group>& groups, std::uint32_t chosen, int kinds) {
  Backbone backbone;
  backbone.shared_of_kind.resize(static_cast<std::size_t>(kinds));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if ((chosen >> i & 1) != 0) backbone.shared_of_kind[groups[i].kind].emplace_back(groups[i].least, groups[i].most);
  }
  for (int kind = 0; kind < kinds; ++kind) {
    bool whole = true;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].kind == kind && (chosen >> i & 1) == 0) whole = false;
    }
    auto& ranges = backbone.shared_of_kind[static_cast<std::size_t>(kind)];
    if (whole && !ranges.empty()) ranges = {{0, any_number}};
  }
  return backbone;
}

std::vector<Rank> on_backbone(const Links& links, const Backbone& backbone, Rank rank) {
  std::vector<Rank> result;
  const auto peers = links.of(rank);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!links.hub(peers[i]) && backbone.has(links.kinds_of(rank)[i], links.shared_of(rank)[i])) result.push_back(peers[i]);
  }
  return result;
}

// An axis along which all ranks talk to each other, without the seed, and the groups that it consists of.
struct Whole {
  std::uint32_t groups = 0;
  std::vector<Rank> members;
};

// Groups whose members talk to each other and to nobody else that the seed talks to.
std::vector<Whole> whole_axes(const Links& links, const std::vector<Group>& groups) {
  std::map<int, Whole> with_shared;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].least != groups[i].most) continue;
    Whole& whole = with_shared[groups[i].least];
    whole.groups |= 1U << i;
    whole.members.insert(whole.members.end(), groups[i].members.begin(), groups[i].members.end());
  }
  std::vector<Whole> result;
  for (auto& [shared, whole] : with_shared) {
    const auto& members = whole.members;
    if (members.size() < 3 || members.size() != static_cast<std::size_t>(shared) + 1) continue;
    bool talk = true;
    for (std::size_t i = 1; i < members.size(); ++i) {
      talk = talk && std::all_of(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
                                 [&](Rank other) { return links.joined(members[i], other); });
    }
    if (talk) result.push_back(std::move(whole));
  }
  return result;
}

// Pairs of opposite neighbours, or single ones; nothing where it is not clear who is opposite to whom.
std::optional<std::vector<std::vector<Rank>>> axes_of(const Links& links, const Backbone& backbone, Rank seed,
                                                      std::vector<Rank> star) {
  std::vector<std::vector<Rank>> beyond;
  for (const Rank member : star) beyond.push_back(on_backbone(links, backbone, member));
  const auto square = [&](std::size_t a, std::size_t b) {
    return std::any_of(beyond[a].begin(), beyond[a].end(),
                       [&](Rank rank) { return rank != seed && std::binary_search(beyond[b].begin(), beyond[b].end(), rank); });
  };
  std::vector<std::vector<bool>> squares(star.size(), std::vector<bool>(star.size()));
  std::vector<bool> lonely(star.size(), true);
  for (std::size_t a = 0; a < star.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      squares[a][b] = squares[b][a] = square(a, b);
      if (squares[a][b]) lonely[a] = lonely[b] = false;
    }
  }
  const auto alone = static_cast<std::size_t>(std::count(lonely.begin(), lonely.end(), true));
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < star.size(); ++i) {
    if (!lonely[i] || 3 * alone > star.size()) left.push_back(i);
  }
  std::vector<std::vector<Rank>> axes;
  while (!left.empty()) {
    std::size_t fewest = left.size();
    std::pair<std::size_t, std::size_t> pair;
    for (const std::size_t a : left) {
      std::size_t opposite = 0;
      std::size_t last = a;
      for (const std::size_t b : left) {
        if (a == b || squares[a][b]) continue;
        ++opposite;
        last = b;
      }
      if (opposite < fewest) {
        fewest = opposite;
        pair = {a, last};
      }
    }
    if (fewest > 1) return std::nullopt;
    axes.push_back({star[pair.first]});
    if (pair.second != pair.first) axes.back().push_back(star[pair.second]);
    std::erase_if(left, [&pair](std::size_t i) { return i == pair.first || i == pair.second; });
  }
  if (axes.empty() || axes.size() > most_axes) return std::nullopt;
  return axes;
}

// whole: axes of which all ranks talk to each other, each without the seed.
std::optional<Frame> frame_of(const Links& links, const Backbone& backbone, Rank seed,
                              const std::vector<std::vector<Rank>>& whole) {
  std::vector<Rank> star = on_backbone(links, backbone, seed);
  for (const std::vector<Rank>& axis : whole) {
    std::erase_if(star, [&axis](Rank rank) { return std::find(axis.begin(), axis.end(), rank) != axis.end(); });
  }
  auto axes = star.empty() ? std::vector<std::vector<Rank>>{} : axes_of(links, backbone, seed, std::move(star));
  if (!axes || axes->size() + whole.size() > most_axes) return std::nullopt;
  Frame frame{CellLayout(links.ranks()), {}, backbone};
  frame.layout.place(seed, {});
  frame.steps.of_kind.resize(static_cast<std::size_t>(links.kinds()));
  const auto peers = links.of(seed);
  for (std::size_t axis = 0; axis < axes->size(); ++axis) {
    Cell step{};
    step[axis] = 1;
    const Cell back = sum({}, step, -1);
    frame.steps.all.push_back(step);
    frame.steps.all.push_back(back);
    for (const Rank member : (*axes)[axis]) {
      const auto at = static_cast<std::size_t>(std::lower_bound(peers.begin(), peers.end(), member) - peers.begin());
      auto& steps = frame.steps.of_kind[links.kinds_of(seed)[at]];
      if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
        steps.push_back(step);
        steps.push_back(back);
      }
    }
    frame.layout.place((*axes)[axis].front(), step);
    if ((*axes)[axis].size() > 1) frame.layout.place((*axes)[axis].back(), back);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Cell cell{};
    for (const Rank member : whole[i]) {
      ++cell[axes->size() + i];
      frame.layout.place(member, cell);
      const auto at = static_cast<std::size_t>(std::lower_bound(peers.begin(), peers.end(), member) - peers.begin());
      for (const Cell& step : {cell, sum({}, cell, -1)}) {
        frame.steps.all.push_back(step);
        frame.steps.of_kind[links.kinds_of(seed)[at]].push_back(step);
      }
    }
  }
  for (auto& steps : frame.steps.of_kind) std::sort(steps.begin(), steps.end());
  std::sort(frame.steps.all.begin(), frame.steps.all.end());
  return frame;
}

}  // namespace

std::vector<Rank> seeds(const Links& links, std::size_t most) {
  std::vector<std::size_t> with_degree;
  for (Rank rank = 0; rank < links.ranks(); ++rank) {
    const std::size_t degree = links.of(rank).size();
    if (links.hub(rank)) continue;
    with_degree.resize(std::max(with_degree.size(), degree + 1));
    ++with_degree[degree];
  }
  std::size_t degree = with_degree.size() - 1;
  std::size_t seen = 0;
  while (degree > 0 && (seen += with_degree[degree]) < std::max<std::size_t>(2, links.ranks() / 16)) --degree;
  std::vector<Rank> result;
  Random random(20);
  const auto start = static_cast<Rank>(random.bits() % links.ranks());
  // All ranks once, by steps that share no factor with their number.
  std::size_t stride = links.ranks() * 5 / 8 + 1;
  while (std::gcd(stride, links.ranks()) != 1) ++stride;
  for (std::size_t i = 0; i < links.ranks() && result.size() < most; ++i) {
    const auto rank = static_cast<Rank>((start + i * stride) % links.ranks());
    if (!links.hub(rank) && links.of(rank).size() == degree) result.push_back(rank);
  }
  return result;
}

std::vector<Frame> frames(const Links& links, Rank seed, std::size_t most) {
  std::vector<Frame> result;
  std::set<std::vector<Rank>> tried;
  for (const int tolerance : {0, 1}) {
    const std::vector<Group> groups = groups_around(links, seed, tolerance);
    if (groups.size() > most_groups) continue;
    const std::vector<Whole> wholes = whole_axes(links, groups);
    std::vector<std::pair<std::size_t, std::uint32_t>> choices;
    for (std::uint32_t chosen = 1; chosen < 1U << groups.size(); ++chosen) {
      std::size_t members = 0;
      std::size_t parts = 0;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if ((chosen >> i & 1) == 0) continue;
        members += groups[i].members.size();
        ++parts;
      }
      for (const Whole& whole : wholes) {
        if ((chosen & whole.groups) == whole.groups) members -= whole.members.size() - 2;
      }
      if (members <= most_members) choices.emplace_back(4 * parts + members, chosen);
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& [simplicity, chosen] : choices) {
      if (result.size() >= most) return result;
      std::vector<Rank> star;
      std::vector<std::vector<Rank>> whole;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if ((chosen >> i & 1) != 0) star.insert(star.end(), groups[i].members.begin(), groups[i].members.end());
      }
      for (const Whole& one : wholes) {
        if ((chosen & one.groups) == one.groups) whole.push_back(one.members);
      }
      std::sort(star.begin(), star.end());
      if (!tried.insert(star).second) continue;
      auto frame = frame_of(links, backbone_of(groups, chosen, links.kinds()), seed, whole);
      if (frame) result.push_back(std::move(*frame));
    }
  }
  return result;
}

}  // namespace rankwise
