#include "mpi/mpi.hpp"

#include <string>

namespace rankwise {

namespace {

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

MpiError::MpiError(int code) : std::runtime_error(error_text(code)), code_(code) {}

void mpi(int code) {
  if (code != MPI_SUCCESS) throw MpiError(code);
}

}  // namespace rankwise
