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

int rank_of(MPI_Comm comm) {
  int rank = 0;
  mpi(MPI_Comm_rank(comm, &rank));
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 1;
  mpi(MPI_Comm_size(comm, &size));
  return size;
}

OwnedComm::~OwnedComm() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (comm_ != MPI_COMM_NULL && is_over == 0) MPI_Comm_free(&comm_);
}

OwnedComm comm_of_node(MPI_Comm comm, int ranks_per_node) {
  const int rank = rank_of(comm);
  OwnedComm node;
  mpi(ranks_per_node > 0 ? MPI_Comm_split(comm, rank / ranks_per_node, rank, &node)
                         : MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  return node;
}

void share_text(MPI_Comm comm, std::string& text) {
  int length = static_cast<int>(text.size());
  mpi(MPI_Bcast(&length, 1, MPI_INT, 0, comm));
  text.resize(static_cast<std::size_t>(length));
  mpi(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm));
}

bool by_all(MPI_Comm comm, bool holds) {
  int all = holds ? 1 : 0;
  mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm));
  return all == 1;
}

bool by_first(MPI_Comm comm, bool holds) {
  int flag = holds ? 1 : 0;
  mpi(MPI_Bcast(&flag, 1, MPI_INT, 0, comm));
  return flag == 1;
}

double most_of(MPI_Comm comm, double value) {
  mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm));
  return value;
}

}  // namespace rankwise
