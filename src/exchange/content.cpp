#include "exchange/content.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

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

}  // namespace rankwise
