// Agreement: an outcome that all ranks share, so that an error on one of them is an error on all.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/failure.hpp"

namespace rankwise::api {

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
