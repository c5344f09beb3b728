// Where ranks sit, by numbers and one by one.
#include "cost/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "../refused.hpp"
#include "../rounds.hpp"

namespace rankwise {

namespace {

using rankwise_test::error_of;

TEST(LinkBetween, TheNarrowestThatHoldsBoth) {
  EXPECT_EQ(link_between({0, 0, 0, -1}, {1, 0, 0, -1}), LinkClass::other_node);
  EXPECT_EQ(link_between({0, 0, 0, 5}, {0, 1, 0, 5}), LinkClass::other_socket);
  EXPECT_EQ(link_between({0, 0, 0, -1}, {0, 0, 1, -1}), LinkClass::same_socket);
  EXPECT_EQ(link_between({0, 0, 0, 1}, {0, 0, 1, 0}), LinkClass::same_socket);
  EXPECT_EQ(link_between({0, 0, 0, 0}, {0, 0, 1, 0}), LinkClass::shared_cache);
  EXPECT_EQ(link_between({0, 0, 3, 0}, {0, 0, 3, 0}), LinkClass::same_core);
}

TEST(Placement, NodesAreFilledOneAfterTheOther) {
  // 11 ranks on nodes of 5: sockets of 3 and 2, caches of 2 and 1, and of 2.
  const Placement placement = Placement::blocked(11, 5, 3, 2);
  const std::vector<Location> expected{{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 2, 1}, {0, 1, 3, 2}, {0, 1, 4, 2}, {1, 2, 5, 4},
                                       {1, 2, 6, 4}, {1, 2, 7, 5}, {1, 3, 8, 6}, {1, 3, 9, 6}, {2, 4, 10, 8}};
  for (Index rank = 0; rank < 11; ++rank) {
    EXPECT_EQ(placement[rank], expected[static_cast<std::size_t>(rank)]) << rank;
    EXPECT_EQ(placement.node(rank), rank / 5);
  }
  EXPECT_EQ(placement.nodes(), 3);
  EXPECT_EQ(placement.most_on_a_node(), 5);
  EXPECT_TRUE(placement.is_blocked() && placement.has_sockets() && !placement.knows_only_nodes());
  const Placement plain = Placement::blocked(10, 5);
  EXPECT_EQ(plain.nodes(), 2);
  EXPECT_EQ(plain[7], (Location{1, 1, 7, -1}));
  EXPECT_TRUE(!plain.has_sockets() && plain.knows_only_nodes());
  EXPECT_TRUE(Placement::blocked(10, 5, 5).knows_only_nodes());
  EXPECT_FALSE(Placement::blocked(10, 5, 7, 1).knows_only_nodes());
  EXPECT_EQ(Placement::blocked(10, 5, 7, 1)[6], (Location{1, 1, 6, 6}));
  EXPECT_EQ(Placement::blocked(3, 5).most_on_a_node(), 3);
  EXPECT_EQ(Placement::blocked(1, 1).nodes(), 1);
}

TEST(Placement, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(error_of([] { (void)Placement::blocked(0, 1); }), "a placement of 0 ranks places nobody: give at least 1");
  EXPECT_EQ(error_of([] { (void)Placement::blocked(1, 0); }), "ranks per node 0 is too small: it must be at least 1");
  const std::string negative = "ranks per socket or cache are negative: give at least 1";
  EXPECT_EQ(error_of([] { (void)Placement::blocked(4, 2, -1); }), negative);
  EXPECT_EQ(error_of([] { (void)Placement::blocked(4, 2, 0, -1); }), negative);
  const auto listed = [](const std::vector<Location>& list) { return error_of([&] { (void)Placement(list); }); };
  const std::string below = "a location of the placement is negative: count nodes, sockets and cores from 0";
  EXPECT_EQ(listed({}), "a placement of 0 ranks places nobody: give one location a rank");
  EXPECT_EQ(listed({{0, 0, 0}, {-1, 0, 1}}), below);
  EXPECT_EQ(listed({{0, 0, 0}, {0, -1, 1}}), below);
  EXPECT_EQ(listed({{0, 0, 0}, {0, 0, -1}}), below);
  EXPECT_EQ(listed({{0, 0, 0}, {1, 0, 1}}), "socket 0 lies on nodes 0 and 1: number them over the machine");
  EXPECT_EQ(listed({{Index{1} << 31, 0, 0}}), "the placement numbers its nodes beyond 2^31: number them from 0");
  EXPECT_EQ(listed({{(Index{1} << 31) - 1, 0, 0}}), "");
  const std::vector<std::int32_t> three{0, 1, 2};
  const std::vector<std::int32_t> two{0, 1};
  EXPECT_EQ(error_of([&] { (void)Placement::on_nodes(three, two); }), "3 ranks have nodes and 2 sockets: give each rank both");
}

TEST(Placement, RanksListedOneByOne) {
  // Nodes of 3, 1 and 2 ranks, dealt out.
  const std::vector<std::int32_t> nodes{2, 0, 0, 2, 1, 0};
  const Placement dealt = Placement::on_nodes(nodes);
  EXPECT_TRUE(!dealt.is_blocked() && dealt.knows_only_nodes() && !dealt.has_sockets());
  EXPECT_EQ(dealt.nodes(), 3);
  EXPECT_EQ(dealt.ranks(), 6);
  EXPECT_EQ(dealt.most_on_a_node(), 3);
  for (Index rank = 0; rank < 6; ++rank) {
    const auto node = nodes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(dealt[rank], (Location{node, node, rank, -1}));
    EXPECT_EQ(dealt.node(rank), node);
  }
  const std::vector<std::int32_t> sockets{4, 0, 1, 5, 2, 0};
  const Placement seated = Placement::on_nodes(nodes, sockets);
  EXPECT_TRUE(!seated.is_blocked() && !seated.knows_only_nodes() && seated.has_sockets());
  EXPECT_EQ(seated[3], (Location{2, 5, 3, -1}));
  const std::vector<Location> cached{{0, 0, 0, 0}, {0, 0, 1, 0}};
  EXPECT_FALSE(Placement(cached).is_blocked());
  EXPECT_FALSE(Placement(cached).knows_only_nodes());
}

TEST(Placement, RanksListedOneByOneAreKnownAsBlocked) {
  for (const auto& [per_node, per_socket] : {std::pair<Index, Index>{6, 6}, {6, 3}, {6, 4}, {6, 1}, {1, 1}, {20, 7}}) {
    const Placement blocked = Placement::blocked(20, per_node, per_socket);
    std::vector<std::int32_t> nodes;
    std::vector<std::int32_t> sockets;
    for (Index rank = 0; rank < 20; ++rank) {
      nodes.push_back(static_cast<std::int32_t>(blocked[rank].node));
      sockets.push_back(static_cast<std::int32_t>(blocked[rank].socket));
    }
    const Placement listed = Placement::on_nodes(nodes, sockets);
    EXPECT_TRUE(listed.is_blocked()) << per_node << " a node, " << per_socket << " a socket";
    EXPECT_EQ(listed.knows_only_nodes(), per_socket == per_node);
    for (Index rank = 0; rank < 20; ++rank) EXPECT_EQ(listed[rank], blocked[rank]);
    if (per_node == 20) continue;
    std::swap(sockets.front(), sockets.back());
    std::swap(nodes.front(), nodes.back());
    EXPECT_FALSE(Placement::on_nodes(nodes, sockets).is_blocked());
  }
}

TEST(Placement, LevelsOfSwitchesLieBetweenNodesOfDifferentUnits) {
  const Placement placement = Placement::blocked(24, 2).with_levels({2, 6});
  EXPECT_EQ(placement.levels(), (std::vector<Index>{2, 6}));
  const auto levels_between = [&](Index node, Index other) {
    return route_between({node, node, 0}, {other, other, 1}, placement.levels()).span - between_nodes;
  };
  EXPECT_EQ(levels_between(0, 1), 0U);
  EXPECT_EQ(levels_between(1, 2), 1U);
  EXPECT_EQ(levels_between(5, 6), 2U);
  EXPECT_EQ(levels_between(11, 0), 2U);
  const std::string grow = "the levels of switches do not grow: name the inner ones first";
  EXPECT_EQ(error_of([&] { (void)placement.with_levels({0}); }), grow);
  EXPECT_EQ(error_of([&] { (void)placement.with_levels({2, 1}); }), grow);
  EXPECT_EQ(error_of([&] { (void)placement.with_levels({1, 1}); }), "");
}

}  // namespace

// What is counted of the ranks of nodes, sockets and units of switches, against a count rank by rank.

namespace {

struct Asked {
  Grid grid;
  Placement placement;
  std::vector<Partner> partners;
  std::vector<Reach> reach;
  bool members;
  std::function<Index(Index, const Coords&)> kind_of;
};

// Below 0 where there is none.
Index partner_of(const Asked& asked, Index rank, const Partner& partner) {
  const Coords own = asked.grid.coords(rank);
  const Index other = asked.grid.cell_at_offset(own, partner.offset, +1);
  if (other < 0 || asked.reach.empty()) return other;
  const Coords its = asked.grid.coords(other);
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    const Index by = its[axis] - own[axis];
    if (by < -asked.reach[axis].lower || by > asked.reach[axis].upper) return -1;
  }
  return other;
}

// nodes, units: of these only.
Census counted(const Asked& asked, const std::set<Index>& nodes, const std::vector<std::set<Index>>& units) {
  const Placement& placement = asked.placement;
  Census census;
  census.spans = 3 + placement.levels().size();
  const std::vector<std::uint32_t> nothing(asked.partners.size() * census.spans, 0);
  std::map<Index, UnitCounts> of_node;
  std::map<Index, UnitCounts> of_socket;
  std::vector<std::map<Index, UnitCounts>> of_unit(placement.levels().size());
  for (const Index node : nodes) of_node[node] = {UnitCounts::Of::node, 0, nothing};
  for (std::size_t level = 0; level < units.size(); ++level) {
    for (const Index unit : units[level]) of_unit[level][unit] = {UnitCounts::Of::level, level, nothing};
  }
  std::vector<std::optional<LinkClass>> farthest(asked.partners.size());
  using Distances = std::vector<Index>;                    // partners by link, the farthest first
  std::map<Index, std::pair<Distances, Index>> loneliest;  // of each kind, and the rank
  for (const Index node : nodes) {
    for (Index rank = 0; rank < placement.ranks(); ++rank) {
      const Location own = placement[rank];
      const Index kind = asked.kind_of(rank, asked.grid.coords(rank));
      const bool sends = std::ranges::any_of(asked.partners, [kind](const Partner& partner) { return partner.kind == kind; });
      if (own.node != node || !sends) continue;
      if (placement.has_sockets()) of_socket.try_emplace(own.socket, UnitCounts{UnitCounts::Of::socket, 0, nothing});
      Distances distances(link_class_count, 0);
      for (std::size_t i = 0; i < asked.partners.size(); ++i) {
        const Index other = asked.partners[i].kind == kind ? partner_of(asked, rank, asked.partners[i]) : -1;
        if (other < 0) continue;
        const Location its = placement[other];
        const LinkClass link = link_between(own, its);
        std::size_t span = link == LinkClass::other_node ? 2 : link == LinkClass::other_socket ? 1 : 0;
        for (const Index unit : placement.levels()) span += own.node / unit != its.node / unit ? 1 : 0;
        const std::size_t at = i * census.spans + span;
        ++of_node[node].counts[at];
        if (placement.has_sockets()) ++of_socket[own.socket].counts[at];
        farthest[i] = std::max(farthest[i], std::optional(link));
        ++distances[link_class_count - 1 - static_cast<std::size_t>(link)];
      }
      auto& most = loneliest.try_emplace(kind, Distances{}, -1).first->second;
      if (distances > most.first) most = {distances, rank};
    }
  }
  for (std::size_t level = 0; level < units.size(); ++level) {
    for (auto& [unit, counts] : of_unit[level]) {
      for (Index node = unit * placement.levels()[level]; node < (unit + 1) * placement.levels()[level]; ++node) {
        if (node >= placement.nodes()) continue;
        const Census alone = counted(asked, {node}, {});
        for (const UnitCounts& of : alone.units) {
          for (std::size_t i = 0; of.of == UnitCounts::Of::node && i < of.counts.size(); ++i) counts.counts[i] += of.counts[i];
        }
      }
    }
  }
  std::set<UnitCounts> found;
  for (const auto& [node, counts] : of_node) found.insert(counts);
  for (const auto& [socket, counts] : of_socket) found.insert(counts);
  for (const auto& level : of_unit) {
    for (const auto& [unit, counts] : level) found.insert(counts);
  }
  census.units.assign(found.begin(), found.end());
  for (std::size_t i = 0; i < asked.partners.size(); ++i) {
    const Index lonely =
        asked.members || !loneliest.contains(asked.partners[i].kind) ? -1 : loneliest[asked.partners[i].kind].second;
    const Index other = lonely < 0 ? -1 : partner_of(asked, lonely, asked.partners[i]);
    census.links.push_back(other < 0 ? farthest[i] : link_between(placement[lonely], placement[other]));
  }
  const auto most = *std::max_element(census.links.begin(), census.links.end());
  for (auto& link : census.links) link = link ? link : most;
  return census;
}

void expect_counted(const Asked& asked, const std::string& what, std::set<Index> nodes = {},
                    std::vector<std::set<Index>> units = {}) {
  if (nodes.empty()) {
    for (Index node = 0; node < asked.placement.nodes(); ++node) nodes.insert(node);
    for (const Index of : asked.placement.levels()) {
      units.emplace_back();
      for (Index unit = 0; unit <= (asked.placement.nodes() - 1) / of; ++unit) units.back().insert(unit);
    }
  }
  const Layout layout(asked.grid, asked.placement);
  const auto found = layout.census(asked.grid, asked.partners, asked.reach, asked.members, {1}, asked.kind_of);
  const Census expected = counted(asked, nodes, units);
  EXPECT_EQ(found->spans, expected.spans) << what;
  EXPECT_TRUE(found->units == expected.units) << what << ": " << found->units.size() << " units for " << expected.units.size();
  EXPECT_TRUE(found->links == expected.links) << what;
}

TEST(Layout, CountsWhatACountRankByRankDoes) {
  std::mt19937 random(11);
  const auto pick = [&](Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random); };
  for (int i = 0; i < rankwise_test::rounds(120); ++i) {
    std::vector<Index> dims;
    std::vector<bool> periodic;
    std::vector<Reach> reach;
    const bool reaches = pick(0, 2) == 0;
    for (Index axis = pick(1, 3); axis > 0; --axis) {
      dims.push_back(pick(3, 7));
      periodic.push_back(pick(0, 1) == 1);
      if (reaches) reach.push_back({pick(0, 3), pick(1, 3)});
    }
    const Grid grid(dims, periodic);
    const Index ranks = grid.size();
    const Index kinds = pick(1, 3);
    std::vector<Partner> partners;
    for (Index kind = 0; kind < kinds; ++kind) {
      for (Index n = pick(1, 6); n > 0; --n) {
        Coords offset(dims.size(), 0);
        for (Index& along : offset) along = pick(-2, 2);
        const bool known = std::find(partners.begin(), partners.end(), Partner{kind, offset}) != partners.end();
        if (known || std::all_of(offset.begin(), offset.end(), [](Index along) { return along == 0; })) continue;
        partners.push_back({kind, offset});
        if (offset.back() < 2 && pick(0, 1) == 1) {
          ++offset.back();
          const bool is_new = std::find(partners.begin(), partners.end(), Partner{kind, offset}) == partners.end();
          if (is_new) partners.push_back({kind, offset});
        }
      }
    }
    std::erase_if(partners, [](const Partner& p) { return std::ranges::all_of(p.offset, [](Index a) { return a == 0; }); });
    if (partners.empty()) continue;
    const Index per_node = pick(1, std::min<Index>(ranks, 9));
    std::vector<std::int32_t> nodes;
    std::vector<std::int32_t> sockets;
    for (Index rank = 0; rank < ranks; ++rank) {
      nodes.push_back(static_cast<std::int32_t>(pick(0, (ranks - 1) / per_node)));
      sockets.push_back(static_cast<std::int32_t>(2 * nodes.back() + pick(0, 1)));
    }
    const Index where = pick(0, 4);
    Placement placement = where == 0   ? Placement::blocked(ranks, per_node)
                          : where == 1 ? Placement::blocked(ranks, per_node, pick(1, per_node))
                          : where == 2 ? Placement::blocked(ranks, per_node, 0, 1)
                          : where == 3 ? Placement::on_nodes(nodes)
                                       : Placement::on_nodes(nodes, sockets);
    if (pick(0, 2) == 0) placement = std::move(placement).with_levels({pick(1, 2), pick(3, 4)});
    const auto kind_of = [kinds](Index rank, const Coords&) { return rank % (kinds + 1) - (kinds > 1 ? 1 : 0); };
    const auto alike = [](Index, const Coords&) { return Index{0}; };
    Asked asked{grid, placement, partners, reach, pick(0, 2) == 2, alike};
    if (kinds > 1) asked.kind_of = kind_of;
    expect_counted(asked, std::to_string(i));
  }
}

TEST(Layout, OnePartnerOnAnotherNodeIsFartherThanThousandsOnAnotherSocket) {
  constexpr Index ranks = 6000;
  std::vector<std::int32_t> nodes(ranks, 0);
  std::vector<std::int32_t> sockets(ranks, 1);
  nodes[ranks - 1] = 1;
  sockets[0] = 0;
  sockets[ranks - 1] = 2;
  std::vector<Partner> partners;
  for (Index along = 1; along <= 5000; ++along) partners.push_back({0, {along}});
  const auto kind_of = [](Index rank, const Coords&) { return Index{rank == 0 || rank == ranks - 2 ? 0 : -1}; };
  const Asked asked{Grid({ranks}, {false}), Placement::on_nodes(nodes, sockets), partners, {}, false, kind_of};
  const auto found = Layout(asked.grid, asked.placement).census(asked.grid, partners, {}, false, {1}, kind_of);
  EXPECT_EQ(found->links[0], LinkClass::other_node);
  expect_counted(asked, "two ranks");
}

TEST(Layout, OfManyNodesSixteenAreCountedAndOfUnitsFour) {
  // 4096 ranks with 9 partners are more than 2^15 looks.
  const Grid grid({64, 64}, {false, false});
  std::vector<Partner> partners;
  for (Index down = -1; down <= 1; ++down) {
    for (Index right = 1; right <= 3; ++right) partners.push_back({0, {down, right}});
  }
  const auto alike = [](Index, const Coords&) { return Index{0}; };
  std::set<Index> nodes;
  std::set<Index> units;
  for (Index i = 0; i < 16; ++i) nodes.insert(i * 113 / 15);
  expect_counted({grid, Placement::blocked(4096, 36), partners, {}, false, alike}, "114 nodes", nodes, {});
  for (Index i = 0; i < 4; ++i) units.insert(i * 22 / 3);
  const Placement switched = Placement::blocked(4096, 36).with_levels({5});
  expect_counted({grid, switched, partners, {}, false, alike}, "levels", nodes, {units});
  // Of nodes of 9 ranks as many as have 512.
  nodes.clear();
  for (Index i = 0; i < 56; ++i) nodes.insert(i * 455 / 55);
  expect_counted({grid, Placement::blocked(4096, 9), partners, {}, false, alike}, "456 nodes", nodes, {});
  // Of nodes that are dealt out all.
  std::vector<std::int32_t> dealt;
  for (std::int32_t rank = 0; rank < 4096; ++rank) dealt.push_back(rank % 60);
  expect_counted({grid, Placement::on_nodes(dealt).with_levels({5}), partners, {}, false, alike}, "dealt");
  // Few looks: all of them.
  partners.resize(8);
  expect_counted({grid, Placement::blocked(4096, 36), partners, {}, false, alike}, "few looks");
}

TEST(Layout, WhatWasCountedIsGivenAgain) {
  const Grid ring({12}, {true});
  const Placement placement = Placement::blocked(12, 4);
  const Layout layout(ring, placement);
  const auto alike = [](Index, const Coords&) { return Index{0}; };
  const auto ask = [&](const Grid& grid, Index offset, const std::vector<Reach>& reach, Index label) {
    return layout.census(grid, {{0, {offset}}}, reach, false, {label}, alike);
  };
  const auto first = ask(ring, 1, {}, 1);
  EXPECT_EQ(ask(ring, 1, {}, 1), first);
  EXPECT_NE(ask(ring, 2, {}, 1), first);
  EXPECT_NE(ask(ring, 1, {{1, 1}}, 1), first);
  EXPECT_NE(ask(ring, 1, {}, 2), first);
  EXPECT_NE(ask(Grid({12}, {false}), 1, {}, 1), first);
  EXPECT_EQ(rankwise_test::error_of([&] { (void)Layout(Grid({11}), placement); }),
            "the placement has 12 ranks, the grid 11: give one location a rank");
}

}  // namespace

}  // namespace rankwise
