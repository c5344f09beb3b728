// Refined: the best of all constructions, improved by a search that keeps the node sizes.
//
// Constructions: tubes of thicknesses chosen by a dynamic program (tube_plan.hpp) along every choice of axes, and the
// algorithms of hunold2020. Where the grid is too large for the effort to improve anything, the tubes alone remain:
// they take time and memory that grow like the sides of the grid, and give one rank's cell by a search among the tubes.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <stdexcept>

#include "mapping/algorithms.hpp"
#include "mapping/bound.hpp"
#include "mapping/graph.hpp"
#include "mapping/graph_search.hpp"
#include "mapping/lattice.hpp"
#include "mapping/planes.hpp"
#include "mapping/search.hpp"
#include "mapping/score.hpp"
#include "mapping/table_mapping.hpp"
#include "mapping/tube_plan.hpp"
#include "mapping/windows.hpp"

namespace rankwise {

namespace {

std::vector<std::unique_ptr<Mapping>> other_constructions(const MappingProblem& problem,
                                                          const MappingOptions& options) {
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

// What is sent over a grid as traffic between any ranks, both ways together.
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

// How often nodes are halved until each is alone.
Index halvings(const MappingProblem& problem) {
  return std::bit_width(static_cast<std::uint64_t>(problem.nodes.nodes()));
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

// Whether tubes or strips are what fits: few axes, and all goes to cells that touch by the lattice's short vectors.
bool suits_strips(const MappingProblem& problem) {
  if (problem.grid.ndim() > 3) return false;
  const Lattice lattice(problem.stencil);
  return std::ranges::all_of(problem.stencil.offsets(), [&](Coords offset) {
    Coords place(lattice.rank());
    lattice.reduce(offset, place);
    return std::ranges::all_of(place, [](Index step) { return step >= -1 && step <= 1; });
  });
}

// A start that knows nothing of axes, where no strip or tube is good: the grid as any graph, with a share of the effort. Null
// where that is too little.
std::unique_ptr<Mapping> graph_start(const MappingProblem& problem, const AsGraph& graph, Index effort, MappingOptions& left) {
  if (problem.nodes.nodes() < 2) return nullptr;
  const auto edges = static_cast<Index>(graph.cells.edge_count());
  const Index division = 7 * edges * halvings(problem) + 3000 * problem.nodes.nodes();
  const bool is_short = effort < steps_per_second / 5;
  // Much of a short effort is well spent on it, unless strips are better anyway; without a clock it comes on top of one.
  const Index free = left.left_s ? 0 : std::min(effort * 2, steps_per_second / 50);
  const Index most = left.left_s && is_short ? left.steps * (suits_strips(problem) ? 3 : 10) / 10 : left.steps / 4;
  if (division - free > std::max<Index>(0, most)) return nullptr;
  // With little time what is found is better searched as a grid.
  MappingOptions share{.steps = is_short ? 0 : std::min(effort, steps_per_second) / 4, .seed = left.seed, .hasty = is_short};
  left.steps -= std::max<Index>(0, division - free) + share.steps;
  if (left.left_s && !is_short) share.stop = [all = left.left_s, kept = left.left_s() / 2] { return all() <= kept; };
  return table_mapping(problem.nodes, map_graph(graph.traffic, graph.tree, share));
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
  std::unique_ptr<Mapping> take_best() { return std::move(entries_.front().mapping); }

 private:
  struct Entry {
    Score score;
    std::unique_ptr<Mapping> mapping;
  };
  [[nodiscard]] std::pair<Index, Index> value(const Score& found) const {
    return objective_ == Objective::j_sum ? std::pair(found.j_sum, found.j_max) : std::pair(found.j_max, found.j_sum);
  }

  const MappingProblem& problem_;
  Objective objective_;
  std::vector<NodeId> node_of_cell_;
  std::vector<Entry> entries_;
};

class Searched final : public Mapping {
 public:
  Searched(std::unique_ptr<Mapping> mapping, Index steps) : mapping_(std::move(mapping)), steps_(steps) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override { return mapping_->cell_of_rank(rank); }
  void all_runs(RunSink& sink) const override { mapping_->all_runs(sink); }
  [[nodiscard]] Index steps() const override { return steps_; }

 private:
  std::unique_ptr<Mapping> mapping_;
  Index steps_;
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
  for (const TubeAxes& choice : axes) {
    if (!plans.empty() && options.steps - left.steps > std::max(share, steps_per_second / 720)) break;
    plans.push_back(plan_tubes(problem, choice, plan_work));
    left.steps -= plans.back()->work() / 4;  // what a plan counts takes less time than a step
  }
  std::ranges::stable_sort(plans, {}, [](const auto& plan) { return plan->cost(); });

  // By the clock there must be time for all constructions.
  if (edges * (options.left_s ? 8 : 1) > options.steps) return only(std::move(plans.front()));
  Ranked maps(problem, options.objective);
  for (auto& other : other_constructions(problem, options)) maps.add(std::move(other));
  const Index strips_work = options.steps / (suits_strips(problem) ? 2 : 8);
  if (auto strips = lattice_strips(problem, options.objective, strips_work)) maps.add(std::move(strips));
  for (auto& plan : plans) maps.add(std::move(plan));
  // Tubes are one cell thick along further axes than three.
  if (problem.grid.ndim() > 3 && problem.grid.size() * 10 * halvings(problem) < options.steps / 2) {
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
      if (auto divided = graph_start(problem, *graph, options.steps, left)) maps.add(std::move(divided));
      // A long search comes further from a regular start.
      if (options.steps < steps_per_second / 5) maps.add(smoothed(problem, *graph, maps.nodes()));
    }
  }
  by_the_clock();
  // Windows know of j_sum only.
  const bool is_for_sum = options.objective == Objective::j_sum && !is_front;
  const bool by_windows = prefers_windows(problem, left.steps) && (is_for_sum || problem.grid.size() > 20'000);
  if (by_windows || edges > left.steps / 16 || !graph) {
    const Index bound = quick_bound(problem, left.steps);
    Effort effort(left);
    if (!by_windows || maps.least().j_sum == bound || effort.over()) return only(maps.take_best());
    std::vector<NodeId> node_of_cell = std::move(maps.nodes());
    improve_by_windows(problem, node_of_cell, left, effort);
    return only(std::make_unique<Searched>(table_mapping(problem.nodes, node_of_cell), effort.spent() + planned));
  }
  const StencilGraph& cells = graph->cells;
  std::vector<Partition> starts;
  for (std::size_t i = 0; i < (is_front ? maps.size() : 1); ++i) starts.emplace_back(cells, problem.nodes, maps.nodes(i));
  Effort effort(left);
  const Index bound = quick_bound(problem, left.steps);
  std::vector<Partition> found;
  if (is_front) {
    found = search_front(std::move(starts), left, bound, effort);
  } else {
    // With much time half of it is for windows, which find what a search as a whole is too slow for.
    const bool both = is_for_sum && pays_windows(problem, left.steps);
    MappingOptions whole = left;
    if (both) whole.steps /= 2;
    if (both && left.left_s) whole.left_s = [all = left.left_s, kept = left.left_s() / 2] { return all() - kept; };
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
    result.push_back(std::make_unique<Searched>(table_mapping(problem.nodes, map.part_of_cell()), effort.spent() + planned));
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
