// The kernels that the executable offers. Each is collective over MPI_COMM_WORLD, reads its arguments, and lets rank 0
// print JSON Lines. Wrong arguments: std::invalid_argument, on all ranks alike, before anything is sent.
#pragma once

#include "kernels/arguments.hpp"

namespace rankwise {

void run_pingpong(Arguments& arguments);
void run_bandwidth(Arguments& arguments);
void run_one_to_all(Arguments& arguments);
void run_all_pairs(Arguments& arguments);
void run_alltoall(Arguments& arguments);
void run_transpose(Arguments& arguments);
void run_loggp(Arguments& arguments);
void run_exchange(Arguments& arguments);
void run_paired(Arguments& arguments);
void run_stencil(Arguments& arguments);
void run_fft3d(Arguments& arguments);
void run_fft3d_values(Arguments& arguments);
void run_fft3d_choice(Arguments& arguments);
void run_fft3d_stages(Arguments& arguments);
void run_local_fft(Arguments& arguments);
void run_triad(Arguments& arguments);
void run_pack(Arguments& arguments);
void run_replay(Arguments& arguments);

}  // namespace rankwise
