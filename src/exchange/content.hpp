// Bytes that tell where they come from: what an exchange carries when every byte of it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/executor.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// Adds byte by byte, modulo 256.
void add_bytes(std::byte* into, const std::byte* from, std::size_t bytes);

// The blocks of one rank's import: the own one is written, all others are checked against their origins.
class ImportContent {
 public:
  ImportContent(const ExchangeSpec& spec, Index rank, const RankSchedule& schedule,
                const std::vector<std::size_t>& bytes_per_slot);
  // own: the slot of the own block, -1: none; origins: of each slot, -1: nothing comes.
  ImportContent(Index rank, Index own, std::vector<Index> origins, const RankSchedule& schedule,
                const std::vector<std::size_t>& bytes_per_slot);

  [[nodiscard]] const std::vector<SlotBuffer>& slots() const { return storage_.slots(); }
  // Clears what was received and writes the own block anew.
  void prepare(std::uint64_t repetition);
  // What is wrong with the first slot that does not hold its origin's bytes; empty when all do.
  [[nodiscard]] std::string mismatch(std::uint64_t repetition) const;

 private:
  Index rank_;
  Index own_;
  SlotStorage storage_;
  std::vector<Index> origins_;
};

// A slot in which contributions are added up.
struct Sum {
  Index slot = -1;
  std::vector<SlotOf> contributions;
};

// The contributions of one rank to the sums of the way back, and the sum that it gets.
class ReduceContent {
 public:
  ReduceContent(const ExchangeSpec& spec, Index rank, const RankSchedule& schedule,
                const std::vector<std::size_t>& bytes_per_slot);
  ReduceContent(Index rank, std::vector<Sum> sums, const RankSchedule& schedule,
                const std::vector<std::size_t>& bytes_per_slot);

  [[nodiscard]] const std::vector<SlotBuffer>& slots() const { return storage_.slots(); }
  void prepare(std::uint64_t repetition);
  [[nodiscard]] std::string mismatch(std::uint64_t repetition) const;

 private:
  Index rank_;
  std::vector<Sum> sums_;
  SlotStorage storage_;
};

}  // namespace rankwise
