// No schedule that was broken at random is called right. What is right is asked of ranks that are played.
#include <gtest/gtest.h>

#include "../rounds.hpp"
#include "play.hpp"
#include "schedule/check.hpp"
#include "schedule/teams.hpp"

namespace rankwise {
namespace {

bool boxes_meet_once(const ExchangeSpec& spec, const std::map<std::pair<Index, Index>, std::multiset<Index>>& met) {
  const Teams teams(spec);
  const Index ranks_of_box = spec.team_boxes == TeamBoxes::replicated ? spec.replication : 1;
  for (Index box = 0; box < spec.grid.size(); ++box) {
    for (Index slot = 0; slot < spec.window.slots(); ++slot) {
      const Coords offset = spec.window.offset(slot);
      const Index other = rank_at_offset(spec.grid, box, offset, +1);
      if (other < 0) continue;
      const Index tag = teams.window().slot(teams.team_offset(spec.grid.coords(box), offset));
      const auto found = met.find({teams.team_of(box * ranks_of_box), tag});
      if (found == met.end() || found->second.count(other * ranks_of_box) != 1) return false;
    }
  }
  return true;
}

bool plays_right(const ExchangeSpec& spec, const Schedules& schedules, bool way_back, std::mt19937& random) try {
  if (static_cast<Index>(schedules.size()) != spec.ranks()) return false;
  Play play(schedules, random);
  for (Index rank = 0; rank < spec.ranks(); ++rank) {
    const RankSchedule& schedule = schedules[static_cast<std::size_t>(rank)];
    for (const Op& op : schedule.ops()) {
      if ((op.kind == Op::Kind::recv || op.kind == Op::Kind::copy) && op.adds != way_back) return false;
    }
    if (!way_back) {
      if (const Index own = own_slot(spec, rank); own >= 0) play.write(rank, own, {{rank, 0}});
      continue;
    }
    for (Index slot = 0; slot < schedule.slots; ++slot) {
      play.write(rank, slot, slot < schedule.slots - schedule.passing ? Token{{rank, slot}} : Token{});
    }
  }
  std::map<std::pair<Index, Index>, std::multiset<Index>> met;
  const bool teams = exchange_algorithm(spec.algorithm).has_teams;
  const bool finished = play.run([&](Index rank, const Op& op) {
    if (!teams || way_back) return;
    for (const SlotRange& range : op.slots) {
      for (Index i = 0; i < range.count; ++i) {
        for (const auto& one : play.read(rank, range.first + i)) met[{Teams(spec).team_of(rank), op.tag}].insert(one.first);
      }
    }
  });
  if (!finished) return false;
  for (Index rank = 0; rank < spec.ranks(); ++rank) {
    const Index own = own_slot(spec, rank);
    if (way_back) {
      Token expected;
      for (const SlotOf& one : contributions_to(spec, rank)) expected.insert({one.rank, one.slot});
      if (own >= 0 && play.read(rank, own) != expected) return false;
      continue;
    }
    const std::vector<Index> blocks = origins(spec, rank);
    for (std::size_t slot = 0; slot < blocks.size(); ++slot) {
      const auto s = static_cast<Index>(slot);
      if (play.writes(rank, s) != (blocks[slot] >= 0 && s != own ? 1 : 0)) return false;
      const bool kept = schedules[static_cast<std::size_t>(rank)].place.empty();
      if (kept && blocks[slot] >= 0 && play.read(rank, s) != Token{{blocks[slot], 0}}) return false;
    }
  }
  return !teams || way_back || boxes_meet_once(spec, met);
} catch (const std::out_of_range&) {
  return false;
}

class Mutants : public testing::TestWithParam<std::string> {};

TEST_P(Mutants, NoneThatIsBrokenIsCalledRight) {
  Generator generate(23);
  std::mt19937 random(29);
  int broken = 0;
  for (int i = 0; i < rankwise_test::rounds(250, 4); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    if (spec.ranks() > 12) continue;
    ASSERT_TRUE(check_exchange(spec).empty()) << described(spec);
    for (const bool way_back : {false, true}) {
      const Schedules right = way_back ? make_reduces(spec) : make_schedules(spec);
      ASSERT_TRUE(plays_right(spec, right, way_back, random)) << described(spec);
      for (int k = 0; k < 4; ++k) {
        Schedules schedules = right;
        mutate(schedules, generate);
        const std::vector<std::string> findings = way_back ? check_reduces(spec, schedules) : check_schedules(spec, schedules);
        const bool plays = plays_right(spec, schedules, way_back, random);
        broken += plays ? 0 : 1;
        ASSERT_TRUE(plays || !findings.empty()) << described(spec) << " way back " << way_back << " mutant " << i << '.' << k;
      }
    }
  }
  EXPECT_GT(broken, rankwise_test::rounds(250, 4));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Mutants, testing::ValuesIn(algorithm_ids()), [](const auto& test) {
  std::string id = test.param;
  std::erase(id, '-');
  return id;
});

}  // namespace
}  // namespace rankwise
