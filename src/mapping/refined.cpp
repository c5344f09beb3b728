// Refined: the best of all constructions, improved by a search that keeps the node sizes.
//
// Constructions: tubes of thicknesses chosen by a dynamic program (tubes.hpp) along every choice of axes, and the
// algorithms of hunold2020. Where the grid is too large for the effort to improve anything, the tubes alone remain:
// they take time and memory that grow like the sides of the grid, and give one rank's cell by a search among the tubes.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>

#include "mapping/algorithms.hpp"
#include "mapping/graph.hpp"
#include "mapping/graph_search.hpp"
#include "mapping/isoperimetry.hpp"
#include "mapping/lattice.hpp"
#include "mapping/mapping.hpp"
#include "mapping/search.hpp"
#include "mapping/tubes.hpp"

namespace rankwise {

namespace {

std::vector<std::unique_ptr<Mapping>> other_constructions(const MappingProblem& problem, const MappingOptions& options) {
  std::vector<std::unique_ptr<Mapping>> found;
  for (const auto prepare : {prepare_blocked, prepare_hyperplane, prepare_kd_tree, prepare_stencil_strips_paper,
                             prepare_stencil_strips_code, prepare_nodecart}) {
    try {
      found.push_back(prepare(problem));
    } catch (const std::invalid_argument&) {  // it cannot handle the problem
    }
  }
  // Where messages go so far that no shape helps, chance may do better than any of them.
  found.push_back(prepare_random(problem, options));
  return found;
}

// A bound ends the search where nothing is left to gain; it must not take the search's time.
Index quick_bound(const MappingProblem& problem, Index steps) {
  const Index size = problem.nodes.largest();
  const bool is_thick = problem.grid.ndim() == 3 && problem.stencil.offsets().size() >= 26;  // by level sets
  return size * size * (problem.grid.ndim() * 40 + (is_thick ? 40 * size : 0)) < steps ? lower_bound(problem).j_sum : 0;
}

std::vector<std::unique_ptr<Mapping>> only(std::unique_ptr<Mapping> mapping) {
  std::vector<std::unique_ptr<Mapping>> result;
  result.push_back(std::move(mapping));
  return result;
}

// The grid as any graph, made once.
struct AsGraph {
  explicit AsGraph(const MappingProblem& problem) : cells(problem.grid, problem.stencil), traffic(traffic_of(cells)) {
    for (Index node = 0; node < problem.nodes.nodes(); ++node) tree.sizes.push_back(problem.nodes.size(node));
  }

  StencilGraph cells;
  WeightedGraph traffic;
  NodeTree tree;
};

bool is_light(const MappingProblem& problem) {
  return StencilGraph::fits(problem.grid, problem.stencil) &&
         total_edges(problem.grid, problem.stencil) < Index{1} << 29;  // both ways together are counted in 31 bits
}

// Making the graph and passing over it takes so many steps an edge.
constexpr Index steps_of_graph = 8;

// How far anything is sent, in the lattice's short vectors.
Index reach(const MappingProblem& problem) {
  const Lattice lattice(problem.stencil);
  Index most = 0;
  Coords place(lattice.rank());
  for (Coords offset : problem.stencil.offsets()) {
    lattice.reduce(offset, place);
    for (const Index step : place) most = std::max(most, std::abs(step));
  }
  return most;
}

// Whether messages stay near in the grid: planes through it cut few of them.
bool stays_near(const MappingProblem& problem) {
  for (const Coords& offset : problem.stencil.offsets()) {
    for (std::size_t axis = 0; axis < offset.size(); ++axis) {
      if (4 * std::abs(offset[axis]) > problem.grid.dims()[axis]) return false;
    }
  }
  return reach(problem) <= 3;
}

// Whether tubes or strips are what fits: few axes, and all goes to cells that touch by the lattice's short vectors.
bool suits_strips(const MappingProblem& problem) { return problem.grid.ndim() <= 3 && reach(problem) <= 1; }

// The grid divided as any graph, halves by planes first: the more of these, the quicker. Tries one way after the other while
// there is time: by the clock as long as the last ones took, else by steps.
class Divisions {
 public:
  // budget: steps, or with a clock the seconds that are to be left in the end.
  Divisions(const MappingProblem& problem, const AsGraph& graph, const MappingOptions& options, Index most_steps,
            double until_left_s)
      : problem_(problem), graph_(graph), options_(options), most_steps_(most_steps), until_left_s_(until_left_s) {}

  // Some found, the best first; none where there was no time for any.
  std::vector<GraphMap> best() {
    const Index deepest = halvings(problem_.nodes.nodes());
    // Groups of about eight nodes are often best, or no planes at all, or a few; what leads far crosses many planes.
    for (const Index planes : {is_near_ ? deepest - 4 : 0, is_near_ ? 0 : deepest - 4, Index{2}, deepest - 5, Index{3}}) {
      if (planes >= 0 && planes < deepest && !tried_[static_cast<std::size_t>(planes)]) attempt(planes);
    }
    for (Index planes = std::max<Index>(0, deepest - 3); best_.empty() && planes < deepest - 1; ++planes) attempt(planes);
    const std::uint64_t last = seed_ + (options_.left_s ? 40 : 2);
    while (!best_.empty() && seed_ < last) {
      ++seed_;
      if (!attempt(0)) break;
    }
    return std::move(best_);
  }
  [[nodiscard]] Index spent() const { return spent_; }

 private:
  bool attempt(Index planes) {
    const Index cost = multisect_steps(problem_.grid.size(), static_cast<Index>(graph_.cells.edge_count()),
                                       problem_.nodes.nodes(), options_.hasty, planes);
    const double begun_s = options_.left_s ? options_.left_s() : 0;
    // Where planes cut much, the first division without them is worth nearly all of the time.
    const double until_left_s = is_near_ || planes > 0 || !best_.empty() ? until_left_s_ : until_left_s_ / 6;
    const double needed_s = slowness_ * static_cast<double>(cost) / static_cast<double>(steps_per_second);
    if (options_.left_s ? begun_s - needed_s < until_left_s : spent_ + cost > most_steps_) return false;
    tried_[static_cast<std::size_t>(planes)] = true;
    MappingOptions own{.seed = seed_, .hasty = options_.hasty};
    GraphMap found(graph_.traffic, graph_.tree, [&] {
      if (planes == 0) return multisect(graph_.traffic, graph_.tree, own);
      const GridGroups groups = grouped_by_planes(problem_, static_cast<int>(planes));
      return multisect_within(graph_.traffic, graph_.tree, own, groups.of_cell, groups.first_nodes);
    }());
    spent_ += cost;
    if (options_.left_s) {
      slowness_ = (begun_s - options_.left_s()) * static_cast<double>(steps_per_second) / static_cast<double>(cost);
    }
    const auto place = std::ranges::upper_bound(best_, found.cost(), {}, &GraphMap::cost);
    best_.insert(place, std::move(found));
    if (best_.size() > kept) best_.pop_back();
    return true;
  }

  static constexpr std::size_t kept = 4;

  const MappingProblem& problem_;
  const AsGraph& graph_;
  const MappingOptions& options_;
  Index most_steps_;
  double until_left_s_;
  bool is_near_ = stays_near(problem_);
  std::uint64_t seed_ = options_.seed;
  std::array<bool, 64> tried_{};
  double slowness_ = 1.15;
  Index spent_ = 0;
  std::vector<GraphMap> best_;
};

// Starts that know nothing of axes, where no strip or tube is good: with a share of the effort. None where that is too little.
// least: the j_sum of the best start so far.
std::vector<std::unique_ptr<Mapping>> graph_starts(const MappingProblem& problem, const AsGraph& graph, Index effort,
                                                   std::int64_t least, MappingOptions& left) {
  std::vector<std::unique_ptr<Mapping>> starts;
  if (problem.nodes.nodes() < 2) return starts;
  const bool is_short = effort < steps_per_second / 5;
  // Much of a short effort is well spent on it, unless strips are better anyway; without a clock it comes on top of one.
  const Index free = left.left_s ? 0 : std::min(effort * 2, steps_per_second / 50);
  const double share = !is_short ? 0.25 : suits_strips(problem) ? 0.3 : 0.7;
  MappingOptions options = left;
  options.hasty = is_short;
  Divisions divisions(problem, graph, options, free + std::max<Index>(0, left.steps / 4),
                      left.left_s ? left.left_s() * (1 - share) : 0);
  std::vector<GraphMap> found = divisions.best();
  left.steps -= std::max<Index>(0, divisions.spent() - free);
  // With little time what is found is better searched as a grid, and what is far from the best will not come up to it.
  if (!is_short && !found.empty() && found.front().cost() < least + least / 20) {
    MappingOptions further{.steps = std::min(effort, steps_per_second) / 4, .seed = left.seed};
    left.steps -= further.steps;
    if (left.left_s) further.stop = [all = left.left_s, kept = left.left_s() / 2] { return all() <= kept; };
    improve(found.front(), further);
  }
  for (const GraphMap& map : found) starts.push_back(table_mapping(problem.nodes, map.nodes()));
  return starts;
}

// A map after passes over all cells, each of which goes where it gains most.
std::unique_ptr<Mapping> smoothed(const MappingProblem& problem, const AsGraph& graph, std::vector<NodeId> node_of_cell) {
  GraphMap map(graph.traffic, graph.tree, std::move(node_of_cell));
  smooth(map, std::clamp<Index>(problem.nodes.smallest() / 8, 1, 4), 8);
  repair(map);
  return table_mapping(problem.nodes, map.nodes());
}

// What constructions and a short search need beyond a short effort, within the 50 ms that an effort may be exceeded by.
MappingOptions with_room(const MappingOptions& options, Index edges) {
  constexpr Index room = steps_per_second * 35 / 1000;
  MappingOptions result = options;
  if (!options.left_s || options.steps == 0) return result;
  const Index more = std::min(room, 4000 * edges);
  result.steps += more;
  result.left_s = [all = options.left_s, more_s = static_cast<double>(more) / static_cast<double>(steps_per_second)] {
    return all() + more_s;
  };
  return result;
}

// Maps by what they are worth, the best first.
class Ranked {
 public:
  Ranked(const MappingProblem& problem, Objective objective)
      : problem_(problem), objective_(objective), node_of_cell_(static_cast<std::size_t>(problem.grid.size())) {}

  void add(std::unique_ptr<Mapping> mapping) {
    fill_node_of_cell(*mapping, problem_.nodes, node_of_cell_);
    const Score found = score(problem_.grid, problem_.stencil, node_of_cell_);
    const auto before = [&](const Entry& a, const Entry& b) { return value(a.score) < value(b.score); };
    Entry entry{found, std::move(mapping)};
    const auto place = std::upper_bound(entries_.begin(), entries_.end(), entry, before);
    entries_.insert(place, std::move(entry));
  }
  [[nodiscard]] const Score& least() const { return entries_.front().score; }
  // The nodes of the best, or of one after it.
  std::vector<NodeId>& nodes(std::size_t which = 0) {
    fill_node_of_cell(*entries_[which].mapping, problem_.nodes, node_of_cell_);
    return node_of_cell_;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Which one has the smallest j_sum, or j_max.
  [[nodiscard]] std::size_t least_sum() const { return least_by(&Score::j_sum); }
  [[nodiscard]] std::size_t most_even() const { return least_by(&Score::j_max); }
  std::unique_ptr<Mapping> take_best() { return std::move(entries_.front().mapping); }

 private:
  struct Entry {
    Score score;
    std::unique_ptr<Mapping> mapping;
  };
  [[nodiscard]] std::size_t least_by(Index Score::* count) const {
    const auto least = std::ranges::min_element(entries_, {}, [&](const Entry& entry) { return entry.score.*count; });
    return static_cast<std::size_t>(least - entries_.begin());
  }
  [[nodiscard]] std::pair<Index, Index> value(const Score& found) const {
    return objective_ == Objective::j_sum ? std::pair(found.j_sum, found.j_max) : std::pair(found.j_max, found.j_sum);
  }

  const MappingProblem& problem_;
  Objective objective_;
  std::vector<NodeId> node_of_cell_;
  std::vector<Entry> entries_;
};

std::vector<std::unique_ptr<Mapping>> refined_maps(const MappingProblem& problem, const MappingOptions& asked, bool is_front) {
  const Index edges = problem.grid.size() * static_cast<Index>(problem.stencil.offsets().size());
  const MappingOptions options = with_room(asked, edges);
  const std::vector<TubeAxes> axes = tube_axes(problem);
  const Index plan_work = std::max<Index>(120'000, options.steps / 100) / static_cast<Index>(axes.size());
  std::vector<std::unique_ptr<TubePlan>> plans;
  MappingOptions left = options;
  // Most of the effort is for what follows, and little of it for tubes along axes where strips along short vectors are better.
  const Index share = options.steps / (Lattice(problem.stencil).is_along_axes() ? 4 : 16);
  const double begun_s = options.left_s ? options.left_s() : 0;
  for (const TubeAxes& choice : axes) {
    if (!plans.empty() && options.steps - left.steps > std::max(share, steps_per_second / 720)) break;
    if (!plans.empty() && options.left_s && options.left_s() < begun_s * 3 / 4) break;
    plans.push_back(plan_tubes(problem, choice, plan_work));
    left.steps -= plans.back()->work() / 4;  // what a plan counts takes less time than a step
  }
  std::ranges::stable_sort(plans, {}, [](const auto& plan) { return plan->cost(); });

  // By the clock there must be time for all constructions.
  if (edges * (options.left_s ? 8 : 1) > options.steps) return only(std::move(plans.front()));
  Ranked maps(problem, options.objective);
  for (auto& other : other_constructions(problem, options)) maps.add(std::move(other));
  // Strips are at their best in the plane.
  const Index most = problem.grid.ndim() < 3 ? options.steps / 2 : std::min(options.steps / 2, steps_per_second / 180);
  const Index strips_work = std::max(options.steps / 8, suits_strips(problem) ? most : 0);
  if (auto strips = lattice_strips(problem, options.objective, strips_work)) maps.add(std::move(strips));
  if (auto tiles = paved(problem, options.steps / 3)) maps.add(std::move(tiles));
  // What a plan says that it costs is nearly exact.
  constexpr std::size_t plans_scored = 4;
  for (std::size_t i = 0; i < std::min(plans_scored, plans.size()); ++i) maps.add(std::move(plans[i]));
  // Tubes are one cell thick along further axes than three.
  if (problem.grid.ndim() > 3 && problem.grid.size() * 10 * halvings(problem.nodes.nodes()) < options.steps / 2) {
    maps.add(halved_by_planes(problem));
  }
  const Index planned = options.steps - left.steps;
  const auto by_the_clock = [&] {
    if (left.left_s) left.steps = static_cast<Index>(std::max(0.0, left.left_s()) * static_cast<double>(steps_per_second));
  };
  by_the_clock();
  std::optional<AsGraph> graph;
  if (is_light(problem) && steps_of_graph * edges < left.steps) {
    graph.emplace(problem);
    if (options.objective == Objective::j_sum) {
      // Cells of different cosets never talk, and nodes may take whole ones.
      if (!Lattice(problem.stencil).is_along_axes() && problem.grid.size() * problem.grid.size() < left.steps / 8) {
        maps.add(table_mapping(problem.nodes, dealt_in_pieces(graph->traffic, graph->tree)));
      }
      for (auto& divided : graph_starts(problem, *graph, options.steps, maps.least().j_sum, left)) maps.add(std::move(divided));
      // A long search comes further from a regular start.
      maps.add(smoothed(problem, *graph, maps.nodes()));
    }
  }
  by_the_clock();
  const bool is_for_sum = options.objective == Objective::j_sum && !is_front;
  const bool by_windows = prefers_windows(problem, left.steps) && (is_for_sum || problem.grid.size() > 20'000);
  if (by_windows || edges > left.steps / 16 || !graph) {
    const Index bound = quick_bound(problem, left.steps);
    Effort effort(left);
    if (!by_windows || (is_for_sum && maps.least().j_sum == bound) || effort.over()) return only(maps.take_best());
    std::vector<std::vector<NodeId>> found;
    const auto improve = [&](std::vector<NodeId> node_of_cell, Objective objective, MappingOptions given) {
      given.objective = objective;
      Effort own(given);
      improve_by_windows(problem, node_of_cell, given, own);
      effort.spend(own.spent());
      found.push_back(std::move(node_of_cell));
    };
    const auto rest = [&] {
      MappingOptions given = left;
      given.steps = std::max<Index>(0, given.steps - effort.spent());
      return given;
    };
    if (is_for_sum) {
      improve(maps.nodes(), Objective::j_sum, left);
    } else {  // what sends little is uneven: from it, and from what is even
      const std::size_t even = maps.most_even();
      improve(maps.nodes(maps.least_sum()), Objective::j_sum, first_half(left));
      improve(found.front(), Objective::j_max, first_half(rest()));
      improve(maps.nodes(even), Objective::j_max, rest());
    }
    std::vector<std::unique_ptr<Mapping>> result;
    if (is_front) {
      for (const auto& nodes : found) {
        result.push_back(annotated(table_mapping(problem.nodes, nodes), effort.spent() + planned));
      }
      return result;
    }
    for (const auto& nodes : found) maps.add(table_mapping(problem.nodes, nodes));
    return only(annotated(maps.take_best(), effort.spent() + planned));
  }
  const StencilGraph& cells = graph->cells;
  std::vector<Partition> starts;
  constexpr std::size_t searched = 6;
  const std::size_t count = is_front ? maps.size() : std::min(searched, maps.size());
  for (std::size_t i = 0; i < count; ++i) starts.emplace_back(cells, problem.nodes, maps.nodes(i));
  Effort effort(left);
  const Index bound = quick_bound(problem, left.steps);
  std::vector<Partition> found;
  if (is_front) {
    found = search_front(std::move(starts), left, bound, effort);
  } else {
    // With much time half of it is for windows, which find what a search as a whole is too slow for.
    const bool both = is_for_sum && pays_windows(problem, left.steps);
    const MappingOptions whole = both ? first_half(left) : left;
    Effort first(whole);
    found.push_back(search(std::move(starts), whole, bound, first));
    effort.spend(first.spent());
    if (both && found.front().j_sum() > bound) {
      std::vector<NodeId> node_of_cell(found.front().part_of_cell().begin(), found.front().part_of_cell().end());
      improve_by_windows(problem, node_of_cell, left, effort);
      found.front() = Partition(cells, problem.nodes, node_of_cell);
    }
  }
  std::vector<std::unique_ptr<Mapping>> result;
  for (const Partition& map : found) {
    result.push_back(annotated(table_mapping(problem.nodes, map.part_of_cell()), effort.spent() + planned));
  }
  return result;
}

}  // namespace

std::unique_ptr<Mapping> prepare_refined(const MappingProblem& problem, const MappingOptions& options) {
  return std::move(refined_maps(problem, options, false).front());
}

std::vector<std::unique_ptr<Mapping>> refined_front(const MappingProblem& problem, const MappingOptions& options) {
  return refined_maps(problem, options, true);
}

}  // namespace rankwise
