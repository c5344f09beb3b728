// Exchanges whose messages are all in flight at once, against a sum message by message.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "../machine.hpp"
#include "../rounds.hpp"
#include "cost/walk.hpp"

namespace rankwise {
namespace {

struct Message {
  Index from;
  Index to;
  Index bytes;
};

// What a message passes: the resource, its unit, and whether that is at the sender's end.
struct Passed {
  std::size_t resource;
  Index unit;
  bool at_sender;
};

std::vector<Passed> way(const Location& from, const Location& to, const Machine& machine) {
  const auto number = [](Shared shared) { return static_cast<std::size_t>(shared); };
  if (from.node == to.node) {
    const std::vector<Passed> across{{number(Shared::sockets), from.node, true}, {number(Shared::memory), from.node, true}};
    const std::vector<Passed> within{{number(Shared::socket), from.socket, true}, {number(Shared::memory), from.node, true}};
    return from.socket == to.socket ? within : across;
  }
  std::vector<Passed> list{{number(Shared::card_out), from.node, true},
                           {number(Shared::card_in), to.node, false},
                           {number(Shared::card_both), from.node, true},
                           {number(Shared::card_both), to.node, false}};
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    const Index nodes = machine.levels[level].nodes;
    if (from.node / nodes == to.node / nodes) break;
    list.push_back({links_up(level), from.node / nodes, true});
    list.push_back({links_down(level), to.node / nodes, false});
  }
  return list;
}

class Oracle {
 public:
  Oracle(const Placement& placement, const Machine& machine)
      : placement_(placement), machine_(machine), ready_s_(static_cast<std::size_t>(placement.ranks()), 0.0) {}

  // In a step of one rank with one message only, that takes a plain send's time.
  void step(const std::vector<Message>& messages) {
    std::map<std::pair<std::size_t, Index>, std::vector<double>> held;
    for (const Message& one : messages) {
      for (const auto& [resource, unit, at_sender] : passed(one)) {
        const double held_s = machine_.hold_s(resource, link(one), one.bytes);
        held[{resource, unit}].push_back(held_s);
        totals_[{resource, unit}].first += held_s;
        totals_[{resource, unit}].second += held_s > 0 ? static_cast<double>(one.bytes) : 0.0;
      }
    }
    std::vector<double> ready_s = ready_s_;
    for (std::size_t r = 0; r < ready_s.size(); ++r) {
      const auto rank = static_cast<Index>(r);
      double start_s = ready_s_[r], first_s = 0, shared_s = 0, gap_s = 0, busy_s = 0, alone_s = 0;
      std::array<double, 2> gaps_s{};
      int count = 0;
      for (const Message& one : messages) {
        for (const bool sends : {true, false}) {
          if ((sends ? one.from : one.to) != rank) continue;
          const LinkCost& cost = *machine_.links[static_cast<std::size_t>(*machine_.stand_in(link(one)))];
          start_s = std::max(start_s, ready_s_[static_cast<std::size_t>(one.from)]);
          double load_s = 0, own_load_s = 0;
          for (const auto& [resource, unit, at_sender] : passed(one)) {
            const Hold own = machine_.hold(resource, link(one), one.bytes);
            double sum_s = -own.excess_s;
            for (const double other_s : held[{resource, unit}]) {
              sum_s += std::min(other_s, own.time_s);
            }
            load_s = std::max(load_s, sum_s);
            if (at_sender) own_load_s = std::max(own_load_s, sum_s);
          }
          const auto wait_s = [&](double on_s) { return std::max(0.0, on_s - cost.send.hold_s(one.bytes)); };
          const double exchange_s = cost.exchange(one.bytes);
          first_s = std::max(first_s, exchange_s);
          shared_s = std::max(shared_s, exchange_s + wait_s(sends ? own_load_s : load_s));
          gap_s = std::max(gap_s, cost.gap(one.bytes));
          gaps_s[sends ? 0 : 1] += cost.gap(one.bytes);
          busy_s += cost.overhead();
          alone_s = cost.send(one.bytes) + wait_s(load_s);
          ++count;
          if (sends) alone_from_s_ = std::max(ready_s_[r], ready_s_[static_cast<std::size_t>(one.to)]);
        }
      }
      const double own_s = first_s + std::max(0.0, std::max(gaps_s[0], gaps_s[1]) - gap_s);
      if (count > 1) ready_s[r] = start_s + std::max({own_s, shared_s, busy_s});
      if (count == 1) ready_s[r] = std::max(start_s, alone_from_s_) + alone_s;
      alone_from_s_ = 0.0;
    }
    ready_s_ = ready_s;
  }

  void expect(const Cost& cost, const std::string& what) const {
    for (std::size_t rank = 0; rank < ready_s_.size(); ++rank) {
      ASSERT_NEAR(cost.finish_s[rank], ready_s_[rank], 1e-9 * ready_s_[rank]) << what << ", rank " << rank;
    }
    double most_s = 0.0;
    for (const auto& [where, total] : totals_) most_s = std::max(most_s, total.first);
    ASSERT_NEAR(cost.busiest.held_s, most_s, 1e-9 * most_s) << what;
    const double last_s = *std::max_element(ready_s_.begin(), ready_s_.end());
    ASSERT_NEAR(cost.time_s(), std::max(last_s, most_s), 1e-9 * last_s) << what;
    if (most_s <= 0.0) return;
    const auto& [held_s, bytes] = totals_.at({cost.busiest.resource, cost.busiest.unit});
    ASSERT_NEAR(held_s, most_s, 1e-9 * most_s) << what;
    ASSERT_NEAR(cost.busiest.bytes, bytes, 0.5) << what;
  }

 private:
  LinkClass link(const Message& one) const { return link_between(placement_[one.from], placement_[one.to]); }
  std::vector<Passed> passed(const Message& one) const { return way(placement_[one.from], placement_[one.to], machine_); }

  const Placement& placement_;
  const Machine& machine_;
  std::vector<double> ready_s_;
  double alone_from_s_ = 0.0;
  std::map<std::pair<std::size_t, Index>, std::pair<double, double>> totals_;
};

TEST(Oracle, WhatIsInFlightAtOnceTakesWhatTheSumOfItsMessagesSays) {
  std::mt19937 random(5);
  const auto pick = [&](Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random); };
  for (int i = 0; i < rankwise_test::rounds(80); ++i) {
    const auto ndim = static_cast<std::size_t>(pick(1, 2));
    std::vector<Index> dims;
    for (std::size_t axis = 0; axis < ndim; ++axis) dims.push_back(pick(2, ndim == 1 ? 24 : 5));
    const std::vector<bool> periodic(ndim, pick(0, 1) == 1);
    const char* algorithm = std::array{"direct", "comb", "shift"}[static_cast<std::size_t>(pick(0, 2))];
    const std::vector<int> cutoff(ndim, static_cast<int>(pick(1, 2)));
    const ExchangeSpec spec = make_spec(algorithm, SendMode::isend, dims, periodic, cutoff);
    // Nodes of different numbers of ranks, each with two sockets.
    std::vector<std::int32_t> nodes;
    std::vector<std::int32_t> sockets;
    for (Index rank = 0; rank < spec.ranks(); ++rank) {
      nodes.push_back(static_cast<std::int32_t>(std::min(pick(0, 8), pick(0, 8))));
      sockets.push_back(static_cast<std::int32_t>(2 * nodes.back() + pick(0, 1)));
    }
    const Placement placement =
        pick(0, 2) > 0 ? Placement::on_nodes(nodes, sockets) : Placement::blocked(spec.ranks(), pick(1, 6), pick(1, 3));
    Machine machine = pick(0, 3) > 0 ? rankwise_test::shared_machine() : rankwise_test::machine();
    if (pick(0, 1) == 0) machine.levels.clear();
    const Index bytes = std::array<Index, 4>{0, 8, 700, 90000}[static_cast<std::size_t>(pick(0, 3))];
    Oracle oracle(placement, machine);
    std::vector<Message> first;
    const std::vector<RankSchedule> schedules = make_schedules(spec);
    for (std::size_t s = 0; s < schedules.front().steps.size(); ++s) {
      std::vector<Message> messages;
      for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
        for (const Op& op : schedules[rank].steps[s].ops) {
          if (op.kind == Op::Kind::send) messages.push_back({static_cast<Index>(rank), op.peer, op.blocks() * bytes});
        }
      }
      oracle.step(messages);
      if (s == 0) first = messages;
    }
    const std::string what = std::to_string(i) + " " + algorithm;
    oracle.expect(Walk(spec).cost_by_steps(bytes, placement, machine), what);
    // Where nothing is shared and all ranks do the same, what is followed event by event takes as long.
    if (what.ends_with("direct") && periodic.front()) {
      const Placement one_each = Placement::blocked(spec.ranks(), 1);
      const Machine unshared = rankwise_test::machine();
      Oracle alone(one_each, unshared);
      alone.step(first);
      alone.expect(Walk(spec).at(one_each).cost(bytes, unshared), what + " at");
    }
  }
}

}  // namespace
}  // namespace rankwise
