// time = cost(schedule, placement, machine): walks the schedules of all ranks and adds up the time of their steps.
//
// With T(m) of one message, E(m) of one in each direction at once, g(m) for each further one in flight (with a blocking
// send: until the sender goes on), o of a processor at either end:
// - a message starts when both ends are there and takes T(m) (werner2023 section 3); with ssend both ends are busy
//   until then, the sender until it is acknowledged unless it receives next, for then the message that it waits for
//   follows the acknowledgement; with send the sender goes on after g(m), messages arrive at one rank at least g(m)
//   apart, and take E(m) where the receives of a step are posted before its sends; where the machine's plain sends wait
//   for their receivers they cost what ssend does;
// - a step with n messages in flight in each direction starts when this rank and all it hears from are there and takes
//   E(m) + (n - 1) g(m), at least o for each of the messages (after LogGP, Alexandrov et al. 1995);
// - where messages are forwarded as they arrive (isend-self) along n chains at once, the first two hops of a chain take
//   E(m) + (n - 1) g(m) each, every further one max(E(m), E(m) + (n - 1) g(m) - 2 o), for a rank that is still busy
//   with one chain has the next message of the other under way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/replay.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// alpha + beta * size for sizes from from_bytes on, until the next line starts.
struct TimeLine {
  Index from_bytes;
  double alpha_s;
  double beta_s_per_byte;
};

// Time of one message against its size, as straight lines in order of size.
class TimeCurve {
 public:
  explicit TimeCurve(std::vector<TimeLine> lines);  // throws std::invalid_argument when empty or out of order
  [[nodiscard]] double operator()(Index size_bytes) const;

 private:
  std::vector<TimeLine> lines_;
};

// How long messages take over one class of link, for each way of sending.
struct LinkCost {
  TimeCurve send;          // T(m) of a plain send
  TimeCurve ssend;         // T(m) of a synchronous send
  TimeCurve exchange;      // E(m): one message in each direction at once
  TimeCurve exchange_gap;  // g(m): each further message in flight, and a sender's own share
  // o: what one message costs a processor at either end. Not given: half of g(0), for in a burst each further message
  // costs a processor one send and one receive.
  std::optional<double> overhead_s = {};
  // How long the acknowledgement travels that a synchronous send waits for, where no answer covers it as in a
  // ping-pong. Not given: none was measured, and it is left out.
  std::optional<double> acknowledgement_s = {};
  // From which size on a plain send waits for its receiver, as a synchronous one does. Not given: never.
  std::optional<Index> rendezvous_from_bytes = {};

  [[nodiscard]] double overhead() const { return overhead_s.value_or(exchange_gap(0) / 2); }
};

enum class LinkClass { same_core, same_socket, other_socket, other_node };
inline constexpr std::size_t link_class_count = 4;
[[nodiscard]] std::string to_string(LinkClass link);

struct Machine {
  std::array<std::optional<LinkCost>, link_class_count> links;
};

// Where each rank sits: node, socket and core, each numbered over the whole machine.
struct Location {
  Index node = 0;
  Index socket = 0;
  Index core = 0;
};
using Placement = std::vector<Location>;

[[nodiscard]] LinkClass link_between(const Location& a, const Location& b);

struct Cost {
  std::vector<double> finish_s;  // of each rank
  Index messages_per_rank = 0;   // the most that any rank sends
  Index blocks_per_rank = 0;     // likewise
  [[nodiscard]] double time_s() const;  // when the last rank has finished
};

// Schedules, and the link that each operation takes: rank by rank, step by step (of a copy or visit: any).
struct LinkedSchedules {
  std::vector<RankSchedule> schedules;
  std::vector<LinkClass> links;
};

// The schedules of all ranks of an exchange, the way back included where the exchange includes it, replayed once so
// that their time can be told for many sizes, placements and machines.
class Walk {
 public:
  // Throws std::invalid_argument when no schedule can be made, it cannot finish, or there are more than 200 million
  // slots.
  explicit Walk(const ExchangeSpec& spec);
  // One set of schedules.
  Walk(SendMode mode, std::vector<RankSchedule> schedules);
  // The import and, where there is one, the way back, with the link of each operation instead of a placement.
  Walk(SendMode mode, std::vector<LinkedSchedules> parts);
  Walk(Walk&&) = default;  // not copied: the traces point into the schedules
  Walk& operator=(Walk&&) = default;

  // Blocks that all have block_bytes. Throws std::invalid_argument when the machine lacks a link class that is needed
  // or the placement does not fit.
  [[nodiscard]] Cost cost(Index block_bytes, const Placement& placement, const Machine& machine) const;
  // Likewise, of a walk that knows its links.
  [[nodiscard]] Cost cost(Index block_bytes, const Machine& machine) const;

  // The numbers of blocks that messages have (0 among them where a rank only copies).
  [[nodiscard]] const std::vector<Index>& message_blocks() const { return sizes_; }

 private:
  // What the time of an operation depends on, found once.
  struct Transfer {
    std::uint32_t rank = 0;
    std::uint32_t peer = 0;
    std::uint32_t size = 0;         // index into sizes_
    std::uint32_t chains = 1;       // of its step, where messages are forwarded as they arrive
    std::uint32_t first_after = 0;  // index into Part::after
    std::uint32_t after = 0;        // how many operations it comes after
    std::optional<LinkClass> link;  // nothing: by the placement
    bool sends = false;
    bool moves = false;     // a message, not a copy or a visit
    bool together = false;  // in a step whose messages are all in flight at once
    bool expected = false;  // a receive that is posted before what its step sends
    bool answered = false;  // a send after which the rank only receives
  };
  // The import or the way back.
  struct Part {
    std::vector<RankSchedule> schedules;
    Trace trace;
    Trace rendezvous;  // of plain sends that wait for their receivers; no events where that would never end
    std::vector<Transfer> transfers;       // of each operation of the trace
    std::vector<Trace::Id> after;          // the operations that others come after
    std::vector<Trace::Id> steps;          // of each step, rank by rank: its first operation; then the end
    std::vector<std::size_t> first_step;   // of each rank: index into steps
  };

  void add(LinkedSchedules linked);
  // Describes a step; next: the one after it, null after the last.
  void describe(const Step& step, const Step* next, std::size_t rank, const std::vector<LinkClass>& links, Part& part);
  [[nodiscard]] Cost follow(Index block_bytes, const Placement* placement, const Machine& machine) const;
  // Whether all messages are plain sends that wait for their receivers.
  [[nodiscard]] bool sends_wait(Index block_bytes, const Machine& machine) const;

  SendMode mode_;
  std::vector<Part> parts_;
  std::vector<Index> sizes_;  // the numbers of blocks that messages have
  std::size_t ranks_ = 0;
  Index messages_per_rank_ = 0;
  Index blocks_per_rank_ = 0;

  friend class Clock;
};

}  // namespace rankwise
