
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "mapping/effort.hpp"
#include "mapping/isoperimetry.hpp"
#include "mapping/lattice.hpp"
#include "mapping/mapping.hpp"

namespace rankwise {

namespace {

// Node sizes up to which dynamic programs are worth their time, which grows like the square.
constexpr Index largest_by_program = 512;
// Edges up to which the components of the cells that talk are looked for.
constexpr Index most_joined = 4'000'000;

// The weight of the edges that lead out of open axes.
Index weight_cut_off(const Grid& grid, const Stencil& stencil) {
  Index all = 0;
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    const Coords& offset = stencil.offsets()[k];
    bool leads_away = false;
    for (int axis = 0; axis < grid.ndim(); ++axis) {
      const Index step = offset[static_cast<std::size_t>(axis)];
      leads_away = leads_away || (grid.periodic(axis) ? step % grid.dim(axis) : step) != 0;
    }
    if (leads_away) all += stencil.weights()[k] * grid.size();
  }
  return all - total_edges(grid, stencil);
}

// The largest of all m(n) that hold, for each n.
class Sets {
 public:
  Sets(const Grid& grid, Pairs pairs, Index most)
      : grid_(grid), pairs_(std::move(pairs)), least_(static_cast<std::size_t>(most) + 1, 0) {
    std::vector<std::size_t> order(static_cast<std::size_t>(grid.ndim()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Which axis comes last matters from 3-D on, the order of the others hardly.
    for (std::size_t turn = 0; turn < (order.size() < 3 ? 1 : order.size()); ++turn) {
      raise(least_by_layers(pairs_, grid, order, most));
      std::ranges::rotate(order, order.begin() + 1);
    }
    if (are_layers_best()) return;
    bool is_open = true;
    for (int axis = 0; axis < grid.ndim(); ++axis) is_open = is_open && !grid.periodic(axis);
    raise_endless(least_by_sets(pairs_, most));
    if (grid.ndim() == 3) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        Pairs rest = pairs_;
        Least moore = least_of_moore3(rest, grid, axis, most);
        const Least more = least_by_sets(rest, most);
        for (std::size_t n = 0; n < moore.size(); ++n) {
          moore[n] += std::max<Index>(0, more[n] - loss(grid, rest, static_cast<Index>(n)));
        }
        raise(moore);
      }
    }
    by_lines(pairs_, is_open);
    const Pairs short_ones = along_short_vectors();
    if (!short_ones.empty() && short_ones != pairs_) by_lines(short_ones, false);
  }

  [[nodiscard]] Index least(Index n) const { return least_[static_cast<std::size_t>(n)]; }
  // What a set of n cells may send less than in the endless grid.
  [[nodiscard]] static Index loss(const Grid& grid, const Pairs& pairs, Index n) {
    Index lost = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.ndim()); ++axis) {
      if (!grid.periodic(static_cast<int>(axis))) continue;
      Index reach = 0;
      Index crossing = 0;
      for (const auto& [offset, weight] : pairs) {
        reach = std::max(reach, std::abs(offset[axis]));
        crossing += weight * std::abs(offset[axis]);
      }
      if (n * reach >= grid.dims()[axis]) lost += n * crossing / grid.dims()[axis];
    }
    return lost;
  }

 private:
  // Whether all is sent along axes, less the further it leads: then nothing else comes closer.
  [[nodiscard]] bool are_layers_best() const {
    return std::ranges::all_of(pairs_, [&](const auto& pair) {
      Coords nearer = pair.first;
      if (std::ranges::count(nearer, 0) != grid_.ndim() - 1) return false;
      Index& step = *std::ranges::find_if(nearer, [](Index component) { return component != 0; });
      if (--step == 0) return true;
      const auto found = pairs_.find(nearer);
      return found != pairs_.end() && found->second >= pair.second;
    });
  }

  void raise(const Least& other) {
    for (std::size_t n = 0; n < other.size(); ++n) least_[n] = std::max(least_[n], other[n]);
  }

  void raise_endless(Least other) {
    for (std::size_t i = 0; i < other.size(); ++i) {
      const auto n = static_cast<Index>(i);
      other[i] = std::max(other[i] - loss(grid_, pairs_, n), std::min(other[i], least_around(pairs_, grid_, n)));
    }
    raise(other);
  }

  void by_lines(const Pairs& pairs, bool is_open) {
    if (pairs.begin()->first.size() != 2) return;
    const auto most = static_cast<Index>(least_.size()) - 1;
    raise_endless(least_by_lines(pairs, is_open ? grid_.dims()[1] : most, most));
    Pairs turned;
    for (const auto& [offset, weight] : pairs) {
      Coords other{offset[1], offset[0]};
      if (other[0] < 0 || (other[0] == 0 && other[1] < 0)) other = {-other[0], -other[1]};
      turned[other] += weight;
    }
    if (turned != pairs || is_open) raise_endless(least_by_lines(turned, is_open ? grid_.dims()[0] : most, most));
  }

  // The pairs by their coordinates in the reduced basis of the lattice that they span.
  [[nodiscard]] Pairs along_short_vectors() const {
    std::vector<Coords> offsets;
    std::vector<Index> weights;
    for (const auto& [offset, weight] : pairs_) {
      offsets.push_back(offset);
      weights.push_back(std::min<Index>(weight, Index{1} << 20));
    }
    const Lattice lattice(Stencil(grid_.ndim(), offsets, weights));
    Pairs result;
    for (const auto& [offset, weight] : pairs_) {
      Coords rest = offset;
      Coords place(lattice.rank());
      lattice.reduce(rest, place);
      if (*std::ranges::find_if(place, [](Index component) { return component != 0; }) < 0) {
        for (Index& component : place) component = -component;
      }
      result[place] += weight;
    }
    return result;
  }

  const Grid& grid_;
  Pairs pairs_;
  Least least_;
};

// Cells that send along one axis only form lines. Lines and the equal nodes that share them hang together in groups,
// each of whole lines and whole nodes, hence at most gcd(nodes, lines) groups; within a group every node beyond those
// that a tree of lines and nodes needs cuts a line once.
Index by_lines(const MappingProblem& problem, const Pairs& pairs) {
  const Grid& grid = problem.grid;
  if (!problem.nodes.equal()) return 0;
  Coords along(static_cast<std::size_t>(grid.ndim()), 0);
  std::size_t sending = along.size();
  for (std::size_t axis = 0; axis < along.size(); ++axis) {
    along[axis] = 1;
    if (pairs.contains(along)) sending = axis;
    along[axis] = 0;
  }
  if (sending == along.size()) return 0;
  along[sending] = 1;
  for (const auto& [offset, weight] : pairs) {
    if (std::ranges::count(offset, 0) + 1 != grid.ndim() || offset[sending] == 0) return 0;
  }
  const Index lines = grid.size() / grid.dims()[sending];
  const Index nodes = problem.nodes.nodes();
  return pairs.at(along) * (nodes - std::gcd(nodes, lines));
}

// A group of cells that talk cannot lie on fewer nodes than hold it, and each further node that shares it cuts it; nor are
// nodes and groups, joined where they meet, in more pieces than there are groups.
Index by_components(const MappingProblem& problem, const Pairs& pairs) {
  const Grid& grid = problem.grid;
  if (grid.size() > most_joined / static_cast<Index>(pairs.size())) return 0;
  std::vector<Coords> offsets;
  for (const auto& [offset, weight] : pairs) offsets.push_back(offset);
  std::vector<Index> cells(static_cast<std::size_t>(grid.size()), 0);
  for (const Index group : groups_of(grid, offsets)) ++cells[static_cast<std::size_t>(group)];
  Index cuts = 0;
  Index groups = 0;
  for (const Index size : cells) {
    if (size == 0) continue;
    ++groups;
    cuts += (size - 1) / problem.nodes.largest();
  }
  Index lightest = std::numeric_limits<Index>::max();
  for (const auto& [offset, weight] : pairs) lightest = std::min(lightest, weight);
  return lightest * std::max(cuts, problem.nodes.nodes() - groups);
}

}  // namespace

Bound lower_bound(const MappingProblem& problem) {
  const Grid& grid = problem.grid;
  const NodeSizes& nodes = problem.nodes;
  if (nodes.nodes() == 1) return {0, "isoperimetric"};
  const Pairs pairs = pairs_of(problem.stencil, grid);
  if (pairs.empty()) return {0, "isoperimetric"};
  const bool small = nodes.largest() <= largest_by_program;
  std::map<Index, Index> nodes_of_size;
  if (nodes.equal()) {
    nodes_of_size[nodes.smallest()] = nodes.nodes();
  } else {
    for (Index node = 0; node < nodes.nodes(); ++node) ++nodes_of_size[nodes.size(node)];
  }
  const auto sum = [&](const auto& least) {
    Index all = 0;
    for (const auto& [size, count] : nodes_of_size) all += count * std::max<Index>(0, least(size));
    return all;
  };
  Bound best{0, small ? "isoperimetric" : "projections"};
  const auto consider = [&](Index j_sum, std::string_view kind) {
    if (j_sum > best.j_sum) best = {j_sum, kind};
  };
  const Index cut_off = weight_cut_off(grid, problem.stencil);
  if (small) {
    const Sets sets(grid, pairs, nodes.largest());
    consider(sum([&](Index size) { return sets.least(size); }) - cut_off, best.kind);
    std::vector<std::size_t> order(static_cast<std::size_t>(grid.ndim()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Least within = least_by_layers(pairs, grid, order, nodes.largest(), true);
    if (!within.empty()) {
      consider((sum([&](Index size) { return within[static_cast<std::size_t>(size)]; }) + 1) / 2, best.kind);
    }
  } else {
    const auto by_size = [&](Index size) { return least_by_projections(pairs, size) - Sets::loss(grid, pairs, size); };
    consider(sum(by_size) - cut_off, best.kind);
  }
  consider(by_lines(problem, pairs), "lines");
  if (best.j_sum < pairs.begin()->second * nodes.nodes()) consider(by_components(problem, pairs), "components");
  return best;
}

MappingOptions by_clock(double seconds, double (*now_s)()) {
  MappingOptions result;
  result.steps = static_cast<Index>(std::min(seconds, 1e9) * static_cast<double>(steps_per_second));
  if (seconds > 0) result.left_s = [end_s = now_s() + seconds, now_s] { return end_s - now_s(); };
  return result;
}

MappingOptions first_half(const MappingOptions& options) {
  MappingOptions half = options;
  half.steps /= 2;
  if (options.left_s) half.left_s = [all = options.left_s, kept = options.left_s() / 2] { return all() - kept; };
  return half;
}

Index worthwhile_steps(const MappingProblem& problem) {
  MappingOptions none;
  none.steps = 0;
  const auto best = mapping_algorithm("auto").prepare(problem, none);
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  fill_node_of_cell(*best, problem.nodes, node_of_cell);
  const Index to_gain = score(problem.grid, problem.stencil, node_of_cell).j_sum - lower_bound(problem).j_sum;
  // A message of mean weight is one message.
  const double offsets = static_cast<double>(problem.stencil.offsets().size());
  const double messages = static_cast<double>(to_gain) * offsets / static_cast<double>(problem.stencil.total_weight());
  const double seconds = std::clamp(1e-3 * messages / static_cast<double>(problem.nodes.nodes()), 1e-3, 1.0);
  return static_cast<Index>(seconds * static_cast<double>(steps_per_second));
}

}  // namespace rankwise
