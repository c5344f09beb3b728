// One forward 3-D FFT of double complex values three ways, interleaved in one run: ours (in place, transposed out), and
// FFTW's own MPI transform in place and out of place, both transposed out (its fastest). All plan with FFTW_MEASURE, and
// every spectrum is checked against the definition.
//
//   mpiexec -n 2 fft3d_peers N GRID REPETITIONS METHOD      as in: 128 2x1 50 alltoall
//
// Prints a JSON line {"n": ..., "ranks": ..., "ours_s": [...], "fftw_in_place_s": [...], "fftw_out_of_place_s": [...]}:
// the maximum over ranks, repetition by repetition, and the bytes of each. fft3d.py makes ratios.
#include <cstdlib>
#include <string>

#include "fft/transform.hpp"
#include "fft3d_peers.hpp"

using namespace peers;

int main(int argc, char** argv) {
  const Started all(argc, argv);
  if (argc != 5 || std::string(argv[2]).find('x') == std::string::npos)
    return all.refuse("fft3d_peers N GRID REPETITIONS METHOD, as in 128 2x1 50 alltoall");
  const Index n = std::atol(argv[1]);
  const std::string grid = argv[2];
  const int repetitions = std::atoi(argv[3]);
  const Decomposition d{{n, n, n}, false, {std::atol(grid.c_str()), std::atol(grid.c_str() + grid.find('x') + 1)}};
  const rankwise::FftLibrary library("fftw");
  rankwise::Fft3d<double> ours(
      MPI_COMM_WORLD, {d, rankwise::Order::transposed, rankwise::parse_transpose_method(argv[4]), rankwise::Planning::measure},
      library);
  fill_field(d, all.rank, ours.data());
  ours.run(rankwise::Direction::forward);
  require("ours", d, ours.output_box(), 0, ours.data());
  std::fill_n(ours.data(), ours.array_bytes() / sizeof(Value), Value{});
  Fftw in_place(n, 1, true);
  in_place.check("FFTW in place", d, all.rank);
  Fftw out_of_place(n, 1, false);
  out_of_place.check("FFTW out of place", d, all.rank);

  const auto times = timed(
      {[&] { ours.run(rankwise::Direction::forward); }, [&] { in_place.run(); }, [&] { out_of_place.run(); }}, repetitions);
  if (all.rank == 0) {
    std::printf("{\"n\": %ld, \"ranks\": %d, \"memory_ratio\": %.4f, ", static_cast<long>(n), all.size,
                static_cast<double>(ours.memory_bytes()) / static_cast<double>(ours.array_bytes()));
    print("ours_s", times[0], ", ");
    print("fftw_in_place_s", times[1], ", ");
    print("fftw_out_of_place_s", times[2], "}\n");
  }
  return 0;
}
