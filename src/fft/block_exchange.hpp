// One transpose among the ranks of a communicator: blocks that lie one after the other in one buffer arrive one after
// the other in another.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/executor.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// alltoall: MPI_Alltoallv. pairwise: P - 1 steps of one message each way (schedule/transpose.hpp).
enum class TransposeMethod { alltoall, pairwise };
[[nodiscard]] TransposeMethod parse_transpose_method(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(TransposeMethod method);

class BlockExchange {
 public:
  // Sizes are in bytes, one a rank of comm, multiples of value_bytes. Throws std::invalid_argument for a block of more
  // than 2 GiB (pairwise), or of more than 2^31 values. Buffers and communicator must outlive the exchange.
  BlockExchange(MPI_Comm comm, TransposeMethod method, std::size_t value_bytes, const std::vector<std::size_t>& send_bytes,
                const std::vector<std::size_t>& recv_bytes, std::byte* from, std::byte* into);
  ~BlockExchange();
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  void run();  // collective; throws MpiError

 private:
  MPI_Comm comm_;
  std::byte* from_;
  std::byte* into_;
  MPI_Datatype value_ = MPI_DATATYPE_NULL;
  std::vector<int> send_counts_, send_offsets_, recv_counts_, recv_offsets_;
  RankSchedule schedule_;
  std::unique_ptr<Executor> pairwise_;
};

}  // namespace rankwise
