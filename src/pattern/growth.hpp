// A grid grown from a few ranks: where to begin, and how the others are placed one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "pattern/describe.hpp"
#include "pattern/traffic.hpp"

namespace rankwise {

inline Cell sum(const Cell& a, const Cell& b, int sign = 1) {
  Cell result;
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] + sign * b[i];
  return result;
}

// Ranks laid out in cells that are open in all directions, or wrap around along axes whose period is known.
class CellLayout {
 public:
  explicit CellLayout(std::size_t ranks, const Cell& period = {});

  [[nodiscard]] bool has(Rank rank) const { return placed_[rank]; }
  [[nodiscard]] const Cell& cell(Rank rank) const { return cells_[rank]; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  // In the order in which they were placed.
  [[nodiscard]] const std::vector<Rank>& placed() const { return order_; }
  // Who sits there.
  [[nodiscard]] std::optional<Rank> at(const Cell& cell) const;
  // The same cell with its coordinates within the periods.
  [[nodiscard]] Cell wrapped(Cell cell) const;
  // From a to b by the shorter way.
  [[nodiscard]] Cell offset(const Cell& a, const Cell& b) const;
  [[nodiscard]] Cell offset(Rank a, Rank b) const { return offset(cells_[a], cells_[b]); }
  // The cell must be free and wrapped, the rank not placed.
  void place(Rank rank, const Cell& cell);

 private:
  [[nodiscard]] std::size_t slot(const Cell& cell) const;

  Cell period_;
  std::vector<Cell> cells_;
  std::vector<bool> placed_;
  std::vector<Rank> order_;
  std::vector<Rank> table_;  // rank + 1, by the cell's hash
};

// The steps that links take from cell to cell: of each kind, and of any.
struct Steps {
  std::vector<std::vector<Cell>> of_kind;
  std::vector<Cell> all;
};

// Some links of a graph: by kind, those between ranks that share so many neighbours (ranges from, to, both included).
struct Backbone {
  std::vector<std::vector<std::pair<int, int>>> shared_of_kind;

  [[nodiscard]] bool has(Kind kind, int shared) const;
};

// Ranks placed in cells one after the other, each where most of its placed neighbours say.
class Growth {
 public:
  // Continues a layout along the links of the backbone, or along all (nullptr).
  Growth(const Links& links, CellLayout& layout, const Steps& steps, const Backbone* backbone);
  // Places until so many ranks are placed, or none is left that has a placed neighbour and a free cell.
  void run(std::size_t limit);

 private:
  struct Place {
    Cell cell{};
    double score = 0;
    double lead = 0;  // over the second best
  };

  // Whether the i-th link of a rank is one to go by.
  [[nodiscard]] bool follows(Rank rank, std::size_t i) const {
    return backbone_ == nullptr || backbone_->has(links_.kinds_of(rank)[i], links_.shared_of(rank)[i]);
  }
  [[nodiscard]] std::optional<Place> best_place(Rank rank) const;
  // How many ranks are next to both.
  [[nodiscard]] int ways_between(Rank a, Rank b) const;
  [[nodiscard]] double score(Rank rank, const Cell& cell) const;
  // Whether the rank and one that it talks to close a square with the rank that would place it.
  [[nodiscard]] bool closes_square(Rank rank) const;
  void place(Rank rank, const Cell& cell);
  void notify_neighbours(Rank rank);
  void queue(Rank rank);

  const Links& links_;
  CellLayout& layout_;
  const Steps& steps_;
  const Backbone* backbone_;
  std::vector<std::uint16_t> placed_neighbours_;
  std::vector<std::vector<Rank>> waiting_;  // by number of placed neighbours
  std::vector<std::vector<Rank>> unclear_;
  std::vector<std::vector<Rank>> doubtful_;
};

// The steps that at least half of the pairs of placed ranks take that could.
Steps learn_steps(const Links& links, const CellLayout& layout);

// Where to begin: a rank, and which of its neighbours sit next to it along which axis.
struct Frame {
  CellLayout layout;  // the rank at 0, its neighbours at plus and minus 1 of each axis
  Steps steps;        // those of the backbone
  Backbone backbone;
};

// Ranks inside rather than at a border: of a high degree that many have.
std::vector<Rank> seeds(const Links& links, std::size_t most);

// The frames around a seed, the simplest first. On a backbone of nearest neighbours two of them that are in no common
// square are opposite. Which links are the backbone is not known: every set of up to eight neighbours is tried that weight
// and the number of shared neighbours tell apart from the others.
std::vector<Frame> frames(const Links& links, Rank seed, std::size_t most);

}  // namespace rankwise
