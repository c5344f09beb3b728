#include "exchange/timed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// Identifies a block: whose it is, which slot of that rank (0 for the block itself), in which repetition.
std::uint64_t seed_of(Index rank, Index slot, std::uint64_t repetition) {
  return static_cast<std::uint64_t>(rank + 1) * 0x9E3779B97F4A7C15ULL +
         static_cast<std::uint64_t>(slot) * 0xC2B2AE3D27D4EB4FULL + repetition * 0xBF58476D1CE4E5B9ULL;
}

// Eight bytes of a block: different for every block and place.
std::uint64_t word(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + i * 0x94D049BB133111EBULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  return z ^ (z >> 27);
}

std::uint64_t sum_of_bytes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t low = 0x7F7F7F7F7F7F7F7FULL;
  return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

// Calls each(i, size): the i-th word of a block, of which size bytes are in the block, 8 (a constant, so that whole words
// are moved as such) but for the last.
template <typename Each>
bool all_words(std::size_t bytes, Each each) {
  const std::size_t whole = bytes / 8;
  for (std::size_t i = 0; i < whole; ++i) {
    if (!each(i, std::integral_constant<std::size_t, 8>())) return false;
  }
  return bytes % 8 == 0 || each(whole, bytes % 8);
}

void write_block(const SlotBuffer& slot, std::uint64_t seed) {
  all_words(slot.bytes, [&](std::size_t i, auto size) {
    const std::uint64_t value = word(seed, i);
    std::memcpy(slot.data + 8 * i, &value, size);
    return true;
  });
}

bool holds(const SlotBuffer& slot, std::uint64_t seed) {
  return all_words(slot.bytes, [&](std::size_t i, auto size) {
    const std::uint64_t value = word(seed, i);
    return std::memcmp(slot.data + 8 * i, &value, size) == 0;
  });
}

std::string at(Index rank, std::size_t slot) {
  return "rank " + std::to_string(rank) + ", slot " + std::to_string(slot) + ": ";
}

}  // namespace

void add_bytes(std::byte* into, const std::byte* from, std::size_t bytes) {
  all_words(bytes, [&](std::size_t i, auto size) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, into + 8 * i, size);
    std::memcpy(&b, from + 8 * i, size);
    a = sum_of_bytes(a, b);
    std::memcpy(into + 8 * i, &a, size);
    return true;
  });
}

ImportContent::ImportContent(const ExchangeSpec& spec, Index rank, const RankSchedule& schedule,
                             const std::vector<std::size_t>& bytes_per_slot)
    : ImportContent(rank, own_slot(spec, rank), rankwise::origins(spec, rank), schedule, bytes_per_slot) {}

ImportContent::ImportContent(Index rank, Index own, std::vector<Index> origins, const RankSchedule& schedule,
                             const std::vector<std::size_t>& bytes_per_slot)
    : rank_(rank), own_(own), storage_(schedule, bytes_per_slot), origins_(std::move(origins)) {}

void ImportContent::prepare(std::uint64_t repetition) {
  std::fill(storage_.memory().begin(), storage_.memory().end(), std::byte{0xEE});
  if (own_ >= 0) write_block(slots()[static_cast<std::size_t>(own_)], seed_of(rank_, 0, repetition));
}

std::string ImportContent::mismatch(std::uint64_t repetition) const {
  for (std::size_t slot = 0; slot < origins_.size(); ++slot) {
    const Index origin = origins_[slot];
    if (origin < 0 || holds(slots()[slot], seed_of(origin, 0, repetition))) continue;
    return at(rank_, slot) + "not the bytes of rank " + std::to_string(origin);
  }
  return "";
}

ReduceContent::ReduceContent(const ExchangeSpec& spec, Index rank, const RankSchedule& schedule,
                             const std::vector<std::size_t>& bytes_per_slot)
    : ReduceContent(rank, {}, schedule, bytes_per_slot) {
  if (own_slot(spec, rank) >= 0) sums_.push_back({own_slot(spec, rank), contributions_to(spec, rank)});
}

ReduceContent::ReduceContent(Index rank, std::vector<Sum> sums, const RankSchedule& schedule,
                             const std::vector<std::size_t>& bytes_per_slot)
    : rank_(rank), sums_(std::move(sums)), storage_(schedule, bytes_per_slot) {}

void ReduceContent::prepare(std::uint64_t repetition) {
  for (std::size_t slot = 0; slot < slots().size(); ++slot) {
    write_block(slots()[slot], seed_of(rank_, static_cast<Index>(slot), repetition));
  }
}

std::string ReduceContent::mismatch(std::uint64_t repetition) const {
  for (const auto& [slot, contributions] : sums_) {
    const SlotBuffer& own = slots()[static_cast<std::size_t>(slot)];
    const bool right = all_words(own.bytes, [&](std::size_t i, auto size) {
      std::uint64_t expected = 0;
      for (const auto& [rank, from] : contributions) {
        expected = sum_of_bytes(expected, word(seed_of(rank, from, repetition), i));
      }
      return std::memcmp(own.data + 8 * i, &expected, size) == 0;
    });
    if (!right) return at(rank_, static_cast<std::size_t>(slot)) + "not the sum of all contributions";
  }
  return "";
}

namespace {

constexpr std::size_t most_memory_bytes = std::size_t{1} << 34;

[[noreturn]] void refuse_memory() { invalid("the blocks need more than 16 GiB a rank: make the cutoff or the blocks smaller"); }

void require_ranks(MPI_Comm comm, const ExchangeSpec& spec) {
  const int size = size_of(comm);
  if (spec.ranks() == size) return;
  invalid("the grid needs " + std::to_string(spec.ranks()) + " ranks but " + std::to_string(size) +
          " run: start as many ranks as it needs");
}

// Throws, on all ranks alike, when the blocks of any rank need too much memory or make too large a message.
void require_sizes(MPI_Comm comm, const RankSchedule& schedule, const std::vector<std::size_t>& bytes_per_slot) {
  constexpr std::size_t limit = most_memory_bytes;
  std::size_t total = 0;
  std::vector<std::size_t> limited;
  for (const std::size_t bytes : bytes_per_slot) {
    limited.push_back(std::min(bytes, limit));
    total = std::min(2 * limit, total + limited.back());
  }
  std::size_t largest = 0;
  for (const Op& op : schedule.ops()) {
    if (op.moves()) largest = std::max(largest, op.total(limited));
  }
  std::array<std::uint64_t, 2> most{total, largest};
  MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_UINT64_T, MPI_MAX, comm);
  if (most[0] > limit) refuse_memory();
  if (most[1] > 0x7FFFFFFF) invalid("a message has more than 2 GiB: make the cutoff or the blocks smaller");
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
  const int rank = rank_of(comm);
  import_ = make_schedule(spec, rank);
  import_.place.clear();  // all that arrives is kept, to be checked afterwards
  if (includes_reduce(spec)) reduce_ = make_reduce(spec, rank);
  bytes_ = exchange_sizes(comm, spec, block_bytes);
  require_sizes(comm, import_, bytes_);
  blocks_.emplace(spec, rank, import_, bytes_);
  importer_.emplace(comm, import_, spec.mode, blocks_->slots());
  if (!includes_reduce(spec)) return;
  sums_.emplace(spec, rank, reduce_, std::vector<std::size_t>(bytes_.begin(), bytes_.begin() + reduce_.slots));
  reducer_.emplace(comm, reduce_, spec.mode, sums_->slots(), Callbacks{add_bytes, {}});
}

Job::Job(MPI_Comm comm, const Ingredient& ingredient, std::size_t block_bytes) : comm_(comm) {
  const int rank = rank_of(comm);
  RankSchedule schedule = make_ingredient(ingredient, rank);
  const bool takes_part = rank == ingredient.a || rank == ingredient.b;
  bytes_.assign(static_cast<std::size_t>(schedule.slots), takes_part ? block_bytes : 0);
  require_sizes(comm, schedule, bytes_);
  if (ingredient.kind != Ingredient::Kind::add) {
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

bool Job::verified() const { return by_all(comm_, mismatch_.empty()); }

std::array<Index, 2> Job::messages_and_bytes() const {
  const std::array<Index, 2> own{import_.messages_sent() + reduce_.messages_sent(),
                                 static_cast<Index>(import_.sent(bytes_) + reduce_.sent(bytes_))};
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
