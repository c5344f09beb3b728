#include "pattern/pattern.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "pattern/numbering.hpp"

namespace rankwise {

namespace {

constexpr double most_bits = 0.6;  // of all noise: above this there is no grid
constexpr Index few_ranks = 2000;  // up to here a grid of any numbering is sought even where a natural one is plain
constexpr double plain_share = 0.9;
constexpr double least_explained = 0.8;  // of the recurring flows: below this it is uncertain
// The share of flows that follow the offsets, those with a hub (the root of a gather) left out of the others.
double share_explained(const Description& description, std::span<const Flow> flows, std::size_t ranks) {
  std::vector<std::size_t> links(ranks);
  for (const Flow& flow : flows) {
    ++links[flow.from];
    ++links[flow.to];
  }
  std::vector<std::size_t> sorted = links;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t hub = 2 * sorted[ranks / 2] + 8;
  const auto others = std::count_if(flows.begin(), flows.end(),
                                    [&](const Flow& flow) { return links[flow.from] <= hub && links[flow.to] <= hub; });
  return std::min(1.0, static_cast<double>(description.explained) / static_cast<double>(std::max<std::ptrdiff_t>(others, 1)));
}

// An axis of two cells is periodic where its messages are twice those of others: both ways lead to the same rank.
void see_double_messages(Description& description) {
  std::vector<double> on_longer;
  const auto count = [](const KeptOffset& kept) {
    return static_cast<double>(kept.messages) / static_cast<double>(kept.pairs);
  };
  const auto axis_of = [&](const KeptOffset& kept) {
    std::size_t axis = most_axes;
    for (std::size_t i = 0; i < description.dims.size(); ++i) {
      if (kept.offset[i] != 0) axis = axis == most_axes ? i : most_axes + 1;
    }
    return axis;
  };
  for (const KeptOffset& kept : description.offsets) {
    const std::size_t axis = axis_of(kept);
    if (axis < most_axes && description.dims[axis] > 2) on_longer.push_back(count(kept));
  }
  if (on_longer.empty()) return;
  std::sort(on_longer.begin(), on_longer.end());
  const double usual = on_longer[on_longer.size() / 2];
  for (const KeptOffset& kept : description.offsets) {
    const std::size_t axis = axis_of(kept);
    if (axis < most_axes && description.dims[axis] == 2 && count(kept) > 1.6 * usual && count(kept) < 2.4 * usual) {
      description.periodic[axis] = true;
    }
  }
}

}  // namespace

const char* to_string(PatternKind kind) {
  switch (kind) {
    case PatternKind::grid: return "grid";
    case PatternKind::graph: return "graph";
    case PatternKind::uncertain: return "uncertain";
  }
  return "";
}

Pattern find_pattern(const Traffic& traffic) {
  check(traffic);
  Pattern pattern;
  const auto ranks = static_cast<Index>(traffic.ranks());
  const std::vector<Flow> flows = recurring_flows(traffic);
  if (ranks < 2 || flows.empty()) return pattern;
  pattern.noise_bits = static_cast<double>(flows.size()) * noise_bits(ranks);

  Description best = describe_natural(flows, ranks);
  std::vector<Cell> cells = natural_cells(best.dims);
  bool searched = false;
  if (ranks <= few_ranks || !plain(best, flows, plain_share)) {
    searched = true;
    auto any = describe_any_numbering(flows, ranks);
    // A natural grid that says as much with no more directions is what the program means (2x2 rather than a ring of 4).
    const bool means_it = any && plain(best, flows, plain_share) && best.explained >= any->description.explained &&
                          directions(best) <= directions(any->description);
    if (any && !means_it && any->description.bits < best.bits) {
      best = std::move(any->description);
      cells = std::move(any->cells);
      searched = false;
    }
  }
  pattern.bits = best.bits;
  // Among few ranks a name costs as much as what it describes: there it is enough that nothing is left over.
  const bool exact = best.explained == flows.size() && plain(best, flows, 1.0);
  if (best.bits > (exact ? 1.0 : most_bits) * pattern.noise_bits) return pattern;
  see_double_messages(best);
  pattern.kind = PatternKind::grid;
  const double share = share_explained(best, flows, traffic.ranks());
  // Axes of a blocked numbering that were cut in two show by offsets that are no stencil's and more than neighbours.
  // The same of axes that hops cut in two, where the grid was found by its links: no rank has as many.
  const bool too_many = searched ? !plain(best, flows, 0.0) && 20 * directions(best) * traffic.ranks() > 23 * flows.size()
                                 : directions(best) > high_degree(flows, ranks, 100);
  if (share < least_explained || too_many) pattern.kind = PatternKind::uncertain;

  std::uint64_t all_bytes = 0;
  for (std::uint32_t rank = 0; rank < traffic.ranks(); ++rank) {
    const auto end = static_cast<std::size_t>(traffic.pointer[rank + 1]);
    for (auto i = static_cast<std::size_t>(traffic.pointer[rank]); i < end; ++i) {
      if (traffic.peer[i] != rank) all_bytes += traffic.bytes[i];
    }
  }
  std::uint64_t explained = 0;
  for (const KeptOffset& kept : best.offsets) explained += kept.bytes;
  pattern.explained = all_bytes == 0 ? share : static_cast<double>(explained) / static_cast<double>(all_bytes);
  pattern.cell_of_rank.resize(cells.size());
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    Index cell = 0;
    for (std::size_t i = 0; i < best.dims.size(); ++i) cell = cell * best.dims[i] + cells[rank][i];
    pattern.cell_of_rank[rank] = cell;
  }
  pattern.dims = std::move(best.dims);
  pattern.periodic = std::move(best.periodic);
  pattern.offsets = std::move(best.offsets);
  return pattern;
}

}  // namespace rankwise
