#include "api/failure.hpp"

#include <cstdio>

#include "mpi/error.hpp"

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

}  // namespace rankwise::api
