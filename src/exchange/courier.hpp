// Messages straight to their partners.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "exchange/carrier.hpp"
#include "mpi/error.hpp"
#include "mpi/simulated.hpp"

namespace rankwise {

class Courier final : public Carrier {
 public:
  // Messages above piece_bytes travel in pieces, for MPI counts in int.
  static constexpr std::size_t usual_piece_bytes = std::size_t{1} << 30;

  // to, from: the partners, each at most once. No memory is taken before `make_room`. persistent: requests are kept; what is
  // sent from elsewhere, with another length than there is room for, or in pieces, takes one of its own all the same.
  Courier(MPI_Comm comm, int tag, const std::vector<int>& to, const std::vector<int>& from,
          std::size_t piece_bytes = usual_piece_bytes, bool persistent = false);
  ~Courier() override;

  void make_room_out(std::size_t i, std::size_t bytes) override { make_room(out_[i], bytes); }
  void make_room_in(std::size_t i, std::size_t bytes) override { make_room(in_[i], bytes); }
  void ready() override;
  [[nodiscard]] std::byte* out(std::size_t i) override { return out_[i].buffer.get(); }
  [[nodiscard]] const std::byte* in(std::size_t i) const override { return in_[i].buffer.get(); }
  void expect(std::size_t i, std::size_t bytes, std::byte* data = nullptr) override;
  void send(std::size_t i, std::size_t bytes, const std::byte* data = nullptr) override;

 private:
  struct Line {
    int peer = 0;
    std::size_t room = 0;
    std::unique_ptr<std::byte[]> buffer;
    std::size_t pieces = 0;
    std::size_t first = 0;  // its first request
    std::size_t left = 0;   // pieces that have not come
    std::size_t came = 0;   // bytes that have
    MPI_Request kept = MPI_REQUEST_NULL;
  };
  bool go_on(bool wait, Arrival arrived) override;
  void make_room(Line& line, std::size_t bytes);
  void keep_requests();
  void free_requests();
  void start_kept(Line& line);
  // bytes: of a receive that is complete.
  [[nodiscard]] bool is_complete(int request, bool block, std::size_t* bytes);
  template <class Post>
  void each_piece(std::size_t bytes, Post post) const;

  MPI_Comm comm_;
  int tag_;
  std::size_t piece_bytes_;
  bool persistent_;
  bool grown_ = true;  // since the last `ready`
  std::vector<Line> out_;
  std::vector<Line> in_;
  std::vector<MPI_Request> requests_;
  std::vector<int> receive_of_;     // of each request: which receive it belongs to, -1: none
  std::vector<MPI_Request*> kept_;  // of each request, where a kept one is under way in its place
  std::vector<int> pending_;        // the requests under way
};

}  // namespace rankwise
