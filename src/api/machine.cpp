#include "api/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace rankwise::api {

namespace {

KnownMachine read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    refuse_argument("RANKWISE_PROFILE names " + path + ", which cannot be read: write it with 'rankwise measure -o " + path +
                    "', or unset RANKWISE_PROFILE");
  }
  try {
    return {read_machine(text.str()), "the profile " + path};
  } catch (const std::invalid_argument& error) {
    refuse_argument("the profile " + path + " (RANKWISE_PROFILE), " + error.what() +
                    "; write a new one with 'rankwise measure', or unset RANKWISE_PROFILE");
  }
}

// Where a rank is, as its neighbours need to know it.
struct Seat {
  std::uint64_t node = 0;
  std::int64_t socket = -1;  // -1: bound to no one socket
};

// The socket of the CPUs that this process may run on; -1 when there are several, or the system does not say.
std::int64_t own_socket() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return -1;
  std::int64_t socket = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id");
    std::int64_t its = -1;
    if (!(file >> its) || (socket >= 0 && its != socket)) return -1;
    socket = its;
  }
  return socket;
}

const Seat& own_seat() {
  static const Seat seat = [] {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    return Seat{std::hash<std::string>{}(std::string(name.data(), static_cast<std::size_t>(length))), own_socket()};
  }();
  return seat;
}

LinkClass link_between(const Seat& a, const Seat& b) {
  if (a.node != b.node) return LinkClass::other_node;
  return a.socket >= 0 && b.socket >= 0 && a.socket != b.socket ? LinkClass::other_socket : LinkClass::same_socket;
}

}  // namespace

const KnownMachine& known_machine() {
  static const KnownMachine otherwise{default_machine(), "the default machine (RANKWISE_PROFILE is not set)"};
  static std::mutex mutex;
  static std::map<std::string, KnownMachine> read_so_far;
  const char* path = std::getenv("RANKWISE_PROFILE");
  if (path == nullptr || *path == '\0') return otherwise;
  const std::lock_guard lock(mutex);
  const auto found = read_so_far.find(path);
  return found != read_so_far.end() ? found->second : read_so_far.emplace(path, read(path)).first->second;
}

AxisLinks own_axis_links(const Communicator& comm, const Window& window) {
  const Grid& grid = comm.grid();
  const Seat& own = own_seat();
  const Coords coords = grid.coords(comm.rank());
  AxisLinks links(static_cast<std::size_t>(grid.ndim()), LinkClass::same_core);
  const auto rank_at = [&](int axis, Index layer) {
    Coords other = coords;
    Index& coordinate = other[static_cast<std::size_t>(axis)];
    coordinate = grid.shifted(axis, coordinate, layer);
    return coordinate < 0 ? MPI_PROC_NULL : static_cast<int>(grid.cell(other));
  };
  for (int axis = 0; axis < grid.ndim(); ++axis) {
    LinkClass& farthest = links[static_cast<std::size_t>(axis)];
    const Index layers = std::min(std::max(window.lower(axis), window.upper(axis)), grid.dim(axis) - 1);
    for (Index layer = 1; layer <= layers; ++layer) {
      const int from = rank_at(axis, -layer);
      Seat other;
      constexpr int tag = 0;
      check_mpi(MPI_Sendrecv(&own, sizeof own, MPI_BYTE, rank_at(axis, layer), tag, &other, sizeof other, MPI_BYTE, from,
                             tag, comm.get(), MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
      if (from != MPI_PROC_NULL && from != comm.rank()) farthest = std::max(farthest, link_between(own, other));
    }
  }
  return links;
}

}  // namespace rankwise::api
