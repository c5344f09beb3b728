#include "mapping/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "mapping/effort.hpp"

namespace rankwise {

namespace {

constexpr std::size_t nodes_in_window = 14;
constexpr std::size_t windows_at_once = 8;
// So many steps for each edge and cell in a window: short searches gain most at first, long ones later on. Found by trial.
constexpr Index first_sweeps = 25;
constexpr Index most_sweeps = 150;
constexpr std::array<std::int64_t, 3> heats{400, 300, 600};

Index sweep_of_grid(const MappingProblem& problem) {
  return problem.grid.size() * (static_cast<Index>(problem.stencil.offsets().size()) + 1);
}

class WindowSearch {
 public:
  WindowSearch(const MappingProblem& problem, std::vector<NodeId>& node_of_cell, const MappingOptions& options, Effort& effort)
      : problem_(problem),
        node_of_cell_(node_of_cell),
        options_(options),
        effort_(effort),
        random_(options.seed),
        threads_(static_cast<std::size_t>(std::clamp(options.threads, 1, static_cast<int>(windows_at_once)))),
        index_(threads_, std::vector<std::int32_t>(node_of_cell.size(), -1)),
        first_(static_cast<std::size_t>(problem.nodes.nodes()) + 1, 0),
        cells_(node_of_cell.size()),
        taken_(first_.size() - 1, 0) {
    for (std::size_t node = 0; node + 1 < first_.size(); ++node) {
      first_[node + 1] = first_[node] + static_cast<std::size_t>(problem.nodes.size(static_cast<Index>(node)));
    }
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t cell = 0; cell < node_of_cell.size(); ++cell) {
      cells_[next[static_cast<std::size_t>(node_of_cell[cell])]++] = static_cast<Index>(cell);
    }
    order_by_need();
  }

  void run() {
    while (!effort_.over()) {
      std::vector<Window> windows = draw();
      for_all(windows.size(), threads_, [&](std::size_t i, std::size_t thread) { improve(windows[i], index_[thread]); });
      for (const Window& window : windows) apply(window);
      deepen(windows);
    }
  }

 private:
  struct Window {
    std::uint64_t seed;
    std::vector<NodeId> nodes;
    std::vector<Index> cells;
    std::vector<NodeId> part;  // of each cell; empty where nothing better was found
    bool gains = false;
    Index spent = 0;
  };

  // Where nodes fit together as tiles do, no short search leads out: where few gain, the next search longer.
  void deepen(const std::vector<Window>& windows) {
    searched_ += windows.size();
    gained_ += static_cast<std::size_t>(std::ranges::count_if(windows, &Window::gains));
    if (searched_ < 4 * windows_at_once) return;
    if (gained_ < searched_ / 4) sweeps_ = std::min(most_sweeps, 2 * sweeps_);
    searched_ = gained_ = 0;
  }

  [[nodiscard]] std::span<const Index> cells_of(NodeId node) const {
    const auto i = static_cast<std::size_t>(node);
    return {cells_.data() + first_[i], cells_.data() + first_[i + 1]};
  }

  [[nodiscard]] bool is_for_peak() const { return options_.objective == Objective::j_max; }

  // At first those that send most for so many ranks: a start may be as good as can be nearly everywhere. For the peak those that
  // send most, again and again.
  void order_by_need() {
    const std::vector<Index> leaving = leaving_nodes(problem_.grid, problem_.stencil, node_of_cell_);
    std::vector<double> sent(taken_.size());
    for (std::size_t node = 0; node < sent.size(); ++node) {
      const Index size = is_for_peak() ? 1 : problem_.nodes.size(static_cast<Index>(node));
      sent[node] = static_cast<double>(leaving[node]) / std::sqrt(static_cast<double>(size));
    }
    effort_.spend(sweep_of_grid(problem_));
    order_.resize(taken_.size());
    std::iota(order_.begin(), order_.end(), NodeId{0});
    std::ranges::stable_sort(order_, std::ranges::greater{}, [&](NodeId node) { return sent[static_cast<std::size_t>(node)]; });
  }

  // Windows without a common node, each around the next node of a random order.
  std::vector<Window> draw() {
    ++round_;
    std::vector<Window> windows;
    for (std::size_t tries = 0; windows.size() < windows_at_once && tries < 2 * windows_at_once; ++tries) {
      if (is_for_peak() && next_ >= std::min(order_.size(), 4 * windows_at_once)) {
        order_by_need();
        next_ = 0;
        sweeps_ = std::min(most_sweeps, std::max(sweeps_, first_sweeps * ++pass_));
      } else if (next_ == order_.size()) {
        for (std::size_t i = order_.size(); i-- > 1;) {
          std::swap(order_[i], order_[static_cast<std::size_t>((random_.bits() >> 32) % (i + 1))]);
        }
        next_ = 0;
        sweeps_ = std::min(most_sweeps, std::max(sweeps_, first_sweeps * ++pass_));
      }
      const NodeId centre = order_[next_++];
      if (is_taken(centre)) continue;
      Window window{.seed = random_.bits(), .nodes = around(centre), .cells = {}, .part = {}};
      if (window.nodes.size() < 2) continue;
      for (const NodeId node : window.nodes) {
        const auto own = cells_of(node);
        window.cells.insert(window.cells.end(), own.begin(), own.end());
      }
      windows.push_back(std::move(window));
    }
    return windows;
  }

  [[nodiscard]] bool is_taken(NodeId node) const { return taken_[static_cast<std::size_t>(node)] == round_; }

  // A node and those nearest to it: always the one with which those so far share most.
  std::vector<NodeId> around(NodeId centre) {
    std::vector<NodeId> nodes;
    std::map<NodeId, Index> shared;
    for (NodeId node = centre; node >= 0;) {
      taken_[static_cast<std::size_t>(node)] = round_;
      nodes.push_back(node);
      shared.erase(node);
      if (nodes.size() == nodes_in_window) break;
      for (const Index cell : cells_of(node)) {
        const Coords at = problem_.grid.coords(cell);
        for (std::size_t k = 0; k < problem_.stencil.offsets().size(); ++k) {
          const Index other = problem_.grid.cell_at_offset(at, problem_.stencil.offsets()[k], 1);
          if (other < 0) continue;
          const NodeId to = node_of_cell_[static_cast<std::size_t>(other)];
          if (to != node && !is_taken(to)) shared[to] += problem_.stencil.weights()[k];
        }
      }
      const auto most = std::ranges::max_element(shared, {}, [](const auto& entry) { return entry.second; });
      node = most == shared.end() ? -1 : most->first;
    }
    return nodes;
  }

  void improve(Window& window, std::vector<std::int32_t>& index) const {
    MappingOptions options = options_;
    options.steps = effort_.left();
    Effort effort(options);
    const StencilGraph graph(problem_.grid, problem_.stencil, window.cells, index);
    std::vector<Index> sizes;
    std::vector<NodeId> part;
    for (std::size_t i = 0; i < window.nodes.size(); ++i) {
      sizes.push_back(problem_.nodes.size(window.nodes[i]));
      part.insert(part.end(), static_cast<std::size_t>(sizes.back()), static_cast<NodeId>(i));
    }
    Partition trial(graph, NodeSizes(sizes), part);
    const Quality before = quality(trial, options_.objective);
    const Index sweep = static_cast<Index>(graph.edge_count()) / 2 + graph.cells();
    Random random(window.seed);
    const std::int64_t price = is_for_peak() ? 1024 : 0;
    const Cooling cooling{heats[window.seed % heats.size()], 150, 512, 1536, price, trial.j_max() - 1, sweeps_ * sweep};
    anneal(trial, cooling, random, effort);
    const bool is_whole = !effort.over() && repair(trial, effort);
    window.spent = effort.spent();
    if (is_whole && is_for_peak()) polish(trial, options_.objective, effort);
    const Quality after = quality(trial, options_.objective);
    // What is equal in what counts first may lead on.
    if (!is_whole || (is_for_peak() ? after > before : after[0] > before[0])) return;
    window.part.assign(trial.part_of_cell().begin(), trial.part_of_cell().end());
    window.gains = is_for_peak() ? after < before : after[0] < before[0];
  }

  void apply(const Window& window) {
    effort_.spend(std::max<Index>(1, window.spent));
    if (window.part.empty()) return;
    std::vector<std::size_t> next;
    for (const NodeId node : window.nodes) next.push_back(first_[static_cast<std::size_t>(node)]);
    for (std::size_t i = 0; i < window.cells.size(); ++i) {
      const auto part = static_cast<std::size_t>(window.part[i]);
      cells_[next[part]++] = window.cells[i];
      node_of_cell_[static_cast<std::size_t>(window.cells[i])] = window.nodes[part];
    }
  }

  const MappingProblem& problem_;
  std::vector<NodeId>& node_of_cell_;
  const MappingOptions& options_;
  Effort& effort_;
  Random random_;
  std::size_t threads_;
  std::vector<std::vector<std::int32_t>> index_;  // for each thread
  std::vector<std::size_t> first_;                // of each node's cells
  std::vector<Index> cells_;
  std::vector<std::uint32_t> taken_;  // the last round in which a node was in a window
  std::uint32_t round_ = 0;
  std::vector<NodeId> order_;
  std::size_t next_ = 0;
  Index pass_ = 0;  // how often each node was the centre of a window, rounded up
  Index sweeps_ = first_sweeps;
  std::size_t searched_ = 0, gained_ = 0;  // windows since the sweeps were last set
};

bool has_windows(const MappingProblem& problem) { return problem.nodes.nodes() > 2 * static_cast<Index>(nodes_in_window); }

}  // namespace

bool prefers_windows(const MappingProblem& problem, Index steps) {
  return has_windows(problem) && (problem.grid.size() > 1'700 || steps < most_sweeps / 2 * sweep_of_grid(problem));
}

bool pays_windows(const MappingProblem& problem, Index steps) {
  return has_windows(problem) && steps > 20 * most_sweeps * sweep_of_grid(problem);
}

void improve_by_windows(const MappingProblem& problem, std::vector<NodeId>& node_of_cell, const MappingOptions& options,
                        Effort& effort) {
  if (problem.nodes.nodes() > 1) WindowSearch(problem, node_of_cell, options, effort).run();
}

}  // namespace rankwise
