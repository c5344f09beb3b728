// An MPI call failed (only where the communicator's error handler returns).
#pragma once

#include <mpi.h>

#include <stdexcept>

namespace rankwise {

class MpiError : public std::runtime_error {
 public:
  explicit MpiError(int code);
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

// Throws MpiError unless the code of an MPI call says success.
void mpi(int code);

}  // namespace rankwise
