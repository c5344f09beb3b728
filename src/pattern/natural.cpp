#include "pattern/natural.hpp"

#include <algorithm>
#include <utility>

#include "mapping/random.hpp"

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
std::pair<std::vector<Flow>, Index> sample(std::span<const Flow> flows, Index ranks, std::size_t ways) {
  const auto degree = static_cast<Index>(flows.size()) / ranks + 1;
  const Index wanted = std::clamp<Index>(12'000'000 / (degree * static_cast<Index>(ways)), 128, 384);
  std::vector<Flow> result;
  Random random(20);
  for (Index i = 0; i < wanted; ++i) {
    const auto rank = static_cast<std::uint32_t>(random.bits() % static_cast<std::uint64_t>(ranks));
    auto at = std::lower_bound(flows.begin(), flows.end(), rank, [](const Flow& a, std::uint32_t b) { return a.from < b; });
    for (; at != flows.end() && at->from == rank; ++at) result.push_back(*at);
  }
  return {std::move(result), wanted};
}

// A sample's flows with their ranks numbered anew, in the order in which they occur.
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
  std::vector<std::vector<Index>> ways;
  std::vector<Index> factors;
  factorise(ranks, factors, ways);
  if (ranks > ranks_seen_whole && ways.size() > finalists) {
    auto [some, senders] = sample(flows, ranks, ways.size());
    const std::vector<std::uint32_t> named = renumber(some);
    std::vector<Cell> cells(named.size());
    std::vector<std::pair<double, std::size_t>> bits;
    for (std::size_t way = 0; way < ways.size(); ++way) {
      for (std::size_t i = 0; i < named.size(); ++i) cells[i] = natural_cell(named[i], ways[way]);
      bits.emplace_back(describe(some, cells, ways[way], senders).bits, way);
    }
    std::partial_sort(bits.begin(), bits.begin() + finalists, bits.end());
    const double noise = static_cast<double>(some.size()) * noise_bits(ranks);
    const bool none = bits.front().first > hopeless * noise;
    std::vector<std::vector<Index>> best;
    for (std::size_t i = 0; i < (none ? 1 : finalists); ++i) {
      if (bits[i].first <= likely * bits.front().first) best.push_back(ways[bits[i].second]);
    }
    ways = std::move(best);
  }
  Description shortest;
  for (const std::vector<Index>& dims : ways) {
    Description description = describe(flows, natural_cells(dims), dims, ranks);
    if (shortest.dims.empty() || description.bits < shortest.bits) shortest = std::move(description);
  }
  return shortest;
}

}  // namespace rankwise
