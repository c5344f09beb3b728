// A schedule as data: for one rank, ordered steps of messages (peer, which blocks travel). Nothing here sends.
//
// Every rank keeps a window of (2k_0+1) x ... x (2k_{d-1}+1) slots, one for each offset within the cutoff, in row-major
// order; the slot of offset o ends up with the block of the rank at own coordinates + o. Where a periodic axis is
// shorter than the window, several slots are images of the same block, as molecular-dynamics codes want them.
#pragma once

#include <string>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

// Which MPI call sends. The order of the steps depends on it: ssend and send block, isend does not.
enum class SendMode { ssend, send, isend };

[[nodiscard]] SendMode parse_send_mode(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(SendMode mode);

// The window of offsets -k..k on each axis.
class Window {
 public:
  // cutoff: layers per axis, each >= 1 (0 where an axis takes no part). Throws std::invalid_argument.
  explicit Window(std::vector<int> cutoff);

  [[nodiscard]] int ndim() const { return static_cast<int>(cutoff_.size()); }
  [[nodiscard]] int cutoff(int axis) const { return cutoff_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] Index slots() const { return slots_; }
  [[nodiscard]] Index centre() const { return slots_ / 2; }
  [[nodiscard]] Index slot(const Coords& offset) const;
  [[nodiscard]] Coords offset(Index slot) const;

 private:
  std::vector<int> cutoff_;
  Index slots_ = 1;
};

// Consecutive slots of a window.
struct SlotRange {
  Index first = 0;
  Index count = 0;
  bool operator==(const SlotRange&) const = default;
};

// One thing a rank does in a step: send the blocks in some slots, receive into some slots, or, where a rank is its own
// neighbour, copy slots to others of the same number.
struct Op {
  enum class Kind { send, recv, copy };
  Kind kind = Kind::send;
  Index peer = 0;            // the rank sent to or received from; the own rank for a copy
  int tag = 0;               // messages between two ranks match in order within a tag
  std::vector<SlotRange> slots;   // what is sent, or where it lands
  std::vector<SlotRange> source;  // copy only: where it comes from

  [[nodiscard]] Index blocks() const;
};

// All operations of a step are in flight together; the next step starts when all have completed.
struct Step {
  std::vector<Op> ops;
};

struct RankSchedule {
  std::vector<Step> steps;

  [[nodiscard]] Index messages_sent() const;
  [[nodiscard]] Index blocks_sent() const;
};

// What is exchanged: an algorithm by its id, on a grid of ranks (rank = row-major cell), within a cutoff.
struct ExchangeSpec {
  std::string algorithm;
  SendMode mode;
  Grid grid;
  Window window;
};

// One rank's schedule, without O(P) work or memory. Throws std::invalid_argument for an unknown algorithm, a window
// whose number of axes differs from the grid's, or a rank outside the grid.
[[nodiscard]] RankSchedule make_schedule(const ExchangeSpec& spec, Index rank);

// The schedules of all ranks.
[[nodiscard]] std::vector<RankSchedule> make_schedules(const ExchangeSpec& spec);

// The rank whose block belongs in a slot of this rank's window; -1 where the slot lies beyond an open border.
[[nodiscard]] Index origin_of_slot(const ExchangeSpec& spec, Index rank, Index slot);

// Shift (Plimpton 1995; werner2023 section 2.2): see shift.cpp.
[[nodiscard]] RankSchedule make_shift(const ExchangeSpec& spec, Index rank);

}  // namespace rankwise
