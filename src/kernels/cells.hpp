// What the measuring kernels share: a list of cells, measured in the order in which they are named, each with the
// witnesses beside it.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/interface.hpp"
#include "measure/sampling.hpp"

namespace rankwise {

struct Cell {
  std::string operation;
  std::size_t size_bytes = 0;
};

// What a cell gave: its samples, how many messages (or operations) one sample's time stands for, and what else to tell.
struct Outcome {
  Samples samples;
  double parts = 1.0;
  std::vector<std::pair<std::string, long long>> counts{};  // JSON keys and values
  std::vector<std::pair<std::string, double>> figures{};
};

class Cells {
 public:
  // Reads --cells operation:size,..., --budget-s, --least, --most and --seconds (of all cells together: when they are
  // spent the rest is left out, and so is a cell that will not end in time); the first --needed ones have --patience-s more,
  // where a machine is so busy that it would not come to them. Throws std::invalid_argument.
  Cells(Arguments& arguments, const std::string& fallback);

  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

  // Collective over comm: measures each cell and lets rank 0 print its `samples` record.
  void run(const std::string& kernel, MPI_Comm comm, const std::function<Outcome(const Cell&, const Sampling&)>& measure) const;

 private:
  std::vector<Cell> cells_;
  Sampling sampling_;
  double seconds_ = 0.0;
  long long needed_ = 0;
  double patience_s_ = 0.0;
};

// A number at the end of an operation's name: 64 of bandwidth-window-64 after "bandwidth-window-"; -1 where the name
// does not begin so or no number of at least 1 follows.
[[nodiscard]] long long number_after(const std::string& operation, const std::string& beginning);

}  // namespace rankwise
