#include "preload/neighbor_check.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

namespace rankwise::preload {

namespace {

std::atomic<long> different_calls{0};

}  // namespace

NeighborCheck::NeighborCheck(std::shared_ptr<NeighborState> state, std::shared_ptr<Plan> plan, std::byte* received)
    : state_(std::move(state)), plan_(std::move(plan)), received_(received) {}

long NeighborCheck::different() noexcept { return different_calls; }

// The bytes that a plan's receives write, one after the other.
int NeighborCheck::read(std::vector<std::byte>& bytes) const {
  std::size_t all = 0;
  for (const Content& content : plan_->receives) all += content.bytes();
  bytes.resize(all);
  std::size_t done = 0;
  for (const Content& content : plan_->receives) {
    if (const int code = content.pack(received_, bytes.data() + done, state_->comm); code != MPI_SUCCESS) return code;
    done += content.bytes();
  }
  return MPI_SUCCESS;
}

int NeighborCheck::write(const std::vector<std::byte>& bytes) const {
  std::size_t done = 0;
  for (const Content& content : plan_->receives) {
    const int code = content.unpack(content.bytes(), bytes.data() + done, received_, state_->comm);
    if (code != MPI_SUCCESS) return code;
    done += content.bytes();
  }
  return MPI_SUCCESS;
}

int NeighborCheck::begin() {
  if (const int code = read(right_); code != MPI_SUCCESS) return code;
  std::vector<std::byte> wrong = right_;
  for (std::byte& byte : wrong) byte = ~byte;
  return write(wrong);
}

int NeighborCheck::end() {
  std::vector<std::byte> found;
  const int code = read(found);
  if (code == MPI_SUCCESS && found == right_) return MPI_SUCCESS;
  if (different_calls++ == 0) {
    std::fprintf(stderr, "rankwise: rank %d: a neighbourhood collective differs from MPI's own: please report it\n",
                 state_->rank);
  }
  return write(right_);
}

}  // namespace rankwise::preload
