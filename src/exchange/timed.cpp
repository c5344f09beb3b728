#include "exchange/timed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "exchange/executor.hpp"

namespace rankwise {

namespace {

// Eight bytes of the block of a rank in a repetition: different for every origin, repetition and place.
std::uint64_t word(Index origin, std::uint64_t repetition, std::uint64_t i) {
  std::uint64_t z = static_cast<std::uint64_t>(origin + 1) * 0x9E3779B97F4A7C15ULL + repetition * 0xBF58476D1CE4E5B9ULL +
                    i * 0x94D049BB133111EBULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  return z ^ (z >> 27);
}

// Writes a block (compare = false) or compares with it; returns whether it was equal.
bool visit_block(std::byte* block, std::size_t bytes, Index origin, std::uint64_t repetition, bool compare) {
  for (std::size_t at = 0, i = 0; at < bytes; at += 8, ++i) {
    const std::uint64_t value = word(origin, repetition, i);
    const std::size_t part = std::min<std::size_t>(8, bytes - at);
    if (compare) {
      if (std::memcmp(block + at, &value, part) != 0) return false;
    } else {
      std::memcpy(block + at, &value, part);
    }
  }
  return true;
}

class Buffer {
 public:
  Buffer(const ExchangeSpec& spec, Index rank, std::size_t block_bytes)
      : rank_(rank),
        block_bytes_(block_bytes),
        centre_(spec.window.centre()),
        bytes_(static_cast<std::size_t>(spec.window.slots()) * block_bytes) {
    for (Index slot = 0; slot < spec.window.slots(); ++slot) origins_.push_back(origin_of_slot(spec, rank, slot));
  }

  std::byte* data() { return bytes_.data(); }

  // Clears what was received and writes the own block anew.
  void prepare(std::uint64_t repetition) {
    std::fill(bytes_.begin(), bytes_.end(), std::byte{0xEE});
    visit_block(block(centre_), block_bytes_, rank_, repetition, false);
  }

  // The first slot that does not hold its origin's bytes; -1 when all do.
  [[nodiscard]] Index wrong_slot(std::uint64_t repetition) {
    for (std::size_t slot = 0; slot < origins_.size(); ++slot) {
      if (origins_[slot] < 0) continue;
      if (!visit_block(block(static_cast<Index>(slot)), block_bytes_, origins_[slot], repetition, true)) {
        return static_cast<Index>(slot);
      }
    }
    return -1;
  }

  [[nodiscard]] Index origin(Index slot) const { return origins_[static_cast<std::size_t>(slot)]; }

 private:
  std::byte* block(Index slot) { return bytes_.data() + static_cast<std::size_t>(slot) * block_bytes_; }

  Index rank_;
  std::size_t block_bytes_;
  Index centre_;
  std::vector<std::byte> bytes_;
  std::vector<Index> origins_;
};

}  // namespace

void require_runnable(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  if (spec.grid.size() != size) {
    invalid("the grid has " + std::to_string(spec.grid.size()) + " cells but " + std::to_string(size) +
            " ranks run: start as many ranks as cells");
  }
  constexpr std::size_t limit = std::size_t{1} << 34;
  if (static_cast<std::size_t>(spec.window.slots()) > limit / std::max<std::size_t>(1, block_bytes)) {
    invalid("a window of " + std::to_string(spec.window.slots()) + " blocks of " + std::to_string(block_bytes) +
            " B needs more than 16 GiB a rank: make the cutoff or the blocks smaller");
  }
}

TimedExchange run_timed(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes, const ClockOffset& clock,
                        const Repetitions& repetitions) {
  require_runnable(comm, spec, block_bytes);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const RankSchedule schedule = make_schedule(spec, rank);
  Buffer buffer(spec, rank, block_bytes);
  Executor executor(comm, schedule, spec.mode, block_bytes, buffer.data());
  TimedExchange result;
  const std::array<Index, 2> own{schedule.messages_sent(),
                                 schedule.blocks_sent() * static_cast<Index>(block_bytes)};
  std::array<Index, 2> most{};
  MPI_Allreduce(own.data(), most.data(), 2, MPI_INT64_T, MPI_MAX, comm);
  result.messages_per_rank = most[0];
  result.bytes_per_rank = most[1];

  // Long enough for the broadcast of the start to reach everybody; doubled whenever somebody was late.
  double window_s = 30e-6;
  std::vector<double> started_s;
  std::vector<double> ended_s;
  const auto repeat = [&](std::uint64_t number) {
    buffer.prepare(number);
    // Clearing and checking take their time on each rank: meet first, so that the window is only the broadcast's.
    MPI_Barrier(comm);
    const double start_s = start_together(comm, clock, window_s);
    const double begun_s = MPI_Wtime() - clock.offset_s;
    executor.run();
    const double end_s = MPI_Wtime() - clock.offset_s;
    started_s.push_back(std::max(start_s, begun_s));
    ended_s.push_back(end_s);
    if (const Index slot = buffer.wrong_slot(number); slot >= 0 && result.verified) {
      result.verified = false;
      result.mismatch = "rank " + std::to_string(rank) + ", slot " + std::to_string(slot) +
                        ": not the bytes of rank " + std::to_string(buffer.origin(slot));
    }
    return begun_s - start_s;
  };

  constexpr std::uint64_t warm_up = 5;
  for (std::uint64_t number = 0; number < warm_up; ++number) {
    double late_s = repeat(number);
    MPI_Allreduce(MPI_IN_PLACE, &late_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (late_s > 1e-6) window_s = std::min(window_s * 2, 1e-3);
  }
  double estimate_s = ended_s.back() - started_s.back() + window_s;
  MPI_Bcast(&estimate_s, 1, MPI_DOUBLE, 0, comm);
  const int count = static_cast<int>(std::clamp(repetitions.budget_s / std::max(estimate_s, 1e-9),
                                                static_cast<double>(repetitions.least),
                                                static_cast<double>(repetitions.most)));
  started_s.clear();
  ended_s.clear();
  std::vector<double> late_s;
  for (int i = 0; i < count; ++i) late_s.push_back(repeat(warm_up + static_cast<std::uint64_t>(i)));

  // A repetition lasts from when the last rank began (normally the common start) until the last rank ended.
  const auto over_ranks = [&](std::vector<double>& values) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values.data(), values.data(), count, MPI_DOUBLE, MPI_MAX, 0, comm);
  };
  over_ranks(started_s);
  over_ranks(ended_s);
  over_ranks(late_s);
  int good = result.verified ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
  result.verified = good == 1;
  if (rank == 0) {
    for (std::size_t i = 0; i < started_s.size(); ++i) {
      result.time_s.push_back(ended_s[i] - started_s[i]);
      result.late += late_s[i] > 1e-6 ? 1 : 0;
    }
  }
  return result;
}

}  // namespace rankwise
