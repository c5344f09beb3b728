// Ranks played one thing at a time in a drawn order, and schedules broken at random: what tells whether the checker is right
// shares no code with it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "generated.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

using Schedules = std::vector<RankSchedule>;
using Token = std::multiset<std::pair<Index, Index>>;  // of an import (rank, 0); of the way back the (rank, slot) that went in

// Plays all ranks: messages under rendezvous, in order by sender, receiver and tag. Throws std::out_of_range where a
// schedule names what is not there.
class Play {
 public:
  Play(const Schedules& schedules, std::mt19937& random) : schedules_(schedules), random_(random) {
    for (const RankSchedule& schedule : schedules) {
      if (schedule.slots < 0) throw std::out_of_range("slots");
      memory_.emplace_back(static_cast<std::size_t>(schedule.slots));
      writes_.emplace_back(static_cast<std::size_t>(schedule.slots), 0);
      step_.push_back(0);
      state_.emplace_back();
      for (const Step& step : schedule.steps) state_.back().emplace_back(step.ops.size(), 0);
    }
  }

  // A place holds the last slot that was written to one of its slots.
  void write(Index rank, Index slot, Token token) { memory_.at(at(rank)).at(at(place(rank, slot))) = {slot, std::move(token)}; }
  [[nodiscard]] Token read(Index rank, Index slot) const {
    const auto& [held, token] = memory_.at(at(rank)).at(at(place(rank, slot)));
    return held == slot ? token : Token{};
  }
  [[nodiscard]] int writes(Index rank, Index slot) const { return writes_.at(at(rank)).at(at(slot)); }

  // Whether all ranks finish. visited(rank, op) is called where visitors have come.
  [[nodiscard]] bool run(const std::function<void(Index, const Op&)>& visited) {
    for (;;) {
      const std::vector<std::function<void()>> possible = moves(visited);
      if (possible.empty()) break;
      possible[std::uniform_int_distribution<std::size_t>(0, possible.size() - 1)(random_)]();
    }
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (step_[rank] < schedules_[rank].steps.size()) return false;
    }
    return true;
  }

 private:
  enum { waits, posted, done };
  struct Posted {
    std::size_t rank;
    std::size_t op;
  };

  static std::size_t at(Index index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] Index place(Index rank, Index slot) const {
    const RankSchedule& schedule = schedules_.at(at(rank));
    if (slot < 0 || slot >= schedule.slots) throw std::out_of_range("slot");
    return schedule.place.empty() ? slot : schedule.place.at(at(slot));
  }
  [[nodiscard]] const Op& op(Posted one) const { return schedules_[one.rank].steps[step_[one.rank]].ops[one.op]; }

  static std::vector<Index> slots(const std::vector<SlotRange>& ranges) {
    std::vector<Index> all;
    for (const SlotRange& range : ranges) {
      if (range.count < 0 || range.count > 100'000) throw std::out_of_range("count");
      for (Index i = 0; i < range.count; ++i) all.push_back(range.first + i);
    }
    return all;
  }

  void settle() {
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      const std::vector<Step>& steps = schedules_[rank].steps;
      while (step_[rank] < steps.size() &&
             std::ranges::all_of(state_[rank][step_[rank]], [](int state) { return state == done; })) {
        ++step_[rank];
      }
      if (step_[rank] == steps.size()) continue;
      std::vector<int>& state = state_[rank][step_[rank]];
      for (std::size_t i = 0; i < state.size(); ++i) {
        const std::vector<std::size_t>& after = steps[step_[rank]].ops[i].after;
        if (state[i] != waits || !std::ranges::all_of(after, [&](std::size_t a) { return state.at(a) == done; })) continue;
        state[i] = posted;
        const Op& it = steps[step_[rank]].ops[i];
        if (it.kind != Op::Kind::send && it.kind != Op::Kind::recv) continue;
        (void)schedules_.at(at(it.peer));
        const auto own = static_cast<Index>(rank);
        if (it.kind == Op::Kind::send) sends_[{own, it.peer, it.tag}].push_back({rank, i});
        if (it.kind == Op::Kind::recv) receives_[{it.peer, own, it.tag}].push_back({rank, i});
      }
    }
  }

  std::vector<std::function<void()>> moves(const std::function<void(Index, const Op&)>& visited) {
    settle();
    std::vector<std::function<void()>> possible;
    for (auto& [channel, sends] : sends_) {
      std::vector<Posted>& receives = receives_[channel];
      if (sends.empty() || receives.empty()) continue;
      possible.push_back([this, &sends, &receives] {
        carry(sends.front(), op(sends.front()).slots, receives.front());
        finish(sends.front());
        finish(receives.front());
        sends.erase(sends.begin());
        receives.erase(receives.begin());
      });
    }
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (step_[rank] == schedules_[rank].steps.size()) continue;
      for (std::size_t i = 0; i < state_[rank][step_[rank]].size(); ++i) {
        const Posted one{rank, i};
        const Op::Kind kind = op(one).kind;
        if (state_[rank][step_[rank]][i] != posted || kind == Op::Kind::send || kind == Op::Kind::recv) continue;
        possible.push_back([this, one, kind, &visited] {
          if (kind == Op::Kind::copy) carry(one, op(one).source, one);
          if (kind == Op::Kind::visit) visited(static_cast<Index>(one.rank), op(one));
          finish(one);
        });
      }
    }
    return possible;
  }

  void carry(Posted from, const std::vector<SlotRange>& what, Posted to) {
    const std::vector<Index> sent = slots(what);
    const std::vector<Index> landing = slots(op(to).slots);
    if (sent.size() != landing.size()) throw std::out_of_range("sizes");
    std::vector<Token> tokens;
    for (const Index slot : sent) tokens.push_back(read(static_cast<Index>(from.rank), slot));
    for (std::size_t i = 0; i < landing.size(); ++i) {
      const auto rank = static_cast<Index>(to.rank);
      if (op(to).adds) {
        for (const auto& one : read(rank, landing[i])) tokens[i].insert(one);
      }
      write(rank, landing[i], tokens[i]);
      ++writes_[to.rank][at(landing[i])];
    }
  }

  void finish(Posted one) { state_[one.rank][step_[one.rank]][one.op] = done; }

  const Schedules& schedules_;
  std::mt19937& random_;
  std::vector<std::vector<std::pair<Index, Token>>> memory_;
  std::vector<std::vector<int>> writes_;
  std::vector<std::size_t> step_;
  std::vector<std::vector<std::vector<int>>> state_;
  std::map<std::tuple<Index, Index, int>, std::vector<Posted>> sends_;
  std::map<std::tuple<Index, Index, int>, std::vector<Posted>> receives_;
};

// Breaks one thing: a rank, a slot, an order, a message, a step.
inline void mutate(Schedules& schedules, Generator& generate) {
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(generate.pick(0, static_cast<int>(count) - 1)); };
  RankSchedule& schedule = schedules[below(schedules.size())];
  const int far = generate.pick(0, 1) == 0 ? generate.pick(-2, 2) : generate.pick(-1'000'000, 1'000'000);
  const int what = generate.pick(0, 15);
  if (what == 0) schedule.slots += far;
  if (what == 1) schedule.passing += far;
  if (what == 3) schedule.place.assign(below(static_cast<std::size_t>(schedule.slots) + 2), far);
  if (what == 4 && generate.pick(0, 3) == 0) schedules.pop_back();
  if ((what < 5 && what != 2) || schedule.steps.empty()) return;
  const std::size_t s = below(schedule.steps.size());
  std::vector<Op>& ops = schedule.steps[s].ops;
  if (what == 5) schedule.steps.erase(schedule.steps.begin() + static_cast<std::ptrdiff_t>(s));
  if (what == 6) std::swap(schedule.steps[s], schedule.steps[below(schedule.steps.size())]);
  if ((what < 7 && what != 2) || ops.empty()) return;
  Op& op = ops[below(ops.size())];
  if (what == 2) op.adds = !op.adds;
  std::vector<SlotRange>& ranges = op.source.empty() || generate.pick(0, 1) == 0 ? op.slots : op.source;
  const bool has = !ranges.empty();
  switch (what) {
    case 7: op.peer += far; break;
    case 8: op.tag += generate.pick(-1, 1); break;
    case 9: op.kind = static_cast<Op::Kind>(generate.pick(0, 4)); break;
    case 10: op.after.push_back(below(ops.size() + 2)); break;
    case 11:
      if (!op.after.empty()) op.after.pop_back();
      break;
    case 12:
      if (has) ranges[below(ranges.size())].first += far;
      break;
    case 13:
      if (has) ranges[below(ranges.size())].count += far;
      break;
    case 14:
      if (has)
        ranges.erase(ranges.begin());
      else
        ranges.push_back({far, 1});
      break;
    default: {
      const Op twice = op;
      ops.push_back(twice);
    }
  }
}

}  // namespace rankwise
