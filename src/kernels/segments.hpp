// The shared memory in which ranks of one node exchange messages.
#pragma once

namespace rankwise {

// Takes MPICH's segments their names, collectively after MPI_Init: ranks that have them keep them, and none is left in
// /dev/shm however the ranks end. Other libraries' segments keep their names, by which ranks find them later.
void forget_segment_names();

}  // namespace rankwise
