// Executes one rank's schedule over MPI. Blocks lie in one buffer, slot after slot; they land where they belong.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

class Executor {
 public:
  // window: the whole window's buffer, slots x block_bytes, which must outlive the executor. Rank r of comm executes
  // the schedule of rank r. Throws std::invalid_argument when a message has more than 2^31 - 1 bytes.
  Executor(MPI_Comm comm, const RankSchedule& schedule, SendMode mode, std::size_t block_bytes, std::byte* window);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void run();

 private:
  // An operation as MPI wants it: consecutive slots are plain bytes, others a type of their own.
  struct Transfer {
    Op::Kind kind;
    int peer;
    int tag;
    std::byte* data;
    int count;
    MPI_Datatype type;
    bool owns_type;
  };
  struct Copy {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };
  struct Stage {
    std::vector<Transfer> transfers;
    std::vector<Copy> copies;
  };

  [[nodiscard]] Transfer prepare(const Op& op) const;
  void prepare_copies(const Op& op, std::vector<Copy>& copies) const;
  void run_blocking(const Transfer& transfer) const;
  void run_together(const std::vector<Transfer>& transfers);

  MPI_Comm comm_;
  SendMode mode_;
  std::size_t block_bytes_;
  std::byte* window_;
  std::vector<Stage> stages_;
  std::vector<MPI_Request> requests_;
};

}  // namespace rankwise
