// Pairs of ranks that keep a link busy while another pair measures (werner2023 section 6.2.2 asks what alpha and beta
// are then). While they are not wanted they sleep, so that free samples are not theirs.
#pragma once

#include <mpi.h>

#include "measure/stream.hpp"

namespace rankwise {

// What the load may cost, of each pair and over the whole launch: a pair that has reached a limit stops.
struct LoadLimits {
  double seconds = 60.0;
  double bytes = 64e9;
};

struct Load {
  double bytes_per_s = 0.0;   // of all pairs and both directions together while the load was on
  long long ended_early = 0;  // pairs that reached a limit
};

// For the ranks of pair 0: turns the load of the other pairs on and off. Only rank 0 of the world gives orders.
class BackgroundLoad {
 public:
  BackgroundLoad(MPI_Comm world, const Halves& halves) : world_(world), pairs_(halves.pairs() - 1) {}

  [[nodiscard]] int pairs() const { return pairs_; }
  void start() const;  // returns when every pair has the link busy
  [[nodiscard]] Load stop() const;
  void dismiss() const;  // the last order

 private:
  MPI_Comm world_;
  int pairs_;
};

// For all other pairs: obeys until dismissed. Each pair streams windows of messages both ways.
void serve_background(MPI_Comm world, const Halves& halves, const LoadLimits& limits);

}  // namespace rankwise
