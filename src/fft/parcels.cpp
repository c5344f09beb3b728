#include "fft/parcels.hpp"

#include <algorithm>
#include <cstring>

#include "mpi/error.hpp"
#include "mpi/wait.hpp"

namespace rankwise {

namespace {

constexpr int parcel_tag = 9;

}  // namespace

Parcels::Parcels(MPI_Comm comm, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                 const std::byte* from, std::byte* into, std::size_t piece_bytes)
    : comm_(comm), from_(from), into_(into) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  sends_ = cut(sends, rank, piece_bytes);
  receives_ = cut(receives, rank, piece_bytes);
  for (const Parcel& parcel : sends) {
    if (parcel.peer == rank) own_from_ = parcel.offset, own_bytes_ = parcel.bytes;
  }
  for (const Parcel& parcel : receives) {
    if (parcel.peer == rank) own_into_ = parcel.offset;
  }
}

// The pieces to one peer come in the order in which they are sent: one tag is enough.
std::vector<Parcels::Piece> Parcels::cut(const std::vector<Parcel>& parcels, int own, std::size_t piece_bytes) {
  std::vector<Piece> pieces;
  for (const Parcel& parcel : parcels) {
    for (std::size_t at = 0; parcel.peer != own && at < parcel.bytes; at += piece_bytes) {
      pieces.push_back({parcel.peer, parcel.offset + at, static_cast<int>(std::min(piece_bytes, parcel.bytes - at))});
    }
  }
  return pieces;
}

void Parcels::start() {
  requests_.assign(sends_.size() + receives_.size(), MPI_REQUEST_NULL);
  MPI_Request* request = requests_.data();
  for (const Piece& piece : receives_) {
    mpi(MPI_Irecv(into_ + piece.offset, piece.bytes, MPI_BYTE, piece.peer, parcel_tag, comm_, request++));
  }
  for (const Piece& piece : sends_) {
    mpi(MPI_Isend(from_ + piece.offset, piece.bytes, MPI_BYTE, piece.peer, parcel_tag, comm_, request++));
  }
  if (own_bytes_ > 0) std::memcpy(into_ + own_into_, from_ + own_from_, own_bytes_);
}

bool Parcels::test() {
  int done = 0;
  mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
  return done != 0;
}

void Parcels::wait() { wait_all(static_cast<int>(requests_.size()), requests_.data()); }

}  // namespace rankwise
