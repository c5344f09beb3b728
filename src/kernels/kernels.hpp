// The kernels that the executable offers. Each is collective over MPI_COMM_WORLD, reads its arguments, and lets rank 0
// print JSON Lines. Wrong arguments: std::invalid_argument, on all ranks alike, before anything is sent.
#pragma once

#include "kernels/arguments.hpp"

namespace rankwise {

void run_pingpong(Arguments& arguments);
void run_exchange(Arguments& arguments);
void run_stencil(Arguments& arguments);

}  // namespace rankwise
