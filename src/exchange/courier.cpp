#include "exchange/courier.hpp"

#include <algorithm>

namespace rankwise {

Courier::Courier(MPI_Comm comm, int tag, std::vector<int> to, std::vector<int> from, std::size_t piece_bytes)
    : comm_(comm), tag_(tag), piece_bytes_(piece_bytes) {
  for (const int peer : to) out_.emplace_back().peer = peer;
  for (const int peer : from) in_.emplace_back().peer = peer;
}

void Courier::make_room(Line& line, std::size_t bytes) {
  if (line.buffer && bytes <= line.room) return;
  line.buffer.reset(new std::byte[std::max(bytes, std::size_t{1})]);
  line.room = bytes;
  line.pieces = std::max(std::size_t{1}, (bytes + piece_bytes_ - 1) / piece_bytes_);
  grown_ = true;
}

void Courier::ready() {
  if (!grown_) return;
  grown_ = false;
  std::size_t count = 0;
  const auto number = [&](std::vector<Line>& lines) {
    for (Line& line : lines) {
      line.first = count;
      count += line.pieces;
    }
  };
  number(in_);
  number(out_);
  requests_.assign(count, MPI_REQUEST_NULL);
  receive_of_.assign(count, -1);
  pending_.clear();
  pending_.reserve(count);
  for (std::size_t i = 0; i < in_.size(); ++i) {
    std::fill_n(receive_of_.begin() + static_cast<std::ptrdiff_t>(in_[i].first), in_[i].pieces, static_cast<int>(i));
  }
}

template <class Post>
void Courier::each_piece(std::size_t bytes, Post post) const {
  std::size_t start = 0;
  std::size_t piece = 0;
  do {
    const std::size_t length = std::min(bytes - start, piece_bytes_);
    post(piece++, start, static_cast<int>(length));
    start += length;
  } while (start < bytes);
}

void Courier::send(std::size_t i, std::size_t bytes, const std::byte* data) {
  const Line& line = out_[i];
  const std::byte* from = data == nullptr ? line.buffer.get() : data;
  each_piece(bytes, [&](std::size_t piece, std::size_t start, int length) {
    mpi(MPI_Isend(from + start, length, MPI_BYTE, line.peer, tag_, comm_, &requests_[line.first + piece]));
    pending_.push_back(static_cast<int>(line.first + piece));
  });
}

void Courier::expect(std::size_t i, std::size_t bytes, std::byte* data) {
  Line& line = in_[i];
  std::byte* into = data == nullptr ? line.buffer.get() : data;
  line.came = 0;
  line.left = 0;
  each_piece(bytes, [&](std::size_t piece, std::size_t start, int length) {
    mpi(MPI_Irecv(into + start, length, MPI_BYTE, line.peer, tag_, comm_, &requests_[line.first + piece]));
    pending_.push_back(static_cast<int>(line.first + piece));
    ++line.left;
  });
}

bool Courier::is_complete(int request, bool block, std::size_t* bytes) {
  MPI_Status status;
  int done = 1;
  const auto r = static_cast<std::size_t>(request);
  const int code = block ? MPI_Wait(&requests_[r], &status) : MPI_Test(&requests_[r], &done, &status);
  if (code != MPI_SUCCESS) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_TRUNCATE || receive_of_[r] < 0) throw MpiError(code);
    throw WrongLength("the message of rank " + std::to_string(from(static_cast<std::size_t>(receive_of_[r]))) +
                      " is longer than what is expected of it");
  }
  if (done == 0) return false;
  if (receive_of_[r] < 0) return true;
  int count = 0;
  mpi(MPI_Get_count(&status, MPI_BYTE, &count));
  *bytes = static_cast<std::size_t>(count);
  return true;
}

}  // namespace rankwise
