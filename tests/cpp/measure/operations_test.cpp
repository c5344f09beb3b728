// Every operation moves the right bytes, gives as many samples as asked, and refuses what it cannot do.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../world.hpp"
#include "measure/pair.hpp"
#include "measure/stream.hpp"
#include "measure/together.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

constexpr Sampling three{1.0, 3, 3};

void expect_three(const Samples& samples) {
  EXPECT_TRUE(samples.verified);
  EXPECT_EQ(samples.time_s.size(), 3U);
  for (const double time_s : samples.time_s) EXPECT_GT(time_s, 0.0);
}

TEST(Sampling, WrongBytesAreSeenOnAllRanks) {
  const int last = world_size() - 1;
  const Samples samples = take_samples(
      MPI_COMM_WORLD, three, [] { return 1e-6; }, [&](unsigned number) { return number != 2 || world_rank() != last; });
  EXPECT_FALSE(samples.verified);
}

TEST(Sampling, TheEndOfTheTimeLeavesOneSample) {
  Sampling late{1.0, 3, 3};
  late.until_s = steady_s() - 1.0;
  const Samples samples = take_samples(MPI_COMM_WORLD, late, [] { return 1e-6; }, [](unsigned) { return true; });
  EXPECT_EQ(samples.time_s.size(), 1U);
}

TEST(Sampling, PayloadsDifferByRoundAndSender) {
  std::array<unsigned char, 1000> message{};
  fill_payload(message.data(), message.size(), 3, 7);
  EXPECT_TRUE(payload_arrived(message.data(), message.size(), 3, 7));
  EXPECT_FALSE(payload_arrived(message.data(), message.size(), 3, 8));
  EXPECT_FALSE(payload_arrived(message.data(), message.size(), 2, 7));
  std::swap(message[10], message[900]);
  EXPECT_FALSE(payload_arrived(message.data(), message.size(), 3, 7));
}

TEST(Pair, SeveralRoundsAreASampleOnlyWhereTheClockIsDear) {
  EXPECT_EQ(rounds_for_clock(2e-6, 38e-9), 1);
  EXPECT_EQ(rounds_for_clock(0.6e-6, 38e-9), 2);
  EXPECT_EQ(rounds_for_clock(2e-6, 1e-6), 10);
  EXPECT_EQ(rounds_for_clock(2e-6, 0.0), 1);  // a simulator's clock
  EXPECT_EQ(rounds_for_clock(0.0, 1.0), 1000);
}

TEST(Pair, EveryOperationDeliversItsMessages) {
  if (world_size() != 2) return;
  for (const char* name : {"send", "ssend", "exchange", "burst"}) {
    const PairOperation operation = parse_pair_operation(name);
    EXPECT_EQ(to_string(operation), name);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1000}, std::size_t{300000}}) {
      const PairSamples samples = measure_pair(MPI_COMM_WORLD, operation, size, three);
      EXPECT_TRUE(samples.verified) << name << " of " << size << " B";
      if (world_rank() == 0) expect_three(samples);
    }
  }
  EXPECT_THROW(static_cast<void>(parse_pair_operation("shout")), std::invalid_argument);
}

TEST(Stream, WindowsOverAnyNumberOfPairsBothWaysOrOne) {
  if (world_size() > 4) return;  // too many for the cores of small machines
  if (world_size() % 2 != 0) {
    EXPECT_THROW(Halves{MPI_COMM_WORLD}, std::invalid_argument);
    return;
  }
  const Halves halves(MPI_COMM_WORLD);
  for (const int pairs : {1, halves.pairs()}) {
    for (const bool bidirectional : {false, true}) {
      for (const std::size_t size : {std::size_t{0}, std::size_t{20000}}) {
        const TimedTogether timed = measure_stream(MPI_COMM_WORLD, halves, {4, bidirectional, pairs}, size, three);
        expect_three(timed.samples);
        EXPECT_GE(timed.clock_error_s, 0.0);
      }
    }
  }
  EXPECT_THROW(require_stream(halves, {4, false, halves.pairs() + 1}, 8), std::invalid_argument);
  EXPECT_THROW(require_stream(halves, {64, false, 1}, std::size_t{1} << 30), std::invalid_argument);
}

TEST(AllPairs, OnTheCircleEveryPairMeetsOnce) {
  for (const int ranks : {2, 3, 4, 7, 8}) {
    std::vector<long long> order;
    for (int rank = 0; rank < ranks; ++rank) order.insert(order.begin() + rank / 2, rank);
    std::set<std::pair<int, int>> met;
    for (long long round = 0; round < circle_rounds(ranks); ++round) {
      const std::vector<int> partner = circle_partners(order, round);
      for (int rank = 0; rank < ranks; ++rank) {
        const int other = partner[static_cast<std::size_t>(rank)];
        if (other == nobody) continue;
        EXPECT_EQ(partner[static_cast<std::size_t>(other)], rank);
        EXPECT_TRUE(met.emplace(rank, other).second);
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1)));
    EXPECT_THROW(static_cast<void>(circle_partners(order, circle_rounds(ranks))), std::invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(circle_partners({0, 2}, 0)), std::invalid_argument);
}

TEST(AllPairs, BothEndsOfAPairSendInTurnAndOthersAreSilent) {
  if (world_size() > 4) return;  // too many for the cores of small machines
  PairStreams streams(MPI_COMM_WORLD, {{8, 0, 0}, {20000, 2, 3}});
  std::vector<int> partner(static_cast<std::size_t>(world_size()), nobody);
  if (world_size() > 1) {
    partner[0] = 1;
    partner[1] = 0;
  }
  const int own = partner[static_cast<std::size_t>(world_rank())];
  streams.find_shapes(own, 1e-4);
  EXPECT_GE(streams.shapes()[0].messages, 1);
  EXPECT_LE(streams.shapes()[0].messages, 20);
  EXPECT_EQ(streams.shapes()[1].messages, 2);
  const std::vector<double> times_s = streams.round(own);
  EXPECT_EQ(times_s.size(), static_cast<std::size_t>(streams.shapes()[0].repeats + 3));
  for (const double time_s : times_s) EXPECT_EQ(time_s > 0.0, own != nobody);
  EXPECT_TRUE(streams.verified());
}

TEST(Alltoall, EveryBlockArrives) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5000}}) {
    expect_three(measure_alltoall(MPI_COMM_WORLD, size, three).samples);
  }
}

TEST(Background, LoadsTheLinkOnlyBetweenStartAndStopAndKeepsItsLimits) {
  if (world_size() % 2 != 0) return;
  const Halves halves(MPI_COMM_WORLD);
  constexpr LoadLimits generous{100.0, 1e12};
  constexpr LoadLimits one_window{100.0, 1.0};
  for (const LoadLimits& limits : {generous, one_window}) {
    if (halves.pair() != 0) {
      serve_background(MPI_COMM_WORLD, halves, limits);
      continue;
    }
    const BackgroundLoad load(MPI_COMM_WORLD, halves);
    EXPECT_EQ(load.pairs(), halves.pairs() - 1);
    for (int turn = 0; turn < 2; ++turn) {
      if (world_rank() == 0) load.start();
      expect_three(measure_pair(halves.comm(), PairOperation::send, 1000, three));
      if (world_rank() != 0) continue;
      const Load seen = load.stop();
      EXPECT_EQ(seen.bytes_per_s > 0.0, load.pairs() > 0 && (limits.bytes > 1.0 || turn == 0));
      EXPECT_EQ(seen.ended_early, limits.bytes > 1.0 ? 0 : load.pairs());
    }
    if (world_rank() == 0) load.dismiss();
  }
}

TEST(Overhead, PartsOfAMessageAndProtocolLimits) {
  if (world_size() != 2) return;
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{100000}}) {
    for (const auto measure : {measure_send_overhead, measure_receive_overhead, measure_gap}) {
      const Samples samples = measure(MPI_COMM_WORLD, size, three);
      if (world_rank() == 0) {
        expect_three(samples);
      } else {
        EXPECT_TRUE(samples.verified);  // the times are those of rank 0
      }
    }
  }
  const ProtocolLimits limits = find_protocol_limits(MPI_COMM_WORLD, 1 << 20, 10.0);
  EXPECT_EQ(limits.ssend_returns_up_to_bytes, -1);  // the standard says that MPI_Ssend waits
  EXPECT_GE(limits.send_returns_up_to_bytes, 0);    // no MPI of today makes an empty message wait
  EXPECT_LT(limits.send_returns_up_to_bytes, 1 << 20);
  EXPECT_GE(limits.head_to_head_up_to_bytes, 0);
}

}  // namespace
}  // namespace rankwise
