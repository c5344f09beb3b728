// Where a rank really runs, read from inside the program, and putting it where it was asked to run.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace rankwise {

// Binds this process to one CPU out of a list, by the rank that the launcher's environment names (before MPI_Init, so
// that MPI's own memory is first touched there). Does nothing for an empty list or an unknown environment.
void pin_before_init(const std::vector<long long>& cpus);

// The same by the actual rank; harmless where it has been done. Throws std::runtime_error when the system refuses.
void pin(const std::vector<long long>& cpus, int rank);

// Collective. On rank 0: a JSON list with one {rank, host, machine, pid, cpu, cpus_allowed, numa_node, memory_group,
// network_bytes, network_faults} for each rank. machine: a number that hosts which are containers or namespaces of one machine
// share; memory_group: the lowest rank that it shares memory with, by MPI; network_bytes: interface to [received, sent],
// network_faults: to [changes of its carrier, damaged packets], since the system's start.
[[nodiscard]] std::string placements_json(MPI_Comm comm);

// What the processors that this process may use have worked so far, whoever for (the hypervisor's other guests included), and
// what this process itself has, in seconds since some moment. Steps of the first are as coarse as the system counts (10 ms).
struct Work {
  double busy_s = 0.0;
  double own_s = 0.0;
};
[[nodiscard]] Work work_so_far();

}  // namespace rankwise
