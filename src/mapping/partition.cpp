#include "mapping/partition.hpp"

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

// An offset along the axes on which it leads anywhere.
struct Neighbor {
  struct Step {
    int axis;
    Index by;
    Index stride;  // of a cell along the axis
  };
  std::vector<Step> steps;
  Both sent;
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
    if (std::ranges::any_of(found, [&](const auto& neighbor) { return neighbor.first[axis] != 0; })) continue;
    Coords offset(static_cast<std::size_t>(stencil.ndim()), 0);
    for (const Index step : {1, -1}) {
      offset[axis] = step;
      found[offset];
    }
  }
  return found;
}

// Offsets that wrap to the same cell are one way; those that lead back to their cell are none.
std::vector<Neighbor> neighbors_of_cell(const Grid& grid, const Stencil& stencil) {
  std::map<Coords, std::size_t> number;
  std::vector<Neighbor> neighbors;
  for (const auto& [offset, sent] : both_ways(stencil)) {
    Coords wrapped = offset;
    for (std::size_t axis = 0; axis < wrapped.size(); ++axis) {
      const auto id = static_cast<int>(axis);
      if (grid.periodic(id)) wrapped[axis] = grid.shifted(id, 0, offset[axis]);
    }
    if (std::ranges::all_of(wrapped, [](Index component) { return component == 0; })) continue;
    const auto [at, is_new] = number.try_emplace(wrapped, neighbors.size());
    if (is_new) neighbors.emplace_back();
    Neighbor& neighbor = neighbors[at->second];
    neighbor.sent.out += sent.out;
    neighbor.sent.in += sent.in;
    if (!is_new) continue;
    Index stride = 1;
    for (int axis = grid.ndim(); axis-- > 0; stride *= grid.dim(axis)) {
      if (const Index by = wrapped[static_cast<std::size_t>(axis)]; by != 0) neighbor.steps.push_back({axis, by, stride});
    }
  }
  return neighbors;
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
void StencilGraph::add_cells(const Grid& grid, const Stencil& stencil, Index count, const Index* cells, IndexOf index_of) {
  if (!fits(count, stencil)) invalid("the grid has too many edges for a search: lower the effort");
  const std::vector<Neighbor> neighbors = neighbors_of_cell(grid, stencil);
  first_.reserve(static_cast<std::size_t>(count) + 1);
  edges_.reserve(static_cast<std::size_t>(count) * neighbors.size());
  std::int64_t weight = 0;
  std::int64_t weighted = 0;
  Coords at;
  for (Index i = 0; i < count; ++i) {
    const Index cell = cells == nullptr ? i : cells[i];
    if (i > 0 && cells == nullptr) {
      for (std::size_t axis = at.size(); axis-- > 0;) {
        if (++at[axis] < grid.dims()[axis]) break;
        at[axis] = 0;
      }
    } else {
      at = grid.coords(cell);
    }
    first_.push_back(static_cast<std::uint32_t>(edges_.size()));
    if (cells != nullptr) beyond_.push_back(0);
    for (const Neighbor& neighbor : neighbors) {
      Index other = cell;
      bool inside = true;
      for (const auto& [axis, by, stride] : neighbor.steps) {
        const Index from = at[static_cast<std::size_t>(axis)];
        const Index to = grid.shifted(axis, from, by);
        inside = inside && to >= 0;
        other += (to - from) * stride;
      }
      if (!inside) continue;
      const Index index = index_of(other);
      if (index < 0) {
        beyond_.back() += static_cast<std::int32_t>(neighbor.sent.out);
        continue;
      }
      weight += neighbor.sent.out + neighbor.sent.in;
      weighted += neighbor.sent.out + neighbor.sent.in > 0 ? 1 : 0;
      edges_.push_back({static_cast<std::int32_t>(index), static_cast<std::int32_t>(neighbor.sent.out),
                        static_cast<std::int32_t>(neighbor.sent.in)});
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

WeightedGraph traffic_of(const StencilGraph& graph) {
  WeightedGraph traffic;
  for (std::int32_t cell = 0; cell < graph.cells(); ++cell) {
    for (const StencilGraph::Edge& edge : graph.edges(cell)) {
      if (edge.out + edge.in > 0) traffic.edges.push_back({edge.cell, edge.out + edge.in});
    }
    traffic.first.push_back(static_cast<std::uint32_t>(traffic.edges.size()));
  }
  return traffic;
}

Partition::Partition(const StencilGraph& graph, const NodeSizes& sizes, std::span<const NodeId> part_of_cell)
    : graph_(&graph),
      part_(part_of_cell.begin(), part_of_cell.end()),
      surplus_(static_cast<std::size_t>(sizes.nodes())),
      cells_in_(surplus_.size(), 0),
      out_(surplus_.size(), 0) {
  for (std::size_t node = 0; node < surplus_.size(); ++node) {
    surplus_[node] = -static_cast<std::int32_t>(sizes.size(static_cast<Index>(node)));
  }
  for (Cell cell = 0; cell < graph.cells(); ++cell) {
    const auto own = static_cast<std::size_t>(part(cell));
    ++surplus_[own];
    ++cells_in_[own];
    out_[own] += graph.beyond(cell);
    for (const StencilGraph::Edge& edge : graph.edges(cell)) {
      if (part(edge.cell) == part(cell)) continue;
      out_[own] += edge.out;
      j_sum_ += edge.out;
    }
  }
}

std::int64_t Partition::j_max() const { return *std::ranges::max_element(out_); }

}  // namespace rankwise
