// Packed messages: at most one to each partner and one from each, from buffers that are kept from exchange to exchange.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpi/error.hpp"
#include "mpi/simulated.hpp"

namespace rankwise {

// A partner sent a message of another length than was expected.
class WrongLength : public std::runtime_error {
 public:
  explicit WrongLength(const std::string& message) : std::runtime_error(message) {}
};

class Courier {
 public:
  // Messages above piece_bytes travel in pieces, for MPI counts in int.
  static constexpr std::size_t usual_piece_bytes = std::size_t{1} << 30;

  // to, from: the partners, each at most once. No memory is taken before `make_room`.
  Courier(MPI_Comm comm, int tag, std::vector<int> to, std::vector<int> from, std::size_t piece_bytes = usual_piece_bytes);
  ~Courier() = default;
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;
  Courier(Courier&&) = default;
  Courier& operator=(Courier&&) = default;

  // Room for messages of so many bytes; takes memory only where there was less. Not while messages are under way.
  void make_room_out(std::size_t i, std::size_t bytes) { make_room(out_[i], bytes); }
  void make_room_in(std::size_t i, std::size_t bytes) { make_room(in_[i], bytes); }
  // After make_room, before messages: room for the requests of all.
  void ready();

  [[nodiscard]] std::size_t sends() const { return out_.size(); }
  [[nodiscard]] std::size_t receives() const { return in_.size(); }
  [[nodiscard]] int to(std::size_t i) const { return out_[i].peer; }
  [[nodiscard]] int from(std::size_t i) const { return in_[i].peer; }
  [[nodiscard]] std::byte* out(std::size_t i) { return out_[i].buffer.get(); }
  [[nodiscard]] std::byte* in(std::size_t i) { return in_[i].buffer.get(); }
  [[nodiscard]] const std::byte* in(std::size_t i) const { return in_[i].buffer.get(); }

  // Puts message i under way, from its buffer or from `data`; expects one of at most so many bytes.
  void send(std::size_t i, std::size_t bytes, const std::byte* data = nullptr);
  void expect(std::size_t i, std::size_t bytes, std::byte* data = nullptr);

  // Calls arrived(i, bytes) for every message that has come since. True when all are complete. wait: returns only then.
  // Throws MpiError, and WrongLength for a message that is too long. Requests are asked one by one: of several at once,
  // MPI need not hand an error to the communicator's handler.
  template <class Arrived>
  bool advance(bool wait, Arrived arrived) {
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

 private:
  struct Line {
    int peer = 0;
    std::size_t room = 0;
    std::unique_ptr<std::byte[]> buffer;
    std::size_t pieces = 0;
    std::size_t first = 0;  // its first request
    std::size_t left = 0;   // pieces that have not come
    std::size_t came = 0;   // bytes that have
  };
  void make_room(Line& line, std::size_t bytes);
  // bytes: of a receive that is complete.
  [[nodiscard]] bool is_complete(int request, bool block, std::size_t* bytes);
  template <class Post>
  void each_piece(std::size_t bytes, Post post) const;

  MPI_Comm comm_;
  int tag_;
  std::size_t piece_bytes_;
  bool grown_ = true;  // since the last `ready`
  std::vector<Line> out_;
  std::vector<Line> in_;
  std::vector<MPI_Request> requests_;
  std::vector<int> receive_of_;  // of each request: which receive it belongs to, -1: none
  std::vector<int> pending_;     // the requests under way
};

}  // namespace rankwise
