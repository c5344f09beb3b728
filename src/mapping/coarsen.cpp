#include "mapping/coarsen.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace rankwise {

namespace {

using Vertex = WeightedGraph::Vertex;

// Vertices of few edges first, in turns of neighbouring ones drawn at random: what is near in memory stays near.
std::vector<Vertex> order_to_match(const WeightedGraph& graph, Random& random) {
  constexpr std::size_t classes = 9;
  constexpr Vertex window = 512;
  const Vertex count = graph.vertices();
  const auto degree = [&](Vertex v) { return std::min<std::size_t>(graph.edges_of(v).size(), classes - 1); };
  std::array<std::size_t, classes + 1> begin{};
  for (Vertex v = 0; v < count; ++v) ++begin[degree(v) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Vertex> order(slot(count));
  std::array<Vertex, window> drawn{};
  for (Vertex from = 0; from < count; from += window) {
    const Vertex size = std::min(window, count - from);
    for (Vertex i = 0; i < size; ++i) {
      const auto other = static_cast<std::size_t>(((random.bits() >> 32) * static_cast<std::uint64_t>(i + 1)) >> 32);
      drawn[slot(i)] = drawn[other];
      drawn[other] = from + i;
    }
    for (Vertex i = 0; i < size; ++i) order[begin[degree(drawn[slot(i)])]++] = drawn[slot(i)];
  }
  return order;
}

// The other vertex that each is joined with (itself: none), never more than so many ranks together.
std::vector<Vertex> matched(const WeightedGraph& graph, std::int64_t most, std::span<const NodeId> part, Random& random) {
  const auto apart = [&](Vertex a, Vertex b) { return !part.empty() && part[slot(a)] != part[slot(b)]; };
  std::vector<Vertex> mate(slot(graph.vertices()), no_vertex);
  std::vector<Vertex> near(mate.size(), no_vertex);  // the neighbour with the heaviest edge, of those left alone
  const std::vector<Vertex> order = order_to_match(graph, random);
  for (const Vertex v : order) {
    if (mate[slot(v)] != no_vertex) continue;
    const std::int64_t own = graph.ranks_of(v);
    Vertex best = no_vertex;
    double best_value = -1.0;
    std::int32_t heaviest = -1;
    for (const auto& edge : graph.edges_of(v)) {
      if (edge.weight > heaviest) {
        heaviest = edge.weight;
        near[slot(v)] = edge.to;
      }
      const std::int64_t other = graph.ranks_of(edge.to);
      if (mate[slot(edge.to)] != no_vertex || own + other > most || apart(v, edge.to)) continue;
      const double value = static_cast<double>(edge.weight) * edge.weight / static_cast<double>(other);
      if (value <= best_value) continue;
      best_value = value;
      best = edge.to;
    }
    if (best == no_vertex) continue;
    mate[slot(v)] = best;
    mate[slot(best)] = v;
  }
  // Those left alone beside the same neighbour, as the many around a hub, or without any.
  std::vector<Vertex> waiting(mate.size() + 1, no_vertex);
  for (const Vertex v : order) {
    if (mate[slot(v)] != no_vertex) continue;
    Vertex& other = waiting[slot(near[slot(v)] + 1)];
    if (other != no_vertex && graph.ranks_of(v) + graph.ranks_of(other) <= most && !apart(v, other)) {
      mate[slot(v)] = other;
      mate[slot(other)] = v;
      other = no_vertex;
    } else {
      other = v;
    }
  }
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (mate[slot(v)] == no_vertex) mate[slot(v)] = v;
  }
  return mate;
}

Coarser contracted(const WeightedGraph& fine, const std::vector<Vertex>& mate) {
  Coarser result;
  result.of.resize(mate.size());
  Vertex count = 0;
  for (Vertex v = 0; v < fine.vertices(); ++v) {
    const Vertex other = mate[slot(v)];
    result.of[slot(v)] = other < v ? result.of[slot(other)] : count++;
  }
  WeightedGraph& coarse = result.graph;
  coarse.first.reserve(slot(count) + 1);
  coarse.ranks.reserve(slot(count));
  coarse.edges.reserve(fine.edges.size() * 3 / 4);
  std::vector<std::uint32_t> place(slot(count), 0);  // of the edge to each vertex, plus 1, where it is of this row
  for (Vertex v = 0; v < fine.vertices(); ++v) {
    const Vertex other = mate[slot(v)];
    if (other < v) continue;
    const Vertex own = result.of[slot(v)];
    const auto begin = static_cast<std::uint32_t>(coarse.edges.size());
    const auto add = [&](Vertex member) {
      for (const auto& edge : fine.edges_of(member)) {
        const Vertex to = result.of[slot(edge.to)];
        if (to == own) continue;
        std::uint32_t& at = place[slot(to)];
        if (at > begin) {
          coarse.edges[at - 1].weight += edge.weight;
        } else {
          coarse.edges.push_back({to, edge.weight});
          at = static_cast<std::uint32_t>(coarse.edges.size());
        }
      }
    };
    add(v);
    if (other != v) add(other);
    coarse.ranks.push_back(fine.ranks_of(v) + (other != v ? fine.ranks_of(other) : 0));
    coarse.first.push_back(static_cast<std::uint32_t>(coarse.edges.size()));
  }
  return result;
}

}  // namespace

Coarser coarsened(const WeightedGraph& graph, std::int64_t most, std::span<const NodeId> part, Random& random) {
  return contracted(graph, matched(graph, most, part, random));
}

}  // namespace rankwise
