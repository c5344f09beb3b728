#include "decide/program.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "schedule/algorithms.hpp"

namespace rankwise {

Program program_of(const ExchangeSpec& spec) {
  Program program{spec.mode, spec.grid, {}, {}, {}};
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    program.lower.push_back(spec.window.lower(axis));
    program.upper.push_back(spec.window.upper(axis));
  }
  program.in_turn = is_blocking(spec.mode) && exchange_algorithm(spec.algorithm).takes_turns;
  program.import = [&spec](const Grid&, Index rank) { return make_alike(spec, rank); };
  if (includes_reduce(spec)) program.reduce = [&spec](const Grid&, Index rank) { return make_alike_reduce(spec, rank); };
  return program;
}

RankSchedule one_step(const Grid& grid, Index rank, const std::vector<Coords>& offsets, const std::vector<Index>& weights,
                      SendMode mode) {
  const Coords own = grid.coords(rank);
  RankSchedule schedule;
  Step step;
  std::vector<Op> sends;
  const auto blocks = [&weights](std::size_t i) { return std::vector<SlotRange>{{0, weights.empty() ? 1 : weights[i]}}; };
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Index from = grid.cell_at_offset(own, offsets[i], -1);
    const Index to = grid.cell_at_offset(own, offsets[i], +1);
    if (from >= 0 && from != rank) step.ops.push_back({Op::Kind::recv, from, static_cast<int>(i), blocks(i), {}, {}});
    if (to >= 0 && to != rank) sends.push_back({Op::Kind::send, to, static_cast<int>(i), blocks(i), {}, {}});
  }
  for (Op& send : sends) step.ops.push_back(std::move(send));
  chain_sends(step, mode);
  schedule.steps.push_back(std::move(step));
  return schedule;
}

Program stencil_program(const Grid& grid, const Stencil& stencil, SendMode mode) {
  if (stencil.ndim() != grid.ndim()) invalid("the stencil is for another number of axes than the grid");
  const std::size_t axes = grid.dims().size();
  Program program{mode, grid, std::vector<Index>(axes, 0), std::vector<Index>(axes, 0), {}};
  for (const Coords& offset : stencil.offsets()) {
    for (std::size_t axis = 0; axis < axes; ++axis) {
      program.lower[axis] = std::max(program.lower[axis], -offset[axis]);
      program.upper[axis] = std::max(program.upper[axis], offset[axis]);
    }
  }
  // Messages in flight at once are listed as direct exchanges list theirs, so that the same question has the same answer to the bit.
  std::vector<std::size_t> order(stencil.offsets().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!is_blocking(mode))
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return stencil.offsets()[i]; });
  std::vector<Coords> offsets;
  std::vector<Index> weights;
  for (const std::size_t i : order) {
    offsets.push_back(stencil.offsets()[i]);
    if (!stencil.weights().empty()) weights.push_back(stencil.weights()[i]);
  }
  program.import = [offsets, weights, mode](const Grid& on, Index rank) { return one_step(on, rank, offsets, weights, mode); };
  return program;
}

Program transpose_program(const Grid& grid, const std::vector<int>& axes, bool pairwise, SendMode mode) {
  const std::size_t ndim = grid.dims().size();
  const Grid ring(grid.dims(), std::vector<bool>(ndim, true));
  Coords lengths(ndim, 1);
  for (const int axis : axes) lengths.at(static_cast<std::size_t>(axis)) = grid.dim(axis);
  const Grid group(lengths);
  if (group.size() > (Index{1} << 20)) {
    invalid("an all-to-all of " + std::to_string(group.size()) + " ranks is more than is walked: give at most 2^20");
  }
  std::vector<Coords> offsets;
  for (Index partner = 1; partner < group.size(); ++partner) offsets.push_back(group.coords(partner));
  Program program{mode, ring, std::vector<Index>(ndim, 0), std::vector<Index>(ndim, 0), {}};
  program.import = [offsets = std::move(offsets), pairwise, mode](const Grid& on, Index rank) {
    if (!pairwise) return one_step(on, rank, offsets, {}, mode);
    RankSchedule schedule;
    for (const Coords& offset : offsets) {
      schedule.steps.push_back(std::move(one_step(on, rank, {offset}, {}, mode).steps.front()));
    }
    return schedule;
  };
  return program;
}

}  // namespace rankwise
