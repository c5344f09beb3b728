#include "fft/shared_memory.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "cart/nodes.hpp"
#include "fft/memory.hpp"
#include "mpi/error.hpp"
#include "mpi/simulated.hpp"

namespace rankwise {

std::unique_ptr<SharedMemory> SharedMemory::among(MPI_Comm comm, std::size_t bytes) {
  if (is_simulated || !by_all(comm, bytes <= most_bytes) || RankNodes(comm).sizes().nodes() > 1) return nullptr;
  std::unique_ptr<SharedSegment> own;
  SegmentName name;
  try {
    own = std::make_unique<SharedSegment>(flags_bytes + bytes);
    for (std::size_t i = 0; i < most_exchanges; ++i) new (own->data() + i * sizeof(EpochFlags)) EpochFlags;
    name = own->name();
  } catch (const std::bad_alloc&) {  // nobody finds a segment of that name
  }
  int size = 1;
  mpi(MPI_Comm_size(comm, &size));
  std::vector<SegmentName> names(static_cast<std::size_t>(size));
  mpi(MPI_Allgather(&name, sizeof name, MPI_BYTE, names.data(), sizeof name, MPI_BYTE, comm));
  std::vector<std::shared_ptr<const MappedSegment>> ranks;
  for (const SegmentName& one : names) ranks.push_back(MappedSegment::map(one));
  if (!by_all(comm, std::ranges::all_of(ranks, [](const auto& one) { return one != nullptr; }))) return nullptr;
  return std::unique_ptr<SharedMemory>(new SharedMemory(comm, std::move(own), std::move(ranks)));
}

SharedMemory::Part SharedMemory::part(MPI_Comm comm) {
  if (exchanges_ == most_exchanges) throw std::logic_error("more exchanges than have flags in shared memory");
  MPI_Group whole = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  mpi(MPI_Comm_group(comm_, &whole));
  mpi(MPI_Comm_group(comm, &group));
  int size = 0;
  int rank = 0;
  mpi(MPI_Group_size(group, &size));
  mpi(MPI_Group_rank(group, &rank));
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> there(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  mpi(MPI_Group_translate_ranks(group, size, ranks.data(), whole, there.data()));
  MPI_Group_free(&group);
  MPI_Group_free(&whole);

  const std::size_t slot = exchanges_++ * sizeof(EpochFlags);
  Part part;
  part.flags.own = reinterpret_cast<EpochFlags*>(own_->data() + slot);
  for (const int r : there) part.data.push_back(ranks_[static_cast<std::size_t>(r)]->data() + flags_bytes);
  for (const std::byte* data : part.data) {
    part.flags.sources.push_back(reinterpret_cast<const EpochFlags*>(data - flags_bytes + slot));
  }
  std::ranges::rotate(part.flags.sources, part.flags.sources.begin() + rank);
  part.flags.readers = part.flags.sources;
  return part;
}

}  // namespace rankwise
