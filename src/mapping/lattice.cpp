#include "mapping/lattice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "mapping/mapping.hpp"

namespace rankwise {

namespace {

void subtract(Coords& from, const Coords& what, Index times) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= times * what[i];
}

// How the cells of each coset are walked: across axis order[i] in strips of width[i], within them along order.back().
struct Walk {
  std::vector<std::size_t> order;
  std::vector<Index> width;
  double oddness = 0;  // how far its section is from a round one, for the order in which walks are tried
};

void add_walks(const std::vector<std::size_t>& order, double n, std::vector<Walk>& walks) {
  const std::size_t slow = order.size() - 1;
  const double side = std::pow(n, 1.0 / static_cast<double>(order.size()));
  const double stretch = slow == 1 ? 2.5 : slow == 2 ? 1.9 : 1.3;
  const auto most = std::max<Index>(1, static_cast<Index>(stretch * side));
  std::vector<Index> width(slow, slow > 2 ? std::max<Index>(1, static_cast<Index>(side)) : 1);
  const std::vector<Index> least = width;
  for (;;) {
    double section = 1;
    double oddness = 0;
    for (const Index w : width) {
      section *= static_cast<double>(w);
      oddness += std::abs(std::log(static_cast<double>(w) / side));
    }
    if (section <= std::max(1.0, n)) walks.push_back({order, width, oddness});
    std::size_t i = 0;
    while (i < slow && width[i] == most) {
      width[i] = least[i];
      ++i;
    }
    if (i == slow) break;
    ++width[i];
  }
}

class CosetStrips {
 public:
  CosetStrips(const MappingProblem& problem, const Lattice& lattice) : problem_(problem), rank_(lattice.rank()) {
    const Grid& grid = problem.grid;
    const auto cells = static_cast<std::size_t>(grid.size());
    place_.resize(cells * rank_);
    std::map<Coords, std::size_t> known;
    Coords at(static_cast<std::size_t>(grid.ndim()), 0);
    Coords place(rank_);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      Coords left = at;
      lattice.reduce(left, place);
      std::ranges::copy(place, place_.begin() + static_cast<std::ptrdiff_t>(cell * rank_));
      const auto [found, is_new] = known.try_emplace(left, cosets_.size());
      if (is_new) cosets_.push_back({{}, place, place});
      Coset& coset = cosets_[found->second];
      coset.cells.push_back(static_cast<Index>(cell));
      for (std::size_t i = 0; i < rank_; ++i) {
        coset.low[i] = std::min(coset.low[i], place[i]);
        coset.high[i] = std::max(coset.high[i], place[i]);
      }
      for (std::size_t axis = at.size(); axis-- > 0;) {
        if (++at[axis] < grid.dims()[axis]) break;
        at[axis] = 0;
      }
    }
    std::vector<Index> sizes;
    for (const Coset& coset : cosets_) sizes.push_back(static_cast<Index>(coset.cells.size()));
    if (problem.nodes.equal()) {
      order_ = packed(sizes, problem.nodes.smallest());
    } else {
      order_.resize(sizes.size());
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      std::ranges::stable_sort(order_, std::ranges::greater{}, [&](std::size_t i) { return sizes[i]; });
    }
  }

  // The node of every cell; false where the cosets are so thin that the walk would look at far too many places.
  bool deal(const Walk& walk, std::vector<NodeId>& node_of_cell) {
    NodeId node = 0;
    Index left = problem_.nodes.size(0);
    for (const std::size_t k : order_) {
      if (!sort(cosets_[k], walk)) return false;
      for (const std::int64_t cell : sorted_) {
        if (cell < 0) continue;
        if (left == 0) left = problem_.nodes.size(++node);
        node_of_cell[static_cast<std::size_t>(cell)] = node;
        --left;
      }
    }
    return true;
  }

  // The same walk, but groups of cells that talk go to nodes whole where they fit: the largest first, each to the node that it
  // leaves least room on; what is larger than any room fills the emptiest nodes first. For nodes of any size, and axes that
  // wrap.
  bool deal_groups(const Walk& walk, std::vector<NodeId>& node_of_cell) {
    const std::vector<Index> group = groups_of(problem_.grid, problem_.stencil.offsets());
    std::vector<std::vector<Index>> cells(group.size());
    for (const std::size_t k : order_) {
      if (!sort(cosets_[k], walk)) return false;
      for (const std::int64_t cell : sorted_) {
        if (cell >= 0) cells[static_cast<std::size_t>(group[static_cast<std::size_t>(cell)])].push_back(cell);
      }
    }
    std::ranges::stable_sort(cells, std::ranges::greater{}, [](const auto& own) { return own.size(); });
    std::multimap<Index, NodeId> room;
    for (Index node = 0; node < problem_.nodes.nodes(); ++node) {
      room.emplace(problem_.nodes.size(node), static_cast<NodeId>(node));
    }
    // The rests of groups that fill nodes wait until all such are dealt.
    std::vector<std::span<const Index>> rests;
    const auto put = [&](std::span<const Index> own, std::multimap<Index, NodeId>::iterator into) {
      const auto [left, node] = *into;
      room.erase(into);
      const auto count = std::min<std::size_t>(own.size(), static_cast<std::size_t>(left));
      for (const Index cell : own.first(count)) node_of_cell[static_cast<std::size_t>(cell)] = node;
      if (const Index rest = left - static_cast<Index>(count); rest > 0) room.emplace(rest, node);
      return own.subspan(count);
    };
    for (const auto& own : cells) {
      std::span<const Index> left(own);
      while (static_cast<Index>(left.size()) > problem_.nodes.largest()) left = put(left, std::prev(room.end()));
      if (!left.empty()) rests.push_back(left);
    }
    std::ranges::stable_sort(rests, std::ranges::greater{}, [](const auto& own) { return own.size(); });
    for (std::span<const Index> left : rests) {
      while (!left.empty()) {
        const auto fits = room.lower_bound(static_cast<Index>(left.size()));
        left = put(left, fits != room.end() ? fits : std::prev(room.end()));
      }
    }
    return true;
  }

 private:
  struct Coset {
    std::vector<Index> cells;
    Coords low, high;
  };

  // Cells at their place in the walk, -1 where there is none.
  bool sort(const Coset& coset, const Walk& walk) {
    const std::size_t slow = rank_ - 1;
    std::array<Index, max_axes> extent{};
    std::array<Index, max_axes> strips{};
    std::array<Index, max_axes> width{};
    double places = 1;
    for (std::size_t i = 0; i < rank_; ++i) {
      const std::size_t axis = walk.order[i];
      extent[i] = coset.high[axis] - coset.low[axis] + 1;
      if (i < slow) {
        strips[i] = std::max<Index>(1, (2 * extent[i] + walk.width[i]) / (2 * walk.width[i]));
        width[i] = (extent[i] + strips[i] - 1) / strips[i];
        places *= static_cast<double>(strips[i] * width[i]);
      } else {
        places *= static_cast<double>(extent[i]);
      }
    }
    if (places > 64.0 * static_cast<double>(coset.cells.size()) + 1024) return false;
    sorted_.assign(static_cast<std::size_t>(places), -1);
    for (const Index cell : coset.cells) {
      const Index* const place = &place_[static_cast<std::size_t>(cell) * rank_];
      std::array<Index, max_axes> inside{};
      Index key = 0;
      bool turned = false;
      const auto level = [&](Index at, Index count) {
        key = key * count + (turned ? count - 1 - at : at);
        turned ^= (at & 1) != 0;
      };
      for (std::size_t i = 0; i < slow; ++i) {
        const Index at = place[walk.order[i]] - coset.low[walk.order[i]];
        const Index strip = at * strips[i] / extent[i];
        inside[i] = at - (strip * extent[i] + strips[i] - 1) / strips[i];
        level(strip, strips[i]);
      }
      level(place[walk.order[slow]] - coset.low[walk.order[slow]], extent[slow]);
      for (std::size_t i = 0; i < slow; ++i) level(inside[i], width[i]);
      sorted_[static_cast<std::size_t>(key)] = cell;
    }
    return true;
  }

  const MappingProblem& problem_;
  std::size_t rank_;
  std::vector<Index> place_;  // of each cell in the reduced basis
  std::vector<Coset> cosets_;
  std::vector<std::size_t> order_;  // of cosets
  std::vector<std::int64_t> sorted_;
};

}  // namespace

Lattice::Lattice(const Stencil& stencil) {
  const auto d = static_cast<std::size_t>(stencil.ndim());
  std::vector<Coords> rows = stencil.offsets();
  std::size_t done = 0;
  for (std::size_t axis = 0; axis < d && done < rows.size(); ++axis) {
    for (;;) {  // Euclid on the column
      std::size_t least = rows.size();
      std::size_t left = 0;
      for (std::size_t i = done; i < rows.size(); ++i) {
        if (rows[i][axis] == 0) continue;
        ++left;
        if (least == rows.size() || std::abs(rows[i][axis]) < std::abs(rows[least][axis])) least = i;
      }
      if (left == 0) break;
      std::swap(rows[done], rows[least]);
      if (rows[done][axis] < 0) {
        for (Index& component : rows[done]) component = -component;
      }
      if (left == 1) {
        for (std::size_t i = 0; i < done; ++i) subtract(rows[i], rows[done], floor_div(rows[i][axis], rows[done][axis]));
        pivots_.push_back(axis);
        ++done;
        break;
      }
      for (std::size_t i = done + 1; i < rows.size(); ++i) {
        subtract(rows[i], rows[done], floor_div(rows[i][axis], rows[done][axis]));
      }
    }
  }
  rows.resize(done);
  echelon_ = rows;
  basis_ = rows;

  change_.assign(done, Coords(done, 0));
  for (std::size_t i = 0; i < done; ++i) change_[i][i] = 1;
  StencilNorm(stencil).shorten(basis_, [&](std::size_t i, std::size_t k, Index times) {
    for (Coords& row : change_) row[k] += times * row[i];
  });
}

bool Lattice::is_whole() const {
  if (echelon_.empty() || echelon_.size() < echelon_.front().size()) return false;
  for (std::size_t i = 0; i < echelon_.size(); ++i) {
    if (echelon_[i][pivots_[i]] != 1) return false;
  }
  return true;
}

bool Lattice::is_along_axes() const {
  if (basis_.empty() || basis_.size() != basis_.front().size()) return false;
  return std::ranges::all_of(basis_, [](const Coords& vector) {
    Index sum = 0;
    for (const Index component : vector) sum += std::abs(component);
    return sum == 1;
  });
}

void Lattice::reduce(Coords& cell, Coords& place) const {
  std::ranges::fill(place, 0);
  for (std::size_t i = 0; i < echelon_.size(); ++i) {
    const Index times = floor_div(cell[pivots_[i]], echelon_[i][pivots_[i]]);
    if (times == 0) continue;
    subtract(cell, echelon_[i], times);
    for (std::size_t k = 0; k < place.size(); ++k) place[k] += times * change_[i][k];
  }
}

namespace {

// Things by their sizes, the largest first.
using Pool = std::map<Index, std::vector<std::size_t>, std::greater<>>;

std::size_t take(Pool& pool, Index size) {
  const auto found = pool.find(size);
  const std::size_t taken = found->second.back();
  found->second.pop_back();
  if (found->second.empty()) pool.erase(found);
  return taken;
}

// Takes the fewest things out of a pool whose sizes sum up to what is wanted (a bounded subset sum); none where there are none.
std::vector<std::size_t> take_exactly(Pool& pool, Index wanted) {
  // fewest[s]: how few sum up to s; last[s]: one of them.
  constexpr int none = std::numeric_limits<int>::max();
  std::vector<int> fewest(static_cast<std::size_t>(wanted) + 1, none);
  std::vector<Index> last(fewest.size(), 0);
  fewest[0] = 0;
  std::vector<std::size_t> used(fewest.size());
  for (const auto& [size, which] : pool) {
    std::ranges::fill(used, std::size_t{0});
    for (Index sum = size; sum <= wanted; ++sum) {
      const auto s = static_cast<std::size_t>(sum);
      const auto before = static_cast<std::size_t>(sum - size);
      if (fewest[before] == none || used[before] >= which.size() || fewest[before] + 1 >= fewest[s]) continue;
      fewest[s] = fewest[before] + 1;
      used[s] = used[before] + 1;
      last[s] = size;
    }
  }
  std::vector<std::size_t> taken;
  if (fewest.back() == none) return taken;
  // A size that a later one displaced on the way may be used once too often: then it is none.
  Pool kept = pool;
  for (Index sum = wanted; sum > 0; sum -= last[static_cast<std::size_t>(sum)]) {
    const Index size = last[static_cast<std::size_t>(sum)];
    if (!pool.contains(size)) {
      pool = std::move(kept);
      return {};
    }
    taken.push_back(take(pool, size));
  }
  return taken;
}

// The lines of cells one step apart, each from its beginning; one that leads back to it from anywhere.
std::vector<std::vector<Index>> lines_along(const Grid& grid, const Coords& step) {
  std::vector<Index> next(static_cast<std::size_t>(grid.size()), -1);
  std::vector<bool> is_begin(next.size(), true);
  for (Index cell = 0; cell < grid.size(); ++cell) {
    const Index other = grid.cell_at_offset(grid.coords(cell), step, 1);
    next[static_cast<std::size_t>(cell)] = other;
    if (other >= 0) is_begin[static_cast<std::size_t>(other)] = false;
  }
  std::vector<bool> is_done(next.size(), false);
  std::vector<std::vector<Index>> lines;
  for (const bool begins : {true, false}) {
    for (Index first = 0; first < grid.size(); ++first) {
      if (is_done[static_cast<std::size_t>(first)] || (begins && !is_begin[static_cast<std::size_t>(first)])) continue;
      lines.emplace_back();
      Index cell = first;
      while (cell >= 0 && !is_done[static_cast<std::size_t>(cell)]) {
        is_done[static_cast<std::size_t>(cell)] = true;
        lines.back().push_back(cell);
        cell = next[static_cast<std::size_t>(cell)];
      }
    }
  }
  return lines;
}

// Where all is sent along one direction: lines that some nodes hold exactly, nodes that some lines fill exactly, then the rest
// one after the other.
std::vector<NodeId> deal_lines(const MappingProblem& problem, const Coords& step) {
  const std::vector<std::vector<Index>> lines = lines_along(problem.grid, step);
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  Pool nodes;
  Pool left;
  for (Index node = problem.nodes.nodes(); node-- > 0;) {
    nodes[problem.nodes.size(node)].push_back(static_cast<std::size_t>(node));
  }
  for (std::size_t i = lines.size(); i-- > 0;) left[static_cast<Index>(lines[i].size())].push_back(i);
  const auto put = [&](const std::vector<std::size_t>& from, const std::vector<std::size_t>& onto) {
    std::size_t at = 0;
    Index room = onto.empty() ? 0 : problem.nodes.size(static_cast<Index>(onto[0]));
    for (const std::size_t line : from) {
      for (const Index cell : lines[line]) {
        while (room == 0) room = problem.nodes.size(static_cast<Index>(onto[++at]));
        node_of_cell[static_cast<std::size_t>(cell)] = static_cast<NodeId>(onto[at]);
        --room;
      }
    }
  };
  Index work = 3'000'000;
  // Of those of one size the first that finds none ends the search: the others find none either.
  const auto fill = [&](Pool& whole, Pool& parts, const auto& joined) {
    std::vector<Index> sizes;
    for (const auto& [size, which] : whole) sizes.push_back(size);
    for (const Index size : sizes) {
      while (whole.contains(size) && (work -= size * static_cast<Index>(parts.size())) > 0) {
        const std::vector<std::size_t> found = take_exactly(parts, size);
        if (found.empty()) break;
        joined(take(whole, size), found);
      }
    }
  };
  fill(left, nodes, [&](std::size_t line, const std::vector<std::size_t>& onto) { put({line}, onto); });
  fill(nodes, left, [&](std::size_t node, const std::vector<std::size_t>& from) { put(from, {node}); });
  std::vector<std::size_t> from;
  std::vector<std::size_t> onto;
  for (const auto& [size, which] : left) from.insert(from.end(), which.begin(), which.end());
  for (const auto& [size, which] : nodes) onto.insert(onto.end(), which.begin(), which.end());
  put(from, onto);
  return node_of_cell;
}

}  // namespace

std::vector<std::size_t> packed(const std::vector<Index>& sizes, Index n) {
  std::vector<std::size_t> order;
  Pool of_remainder;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] % n == 0) {
      order.push_back(i);
    } else {
      of_remainder[sizes[i] % n].push_back(i);
    }
  }
  std::ranges::reverse(order);
  std::vector<std::size_t> unfit;
  while (!of_remainder.empty()) {
    const Index first = of_remainder.begin()->first;
    const std::size_t largest = take(of_remainder, first);
    const std::vector<std::size_t> others = take_exactly(of_remainder, n - first);
    auto& into = others.empty() ? unfit : order;
    into.push_back(largest);
    into.insert(into.end(), others.begin(), others.end());
  }
  order.insert(order.end(), unfit.begin(), unfit.end());
  return order;
}

std::unique_ptr<Mapping> lattice_strips(const MappingProblem& problem, Objective objective, Index most_work) {
  const Lattice lattice(problem.stencil);
  if (lattice.is_along_axes()) return nullptr;
  // Placing a cell costs about as much as looking at some edges.
  const Index work = problem.grid.size() * (8 + static_cast<Index>(problem.stencil.offsets().size()) / 4);
  if (2 * work > most_work) return nullptr;
  if (lattice.rank() == 1) return table_mapping(problem.nodes, deal_lines(problem, lattice.basis().front()));
  std::vector<Walk> walks;
  std::vector<std::size_t> order(lattice.rank());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double n = static_cast<double>(problem.nodes.ranks()) / static_cast<double>(problem.nodes.nodes());
  do {
    add_walks(order, n, walks);
    if (order.size() > 3) std::ranges::rotate(order, order.begin() + 1);
  } while (order.size() > 3 ? order.front() != 0 : std::ranges::next_permutation(order).found);
  std::ranges::stable_sort(walks, {}, &Walk::oddness);
  CosetStrips strips(problem, lattice);
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  std::vector<NodeId> best;
  std::pair<Index, Index> least;
  const Walk* best_walk = nullptr;
  const auto consider = [&](const Walk& walk) {
    const Score found = score(problem.grid, problem.stencil, node_of_cell);
    std::pair<Index, Index> value(found.j_sum, found.j_max);
    if (objective == Objective::j_max) std::swap(value.first, value.second);
    if (!best.empty() && value >= least) return;
    least = value;
    best = node_of_cell;
    best_walk = &walk;
  };
  Index spent = work;
  for (const Walk& walk : walks) {
    if ((spent += work) > most_work || (!best.empty() && least == std::pair<Index, Index>(0, 0))) break;
    if (strips.deal(walk, node_of_cell)) consider(walk);
  }
  if (best_walk != nullptr && least.first > 0 && work * 4 < most_work && strips.deal_groups(*best_walk, node_of_cell)) {
    consider(*best_walk);
  }
  return best.empty() ? nullptr : table_mapping(problem.nodes, best);
}

std::vector<Index> groups_of(const Grid& grid, std::span<const Coords> offsets) {
  std::vector<Index> root(static_cast<std::size_t>(grid.size()));
  std::iota(root.begin(), root.end(), Index{0});
  const auto find = [&](Index cell) {
    while (root[static_cast<std::size_t>(cell)] != cell) {
      Index& up = root[static_cast<std::size_t>(cell)];
      cell = up = root[static_cast<std::size_t>(up)];
    }
    return cell;
  };
  for (Index cell = 0; cell < grid.size(); ++cell) {
    const Coords at = grid.coords(cell);
    for (const Coords& offset : offsets) {
      const Index other = grid.cell_at_offset(at, offset, 1);
      if (other >= 0) root[static_cast<std::size_t>(find(other))] = find(cell);
    }
  }
  for (Index cell = 0; cell < grid.size(); ++cell) root[static_cast<std::size_t>(cell)] = find(cell);
  return root;
}

StencilNorm::StencilNorm(const Stencil& stencil, std::size_t axes)
    : axes_(std::max(axes, static_cast<std::size_t>(stencil.ndim()))), form_(axes_ * axes_) {
  std::vector<double> q(form_.size());
  for (std::size_t o = 0; o < stencil.offsets().size(); ++o) {
    const Coords& offset = stencil.offsets()[o];
    for (std::size_t i = 0; i < offset.size(); ++i) {
      for (std::size_t k = 0; k < offset.size(); ++k) {
        q[i * axes_ + k] += static_cast<double>(stencil.weights()[o] * offset[i]) * static_cast<double>(offset[k]);
      }
    }
  }
  // Along what the offsets do not span every step is far, but not without end.
  double trace = 0;
  for (std::size_t i = 0; i < axes_; ++i) trace += q[i * axes_ + i];
  const auto ndim = static_cast<std::size_t>(stencil.ndim());
  for (std::size_t i = 0; i < axes_; ++i) q[i * axes_ + i] += i < ndim ? 1e-6 * trace / static_cast<double>(ndim) : trace;
  // The inverse by Gauss and Jordan; the matrix is symmetric and positive.
  for (std::size_t i = 0; i < axes_; ++i) form_[i * axes_ + i] = 1;
  for (std::size_t i = 0; i < axes_; ++i) {
    const double pivot = q[i * axes_ + i];
    for (std::size_t k = 0; k < axes_; ++k) {
      q[i * axes_ + k] /= pivot;
      form_[i * axes_ + k] /= pivot;
    }
    for (std::size_t row = 0; row < axes_; ++row) {
      if (row == i) continue;
      const double factor = q[row * axes_ + i];
      for (std::size_t k = 0; k < axes_; ++k) {
        q[row * axes_ + k] -= factor * q[i * axes_ + k];
        form_[row * axes_ + k] -= factor * form_[i * axes_ + k];
      }
    }
  }
}

}  // namespace rankwise
