#include "exchange/timed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace rankwise {

namespace {

constexpr std::size_t most_memory_bytes = std::size_t{1} << 34;

[[noreturn]] void refuse_memory() { invalid("the blocks need more than 16 GiB a rank: make the cutoff or the blocks smaller"); }

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

Job::Job(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes) : comm_(comm) {
  require_ranks(comm, spec);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  import_ = make_schedule(spec, rank);
  import_.place.clear();  // all that arrives is kept, to be checked afterwards
  if (includes_reduce(spec)) reduce_ = make_reduce(spec, rank);
  bytes_ = exchange_sizes(comm, spec, block_bytes);
  require_sizes(comm, import_, bytes_);
  blocks_.emplace(spec, rank, import_, bytes_);
  importer_.emplace(comm, import_, spec.mode, blocks_->slots());
  if (!reduce_.adds) return;
  sums_.emplace(spec, rank, reduce_, std::vector<std::size_t>(bytes_.begin(), bytes_.begin() + reduce_.slots));
  reducer_.emplace(comm, reduce_, spec.mode, sums_->slots(), Callbacks{add_bytes, {}});
}

Job::Job(MPI_Comm comm, const Ingredient& ingredient, std::size_t block_bytes) : comm_(comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  RankSchedule schedule = make_ingredient(ingredient, rank);
  const bool takes_part = rank == ingredient.a || rank == ingredient.b;
  bytes_.assign(static_cast<std::size_t>(schedule.slots), takes_part ? block_bytes : 0);
  require_sizes(comm, schedule, bytes_);
  if (!schedule.adds) {
    import_ = std::move(schedule);
    blocks_.emplace(rank, takes_part ? 0 : -1, ingredient_origins(ingredient, rank), import_, bytes_);
    importer_.emplace(comm, import_, ingredient.mode, blocks_->slots());
    return;
  }
  reduce_ = std::move(schedule);
  std::vector<Sum> sums;
  for (Index slot = 0; slot < ingredient.width; ++slot) sums.push_back({slot, {{rank, slot}, {rank, ingredient.width + slot}}});
  sums_.emplace(rank, std::move(sums), reduce_, bytes_);
  reducer_.emplace(comm, reduce_, ingredient.mode, sums_->slots(), Callbacks{add_bytes, {}});
}

Timed Job::time(const ClockOffset& clock, const Repetitions& repetitions) {
  return time_repetitions(comm_, clock, repetitions,
                          {[&](std::uint64_t number) {
                             if (blocks_) blocks_->prepare(number);
                             if (sums_) sums_->prepare(number);
                           },
                           [&] {
                             if (importer_) importer_->run();
                             if (reducer_) reducer_->run();
                           },
                           [&](std::uint64_t number) {
                             if (mismatch_.empty() && blocks_) mismatch_ = blocks_->mismatch(number);
                             if (mismatch_.empty() && sums_) mismatch_ = sums_->mismatch(number);
                           }});
}

bool Job::verified() const {
  int good = mismatch_.empty() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm_);
  return good == 1;
}

std::array<Index, 2> Job::messages_and_bytes() const {
  const std::array<Index, 2> own{import_.messages_sent() + reduce_.messages_sent(),
                                 bytes_sent(import_, bytes_) + bytes_sent(reduce_, bytes_)};
  std::array<Index, 2> most{};
  MPI_Allreduce(own.data(), most.data(), 2, MPI_INT64_T, MPI_MAX, comm_);
  return most;
}

TimedExchange run_timed(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes, const ClockOffset& clock,
                        const Repetitions& repetitions) {
  Job job(comm, spec, block_bytes);
  const auto [messages, bytes] = job.messages_and_bytes();
  const Timed timed = job.time(clock, repetitions);
  return {timed.time_s, timed.late, job.verified(), job.mismatch(), messages, bytes};
}

}  // namespace rankwise
