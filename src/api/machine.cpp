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
#include <vector>

#include "api/failure.hpp"
#include "cart/nodes.hpp"

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

namespace {

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

// How many ranks in a row share a socket, where the sockets of this node are filled one after the other; 0: they are not.
// Where some rank is bound to no one socket, all count as one. Collective over the node.
Index ranks_per_socket(MPI_Comm node, Index ranks, std::int64_t socket) {
  std::vector<std::int64_t> sockets(static_cast<std::size_t>(ranks));
  RANKWISE_CHECKED(MPI_Allgather, &socket, 1, MPI_INT64_T, sockets.data(), 1, MPI_INT64_T, node);
  if (std::find(sockets.begin(), sockets.end(), -1) != sockets.end()) return ranks;
  const auto change = std::adjacent_find(sockets.begin(), sockets.end(), std::not_equal_to<>());
  const Index size = change == sockets.end() ? ranks : change - sockets.begin() + 1;
  for (Index i = size; i < ranks; ++i) {
    const auto at = [&sockets](Index rank) { return sockets[static_cast<std::size_t>(rank)]; };
    const bool begins = i % size == 0;
    if (begins == (at(i) == at(i - 1))) return 0;
  }
  std::sort(sockets.begin(), sockets.end());
  const Index distinct = std::unique(sockets.begin(), sockets.end()) - sockets.begin();
  return distinct == (ranks - 1) / size + 1 ? size : 0;
}

// Every rank's node and socket, on rank 0.
Placement gathered(const Communicator& comm, const RankNodes& nodes, std::int64_t socket) {
  const std::array<std::int64_t, 2> own{nodes.node(), socket};
  const auto ranks = static_cast<std::size_t>(comm.grid().size());
  std::vector<std::array<std::int64_t, 2>> seats(comm.rank() == 0 ? ranks : 0);
  RANKWISE_CHECKED(MPI_Gather, own.data(), 2, MPI_INT64_T, seats.data(), 2, MPI_INT64_T, 0, comm.get());
  if (comm.rank() != 0) return Placement::blocked(comm.grid().size(), comm.grid().size());
  const bool bound = std::none_of(seats.begin(), seats.end(), [](const auto& seat) { return seat[1] < 0; });
  std::int64_t most = 0;
  for (const auto& seat : seats) most = std::max(most, bound ? seat[1] : 0);
  std::vector<Location> locations;
  for (const auto& [node, its] : seats) {
    locations.push_back({node, node * (most + 1) + (bound ? its : 0), static_cast<Index>(locations.size())});
  }
  return Placement(std::move(locations));
}

}  // namespace

Placement placement_on_root(const Communicator& comm) {
  const RankNodes nodes(comm.get());
  static const std::int64_t socket = own_socket();
  const Index ranks = comm.grid().size();
  const Index here = nodes.sizes().size(nodes.node());
  const bool is_last = nodes.node() == nodes.sizes().nodes() - 1;
  const Index per_socket = ranks_per_socket(nodes.comm(), here, socket);
  // Alike on all nodes but a smaller last one: then few numbers say it all.
  Agreement alike;
  const std::size_t scattered = alike.maximise(nodes.place() != comm.rank() || per_socket == 0 ? 1 : 0);
  const std::size_t most = alike.maximise(here);
  const std::size_t least = alike.maximise(is_last ? -ranks : -here);
  const std::size_t widest = alike.maximise(per_socket);
  const std::size_t narrowest = alike.maximise(is_last ? -ranks : -per_socket);
  alike.reach(comm.get());
  const Index per_node = alike.largest(most);
  const bool one = nodes.sizes().nodes() == 1;
  const bool blocked = alike.largest(scattered) == 0 &&
                       (one || (per_node == -alike.largest(least) && alike.largest(widest) == -alike.largest(narrowest)));
  return blocked ? Placement::blocked(ranks, per_node, alike.largest(widest)) : gathered(comm, nodes, socket);
}

}  // namespace rankwise::api
