// time = cost(schedule, placement, machine): walks the schedules of all ranks and adds up the time of their steps.
//
// T(m) is the time of one message, E(m) that of one in each direction at once, g(m) that of each further one in flight (with a
// blocking send: until the sender goes on), o that of a processor at either end. All ranks where they sit are followed event by
// event (event_clock.hpp); few that stand for all, and exchanges whose steps were timed, step by step (step_clock.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/flows.hpp"
#include "cost/loads.hpp"
#include "cost/prices.hpp"
#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

struct Cost {
  std::vector<double> finish_s;  // of each rank
  Index messages_per_rank = 0;   // the most that any rank sends
  Index blocks_per_rank = 0;     // likewise
  Busiest busiest;               // the resource that is held longest
  // Within these 95 % of simulations of the same machine lie (walk.cpp).
  double low_s = 0.0;
  double high_s = 0.0;

  // When the last rank has finished, and the busiest resource is free.
  [[nodiscard]] double time_s() const;
};

// When each rank did what, for a time line: of a walk of all ranks.
struct History {
  // What a step takes longest for: a message on its own, further ones in flight with it, what others send over its way, or the
  // processor's share of each.
  enum class Term : std::uint8_t { message, messages, shared, processor };
  struct Message {
    std::uint32_t rank;
    std::uint32_t peer;
    int tag;
    bool sends;
    bool blocking;
    Index bytes;
    double posted_s;
    double done_s;  // of a receive with others in flight: when its sender was there
  };
  struct Stretch {
    std::uint32_t rank;
    std::uint32_t first;  // of its messages
    std::uint32_t count;
    double begin_s;
    double end_s;
    Term term;
  };
  std::vector<Message> messages;
  std::vector<Stretch> steps;  // in order of their ends
};

// What the judge errs by where schedules are of one kind: 95 % of simulations lie within these factors of its time. Parts are
// the import and the way back, or one axis after the other.
struct Discrepancy {
  const char* kind;
  double low;
  double high;
};

// Schedules of ranks that stand for all, with the partner of each operation, rank by rank, step by step (of a copy or
// visit: any), and what was counted of these partners.
struct LinkedSchedules {
  std::vector<RankSchedule> schedules;
  std::vector<std::uint32_t> partners;
  std::shared_ptr<const Census> census;
  std::vector<Route> routes = {};  // of a tile: of each operation
  // How often each step is done before the next one (of ranks whose messages all go to those that they stand for, for none of
  // these waits for another); empty: once.
  std::vector<Index> rounds = {};
};

// The schedules of all ranks of an exchange, the way back included where the exchange includes it, replayed once so
// that their time is known for many sizes, placements and machines.
class Walk {
 public:
  // Throws std::invalid_argument when no schedule can be made, it cannot finish, or there are more than 200 million
  // slots.
  explicit Walk(const ExchangeSpec& spec);
  // Whose schedules they are; node: those of the ranks of one node, for all of an exchange.
  enum class Of : std::uint8_t { exchange, node, collective, program };
  // The schedules of all ranks, and those of the way back if there is one; of a program: the phases of a step that it was seen to
  // take.
  Walk(SendMode mode, std::vector<RankSchedule> schedules, Of of = Of::exchange, std::vector<RankSchedule> then = {});
  // The import and, where there is one, the way back, of representatives that know what they share.
  Walk(SendMode mode, std::vector<LinkedSchedules> parts, Of of = Of::exchange);
  // Likewise of a tile of which the grid consists: at the same time ranks at the same place in each do the same. tile: where its
  // own ranks sit, which fill whole nodes; nodes: of all ranks.
  Walk(SendMode mode, std::vector<LinkedSchedules> parts, Placement tile, Index nodes);
  Walk(Walk&&) = default;  // not copied: the traces point into the schedules
  Walk& operator=(Walk&&) = default;

  // Blocks that all have block_bytes, of representatives or of ranks where at() put them. Throws std::invalid_argument when the
  // machine lacks a link class that is needed or the placement does not fit.
  [[nodiscard]] Cost cost(Index block_bytes, const Machine& machine) const;
  // Likewise; nothing where it takes longer than most_s, which is found sooner.
  [[nodiscard]] std::optional<Cost> cost_within(double most_s, Index block_bytes, const Machine& machine) const;
  // Likewise of all ranks, step by step: what representatives stand for.
  [[nodiscard]] Cost cost_by_steps(Index block_bytes, const Placement& placement, const Machine& machine) const;
  // Likewise of all ranks at(), with what each did when. Throws std::invalid_argument where others stand for them.
  [[nodiscard]] Cost cost(Index block_bytes, const Machine& machine, History& history) const;

  // All ranks where they sit, to be asked for their time without a placement.
  [[nodiscard]] Walk at(Placement placement) &&;
  // The same in place of a grid with longer open axes.
  [[nodiscard]] Walk in_place_of_longer() &&;

  // The numbers of blocks that messages have (0 among them where a rank only copies).
  [[nodiscard]] const std::vector<Index>& message_blocks() const { return sizes_; }
  [[nodiscard]] SendMode mode() const { return mode_; }
  // The most steps of the import or the way back.
  [[nodiscard]] Index steps() const { return steps_; }
  // by_events: as all ranks are followed; any_eager: whether some of its messages wait for no receiver, where that makes a
  // difference.
  [[nodiscard]] const Discrepancy& discrepancy(bool by_events, bool any_eager = false) const;

 private:
  // What the time of an operation depends on, found once, next to its passage.
  struct Transfer {
    std::uint32_t chains = 1;       // of its step, where messages are forwarded as they arrive
    std::uint32_t first_after = 0;  // index into Part::after
    std::uint32_t after = 0;        // how many operations it comes after
    bool together = false;          // in a step whose messages are all in flight at once
    bool expected = false;          // a receive that is posted before what its step sends
    bool answered = false;          // a send after which the rank only receives
    bool posted = false;            // in a step of blocking sends whose receives are all posted before
    bool first = false;             // in the first step of a round
    Index copied = 0;               // blocks that a copy copies, and such as a receive or copy adds
    Index added = 0;
    double compute_s = 0.0;
  };
  // A replay, and what is in flight together in it.
  struct Replayed {
    Trace trace;
    Phases phases;          // of representatives
    std::vector<Use> uses;  // likewise
  };
  // What each operation costs; null where nothing moves. timed: whether the steps themselves were, on every link in use.
  struct Priced {
    std::vector<const Prices::Price*> of;
    std::vector<Route> routes;
    bool timed = true;
  };
  // The import or the way back; of all ranks the one after the other.
  struct Part {
    std::vector<RankSchedule> schedules;
    std::shared_ptr<const Census> census;  // of representatives and tiles
    std::vector<Route> routes;             // of tiles, of each operation
    Replayed usual;
    Replayed rendezvous;              // of plain sends that wait for their receivers; no events where that would never end
    std::vector<Passage> passages;    // of each operation of the trace
    std::vector<Transfer> transfers;  // likewise
    std::vector<Trace::Id> after;     // the operations that others come after
    // Where ranks are followed by events, of each operation that moves: the other end, and of a send the first one on its
    // connection; and of each operation those that come after it, from first_next on.
    std::vector<Trace::Id> partners;
    std::vector<Trace::Id> connections;
    std::vector<Trace::Id> first_next;
    std::vector<Trace::Id> next;
    std::vector<Trace::Id> steps;         // of each step, rank by rank: its first operation; then the end
    std::vector<std::size_t> first_step;  // of each rank: index into steps
    std::vector<Index> rounds;            // of each step, alike for all ranks: how often it is done
    bool collective = false;              // carried out as MPI neighbourhood collectives
  };

  // way_back: its first step; 0: there is none.
  void add(LinkedSchedules linked, std::size_t way_back = 0);
  // Likewise, the way back after the import, of each rank.
  void add_both(LinkedSchedules import, LinkedSchedules back);
  static void connect(Part& part);
  // placement: null where representatives stand for all.
  [[nodiscard]] Priced priced(const Part& part, const Placement* placement, Prices& prices, const Machine& machine) const;
  void check(const Placement& placement) const;
  // Describes a step; next: the one after it, null after the last.
  void describe(const Step& step, const Step* next, std::size_t rank, const LinkedSchedules& linked, Part& part);
  // What counts only where steps were timed.
  void describe_work(const Step& step, bool first, Part& part) const;
  [[nodiscard]] static Phases phases_at(const Placement& placement, const Part& part, const Replayed& replayed, bool waits);
  // Where it takes longer than most_s, nothing.
  [[nodiscard]] std::optional<Cost> follow(Index block_bytes, const Placement* placement, const Machine& machine,
                                           History* history, double most_s = Flows::never) const;
  // Likewise, by the card's rates as they are.
  [[nodiscard]] std::optional<Cost> follow_on(Index block_bytes, const Placement* placement, const Machine& machine,
                                              History* history, double most_s) const;
  // Whether messages of a tile may pass switches of a machine that its placement knows nothing of.
  [[nodiscard]] bool crosses_unknown_levels(const Machine& machine) const;
  // Whether plain sends wait for their receivers: a schedule some of whose messages do keeps their pace.
  [[nodiscard]] bool sends_wait(Index block_bytes, const Machine& machine) const;

  SendMode mode_;
  Of of_ = Of::exchange;
  std::vector<Part> parts_;
  std::optional<Placement> placement_;  // of at(), or of a tile
  Index nodes_ = 0;                     // of all ranks, where a tile stands for them
  std::vector<Index> sizes_;            // the numbers of blocks that messages have
  std::size_t ranks_ = 0;
  Index steps_ = 0;
  bool several_parts_ = false;
  bool shortened_ = false;
  std::ptrdiff_t most_in_flight_ = 0;  // messages that a rank sends at once
  Index messages_per_rank_ = 0;
  Index blocks_per_rank_ = 0;

  friend class StepClock;
  friend class EventClock;
};

}  // namespace rankwise
