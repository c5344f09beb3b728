// Packed messages in pieces, as those above 2^31 bytes travel, and of changing lengths.
#include "exchange/transport.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "../world.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

std::byte byte_of(int rank, std::size_t i) { return static_cast<std::byte>((static_cast<std::size_t>(rank) * 37 + i) % 251); }

TEST(DirectTransport, LongMessagesTravelInPieces) {
  const int next = (world_rank() + 1) % world_size();
  const int before = (world_rank() + world_size() - 1) % world_size();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100}, std::size_t{1000}}) {
    DirectTransport transport(MPI_COMM_WORLD, 3, {next}, {before}, piece);
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{0}, std::size_t{99}, std::size_t{101}}) {
      transport.make_room_in(0, bytes);
      transport.make_room_out(0, bytes);
      transport.ready();
      transport.expect(0, bytes);
      for (std::size_t i = 0; i < bytes; ++i) transport.out(0)[i] = byte_of(world_rank(), i);
      transport.send(0, bytes);
      std::size_t came = 0;
      transport.advance(true, [&](std::size_t, std::size_t arrived) { came = arrived; });
      ASSERT_EQ(came, bytes);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(transport.in(0)[i], byte_of(before, i)) << piece;
    }
  }
}

TEST(DirectTransport, MessagesMayBeShorterThanExpectedButNotLonger) {
  if (world_size() < 2) return;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int peer = world_rank() ^ 1;
  if (peer >= world_size()) {
    MPI_Comm_free(&comm);
    return;
  }
  DirectTransport transport(comm, 3, {peer}, {peer});
  transport.make_room_in(0, 64);
  transport.make_room_out(0, 64);
  transport.ready();
  transport.expect(0, 32);
  transport.send(0, world_rank() % 2 == 0 ? 16 : 48);
  std::size_t came = 0;
  const auto finish = [&] { transport.advance(true, [&](std::size_t, std::size_t bytes) { came = bytes; }); };
  if (world_rank() % 2 == 1) {
    finish();
    EXPECT_EQ(came, 16u);
  } else {
    EXPECT_THROW(finish(), WrongLength);
  }
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace rankwise
