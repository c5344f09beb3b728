#include "api/failure.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rankwise::api {

namespace {

// Plain storage: remembering a lack of memory must not need any.
struct LastError {
  char message[1024] = "";
  int mpi_error = MPI_SUCCESS;
};
thread_local LastError last;

}  // namespace

void refuse_argument(const std::string& message) { throw Failure(RANKWISE_ERROR_ARGUMENT, message); }
void refuse_usage(const std::string& message) { throw Failure(RANKWISE_ERROR_USAGE, message); }

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Failure(RANKWISE_ERROR_MPI, std::string(what) + " failed: " + text, code);
}

Failure current_failure() {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure;
  } catch (const MpiError& error) {
    return {RANKWISE_ERROR_MPI, std::string("MPI failed: ") + error.what(), error.code()};
  } catch (const std::invalid_argument& error) {
    return {RANKWISE_ERROR_ARGUMENT, error.what()};
  } catch (const std::bad_alloc&) {
    return {RANKWISE_ERROR_MEMORY, "no memory left for this plan: make what it moves (blocks, fields, lists) smaller"};
  } catch (const std::exception& error) {
    return {RANKWISE_ERROR_INTERNAL, std::string("rankwise failed, please report it: ") + error.what()};
  } catch (...) {
    return {RANKWISE_ERROR_INTERNAL, "rankwise failed with an unknown exception, please report it"};
  }
}

void remember(const Failure& failure) noexcept {
  std::snprintf(last.message, sizeof last.message, "%s", failure.what());
  last.mpi_error = failure.mpi_error();
}

const char* last_message() noexcept { return last.message; }
int last_mpi_error() noexcept { return last.mpi_error; }

namespace {

// The failure of one rank, reported to all.
[[noreturn]] void share(MPI_Comm comm, int failing, const std::optional<Failure>& own) {
  struct {
    int result = RANKWISE_ERROR_INTERNAL;
    int mpi_error = MPI_SUCCESS;
    std::array<char, 512> message{};
  } report;
  const int rank = rank_of(comm);
  if (rank == failing && own) {
    report.result = own->result();
    report.mpi_error = own->mpi_error();
    const std::string text = own->what();
    std::copy_n(text.begin(), std::min(text.size(), report.message.size() - 1), report.message.begin());
  }
  RANKWISE_CHECKED(MPI_Bcast, &report, static_cast<int>(sizeof report), MPI_BYTE, failing, comm);
  throw Failure(static_cast<rankwise_result>(report.result), "rank " + std::to_string(failing) + ": " + report.message.data(),
                report.mpi_error);
}

}  // namespace

void Agreement::reach(MPI_Comm comm) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  // One reduction by maximum for all of it: the lowest failing rank as size - rank, each value and its complement
  // (equal values are those whose least, too, is the most), and the maxima.
  std::vector<std::int64_t> numbers{failure_ ? size - rank : 0};
  for (const std::int64_t value : values_) {
    numbers.push_back(value);
    numbers.push_back(~value);
  }
  numbers.insert(numbers.end(), maxima_.begin(), maxima_.end());
  RANKWISE_CHECKED(MPI_Allreduce, MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, MPI_MAX, comm);
  if (numbers[0] > 0) share(comm, size - static_cast<int>(numbers[0]), failure_);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::int64_t most = numbers[1 + 2 * i];
    const std::int64_t least = ~numbers[2 + 2 * i];
    if (most != least && call_ != nullptr && i == 0) {
      refuse_usage("the ranks are in different calls of this plan, here in " + std::string(call_) +
                   ": make the same calls in the same order on all ranks");
    }
    if (most != least) {
      refuse_argument(names_[i] + " differs between ranks, from " + std::to_string(least) + " to " + std::to_string(most) +
                      ": pass the same on all ranks");
    }
  }
  std::copy(numbers.end() - static_cast<std::ptrdiff_t>(maxima_.size()), numbers.end(), maxima_.begin());
}

}  // namespace rankwise::api
