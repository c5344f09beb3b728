#include "fft/shared_memory.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "cart/nodes.hpp"
#include "fft/memory.hpp"
#include "mpi/error.hpp"
#include "mpi/simulated.hpp"

namespace rankwise {

namespace {

constexpr std::size_t page = 4096;

// Where the first rank's memory is to be found, and a number that is at its beginning and nowhere else.
struct Sign {
  std::uint64_t token = 0;
  std::int64_t process = -1;
  std::int32_t descriptor = -1;
};

// A file without a name, which is gone when nobody has it open, as long as asked for and really there.
int reserved(std::size_t bytes) {
  const int file = memfd_create("rankwise", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0) return file;
  close(file);
  return -1;
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::among(MPI_Comm comm, std::size_t bytes) {
  int rank = 0;
  int size = 1;
  mpi(MPI_Comm_rank(comm, &rank));
  mpi(MPI_Comm_size(comm, &size));
  if (is_simulated || !by_all(comm, bytes <= most_bytes) || RankNodes(comm).sizes().nodes() > 1) return nullptr;
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size));
  const std::uint64_t own = (bytes + page - 1) / page * page;
  mpi(MPI_Allgather(&own, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, comm));
  const std::size_t head = (sizeof(Meetings) * (static_cast<std::size_t>(size) + 1) + page - 1) / page * page;
  const std::size_t total = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{head});
  Sign sign;
  if (rank == 0) {
    std::random_device random;
    sign = {(std::uint64_t{random()} << 32) + random(), getpid(), reserved(total)};
  }
  mpi(MPI_Bcast(&sign, sizeof sign, MPI_BYTE, 0, comm));
  // Ranks of another node, or of another container, find another process of that number, or none.
  int file = sign.descriptor;
  if (rank != 0 && file >= 0) {
    const std::string path = "/proc/" + std::to_string(sign.process) + "/fd/" + std::to_string(sign.descriptor);
    file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  void* all = MAP_FAILED;
  if (file >= 0 && lseek(file, 0, SEEK_END) == static_cast<off_t>(total)) {
    all = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (rank == 0 && all != MAP_FAILED) std::memcpy(all, &sign.token, sizeof sign.token);
  mpi(MPI_Barrier(comm));
  const bool is_right = all != MAP_FAILED && std::memcmp(all, &sign.token, sizeof sign.token) == 0;
  const bool by_everyone = by_all(comm, is_right);
  if (file >= 0) close(file);
  if (!by_everyone) {
    if (all != MAP_FAILED) munmap(all, total);
    return nullptr;
  }
  std::vector<std::byte*> ranks{static_cast<std::byte*>(all) + head};
  for (const std::uint64_t length : lengths) ranks.push_back(ranks.back() + length);
  std::memset(ranks[static_cast<std::size_t>(rank)], 0, bytes);  // by its owner, near which it then lies
  return std::unique_ptr<SharedMemory>(new SharedMemory(comm, static_cast<std::byte*>(all), total, std::move(ranks), rank));
}

SharedMemory::~SharedMemory() { munmap(all_, bytes_); }

SharedMemory::Party::Party(SharedMemory& memory, MPI_Comm part) : memory_(&memory), part_(part) {
  MPI_Group whole = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  mpi(MPI_Comm_group(memory.comm_, &whole));
  mpi(MPI_Comm_group(part, &group));
  int size = 0;
  mpi(MPI_Group_size(group, &size));
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> there(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  mpi(MPI_Group_translate_ranks(group, size, ranks.data(), whole, there.data()));
  MPI_Group_free(&group);
  MPI_Group_free(&whole);
  ranks_.assign(there.begin(), there.end());
}

void SharedMemory::Party::arrive() {
  memory_->meetings(static_cast<std::size_t>(memory_->rank_)).count.fetch_add(1, std::memory_order_acq_rel);
}

bool SharedMemory::Party::is_complete() const {
  const std::uint64_t own = memory_->meetings(static_cast<std::size_t>(memory_->rank_)).count.load(std::memory_order_relaxed);
  return std::ranges::all_of(
      ranks_, [&](std::size_t rank) { return memory_->meetings(rank).count.load(std::memory_order_acquire) >= own; });
}

void SharedMemory::Party::wait() const {
  constexpr int at_once = 2000;  // looks, some microseconds
  for (int look = 0; look < at_once; ++look) {
    if (is_complete()) return;
  }
  while (!is_complete()) {
    int is_there = 0;
    mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, part_, &is_there, MPI_STATUS_IGNORE));
    sched_yield();
  }
}

}  // namespace rankwise
