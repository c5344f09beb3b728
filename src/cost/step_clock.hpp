// Ranks that come together to each step, by the rules in walk.hpp: few that stand for all, and exchanges whose steps were timed.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "cost/walk.hpp"

namespace rankwise {

// The clocks of all ranks while the trace of one part is followed.
class StepClock {
 public:
  // mode: of plain sends that wait for their receivers, ssend.
  StepClock(SendMode mode, const Walk::Part& part, const Walk::Replayed& replayed, Walk::Priced priced, const Loads& loads,
            const Prices& work, std::vector<double>& ready_s)
      : mode_(mode),
        part_(part),
        replayed_(replayed),
        loads_(loads),
        prices_(std::move(priced.of)),
        ready_s_(ready_s),
        posted_s_(part.transfers.size(), 0.0),
        done_s_(part.transfers.size(), 0.0),
        begun_s_(mode == SendMode::send ? part.transfers.size() : 0, 0.0),
        shared_s_(begun_s_),
        hop_(mode == SendMode::isend_self ? part.transfers.size() : 0, 0),
        arrived_s_(ready_s),
        work_(work),
        timed_(priced.timed) {}

  // Notes in history what is followed.
  void run(History* history);

 private:
  using Id = Trace::Id;

  [[nodiscard]] const Prices::Price& price(Id id) const { return *prices_[id]; }

  // Whether an operation is one of a step whose messages are all in flight at once.
  [[nodiscard]] bool is_together(Id id) const { return part_.transfers[id].together || (timed_ && part_.transfers[id].posted); }
  // One message on its own: from when both ends are there, and until its sender goes on.
  [[nodiscard]] double alone_s(Id id, double otherwise_s) const;
  [[nodiscard]] double gap_s(Id id) const { return std::min(price(id).gap_s, alone_s(id, price(id).gap_s)); }

  // How much longer than its own time a message takes for what others send over its way, or its sender's side of it.
  [[nodiscard]] double wait_s(Id id) const { return std::max(0.0, loads_.way_s[id] - price(id).hold_s); }
  [[nodiscard]] double wait_to_leave_s(Id id) const { return std::max(0.0, loads_.out_s[id] - price(id).hold_s); }

  void post(Id id);
  void match(Id send, Id recv);
  [[nodiscard]] double arrival_s(Id send, Id recv, double both_s);
  void complete(Id rank, Id first, Id end, Index rounds);
  void note(Id rank, Id first, Id end, double begin_s);
  // Moves the arrivals of a step apart, in the order in which they come; none is there before what shares its way lets it.
  void space_arrivals(Id rank, Id first, Id end);
  [[nodiscard]] double together(Id rank, Id first, Id end);
  // A step that was timed, of messages that may differ: the longest alone, and what the others add in the mean.
  [[nodiscard]] double timed_together(Id rank, Id first, Id end);

  struct Tally {
    const Prices::Price* price;
    Index sent;
    Index received;
  };

  SendMode mode_;
  const Walk::Part& part_;
  const Walk::Replayed& replayed_;
  const Loads& loads_;
  std::vector<const Prices::Price*> prices_;  // of each operation; null where nothing moves
  std::vector<double>& ready_s_;              // of each rank: when it completed its last step
  std::vector<double> posted_s_;              // of each operation
  std::vector<double> done_s_;                // likewise; of a receive in a step together, when its sender posted
  std::vector<double> begun_s_;               // send: of each operation, when its step began
  std::vector<double> shared_s_;              // send: of each receive, when what shares its way lets it arrive
  std::vector<std::size_t> hop_;              // isend-self: how many hops of this step lie behind a message
  std::vector<double> arrived_s_;             // send: of each rank, when the last message so far arrived
  std::vector<Id> arrivals_;                  // of one step
  std::vector<Tally> tally_;                  // of one step: how many messages of each price
  const Prices& work_;
  History* history_ = nullptr;
  History::Term term_ = History::Term::message;  // of the step that is completed
  bool timed_;                                   // the steps themselves were timed, on every link in use
};

}  // namespace rankwise
