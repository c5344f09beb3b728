// Real ranks under a real launcher: every schedule delivers every byte. Started by CTest with the number of ranks.
#include "exchange/executor.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "../schedule/generated.hpp"
#include "../world.hpp"
#include "exchange/timed.hpp"
#include "schedule/teams.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

// Import and way back, each run several times by one executor; every byte is checked.
void expect_round_trips(const ExchangeSpec& spec, std::size_t block_bytes) {
  const Index rank = world_rank();
  RankSchedule import = make_schedule(spec, rank);
  import.place.clear();
  const RankSchedule reduce = make_reduce(spec, rank);
  const std::vector<std::size_t> bytes = exchange_sizes(MPI_COMM_WORLD, spec, block_bytes);
  ImportContent blocks(spec, rank, import, bytes);
  ReduceContent sums(spec, rank, reduce, {bytes.begin(), bytes.begin() + reduce.slots});
  Executor importer(MPI_COMM_WORLD, import, spec.mode, blocks.slots());
  Executor reducer(MPI_COMM_WORLD, reduce, spec.mode, sums.slots(), {add_bytes, {}});
  for (std::uint64_t repetition = 0; repetition < 2; ++repetition) {
    blocks.prepare(repetition);
    sums.prepare(repetition);
    importer.start();
    importer.wait();
    reducer.start();
    reducer.wait();
    EXPECT_EQ(blocks.mismatch(repetition), "") << described(spec) << ", " << block_bytes << " B";
    EXPECT_EQ(sums.mismatch(repetition), "") << described(spec) << ", " << block_bytes << " B";
  }
}

// Grids of so many cells, drawn alike on all ranks.
std::vector<Index> draw_grid(Generator& generate, Index cells) {
  std::vector<Index> dims(static_cast<std::size_t>(generate.pick(1, 3)), 1);
  for (Index factor = 2; cells > 1; ++factor) {
    for (; cells % factor == 0; cells /= factor) {
      dims[static_cast<std::size_t>(generate.pick(0, static_cast<int>(dims.size()) - 1))] *= factor;
    }
  }
  return dims;
}

// A drawn exchange for all ranks there are; retries until a replication fits.
ExchangeSpec draw(Generator& generate, const std::string& algorithm, SendMode mode, Shell shell) {
  for (;;) {
    const bool teams = exchange_algorithm(algorithm).has_teams;
    const Index replication = teams ? generate.pick(1, world_size()) : 1;
    const auto boxes = teams ? static_cast<TeamBoxes>(generate.pick(0, 1)) : TeamBoxes::pooled;
    const bool replicated = boxes == TeamBoxes::replicated;
    if (replicated && world_size() % replication != 0) continue;
    const std::vector<Index> dims = draw_grid(generate, replicated ? world_size() / replication : world_size());
    std::vector<bool> periodic;
    std::vector<int> cutoff;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      periodic.push_back(generate.pick(0, 1) == 1);
      cutoff.push_back(generate.pick(1, dims.size() == 1 ? 4 : 2));
    }
    try {
      ExchangeSpec spec = make_spec(algorithm, mode, dims, periodic, cutoff, shell, replication, boxes);
      if (exchange_algorithm(algorithm).needs_nodes) spec.nodes = generate.nodes(spec.ranks());
      return spec;
    } catch (const std::invalid_argument&) {
      continue;
    }
  }
}

std::size_t draw_bytes(Generator& generate) {
  constexpr std::array<std::size_t, 4> sizes{0, 8, 1001, 70000};
  const int choice = generate.pick(0, 4);
  if (choice < 4) return sizes[static_cast<std::size_t>(choice)];
  // Every rank its own size, some of them none.
  const auto most = static_cast<std::size_t>(generate.pick(0, 30000));
  const auto rank = static_cast<std::size_t>(world_rank());
  return rank % 3 == 1 ? 0 : 24 * rank + most / (rank + 1);
}

TEST(Executor, DeliversEveryByteOfEveryAlgorithmModeAndShell) {
  Generator generate(2023);
  for (const std::string& algorithm : algorithm_ids()) {
    for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self, SendMode::persistent}) {
      for (const Shell shell : {Shell::full, Shell::eighth, Shell::all_pairs}) {
        if (!why_not(algorithm, mode, shell).empty()) continue;
        for (int i = 0; i < (world_size() > 4 ? 3 : 6); ++i) {
          const ExchangeSpec spec = draw(generate, algorithm, mode, shell);
          expect_round_trips(spec, draw_bytes(generate));
        }
      }
    }
  }
}

TEST(Executor, LetsTeamsVisitInTwoBuffersInTurn) {
  for (const Index replication : {Index{1}, Index{2}, Index{3}}) {
    if (replication > world_size()) continue;
    const ExchangeSpec spec = make_spec("team-shift", SendMode::isend, {world_size()}, {true}, {3}, Shell::full, replication);
    const Index rank = world_rank();
    const RankSchedule schedule = make_schedule(spec, rank);
    const std::vector<std::size_t> bytes = exchange_sizes(MPI_COMM_WORLD, spec, 40 + 8 * static_cast<std::size_t>(rank));
    SlotStorage storage(schedule, bytes);
    const Teams teams(spec);
    EXPECT_LE(schedule.places(), teams.blocks(teams.team_of(rank)) + 2 * teams.most_blocks());
    const auto own = storage.slots()[static_cast<std::size_t>(own_slot(spec, rank))];
    std::fill_n(own.data, own.bytes, static_cast<std::byte>(rank));
    std::set<int> offsets;
    const auto visit = [&](const Op& op) {
      EXPECT_TRUE(offsets.insert(op.tag).second);
      const Index team = teams.at(teams.team_of(rank), teams.window().offset(op.tag));
      Index member = 0;
      for (const SlotRange& range : op.slots) {
        for (Index slot = range.first; slot < range.first + range.count; ++slot) {
          const SlotBuffer& block = storage.slots()[static_cast<std::size_t>(slot)];
          const Index origin = teams.rank_of(team, member++);
          EXPECT_EQ(block.bytes, 40 + 8 * static_cast<std::size_t>(origin));
          EXPECT_TRUE(std::all_of(block.data, block.data + block.bytes,
                                  [&](std::byte b) { return b == static_cast<std::byte>(origin); }));
        }
      }
      EXPECT_EQ(member, teams.blocks(team));
    };
    Executor executor(MPI_COMM_WORLD, schedule, spec.mode, storage.slots(), {{}, visit});
    executor.run();
    EXPECT_EQ(static_cast<Index>(offsets.size()), teams.visits(teams.member_of(rank)));
  }
}

TEST(Executor, TakesBlocksWhereverTheyLie) {
  // Each block in an allocation of its own, as a caller may have them.
  const ExchangeSpec spec = make_spec("shift", SendMode::isend, {world_size(), 1}, {true, true}, {1, 1});
  const RankSchedule schedule = make_schedule(spec, world_rank());
  std::vector<std::vector<std::byte>> memory(9, std::vector<std::byte>(100));
  std::fill(memory[4].begin(), memory[4].end(), static_cast<std::byte>(world_rank()));
  std::vector<SlotBuffer> slots;
  for (std::vector<std::byte>& block : memory) slots.push_back({block.data(), block.size()});
  Executor(MPI_COMM_WORLD, schedule, spec.mode, slots).run();
  const std::vector<Index> expected = origins(spec, world_rank());
  for (std::size_t slot = 0; slot < 9; ++slot) {
    EXPECT_EQ(memory[slot].back(), static_cast<std::byte>(expected[slot]));
  }
}

TEST(Executor, AddsInTheSameOrderEveryTime) {
  for (const SendMode mode : {SendMode::ssend, SendMode::isend, SendMode::isend_self}) {
    const ExchangeSpec spec = make_spec("shift", mode, {world_size()}, {true}, {2}, Shell::eighth);
    const RankSchedule schedule = make_reduce(spec, world_rank());
    std::vector<float> values(static_cast<std::size_t>(schedule.slots));
    std::vector<SlotBuffer> slots;
    for (float& value : values) slots.push_back({reinterpret_cast<std::byte*>(&value), sizeof value});
    const auto add = [](std::byte* into, const std::byte* from, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; i += sizeof(float)) {
        float a = 0;
        float b = 0;
        std::memcpy(&a, into + i, sizeof a);
        std::memcpy(&b, from + i, sizeof b);
        a += b;
        std::memcpy(into + i, &a, sizeof a);
      }
    };
    Executor executor(MPI_COMM_WORLD, schedule, spec.mode, slots, {add, {}});
    float first = 0;
    for (int repetition = 0; repetition < 20; ++repetition) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 1.0F / static_cast<float>(3 + 7 * i + 11 * static_cast<std::size_t>(world_rank()));
      }
      executor.run();
      const float sum = values[static_cast<std::size_t>(own_slot(spec, world_rank()))];
      if (repetition == 0) first = sum;
      EXPECT_EQ(sum, first);
    }
  }
}

TEST(Executor, RefusesBuffersThatDoNotFit) {
  const ExchangeSpec spec = make_spec("shift", SendMode::isend, {world_size()}, {true}, {1});
  const RankSchedule schedule = make_schedule(spec, world_rank());
  const std::vector<SlotBuffer> few(1);
  EXPECT_THROW(Executor(MPI_COMM_WORLD, schedule, spec.mode, few), std::invalid_argument);
}

const Repetitions few{0.01, 3, 3, 2};

TEST(Timed, ChecksAndCountsARound) {
  for (const char* algorithm : {"direct", "shift", "team-shift"}) {
    const ExchangeSpec spec = make_spec(algorithm, SendMode::isend, {world_size()}, {true}, {2});
    const TimedExchange timed = run_timed(MPI_COMM_WORLD, spec, 1001, ClockOffset{}, few);
    EXPECT_TRUE(timed.verified) << timed.mismatch;
    EXPECT_EQ(timed.time_s.size(), world_rank() == 0 ? 3U : 0U);
    if (world_size() >= 5) {
      EXPECT_EQ(timed.messages_per_rank, 4) << algorithm;
      EXPECT_EQ(timed.bytes_per_rank, 4 * 1001) << algorithm;
    }
  }
}

TEST(Timed, ChecksEveryIngredientBetweenTheFirstAndTheLastRank) {
  if (world_size() < 2) return;
  using Kind = Ingredient::Kind;
  const Index last = world_size() - 1;
  for (const Ingredient& one : {Ingredient{Kind::step, SendMode::send, 3, 2, last, 0},
                                {Kind::step, SendMode::isend_self, 3, 2, 0, last},
                                {Kind::step, SendMode::persistent, 1, 4, 0, last},
                                {Kind::chain, SendMode::ssend, 3, 1, last, 0},
                                {Kind::collective, SendMode::isend, 1, 1, 0, last},
                                {Kind::copy, SendMode::isend, 1, 3, 0, last},
                                {Kind::add, SendMode::isend, 1, 3, 0, last}}) {
    for (const std::size_t bytes : {0, 13, 20000}) {
      Job job(MPI_COMM_WORLD, one, bytes);
      const Timed timed = job.time({}, {0.01, 2, 2, 0});
      EXPECT_TRUE(job.verified()) << job.mismatch();
      EXPECT_EQ(timed.time_s.size(), world_rank() == 0 ? 2U : 0U);
    }
  }
}

TEST(Timed, RefusesAGridOfAnotherSizeOnAllRanks) {
  const ExchangeSpec spec = make_spec("shift", SendMode::isend, {world_size() + 1}, {true}, {1});
  EXPECT_THROW((void)run_timed(MPI_COMM_WORLD, spec, 8, ClockOffset{}, few), std::invalid_argument);
}

TEST(Timed, RefusesBlocksThatAreTooLargeOnAllRanks) {
  // Only the last rank's block is.
  const ExchangeSpec spec = make_spec("shift", SendMode::isend, {world_size()}, {true}, {1});
  const std::size_t bytes = world_rank() == world_size() - 1 ? std::size_t{1} << 40 : 8;
  EXPECT_THROW((void)run_timed(MPI_COMM_WORLD, spec, bytes, ClockOffset{}, few), std::invalid_argument);
}

TEST(Clock, RanksOfOneHostShareIt) {
  const ClockOffset clock = synchronise(MPI_COMM_WORLD, 10);
  EXPECT_EQ(clock.offset_s, 0.0);
  const double before_s = steady_s();
  const double start_s = start_together(MPI_COMM_WORLD, clock, 1e-3);
  EXPECT_GE(steady_s(), start_s);
  EXPECT_GT(start_s, before_s - 1.0);
}

}  // namespace
}  // namespace rankwise
