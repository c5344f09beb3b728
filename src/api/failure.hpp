// How the C API fails: exceptions inside, result codes and a line of text outside.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mpi/mpi.hpp"
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
#define RANKWISE_CHECKED(CALL, ...) check_mpi(CALL(__VA_ARGS__), #CALL)

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

// Agreement: an outcome that all ranks share, so that an error on one of them is an error on all.

class Agreement {
 public:
  // Notes a failure of this rank; the first one counts.
  void fail(Failure failure) {
    if (!failure_) failure_ = std::move(failure);
  }
  // Runs what may fail on this rank alone, and notes its failure.
  template <class Body>
  void attempt(Body&& body) noexcept(false) {
    try {
      body();
    } catch (...) {
      fail(current_failure());
    }
  }
  // A value that must be the same on all ranks. The number and order of the calls must be, too. name: "the cutoff of
  // axis 0", for the message.
  void alike(std::string name, std::int64_t value) {
    names_.push_back(std::move(name));
    values_.push_back(value);
  }
  // The call that all ranks must be in.
  void call(const char* name) {
    call_ = name;
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (const char* c = name; *c != '\0'; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211U;
    alike(name, static_cast<std::int64_t>(hash >> 1U));
  }
  // A value of which all ranks want the largest; returns its index for `largest`.
  std::size_t maximise(std::int64_t value) {
    maxima_.push_back(value);
    return maxima_.size() - 1;
  }

  // Collective, once. Throws the same Failure on all ranks: that of the lowest rank that has one, or a refusal of the
  // first value that differs.
  void reach(MPI_Comm comm);
  [[nodiscard]] std::int64_t largest(std::size_t index) const { return maxima_[index]; }

 private:
  std::optional<Failure> failure_;
  const char* call_ = nullptr;
  std::vector<std::string> names_;
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> maxima_;
};

// Collective: runs what may fail on this rank alone; where it fails on any, all throw the same Failure.
template <class Body>
void all_or_none(MPI_Comm comm, Body&& body) {
  Agreement agreement;
  agreement.attempt(body);
  agreement.reach(comm);
}

// Runs the checks of a call; with `everywhere` (RANKWISE_CHECK) they fail on all ranks of comm where they fail on one, or where
// ranks are in different calls.
template <class Checks>
void checked(bool everywhere, MPI_Comm comm, const char* call, Checks&& checks) {
  if (!everywhere) {
    checks();
    return;
  }
  Agreement agreement;
  agreement.call(call);
  agreement.attempt(checks);
  agreement.reach(comm);
}

}  // namespace rankwise::api
