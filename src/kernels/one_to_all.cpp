// Ping-pong of rank 0 with every other rank in turn (werner2023 section 4.4), while the rest waits without polling.
// Operations: one-to-all-peer-K.
#include <mpi.h>
#include <time.h>

#include <stdexcept>
#include <vector>

#include "kernels/cells.hpp"
#include "kernels/kernels.hpp"
#include "measure/pingpong.hpp"

namespace rankwise {

namespace {

constexpr int done_tag = 85;

// A rank that polls inside a collective would be a load by itself: it sleeps until rank 0 says that it goes on.
void doze_until_told(int rank, int peer, int ranks) {
  if (rank == 0) {
    for (int other = 1; other < ranks; ++other) {
      if (other != peer) MPI_Send(nullptr, 0, MPI_BYTE, other, done_tag, MPI_COMM_WORLD);
    }
  } else if (rank != peer) {
    for (int told = 0; told == 0;) {
      MPI_Iprobe(0, done_tag, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE);
      const timespec pause{0, 500'000};
      if (told == 0) nanosleep(&pause, nullptr);
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, done_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

void run_one_to_all(Arguments& arguments) {
  const Cells cells(arguments, "one-to-all-peer-1:0");
  arguments.expect_all_used();
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto peer_of = [&](const Cell& cell) {
    const long long peer = number_after(cell.operation, "one-to-all-peer-");
    if (peer < 1 || peer >= ranks) {
      throw std::invalid_argument("operation '" + cell.operation + "' is unknown: write one-to-all-peer-K, K from 1 to " +
                                  std::to_string(ranks - 1));
    }
    return static_cast<int>(peer);
  };
  for (const Cell& cell : cells.cells()) (void)peer_of(cell);
  std::vector<MPI_Comm> pairs(static_cast<std::size_t>(ranks), MPI_COMM_NULL);
  for (int peer = 1; peer < ranks; ++peer) {
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == peer ? 0 : MPI_UNDEFINED, rank, &pairs[static_cast<std::size_t>(peer)]);
  }
  cells.run("one-to-all", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    const int peer = peer_of(cell);
    Outcome outcome{{}, 2.0, {{"peer", peer}}};
    if (rank == 0 || rank == peer) {
      const PairSamples samples =
          measure_pair(pairs[static_cast<std::size_t>(peer)], PairOperation::send, cell.size_bytes, sampling);
      outcome.samples = samples;
      outcome.parts = 2.0 * samples.rounds;
    }
    doze_until_told(rank, peer, ranks);
    return outcome;
  });
  for (MPI_Comm& pair : pairs) {
    if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
  }
}

}  // namespace rankwise
