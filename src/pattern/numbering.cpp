#include "pattern/describe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "mapping/random.hpp"
#include "pattern/growth.hpp"

namespace rankwise {

namespace {

constexpr std::size_t most_natural_axes = 4;
constexpr Index ranks_seen_whole = 1024;
constexpr std::size_t finalists = 12;
constexpr double likely = 1.25;    // times the bits of the shortest: above that a way is no finalist
constexpr double hopeless = 0.95;  // of the bits of mere noise: where no way says more, one stands for all

void factorise(Index rest, std::vector<Index>& factors, std::vector<std::vector<Index>>& found) {
  factors.push_back(rest);
  found.push_back(factors);
  factors.pop_back();
  if (factors.size() + 1 == most_natural_axes) return;
  for (Index factor = 2; factor <= rest / 2; ++factor) {
    if (rest % factor != 0) continue;
    factors.push_back(factor);
    factorise(rest / factor, factors, found);
    factors.pop_back();
  }
}

// The flows of some ranks, drawn; and how many ranks that are.
std::pair<std::vector<Flow>, Index> sample(std::span<const Flow> flows, Index ranks, std::size_t factorisations) {
  const auto degree = static_cast<Index>(flows.size()) / ranks + 1;
  const Index wanted = std::clamp<Index>(12'000'000 / (degree * static_cast<Index>(factorisations)), 128, 384);
  std::vector<Flow> result;
  Random random(20);
  for (Index i = 0; i < wanted; ++i) {
    const auto rank = static_cast<std::uint32_t>(random.bits() % static_cast<std::uint64_t>(ranks));
    auto at = std::lower_bound(flows.begin(), flows.end(), rank, [](const Flow& a, std::uint32_t b) { return a.from < b; });
    for (; at != flows.end() && at->from == rank; ++at) result.push_back(*at);
  }
  return {std::move(result), wanted};
}

// A sample's flows with their ranks numbered again, in the order in which they occur.
std::vector<std::uint32_t> renumber(std::vector<Flow>& flows) {
  std::vector<std::uint32_t> ranks;
  for (const Flow& flow : flows) {
    ranks.push_back(flow.from);
    ranks.push_back(flow.to);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const auto number = [&ranks](std::uint32_t rank) {
    return static_cast<std::uint32_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  };
  for (Flow& flow : flows) flow = {number(flow.from), number(flow.to), flow.messages, flow.bytes};
  return ranks;
}

Cell natural_cell(std::uint32_t rank, const std::vector<Index>& dims) {
  Cell cell{};
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto dim = static_cast<std::uint32_t>(dims[i]);
    cell[i] = static_cast<std::int32_t>(rank % dim);
    rank /= dim;
  }
  return cell;
}

}  // namespace

std::vector<Cell> natural_cells(const std::vector<Index>& dims) {
  Index ranks = 1;
  for (const Index dim : dims) ranks *= dim;
  std::vector<Cell> cells(static_cast<std::size_t>(ranks));
  for (std::uint32_t rank = 0; rank < cells.size(); ++rank) cells[rank] = natural_cell(rank, dims);
  return cells;
}

Description describe_natural(std::span<const Flow> flows, Index ranks) {
  std::vector<std::vector<Index>> factorisations;
  std::vector<Index> factors;
  factorise(ranks, factors, factorisations);
  if (ranks > ranks_seen_whole && factorisations.size() > finalists) {
    auto [some, senders] = sample(flows, ranks, factorisations.size());
    const std::vector<std::uint32_t> named = renumber(some);
    std::vector<Cell> cells(named.size());
    std::vector<std::pair<double, std::size_t>> bits;
    for (std::size_t which = 0; which < factorisations.size(); ++which) {
      for (std::size_t i = 0; i < named.size(); ++i) cells[i] = natural_cell(named[i], factorisations[which]);
      bits.emplace_back(describe(some, cells, factorisations[which], senders).bits, which);
    }
    std::partial_sort(bits.begin(), bits.begin() + finalists, bits.end());
    const double noise = static_cast<double>(some.size()) * noise_bits(ranks);
    const bool none = bits.front().first > hopeless * noise;
    std::vector<std::vector<Index>> best;
    for (std::size_t i = 0; i < (none ? 1 : finalists); ++i) {
      if (bits[i].first <= likely * bits.front().first) best.push_back(factorisations[bits[i].second]);
    }
    factorisations = std::move(best);
  }
  Description shortest;
  for (const std::vector<Index>& dims : factorisations) {
    Description description = describe(flows, natural_cells(dims), dims, ranks);
    if (shortest.dims.empty() || description.bits < shortest.bits) shortest = std::move(description);
  }
  return shortest;
}

namespace {

constexpr std::size_t backbone_ball = 160;  // ranks that the backbone alone lays out; then all links do
constexpr std::size_t trial_ball = 600;     // ranks after which a frame must have proved itself
constexpr std::size_t most_frames = 160;    // of a seed
constexpr std::size_t most_finished = 4;    // frames of a seed
constexpr std::size_t most_filled = 500;    // ranks
constexpr std::size_t first_placed = 9;
constexpr double malus_of_a_part = 0.25;
constexpr double fair_share = 0.7;
constexpr double good_share = 0.97;
constexpr double nearly_all = 0.995;
constexpr double most_of_it = 0.93;  // where flows come in that follow no grid

// The share of links between placed ranks that take one of the steps.
double explained_share(const Links& links, const CellLayout& layout, const Steps& steps) {
  std::size_t all = 0;
  std::size_t explained = 0;
  const std::size_t sampled = std::min<std::size_t>(layout.size(), trial_ball);
  for (std::size_t i = 0; i < sampled; ++i) {
    const Rank rank = layout.placed()[i];
    for (const Rank peer : links.of(rank)) {
      if (!layout.has(peer) || links.hub(peer)) continue;
      ++all;
      if (std::binary_search(steps.all.begin(), steps.all.end(), layout.offset(rank, peer))) ++explained;
    }
  }
  return all == 0 ? 0 : static_cast<double>(explained) / static_cast<double>(all);
}

// Whether the ranks that were placed first talk to placed ones only, but for one in five: else an axis is missing.
bool surrounded(const Links& links, const CellLayout& layout) {
  const std::size_t inner = std::min(layout.size(), first_placed);
  std::size_t open = 0;
  for (std::size_t i = 0; i < inner; ++i) {
    const auto peers = links.of(layout.placed()[i]);
    if (std::any_of(peers.begin(), peers.end(), [&](Rank peer) { return !layout.has(peer) && !links.hub(peer); })) ++open;
  }
  return 5 * open < 4 * inner;
}

// A frame grown to at most so many ranks, and the share of links that fit; less where links lead out of it everywhere.
double grow(const Links& links, Frame& frame, std::size_t limit) {
  const std::size_t most_steps = 3 * links.of(frame.layout.placed().front()).size() + 6;
  Growth(links, frame.layout, frame.steps, &frame.backbone).run(std::min(limit, backbone_ball));
  if (frame.layout.size() < std::min<std::size_t>(links.ranks(), 4)) return 0;
  Steps steps = learn_steps(links, frame.layout);
  const auto complete = [&frame](Steps& learned) {
    for (std::size_t kind = 0; kind < learned.of_kind.size(); ++kind) {
      if (learned.of_kind[kind].empty()) learned.of_kind[kind] = frame.steps.of_kind[kind];
    }
  };
  complete(steps);
  if (explained_share(links, frame.layout, steps) < fair_share || steps.all.size() > most_steps) return 0;
  for (std::size_t ball = 2 * frame.layout.size(); frame.layout.size() < limit; ball *= 4) {
    const std::size_t before = frame.layout.size();
    Growth(links, frame.layout, steps, nullptr).run(std::min(limit, ball));
    steps = learn_steps(links, frame.layout);
    complete(steps);
    if (frame.layout.size() == before || (ball < limit && frame.layout.size() < ball)) break;
    if (steps.all.size() > most_steps) return 0;
  }
  if (20 * frame.layout.size() < 17 * std::min(limit, links.ranks())) return 0;
  return explained_share(links, frame.layout, steps) - (surrounded(links, frame.layout) ? 0.0 : malus_of_a_part);
}

// After how many cells each axis comes back to where it began; 0 where it does not.
Cell periods(const Links& links, const CellLayout& layout) {
  std::vector<std::map<std::int32_t, std::size_t>> lengths(most_axes);
  for (const Rank rank : layout.placed()) {
    for (const Rank peer : links.of(rank)) {
      if (!layout.has(peer)) continue;
      const Cell step = layout.offset(rank, peer);
      std::size_t axis = most_axes;
      int along = 0;
      for (std::size_t i = 0; i < most_axes; ++i) {
        if (step[i] == 0) continue;
        axis = i;
        ++along;
      }
      if (along == 1 && step[axis] > 1) ++lengths[axis][step[axis]];
    }
  }
  Cell result{};
  for (std::size_t axis = 0; axis < most_axes; ++axis) {
    for (const auto& [length, count] : lengths[axis]) {
      const std::int32_t period = length + 1;
      if (static_cast<double>(count) < 0.3 * static_cast<double>(layout.size()) / period) continue;
      Cell tried{};
      tried[axis] = period;
      CellLayout folded(links.ranks(), tried);
      std::size_t collisions = 0;
      for (const Rank rank : layout.placed()) {
        const Cell cell = folded.wrapped(layout.cell(rank));
        if (!folded.at(cell)) {
          folded.place(rank, cell);
        } else if (33 * ++collisions > layout.size()) {
          break;
        }
      }
      if (33 * collisions > layout.size()) continue;
      result[axis] = period;
      break;
    }
  }
  return result;
}

// The cells in use along each axis: layers that are at least a third as full as the fullest one, around it.
std::pair<Cell, Cell> extent(const CellLayout& layout, const Cell& period) {
  Cell first{};
  Cell last{};
  for (std::size_t axis = 0; axis < most_axes; ++axis) {
    last[axis] = std::max(period[axis] - 1, 0);
    if (period[axis] > 0) continue;
    std::map<std::int32_t, std::size_t> layers;
    for (const Rank rank : layout.placed()) ++layers[layout.cell(rank)[axis]];
    const auto fullest =
        std::max_element(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto full = [&](std::int32_t layer) {
      const auto found = layers.find(layer);
      return found != layers.end() && 3 * found->second >= fullest->second;
    };
    first[axis] = last[axis] = fullest->first;
    while (full(first[axis] - 1)) --first[axis];
    while (full(last[axis] + 1)) ++last[axis];
  }
  return {first, last};
}

bool inside(const Cell& cell, const Cell& first, const Cell& last) {
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] < first[i] || cell[i] > last[i]) return false;
  }
  return true;
}

// The same layout without ranks outside the extent and without those of whose links two fifths take none of the steps.
CellLayout well_placed(const Links& links, const CellLayout& layout, const Cell& period, const Steps* steps) {
  const auto [first, last] = extent(layout, period);
  CellLayout result(links.ranks(), period);
  for (const Rank rank : layout.placed()) {
    const Cell cell = result.wrapped(layout.cell(rank));
    if (!inside(cell, first, last) || result.at(cell)) continue;
    if (steps != nullptr) {
      int fits = 0;
      int all = 0;
      for (const Rank peer : links.of(rank)) {
        if (!layout.has(peer) || links.hub(peer)) continue;
        ++all;
        if (std::binary_search(steps->all.begin(), steps->all.end(), layout.offset(rank, peer))) ++fits;
      }
      if (10 * fits < 6 * all && !links.hub(rank)) continue;
    }
    result.place(rank, cell);
  }
  return result;
}

// Puts the last ranks into the last free cells, where their links fit best.
void fill(const Links& links, CellLayout& layout, const Steps& steps, const Cell& first, const Cell& last) {
  std::vector<Cell> free;
  Cell cell = first;
  for (bool more = true; more;) {
    if (!layout.at(cell)) free.push_back(cell);
    more = false;
    for (std::size_t i = 0; i < cell.size() && !more; ++i) {
      more = cell[i] < last[i];
      cell[i] = more ? cell[i] + 1 : first[i];
    }
  }
  const auto best_of = [&](Rank rank) {
    std::pair<int, std::size_t> best{-1, 0};
    for (std::size_t i = 0; i < free.size(); ++i) {
      int fits = 0;
      for (const Cell& step : steps.all) {
        const auto peer = layout.at(layout.wrapped(sum(free[i], step)));
        if (peer) fits += links.joined(rank, *peer) ? 1 : -1;
      }
      best = std::max(best, {fits, i});
    }
    return best;
  };
  std::vector<std::pair<int, Rank>> left;
  for (Rank rank = 0; rank < links.ranks(); ++rank) {
    if (!layout.has(rank)) left.emplace_back(-best_of(rank).first, rank);
  }
  std::sort(left.begin(), left.end());
  for (const auto& [fits, rank] : left) {
    if (free.empty()) return;
    const std::size_t at = best_of(rank).second;
    layout.place(rank, free[at]);
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

// Whether a pair of ranks side by side on one axis sends as much as one on the other.
bool weigh_alike(const Description& description, std::size_t a, std::size_t b) {
  std::array<double, 2> mean{};
  for (const KeptOffset& kept : description.offsets) {
    for (const std::size_t axis : {a, b}) {
      Cell unit{};
      unit[axis] = 1;
      if (kept.offset == unit) mean[axis == a ? 0 : 1] = static_cast<double>(kept.bytes) / static_cast<double>(kept.pairs);
    }
  }
  return std::min(mean[0], mean[1]) > 0.9 * std::max(mean[0], mean[1]);
}

// Two alike axes of two cells taken as one ring of four, where that is shorter or too many axes are there.
Embedding joined_rings(std::span<const Flow> flows, Embedding embedding) {
  const auto ranks = static_cast<Index>(embedding.cells.size());
  for (bool again = true; again;) {
    again = false;
    const std::vector<Index> dims = embedding.description.dims;
    std::optional<Embedding> best;
    for (std::size_t a = 0; a < dims.size(); ++a) {
      for (std::size_t b = a + 1; b < dims.size(); ++b) {
        if (dims[a] != 2 || dims[b] != 2 || !weigh_alike(embedding.description, a, b)) continue;
        Embedding joint = embedding;
        for (Cell& cell : joint.cells) {
          constexpr std::int32_t ring[2][2] = {{0, 3}, {1, 2}};
          cell[a] = ring[cell[a]][cell[b]];
          for (std::size_t i = b; i + 1 < most_axes; ++i) cell[i] = cell[i + 1];
          cell[most_axes - 1] = 0;
        }
        std::vector<Index> fewer = dims;
        fewer[a] = 4;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(b));
        joint.description = describe(flows, joint.cells, fewer, ranks);
        if (!best || joint.description.bits < best->description.bits) best = std::move(joint);
      }
    }
    if (best && (best->description.bits <= embedding.description.bits || dims.size() > 4)) {
      embedding = std::move(*best);
      again = true;
    }
  }
  return embedding;
}

// The grid that a grown layout fills once it is folded and mended.
std::optional<Embedding> embedding_of(std::span<const Flow> flows, const Links& links, const CellLayout& grown) {
  const std::size_t ranks = links.ranks();
  if (20 * grown.size() < 17 * ranks) return std::nullopt;
  const Cell period = periods(links, grown);
  CellLayout layout = well_placed(links, grown, period, nullptr);
  Steps steps = learn_steps(links, layout);
  for (int round = 0; round < 4; ++round) {
    CellLayout kept = well_placed(links, layout, period, &steps);
    if (round > 0 && kept.size() == ranks) break;
    Growth(links, kept, steps, nullptr).run(ranks);
    layout = std::move(kept);
    steps = learn_steps(links, layout);
  }
  layout = well_placed(links, layout, period, nullptr);
  const auto [first, last] = extent(layout, period);
  std::vector<Index> dims;
  std::vector<std::size_t> axes;
  std::size_t cells = 1;
  for (std::size_t i = 0; i < most_axes; ++i) {
    const auto dim = static_cast<std::size_t>(last[i] - first[i] + 1);
    cells *= dim;
    if (cells > ranks) return std::nullopt;
    if (dim == 1) continue;
    dims.push_back(static_cast<Index>(dim));
    axes.push_back(i);
  }
  if (cells != ranks || 10 * layout.size() < 9 * ranks) return std::nullopt;
  if (ranks - layout.size() > most_filled) return std::nullopt;
  fill(links, layout, steps, first, last);
  layout = well_placed(links, layout, period, &steps);
  if (ranks - layout.size() > most_filled) return std::nullopt;
  fill(links, layout, steps, first, last);
  Embedding result;
  result.cells.resize(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      result.cells[rank][i] = layout.cell(rank)[axes[i]] - first[axes[i]];
    }
  }
  result.description = describe(flows, result.cells, dims, static_cast<Index>(ranks));
  return joined_rings(flows, std::move(result));
}

}  // namespace

std::optional<Embedding> describe_any_numbering(std::span<const Flow> flows, Index ranks) {
  const Links links(flows, ranks);
  std::optional<Embedding> best;
  int tries = 0;
  const std::size_t most_seeds = links.ranks() <= trial_ball ? 8 : links.ranks() <= 10 * trial_ball ? 4 : 2;
  for (const Rank seed : seeds(links, most_seeds)) {
    std::vector<std::pair<double, Frame>> tried;
    std::size_t good = 0;
    for (Frame& frame : frames(links, seed, most_frames)) {
      const double share = grow(links, frame, trial_ball);
      if (share >= fair_share) tried.emplace_back(share, std::move(frame));
      if (share >= good_share && ++good == most_finished) break;
    }
    std::stable_sort(tried.begin(), tried.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (tried.size() > most_finished) tried.erase(tried.begin() + most_finished, tried.end());
    for (auto& [share, frame] : tried) {
      if (links.ranks() > trial_ball) grow(links, frame, links.ranks());
      auto found = embedding_of(flows, links, frame.layout);
      if (found && (!best || found->description.bits < best->description.bits)) best = std::move(found);
    }
    if (best && plain(best->description, flows, ++tries > 1 ? most_of_it : nearly_all)) break;
  }
  return best;
}

}  // namespace rankwise
