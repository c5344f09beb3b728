#include "exchange/executor.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "exchange/neighborhood.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

int place_in_order(Op::Kind kind) { return kind == Op::Kind::recv ? 0 : kind == Op::Kind::send ? 1 : 2; }

}  // namespace

Executor::Executor(MPI_Comm comm, const RankSchedule& schedule, SendMode mode, std::span<const SlotBuffer> slots,
                   Callbacks callbacks)
    : comm_(comm),
      schedule_(schedule),
      mode_(mode),
      adds_(schedule.adds()),
      slots_(slots.begin(), slots.end()),
      callbacks_(std::move(callbacks)) {
  bind();
}

void Executor::rebind(std::span<const SlotBuffer> slots) {
  release();
  slots_.assign(slots.begin(), slots.end());
  bind();
}

void Executor::bind() {
  if (static_cast<Index>(slots_.size()) != schedule_.slots) {
    invalid("the schedule has " + std::to_string(schedule_.slots) + " slots but " + std::to_string(slots_.size()) +
            " buffers are given: give one a slot");
  }
  empty_.assign(slots_.size(), false);
  std::fill(empty_.end() - schedule_.passing, empty_.end(), true);
  // Where MPI lacks the collective, its step is carried out as the messages that it consists of.
  const bool is_collective = schedule_.neighborhood && has_neighborhood_collectives;
  for (const Step& step : schedule_.steps) {
    if (step.ops.empty()) continue;
    Stage& stage = stages_.emplace_back();
    // Receives are posted first: a message that arrives before its receive costs a copy. What is no message comes last,
    // so that MPI sees no gaps among the requests, which cost it time.
    std::vector<std::size_t> order(step.ops.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&step](std::size_t a, std::size_t b) {
      return place_in_order(step.ops[a].kind) < place_in_order(step.ops[b].kind);
    });
    std::vector<std::size_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    for (const std::size_t i : order) stage.actions.push_back(prepare(step.ops[i]));
    for (std::size_t i = 0; i < order.size(); ++i) {
      stage.actions[i].waits_for = step.ops[order[i]].after.size();
      for (const std::size_t before : step.ops[order[i]].after) {
        stage.actions[position[before]].releases.push_back(i);
        stage.ordered = true;
      }
    }
    const auto messages = std::ranges::count_if(step.ops, &Op::moves);
    stage.requests.assign(static_cast<std::size_t>(messages), MPI_REQUEST_NULL);
    stage.waits_for.resize(stage.actions.size());
    if (mode_ != SendMode::persistent || is_collective) continue;
    for (std::size_t i = 0; i < stage.requests.size(); ++i) prepare_persistent(stage, i);
  }
  if (is_collective) prepare_neighborhood();
}

Executor::~Executor() { release(); }

void Executor::release() {
  for (Stage& stage : stages_) {
    if (mode_ == SendMode::persistent) {
      for (MPI_Request& request : stage.requests) {
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
      }
    }
    for (Action& action : stage.actions) {
      if (action.owns_type) MPI_Type_free(&action.type);
    }
  }
  stages_.clear();
  scratch_.clear();
  out_ = {};
  in_ = {};
}

std::vector<Executor::Stretch> Executor::stretches(const Op& op) {
  std::vector<Stretch> joined;
  each_slot(op.slots, [&](Index slot) {
    const SlotBuffer& buffer = slots_[static_cast<std::size_t>(slot)];
    if (buffer.bytes == 0) return;
    bool is_first = false;
    if (op.adds && op.kind == Op::Kind::recv) {
      is_first = empty_[static_cast<std::size_t>(slot)];
      empty_[static_cast<std::size_t>(slot)] = false;
    }
    if (!joined.empty() && joined.back().data + joined.back().bytes == buffer.data && joined.back().is_first == is_first) {
      joined.back().bytes += buffer.bytes;
    } else {
      joined.push_back({buffer.data, buffer.bytes, is_first});
    }
  });
  return joined;
}

Executor::Action Executor::prepare(const Op& op) {
  Action action;
  action.op = &op;
  if (op.kind == Op::Kind::visit) return action;
  if (op.kind == Op::Kind::copy) {
    prepare_copies(op, action);
    return action;
  }
  action.stretches = stretches(op);
  std::size_t bytes = 0;
  for (const Stretch& stretch : action.stretches) bytes += stretch.bytes;
  if (bytes > INT_MAX) invalid("a message of " + std::to_string(bytes) + " B is too large: keep it below 2 GiB");
  action.count = static_cast<int>(bytes);
  if (op.adds && op.kind == Op::Kind::recv) {
    action.data = scratch_.emplace_back(bytes).data();
  } else if (action.stretches.size() == 1) {
    action.data = action.stretches.front().data;
  } else if (!action.stretches.empty()) {
    action.data = action.stretches.front().data;
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements;
    MPI_Aint base = 0;
    mpi(MPI_Get_address(action.data, &base));
    for (const Stretch& stretch : action.stretches) {
      MPI_Aint address = 0;
      mpi(MPI_Get_address(stretch.data, &address));
      lengths.push_back(static_cast<int>(stretch.bytes));
      displacements.push_back(MPI_Aint_diff(address, base));
    }
    action.count = 1;
    mpi(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), MPI_BYTE,
                                 &action.type));
    action.owns_type = true;
    mpi(MPI_Type_commit(&action.type));
  }
  return action;
}

void Executor::prepare_copies(const Op& op, Action& action) const {
  // Block by block: the two sides need not be cut into the same stretches.
  const auto each_block = [this](const std::vector<SlotRange>& ranges) {
    std::vector<Stretch> blocks;
    each_slot(ranges, [&](Index slot) {
      const SlotBuffer& buffer = slots_[static_cast<std::size_t>(slot)];
      blocks.push_back({buffer.data, buffer.bytes});
    });
    return blocks;
  };
  action.stretches = each_block(op.slots);
  action.source = each_block(op.source);
}

void Executor::prepare_persistent(Stage& stage, std::size_t i) const {
  const Action& a = stage.actions[i];
  const int peer = static_cast<int>(a.op->peer);
  if (a.op->kind == Op::Kind::recv) {
    mpi(MPI_Recv_init(a.data, a.count, a.type, peer, a.op->tag, comm_, &stage.requests[i]));
  } else if (a.op->kind == Op::Kind::send) {
    mpi(MPI_Send_init(a.data, a.count, a.type, peer, a.op->tag, comm_, &stage.requests[i]));
  }
}

void Executor::prepare_neighborhood() {
  // Collective: a rank without partners takes part all the same. Displacements count from address 0 (MPI_BOTTOM).
  std::vector<int> sources;
  std::vector<int> destinations;
  for (const Stage& stage : stages_) {
    for (const Action& action : stage.actions) {
      const bool sends = action.op->kind == Op::Kind::send;
      if (!sends && action.op->kind != Op::Kind::recv) continue;
      (sends ? destinations : sources).push_back(static_cast<int>(action.op->peer));
      Sides& sides = sends ? out_ : in_;
      MPI_Aint address = 0;
      if (action.data != nullptr) mpi(MPI_Get_address(action.data, &address));
      sides.counts.push_back(action.count);
      sides.displacements.push_back(address);
      sides.types.push_back(action.type);
    }
  }
  if (neighborhood_) return;  // the partners are those of the schedule, whatever the slots
  mpi(MPI_Dist_graph_create_adjacent(comm_, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                     static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                     0, &neighborhood_));
}

void Executor::start() {
  if (neighborhood_) {
    mpi(MPI_Ineighbor_alltoallw(MPI_BOTTOM, out_.counts.data(), out_.displacements.data(), out_.types.data(), MPI_BOTTOM,
                                in_.counts.data(), in_.displacements.data(), in_.types.data(), neighborhood_.get(),
                                &collective_));
  } else if (!is_blocking(mode_) && !stages_.empty()) {
    begin(stages_.front());
  }
}

void Executor::wait() {
  if (neighborhood_) {
    wait_all(1, &collective_);
    for (const Stage& stage : stages_) {
      for (const Action& action : stage.actions) run_local(action);
    }
    return;
  }
  bool begun = !is_blocking(mode_);
  for (Stage& stage : stages_) {
    if (is_blocking(mode_) && stage.actions.size() == 1) {
      run_single(stage.actions.front());
      continue;
    }
    if (!begun) begin(stage);
    begun = false;
    finish(stage);
  }
}

bool Executor::test() {
  Stage& stage = stages_.front();
  int done = 0;
  mpi(MPI_Testall(static_cast<int>(stage.requests.size()), stage.requests.data(), &done, MPI_STATUSES_IGNORE));
  if (done == 0) return false;
  for (const Action& action : stage.actions) run_local(action);
  return true;
}

void Executor::run_single(const Action& a) {
  const int peer = static_cast<int>(a.op->peer);
  if (a.op->kind == Op::Kind::recv) {
    mpi(MPI_Recv(a.data, a.count, a.type, peer, a.op->tag, comm_, MPI_STATUS_IGNORE));
  } else if (a.op->kind == Op::Kind::send) {
    send_blocking(a);
  }
  run_local(a);
}

void Executor::send_blocking(const Action& a) const {
  const int peer = static_cast<int>(a.op->peer);
  if (mode_ == SendMode::ssend) {
    mpi(MPI_Ssend(a.data, a.count, a.type, peer, a.op->tag, comm_));
  } else {
    mpi(MPI_Send(a.data, a.count, a.type, peer, a.op->tag, comm_));
  }
}

// The part of an action that is not MPI's.
void Executor::run_local(const Action& action) {
  switch (action.op->kind) {
    case Op::Kind::send: break;
    case Op::Kind::recv: {
      if (!action.op->adds) break;
      const std::byte* from = action.data;
      for (const Stretch& into : action.stretches) {
        if (into.is_first) {
          std::memcpy(into.data, from, into.bytes);
        } else {
          callbacks_.add(into.data, from, into.bytes);
        }
        from += into.bytes;
      }
      break;
    }
    case Op::Kind::copy:
      for (std::size_t i = 0; i < action.stretches.size(); ++i) {
        const Stretch& into = action.stretches[i];
        if (into.bytes == 0) continue;
        if (action.op->adds) {
          callbacks_.add(into.data, action.source[i].data, into.bytes);
        } else {
          std::memcpy(into.data, action.source[i].data, into.bytes);
        }
      }
      break;
    case Op::Kind::compute:  // of observed programs, which their own kernel carries out
      break;
    case Op::Kind::visit:
      if (callbacks_.visit) callbacks_.visit(*action.op);
      break;
  }
}

void Executor::post(Stage& stage, std::size_t i) {
  const Action& a = stage.actions[i];
  const int peer = static_cast<int>(a.op->peer);
  if (mode_ == SendMode::persistent) {
    mpi(MPI_Start(&stage.requests[i]));
  } else if (a.op->kind == Op::Kind::recv) {
    mpi(MPI_Irecv(a.data, a.count, a.type, peer, a.op->tag, comm_, &stage.requests[i]));
  } else if (is_blocking(mode_)) {
    send_blocking(a);
  } else {
    mpi(MPI_Isend(a.data, a.count, a.type, peer, a.op->tag, comm_, &stage.requests[i]));
  }
}

// Posts all receives and every send that needs not wait for another action.
void Executor::begin(Stage& stage) {
  if (stage.ordered) {
    for (std::size_t i = 0; i < stage.actions.size(); ++i) stage.waits_for[i] = stage.actions[i].waits_for;
  }
  for (std::size_t i = 0; i < stage.requests.size(); ++i) {
    if (stage.actions[i].waits_for == 0) post(stage, i);
  }
}

void Executor::finish(Stage& stage) {
  if (stage.ordered) {
    finish_in_order(stage);
    return;
  }
  // Visits and copies take place while the messages are under way; what has arrived is added when all has, in the
  // order of the step, so that sums come out the same every time.
  for (std::size_t i = stage.requests.size(); i < stage.actions.size(); ++i) {
    const Action& action = stage.actions[i];
    if (!action.op->adds) run_local(action);
  }
  wait_all(static_cast<int>(stage.requests.size()), stage.requests.data());
  if (!adds_) return;
  for (const Action& action : stage.actions) {
    if (action.op->adds) run_local(action);
  }
}

void Executor::finish_in_order(Stage& stage) {
  std::size_t left = stage.actions.size();
  std::vector<std::size_t> done;
  const auto is_local = [&](std::size_t i) { return !stage.actions[i].op->moves(); };
  // Blocking sends and local actions are done when they return; the rest when their request is.
  const auto done_at_once = [&](std::size_t i) {
    return is_local(i) || (is_blocking(mode_) && stage.actions[i].op->kind == Op::Kind::send);
  };
  // What nobody waits for is added at the end, in the order of the step, so that sums come out the same every time.
  const auto is_last = [&](const Action& action) { return action.op->adds && action.releases.empty(); };
  for (std::size_t i = 0; i < stage.actions.size(); ++i) {
    if (stage.waits_for[i] == 0 && done_at_once(i)) done.push_back(i);
  }
  while (left > 0) {
    while (!done.empty()) {
      const std::size_t i = done.back();
      done.pop_back();
      if (!is_last(stage.actions[i])) run_local(stage.actions[i]);
      --left;
      for (const std::size_t next : stage.actions[i].releases) {
        if (--stage.waits_for[next] > 0) continue;
        if (!is_local(next)) post(stage, next);
        if (done_at_once(next)) done.push_back(next);
      }
    }
    if (left == 0) break;
    int index = MPI_UNDEFINED;
    mpi(MPI_Waitany(static_cast<int>(stage.requests.size()), stage.requests.data(), &index, MPI_STATUS_IGNORE));
    if (index == MPI_UNDEFINED) throw std::logic_error("an operation of the schedule waits for nothing");
    done.push_back(static_cast<std::size_t>(index));
  }
  for (const Action& action : stage.actions) {
    if (is_last(action)) run_local(action);
  }
}

SlotStorage::SlotStorage(const RankSchedule& schedule, std::span<const std::size_t> bytes_per_slot)
    : slots_(bytes_per_slot.size()) {
  std::vector<std::size_t> size(static_cast<std::size_t>(schedule.places()), 0);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    std::size_t& largest = size[static_cast<std::size_t>(schedule.place_of(static_cast<Index>(slot)))];
    largest = std::max(largest, bytes_per_slot[slot]);
  }
  std::vector<std::size_t> start(size.size() + 1, 0);
  for (std::size_t i = 0; i < size.size(); ++i) start[i + 1] = start[i] + size[i];
  memory_.resize(start.back());
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto place = static_cast<std::size_t>(schedule.place_of(static_cast<Index>(slot)));
    slots_[slot] = {memory_.data() + start[place], bytes_per_slot[slot]};
  }
}

std::vector<std::size_t> exchange_sizes(MPI_Comm comm, const ExchangeSpec& spec, std::size_t own_bytes) {
  const int rank = rank_of(comm);
  RankSchedule schedule = make_schedule(spec, rank);
  schedule.place.clear();  // every size is kept
  std::vector<std::size_t> sizes(static_cast<std::size_t>(schedule.slots), 0);
  std::vector<SlotBuffer> slots;
  for (std::size_t& size : sizes) slots.push_back({reinterpret_cast<std::byte*>(&size), sizeof size});
  if (const Index own = own_slot(spec, rank); own >= 0) sizes[static_cast<std::size_t>(own)] = own_bytes;
  Executor(comm, schedule, spec.mode, slots).run();
  return sizes;
}

}  // namespace rankwise
