#include "preload/neighbor_request.hpp"

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "preload/neighbor.hpp"
#include "preload/neighbor_check.hpp"
#include "preload/neighbor_exchange.hpp"

namespace rankwise::preload {

namespace {

struct Pending {
  Pending(const std::shared_ptr<NeighborState>& state, const std::shared_ptr<Plan>& plan, const Arguments& arguments,
          const RequestKind& asked)
      : exchange(state, plan, arguments.sent(), arguments.received(), asked.checked),
        kind(asked),
        check(state, plan, arguments.received()),
        comm(arguments.comm()) {}
  NeighborExchange exchange;
  RequestKind kind;
  NeighborCheck check;
  MPI_Comm comm;  // the program's, whose error handler is called
  int tag = 0;
  bool active = false;
  bool theirs_done = false;

  int start() {
    active = true;
    theirs_done = false;
    if (kind.checked && kind.persistent) {
      if (const int code = MPI_Start(&kind.theirs); code != MPI_SUCCESS) return code;
    }
    return exchange.start();
  }
  // Where it is checked, ours is unpacked when MPI's own is complete.
  int test(bool* done) {
    if (kind.checked && !theirs_done) {
      int flag = 0;
      int code = MPI_Test(&kind.theirs, &flag, MPI_STATUS_IGNORE);  // MPICH 5.0's Testall fails with persistent ones
      *done = code != MPI_SUCCESS;
      if (code != MPI_SUCCESS || flag == 0) return code;
      theirs_done = true;
      if (code = check.begin(); code != MPI_SUCCESS) return code;
    }
    const int code = exchange.test(done);
    return kind.checked && *done && code == MPI_SUCCESS ? check.end() : code;
  }
  int wait() {
    if (kind.checked && !theirs_done) {
      if (const int code = MPI_Waitall(1, &kind.theirs, MPI_STATUSES_IGNORE); code != MPI_SUCCESS) return code;
      theirs_done = true;
      if (const int code = check.begin(); code != MPI_SUCCESS) return code;
    }
    const int code = exchange.wait();
    return kind.checked && code == MPI_SUCCESS ? check.end() : code;
  }
};
using Shared = std::shared_ptr<Pending>;

std::uint64_t bits(MPI_Request request) {
  return compiled_for() == Family::mpich ? (Handle)request & 0xFFFFFFFFU : (Handle)request;
}

std::mutex guarding;
std::unordered_map<std::uint64_t, Shared>& pending = *new std::unordered_map<std::uint64_t, Shared>;
int last_tag = 0;

// Of this rank alone.
MPI_Comm self() {
  static const MPI_Comm own = [] {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    return made;
  }();
  return own;
}

Shared find(MPI_Request request) {
  const std::lock_guard guard(guarding);
  const auto at = pending.find(bits(request));
  return at == pending.end() ? nullptr : at->second;
}

void erase(MPI_Request request) {
  Shared one = find(request);
  if (one == nullptr) return;
  {
    const std::lock_guard guard(guarding);
    neighbor_pending -= static_cast<long>(pending.erase(bits(request)));
  }
  if (one->kind.theirs != MPI_REQUEST_NULL) MPI_Request_free(&one->kind.theirs);
}

// What the program's own wait or test finds done.
int end(MPI_Request request, const Shared& one, int code) {
  one->active = false;
  MPI_Send(nullptr, 0, MPI_BYTE, 0, one->tag, self());
  if (!one->kind.persistent) erase(request);
  if (code != MPI_SUCCESS) MPI_Comm_call_errhandler(one->comm, code);
  return code;
}

// Calls visit(request, pending) for those of ours that are under way; returns the first error.
template <class Visit>
int each(int number, const void* requests, Visit visit) noexcept {
  if (!neighbor_requests()) return MPI_SUCCESS;
  int first = MPI_SUCCESS;
  for (int i = 0; i < number; ++i) {
    const MPI_Request request = static_cast<const MPI_Request*>(requests)[i];
    if (const Shared one = find(request); one != nullptr) {
      const int code = visit(request, one);
      if (first == MPI_SUCCESS) first = code;
    }
  }
  return first;
}

}  // namespace

int start_request(const std::shared_ptr<NeighborState>& state, const std::shared_ptr<Plan>& plan, const Arguments& arguments,
                  const RequestKind& kind, MPI_Request* request) {
  auto one = std::make_shared<Pending>(state, plan, arguments, kind);
  {
    const std::lock_guard guard(guarding);
    one->tag = last_tag = (last_tag + 1) % 32768;
  }
  int code = kind.persistent ? MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, one->tag, self(), request)
                             : MPI_Irecv(nullptr, 0, MPI_BYTE, 0, one->tag, self(), request);
  if (code != MPI_SUCCESS) return code;
  if (!kind.persistent) {
    code = one->start();
    if (code != MPI_SUCCESS) return code;
  }
  const std::lock_guard guard(guarding);
  pending[bits(*request)] = one;
  ++neighbor_pending;
  return MPI_SUCCESS;
}

int neighbor_finish(int number, const void* requests) noexcept {
  return each(number, requests, [](MPI_Request request, const Shared& one) -> int {
    return one->active ? end(request, one, one->wait()) : MPI_SUCCESS;
  });
}

int neighbor_progress(int number, const void* requests, bool* some) noexcept {
  *some = false;
  return each(number, requests, [&](MPI_Request request, const Shared& one) -> int {
    if (!one->active) return MPI_SUCCESS;
    *some = true;
    bool done = false;
    const int code = one->test(&done);
    return done ? end(request, one, code) : code;
  });
}

int neighbor_start(int number, const void* requests) noexcept {
  return each(number, requests, [](MPI_Request, const Shared& one) -> int {
    const int code = one->start();
    if (code != MPI_SUCCESS) MPI_Comm_call_errhandler(one->comm, code);
    return code;
  });
}

void neighbor_forget(const void* request) noexcept {
  if (neighbor_requests()) erase(*static_cast<const MPI_Request*>(request));
}

}  // namespace rankwise::preload
