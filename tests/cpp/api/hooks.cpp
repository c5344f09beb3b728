// The library takes the program's MPI calls in place of its own.
#include "hooks.hpp"

#include <mpi.h>

#include <set>

namespace rankwise_test {

bool counting = false;
int collectives = 0;
int messages = 0;
int allocations = 0;

namespace {

std::set<MPI_Request>& kept_receives() {
  static std::set<MPI_Request> all;
  return all;
}

}  // namespace
}  // namespace rankwise_test

using namespace rankwise_test;

#pragma GCC visibility push(default)

#define COUNTED_COLLECTIVE(name, parameters, arguments) \
  extern "C" int MPI_##name parameters {                \
    if (counting) ++collectives;                        \
    return PMPI_##name arguments;                       \
  }
COUNTED_COLLECTIVE(Barrier, (MPI_Comm comm), (comm))
COUNTED_COLLECTIVE(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))
COUNTED_COLLECTIVE(Allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                   (in, out, count, type, op, comm))
COUNTED_COLLECTIVE(Allgather, (const void* in, int n, MPI_Datatype type, void* out, int m, MPI_Datatype other, MPI_Comm comm),
                   (in, n, type, out, m, other, comm))
COUNTED_COLLECTIVE(Alltoall, (const void* in, int n, MPI_Datatype type, void* out, int m, MPI_Datatype other, MPI_Comm comm),
                   (in, n, type, out, m, other, comm))
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  if (counting) ++messages;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
// Which of the kept requests send is not known here: those of receives are noted.
extern "C" int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  const int result = PMPI_Recv_init(data, count, type, from, tag, comm, request);
  kept_receives().insert(*request);
  return result;
}
extern "C" int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  const int result = PMPI_Send_init(data, count, type, to, tag, comm, request);
  kept_receives().erase(*request);
  return result;
}
extern "C" int MPI_Start(MPI_Request* request) {
  if (counting && !kept_receives().contains(*request)) ++messages;
  return PMPI_Start(request);
}

#pragma GCC visibility pop
