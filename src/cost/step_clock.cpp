#include "cost/step_clock.hpp"

#include <algorithm>
#include <array>

namespace rankwise {

void StepClock::run(History* history) {
  history_ = history;
  for (const Trace::Event& event : replayed_.trace.events) {
    if (event.kind == Trace::Kind::posted) {
      post(event.a);
    } else if (event.kind == Trace::Kind::matched) {
      match(event.a, event.b);
    } else {
      const std::size_t step = part_.first_step[event.a] + event.b;
      complete(event.a, part_.steps[step], part_.steps[step + 1], part_.rounds.empty() ? 1 : part_.rounds[event.b]);
    }
  }
}

double StepClock::alone_s(Id id, double otherwise_s) const {
  if (!timed_) return otherwise_s;
  const StepCosts& steps = *price(id).steps;
  if (!is_blocking(mode_)) return steps.step_s(part_.transfers[id].first, 1, price(id).bytes);
  return (part_.transfers[id].first ? steps.chain_start : steps.chain)->operator()(price(id).bytes);
}

void StepClock::post(Id id) {
  const Passage& passage = part_.passages[id];
  const Walk::Transfer& transfer = part_.transfers[id];
  double start_s = ready_s_[passage.rank];
  if (!begun_s_.empty()) begun_s_[id] = start_s;
  for (std::size_t i = transfer.first_after; i < transfer.first_after + transfer.after; ++i) {
    const Id other = part_.after[i];
    start_s = std::max(start_s, done_s_[other]);
    if (!hop_.empty() && !part_.passages[other].sends) hop_[id] = std::max(hop_[id], hop_[other] + 1);
  }
  posted_s_[id] = start_s;
  done_s_[id] = start_s + transfer.compute_s;
  if (mode_ == SendMode::send && passage.sends && !is_together(id)) done_s_[id] += gap_s(id);
}

void StepClock::match(Id send, Id recv) {
  const double both_s = std::max(posted_s_[send], posted_s_[recv]);
  if (is_together(recv)) {
    done_s_[recv] = posted_s_[send];  // what counts for the step is when the sender was there
  } else {
    done_s_[recv] = arrival_s(send, recv, both_s);
  }
  const bool waits = mode_ == SendMode::ssend || (mode_ != SendMode::send && mode_ != SendMode::isend_self);
  if (waits && !is_together(send)) {
    const Prices::Price& cost = price(send);
    done_s_[send] = both_s + alone_s(send, mode_ == SendMode::ssend ? cost.ssend_s : cost.send_s) + wait_s(send);
    // A chain that was timed ends with its last acknowledgement.
    if (!timed_ && mode_ == SendMode::ssend && !part_.transfers[send].answered) done_s_[send] += cost.acknowledgement_s;
  }
}

double StepClock::arrival_s(Id send, Id recv, double both_s) {
  const Prices::Price& cost = price(recv);
  switch (mode_) {
    case SendMode::ssend: return both_s + alone_s(recv, cost.ssend_s) + wait_s(recv);
    case SendMode::send: {
      const double own_s = alone_s(recv, part_.transfers[recv].expected ? cost.exchange_s : cost.send_s);
      shared_s_[recv] = begun_s_[send] + own_s + wait_s(recv);
      return std::max(posted_s_[send] + own_s, posted_s_[recv] + gap_s(recv));
    }
    case SendMode::isend_self: {
      hop_[recv] = hop_[send];
      if (timed_) {
        const bool first = part_.transfers[recv].first && hop_[recv] == 0;
        return both_s + cost.steps->step_s(first, part_.transfers[recv].chains, cost.bytes) + wait_s(recv);
      }
      const double all_s =
          cost.exchange_s + std::max(static_cast<double>(part_.transfers[recv].chains - 1) * cost.gap_s, wait_s(recv));
      return both_s + (hop_[recv] < 2 ? all_s : std::max(cost.exchange_s, all_s - 2 * cost.overhead_s));
    }
    case SendMode::isend:
    case SendMode::persistent: break;
  }
  return both_s + alone_s(recv, cost.send_s) + wait_s(recv);
}

void StepClock::complete(Id rank, Id first, Id end, Index rounds) {
  double& ready_s = ready_s_[rank];
  const double begin_s = ready_s;
  term_ = History::Term::message;
  if (end > first && is_together(first)) {
    ready_s = timed_ ? timed_together(rank, first, end) : together(rank, first, end);
  } else {
    if (mode_ == SendMode::send) space_arrivals(rank, first, end);
    // Messages in flight that come after each other are a gap apart, too.
    if (mode_ == SendMode::isend || mode_ == SendMode::persistent) ready_s += apart(first, end).further_s;
    for (Id i = first; i < end; ++i) ready_s = std::max(ready_s, done_s_[i]);
  }
  for (Id i = first; timed_ && i < end; ++i) {
    ready_s += static_cast<double>(part_.passages[i].times) * work_.work_s(part_.transfers[i].copied, part_.transfers[i].added);
  }
  if (history_ != nullptr) note(rank, first, end, begin_s);
  // What is done again takes as long again.
  const double again_s = rounds > 1 ? static_cast<double>(rounds - 1) * (ready_s - begin_s) : 0.0;
  ready_s += again_s;
  arrived_s_[rank] += again_s;
}

void StepClock::note(Id rank, Id first, Id end, double begin_s) {
  History::Stretch step{rank, static_cast<std::uint32_t>(history_->messages.size()), 0, begin_s, ready_s_[rank], term_};
  double last_s = begin_s;
  for (Id id = first; id < end; ++id) {
    const Passage& passage = part_.passages[id];
    if (!passage.moves) continue;
    if (!is_together(id) && !passage.sends && done_s_[id] > last_s) {
      last_s = done_s_[id];
      step.term = wait_s(id) > 0 ? History::Term::shared : History::Term::message;
    }
    history_->messages.push_back({rank, passage.peer, replayed_.trace.ops[id].op->tag, passage.sends,
                                  passage.sends && is_blocking(mode_) && !is_together(id), price(id).bytes, posted_s_[id],
                                  done_s_[id]});
    ++step.count;
  }
  history_->steps.push_back(step);
}

void StepClock::space_arrivals(Id rank, Id first, Id end) {
  arrivals_.clear();
  for (Id id = first; id < end; ++id) {
    if (part_.passages[id].moves && !part_.passages[id].sends) arrivals_.push_back(id);
  }
  std::sort(arrivals_.begin(), arrivals_.end(), [this](Id a, Id b) { return done_s_[a] < done_s_[b]; });
  double& last_s = arrived_s_[rank];
  for (const Id id : arrivals_) last_s = done_s_[id] = std::max(done_s_[id], last_s + gap_s(id));
  for (const Id id : arrivals_) last_s = done_s_[id] = std::max({done_s_[id], shared_s_[id]});
}

StepClock::Apart StepClock::apart(Id first, Id end) {
  Apart apart;
  double largest_gap_s = 0.0;
  tally_.clear();
  for (Id id = first; id < end; ++id) {
    const Passage& passage = part_.passages[id];
    if (!passage.moves) continue;
    const Prices::Price& cost = price(id);
    apart.first_s = std::max(apart.first_s, cost.exchange_s);
    largest_gap_s = std::max(largest_gap_s, cost.gap_s);
    const auto known = std::find_if(tally_.begin(), tally_.end(), [&](const Tally& t) { return t.price == &cost; });
    Tally& tally = known != tally_.end() ? *known : tally_.emplace_back(Tally{&cost, 0, 0});
    (passage.sends ? tally.sent : tally.received) += passage.times;
  }
  // What is alike is multiplied, so that the order of messages makes no difference.
  std::sort(tally_.begin(), tally_.end(), [](const Tally& a, const Tally& b) { return a.price->number < b.price->number; });
  double gaps_sent_s = 0.0;
  double gaps_received_s = 0.0;
  for (const Tally& tally : tally_) {
    gaps_sent_s += static_cast<double>(tally.sent) * tally.price->gap_s;
    gaps_received_s += static_cast<double>(tally.received) * tally.price->gap_s;
    apart.busy_s += static_cast<double>(tally.sent + tally.received) * tally.price->overhead_s;
  }
  apart.further_s = std::max(0.0, std::max(gaps_sent_s, gaps_received_s) - largest_gap_s);
  return apart;
}

double StepClock::together(Id rank, Id first, Id end) {
  double start_s = ready_s_[rank];
  double shared_s = 0.0;
  for (Id id = first; id < end; ++id) {
    const Passage& passage = part_.passages[id];
    if (!passage.moves) continue;
    if (!passage.sends) start_s = std::max(start_s, done_s_[id]);
    shared_s = std::max(shared_s, price(id).exchange_s + (passage.sends ? wait_to_leave_s(id) : wait_s(id)));
  }
  const auto [first_s, further_s, busy_s] = apart(first, end);
  const double own_s = first_s + further_s;
  term_ = busy_s > std::max(own_s, shared_s) ? History::Term::processor
          : shared_s > own_s                 ? History::Term::shared
          : own_s > 1.5 * first_s            ? History::Term::messages
                                             : History::Term::message;
  return start_s + std::max({own_s, shared_s, busy_s});
}

double StepClock::timed_together(Id rank, Id first, Id end) {
  std::array<Index, 2> messages{};  // received, sent
  for (Id id = first; id < end; ++id) {
    if (part_.passages[id].moves) messages[part_.passages[id].sends ? 1 : 0] += part_.passages[id].times;
  }
  const Index most = std::max(messages[0], messages[1]);
  double start_s = ready_s_[rank];
  double longest_s = 0.0;
  double shared_s = 0.0;
  std::array<double, 2> further_s{};
  for (Id id = first; id < end; ++id) {
    if (!part_.passages[id].moves) continue;
    const bool sends = part_.passages[id].sends;
    const Prices::Price& cost = price(id);
    const bool starts = part_.transfers[id].first;
    double one_s = cost.steps->step_s(starts, 1, cost.bytes);
    further_s[sends ? 1 : 0] += static_cast<double>(part_.passages[id].times) *
                                (cost.steps->step_s(starts, most, cost.bytes) - one_s) / static_cast<double>(most);
    if (part_.collective && cost.steps->collective) one_s += (*cost.steps->collective)(cost.bytes);
    if (!sends) start_s = std::max(start_s, done_s_[id]);
    longest_s = std::max(longest_s, one_s);
    shared_s = std::max(shared_s, one_s + (sends ? wait_to_leave_s(id) : wait_s(id)));
  }
  const double own_s = longest_s + std::max(further_s[0], further_s[1]);
  term_ = shared_s > own_s ? History::Term::shared : own_s > 1.5 * longest_s ? History::Term::messages : History::Term::message;
  return start_s + std::max(own_s, shared_s);
}

}  // namespace rankwise
