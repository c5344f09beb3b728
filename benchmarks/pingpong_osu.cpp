// Two ping-pong loops taken in turn, on the same ranks and at the same size: ours, and one that is written after the
// description of OSU's osu_latency (version 7: after 200 warm-up rounds, or 10 for large messages, each round trip of
// MPI_Send and MPI_Recv is timed by itself with MPI_Wtime on rank 0, and half of the sum over the rounds is printed).
//
//     mpiexec -n 2 pingpong_osu REPETITIONS CPU0 CPU1    prints a JSON line for each size: raw round trips of both
#include <mpi.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "measure/pair.hpp"
#include "turns.hpp"

namespace {

constexpr int rounds = 200;

void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::fprintf(stderr, "cannot bind to CPU %d\n", cpu);
}

std::vector<double> osu_like(int rank, std::size_t size_bytes, int skip) {
  std::vector<char> sent(size_bytes + 1, 'a');
  std::vector<char> received(size_bytes + 1, 'b');
  const int count = static_cast<int>(size_bytes);
  std::vector<double> times_s;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < rounds + skip; ++i) {
    if (rank == 0) {
      const double start_s = MPI_Wtime();
      MPI_Send(sent.data(), count, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(received.data(), count, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const double end_s = MPI_Wtime();
      if (i >= skip) times_s.push_back(end_s - start_s);
    } else {
      MPI_Recv(received.data(), count, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(sent.data(), count, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
  }
  return times_s;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 20;
  if (argc > 3) bind_to(std::atoi(argv[2 + rank]));
  const rankwise::Sampling sampling{1.0, rounds, rounds};
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const std::size_t size_bytes : {0U, 8U, 1024U, 8192U, 65536U, 1048576U}) {
      const int skip = size_bytes > 8192 ? 10 : 200;
      std::vector<double> theirs;
      rankwise::PairSamples ours;
      // Who goes first alternates: the second finds the buffers' pages and the clock's caches warm.
      for (int turn = 0; turn < 2; ++turn) {
        if ((turn + repetition) % 2 == 0) {
          ours = rankwise::measure_pair(MPI_COMM_WORLD, rankwise::PairOperation::send, size_bytes, sampling);
        } else {
          theirs = osu_like(rank, size_bytes, skip);
        }
      }
      if (rank != 0) continue;
      std::printf("{\"size_bytes\": %zu, ", size_bytes);
      for (double& time_s : ours.time_s) time_s /= ours.rounds;
      print("ours_s", ours.time_s, ", ");
      print("osu_like_s", theirs, "}\n");
    }
  }
  MPI_Finalize();
  return 0;
}
