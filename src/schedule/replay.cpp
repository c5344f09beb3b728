#include "schedule/check.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace rankwise {

namespace {

using Id = Trace::Id;

constexpr Id none = std::numeric_limits<Id>::max();

// The posted operations of one sender, receiver and tag that have no partner yet: all sends or all receives, in order.
struct Channel {
  Index from = -1;
  Index to = -1;
  int tag = 0;
  Id first = none;
  Id last = none;
  bool sends = false;
};

// The channels of so many operations at most: a table with open addressing.
class Channels {
 public:
  explicit Channels(std::size_t operations) : channels_(std::bit_ceil(operations + operations / 2 + 1)) {}

  Channel& of(Index from, Index to, int tag) {
    std::uint64_t at = (static_cast<std::uint64_t>(from) * 0x9E3779B97F4A7C15ULL) ^
                       (static_cast<std::uint64_t>(to) * 0xC2B2AE3D27D4EB4FULL) ^
                       (static_cast<std::uint64_t>(tag) * 0x165667B19E3779F9ULL);
    at ^= at >> 29;
    while (true) {
      Channel& channel = channels_[at & (channels_.size() - 1)];
      if (channel.from == from && channel.to == to && channel.tag == tag) return channel;
      if (channel.from < 0) {
        channel.from = from;
        channel.to = to;
        channel.tag = tag;
        return channel;
      }
      ++at;
    }
  }

 private:
  std::vector<Channel> channels_;
};

std::size_t operations_of(const std::vector<RankSchedule>& schedules) {
  std::size_t count = 0;
  for (const RankSchedule& schedule : schedules) {
    for (const Step& step : schedule.steps) count += step.ops.size();
  }
  return count;
}

class Replayer {
 public:
  Replayer(const std::vector<RankSchedule>& schedules, bool eager)
      : schedules_(schedules),
        eager_(eager),
        step_(schedules.size(), 0),
        outstanding_(schedules.size(), 0),
        channels_(operations_of(schedules)) {
    const std::size_t count = operations_of(schedules);
    if (count >= std::numeric_limits<Id>::max()) invalid("the schedules have 2^32 operations or more: use fewer ranks");
    trace_.ops.reserve(count);
    trace_.events.reserve(3 * count);
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      first_op_.push_back(static_cast<Id>(trace_.ops.size()));
      for (std::size_t step = 0; step < schedules[rank].steps.size(); ++step) {
        const auto first = static_cast<Id>(trace_.ops.size());
        for (const Op& op : schedules[rank].steps[step].ops) {
          trace_.ops.push_back({static_cast<Id>(rank), static_cast<Id>(step), first, &op});
        }
      }
    }
    done_.assign(count, false);
    next_.assign(count, none);
    waits_for_.assign(count, 0);
    releases_.resize(count);
    for (Id id = 0; id < count; ++id) {
      for (const std::size_t before : op(id).after) releases_[trace_.ops[id].first + before].push_back(id);
      waits_for_[id] = op(id).after.size();
    }
  }

  Trace run() {
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) start_step(rank);
    // A rank that completes a step goes on with its next one, from a list so that long chains need no deep stack.
    while (!ready_.empty()) {
      const std::size_t rank = ready_.back();
      ready_.pop_back();
      record(Trace::Kind::completed, static_cast<Id>(rank), static_cast<Id>(step_[rank]));
      first_op_[rank] += static_cast<Id>(schedules_[rank].steps[step_[rank]].ops.size());
      ++step_[rank];
      start_step(rank);
    }
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) note_waiting(rank);
    return std::move(trace_);
  }

 private:
  [[nodiscard]] const Op& op(Id id) const { return *trace_.ops[id].op; }

  void record(Trace::Kind kind, Id a, Id b) { trace_.events.push_back({kind, a, b}); }

  void start_step(std::size_t rank) {
    if (step_[rank] == schedules_[rank].steps.size()) return;
    const std::size_t count = schedules_[rank].steps[step_[rank]].ops.size();
    outstanding_[rank] = count;
    if (count == 0) ready_.push_back(rank);
    const Id first = first_op_[rank];
    for (Id id = first; id < first + count; ++id) {
      if (waits_for_[id] == 0) postable_.push_back(id);
    }
    post_all();
  }

  void post_all() {
    for (std::size_t i = 0; i < postable_.size(); ++i) post(postable_[i]);
    postable_.clear();
  }

  void post(Id own) {
    record(Trace::Kind::posted, own, 0);
    const Op::Kind kind = op(own).kind;
    if (!op(own).moves()) {
      finish(own);
      return;
    }
    const bool sends = kind == Op::Kind::send;
    const Index rank = trace_.ops[own].rank;
    const Index peer = op(own).peer;
    Channel& channel = sends ? channels_.of(rank, peer, op(own).tag) : channels_.of(peer, rank, op(own).tag);
    if (sends && eager_) finish(own);
    if (channel.first == none || channel.sends == sends) {
      (channel.first == none ? channel.first : next_[channel.last]) = own;
      channel.last = own;
      channel.sends = sends;
      return;
    }
    const Id partner = channel.first;
    channel.first = next_[partner];
    record(Trace::Kind::matched, sends ? own : partner, sends ? partner : own);
    if (!sends || !eager_) finish(own);
    if (sends || !eager_) finish(partner);
  }

  void finish(Id id) {
    done_[id] = true;
    for (const Id next : releases_[id]) {
      if (--waits_for_[next] == 0) postable_.push_back(next);
    }
    const std::size_t rank = trace_.ops[id].rank;
    if (--outstanding_[rank] == 0) ready_.push_back(rank);
  }

  void note_waiting(std::size_t rank) {
    if (step_[rank] == schedules_[rank].steps.size()) return;
    const std::vector<Op>& ops = schedules_[rank].steps[step_[rank]].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (done_[first_op_[rank] + i] || waits_for_[first_op_[rank] + i] > 0) continue;
      trace_.waiting.push_back({static_cast<Index>(rank), step_[rank], ops[i].peer, ops[i].kind == Op::Kind::send});
      return;
    }
  }

  const std::vector<RankSchedule>& schedules_;
  bool eager_;
  Trace trace_;
  std::vector<std::size_t> step_;         // current step of each rank
  std::vector<Id> first_op_;              // its first operation
  std::vector<std::size_t> outstanding_;  // how many of its operations have not completed
  std::vector<bool> done_;
  std::vector<std::size_t> waits_for_;  // of each operation: how many of those it comes after have not completed
  std::vector<std::vector<Id>> releases_;
  std::vector<std::size_t> ready_;  // ranks whose step has completed
  std::vector<Id> postable_;        // operations that wait for no other any more
  Channels channels_;
  std::vector<Id> next_;  // of each operation: the one behind it in its channel
};

}  // namespace

Trace replay(const std::vector<RankSchedule>& schedules, bool eager) { return Replayer(schedules, eager).run(); }

}  // namespace rankwise
