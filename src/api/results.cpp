// The C API of results and errors.
#include "api/failure.hpp"
#include "rankwise/rankwise.h"

using namespace rankwise::api;

const char* rankwise_result_string(rankwise_result result) {
  switch (result) {
    case RANKWISE_SUCCESS: return "success";
    case RANKWISE_ERROR_ARGUMENT: return "wrong argument";
    case RANKWISE_ERROR_USAGE: return "calls out of order";
    case RANKWISE_ERROR_UNSUPPORTED: return "not supported";
    case RANKWISE_ERROR_MEMORY: return "out of memory";
    case RANKWISE_ERROR_MPI: return "error of MPI";
    case RANKWISE_ERROR_INTERNAL: return "internal error of rankwise";
  }
  return "unknown result";
}

const char* rankwise_last_error(void) { return last_message(); }
int rankwise_last_mpi_error(void) { return last_mpi_error(); }
int rankwise_version(void) { return RANKWISE_VERSION; }
