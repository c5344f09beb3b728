#include "kernels/segments.hpp"

#include <mpi.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace rankwise {

void forget_segment_names() {
  MPI_Barrier(MPI_COMM_WORLD);  // now all ranks have them
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find("/dev/shm/mpich_shm_");
    if (at != std::string::npos && line.find(' ', at) == std::string::npos) unlink(line.c_str() + at);
  }
}

}  // namespace rankwise
