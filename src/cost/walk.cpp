#include <algorithm>
#include <utility>

#include "cost/cost.hpp"

namespace rankwise {

double Cost::time_s() const {
  return finish_s.empty() ? 0.0 : *std::max_element(finish_s.begin(), finish_s.end());
}

Walk::Walk(const ExchangeSpec& spec) : mode_(spec.mode) {
  constexpr Index most_slots = 200'000'000;
  if (spec.window.slots() > most_slots / spec.ranks()) {
    invalid("the windows of all ranks have more than 200 million slots, which are too many to walk: make the cutoff or "
            "the grid smaller");
  }
  add({make_schedules(spec), {}});
  if (includes_reduce(spec)) add({make_reduces(spec), {}});
}

Walk::Walk(SendMode mode, std::vector<RankSchedule> schedules) : mode_(mode) { add({std::move(schedules), {}}); }

Walk::Walk(SendMode mode, std::vector<LinkedSchedules> parts) : mode_(mode) {
  for (LinkedSchedules& part : parts) add(std::move(part));
}

void Walk::add(LinkedSchedules linked) {
  Part part{std::move(linked.schedules), {}, {}, {}, {}, {}, {}};
  part.trace = replay(part.schedules, mode_ == SendMode::send);
  if (!part.trace.waiting.empty()) {
    invalid("the schedule cannot finish: rank " + std::to_string(part.trace.waiting.front().rank) +
            " waits for rank " + std::to_string(part.trace.waiting.front().peer) + " for ever");
  }
  if (mode_ == SendMode::send) {
    part.rendezvous = replay(part.schedules, false);
    if (!part.rendezvous.waiting.empty()) part.rendezvous.events.clear();
  }
  ranks_ = part.schedules.size();
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    part.first_step.push_back(part.steps.size());
    const std::vector<Step>& steps = part.schedules[rank].steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      describe(steps[i], i + 1 < steps.size() ? &steps[i + 1] : nullptr, rank, linked.links, part);
    }
  }
  part.steps.push_back(static_cast<Trace::Id>(part.transfers.size()));
  Index messages = 0;
  Index blocks = 0;
  for (const RankSchedule& schedule : part.schedules) {
    messages = std::max(messages, schedule.messages_sent());
    blocks = std::max(blocks, schedule.blocks_sent());
  }
  messages_per_rank_ += messages;
  blocks_per_rank_ += blocks;
  parts_.push_back(std::move(part));
}

void Walk::describe(const Step& step, const Step* next, std::size_t rank, const std::vector<LinkClass>& links,
                    Part& part) {
  const auto moves = [](const Op& op) { return op.kind == Op::Kind::send || op.kind == Op::Kind::recv; };
  const auto is_root = [](const Op& op) { return op.kind == Op::Kind::send && op.after.empty(); };
  const auto messages = std::count_if(step.ops.begin(), step.ops.end(), moves);
  const auto chains = std::count_if(step.ops.begin(), step.ops.end(), is_root);
  const bool ordered = std::any_of(step.ops.begin(), step.ops.end(), [](const Op& op) { return !op.after.empty(); });
  const auto receives = [](const Op& op) { return op.kind == Op::Kind::recv; };
  const bool receives_next = messages == 1 && next != nullptr && !next->ops.empty() &&
                             std::all_of(next->ops.begin(), next->ops.end(), receives);
  const auto first = static_cast<Trace::Id>(part.transfers.size());
  part.steps.push_back(first);
  for (const Op& op : step.ops) {
    const Index blocks = moves(op) ? op.blocks() : 0;
    const auto known = std::find(sizes_.begin(), sizes_.end(), blocks);
    Transfer transfer;
    transfer.rank = static_cast<std::uint32_t>(rank);
    transfer.peer = static_cast<std::uint32_t>(op.peer);
    transfer.size = static_cast<std::uint32_t>(known - sizes_.begin());
    transfer.chains = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(1, chains));
    transfer.first_after = static_cast<std::uint32_t>(part.after.size());
    transfer.after = static_cast<std::uint32_t>(op.after.size());
    transfer.sends = op.kind == Op::Kind::send;
    transfer.moves = moves(op);
    transfer.together = messages > 1 && !ordered && !is_blocking(mode_);
    transfer.expected = messages > 1 && op.kind == Op::Kind::recv && op.after.empty();
    transfer.answered = transfer.sends && receives_next;
    if (!links.empty()) transfer.link = links.at(part.transfers.size());
    if (known == sizes_.end()) sizes_.push_back(blocks);
    for (const std::size_t before : op.after) part.after.push_back(first + static_cast<Trace::Id>(before));
    part.transfers.push_back(transfer);
  }
}

// What messages of the sizes of a walk cost over each class of link, each looked up when first needed.
class Prices {
 public:
  struct Price {
    bool known = false;
    double send_s = 0.0;
    double ssend_s = 0.0;
    double exchange_s = 0.0;
    double gap_s = 0.0;
    double overhead_s = 0.0;
    double acknowledgement_s = 0.0;
  };

  // placement: null where the transfers know their links.
  Prices(const std::vector<Index>& sizes, Index block_bytes, const Placement* placement, const Machine& machine)
      : sizes_(sizes), block_bytes_(block_bytes), placement_(placement), machine_(machine) {
    for (std::vector<Price>& prices : prices_) prices.resize(sizes.size());
  }

  const Price& of(std::size_t rank, std::size_t peer, std::size_t size, std::optional<LinkClass> known) {
    const LinkClass link = known ? *known : link_between((*placement_)[rank], (*placement_)[peer]);
    Price& price = prices_[static_cast<std::size_t>(link)][size];
    if (!price.known) {
      if (!machine_.links[static_cast<std::size_t>(link)]) {
        refuse(link, known ? "messages between neighbours"
                           : "ranks " + std::to_string(rank) + " and " + std::to_string(peer));
      }
      look_up(*machine_.links[static_cast<std::size_t>(link)], size, price);
    }
    return price;
  }

 private:
  [[noreturn]] static void refuse(LinkClass link, const std::string& who) {
    invalid("the profile has no link class " + to_string(link) + ", which " + who + " need: measure or import it");
  }

  void look_up(const LinkCost& cost, std::size_t size, Price& price) const {
    const Index bytes = sizes_[size] * block_bytes_;
    price = {true, cost.send(bytes), cost.ssend(bytes), cost.exchange(bytes), cost.exchange_gap(bytes),
             cost.overhead(), cost.acknowledgement_s.value_or(0.0)};
  }

  const std::vector<Index>& sizes_;
  Index block_bytes_;
  const Placement* placement_;
  const Machine& machine_;
  std::array<std::vector<Price>, link_class_count> prices_;
};

// The clocks of all ranks while the trace of one part is followed.
class Clock {
 public:
  // sends_wait: plain sends wait for their receivers.
  Clock(SendMode mode, bool sends_wait, const Walk::Part& part, Prices& prices, std::vector<double>& ready_s)
      : mode_(sends_wait && !part.rendezvous.events.empty() ? SendMode::ssend : mode),
        trace_(mode_ == mode ? part.trace : part.rendezvous),
        part_(part),
        prices_(prices),
        ready_s_(ready_s),
        posted_s_(part.transfers.size(), 0.0),
        done_s_(part.transfers.size(), 0.0),
        hop_(mode == SendMode::isend_self ? part.transfers.size() : 0, 0),
        arrived_s_(ready_s) {}

  void run() {
    for (const Trace::Event& event : trace_.events) {
      if (event.kind == Trace::Kind::posted) {
        post(event.a);
      } else if (event.kind == Trace::Kind::matched) {
        match(event.a, event.b);
      } else {
        const std::size_t step = part_.first_step[event.a] + event.b;
        complete(event.a, part_.steps[step], part_.steps[step + 1]);
      }
    }
  }

 private:
  using Id = Trace::Id;

  const Prices::Price& price(Id id) {
    const Walk::Transfer& transfer = part_.transfers[id];
    return prices_.of(transfer.rank, transfer.peer, transfer.size, transfer.link);
  }

  void post(Id id) {
    const Walk::Transfer& transfer = part_.transfers[id];
    double start_s = ready_s_[transfer.rank];
    for (std::size_t i = transfer.first_after; i < transfer.first_after + transfer.after; ++i) {
      const Id other = part_.after[i];
      start_s = std::max(start_s, done_s_[other]);
      if (!hop_.empty() && !part_.transfers[other].sends) hop_[id] = std::max(hop_[id], hop_[other] + 1);
    }
    posted_s_[id] = start_s;
    done_s_[id] = start_s;
    if (mode_ == SendMode::send && transfer.moves && transfer.sends) done_s_[id] += price(id).gap_s;
  }

  void match(Id send, Id recv) {
    if (part_.transfers[recv].together) {
      done_s_[recv] = posted_s_[send];  // what counts for the step is when the sender was there
    } else {
      const Prices::Price& cost = price(recv);
      const double both_s = std::max(posted_s_[send], posted_s_[recv]);
      switch (mode_) {
        case SendMode::ssend:
          done_s_[recv] = both_s + cost.ssend_s;
          break;
        case SendMode::send:
          done_s_[recv] = std::max(posted_s_[send] + (part_.transfers[recv].expected ? cost.exchange_s : cost.send_s),
                                   posted_s_[recv] + cost.gap_s);
          break;
        case SendMode::isend_self: {
          hop_[recv] = hop_[send];
          const double all_s =
              cost.exchange_s + static_cast<double>(part_.transfers[recv].chains - 1) * cost.gap_s;
          done_s_[recv] =
              both_s + (hop_[recv] < 2 ? all_s : std::max(cost.exchange_s, all_s - 2 * cost.overhead_s));
          break;
        }
        case SendMode::isend:
        case SendMode::persistent:
          done_s_[recv] = both_s + cost.send_s;
          break;
      }
    }
    const bool waits = mode_ == SendMode::ssend || (mode_ != SendMode::send && mode_ != SendMode::isend_self);
    if (waits && !part_.transfers[send].together) {
      const double both_s = std::max(posted_s_[send], posted_s_[recv]);
      const Prices::Price& cost = price(send);
      done_s_[send] = both_s + (mode_ == SendMode::ssend ? cost.ssend_s : cost.send_s);
      if (mode_ == SendMode::ssend && !part_.transfers[send].answered) done_s_[send] += cost.acknowledgement_s;
    }
  }

  void complete(Id rank, Id first, Id end) {
    double& ready_s = ready_s_[rank];
    if (end > first && part_.transfers[first].together) {
      ready_s = together(rank, first, end);
    } else {
      if (mode_ == SendMode::send) space_arrivals(rank, first, end);
      for (Id i = first; i < end; ++i) ready_s = std::max(ready_s, done_s_[i]);
    }
  }

  // Moves the arrivals of a step apart, in the order in which they come.
  void space_arrivals(Id rank, Id first, Id end) {
    arrivals_.clear();
    for (Id id = first; id < end; ++id) {
      if (part_.transfers[id].moves && !part_.transfers[id].sends) arrivals_.push_back(id);
    }
    std::sort(arrivals_.begin(), arrivals_.end(), [this](Id a, Id b) { return done_s_[a] < done_s_[b]; });
    double& last_s = arrived_s_[rank];
    for (const Id id : arrivals_) last_s = done_s_[id] = std::max(done_s_[id], last_s + price(id).gap_s);
  }

  double together(Id rank, Id first, Id end) {
    double start_s = ready_s_[rank];
    double first_s = 0.0;
    double gaps_sent_s = 0.0;
    double gaps_received_s = 0.0;
    double largest_gap_s = 0.0;
    double busy_s = 0.0;
    for (Id id = first; id < end; ++id) {
      const Walk::Transfer& transfer = part_.transfers[id];
      if (!transfer.moves) continue;
      const Prices::Price& cost = price(id);
      if (!transfer.sends) start_s = std::max(start_s, done_s_[id]);
      first_s = std::max(first_s, cost.exchange_s);
      largest_gap_s = std::max(largest_gap_s, cost.gap_s);
      busy_s += cost.overhead_s;
      (transfer.sends ? gaps_sent_s : gaps_received_s) += cost.gap_s;
    }
    // The first message of the busier direction is in first_s already.
    const double wire_s = first_s + std::max(0.0, std::max(gaps_sent_s, gaps_received_s) - largest_gap_s);
    return start_s + std::max(wire_s, busy_s);
  }

  SendMode mode_;
  const Trace& trace_;
  const Walk::Part& part_;
  Prices& prices_;
  std::vector<double>& ready_s_;      // of each rank: when it completed its last step
  std::vector<double> posted_s_;      // of each operation
  std::vector<double> done_s_;        // likewise; of a receive in a step together, when its sender posted
  std::vector<std::size_t> hop_;      // isend-self: how many hops of this step lie behind a message
  std::vector<double> arrived_s_;     // send: of each rank, when the last message so far arrived
  std::vector<Id> arrivals_;          // of one step
};

Cost Walk::cost(Index block_bytes, const Placement& placement, const Machine& machine) const {
  if (placement.size() != ranks_) {
    invalid("the placement has " + std::to_string(placement.size()) + " ranks, the schedule " +
            std::to_string(ranks_) + ": give one location a rank");
  }
  return follow(block_bytes, &placement, machine);
}

Cost Walk::cost(Index block_bytes, const Machine& machine) const { return follow(block_bytes, nullptr, machine); }

bool Walk::sends_wait(Index block_bytes, const Machine& machine) const {
  Index limit = 0;
  for (const std::optional<LinkCost>& link : machine.links) {
    if (!link) continue;
    if (!link->rendezvous_from_bytes) return false;
    limit = std::max(limit, *link->rendezvous_from_bytes);
  }
  return std::all_of(sizes_.begin(), sizes_.end(),
                     [&](Index blocks) { return blocks == 0 || blocks * block_bytes >= limit; });
}

Cost Walk::follow(Index block_bytes, const Placement* placement, const Machine& machine) const {
  if (block_bytes < 0) invalid("block size " + std::to_string(block_bytes) + " B is negative: give at least 0");
  constexpr Index limit = Index{1} << 62;
  for (const Index blocks : sizes_) {
    if (blocks > 0 && block_bytes > limit / blocks) {
      invalid("messages of " + std::to_string(blocks) + " blocks of " + std::to_string(block_bytes) +
              " B are too large: make the blocks smaller");
    }
  }
  Prices prices(sizes_, block_bytes, placement, machine);
  Cost cost;
  cost.finish_s.assign(ranks_, 0.0);
  const bool waits = mode_ == SendMode::send && sends_wait(block_bytes, machine);
  for (const Part& part : parts_) Clock(mode_, waits, part, prices, cost.finish_s).run();
  cost.messages_per_rank = messages_per_rank_;
  cost.blocks_per_rank = blocks_per_rank_;
  return cost;
}

}  // namespace rankwise
