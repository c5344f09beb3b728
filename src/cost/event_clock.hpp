// All ranks where they sit, event by event: who has finished a step begins the next one, whatever the others do.
//
// With T(m), E(m), g(m) and o as in walk.hpp, a message sets out when both its ends are there, or its sender where that waits for
// nobody. After its latency it flows through what it shares with others (flows.hpp), among them its sender's way out and its
// receiver's way in: there the first message takes what it does alone, T(m), or E(m) where its step has others in flight, and
// each further one g(m) (LogGP, Alexandrov et al. 1995). A connection, of one rank with another, delivers in order: one message
// flows at the heels of the other. A step ends when all messages are through that its rank has to wait for; it takes o for each
// of its messages at least, and the first one's time and g(m) for each further one, whichever way they take. A blocking send
// that waits for nobody goes on after g(m), and its receive takes as much; a synchronous one goes on when it is acknowledged.
#pragma once

#include <queue>
#include <vector>

#include "cost/flows.hpp"
#include "cost/walk.hpp"

namespace rankwise {

class EventClock {
 public:
  // ready_s: of each rank, when it begins; then, when it has finished.
  EventClock(SendMode mode, const Walk::Part& part, Walk::Priced priced, const Placement& placement, LoadsOfUses& loads,
             const Prices& work, std::vector<double>& ready_s);

  // What no order of events goes below: of each rank the least that its steps take, one after the other.
  [[nodiscard]] double least_s() const;
  // Notes in history what is followed. Whether it is all done within most_s; else the times are not found.
  bool run(History* history, double most_s);

 private:
  using Id = Trace::Id;

  struct Event {
    // Of a rank's step, of an operation, of a message into what is shared.
    enum class Kind : std::uint8_t { begin, post, depart };
    double time_s;
    Kind kind;
    Id id;
    bool operator>(const Event& other) const {
      if (time_s != other.time_s) return time_s > other.time_s;
      return kind != other.kind ? kind > other.kind : id > other.id;
    }
  };
  struct State {
    double begin_s = 0.0;  // of the step under way
    double end_s = 0.0;    // what is known of its end
    double busy_s = 0.0;   // what its messages cost the processor
    double own_s = 0.0;    // what those take in turn that wait for both ends, whatever their ways
    std::size_t step = 0;  // the next one
    std::size_t left = 0;  // operations of which the end is not known
  };
  // A message on free ways: how long it takes, for how long of that it holds them, and how far apart it is from one before it.
  struct Own {
    double time_s = 0.0;
    double hold_s = 0.0;
    double gap_s = 0.0;
  };

  [[nodiscard]] const Prices::Price& price(Id id) const { return *priced_.of[id]; }
  // Whether a message waits for its receiver.
  [[nodiscard]] bool waits(Id id) const;
  // How much later than its message is there a blocking send goes on.
  [[nodiscard]] double acknowledgement_s(Id id) const;
  [[nodiscard]] Index most_in_one_direction(Id first, Id end) const;
  // most: messages of its step in one direction.
  [[nodiscard]] Own own_of(Id id, Index most) const;
  void handle(const Event& event, double now_s);
  void begin(Id rank, double now_s);
  [[nodiscard]] std::size_t end_of_steps(std::size_t rank) const;
  [[nodiscard]] double busy_s(Id first, Id end) const;
  [[nodiscard]] double own_s(Id first, Id end) const;
  void post(Id id, double now_s);
  void set_out(Id send, double now_s);
  // follows: at the heels of another one of its connection, so that it needs no more than g(m) where nothing is shared.
  void flow(Id send, double now_s, bool follows);
  void arrive(Id send, double now_s);
  // A message is there, and its receiver has asked for it.
  void arrived(Id recv, double now_s);
  void finish(Id id, double time_s);
  // Posts what came after an operation alone.
  void release(Id id, double time_s);
  void end(Id rank);
  void note(Id rank, Id first, Id end, bool busy);

  SendMode mode_;
  bool may_wait_;  // the schedule can finish where plain sends wait for their receivers
  const Walk::Part& part_;
  const Placement& placement_;
  LoadsOfUses& loads_;
  const Prices& work_;
  std::vector<double>& ready_s_;
  Walk::Priced priced_;
  std::vector<Index> most_;         // of each step: how many messages in one direction
  std::vector<Own> own_;            // of each operation
  std::vector<double> posted_s_;    // of each operation; below 0: not yet
  std::vector<double> done_s_;      // likewise; of a receive that is not posted: when its message was there
  std::vector<double> out_s_;       // of each send: when it set out
  std::vector<std::size_t> waits_;  // of each operation: for how many of its step
  std::vector<Id> next_;            // of each send: the one behind it on its connection
  std::vector<State> states_;       // of each rank
  std::vector<Id> last_;            // of each connection: the last message on its way
  Flows flows_;
  std::vector<Flows::Use> way_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  History* history_ = nullptr;
};

}  // namespace rankwise
