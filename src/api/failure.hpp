// How the C API fails: exceptions inside, result codes and a line of text outside.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "rankwise/rankwise.h"

namespace rankwise::api {

// A failure with the code that the caller gets.
class Failure : public std::runtime_error {
 public:
  Failure(rankwise_result result, const std::string& message, int mpi_error = MPI_SUCCESS)
      : std::runtime_error(message), result_(result), mpi_error_(mpi_error) {}
  [[nodiscard]] rankwise_result result() const { return result_; }
  // The code of MPI behind it, or MPI_SUCCESS.
  [[nodiscard]] int mpi_error() const { return mpi_error_; }

 private:
  rankwise_result result_;
  int mpi_error_;
};

[[noreturn]] void refuse_argument(const std::string& message);
[[noreturn]] void refuse_usage(const std::string& message);

// Throws Failure(RANKWISE_ERROR_MPI) where an MPI call did not succeed. what: "MPI_Comm_dup".
void check_mpi(int code, const char* what);

// The failure that the exception now being handled stands for. Call inside a catch block.
[[nodiscard]] Failure current_failure();

// What rankwise_last_error and rankwise_last_mpi_error answer on this thread.
void remember(const Failure& failure) noexcept;
[[nodiscard]] const char* last_message() noexcept;
[[nodiscard]] int last_mpi_error() noexcept;

// The one catch of the boundary: runs body and turns what it throws into a result code.
template <class Body>
rankwise_result guarded(Body&& body) noexcept {
  try {
    body();
    return RANKWISE_SUCCESS;
  } catch (...) {
    try {
      const Failure failure = current_failure();
      remember(failure);
      return failure.result();
    } catch (...) {
      return RANKWISE_ERROR_MEMORY;
    }
  }
}

}  // namespace rankwise::api
