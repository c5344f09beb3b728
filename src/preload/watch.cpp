#include "preload/arrange.hpp"

#include <mutex>
#include <vector>

#include "preload/look_up.hpp"

namespace rankwise::preload {

namespace {

struct Watched {
  Handle comm;
  int before;
  int after;
  bool speaks;
  bool freed = false;
  bool used = false;
  bool neighbours_asked = false;
  bool other_asked = false;  // for the coordinates of its number before
  bool own_asked = false;
  bool message_elsewhere = false;
};
std::vector<Watched>& all_watched = *new std::vector<Watched>;  // calls come until the very end
std::mutex guarding;
constexpr std::size_t most_watched = 16;

// What has shown itself is reported, and what is in order is watched no longer.
void settle() {
  std::erase_if(all_watched, [](const Watched& one) {
    const bool other = one.other_asked && !one.own_asked && (one.used || one.freed || one.message_elsewhere);
    const bool unused = one.freed && one.neighbours_asked && !one.used && one.message_elsewhere;
    if ((other || unused) && one.speaks) {
      warn(other ? "it asks for the coordinates of its rank in another communicator than the Cartesian one"
                 : "it takes neighbours from the Cartesian communicator, and sends by another one");
    }
    return other || unused || one.used || (one.freed && !one.neighbours_asked);
  });
  watching = !all_watched.empty();
}

enum class Sign { message, use, neighbours, coordinates, freed };

void note(Sign sign, Handle handle, int rank = -1) {
  if (!watching.load(std::memory_order_relaxed)) return;
  const std::lock_guard guard(guarding);
  for (Watched& one : all_watched) {
    if (one.freed || one.comm != bits_of(handle)) {
      one.message_elsewhere = one.message_elsewhere || (sign == Sign::message && one.neighbours_asked);
      continue;
    }
    one.used = one.used || sign == Sign::message || sign == Sign::use;
    one.neighbours_asked = one.neighbours_asked || sign == Sign::neighbours;
    one.freed = sign == Sign::freed;
    if (sign == Sign::coordinates) {
      one.other_asked = one.other_asked || rank == one.before;
      one.own_asked = one.own_asked || rank == one.after;
    }
  }
  if (sign == Sign::message || sign == Sign::use || sign == Sign::freed) settle();
}

}  // namespace

void watch(Handle comm, int before, int after, bool speaks) noexcept {
  const std::lock_guard guard(guarding);
  if (before == after || all_watched.size() >= most_watched) return;
  all_watched.push_back({bits_of(comm), before, after, speaks});
  watching = true;
}

void note_use(Handle comm) noexcept { note(Sign::use, comm); }

void watch_end() noexcept {
  const std::lock_guard guard(guarding);
  for (Watched& one : all_watched) one.freed = true;
  settle();
}

}  // namespace rankwise::preload

#define RANKWISE_MESSAGE(NAME, N, COMM) RANKWISE_AFTER(NAME, note(Sign::message, COMM), N)
#define RANKWISE_USE(NAME, N, COMM) RANKWISE_AFTER(NAME, note(Sign::use, COMM), N)

RANKWISE_MESSAGE(Send, 6, a5)
RANKWISE_MESSAGE(Bsend, 6, a5)
RANKWISE_MESSAGE(Ssend, 6, a5)
RANKWISE_MESSAGE(Rsend, 6, a5)
RANKWISE_MESSAGE(Recv, 7, a5)
RANKWISE_MESSAGE(Isend, 7, a5)
RANKWISE_MESSAGE(Ibsend, 7, a5)
RANKWISE_MESSAGE(Issend, 7, a5)
RANKWISE_MESSAGE(Irsend, 7, a5)
RANKWISE_MESSAGE(Irecv, 7, a5)
RANKWISE_MESSAGE(Send_init, 7, a5)
RANKWISE_MESSAGE(Recv_init, 7, a5)
RANKWISE_MESSAGE(Sendrecv, 12, a10)
RANKWISE_MESSAGE(Sendrecv_replace, 9, a7)
RANKWISE_USE(Comm_dup, 2, a0)
RANKWISE_USE(Comm_group, 2, a0)
RANKWISE_USE(Comm_split, 4, a0)
RANKWISE_USE(Cart_sub, 3, a0)
RANKWISE_USE(Win_create, 6, a4)
RANKWISE_AFTER(Cart_shift, note(Sign::neighbours, a0), 5)
RANKWISE_AFTER(Cart_rank, note(Sign::neighbours, a0), 3)
RANKWISE_AFTER(Cart_coords, note(Sign::coordinates, a0, static_cast<int>(a1)), 4)
RANKWISE_AFTER(Comm_free, note(Sign::freed, comm_at(a0)), 1)
