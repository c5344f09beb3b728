// Packets over nodes: the known numbers of messages, random patterns proved, every planted fault found.
#include "halo/node_aware.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "../rounds.hpp"
#include "../schedule/play.hpp"
#include "node_aware_parts.hpp"

namespace rankwise {
namespace {

constexpr NodeAwareKind kinds[] = {NodeAwareKind::two_step, NodeAwareKind::three_step, NodeAwareKind::leader};

// All neighbours within one layer on a periodic grid, its nodes bricks of it.
NodePattern grid_pattern(const std::vector<Index>& dims, const std::vector<Index>& brick) {
  const Grid grid(dims, std::vector<bool>(dims.size(), true));
  NodePattern pattern;
  std::map<Coords, Index> first;
  for (Index rank = 0; rank < grid.size(); ++rank) {
    Coords at = grid.coords(rank);
    for (std::size_t a = 0; a < at.size(); ++a) at[a] /= brick[a];
    pattern.node_of_rank.push_back(first.try_emplace(at, rank).first->second);
    std::set<Index> partners;
    for (Index o = 0; o < 27; ++o) {
      partners.insert(grid.cell_at_offset(grid.coords(rank), {o / 9 - 1, o / 3 % 3 - 1, o % 3 - 1}, +1));
    }
    partners.erase(rank);
    for (const Index partner : partners) pattern.packets.push_back({rank, partner});
  }
  pattern.bytes.assign(pattern.packets.size(), 100);
  return pattern;
}

struct Counts {
  Index between = 0;
  Index within = 0;
  bool operator==(const Counts&) const = default;
};

Counts direct_counts(const NodePattern& pattern) {
  Counts counts;
  for (const Packet& packet : pattern.packets) {
    const auto node = [&](Index rank) { return pattern.node_of_rank[static_cast<std::size_t>(rank)]; };
    ++(node(packet.source) == node(packet.dest) ? counts.within : counts.between);
  }
  return counts;
}

Counts counts_of(const NodePattern& pattern, NodeAwareKind kind) {
  const std::vector<NodeAwareSchedule> parts = node_aware_schedules(kind, pattern);
  EXPECT_EQ(check_node_aware(pattern, parts), std::vector<std::string>{});
  Counts counts;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    for (const Step& step : parts[r].schedule.steps) {
      std::set<Index> peers;
      for (const Op& op : step.ops) {
        if (op.kind != Op::Kind::send) continue;
        EXPECT_TRUE(peers.insert(op.peer).second) << "two messages to one rank in a step";
        EXPECT_NE(op.peer, static_cast<Index>(r));
        const bool inside = pattern.node_of_rank[r] == pattern.node_of_rank[static_cast<std::size_t>(op.peer)];
        ++(inside ? counts.within : counts.between);
      }
    }
  }
  return counts;
}

TEST(NodeAwareSchedule, MessagesAreAsManyAsTheFormulasSay) {
  const NodePattern bricks = grid_pattern({8, 4, 4}, {4, 2, 2});
  EXPECT_EQ(direct_counts(bricks).between, 2176);
  EXPECT_EQ(counts_of(bricks, NodeAwareKind::three_step).between, 56);
  EXPECT_EQ(counts_of(bricks, NodeAwareKind::leader).between, 56);
  EXPECT_EQ(counts_of(bricks, NodeAwareKind::two_step).between, 640);
  // What a rank has for another of its node travels with what that passes on: 48 + 12 messages, not 48 + 12 + 12.
  const NodePattern slabs = grid_pattern({4, 2, 2}, {1, 2, 2});
  EXPECT_EQ(direct_counts(slabs), (Counts{128, 48}));
  EXPECT_EQ(counts_of(slabs, NodeAwareKind::leader), (Counts{8, 60}));
  EXPECT_EQ(counts_of(slabs, NodeAwareKind::three_step), (Counts{8, 72}));
  EXPECT_EQ(counts_of(slabs, NodeAwareKind::two_step), (Counts{32, 96}));
  EXPECT_EQ(counts_of(grid_pattern({8, 4, 4}, {1, 4, 4}), NodeAwareKind::two_step).between, 256);
  EXPECT_EQ(counts_of(grid_pattern({8, 4, 4}, {1, 4, 4}), NodeAwareKind::three_step).between, 16);
}

NodePattern random_pattern(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  NodePattern pattern;
  const int ranks = draw(1, 12);
  const int nodes = draw(1, 5);
  std::vector<Index> first(static_cast<std::size_t>(nodes), -1);
  for (int r = 0; r < ranks; ++r) {
    Index& named = first[static_cast<std::size_t>(draw(0, nodes - 1))];
    if (named < 0) named = r;
    pattern.node_of_rank.push_back(named);
  }
  const int density = draw(1, 10);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to || draw(0, 9) >= density) continue;
      pattern.packets.push_back({from, to});
      pattern.bytes.push_back(draw(0, 3) * 100);
    }
  }
  return pattern;
}

TEST(NodeAwareSchedule, RandomPatternsOnUnequalNodesAreRight) {
  const auto count = static_cast<unsigned>(rankwise_test::rounds(1500, 10));
  for (unsigned seed = 0; seed < count && !HasFailure(); ++seed) {
    const NodePattern pattern = random_pattern(seed);
    for (const NodeAwareKind kind : kinds) {
      EXPECT_EQ(check_node_aware(pattern, node_aware_schedules(kind, pattern)), std::vector<std::string>{}) << "seed " << seed;
    }
  }
}

// A fault of each kind in a random message.
TEST(NodeAwareSchedule, PlantedFaultsAreFound) {
  std::vector<int> planted(7, 0);
  for (unsigned seed = 0; seed < static_cast<unsigned>(rankwise_test::rounds(400, 10)); ++seed) {
    const NodePattern pattern = random_pattern(seed);
    for (const NodeAwareKind kind : kinds) {
      for (int fault = 0; fault < 7; ++fault) {
        std::vector<NodeAwareSchedule> parts = node_aware_schedules(kind, pattern);
        std::mt19937 random(seed);
        struct At {
          std::size_t rank, step, op;
        };
        std::vector<At> all;
        for (std::size_t r = 0; r < parts.size(); ++r) {
          const auto& steps = parts[r].schedule.steps;
          for (std::size_t s = 0; s < steps.size(); ++s) {
            for (std::size_t o = 0; o < steps[s].ops.size(); ++o) {
              const bool fits = (fault != 2 || steps[s].ops[o].slots.size() > 1) &&
                                (fault != 5 || (s > 0 && steps[s].ops[o].kind == Op::Kind::send));
              if (fits) all.push_back({r, s, o});
            }
          }
        }
        if (all.empty()) continue;
        const At at = all[random() % all.size()];
        NodeAwareSchedule& part = parts[at.rank];
        Step& step = part.schedule.steps[at.step];
        Op& op = step.ops[at.op];
        if (fault == 0) op.slots.pop_back();                           // a packet dropped
        if (fault == 1) op.slots.push_back(op.slots.front());          // a packet doubled
        if (fault == 2) std::swap(op.slots.front(), op.slots.back());  // another order
        if (fault == 3) op.peer = (op.peer + 1) % static_cast<Index>(parts.size());
        if (fault == 4) op.tag += 7;
        if (fault == 5) {  // forwarded a step early
          Op early = op;
          step.ops.erase(step.ops.begin() + static_cast<std::ptrdiff_t>(at.op));
          part.schedule.steps[at.step - 1].ops.push_back(early);
          // Its partner expects it then, too.
          auto& peer = parts[static_cast<std::size_t>(early.peer)].schedule;
          auto& late = peer.steps[at.step].ops;
          const auto match = std::ranges::find_if(
              late, [&](const Op& other) { return other.kind == Op::Kind::recv && other.peer == static_cast<Index>(at.rank); });
          ASSERT_NE(match, late.end());
          peer.steps[at.step - 1].ops.push_back(*match);
          late.erase(match);
          // Right where it held all from the start.
          bool own = true;
          for (const SlotRange& range : early.slots) {
            own = own && part.slots[static_cast<std::size_t>(range.first)].source == static_cast<Index>(at.rank);
          }
          if (own) continue;
        }
        if (fault == 6) step.ops.erase(step.ops.begin() + static_cast<std::ptrdiff_t>(at.op));  // a message dropped
        ++planted[static_cast<std::size_t>(fault)];
        EXPECT_FALSE(check_node_aware(pattern, parts).empty()) << "seed " << seed << ", fault " << fault;
      }
    }
  }
  for (const int count : planted) EXPECT_GT(count, 10);
}

// Whether every packet comes to its rank, once, and what lands in a packet's memory is as long as it.
bool plays_right(const NodePattern& pattern, const std::vector<NodeAwareSchedule>& parts, std::mt19937& random) try {
  if (parts.size() != pattern.node_of_rank.size()) return false;
  Schedules schedules;
  for (const NodeAwareSchedule& part : parts) schedules.push_back(part.schedule);
  const auto number = [&](const Packet& packet) {
    return std::ranges::find(pattern.packets, packet) - pattern.packets.begin();
  };
  Play play(schedules, random);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const auto& slots = parts[r].slots;
    if (parts[r].schedule.adds() || slots.size() != static_cast<std::size_t>(parts[r].schedule.slots)) return false;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].source != static_cast<Index>(r)) continue;
      play.write(static_cast<Index>(r), static_cast<Index>(slot), {{number(slots[slot]), 0}});
    }
  }
  if (!play.run([](Index, const Op&) {})) return false;
  std::size_t come = 0;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const auto rank = static_cast<Index>(r);
    for (std::size_t i = 0; i < parts[r].slots.size(); ++i) {
      const Packet& packet = parts[r].slots[i];
      const auto slot = static_cast<Index>(i);
      const Token there = play.read(rank, slot);
      const bool own = packet.source == rank;
      if (play.writes(rank, slot) != (own ? 0 : 1) || there.size() != 1) return false;
      const auto bytes = [&](Index n) { return pattern.bytes.at(static_cast<std::size_t>(n)); };
      if (bytes(there.begin()->first) != bytes(number(packet))) return false;
      if (packet.dest != rank) continue;
      if (there.begin()->first != number(packet)) return false;
      ++come;
    }
  }
  return come == pattern.packets.size();
} catch (const std::out_of_range&) {
  return false;
}

TEST(NodeAwareMutants, NoneThatIsBrokenIsCalledRight) {
  Generator generate(31);
  std::mt19937 random(37);
  int broken = 0;
  for (unsigned seed = 0; seed < static_cast<unsigned>(rankwise_test::rounds(400, 4)); ++seed) {
    const NodePattern pattern = random_pattern(seed);
    for (const NodeAwareKind kind : kinds) {
      const std::vector<NodeAwareSchedule> right = node_aware_schedules(kind, pattern);
      ASSERT_TRUE(plays_right(pattern, right, random)) << "seed " << seed;
      std::vector<NodeAwareSchedule> parts = right;
      const auto r = static_cast<std::size_t>(generate.pick(0, static_cast<int>(parts.size()) - 1));
      std::vector<Packet>& slots = parts[r].slots;
      const int what = generate.pick(0, 9);
      if (what == 0) parts.pop_back();
      if (what == 1 && !slots.empty()) slots.pop_back();
      if (what == 2 && !slots.empty()) std::swap(slots.front(), slots.back());
      if (what == 3 && !slots.empty()) slots.front().dest += generate.pick(-1'000'000, 1);
      if (what > 3) {
        Schedules schedules;
        for (const NodeAwareSchedule& part : parts) schedules.push_back(part.schedule);
        mutate(schedules, generate);
        parts.resize(schedules.size());
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i].schedule = schedules[i];
      }
      const std::vector<std::string> findings = check_node_aware(pattern, parts);
      const bool plays = plays_right(pattern, parts, random);
      broken += plays ? 0 : 1;
      ASSERT_TRUE(plays || !findings.empty()) << "seed " << seed << " kind " << static_cast<int>(kind);
    }
  }
  EXPECT_GT(broken, rankwise_test::rounds(400, 4));
}

}  // namespace
}  // namespace rankwise
