#include "schedule/teams.hpp"

#include <algorithm>
#include <optional>

namespace rankwise {

namespace {

Index round_up(Index a, Index b) { return (a + b - 1) / b; }

// The window of teams that reaches every box of the window of boxes when a team has at least pooled[i] boxes an axis.
Window team_window(const Window& boxes, const std::vector<Index>& dims, const Coords& pooled) {
  std::vector<Index> lower(dims.size(), 0);
  std::vector<Index> upper(dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int axis = static_cast<int>(i);
    const bool all = boxes.shell() == Shell::all_pairs;
    lower[i] = all ? 0 : round_up(boxes.lower(axis), pooled[i]);
    upper[i] = all ? dims[i] / pooled[i] - 1 : round_up(boxes.upper(axis), pooled[i]);
  }
  return {std::move(lower), std::move(upper), boxes.shell()};
}

Index most_boxes(const std::vector<Index>& dims, const Coords& pooled) {
  Index most = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) most *= round_up(dims[i], dims[i] / pooled[i]);
  return most;
}

// How many boxes a team pools on each axis: of all ways to write c as a product that fits the grid, the one whose
// members receive the fewest blocks, then the one with the smallest window, then the most even one.
class Pooling {
 public:
  explicit Pooling(const ExchangeSpec& spec) : spec_(spec), current_(spec.grid.dims().size(), 1) {
    try_axis(0, spec.replication);
  }

  [[nodiscard]] Coords best() const {
    if (best_) return *best_;
    invalid("replication " + std::to_string(spec_.replication) + " does not fit the grid: it must be a product of " +
            "one factor an axis, none larger than its axis");
  }

 private:
  void try_axis(std::size_t axis, Index rest) {
    if (axis == current_.size()) {
      if (rest == 1) consider();
      return;
    }
    for (Index factor = 1; factor <= std::min(rest, spec_.grid.dim(static_cast<int>(axis))); ++factor) {
      if (rest % factor != 0) continue;
      current_[axis] = factor;
      try_axis(axis + 1, rest / factor);
    }
  }

  void consider() {
    const Index window = team_window(spec_.window, spec_.grid.dims(), current_).slots();
    const Index received = round_up(window, spec_.replication) * most_boxes(spec_.grid.dims(), current_);
    const std::vector<Index> score{received, window, *std::max_element(current_.begin(), current_.end())};
    if (best_ && score >= best_score_) return;
    best_ = current_;
    best_score_ = score;
  }

  const ExchangeSpec& spec_;
  Coords current_;
  std::optional<Coords> best_;
  std::vector<Index> best_score_;
};

Coords boxes_of_a_team(const ExchangeSpec& spec) {
  if (spec.replication < 1) {
    invalid("replication " + std::to_string(spec.replication) + " is too small: it must be at least 1");
  }
  if (spec.team_boxes == TeamBoxes::replicated) {
    constexpr Index limit = Index{1} << 31;
    if (spec.replication > limit / spec.grid.size()) invalid("the teams have more than 2^31 ranks: make them smaller");
    return Coords(spec.grid.dims().size(), 1);
  }
  return Pooling(spec).best();
}

Grid team_grid(const std::vector<Index>& dims, const Coords& pooled) {
  std::vector<Index> teams(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) teams[i] = dims[i] / pooled[i];
  return Grid(std::move(teams), std::vector<bool>(dims.size(), true));
}

Index wrapped(Index value, Index length) { return ((value % length) + length) % length; }

}  // namespace

Teams::Teams(const ExchangeSpec& spec) : Teams(spec, boxes_of_a_team(spec)) {}

Teams::Teams(const ExchangeSpec& spec, const Coords& pooled)
    : boxes_(spec.grid),
      replication_(spec.replication),
      pooled_(spec.team_boxes == TeamBoxes::pooled),
      grid_(team_grid(spec.grid.dims(), pooled)),
      window_(team_window(spec.window, spec.grid.dims(), pooled)),
      most_blocks_(most_boxes(spec.grid.dims(), pooled)) {}

Index Teams::chunk_start(std::size_t axis, Index chunk) const { return chunk * boxes_.dims()[axis] / grid_.dims()[axis]; }

Index Teams::chunk_of(std::size_t axis, Index coordinate) const {
  return ((coordinate + 1) * grid_.dims()[axis] - 1) / boxes_.dims()[axis];
}

Index Teams::team_of(Index rank) const {
  if (!pooled_) return rank / replication_;
  Coords coords = boxes_.coords(rank);
  for (std::size_t i = 0; i < coords.size(); ++i) coords[i] = chunk_of(i, coords[i]);
  return grid_.cell(coords);
}

Index Teams::member_of(Index rank) const {
  if (!pooled_) return rank % replication_;
  const Coords coords = boxes_.coords(rank);
  Index member = 0;
  for (std::size_t i = 0; i < coords.size(); ++i) {
    const Index chunk = chunk_of(i, coords[i]);
    member = member * (chunk_start(i, chunk + 1) - chunk_start(i, chunk)) + coords[i] - chunk_start(i, chunk);
  }
  return member;
}

Index Teams::rank_of(Index team, Index member) const {
  if (!pooled_) return team * replication_ + member;
  Coords coords = grid_.coords(team);
  for (std::size_t i = coords.size(); i-- > 0;) {
    const Index start = chunk_start(i, coords[i]);
    const Index size = chunk_start(i, coords[i] + 1) - start;
    coords[i] = start + member % size;
    member /= size;
  }
  return boxes_.cell(coords);
}

Index Teams::members(Index team) const { return pooled_ ? blocks(team) : replication_; }

Index Teams::blocks(Index team) const {
  const Coords coords = grid_.coords(team);
  Index boxes = 1;
  for (std::size_t i = 0; i < coords.size(); ++i) {
    boxes *= chunk_start(i, coords[i] + 1) - chunk_start(i, coords[i]);
  }
  return boxes;
}

Index Teams::at(Index team, const Coords& offset) const {
  Coords coords = grid_.coords(team);
  for (std::size_t i = 0; i < coords.size(); ++i) coords[i] = wrapped(coords[i] + offset[i], grid_.dims()[i]);
  return grid_.cell(coords);
}

bool Teams::inside(Index team, const Coords& offset) const {
  const Coords coords = grid_.coords(team);
  for (std::size_t i = 0; i < coords.size(); ++i) {
    if (boxes_.periodic(static_cast<int>(i))) continue;
    const Index moved = coords[i] + offset[i];
    if (moved < 0 || moved >= grid_.dims()[i]) return false;
  }
  return true;
}

Coords Teams::team_offset(const Coords& box, const Coords& offset) const {
  Coords between(box.size());
  for (std::size_t i = 0; i < box.size(); ++i) {
    const Index length = boxes_.dims()[i];
    const Index teams = grid_.dims()[i];
    const Index inside = wrapped(box[i] + offset[i], length);
    const Index turns = (box[i] + offset[i] - inside) / length;
    between[i] = chunk_of(i, inside) + turns * teams - chunk_of(i, box[i]);
    if (window_.shell() == Shell::all_pairs) between[i] = wrapped(between[i], teams);
  }
  return between;
}

Index Teams::visits(Index member) const {
  return member >= replication_ || member >= window_.slots() ? 0 : (window_.slots() - 1 - member) / replication_ + 1;
}

}  // namespace rankwise
