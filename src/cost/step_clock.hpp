// Ranks that come together to each step: few that stand for all, and those of exchanges whose steps were timed.
//
// With T(m), E(m), g(m) and o as in walk.hpp:
// - a message starts when both ends are there and takes T(m) (werner2023 section 3); with ssend both ends are busy
//   until then, the sender until it is acknowledged unless it receives next, for then the message that it waits for
//   follows the acknowledgement; with send the sender goes on after g(m), messages arrive at one rank at least g(m)
//   apart, and take E(m) where the receives of a step are posted before its sends; where the machine's plain sends wait
//   for their receivers they cost what ssend does;
// - a step with n messages in flight in each direction starts when this rank and all it hears from are there and takes
//   E(m) + (n - 1) g(m), at least o for each of the messages (after LogGP, Alexandrov et al. 1995);
// - where messages are forwarded as they arrive (isend-self) along n chains at once, the first two hops of a chain take
//   E(m) + (n - 1) g(m) each, every further one max(E(m), E(m) + (n - 1) g(m) - 2 o), for a rank that is still busy
//   with one chain has the next message of the other under way;
// - a message whose way others share (loads.hpp) takes longer by what the load of its phase is above its own time there:
//   in max-rate's words (Gropp, Olson, Samfass 2016), T(m) - hold(m) + load;
// - no round takes less than a resource is held for.
//
// Where the steps themselves were timed on every link in use (StepCosts), a step takes what they say in place of T, E and g:
// the first step of a round as from a start, later ones as forwarding; single messages of blocking modes as links of a
// chain; with copies and additions in flight with them.
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
  // What a rank takes for the messages of a step in flight, whatever others send: for the longest on its own, for the gaps of the
  // further ones in the busier direction, and its processor for all.
  struct Apart {
    double first_s = 0.0;
    double further_s = 0.0;
    double busy_s = 0.0;
  };
  [[nodiscard]] Apart apart(Id first, Id end);
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
