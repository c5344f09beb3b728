#include "preload/neighbor_exchange.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace rankwise::preload
