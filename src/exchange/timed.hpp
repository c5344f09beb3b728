// Exchanges as they are timed and checked.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/executor.hpp"
#include "measure/together.hpp"
#include "schedule/programs.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// Bytes that tell where they come from: what an exchange carries when every byte of it is checked.

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
  // Clears what was received and writes the own block again.
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

// Runs one exchange again and again, times each from a common start to the last rank's end, and checks every byte.

struct TimedExchange {
  std::vector<double> time_s;   // rank 0 only: each repetition, the maximum over ranks
  int late = 0;                 // rank 0 only: repetitions in which a rank missed the common start
  bool verified = true;         // on all ranks alike: every slot of every rank held the right bytes, every time
  std::string mismatch;         // on the rank that saw one: the first slot that did not
  Index messages_per_rank = 0;  // the most that any rank sends in a repetition
  Index bytes_per_rank = 0;
};

// Throws std::invalid_argument, on all ranks alike and before anything is sent, when the number of ranks is not the
// communicator's, the window has more than 2^26 slots, or blocks of one size need more memory than any rank should take.
void require_runnable(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes);

// An exchange, or an ingredient of one, with its blocks: ready to be repeated. What arrives is kept and compared with what its
// origin sent, sums with what all contributors put in.
class Job {
 public:
  // Collective. Blocks may differ in size from rank to rank. Throws as require_runnable does.
  Job(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes);
  // Likewise, of an ingredient, whose blocks are alike.
  Job(MPI_Comm comm, const Ingredient& ingredient, std::size_t block_bytes);
  Job(const Job&) = delete;  // executors point at the schedules
  Job& operator=(const Job&) = delete;

  // The import (the visits), and the way back where includes_reduce says so.
  [[nodiscard]] Timed time(const ClockOffset& clock, const Repetitions& repetitions);
  // Collective: whether on all ranks every slot held the right bytes, every time.
  [[nodiscard]] bool verified() const;
  // On the rank that saw one: the first slot that did not.
  [[nodiscard]] const std::string& mismatch() const { return mismatch_; }
  // Collective: the most that any rank sends in a repetition.
  [[nodiscard]] std::array<Index, 2> messages_and_bytes() const;

 private:
  MPI_Comm comm_;
  RankSchedule import_;
  RankSchedule reduce_;
  std::vector<std::size_t> bytes_;
  std::optional<ImportContent> blocks_;
  std::optional<ReduceContent> sums_;
  std::optional<Executor> importer_;
  std::optional<Executor> reducer_;
  std::string mismatch_;
};

// Collective. Rank r of comm takes the part of rank r of the grid with a block of block_bytes, which may differ from
// rank to rank. A repetition is the import (the visits), and the way back where includes_reduce says so; all that
// arrives is kept and compared with what its origin sent, sums with what all contributors put in. Throws as
// require_runnable does, whichever rank has too large a block.
[[nodiscard]] TimedExchange run_timed(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes,
                                      const ClockOffset& clock, const Repetitions& repetitions);

}  // namespace rankwise
