#include "exchange/carrier.hpp"

#include <algorithm>
#include <cstring>

namespace rankwise {

Courier::Courier(MPI_Comm comm, int tag, const std::vector<int>& to, const std::vector<int>& from, std::size_t piece_bytes,
                 bool persistent)
    : comm_(comm), tag_(tag), piece_bytes_(piece_bytes), persistent_(persistent), out_(to.size()), in_(from.size()) {
  for (std::size_t i = 0; i < to.size(); ++i) out_[i].peer = to[i];
  for (std::size_t i = 0; i < from.size(); ++i) in_[i].peer = from[i];
}

Courier::~Courier() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over == 0) free_requests();
}

void Courier::free_requests() {
  for (std::vector<Line>* lines : {&in_, &out_}) {
    for (Line& line : *lines) {
      if (line.kept != MPI_REQUEST_NULL) MPI_Request_free(&line.kept);
    }
  }
}

void Courier::make_room(Line& line, std::size_t bytes) {
  if (line.buffer && bytes <= line.room) return;
  line.buffer.reset(new std::byte[std::max(bytes, std::size_t{1})]);
  // The first pages are there before the first message; long messages may never be packed.
  std::memset(line.buffer.get(), 0, std::min(bytes, std::size_t{1} << 20));
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
  kept_.assign(count, nullptr);
  receive_of_.assign(count, -1);
  pending_.clear();
  pending_.reserve(count);
  for (std::size_t i = 0; i < in_.size(); ++i) {
    std::fill_n(receive_of_.begin() + static_cast<std::ptrdiff_t>(in_[i].first), in_[i].pieces, static_cast<int>(i));
  }
  if (persistent_) keep_requests();
}

void Courier::keep_requests() {
  free_requests();
  for (Line& line : in_) {
    if (line.pieces != 1) continue;
    mpi(MPI_Recv_init(line.buffer.get(), static_cast<int>(line.room), MPI_BYTE, line.peer, tag_, comm_, &line.kept));
  }
  for (Line& line : out_) {
    if (line.pieces != 1) continue;
    mpi(MPI_Send_init(line.buffer.get(), static_cast<int>(line.room), MPI_BYTE, line.peer, tag_, comm_, &line.kept));
  }
}

void Courier::start_kept(Line& line) {
  mpi(MPI_Start(&line.kept));
  kept_[line.first] = &line.kept;
  pending_.push_back(static_cast<int>(line.first));
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
  Line& line = out_[i];
  if (line.kept != MPI_REQUEST_NULL && data == nullptr && bytes == line.room) {
    start_kept(line);
    return;
  }
  const std::byte* from = data == nullptr ? line.buffer.get() : data;
  each_piece(bytes, [&](std::size_t piece, std::size_t start, int length) {
    mpi(MPI_Isend(from + start, length, MPI_BYTE, line.peer, tag_, comm_, &requests_[line.first + piece]));
    pending_.push_back(static_cast<int>(line.first + piece));
  });
}

void Courier::expect(std::size_t i, std::size_t bytes, std::byte* data) {
  Line& line = in_[i];
  line.came = 0;
  line.left = 0;
  if (line.kept != MPI_REQUEST_NULL && data == nullptr) {
    line.left = 1;
    start_kept(line);
    return;
  }
  std::byte* into = data == nullptr ? line.buffer.get() : data;
  each_piece(bytes, [&](std::size_t piece, std::size_t start, int length) {
    mpi(MPI_Irecv(into + start, length, MPI_BYTE, line.peer, tag_, comm_, &requests_[line.first + piece]));
    pending_.push_back(static_cast<int>(line.first + piece));
    ++line.left;
  });
}

// Requests are asked one by one: of several at once, MPI need not hand an error to the communicator's handler.
bool Courier::go_on(bool wait, Arrival arrived) {
  // Some tens of microseconds of testing before waiting, as in wait_all.
  int tests = is_simulated ? 0 : 64;
  while (!pending_.empty()) {
    const bool block = wait && tests-- <= 0;
    for (std::size_t k = 0; k < pending_.size();) {
      std::size_t bytes = 0;
      const int request = pending_[k];
      if (!is_complete(request, block, &bytes)) {
        ++k;
        continue;
      }
      pending_[k] = pending_.back();
      pending_.pop_back();
      const int i = receive_of_[static_cast<std::size_t>(request)];
      if (i < 0) continue;
      Line& line = in_[static_cast<std::size_t>(i)];
      line.came += bytes;
      if (--line.left == 0) arrived(static_cast<std::size_t>(i), line.came);
    }
    if (!wait) return pending_.empty();
  }
  return true;
}

bool Courier::is_complete(int request, bool block, std::size_t* bytes) {
  MPI_Status status;
  int done = 1;
  const auto r = static_cast<std::size_t>(request);
  MPI_Request* asked = kept_[r] != nullptr ? kept_[r] : &requests_[r];
  const int code = block ? MPI_Wait(asked, &status) : MPI_Test(asked, &done, &status);
  if (code != MPI_SUCCESS) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_TRUNCATE || receive_of_[r] < 0) throw MpiError(code);
    throw WrongLength("the message of rank " + std::to_string(in_[static_cast<std::size_t>(receive_of_[r])].peer) +
                      " is longer than what is expected of it");
  }
  if (done == 0) return false;
  kept_[r] = nullptr;
  if (receive_of_[r] < 0) return true;
  int count = 0;
  mpi(MPI_Get_count(&status, MPI_BYTE, &count));
  *bytes = static_cast<std::size_t>(count);
  return true;
}

}  // namespace rankwise
