// Requests of nonblocking and persistent neighbourhood collectives. A request is MPI's own, of a message to oneself that is sent
// when the exchange has finished: whatever the program does with it means what it should.
#pragma once

#include <mpi.h>

#include <memory>

#include "preload/neighbor_state.hpp"

namespace rankwise::preload {

struct RequestKind {
  bool persistent = false;
  bool checked = false;                   // against MPI's own,
  MPI_Request theirs = MPI_REQUEST_NULL;  // which goes on beside it
};

// Makes the request of an exchange and, unless persistent, starts it.
[[nodiscard]] int start_request(const std::shared_ptr<NeighborState>& state, const std::shared_ptr<Plan>& plan,
                                const Arguments& arguments, const RequestKind& kind, MPI_Request* request);

}  // namespace rankwise::preload
