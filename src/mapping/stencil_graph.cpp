#include "mapping/stencil_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rankwise {

namespace {

// 12 bytes an edge: what a search at its best scale touches stays within the caches, and memory within 24 MiB.
constexpr Index most_edges = Index{1} << 21;

struct Both {
  Index out = 0;
  Index in = 0;
};

// Each offset and its opposite, with what is sent along it and what comes back. Cells that are neighbours along an axis
// without any message are joined by an edge of weight 0: a search must be able to walk the whole grid.
std::map<Coords, Both> both_ways(const Stencil& stencil) {
  std::map<Coords, Both> found;
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    Coords offset = stencil.offsets()[k];
    found[offset].out += stencil.weights()[k];
    for (Index& component : offset) component = -component;
    found[offset].in += stencil.weights()[k];
  }
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(stencil.ndim()); ++axis) {
    if (std::ranges::any_of(found, [&](const auto& way) { return way.first[axis] != 0; })) continue;
    Coords offset(static_cast<std::size_t>(stencil.ndim()), 0);
    for (const Index step : {1, -1}) {
      offset[axis] = step;
      found[offset];
    }
  }
  return found;
}

}  // namespace

bool StencilGraph::fits(Index cells, const Stencil& stencil) {
  const auto offsets = static_cast<Index>(stencil.offsets().size());
  return stencil.total_weight() < (Index{1} << 30) && cells <= most_edges / (2 * offsets + 2 * stencil.ndim());
}

StencilGraph::StencilGraph(const Grid& grid, const Stencil& stencil) {
  add_cells(grid, stencil, grid.size(), nullptr, [](Index cell) { return cell; });
}

StencilGraph::StencilGraph(const Grid& grid, const Stencil& stencil, std::span<const Index> cells) {
  add_cells(grid, stencil, static_cast<Index>(cells.size()), cells.data(), [&](Index cell) -> Index {
    const auto found = std::ranges::lower_bound(cells, cell);
    return found != cells.end() && *found == cell ? found - cells.begin() : -1;
  });
}

StencilGraph::StencilGraph(const Grid& grid, const Stencil& stencil, std::span<const Index> cells,
                           std::span<std::int32_t> index) {
  for (std::size_t i = 0; i < cells.size(); ++i) index[static_cast<std::size_t>(cells[i])] = static_cast<std::int32_t>(i);
  add_cells(grid, stencil, static_cast<Index>(cells.size()), cells.data(),
            [&](Index cell) -> Index { return index[static_cast<std::size_t>(cell)]; });
  for (const Index cell : cells) index[static_cast<std::size_t>(cell)] = -1;
}

template <typename IndexOf>
void StencilGraph::add_cells(const Grid& grid, const Stencil& stencil, Index count, const Index* cells,
                             IndexOf index_of) {
  if (!fits(count, stencil)) invalid("the grid has too many edges for a search: lower the effort");
  const std::map<Coords, Both> ways = both_ways(stencil);
  first_.reserve(static_cast<std::size_t>(count) + 1);
  edges_.reserve(static_cast<std::size_t>(count) * ways.size());
  std::int64_t weight = 0;
  std::int64_t weighted = 0;
  Coords at(static_cast<std::size_t>(grid.ndim()), 0);
  for (Index i = 0; i < count; ++i) {
    const Index cell = cells == nullptr ? i : cells[i];
    Index rest = cell;
    for (int axis = grid.ndim(); axis-- > 0;) {
      at[static_cast<std::size_t>(axis)] = rest % grid.dim(axis);
      rest /= grid.dim(axis);
    }
    first_.push_back(static_cast<std::uint32_t>(edges_.size()));
    const auto begin = static_cast<std::ptrdiff_t>(edges_.size());
    for (const auto& [offset, sent] : ways) {
      Index other = 0;
      bool inside = true;
      for (int axis = 0; axis < grid.ndim() && inside; ++axis) {
        const auto k = static_cast<std::size_t>(axis);
        const Index moved = grid.shifted(axis, at[k], offset[k]);
        inside = moved >= 0;
        other = other * grid.dim(axis) + moved;
      }
      if (!inside || other == cell) continue;
      const Index index = index_of(other);
      if (index < 0) continue;
      weight += sent.out + sent.in;
      weighted += sent.out + sent.in > 0 ? 1 : 0;
      // Several offsets may wrap to the same cell.
      const auto same = std::ranges::find(edges_.begin() + begin, edges_.end(), static_cast<std::int32_t>(index),
                                          &Edge::cell);
      if (same != edges_.end()) {
        same->out += static_cast<std::int32_t>(sent.out);
        same->in += static_cast<std::int32_t>(sent.in);
      } else {
        edges_.push_back({static_cast<std::int32_t>(index), static_cast<std::int32_t>(sent.out),
                          static_cast<std::int32_t>(sent.in)});
      }
    }
  }
  first_.push_back(static_cast<std::uint32_t>(edges_.size()));
  set_mean(weight, weighted);
}

StencilGraph::StencilGraph(std::vector<std::uint32_t> first, std::vector<Edge> edges)
    : first_(std::move(first)), edges_(std::move(edges)) {
  if (first_.empty() || first_.front() != 0 || first_.back() != edges_.size() || !std::ranges::is_sorted(first_)) {
    invalid("the rows of the graph do not hold its edges");
  }
  std::int64_t weight = 0;
  std::int64_t weighted = 0;
  std::int64_t balance = 0;  // what goes out of one cell comes in at another
  for (const Edge& edge : edges_) {
    if (edge.cell < 0 || edge.cell >= cells() || edge.out < 0 || edge.in < 0) invalid("the graph has an edge that is none");
    const std::int64_t both = std::int64_t{edge.out} + edge.in;
    weight += both;
    weighted += both > 0 ? 1 : 0;
    balance += std::int64_t{edge.out} - edge.in;
  }
  if (balance != 0) invalid("the graph's edges do not stand at both of their cells");
  if (weight >= std::int64_t{1} << 31) invalid("the graph's edges are too heavy");
  set_mean(weight, weighted);
}

void StencilGraph::set_mean(std::int64_t weight, std::int64_t weighted) {
  if (weighted > 0) mean_weight_ = std::max<std::int64_t>(1, weight / weighted);
}

}  // namespace rankwise
