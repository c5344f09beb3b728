#include "exchange/executor.hpp"

#include <climits>
#include <cstring>

namespace rankwise {

Executor::Executor(MPI_Comm comm, const RankSchedule& schedule, SendMode mode, std::size_t block_bytes,
                   std::byte* window)
    : comm_(comm), mode_(mode), block_bytes_(block_bytes), window_(window) {
  for (const Step& step : schedule.steps) {
    Stage stage;
    for (const Op& op : step.ops) {
      if (op.kind == Op::Kind::copy) {
        prepare_copies(op, stage.copies);
      } else {
        stage.transfers.push_back(prepare(op));
      }
    }
    requests_.resize(std::max(requests_.size(), stage.transfers.size()));
    stages_.push_back(std::move(stage));
  }
}

Executor::~Executor() {
  for (Stage& stage : stages_) {
    for (Transfer& transfer : stage.transfers) {
      if (transfer.owns_type) MPI_Type_free(&transfer.type);
    }
  }
}

Executor::Transfer Executor::prepare(const Op& op) const {
  const auto bytes = static_cast<std::size_t>(op.blocks()) * block_bytes_;
  if (bytes > INT_MAX) invalid("a message of " + std::to_string(bytes) + " B is too large: keep it below 2 GiB");
  Transfer transfer{op.kind, static_cast<int>(op.peer), op.tag, window_, static_cast<int>(bytes), MPI_BYTE, false};
  if (op.slots.size() == 1) {
    transfer.data += static_cast<std::size_t>(op.slots.front().first) * block_bytes_;
    return transfer;
  }
  std::vector<int> lengths;
  std::vector<MPI_Aint> displacements;
  for (const SlotRange& range : op.slots) {
    lengths.push_back(static_cast<int>(static_cast<std::size_t>(range.count) * block_bytes_));
    displacements.push_back(static_cast<MPI_Aint>(range.first) * static_cast<MPI_Aint>(block_bytes_));
  }
  transfer.count = 1;
  transfer.owns_type = true;
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), MPI_BYTE,
                           &transfer.type);
  MPI_Type_commit(&transfer.type);
  return transfer;
}

void Executor::prepare_copies(const Op& op, std::vector<Copy>& copies) const {
  // Source and target are the same box of slots moved as a whole: their ranges pair up.
  for (std::size_t i = 0; i < op.slots.size(); ++i) {
    copies.push_back({window_ + static_cast<std::size_t>(op.source[i].first) * block_bytes_,
                      window_ + static_cast<std::size_t>(op.slots[i].first) * block_bytes_,
                      static_cast<std::size_t>(op.slots[i].count) * block_bytes_});
  }
}

void Executor::run() {
  for (const Stage& stage : stages_) {
    for (const Copy& copy : stage.copies) std::memcpy(copy.to, copy.from, copy.bytes);
    if (mode_ != SendMode::isend && stage.transfers.size() == 1) {
      run_blocking(stage.transfers.front());
    } else {
      run_together(stage.transfers);
    }
  }
}

void Executor::run_blocking(const Transfer& t) const {
  if (t.kind == Op::Kind::recv) {
    MPI_Recv(t.data, t.count, t.type, t.peer, t.tag, comm_, MPI_STATUS_IGNORE);
  } else if (mode_ == SendMode::ssend) {
    MPI_Ssend(t.data, t.count, t.type, t.peer, t.tag, comm_);
  } else {
    MPI_Send(t.data, t.count, t.type, t.peer, t.tag, comm_);
  }
}

void Executor::run_together(const std::vector<Transfer>& transfers) {
  // Receives first: a message that arrives before its receive is posted costs a copy.
  std::size_t posted = 0;
  for (const Transfer& t : transfers) {
    if (t.kind != Op::Kind::recv) continue;
    MPI_Irecv(t.data, t.count, t.type, t.peer, t.tag, comm_, &requests_[posted++]);
  }
  for (const Transfer& t : transfers) {
    if (t.kind != Op::Kind::send) continue;
    if (mode_ == SendMode::ssend) {
      MPI_Issend(t.data, t.count, t.type, t.peer, t.tag, comm_, &requests_[posted++]);
    } else {
      MPI_Isend(t.data, t.count, t.type, t.peer, t.tag, comm_, &requests_[posted++]);
    }
  }
  MPI_Waitall(static_cast<int>(posted), requests_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace rankwise
