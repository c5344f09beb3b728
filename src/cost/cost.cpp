#include "cost/cost.hpp"

#include <algorithm>
#include <utility>

#include "schedule/replay.hpp"

namespace rankwise {

TimeCurve::TimeCurve(std::vector<TimeLine> lines) : lines_(std::move(lines)) {
  if (lines_.empty()) invalid("a time curve needs at least one line");
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    if (lines_[i].from_bytes <= lines_[i - 1].from_bytes) invalid("the lines of a time curve are not in order of size");
  }
}

double TimeCurve::operator()(Index size_bytes) const {
  auto next = std::upper_bound(lines_.begin(), lines_.end(), size_bytes,
                               [](Index size, const TimeLine& line) { return size < line.from_bytes; });
  const TimeLine& line = next == lines_.begin() ? *next : *std::prev(next);
  return line.alpha_s + line.beta_s_per_byte * static_cast<double>(size_bytes);
}

std::string to_string(LinkClass link) {
  static constexpr std::array names{"same-core", "same-socket", "other-socket", "other-node"};
  return names[static_cast<std::size_t>(link)];
}

LinkClass link_between(const Location& a, const Location& b) {
  if (a.node != b.node) return LinkClass::other_node;
  if (a.socket != b.socket) return LinkClass::other_socket;
  return a.core != b.core ? LinkClass::same_socket : LinkClass::same_core;
}

double Cost::time_s() const {
  return finish_s.empty() ? 0.0 : *std::max_element(finish_s.begin(), finish_s.end());
}

namespace {

class TimeVisitor final : public ReplayVisitor {
 public:
  TimeVisitor(SendMode mode, const std::vector<RankSchedule>& schedules, Index block_bytes, const Placement& placement,
              const Machine& machine)
      : finish_s(schedules.size(), 0.0),
        mode_(mode),
        schedules_(schedules),
        block_bytes_(block_bytes),
        placement_(placement),
        machine_(machine),
        partner_ready_s_(schedules.size()),
        posted_s_(schedules.size(), {0.0}) {}

  void matched(const OpRef& send, const OpRef& recv) override {
    // An eager sender may have gone on: what counts is when it posted, which its arrival carries.
    note(recv, posted(send));
    if (mode_ != SendMode::send) note(send, posted(recv));
  }

  void completed(Index rank, std::size_t step) override {
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<Op>& ops = schedules_[r].steps[step].ops;
    const double ready_s = finish_s[r];
    finish_s[r] = ops.size() == 1 ? alone(ops[0], r, ready_s) : together(ops, r, ready_s);
    partner_ready_s_[r].clear();
    posted_s_[r].push_back(finish_s[r]);
  }

  std::vector<double> finish_s;

 private:
  // When the rank of an operation posted it: when it had finished the step before.
  [[nodiscard]] double posted(const OpRef& ref) const { return posted_s_[static_cast<std::size_t>(ref.rank)][ref.step]; }

  void note(const OpRef& ref, double partner_s) {
    auto& noted = partner_ready_s_[static_cast<std::size_t>(ref.rank)];
    if (noted.size() <= ref.op) noted.resize(ref.op + 1, 0.0);
    noted[ref.op] = partner_s;
  }

  [[nodiscard]] double partner_s(std::size_t rank, std::size_t op) const {
    return op < partner_ready_s_[rank].size() ? partner_ready_s_[rank][op] : 0.0;
  }

  [[nodiscard]] double alone(const Op& op, std::size_t rank, double ready_s) const {
    if (op.kind == Op::Kind::copy) return ready_s;  // a copy within a rank is not communication
    const LinkCost& link = link_to(op.peer, rank);
    const Index size_bytes = op.blocks() * block_bytes_;
    switch (mode_) {
      case SendMode::ssend:
        return std::max(ready_s, partner_s(rank, 0)) + link.ssend(size_bytes);
      case SendMode::send: {
        const double share_s = link.exchange_gap(size_bytes);
        if (op.kind == Op::Kind::send) return ready_s + share_s;
        return std::max(partner_s(rank, 0) + link.send(size_bytes), ready_s + share_s);
      }
      case SendMode::isend:
      case SendMode::isend_self:
      case SendMode::persistent:
        break;
    }
    return std::max(ready_s, partner_s(rank, 0)) + link.send(size_bytes);
  }

  [[nodiscard]] double together(const std::vector<Op>& ops, std::size_t rank, double ready_s) const {
    double start_s = ready_s;
    double first_s = 0.0;
    double gaps_sent_s = 0.0;
    double gaps_received_s = 0.0;
    double largest_gap_s = 0.0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      if (op.kind == Op::Kind::copy) continue;
      const LinkCost& link = link_to(op.peer, rank);
      const Index size_bytes = op.blocks() * block_bytes_;
      if (op.kind == Op::Kind::recv) start_s = std::max(start_s, partner_s(rank, i));
      first_s = std::max(first_s, link.exchange(size_bytes));
      const double gap_s = link.exchange_gap(size_bytes);
      largest_gap_s = std::max(largest_gap_s, gap_s);
      (op.kind == Op::Kind::send ? gaps_sent_s : gaps_received_s) += gap_s;
    }
    // The first message of the busier direction is in first_s already.
    return start_s + first_s + std::max(0.0, std::max(gaps_sent_s, gaps_received_s) - largest_gap_s);
  }

  [[nodiscard]] const LinkCost& link_to(Index peer, std::size_t rank) const {
    const LinkClass link = link_between(placement_[rank], placement_[static_cast<std::size_t>(peer)]);
    const std::optional<LinkCost>& cost = machine_.links[static_cast<std::size_t>(link)];
    if (!cost) {
      invalid("the profile has no link class " + to_string(link) + ", which ranks " + std::to_string(rank) + " and " +
              std::to_string(peer) + " need: measure or import it");
    }
    return *cost;
  }

  SendMode mode_;
  const std::vector<RankSchedule>& schedules_;
  Index block_bytes_;
  const Placement& placement_;
  const Machine& machine_;
  std::vector<std::vector<double>> partner_ready_s_;  // of the operations of a rank's current step
  std::vector<std::vector<double>> posted_s_;         // when a rank posted each of its steps so far
};

}  // namespace

Cost walk(const ExchangeSpec& spec, const std::vector<RankSchedule>& schedules, Index block_bytes,
          const Placement& placement, const Machine& machine) {
  if (placement.size() != schedules.size()) {
    invalid("the placement has " + std::to_string(placement.size()) + " ranks, the schedule " +
            std::to_string(schedules.size()) + ": give one location a rank");
  }
  if (block_bytes < 0) invalid("block size " + std::to_string(block_bytes) + " B is negative: give at least 0");
  TimeVisitor visitor(spec.mode, schedules, block_bytes, placement, machine);
  Replay replay(schedules, visitor, spec.mode == SendMode::send);
  if (const std::vector<Waiting> waiting = replay.run(); !waiting.empty()) {
    invalid("the schedule cannot finish: rank " + std::to_string(waiting.front().rank) + " waits for rank " +
            std::to_string(waiting.front().peer) + " for ever");
  }
  Cost cost;
  for (const RankSchedule& schedule : schedules) {
    cost.messages_per_rank = std::max(cost.messages_per_rank, schedule.messages_sent());
    cost.blocks_per_rank = std::max(cost.blocks_per_rank, schedule.blocks_sent());
  }
  cost.finish_s = std::move(visitor.finish_s);
  return cost;
}

}  // namespace rankwise
