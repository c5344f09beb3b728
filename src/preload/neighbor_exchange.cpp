#include "preload/neighbor_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "preload/neighbor.hpp"

namespace rankwise::preload {

namespace {

constexpr std::size_t largest_message = std::size_t{1} << 30;  // longer ones go in pieces
constexpr int tag = 0;

// Calls piece(offset, bytes) for the pieces of a message: one even where it is empty, so that each start has its own.
template <class Piece>
int each_piece(std::size_t bytes, Piece piece) {
  std::size_t done = 0;
  do {
    const std::size_t now = std::min(bytes - done, largest_message);
    if (const int code = piece(done, static_cast<int>(now)); code != MPI_SUCCESS) return code;
    done += now;
  } while (done < bytes);
  return MPI_SUCCESS;
}

}  // namespace

NeighborExchange::NeighborExchange(std::shared_ptr<NeighborState> state, std::shared_ptr<Plan> plan, const std::byte* sent,
                                   std::byte* received, bool apart)
    : state_(std::move(state)), plan_(std::move(plan)), sent_(sent), received_(received), apart_(apart) {
  if (apart) staged_ = staged(*plan_);
  memory_ = state_->take_memory(apart ? staged_.staging : plan_->staging);
}

NeighborExchange::~NeighborExchange() { state_->give_memory(std::move(memory_)); }

int NeighborExchange::start() {
  const Plan& plan = *plan_;
  const std::size_t others_in = in().size() - (plan.to_itself ? 1 : 0);
  const std::size_t others_out = out().size() - (plan.to_itself ? 1 : 0);
  requests_.clear();
  const auto next = [&]() -> MPI_Request* {
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  };
  for (std::size_t i = 0; i < others_in; ++i) {
    const Flow& flow = in()[i];
    std::byte* into = flow.in_place ? received_ + flow.memory : memory_.data() + flow.at;
    const int code = each_piece(flow.bytes, [&](std::size_t at, int bytes) {
      return MPI_Irecv(into + at, bytes, MPI_BYTE, flow.peer, tag, state_->comm, next());
    });
    if (code != MPI_SUCCESS) return code;
  }
  receives_ = requests_.size();
  const Content* packed = nullptr;  // an allgather's block is packed once
  for (std::size_t i = 0; i < out().size(); ++i) {
    const Flow& flow = out()[i];
    const Content& content = plan.sends[flow.content];
    if (!flow.in_place && packed != &content) {
      if (const int code = content.pack(sent_, memory_.data() + flow.at, state_->comm); code != MPI_SUCCESS) return code;
      packed = &content;
    }
    if (i >= others_out) continue;
    const std::byte* from = flow.in_place ? sent_ + flow.memory : memory_.data() + flow.at;
    const int code = each_piece(flow.bytes, [&](std::size_t at, int bytes) {
      return MPI_Isend(from + at, bytes, MPI_BYTE, flow.peer, tag, state_->comm, next());
    });
    if (code != MPI_SUCCESS) return code;
  }
  return apart_ ? MPI_SUCCESS : bring_own();
}

int NeighborExchange::bring_own() {
  const Plan& plan = *plan_;
  if (!plan.to_itself) return MPI_SUCCESS;
  const Flow& mine = in().back();
  const Flow& own = out().back();
  for (std::size_t i = 0; i < mine.contents; ++i) {
    const int code = plan.receives[mine.content + i].unpack(own.bytes, memory_.data() + own.at, received_, state_->comm);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int NeighborExchange::test(bool* done) {
  int flag = 0;
  statuses_.resize(requests_.size());
  const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, statuses_.data());
  *done = flag != 0 || code != MPI_SUCCESS;
  return code != MPI_SUCCESS || flag == 0 ? code : unpack();
}

int NeighborExchange::wait() {
  statuses_.resize(requests_.size());
  const int code = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data());
  return code != MPI_SUCCESS ? code : unpack();
}

int NeighborExchange::unpack() {
  const Plan& plan = *plan_;
  std::size_t request = 0;
  for (std::size_t i = 0; request < receives_; ++i) {
    const Flow& flow = in()[i];
    std::size_t come = 0;
    each_piece(flow.bytes, [&](std::size_t, int) {
      int bytes = 0;
      const int code = MPI_Get_count(&statuses_[request++], MPI_BYTE, &bytes);
      come += static_cast<std::size_t>(bytes);
      return code;
    });
    if (flow.in_place) continue;
    for (std::size_t j = 0; j < flow.contents; ++j) {
      const int code = plan.receives[flow.content + j].unpack(come, memory_.data() + flow.at, received_, state_->comm);
      if (code != MPI_SUCCESS) return code;
    }
  }
  return apart_ ? bring_own() : MPI_SUCCESS;
}

namespace {

std::atomic<long> different_calls{0};

}  // namespace

NeighborCheck::NeighborCheck(std::shared_ptr<NeighborState> state, std::shared_ptr<Plan> plan, std::byte* received)
    : state_(std::move(state)), plan_(std::move(plan)), received_(received) {}

long NeighborCheck::different() noexcept { return different_calls; }

// The bytes that a plan's receives write, one after the other.
int NeighborCheck::read(std::vector<std::byte>& bytes) const {
  std::size_t all = 0;
  for (const Content& content : plan_->receives) all += content.bytes();
  bytes.resize(all);
  std::size_t done = 0;
  for (const Content& content : plan_->receives) {
    if (const int code = content.pack(received_, bytes.data() + done, state_->comm); code != MPI_SUCCESS) return code;
    done += content.bytes();
  }
  return MPI_SUCCESS;
}

int NeighborCheck::write(const std::vector<std::byte>& bytes) const {
  std::size_t done = 0;
  for (const Content& content : plan_->receives) {
    const int code = content.unpack(content.bytes(), bytes.data() + done, received_, state_->comm);
    if (code != MPI_SUCCESS) return code;
    done += content.bytes();
  }
  return MPI_SUCCESS;
}

int NeighborCheck::begin() {
  if (const int code = read(right_); code != MPI_SUCCESS) return code;
  std::vector<std::byte> wrong = right_;
  for (std::byte& byte : wrong) byte = ~byte;
  return write(wrong);
}

int NeighborCheck::end() {
  std::vector<std::byte> found;
  const int code = read(found);
  if (code == MPI_SUCCESS && found == right_) return MPI_SUCCESS;
  if (different_calls++ == 0) {
    std::fprintf(stderr, "rankwise: rank %d: a neighbourhood collective differs from MPI's own: please report it\n",
                 state_->rank);
  }
  return write(right_);
}

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

Handle bits(MPI_Request request) { return bits_of((Handle)request); }

std::mutex guarding;
std::unordered_map<Handle, Shared>& pending = *new std::unordered_map<Handle, Shared>;
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
