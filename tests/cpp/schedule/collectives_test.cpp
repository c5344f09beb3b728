// Every algorithm of every collective, for all numbers of ranks from 1 to 64 and some large ones.
#include "schedule/collectives.hpp"

#include <gtest/gtest.h>

#include <map>

#include "schedule/check.hpp"

namespace rankwise {
namespace {

#ifdef RANKWISE_SANITIZED
constexpr Index most_ranks = 24;
#else
constexpr Index most_ranks = 64;
#endif

std::string text(const std::vector<std::string>& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + ". ";
  return text;
}

std::string checked(const CollectiveSpec& spec) { return text(check_collective(spec, collective_schedules(spec, false))); }

CollectiveSpec spec_of(const CollectiveAlgorithm& algorithm, Index ranks) {
  CollectiveSpec spec{std::string(algorithm.kind), std::string(algorithm.id), ranks, 3 * ranks, 0};
  spec.root = algorithm.kind == "scan" || algorithm.kind == "alltoall" ? 0 : ranks / 3;
  spec.radix = algorithm.has_radix ? 2 + ranks % 3 : 2;
  return spec;
}

TEST(Collectives, EveryRankEndsWithTheRightBlocks) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.needs == Needs::nodes) continue;
    for (Index ranks = 1; ranks <= most_ranks; ++ranks) {
      CollectiveSpec spec = spec_of(algorithm, ranks);
      if (!why_not(spec).empty()) continue;
      ASSERT_EQ(checked(spec), "") << algorithm.kind << ' ' << algorithm.id << ' ' << ranks;
      if (!algorithm.segments || ranks > 24) continue;
      spec.segment_bytes = 2;
      ASSERT_EQ(checked(spec), "") << algorithm.kind << ' ' << algorithm.id << ' ' << ranks << " in pieces";
    }
  }
}

TEST(Collectives, OfManyRanks) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    const bool grows = algorithm.kind == "alltoall" || algorithm.divides != Divides::nothing || algorithm.id == "double-ring" ||
                       algorithm.id == "linear" || algorithm.needs == Needs::nodes;
    if (grows) continue;
    for (const Index ranks : {255, 256, 300}) {
      ASSERT_EQ(checked(spec_of(algorithm, ranks)), "") << algorithm.kind << ' ' << algorithm.id << ' ' << ranks;
    }
  }
}

TEST(Collectives, KnowNodes) {
  for (const std::string kind : {"bcast", "reduce", "allreduce", "allgather", "gather", "scatter", "barrier"}) {
    for (const CollectiveAlgorithm& between : collective_algorithms()) {
      if (between.kind != kind || between.needs == Needs::nodes) continue;
      for (const Index ranks : {1, 5, 12, 16, 24}) {
        for (const Index per_node : {1, 3, 4}) {
          for (const bool cyclic : {false, true}) {
            CollectiveSpec spec{kind, "node-aware", ranks, 100, 0};
            std::vector<Index> node;
            const Index nodes = (ranks + per_node - 1) / per_node;
            for (Index rank = 0; rank < ranks; ++rank) node.push_back(cyclic ? rank % nodes : rank / per_node);
            spec.nodes = NodeMap::of(node);
            spec.root = ranks / 2;
            spec.within = "binomial";
            spec.between = std::string(between.id);
            if (!why_not(spec).empty()) continue;
            ASSERT_EQ(checked(spec), "") << kind << ' ' << between.id << ' ' << ranks << ' ' << per_node << ' ' << cyclic;
            spec.segment_bytes = 40;
            ASSERT_EQ(checked(spec), "") << kind << ' ' << between.id << ' ' << ranks << ' ' << per_node << " in pieces";
          }
        }
      }
    }
  }
}

TEST(Collectives, WhatIsBrokenIsFound) {
  const CollectiveSpec spec{"allreduce", "ring", 4, 16, 0};
  std::vector<RankSchedule> schedules = collective_schedules(spec, false);
  for (Op& op : schedules[2].steps[1].ops) op.adds = false;
  EXPECT_NE(text(check_collective(spec, schedules)).find("misses the contribution"), std::string::npos);
  schedules = collective_schedules(spec, false);
  for (Op& op : schedules[2].steps[4].ops) op.adds = op.kind == Op::Kind::recv;
  EXPECT_NE(text(check_collective(spec, schedules)).find("times"), std::string::npos);
  schedules = collective_schedules({"bcast", "binomial", 4, 16, 0}, false);
  schedules[1].steps.clear();
  EXPECT_NE(text(check_collective({"bcast", "binomial", 4, 16, 0}, schedules)), "");
}

// Messages and bytes that the busiest rank sends, from the formulas of Thakur, Rabenseifner and Gropp (2005).
TEST(Collectives, SendWhatTheFormulasSay) {
  struct Row {
    const char* kind;
    const char* id;
    Index rounds;
    Index bytes;  // of the rank that sends most
  };
  constexpr Index p = 16;
  constexpr Index m = 1600;
  for (const Row& row : {Row{"bcast", "binomial", 4, 4 * m},
                         {"bcast", "scatter-ring-allgather", 4 + p - 1, m * 15 / 16 * 2},
                         {"allreduce", "ring", 2 * (p - 1), 2 * m * 15 / 16},
                         {"allreduce", "rabenseifner", 8, 2 * m * 15 / 16},
                         {"allreduce", "recursive-doubling", 4, 4 * m},
                         {"allgather", "bruck", 4, 15 * m},
                         {"allgather", "neighbor-exchange", 8, 15 * m},
                         {"alltoall", "bruck", 4, 4 * 8 * m},
                         {"alltoall", "pairwise", 15, 15 * m},
                         {"reduce_scatter", "recursive-halving", 4, m * 15 / 16},
                         {"scan", "recursive-doubling", 4, 4 * m},
                         {"bcast", "split-binary", 5, m * 3 / 2},
                         {"barrier", "dissemination", 4, 0}}) {
    const CollectivePlan plan = plan_collective({row.kind, row.id, p, row.kind == std::string("barrier") ? 0 : m, 0});
    std::map<Index, Index> sent;
    for (const CollectiveMessage& message : plan.messages) sent[message.from] += plan.bytes(message);
    Index most = 0;
    for (const auto& [rank, bytes] : sent) most = std::max(most, bytes);
    EXPECT_EQ(plan.rounds, row.rounds) << row.kind << ' ' << row.id;
    EXPECT_EQ(most, row.bytes) << row.kind << ' ' << row.id;
  }
}

TEST(Collectives, BlocksMayDiffer) {
  CollectiveSpec spec{"allgather", "ring", 4, 0, 0};
  spec.counts = {1, 0, 7, 30};
  const CollectivePlan plan = plan_collective(spec);
  Index bytes = 0;
  for (const CollectiveMessage& message : plan.messages) bytes += plan.bytes(message);
  EXPECT_EQ(bytes, 3 * 38);
  spec.counts.pop_back();
  EXPECT_EQ(why_not(spec), "3 counts are not of 4 blocks");
}

TEST(Collectives, SayWhatTheyNeed) {
  EXPECT_EQ(why_not({"allgather", "recursive-doubling", 6, 8, 0}), "recursive-doubling needs a power of two of ranks, not 6");
  EXPECT_EQ(why_not({"allgather", "neighbor-exchange", 5, 8, 0}), "neighbor-exchange needs an even number of ranks, not 5");
  EXPECT_EQ(why_not({"bcast", "node-aware", 5, 8, 0}), "node-aware needs to know the node of each rank");
  EXPECT_THROW((void)why_not({"gossip", "linear", 5, 8, 0}), std::invalid_argument);
  EXPECT_THROW((void)why_not({"bcast", "magic", 5, 8, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
