#include "mapping/tubes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "mapping/algorithms.hpp"

namespace rankwise {

namespace {

constexpr Index unreachable = std::numeric_limits<Index>::max();

// Whether thicknesses, each used any number of times, can sum to the whole.
bool can_cover(const std::vector<Index>& thicknesses, Index whole) {
  std::vector<bool> reached(static_cast<std::size_t>(whole) + 1, false);
  reached[0] = true;
  for (Index at = 0; at < whole; ++at) {
    if (!reached[static_cast<std::size_t>(at)]) continue;
    for (const Index thickness : thicknesses) {
      if (at + thickness <= whole) reached[static_cast<std::size_t>(at + thickness)] = true;
    }
  }
  return reached[static_cast<std::size_t>(whole)];
}

// The thicknesses that the program may choose from: for each depth of a slab the heights of its tubes.
struct Choice {
  Index depth;
  std::vector<Index> heights;
};

// What a plan with its axes in this order depends on.
std::vector<Index> signature(const MappingProblem& problem, const std::vector<int>& order) {
  std::vector<Index> result;
  for (const int axis : order) result.push_back(problem.grid.dim(axis));
  std::vector<std::vector<Index>> shifts;
  for (std::size_t k = 0; k < problem.stencil.offsets().size(); ++k) {
    std::vector<Index> shift;
    for (const int axis : order) shift.push_back(problem.stencil.offsets()[k][static_cast<std::size_t>(axis)]);
    shift.push_back(problem.stencil.weights()[k]);
    shifts.push_back(std::move(shift));
  }
  std::ranges::sort(shifts);
  for (const auto& shift : shifts) result.insert(result.end(), shift.begin(), shift.end());
  return result;
}

class Planner {
 public:
  Planner(const MappingProblem& problem, const TubeAxes& axes)
      : problem_(problem),
        axes_(axes),
        length_(dim(axes.along)),
        breadth_(dim(axes.across)),
        thickness_(dim(axes.over)),
        layers_(problem.grid.size() / (length_ * breadth_ * thickness_)),
        costs_(problem.stencil, axes) {
    if (!problem.nodes.equal()) {
      first_rank_.reserve(static_cast<std::size_t>(problem.nodes.nodes()) + 1);
      Index rank = 0;
      for (Index node = 0; node < problem.nodes.nodes(); ++node) {
        first_rank_.push_back(rank);
        rank += problem.nodes.size(node);
      }
      first_rank_.push_back(rank);
    }
  }

  std::unique_ptr<TubePlan> plan(Index most_work) {
    choose_thicknesses(most_work);
    Index total = 0;
    Index rank = 0;
    std::vector<Tube> tubes;
    const AxisValues strides = strides_of(problem_.grid);
    // Further axes: one layer after the other, each planned for the ranks that it gets.
    std::vector<std::size_t> further;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(problem_.grid.ndim()); ++axis) {
      const int id = static_cast<int>(axis);
      if (id != axes_.along && id != axes_.across && id != axes_.over) further.push_back(axis);
    }
    for (Index layer = 0; layer < layers_; ++layer) {
      Index cell = 0;
      Index rest = layer;
      for (std::size_t i = further.size(); i-- > 0;) {
        const Index size = problem_.grid.dims()[further[i]];
        cell += rest % size * strides[further[i]];
        rest /= size;
      }
      total += plan_layer(rank, cell, tubes);
      rank += length_ * breadth_ * thickness_;
    }
    return std::make_unique<TubePlan>(std::move(tubes), length_, axes_.over_slowest, total, costs_.work());
  }

 private:
  // A tube's end as the program knows it: which thicknesses, at what cost, reached from where.
  struct State {
    Index cost = unreachable;
    int from = -1;  // index of the state before it, in the row or slab where the tube begins
  };
  struct SlabEnd {
    std::size_t choice;
    std::size_t height;
    Index cost;
  };
  // The states of one slab: one for each end of a tube along b and each height of that tube.
  struct Slab {
    std::vector<State> states;
    std::vector<int> entry;  // for the slab's first tube of each height: which end of the slab before
  };

  [[nodiscard]] Index dim(int axis) const { return axis < 0 ? 1 : problem_.grid.dim(axis); }
  [[nodiscard]] Index stride(int axis) const {
    return axis < 0 ? 0 : strides_of(problem_.grid)[static_cast<std::size_t>(axis)];
  }

  // The node of a rank, and where its ranks begin and end.
  struct Range {
    Index node, begin, end;
  };
  [[nodiscard]] Range node_at(Index rank) const {
    if (problem_.nodes.equal()) {
      const Index n = problem_.nodes.smallest();
      const Index node = rank / n;
      return {node, node * n, node * n + n};
    }
    const auto after = std::ranges::upper_bound(first_rank_, rank);
    return {after - first_rank_.begin() - 1, *(after - 1), *after};
  }

  // What leaves the pieces of nodes in a tube of this shape that begins with this rank.
  Index tube_cost(const TubeShape& shape, Index rank) {
    const Index plane = shape.plane();
    const Index end = rank + plane * length_;
    Index cost = 0;
    Index at = rank;
    Range node = node_at(at);
    const Index head = std::min(node.end, end) - at;
    cost += costs_.leaving(shape, 0, head);
    at += head;
    if (problem_.nodes.equal()) {
      const Index n = problem_.nodes.smallest();
      const Index whole = (end - at) / n;
      const Index cycle = plane / std::gcd(plane, n);
      Index phase = (at - rank) % plane;
      const auto add = [&](Index count) {
        Index sum = 0;
        for (Index i = 0; i < count; ++i) {
          sum += costs_.leaving(shape, phase, n);
          phase = (phase + n) % plane;
        }
        return sum;
      };
      if (whole >= cycle) cost += add(cycle) * (whole / cycle);
      cost += add(whole % cycle);
      at += whole * n;
    } else {
      while (at < end) {
        node = {node.node + 1, node.end, first_rank_[static_cast<std::size_t>(node.node) + 2]};
        if (node.end > end) break;
        cost += costs_.leaving(shape, (at - rank) % plane, node.end - at);
        at = node.end;
      }
    }
    // The last piece ends with the tube's last plane: turned round, it begins with the first.
    if (at < end) cost += costs_.leaving(shape, 0, end - at);
    return cost;
  }

  // What the two pieces of a node on either side of the rank at which the next tube begins send each other.
  Index straddle(const TubeShape& shape, const TubeShape& next, Index rank, bool over) {
    const Range node = node_at(rank);
    if (node.begin == rank) return 0;
    const Index last = std::min(rank - node.begin, shape.plane() * length_);
    const Index first = std::min(node.end - rank, next.plane() * length_);
    return costs_.shared(shape, last, next, first, over);
  }

  // Mean weight that leaves a cell's node in a long tube of that shape.
  double value(const TubeShape& shape) {
    const Index n = std::max<Index>(1, problem_.nodes.ranks() / problem_.nodes.nodes());
    const Index plane = shape.plane();
    const Index cycle = std::min<Index>(plane / std::gcd(plane, n), 6);
    Index sum = 0;
    for (Index i = 0; i < cycle; ++i) sum += costs_.leaving(shape, i * n % plane, n);
    return static_cast<double>(sum) / static_cast<double>(cycle);
  }

  void choose_thicknesses(Index most_work) {
    const Index n = problem_.nodes.largest();
    struct Valued {
      TubeShape shape;
      double value;
    };
    std::vector<Valued> shapes;
    for (Index depth = 1; depth <= std::min(thickness_, n); ++depth) {
      for (Index height = 1; height <= breadth_ && depth * height <= 4 * n; ++height) {
        shapes.push_back({{height, depth}, costs_.leaving_block({height, depth}, n)});
      }
    }
    // The estimate by blocks is quick but rough: what it finds good is looked at closely.
    std::ranges::stable_sort(shapes, {}, &Valued::value);
    constexpr std::size_t looked_at = 120;
    if (shapes.size() > looked_at) shapes.resize(looked_at);
    double best = std::numeric_limits<double>::max();
    for (Valued& shape : shapes) {
      shape.value = value(shape.shape);
      best = std::min(best, shape.value);
    }
    std::ranges::stable_sort(shapes, {}, &Valued::value);
    struct Level {
      double worst;      // value of a shape relative to the best
      std::size_t most;  // heights for a depth, and depths
    };
    constexpr Level levels[] = {{4.0, 120}, {2.5, 120}, {2.0, 120}, {1.7, 32}, {1.5, 20}, {1.35, 14}, {1.25, 10},
                                {1.15, 8},  {1.1, 6},   {1.05, 4},  {1.03, 3}, {1.0, 2},  {1.0, 1}};
    for (const Level& level : levels) {
      choices_.clear();
      for (const Valued& shape : shapes) {
        if (shape.value > best * level.worst) break;
        auto found = std::ranges::find(choices_, shape.shape.depth, &Choice::depth);
        if (found == choices_.end()) {
          if (choices_.size() == level.most) continue;
          found = choices_.insert(choices_.end(), Choice{shape.shape.depth, {}});
        }
        if (found->heights.size() < level.most) found->heights.push_back(shape.shape.height);
      }
      complete_choices();
      if (work_of_choices(n) <= most_work) return;
    }
  }

  // Adds thicknesses for what others cannot cover: the remainders that the best ones leave.
  void complete_choices() {
    std::vector<Index> depths;
    for (Choice& choice : choices_) {
      depths.push_back(choice.depth);
      if (!can_cover(choice.heights, breadth_)) choice.heights.push_back(breadth_ % choice.heights.front());
      std::ranges::sort(choice.heights);
    }
    if (!can_cover(depths, thickness_)) {
      choices_.push_back({thickness_ % choices_.front().depth, choices_.front().heights});
    }
    std::ranges::sort(choices_, {}, &Choice::depth);
  }

  // About how much the program does with these choices, in transitions.
  [[nodiscard]] Index work_of_choices(Index n) const {
    Index ends = 0;
    for (const Choice& choice : choices_) ends += static_cast<Index>(choice.heights.size());
    Index work = 0;
    for (const Choice& choice : choices_) {
      const auto heights = static_cast<Index>(choice.heights.size());
      const Index transitions = layers_ * thickness_ * heights * (breadth_ * heights + ends);
      // A transition of a kind that is new is costed line by line.
      const Index kinds = problem_.nodes.equal() ? heights * (heights + ends) * n : transitions;
      work += transitions + std::min(transitions, kinds) * choice.depth / 4;
      if (problem_.nodes.equal()) continue;
      // Where nodes differ, what a tube holds is costed node by node wherever the tube begins.
      for (const Index height : choice.heights) {
        const Index plane = height * choice.depth;
        const Index pieces = plane * length_ / n + 1;
        const Index lines = plane * (6 + static_cast<Index>(problem_.stencil.offsets().size()) / 2);
        work += layers_ * thickness_ * breadth_ * pieces * (1 + lines / 16);
      }
    }
    return work;
  }

  Index plan_layer(Index rank, Index first_cell, std::vector<Tube>& tubes) {
    const auto slabs = static_cast<std::size_t>(thickness_);
    std::vector<std::vector<SlabEnd>> ends(slabs + 1);
    std::vector<std::vector<Slab>> filled(slabs, std::vector<Slab>(choices_.size()));
    for (std::size_t z = 0; z < slabs; ++z) {
      if (z > 0 && ends[z].empty()) continue;
      for (std::size_t k = 0; k < choices_.size(); ++k) {
        const auto depth = static_cast<std::size_t>(choices_[k].depth);
        if (z + depth > slabs) continue;
        const Index slab_rank = rank + static_cast<Index>(z) * length_ * breadth_;
        fill_slab(slab_rank, k, ends[z], filled[z][k]);
        const std::size_t heights = choices_[k].heights.size();
        for (std::size_t h = 0; h < heights; ++h) {
          const State& state = filled[z][k].states[static_cast<std::size_t>(breadth_) * heights + h];
          if (state.cost != unreachable) ends[z + depth].push_back({k, h, state.cost});
        }
      }
    }
    const auto& last = ends[slabs];
    std::size_t end = 0;
    for (std::size_t i = 1; i < last.size(); ++i) {
      if (last[i].cost < last[end].cost) end = i;
    }
    read_back(rank, first_cell, ends, filled, end, tubes);
    return last[end].cost;
  }

  void fill_slab(Index rank, std::size_t k, const std::vector<SlabEnd>& ends, Slab& slab) {
    const Choice& choice = choices_[k];
    const std::size_t heights = choice.heights.size();
    const auto breadth = static_cast<std::size_t>(breadth_);
    slab.states.assign((breadth + 1) * heights, {});
    slab.entry.assign(heights, -1);
    for (std::size_t h = 0; h < heights; ++h) {
      const TubeShape shape{choice.heights[h], choice.depth};
      Index before = ends.empty() ? 0 : unreachable;
      for (std::size_t e = 0; e < ends.size(); ++e) {
        const Choice& other = choices_[ends[e].choice];
        const Index cost = ends[e].cost - straddle({other.heights[ends[e].height], other.depth}, shape, rank, true);
        if (cost >= before) continue;
        before = cost;
        slab.entry[h] = static_cast<int>(e);
      }
      slab.states[static_cast<std::size_t>(shape.height) * heights + h].cost = before + tube_cost(shape, rank);
    }
    for (std::size_t y = 1; y < breadth; ++y) {
      const Index tube_rank = rank + static_cast<Index>(y) * choice.depth * length_;
      for (std::size_t next = 0; next < heights; ++next) {
        const TubeShape next_shape{choice.heights[next], choice.depth};
        const std::size_t end = y + static_cast<std::size_t>(next_shape.height);
        if (end > breadth) continue;
        State best;
        for (std::size_t h = 0; h < heights; ++h) {
          const State& state = slab.states[y * heights + h];
          if (state.cost == unreachable) continue;
          const Index cost = state.cost - straddle({choice.heights[h], choice.depth}, next_shape, tube_rank, false);
          if (cost < best.cost) best = {cost, static_cast<int>(h)};
        }
        if (best.cost == unreachable) continue;
        best.cost += tube_cost(next_shape, tube_rank);
        slab.states[end * heights + next] = best;
      }
    }
  }

  void read_back(Index rank, Index first_cell, const std::vector<std::vector<SlabEnd>>& ends,
                 const std::vector<std::vector<Slab>>& filled, std::size_t end, std::vector<Tube>& tubes) {
    struct Chosen {
      Index z, y;
      TubeShape shape;
    };
    std::vector<Chosen> chosen;
    Index z = thickness_;
    while (z > 0) {
      const SlabEnd& slab_end = ends[static_cast<std::size_t>(z)][end];
      const Choice& choice = choices_[slab_end.choice];
      z -= choice.depth;
      const Slab& slab = filled[static_cast<std::size_t>(z)][slab_end.choice];
      Index y = breadth_;
      std::size_t h = slab_end.height;
      for (;;) {
        const State& state = slab.states[static_cast<std::size_t>(y) * choice.heights.size() + h];
        y -= choice.heights[h];
        chosen.push_back({z, y, {choice.heights[h], choice.depth}});
        if (y == 0) break;
        h = static_cast<std::size_t>(state.from);
      }
      end = static_cast<std::size_t>(std::max(0, slab.entry[h]));
    }
    std::ranges::reverse(chosen);
    bool back = false;   // the next tube runs against axis a
    bool turned = true;  // its slab is walked against axis b
    Index last_z = -1;
    for (const Chosen& tube : chosen) {
      if (tube.z != last_z) turned = !turned;
      last_z = tube.z;
      const Index y = turned ? breadth_ - 1 - tube.y : tube.y;
      const Index cell =
          first_cell + tube.z * stride(axes_.over) + y * stride(axes_.across) + (back ? length_ - 1 : 0) * stride(axes_.along);
      tubes.push_back({rank, cell, tube.shape, back ? -stride(axes_.along) : stride(axes_.along),
                       turned ? -stride(axes_.across) : stride(axes_.across), stride(axes_.over)});
      rank += tube.shape.plane() * length_;
      back = !back;
    }
  }

  const MappingProblem& problem_;
  TubeAxes axes_;
  Index length_;
  Index breadth_;
  Index thickness_;
  Index layers_;
  TubeCosts costs_;
  std::vector<Index> first_rank_;  // of each node and beyond the last; empty where all nodes are equal
  std::vector<Choice> choices_;
};

}  // namespace

TubePlan::TubePlan(std::vector<Tube> tubes, Index length, bool over_slowest, Index cost, Index work)
    : tubes_(std::move(tubes)), length_(length), over_slowest_(over_slowest), cost_(cost), work_(work) {
  const Tube& last = tubes_.back();
  const Index ranks = last.first_rank + last.shape.plane() * length_;
  while ((ranks >> bucket_bits_) > static_cast<Index>(tubes_.size())) ++bucket_bits_;
  std::uint32_t tube = 0;
  for (Index rank = 0; rank < ranks; rank += Index{1} << bucket_bits_) {
    while (tube + 1 < tubes_.size() && tubes_[tube + 1].first_rank <= rank) ++tube;
    tube_of_bucket_.push_back(tube);
  }
}

Index TubePlan::cell_of_rank(Index rank) const {
  std::size_t at = tube_of_bucket_[static_cast<std::size_t>(rank >> bucket_bits_)];
  while (at + 1 < tubes_.size() && tubes_[at + 1].first_rank <= rank) ++at;
  const Tube& tube = tubes_[at];
  rank -= tube.first_rank;
  const Index plane = tube.shape.plane();
  const Index along = rank / plane;
  const Index place = rank - along * plane;
  Index across = place;
  Index over = 0;
  if (tube.shape.depth > 1) {
    if (over_slowest_) {
      over = place / tube.shape.height;
      across = place - over * tube.shape.height;
    } else {
      across = place / tube.shape.depth;
      over = place - across * tube.shape.depth;
    }
  }
  return tube.first_cell + along * tube.step_along + across * tube.step_across + over * tube.step_over;
}

void TubePlan::all_runs(RunSink& sink) const {
  for (const Tube& tube : tubes_) {
    const auto [height, depth] = tube.shape;
    const bool by_rows = over_slowest_ || depth == 1;
    const Index lines = by_rows ? depth : height;
    const Index line_step = by_rows ? tube.step_over : tube.step_across;
    const Index cell_step = by_rows ? tube.step_across : tube.step_over;
    const Index cells = by_rows ? height : depth;
    Index plane = tube.first_cell;
    for (Index along = 0; along < length_; ++along, plane += tube.step_along) {
      for (Index line = 0; line < lines; ++line) sink.run(plane + line * line_step, cell_step, cells);
    }
  }
}

std::unique_ptr<TubePlan> plan_tubes(const MappingProblem& problem, const TubeAxes& axes, Index most_work) {
  return Planner(problem, axes).plan(most_work);
}

std::vector<TubeAxes> tube_axes(const MappingProblem& problem) {
  const Grid& grid = problem.grid;
  // Axes of one cell play no part; of more than three the longest do.
  std::vector<int> order(static_cast<std::size_t>(grid.ndim()));
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int axis) { return grid.dim(axis) == 1; });
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](int axis) { return grid.dim(axis); });
  if (order.size() > 3) order.resize(3);
  if (order.empty()) return {{0, -1, -1, false}};
  std::ranges::sort(order);
  std::vector<TubeAxes> found;
  // Axes of equal size that communicate alike give the same plan in either role.
  std::set<std::vector<Index>> seen;
  do {
    TubeAxes axes{order[0], order.size() > 1 ? order[1] : -1, order.size() > 2 ? order[2] : -1, false};
    if (!seen.insert(signature(problem, order)).second) continue;
    found.push_back(axes);
    if (order.size() < 3) continue;
    axes.over_slowest = true;
    found.push_back(axes);
  } while (std::ranges::next_permutation(order).found);
  return found;
}

}  // namespace rankwise
