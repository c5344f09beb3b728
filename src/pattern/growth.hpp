// Ranks placed in cells one after the other, each where most of its placed neighbours say.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pattern/layout.hpp"

namespace rankwise {

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

}  // namespace rankwise
