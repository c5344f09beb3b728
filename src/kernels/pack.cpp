// How long a rank takes to gather rows of memory into a message and to put them back: rows of so many bytes, 256 B apart.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "kernels/json_line.hpp"
#include "kernels/kernels.hpp"
#include "kernels/rows.hpp"

namespace rankwise {

namespace {

// Of this process: other programs on the same processor do not count.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Half of there and back, the median of some batches of at least `batch_s`.
double copy_s(std::size_t bytes, std::size_t row_bytes, double batch_s) {
  const BoxCopy pack = rows_into_message(bytes, row_bytes);
  const BoxCopy unpack = pack.reversed();
  std::vector<std::byte> memory(rows_memory(bytes, row_bytes), std::byte{1});
  std::vector<std::byte> message(rows_message(bytes, row_bytes), std::byte{2});
  const auto batch = [&](int copies) {
    const double start_s = processor_s();
    for (int i = 0; i < copies; ++i) {
      run(pack, message.data(), memory.data());
      run(unpack, memory.data(), message.data());
    }
    return (processor_s() - start_s) / (2 * copies);
  };
  int copies = 1;
  while (batch(copies) * 2 * copies < batch_s) copies *= 2;
  std::vector<double> times_s;
  for (int i = 0; i < 9; ++i) times_s.push_back(batch(copies));
  std::nth_element(times_s.begin(), times_s.begin() + 4, times_s.end());
  return times_s[4];
}

}  // namespace

void run_pack(Arguments& arguments) {
  const std::vector<long long> sizes = arguments.integers("sizes", "1024,4096,16384,65536,262144,1048576,4194304");
  const std::vector<long long> rows = arguments.integers("rows", "8,64,256");
  arguments.expect_all_used();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  for (const long long row_bytes : rows) {
    for (const long long bytes : sizes) {
      if (row_bytes < 1 || bytes < row_bytes) throw std::invalid_argument("--sizes must be at least --rows, and both positive");
      const double time_s = copy_s(static_cast<std::size_t>(bytes), static_cast<std::size_t>(row_bytes), 2e-3);
      JsonLine("packed").add("row_bytes", row_bytes).add("size_bytes", bytes).add("time_s", time_s).print();
    }
  }
}

}  // namespace rankwise
