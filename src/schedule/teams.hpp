// Who is in which team of team-shift, and what a team holds.
//
// Pooled: the grid is cut into blocks of at least c_0 x ... x c_{d-1} = c boxes; where c_i does not divide an axis some
// teams are larger, and their members beyond the first c take part in distributing and combining only. A team's window
// has ceil(k_i / c_i) layers on axis i, which reaches every box within k_i. Replicated: every box is a team of c ranks.
//
// Slots of a rank's schedule: first the blocks of its own team, in the order of its members (one block when
// replicated), then, for each team that visits it, in order, most_blocks() slots for that team's blocks.
#pragma once

#include "schedule/schedule.hpp"

namespace rankwise {

class Teams {
 public:
  // Throws std::invalid_argument when c does not fit the grid.
  explicit Teams(const ExchangeSpec& spec);

  [[nodiscard]] const Grid& grid() const { return grid_; }        // of teams, periodic on every axis
  [[nodiscard]] const Window& window() const { return window_; }  // of teams
  [[nodiscard]] Index replication() const { return replication_; }
  [[nodiscard]] Index most_blocks() const { return most_blocks_; }  // of any team

  [[nodiscard]] Index team_of(Index rank) const;
  [[nodiscard]] Index member_of(Index rank) const;
  [[nodiscard]] Index rank_of(Index team, Index member) const;
  [[nodiscard]] Index members(Index team) const;
  [[nodiscard]] Index blocks(Index team) const;
  // The team at an offset, wrapped on every axis.
  [[nodiscard]] Index at(Index team, const Coords& offset) const;
  // Whether an offset from a team's coordinates, or minus the offset (direction -1), stays inside the open borders.
  [[nodiscard]] bool inside(const Coords& team, const Coords& offset, int direction) const;
  // The last slot of the window at whose offset a team is from one inside the open borders.
  [[nodiscard]] Index last_slot_to(Index team) const;
  // The team offset from the team of a box to that of the box at an offset from it, images kept apart.
  [[nodiscard]] Coords team_offset(const Coords& box, const Coords& offset) const;

  // How many offsets of the window member j meets: those of index j, j + c, j + 2c ...
  [[nodiscard]] Index visits(Index member) const;

 private:
  Teams(const ExchangeSpec& spec, const Coords& pooled);  // pooled: boxes of a team on each axis

  [[nodiscard]] Index chunk_start(std::size_t axis, Index chunk) const;
  [[nodiscard]] Index chunk_of(std::size_t axis, Index coordinate) const;

  Grid boxes_;
  Index replication_;
  bool pooled_;
  Grid grid_;
  Window window_;
  Index most_blocks_ = 1;
};

}  // namespace rankwise
