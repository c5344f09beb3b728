// Parcels over nodes: the known numbers of messages, random patterns proved, every planted fault found.
#include "halo/relay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "../rounds.hpp"
#include "../schedule/play.hpp"
#include "relays.hpp"

namespace rankwise {
namespace {

constexpr RelayKind kinds[] = {RelayKind::two_step, RelayKind::three_step, RelayKind::leader};

// All neighbours within one layer on a periodic grid, its nodes bricks of it.
RelayPattern grid_pattern(const std::vector<Index>& dims, const std::vector<Index>& brick) {
  const Grid grid(dims, std::vector<bool>(dims.size(), true));
  RelayPattern pattern;
  std::map<Coords, Index> first;
  for (Index rank = 0; rank < grid.size(); ++rank) {
    Coords at = grid.coords(rank);
    for (std::size_t a = 0; a < at.size(); ++a) at[a] /= brick[a];
    pattern.node_of_rank.push_back(first.try_emplace(at, rank).first->second);
    std::set<Index> partners;
    for (Index o = 0; o < 27; ++o) {
      partners.insert(grid.cell_beside(grid.coords(rank), {o / 9 - 1, o / 3 % 3 - 1, o % 3 - 1}, +1));
    }
    partners.erase(rank);
    for (const Index partner : partners) pattern.parcels.push_back({rank, partner});
  }
  pattern.bytes.assign(pattern.parcels.size(), 100);
  return pattern;
}

struct Counts {
  Index between = 0;
  Index within = 0;
  bool operator==(const Counts&) const = default;
};

Counts direct_counts(const RelayPattern& pattern) {
  Counts counts;
  for (const Parcel& parcel : pattern.parcels) {
    const auto node = [&](Index rank) { return pattern.node_of_rank[static_cast<std::size_t>(rank)]; };
    ++(node(parcel.source) == node(parcel.dest) ? counts.within : counts.between);
  }
  return counts;
}

Counts counts_of(const RelayPattern& pattern, RelayKind kind) {
  const std::vector<Relay> relays = make_relays(kind, pattern);
  EXPECT_EQ(check_relays(pattern, relays), std::vector<std::string>{});
  Counts counts;
  for (std::size_t r = 0; r < relays.size(); ++r) {
    for (const Step& step : relays[r].schedule.steps) {
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

TEST(Relay, MessagesAreAsManyAsTheFormulasSay) {
  const RelayPattern bricks = grid_pattern({8, 4, 4}, {4, 2, 2});
  EXPECT_EQ(direct_counts(bricks).between, 2176);
  EXPECT_EQ(counts_of(bricks, RelayKind::three_step).between, 56);
  EXPECT_EQ(counts_of(bricks, RelayKind::leader).between, 56);
  EXPECT_EQ(counts_of(bricks, RelayKind::two_step).between, 640);
  // What a rank has for another of its node travels with what that passes on: 48 + 12 messages, not 48 + 12 + 12.
  const RelayPattern slabs = grid_pattern({4, 2, 2}, {1, 2, 2});
  EXPECT_EQ(direct_counts(slabs), (Counts{128, 48}));
  EXPECT_EQ(counts_of(slabs, RelayKind::leader), (Counts{8, 60}));
  EXPECT_EQ(counts_of(slabs, RelayKind::three_step), (Counts{8, 72}));
  EXPECT_EQ(counts_of(slabs, RelayKind::two_step), (Counts{32, 96}));
  EXPECT_EQ(counts_of(grid_pattern({8, 4, 4}, {1, 4, 4}), RelayKind::two_step).between, 256);
  EXPECT_EQ(counts_of(grid_pattern({8, 4, 4}, {1, 4, 4}), RelayKind::three_step).between, 16);
}

RelayPattern random_pattern(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  RelayPattern pattern;
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
      pattern.parcels.push_back({from, to});
      pattern.bytes.push_back(draw(0, 3) * 100);
    }
  }
  return pattern;
}

TEST(Relay, RandomPatternsOnUnequalNodesAreRight) {
  const auto count = static_cast<unsigned>(rankwise_test::rounds(1500, 10));
  for (unsigned seed = 0; seed < count && !HasFailure(); ++seed) {
    const RelayPattern pattern = random_pattern(seed);
    for (const RelayKind kind : kinds) {
      EXPECT_EQ(check_relays(pattern, make_relays(kind, pattern)), std::vector<std::string>{}) << "seed " << seed;
    }
  }
}

// A fault of each kind in a random message.
TEST(Relay, PlantedFaultsAreFound) {
  std::vector<int> planted(7, 0);
  for (unsigned seed = 0; seed < static_cast<unsigned>(rankwise_test::rounds(400, 10)); ++seed) {
    const RelayPattern pattern = random_pattern(seed);
    for (const RelayKind kind : kinds) {
      for (int fault = 0; fault < 7; ++fault) {
        std::vector<Relay> relays = make_relays(kind, pattern);
        std::mt19937 random(seed);
        struct At {
          std::size_t rank, step, op;
        };
        std::vector<At> all;
        for (std::size_t r = 0; r < relays.size(); ++r) {
          const auto& steps = relays[r].schedule.steps;
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
        Relay& relay = relays[at.rank];
        Step& step = relay.schedule.steps[at.step];
        Op& op = step.ops[at.op];
        if (fault == 0) op.slots.pop_back();                           // a parcel dropped
        if (fault == 1) op.slots.push_back(op.slots.front());          // a parcel doubled
        if (fault == 2) std::swap(op.slots.front(), op.slots.back());  // another order
        if (fault == 3) op.peer = (op.peer + 1) % static_cast<Index>(relays.size());
        if (fault == 4) op.tag += 7;
        if (fault == 5) {  // forwarded a step early
          Op early = op;
          step.ops.erase(step.ops.begin() + static_cast<std::ptrdiff_t>(at.op));
          relay.schedule.steps[at.step - 1].ops.push_back(early);
          // Its partner expects it then, too.
          auto& peer = relays[static_cast<std::size_t>(early.peer)].schedule;
          auto& late = peer.steps[at.step].ops;
          const auto match = std::ranges::find_if(
              late, [&](const Op& other) { return other.kind == Op::Kind::recv && other.peer == static_cast<Index>(at.rank); });
          ASSERT_NE(match, late.end());
          peer.steps[at.step - 1].ops.push_back(*match);
          late.erase(match);
          // Right where it held all from the start.
          bool own = true;
          for (const SlotRange& range : early.slots) {
            own = own && relay.slots[static_cast<std::size_t>(range.first)].source == static_cast<Index>(at.rank);
          }
          if (own) continue;
        }
        if (fault == 6) step.ops.erase(step.ops.begin() + static_cast<std::ptrdiff_t>(at.op));  // a message dropped
        ++planted[static_cast<std::size_t>(fault)];
        EXPECT_FALSE(check_relays(pattern, relays).empty()) << "seed " << seed << ", fault " << fault;
      }
    }
  }
  for (const int count : planted) EXPECT_GT(count, 10);
}

// Whether every parcel comes to its rank, once, and what lands in a parcel's memory is as long as it.
bool plays_right(const RelayPattern& pattern, const std::vector<Relay>& relays, std::mt19937& random) try {
  if (relays.size() != pattern.node_of_rank.size()) return false;
  Schedules schedules;
  for (const Relay& relay : relays) schedules.push_back(relay.schedule);
  const auto number = [&](const Parcel& parcel) {
    return std::ranges::find(pattern.parcels, parcel) - pattern.parcels.begin();
  };
  Play play(schedules, random);
  for (std::size_t r = 0; r < relays.size(); ++r) {
    const auto& slots = relays[r].slots;
    if (relays[r].schedule.adds || slots.size() != static_cast<std::size_t>(relays[r].schedule.slots)) return false;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].source != static_cast<Index>(r)) continue;
      play.write(static_cast<Index>(r), static_cast<Index>(slot), {{number(slots[slot]), 0}});
    }
  }
  if (!play.run([](Index, const Op&) {})) return false;
  std::size_t come = 0;
  for (std::size_t r = 0; r < relays.size(); ++r) {
    const auto rank = static_cast<Index>(r);
    for (std::size_t i = 0; i < relays[r].slots.size(); ++i) {
      const Parcel& parcel = relays[r].slots[i];
      const auto slot = static_cast<Index>(i);
      const Token there = play.read(rank, slot);
      const bool own = parcel.source == rank;
      if (play.writes(rank, slot) != (own ? 0 : 1) || there.size() != 1) return false;
      const auto bytes = [&](Index n) { return pattern.bytes.at(static_cast<std::size_t>(n)); };
      if (bytes(there.begin()->first) != bytes(number(parcel))) return false;
      if (parcel.dest != rank) continue;
      if (there.begin()->first != number(parcel)) return false;
      ++come;
    }
  }
  return come == pattern.parcels.size();
} catch (const std::out_of_range&) {
  return false;
}

TEST(RelayMutants, NoneThatIsBrokenIsCalledRight) {
  Generator generate(31);
  std::mt19937 random(37);
  int broken = 0;
  for (unsigned seed = 0; seed < static_cast<unsigned>(rankwise_test::rounds(400, 4)); ++seed) {
    const RelayPattern pattern = random_pattern(seed);
    for (const RelayKind kind : kinds) {
      const std::vector<Relay> right = make_relays(kind, pattern);
      ASSERT_TRUE(plays_right(pattern, right, random)) << "seed " << seed;
      std::vector<Relay> relays = right;
      const auto r = static_cast<std::size_t>(generate.pick(0, static_cast<int>(relays.size()) - 1));
      std::vector<Parcel>& slots = relays[r].slots;
      const int what = generate.pick(0, 9);
      if (what == 0) relays.pop_back();
      if (what == 1 && !slots.empty()) slots.pop_back();
      if (what == 2 && !slots.empty()) std::swap(slots.front(), slots.back());
      if (what == 3 && !slots.empty()) slots.front().dest += generate.pick(-1'000'000, 1);
      if (what > 3) {
        Schedules schedules;
        for (const Relay& relay : relays) schedules.push_back(relay.schedule);
        mutate(schedules, generate);
        relays.resize(schedules.size());
        for (std::size_t i = 0; i < relays.size(); ++i) relays[i].schedule = schedules[i];
      }
      const std::vector<std::string> findings = check_relays(pattern, relays);
      const bool plays = plays_right(pattern, relays, random);
      broken += plays ? 0 : 1;
      ASSERT_TRUE(plays || !findings.empty()) << "seed " << seed << " kind " << static_cast<int>(kind);
    }
  }
  EXPECT_GT(broken, rankwise_test::rounds(400, 4));
}

}  // namespace
}  // namespace rankwise
