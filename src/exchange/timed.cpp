#include "exchange/timed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "exchange/content.hpp"
#include "exchange/executor.hpp"

namespace rankwise {

namespace {

constexpr std::size_t most_memory_bytes = std::size_t{1} << 34;

[[noreturn]] void refuse_memory() {
  invalid("the blocks need more than 16 GiB a rank: make the cutoff or the blocks smaller");
}

void require_ranks(MPI_Comm comm, const ExchangeSpec& spec) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  if (spec.ranks() == size) return;
  invalid("the grid needs " + std::to_string(spec.ranks()) + " ranks but " + std::to_string(size) +
          " run: start as many ranks as it needs");
}

// Throws, on all ranks alike, when the blocks of any rank need too much memory or make too large a message.
void require_sizes(MPI_Comm comm, const RankSchedule& schedule, const std::vector<std::size_t>& bytes_per_slot) {
  constexpr std::size_t limit = most_memory_bytes;
  std::size_t total = 0;
  for (const std::size_t bytes : bytes_per_slot) total = std::min(2 * limit, total + std::min(bytes, limit));
  std::size_t largest = 0;
  for (const Step& step : schedule.steps) {
    for (const Op& op : step.ops) {
      std::size_t message = 0;
      for (const SlotRange& range : op.slots) {
        for (Index slot = range.first; slot < range.first + range.count; ++slot) {
          message += std::min(bytes_per_slot[static_cast<std::size_t>(slot)], limit);
        }
      }
      if (op.kind == Op::Kind::send || op.kind == Op::Kind::recv) largest = std::max(largest, message);
    }
  }
  std::array<std::uint64_t, 2> most{total, largest};
  MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_UINT64_T, MPI_MAX, comm);
  if (most[0] > limit) refuse_memory();
  if (most[1] > 0x7FFFFFFF) invalid("a message has more than 2 GiB: make the cutoff or the blocks smaller");
}

Index bytes_sent(const RankSchedule& schedule, const std::vector<std::size_t>& bytes_per_slot) {
  std::size_t bytes = 0;
  for (const Step& step : schedule.steps) {
    for (const Op& op : step.ops) {
      if (op.kind != Op::Kind::send) continue;
      for (const SlotRange& range : op.slots) {
        for (Index slot = range.first; slot < range.first + range.count; ++slot) {
          bytes += bytes_per_slot[static_cast<std::size_t>(slot)];
        }
      }
    }
  }
  return static_cast<Index>(bytes);
}

}  // namespace

void require_runnable(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes) {
  require_ranks(comm, spec);
  constexpr Index most_slots = Index{1} << 26;
  if (spec.window.slots() > most_slots) invalid("the window has more than 2^26 slots: make the cutoff smaller");
  const auto slots = static_cast<std::size_t>(make_schedule(spec, 0).slots);
  if (slots > most_memory_bytes / std::max<std::size_t>(1, block_bytes)) refuse_memory();
}

TimedExchange run_timed(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes, const ClockOffset& clock,
                        const Repetitions& repetitions) {
  require_ranks(comm, spec);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  RankSchedule import = make_schedule(spec, rank);
  import.place.clear();  // all that arrives is kept, to be checked afterwards
  RankSchedule reduce;
  if (includes_reduce(spec)) reduce = make_reduce(spec, rank);
  const std::vector<std::size_t> bytes = exchange_sizes(comm, spec, block_bytes);
  require_sizes(comm, import, bytes);
  const std::vector<std::size_t> reduce_bytes(bytes.begin(), bytes.begin() + reduce.slots);
  ImportContent blocks(spec, rank, import, bytes);
  ReduceContent sums(spec, rank, reduce, reduce_bytes);
  Executor importer(comm, import, spec.mode, blocks.slots());
  Executor reducer(comm, reduce, spec.mode, sums.slots(), {add_bytes, {}});
  TimedExchange result;
  const std::array<Index, 2> own{import.messages_sent() + reduce.messages_sent(),
                                 bytes_sent(import, bytes) + bytes_sent(reduce, reduce_bytes)};
  std::array<Index, 2> most{};
  MPI_Allreduce(own.data(), most.data(), 2, MPI_INT64_T, MPI_MAX, comm);
  result.messages_per_rank = most[0];
  result.bytes_per_rank = most[1];

  const Timed timed = time_repetitions(
      comm, clock, repetitions,
      {[&](std::uint64_t number) {
         blocks.prepare(number);
         if (reduce.adds) sums.prepare(number);
       },
       [&] {
         importer.run();
         reducer.run();
       },
       [&](std::uint64_t number) {
         if (result.mismatch.empty()) result.mismatch = blocks.mismatch(number);
         if (result.mismatch.empty() && reduce.adds) result.mismatch = sums.mismatch(number);
       }});
  result.time_s = timed.time_s;
  result.late = timed.late;
  int good = result.mismatch.empty() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
  result.verified = good == 1;
  return result;
}

}  // namespace rankwise
