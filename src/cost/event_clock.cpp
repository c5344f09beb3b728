#include "cost/event_clock.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace rankwise {

namespace {

constexpr double not_yet = -1.0;
constexpr Trace::Id none = std::numeric_limits<Trace::Id>::max();
// A rank's own ways: out to other nodes, in from them, and out and in within its node.
constexpr std::size_t own_ways = 4;

}  // namespace

EventClock::EventClock(SendMode mode, const Walk::Part& part, Walk::Priced priced, const Placement& placement,
                       LoadsOfUses& loads, const Prices& work, std::vector<double>& ready_s)
    : mode_(mode),
      may_wait_(!part.rendezvous.trace.events.empty()),
      part_(part),
      placement_(placement),
      loads_(loads),
      work_(work),
      ready_s_(ready_s),
      priced_(std::move(priced)),
      posted_s_(part.passages.size(), not_yet),
      done_s_(part.passages.size(), not_yet),
      out_s_(part.passages.size(), not_yet),
      waits_(part.passages.size(), 0),
      next_(part.passages.size(), none),
      states_(ready_s.size()),
      last_(part.passages.size(), none) {
  loads.count(part.passages, priced_.routes, placement);
  own_.reserve(part.passages.size());
  for (std::size_t step = 0; step + 1 < part.steps.size(); ++step) {
    const Index most = most_in_one_direction(part.steps[step], part.steps[step + 1]);
    most_.push_back(most);
    for (Id id = part.steps[step]; id < part.steps[step + 1]; ++id) {
      own_.push_back(part.passages[id].moves ? own_of(id, most) : Own{});
    }
  }
}

double EventClock::acknowledgement_s(Id id) const {
  const bool waits_for_it = part_.passages[id].sends && is_blocking(mode_) && waits(id) && !part_.transfers[id].answered;
  return waits_for_it ? price(id).acknowledgement_s : 0.0;
}

Index EventClock::most_in_one_direction(Id first, Id end) const {
  std::array<Index, 2> messages{};  // received, sent
  for (Id id = first; id < end; ++id) {
    if (part_.passages[id].moves) ++messages[part_.passages[id].sends ? 1 : 0];
  }
  return std::max(messages[0], messages[1]);
}

double EventClock::least_s() const {
  std::vector<double> done_s(part_.passages.size(), 0.0);  // after the step's begin
  double latest_s = 0.0;
  for (std::size_t rank = 0; rank < states_.size(); ++rank) {
    double begin_s = ready_s_[rank];
    const std::size_t end = end_of_steps(rank);
    for (std::size_t step = part_.first_step[rank]; step < end; ++step) {
      const Id first = part_.steps[step];
      const Id last = part_.steps[step + 1];
      double step_s = std::max(busy_s(first, last), own_s(first, last));
      for (Id id = first; id < last; ++id) {
        const Walk::Transfer& transfer = part_.transfers[id];
        for (std::size_t i = transfer.first_after; i < transfer.first_after + transfer.after; ++i) {
          done_s[id] = std::max(done_s[id], done_s[part_.after[i]]);
        }
        const Passage& passage = part_.passages[id];
        if (passage.sends) latest_s = std::max(latest_s, begin_s + done_s[id] + own_[part_.partners[id]].time_s);
        if (!passage.moves) {
          done_s[id] += transfer.compute_s;
        } else if (waits(id)) {
          done_s[id] += own_[id].time_s;
        } else if (mode_ == SendMode::send) {
          done_s[id] += own_[id].gap_s;
        }
        step_s = std::max(step_s, done_s[id]);
      }
      begin_s += step_s;
    }
    latest_s = std::max(latest_s, begin_s);
  }
  return latest_s;
}

bool EventClock::run(History* history, double most_s) {
  history_ = history;
  for (std::size_t rank = 0; rank < states_.size(); ++rank) begin(static_cast<Id>(rank), ready_s_[rank]);
  double now_s = 0.0;
  while (true) {
    now_s = std::min({events_.empty() ? Flows::never : events_.top().time_s, flows_.next_s(), flows_.due_s()});
    if (now_s == Flows::never) return true;
    if (now_s > most_s) return false;
    // What happens at one time changes rates once.
    const double until_s = now_s * (1 + Flows::rounding);
    for (bool more = true; more;) {
      more = false;
      while (!events_.empty() && events_.top().time_s <= until_s) {
        const Event event = events_.top();
        events_.pop();
        handle(event, now_s);
        more = true;
      }
      while (flows_.next_s() <= until_s) {
        arrive(flows_.end(now_s), now_s);
        more = true;
      }
    }
    if (flows_.due_s() <= until_s) flows_.settle(now_s);
  }
}

void EventClock::handle(const Event& event, double now_s) {
  switch (event.kind) {
    case Event::Kind::begin: begin(event.id, now_s); break;
    case Event::Kind::post: post(event.id, now_s); break;
    case Event::Kind::depart: {
      Id& last = last_[part_.connections[event.id]];
      if (last == none) {
        flow(event.id, now_s, false);
      } else {
        next_[last] = event.id;
      }
      last = event.id;
      break;
    }
  }
}

bool EventClock::waits(Id id) const {
  // Where it is not known, a blocking send goes on and what is in flight waits.
  if (mode_ == SendMode::send) return may_wait_ && price(id).waits.value_or(false);
  return mode_ == SendMode::ssend || price(id).waits.value_or(true);
}

EventClock::Own EventClock::own_of(Id id, Index most) const {
  const Prices::Price& cost = price(id);
  const Walk::Transfer& transfer = part_.transfers[id];
  const bool both = transfer.together || mode_ == SendMode::isend_self || (mode_ == SendMode::send && transfer.expected);
  // What a message in each direction takes longer is spared where a link has a credit.
  const double both_s = std::max(std::min(cost.send_s, cost.exchange_s), cost.exchange_s - cost.credit_s);
  Own own{is_blocking(mode_) && waits(id) ? cost.ssend_s : both ? both_s : cost.send_s, cost.hold_s, cost.gap_s};
  if (priced_.timed) {
    own.time_s = cost.steps->step_s(transfer.first, 1, cost.bytes);
    if (most > 1) {
      own.gap_s = (cost.steps->step_s(transfer.first, most, cost.bytes) - own.time_s) / static_cast<double>(most - 1);
    }
  }
  own.hold_s = std::min(own.hold_s, own.time_s);
  if (!transfer.together) own.gap_s = std::min(own.gap_s, own.time_s);
  return own;
}

void EventClock::begin(Id rank, double now_s) {
  State& state = states_[rank];
  const std::size_t end = end_of_steps(rank);
  std::size_t step = part_.first_step[rank] + state.step;
  while (step < end && part_.steps[step] == part_.steps[step + 1]) ++step;
  ready_s_[rank] = now_s;
  if (step == end) return;
  state = {now_s,
           now_s,
           busy_s(part_.steps[step], part_.steps[step + 1]),
           own_s(part_.steps[step], part_.steps[step + 1]),
           step + 1 - part_.first_step[rank],
           part_.steps[step + 1] - part_.steps[step]};
  for (Id id = part_.steps[step]; id < part_.steps[step + 1]; ++id) waits_[id] = part_.transfers[id].after;
  for (Id id = part_.steps[step]; id < part_.steps[step + 1]; ++id) {
    if (part_.transfers[id].after == 0) post(id, now_s);
  }
}

std::size_t EventClock::end_of_steps(std::size_t rank) const {
  return rank + 1 < part_.first_step.size() ? part_.first_step[rank + 1] : part_.steps.size() - 1;
}

double EventClock::busy_s(Id first, Id end) const {
  double busy_s = 0.0;
  for (Id id = first; id < end; ++id) {
    if (part_.passages[id].moves && part_.transfers[id].together) busy_s += price(id).overhead_s;
  }
  return busy_s;
}

double EventClock::own_s(Id first, Id end) const {
  double first_s = 0.0;
  double largest_gap_s = 0.0;
  std::array<double, 2> gaps_s{};  // received, sent
  for (Id id = first; id < end; ++id) {
    if (!part_.passages[id].moves || !part_.transfers[id].together || !waits(id)) continue;
    const Own& one = own_[id];
    first_s = std::max(first_s, one.time_s);
    largest_gap_s = std::max(largest_gap_s, one.gap_s);
    gaps_s[part_.passages[id].sends ? 1 : 0] += one.gap_s;
  }
  return first_s + std::max(0.0, std::max(gaps_s[0], gaps_s[1]) - largest_gap_s);
}

void EventClock::post(Id id, double now_s) {
  const Passage& passage = part_.passages[id];
  const Walk::Transfer& transfer = part_.transfers[id];
  posted_s_[id] = now_s;
  if (!passage.moves) {
    finish(id, now_s + transfer.compute_s);
    return;
  }
  const Id other = part_.partners[id];
  if (!waits(id)) {
    if (passage.sends) {
      set_out(id, now_s);
      finish(id, now_s + (mode_ == SendMode::send ? own_[id].gap_s : transfer.together ? 0.0 : price(id).overhead_s));
    } else if (done_s_[id] >= 0) {
      arrived(id, now_s);
    }
  } else if (posted_s_[other] >= 0) {
    set_out(passage.sends ? id : other, now_s);
  }
}

void EventClock::set_out(Id send, double now_s) {
  const Own& one = own_[part_.partners[send]];
  out_s_[send] = now_s;
  events_.push({now_s + one.time_s - one.hold_s, Event::Kind::depart, send});
}

void EventClock::flow(Id send, double now_s, bool follows) {
  const Id recv = part_.partners[send];
  const std::size_t resources = loads_.resources() + own_ways;
  const Own& one = own_[recv];
  const double hold_s = follows ? std::min(one.hold_s, one.gap_s) : one.hold_s;
  way_.clear();
  bool leaves = false;
  for (const LoadsOfUses::Held& held : loads_.way(part_.passages[send], priced_.routes[send], placement_)) {
    way_.push_back({static_cast<std::size_t>(held.unit) * resources + held.resource, held.hold});
    leaves = leaves || held.resource == static_cast<std::size_t>(Shared::card_out);
  }
  for (const Id end : {send, recv}) {
    const std::size_t way = loads_.resources() + (end == send ? 0 : 1) + (leaves ? 0 : 2);
    const double gap_s = own_[end].gap_s;
    way_.push_back({part_.passages[end].rank * resources + way, {gap_s, gap_s - hold_s}});
  }
  flows_.start(send, now_s, {hold_s, price(send).bytes}, way_);
}

void EventClock::arrive(Id send, double now_s) {
  const Id recv = part_.partners[send];
  if (waits(send)) finish(send, now_s + acknowledgement_s(send));
  if (posted_s_[recv] >= 0) {
    arrived(recv, now_s);
  } else {
    done_s_[recv] = now_s;
  }
  if (next_[send] != none) {
    flow(next_[send], now_s, true);
  } else {
    last_[part_.connections[send]] = none;
  }
}

void EventClock::arrived(Id recv, double now_s) {
  const bool takes_up = mode_ == SendMode::send && !waits(recv);
  finish(recv, takes_up ? std::max(now_s, posted_s_[recv] + own_[recv].gap_s) : now_s);
}

void EventClock::finish(Id id, double time_s) {
  const Id rank = part_.passages[id].rank;
  State& state = states_[rank];
  done_s_[id] = time_s;
  state.end_s = std::max(state.end_s, time_s);
  release(id, time_s);
  if (--state.left == 0) end(rank);
}

void EventClock::release(Id id, double time_s) {
  for (Id i = part_.first_next[id]; i < part_.first_next[id + 1]; ++i) {
    if (--waits_[part_.next[i]] == 0) events_.push({time_s, Event::Kind::post, part_.next[i]});
  }
}

void EventClock::end(Id rank) {
  State& state = states_[rank];
  const std::size_t step = part_.first_step[rank] + state.step - 1;
  const Id first = part_.steps[step];
  const Id end = part_.steps[step + 1];
  state.end_s = std::max(state.end_s, state.begin_s + state.own_s);
  const bool busy = state.end_s < state.begin_s + state.busy_s;
  state.end_s = std::max(state.end_s, state.begin_s + state.busy_s);
  for (Id id = first; id < end; ++id) {
    const Walk::Transfer& transfer = part_.transfers[id];
    if (priced_.timed) {
      state.end_s += work_.work_s(transfer.copied, transfer.added);
    } else if (work_.combines()) {
      state.end_s += work_.combine_s(transfer.added);
    }
  }
  if (history_ != nullptr) note(rank, first, end, busy);
  events_.push({state.end_s, Event::Kind::begin, rank});
}

void EventClock::note(Id rank, Id first, Id end, bool busy) {
  const State& state = states_[rank];
  const History::Term term = busy ? History::Term::processor : History::Term::message;
  History::Stretch step{rank, static_cast<std::uint32_t>(history_->messages.size()), 0, state.begin_s, state.end_s, term};
  double last_s = state.begin_s;
  double longest_s = 0.0;
  const double further = static_cast<double>(most_[part_.first_step[rank] + state.step - 1] - 1);
  for (Id id = first; id < end; ++id) {
    const Passage& passage = part_.passages[id];
    if (!passage.moves) continue;
    const Own& one = own_[id];
    longest_s = std::max(longest_s, one.time_s);
    if (!busy && done_s_[id] > last_s) {
      last_s = done_s_[id];
      const double took_s = last_s - acknowledgement_s(id) - out_s_[passage.sends ? id : part_.partners[id]];
      step.term = took_s > (one.time_s + further * one.gap_s) * (1 + Flows::rounding) ? History::Term::shared
                  : took_s > 1.5 * one.time_s                                         ? History::Term::messages
                                                                                      : History::Term::message;
    }
    history_->messages.push_back({rank, passage.peer, part_.usual.trace.ops[id].op->tag, passage.sends,
                                  passage.sends && is_blocking(mode_), price(id).bytes, posted_s_[id], done_s_[id]});
    ++step.count;
  }
  if (!busy && state.begin_s + state.own_s > last_s) {
    step.term = state.own_s > 1.5 * longest_s ? History::Term::messages : History::Term::message;
  }
  history_->steps.push_back(step);
}

}  // namespace rankwise
