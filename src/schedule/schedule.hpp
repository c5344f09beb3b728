// A schedule as data: for one rank, ordered steps of messages (peer, which blocks travel). Nothing here sends.
//
// A rank's slots hold blocks. For all algorithms but team-shift they begin with a window, one slot for each offset within
// the cutoff, in row-major order; the slot of offset o ends up with the block of the rank at own coordinates + o. Where a
// periodic axis is shorter than the window, several slots are images of the same block, as molecular-dynamics codes
// want them. Slots of blocks that a rank only passes on may follow. The slots of team-shift are described in teams.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

// On which node each rank sits: what algorithms need to know that send little between nodes.
// Copies are cheap. Nodes count from 0, in the order of their lowest ranks.
class NodeMap {
 public:
  NodeMap() = default;  // nothing is known
  // So many ranks a node, in order; the last node may have fewer. Throws std::invalid_argument below 1.
  [[nodiscard]] static NodeMap blocked(Index ranks, Index ranks_per_node);
  // node_of_rank: equal numbers for ranks of one node, whatever the numbers.
  [[nodiscard]] static NodeMap of(const std::vector<Index>& node_of_rank);

  [[nodiscard]] bool is_known() const { return ranks_ > 0; }
  [[nodiscard]] Index ranks() const { return ranks_; }
  [[nodiscard]] Index node_of(Index rank) const;
  // How many ranks a node has, and its i-th, in ascending order.
  [[nodiscard]] Index members(Index node) const;
  [[nodiscard]] Index member(Index node, Index i) const;

 private:
  struct Table {
    std::vector<Index> node_of_rank;
    std::vector<std::vector<Index>> members;
  };
  Index ranks_ = 0;
  Index per_node_ = 1;
  std::shared_ptr<const Table> table_;  // null: blocked
};

// Which MPI call sends. The order of messages depends on it: ssend and send block; isend and persistent have all of a
// step in flight; isend-self forwards each block as soon as it has arrived.
enum class SendMode { ssend, send, isend, isend_self, persistent };
inline constexpr std::size_t send_mode_count = 5;

[[nodiscard]] SendMode parse_send_mode(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(SendMode mode);
[[nodiscard]] std::vector<std::string> send_mode_ids();  // here and below: of all, in the order of the enumeration
[[nodiscard]] inline bool is_blocking(SendMode mode) { return mode == SendMode::ssend || mode == SendMode::send; }

// Which offsets a window has: full -k..k; eighth 0..k, where forces are returned (Newton's third law); all-pairs every
// rank once, whatever the cutoff.
enum class Shell { full, eighth, all_pairs };

[[nodiscard]] Shell parse_shell(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(Shell shell);
[[nodiscard]] std::vector<std::string> shell_ids();

// The box of offsets -lower..upper on each axis.
class Window {
 public:
  // cutoff: layers per axis, each >= 1; shell: full or eighth. Throws std::invalid_argument.
  explicit Window(const std::vector<int>& cutoff, Shell shell = Shell::full);
  // Offsets 0..size-1 on each axis.
  [[nodiscard]] static Window all_pairs(const Grid& grid);
  // Any box of offsets around 0.
  Window(std::vector<Index> lower, std::vector<Index> upper, Shell shell);

  [[nodiscard]] Shell shell() const { return shell_; }
  [[nodiscard]] int ndim() const { return static_cast<int>(lower_.size()); }
  [[nodiscard]] Index lower(int axis) const { return lower_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] Index upper(int axis) const { return upper_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] Index slots() const { return slots_; }
  [[nodiscard]] Index centre() const { return centre_; }  // the slot of offset 0
  [[nodiscard]] Index slot(const Coords& offset) const;
  [[nodiscard]] Coords offset(Index slot) const;

 private:
  std::vector<Index> lower_;
  std::vector<Index> upper_;
  Shell shell_;
  Index slots_ = 1;
  Index centre_ = 0;
};

// Consecutive slots.
struct SlotRange {
  Index first = 0;
  Index count = 0;
  bool operator==(const SlotRange&) const = default;
};

[[nodiscard]] Index count_slots(const std::vector<SlotRange>& ranges);
// Adds slots behind others: to the last range where they follow it.
void join_slots(std::vector<SlotRange>& ranges, const SlotRange& next);
// Calls each for all slots, in their order.
template <class Each>
void each_slot(const std::vector<SlotRange>& ranges, Each each) {
  for (const SlotRange& range : ranges) {
    for (Index slot = range.first; slot < range.first + range.count; ++slot) each(slot);
  }
}

// One thing a rank does in a step: send the blocks in some slots, receive into some slots, copy slots to others of the
// same number where a rank is its own neighbour, (team-shift) let the own blocks interact with visiting ones, or compute.
struct Op {
  enum class Kind { send, recv, copy, visit, compute };
  Kind kind = Kind::send;
  Index peer = 0;  // the rank sent to or received from; the own rank for the other kinds
  int tag = 0;     // messages between two ranks match in order within a tag; of a visit: which offset of the team window
  std::vector<SlotRange> slots;    // what is sent or visits, or where it lands
  std::vector<SlotRange> source;   // copy only: where it comes from
  std::vector<std::size_t> after;  // the operations of this step (by position) that must have completed before
  double compute_s = 0.0;          // compute only: how long it takes, as was observed
  bool adds = false;               // of a receive or copy: to what the slots hold, as when forces return
  Index times = 1;                 // how many like it, in flight with it, it stands for (make_alike)

  [[nodiscard]] bool moves() const { return kind == Kind::send || kind == Kind::recv; }  // whether it is one end of a message
  [[nodiscard]] Index blocks() const { return count_slots(slots); }
  // What its slots hold together, where each holds so much.
  [[nodiscard]] std::size_t total(const std::vector<std::size_t>& of_slot) const;
};

// The operations of a step are in flight together, each as soon as those it comes after have completed; the next step
// starts when all have completed. All ranks have the same number of steps, empty where a rank has nothing to do, and a
// message is sent and received in the same step (shift's blocking seam apart: see shift.cpp).
struct Step {
  std::vector<Op> ops;
};

struct RankSchedule {
  std::vector<Step> steps;
  Index slots = 0;            // operations speak of slots 0..slots-1
  std::vector<Index> place;   // empty: every slot has a place of its own; else the place of each slot: slots that
                              // share one are never needed at the same time
  Index passing = 0;          // the last so many slots only pass blocks on: they hold nothing when the way back begins
  bool neighborhood = false;  // the one step is carried out as an MPI neighbourhood collective

  // The operations of all steps, one after the other.
  [[nodiscard]] auto ops() const { return std::views::join(std::views::transform(steps, &Step::ops)); }
  [[nodiscard]] bool adds() const;  // whether any operation does
  [[nodiscard]] Index places() const;
  [[nodiscard]] Index place_of(Index slot) const;
  [[nodiscard]] Index operations() const;
  [[nodiscard]] Index messages_sent() const;
  [[nodiscard]] Index blocks_sent() const;
  // What is sent in all, where each slot holds so much.
  [[nodiscard]] std::size_t sent(const std::vector<std::size_t>& of_slot) const;
};

// How the c ranks of a team of team-shift get their boxes: pooled: the grid's ranks, one box each, put those of c
// neighbouring ranks together; replicated: every box has c ranks, so that there are c times more ranks than boxes.
enum class TeamBoxes { pooled, replicated };

[[nodiscard]] TeamBoxes parse_team_boxes(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(TeamBoxes boxes);
[[nodiscard]] std::vector<std::string> team_boxes_ids();

// What is exchanged: an algorithm by its id, on a grid of boxes (one a rank, rank = row-major cell, unless teams
// replicate them), within a window.
struct ExchangeSpec {
  std::string algorithm;
  SendMode mode;
  Grid grid;
  Window window;
  Index replication = 1;  // c of team-shift, 1 for the others
  TeamBoxes team_boxes = TeamBoxes::pooled;
  NodeMap nodes = {};  // for algorithms that need to know them

  [[nodiscard]] Index ranks() const { return team_boxes == TeamBoxes::replicated ? grid.size() * replication : grid.size(); }
};

// A spec from what users name; nodes may be put in afterwards. cutoff: layers an axis (ignored for all-pairs, which wraps
// around on every axis). Throws std::invalid_argument like check_spec, but for unknown nodes.
[[nodiscard]] ExchangeSpec make_spec(const std::string& algorithm, SendMode mode, std::vector<Index> dims,
                                     std::vector<bool> periodic, const std::vector<int>& cutoff, Shell shell = Shell::full,
                                     Index replication = 1, TeamBoxes team_boxes = TeamBoxes::pooled);

// Why an algorithm cannot be combined with a send mode or a shell; empty when it can. Throws std::invalid_argument
// for an unknown algorithm.
[[nodiscard]] std::string why_not(const std::string& algorithm, SendMode mode, Shell shell);

// Throws std::invalid_argument, with the reason, when no schedule can be made: an unknown algorithm, a combination
// that makes no sense, a window whose number of axes differs from the grid's, a replication that does not fit, nodes that are
// not known or of another number of ranks.
void check_spec(const ExchangeSpec& spec);

// One rank's schedule of the import (of the visits, for team-shift), without O(P) work or memory.
// Throws std::invalid_argument like check_spec, and for a rank that does not exist.
[[nodiscard]] RankSchedule make_schedule(const ExchangeSpec& spec, Index rank);

// One rank's schedule of the way back: what each slot holds is added up in the slot of its origin's own block. The
// import reversed; for team-shift the distribution within the team reversed.
[[nodiscard]] RankSchedule make_reduce(const ExchangeSpec& spec, Index rank);

// Whether one round of this exchange includes the way back: eighth shell, and teams, whose members hold partial sums.
[[nodiscard]] bool includes_reduce(const ExchangeSpec& spec);

// The same two to be priced, not followed: where an algorithm knows its messages alike (of the same two ranks, size and step,
// none waiting for another), one operation stands for all (Op::times), so that they cost no time for each.
[[nodiscard]] RankSchedule make_alike(const ExchangeSpec& spec, Index rank);
[[nodiscard]] RankSchedule make_alike_reduce(const ExchangeSpec& spec, Index rank);

// The schedules of all ranks.
[[nodiscard]] std::vector<RankSchedule> make_schedules(const ExchangeSpec& spec);
[[nodiscard]] std::vector<RankSchedule> make_reduces(const ExchangeSpec& spec);

// Of each slot of a rank's schedule: the rank whose block comes there; -1 where none belongs (beyond an open border, say).
[[nodiscard]] std::vector<Index> origins(const ExchangeSpec& spec, Index rank);

// The slot that holds the rank's own block from the start; -1 for a rank that has none (replicated teams).
[[nodiscard]] Index own_slot(const ExchangeSpec& spec, Index rank);

// A slot of a rank.
struct SlotOf {
  Index rank = 0;
  Index slot = 0;
  bool operator==(const SlotOf&) const = default;
};

// Whose slots the way back adds up in a rank's own slot, this slot included; empty for a rank that has none.
[[nodiscard]] std::vector<SlotOf> contributions_to(const ExchangeSpec& spec, Index rank);

// The rank at an offset (direction +1) or at minus the offset (-1) from a rank; -1 beyond an open border.
[[nodiscard]] Index rank_at_offset(const Grid& grid, Index rank, const Coords& offset, int direction);

// The same messages the other way, in reverse order, adding up.
[[nodiscard]] RankSchedule reversed(const RankSchedule& schedule, SendMode mode);

// Lets the sends of a step go one after the other where the mode blocks (their receives are posted before them).
void chain_sends(Step& step, SendMode mode);

}  // namespace rankwise
