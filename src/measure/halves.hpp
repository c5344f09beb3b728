// A world of ranks seen as two halves that talk to each other: rank i of the lower half and rank i + size / 2 are pair i.
// Launchers fill one node after the other, so that between two nodes every pair crosses.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace rankwise {

class Halves {
 public:
  // Collective. Throws std::invalid_argument, on all ranks alike, for an odd number of ranks.
  explicit Halves(MPI_Comm world) {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
    if (size_ % 2 != 0) throw std::invalid_argument("an even number of ranks is needed, not " + std::to_string(size_));
    MPI_Comm_split(world, pair(), rank_, &comm_);
  }
  ~Halves() { MPI_Comm_free(&comm_); }
  Halves(const Halves&) = delete;
  Halves& operator=(const Halves&) = delete;

  [[nodiscard]] int pairs() const { return size_ / 2; }
  [[nodiscard]] int pair() const { return rank_ % pairs(); }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }  // of this rank's pair: the lower half's rank is its rank 0

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace rankwise
