// Whether the kernels are built for ranks that exist in a simulator only (SimGrid's SMPI). What is asked of MPI is the same
// there; what is asked of the system, and of the clock, has no answer.
#pragma once

#include <mpi.h>

namespace rankwise {

#ifdef SMPI_H
inline constexpr bool is_simulated = true;
#else
inline constexpr bool is_simulated = false;
#endif

}  // namespace rankwise
