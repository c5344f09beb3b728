#include "kernels/witness.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "kernels/arguments.hpp"
#include "kernels/json_line.hpp"

namespace rankwise {

namespace {

bool bind_to(long long cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::vector<long long> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<long long> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<long long>(cpu));
  }
  return cpus;
}

}  // namespace

void pin_before_init(const std::vector<long long>& cpus) {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank == nullptr || cpus.empty()) continue;
    const std::size_t i = std::strtoul(rank, nullptr, 10);
    if (i < cpus.size()) bind_to(cpus[i]);
    return;
  }
}

void pin(const std::vector<long long>& cpus, int rank) {
  if (cpus.empty()) return;
  const auto i = static_cast<std::size_t>(rank);
  if (i >= cpus.size()) {
    throw std::runtime_error("--cpus names " + std::to_string(cpus.size()) + " CPUs, too few for rank " +
                             std::to_string(rank));
  }
  if (!bind_to(cpus[i])) {
    throw std::runtime_error("rank " + std::to_string(rank) + " may not run on CPU " + std::to_string(cpus[i]));
  }
}

std::string placements_json(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  unsigned cpu = 0;
  unsigned node = 0;
  syscall(SYS_getcpu, &cpu, &node, nullptr);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  JsonLine line("placement");
  line.add("rank", static_cast<long long>(rank))
      .add("host", host.data())
      .add("pid", static_cast<long long>(getpid()))
      .add("cpu", static_cast<long long>(cpu))
      .add("cpus_allowed", allowed_cpus())
      .add("numa_node", static_cast<long long>(node));
  // All of one length (JSON allows spaces between values): a gather of equal parts goes by a tree, also in a simulator.
  std::string own = line.text();
  int length = static_cast<int>(own.size());
  MPI_Allreduce(MPI_IN_PLACE, &length, 1, MPI_INT, MPI_MAX, comm);
  own.resize(static_cast<std::size_t>(length), ' ');
  std::string all(rank == 0 ? static_cast<std::size_t>(length) * static_cast<std::size_t>(size) : 0, ' ');
  MPI_Gather(own.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, comm);
  std::string json = "[";
  for (int i = 0; rank == 0 && i < size; ++i) {
    json += (i > 0 ? "," : "") + all.substr(static_cast<std::size_t>(i) * own.size(), own.size());
  }
  return json + "]";
}

}  // namespace rankwise
