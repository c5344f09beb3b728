#include "pattern/frames.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "mapping/random.hpp"

namespace rankwise {

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
