#include "pattern/describe.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "mapping/random.hpp"

namespace rankwise {

namespace {

struct Tally {
  std::uint64_t key = 0;
  std::uint64_t pairs = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// Sums by key: a hash table with open addresses, which grows.
class Tallies {
 public:
  Tallies() : table_(1 << 10) {}

  void add(std::uint64_t key, const Flow& flow) {
    Tally& at = find(key);
    if (at.pairs == 0) {
      at.key = key;
      ++used_;
    }
    ++at.pairs;
    at.messages += flow.messages;
    at.bytes += flow.bytes;
    if (2 * used_ > table_.size()) grow();
  }

  [[nodiscard]] std::vector<Tally> all() const {
    std::vector<Tally> result;
    for (const Tally& tally : table_) {
      if (tally.pairs > 0) result.push_back(tally);
    }
    std::sort(result.begin(), result.end(), [](const Tally& a, const Tally& b) { return a.key < b.key; });
    return result;
  }

 private:
  Tally& find(std::uint64_t key) {
    std::size_t at = mixed(key) & (table_.size() - 1);
    while (table_[at].pairs > 0 && table_[at].key != key) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }

  void grow() {
    std::vector<Tally> old(table_.size() * 4);
    old.swap(table_);
    for (const Tally& tally : old) {
      if (tally.pairs > 0) find(tally.key) = tally;
    }
  }

  std::vector<Tally> table_;
  std::size_t used_ = 0;
};

// An offset and the axes along which it wrapped around, as one number; and back.
class OffsetCode {
 public:
  explicit OffsetCode(const std::vector<Index>& dims) : dims_(dims) {}

  [[nodiscard]] std::uint64_t encode(const Cell& from, const Cell& to) const {
    std::uint64_t key = 0;
    std::uint64_t wraps = 0;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      Index step = to[i] - from[i];
      if (2 * step > dims_[i]) {
        step -= dims_[i];
        wraps |= std::uint64_t{1} << i;
      } else if (2 * step < -dims_[i]) {
        step += dims_[i];
        wraps |= std::uint64_t{1} << i;
      }
      key = key * static_cast<std::uint64_t>(dims_[i] + 1) + static_cast<std::uint64_t>(step + dims_[i] / 2);
    }
    return (key << most_axes) | wraps;
  }

  [[nodiscard]] Cell offset(std::uint64_t key) const {
    Cell result{};
    key >>= most_axes;
    for (std::size_t i = dims_.size(); i-- > 0;) {
      const auto radix = static_cast<std::uint64_t>(dims_[i] + 1);
      result[i] = static_cast<std::int32_t>(static_cast<Index>(key % radix) - dims_[i] / 2);
      key /= radix;
    }
    return result;
  }

  [[nodiscard]] static std::uint64_t wraps(std::uint64_t key) { return key & ((1U << most_axes) - 1); }

 private:
  const std::vector<Index>& dims_;
};

double entropy(double share) {
  if (share <= 0 || share >= 1) return 0;
  return -share * std::log2(share) - (1 - share) * std::log2(1 - share);
}

// The share of an axis' cells from which a step of that length leads to a cell.
double room(Index dim, Index step, bool around) {
  const Index length = std::abs(step);
  if (length == 0 || (around && 2 * length < dim)) return 1;
  return static_cast<double>(dim - length) / static_cast<double>(dim);
}

// The tallies of one offset lie side by side: they differ in their lowest bits only.
template <typename Visit>
void each_offset(const std::vector<Tally>& tallies, Visit visit) {
  for (std::size_t first = 0; first < tallies.size();) {
    std::size_t last = first;
    while (last < tallies.size() && tallies[last].key >> most_axes == tallies[first].key >> most_axes) ++last;
    visit(std::span(tallies).subspan(first, last - first));
    first = last;
  }
}

std::vector<bool> periodic_axes(const std::vector<Tally>& tallies, const OffsetCode& code, const std::vector<Index>& dims,
                                double senders) {
  std::vector<double> expected(dims.size(), 0);
  std::vector<double> seen(dims.size(), 0);
  each_offset(tallies, [&](std::span<const Tally> same) {
    const Cell offset = code.offset(same.front().key);
    double least = senders;
    double pairs = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) least *= room(dims[i], offset[i], false);
    for (const Tally& tally : same) pairs += static_cast<double>(tally.pairs);
    if (pairs < 0.3 * least || pairs < 2) return;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Index length = std::abs(offset[i]);
      if (length == 0 || 2 * length >= dims[i]) continue;
      const double open = room(dims[i], offset[i], false);
      expected[i] += least / open * (1 - open);
      for (const Tally& tally : same) {
        if ((OffsetCode::wraps(tally.key) >> i & 1) != 0) seen[i] += static_cast<double>(tally.pairs);
      }
    }
  });
  std::vector<bool> result(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) result[i] = expected[i] > 0 && seen[i] >= 0.4 * expected[i];
  return result;
}

Index length_of(const Cell& offset) {
  Index sum = 0;
  for (const std::int32_t step : offset) sum += std::abs(step);
  return sum;
}

}  // namespace

std::size_t directions(const Description& description) {
  std::set<Cell> distinct;
  for (const KeptOffset& kept : description.offsets) {
    Cell offset = kept.offset;
    for (std::size_t i = 0; i < description.dims.size(); ++i) {
      if (2 * std::abs(offset[i]) == description.dims[i]) offset[i] = std::abs(offset[i]);
    }
    distinct.insert(offset);
  }
  return distinct.size();
}

std::size_t high_degree(std::span<const Flow> flows, Index ranks, Index percent) {
  std::vector<std::size_t> receives(static_cast<std::size_t>(ranks));
  for (const Flow& flow : flows) ++receives[flow.to];
  std::vector<std::size_t> degrees = receives;
  const auto middle = degrees.begin() + ranks / 2;
  std::nth_element(degrees.begin(), middle, degrees.end());
  const std::size_t hub = 3 * *middle + 4;  // to which all send is no neighbour of each
  std::fill(degrees.begin(), degrees.end(), 0);
  for (const Flow& flow : flows) degrees[flow.from] += receives[flow.to] <= hub ? 1 : 0;
  const auto high = degrees.begin() + (ranks - 1) * percent / 100;
  std::nth_element(degrees.begin(), high, degrees.end());
  return *high;
}

bool plain(const Description& description, std::span<const Flow> flows, double share) {
  if (static_cast<double>(description.explained) < share * static_cast<double>(flows.size())) return false;
  Index ranks = 1;
  for (const Index dim : description.dims) ranks *= dim;
  if (directions(description) > high_degree(flows, ranks)) return false;
  std::set<Cell> offsets;
  for (const KeptOffset& kept : description.offsets) offsets.insert(kept.offset);
  for (const Cell& offset : offsets) {
    for (std::size_t i = 0; i < description.dims.size(); ++i) {
      Cell mirrored = offset;
      mirrored[i] = -mirrored[i];
      if (offsets.count(mirrored) == 0 && 2 * std::abs(offset[i]) != description.dims[i]) return false;
    }
  }
  return true;
}

double noise_bits(Index ranks) { return std::log2(static_cast<double>(ranks)) + 3; }

Description describe(std::span<const Flow> flows, std::span<const Cell> cell_of_rank, const std::vector<Index>& dims,
                     Index senders) {
  const OffsetCode code(dims);
  Tallies sums;
  for (const Flow& flow : flows) sums.add(code.encode(cell_of_rank[flow.from], cell_of_rank[flow.to]), flow);
  const std::vector<Tally> tallies = sums.all();

  Description result;
  result.dims = dims;
  result.periodic = periodic_axes(tallies, code, dims, static_cast<double>(senders));
  const Index cells = std::accumulate(dims.begin(), dims.end(), Index{1}, std::multiplies<>());
  const double noise = noise_bits(cells);
  struct Candidate {
    KeptOffset kept;
    double possible;
  };
  std::vector<Candidate> candidates;
  std::set<Cell> known;
  each_offset(tallies, [&](std::span<const Tally> same) {
    KeptOffset kept{code.offset(same.front().key), 0, 0, 0};
    for (const Tally& tally : same) {
      bool there = true;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if ((OffsetCode::wraps(tally.key) >> i & 1) != 0 && !result.periodic[i]) there = false;
      }
      if (!there) continue;
      kept.pairs += tally.pairs;
      kept.messages += tally.messages;
      kept.bytes += tally.bytes;
    }
    double possible = static_cast<double>(senders);
    for (std::size_t i = 0; i < dims.size(); ++i) possible *= room(dims[i], kept.offset[i], result.periodic[i]);
    if (kept.pairs == 0 || static_cast<double>(kept.pairs) < 0.3 * possible) return;
    candidates.push_back({kept, possible});
    known.insert(kept.offset);
  });
  std::uint64_t unnamed = flows.size();
  for (const auto& [kept, possible] : candidates) {
    const auto pairs = static_cast<double>(kept.pairs);
    double name = 6.0 * static_cast<double>(dims.size()) + 6 + 4.0 * static_cast<double>(length_of(kept.offset));
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (2 * std::abs(kept.offset[i]) != dims[i]) continue;
      Cell other_way = kept.offset;
      other_way[i] = -other_way[i];
      if (known.count(other_way) > 0) name /= 2;  // both are one
    }
    const double cost = name + std::max(possible, pairs) * entropy(pairs / std::max(possible, pairs));
    if (cost >= pairs * noise) continue;
    result.bits += cost;
    result.explained += kept.pairs;
    unnamed -= kept.pairs;
    result.offsets.push_back(kept);
  }
  result.bits += static_cast<double>(unnamed) * noise;
  std::sort(result.offsets.begin(), result.offsets.end(), [](const KeptOffset& a, const KeptOffset& b) {
    const Index first = length_of(a.offset);
    const Index second = length_of(b.offset);
    return first != second ? first < second : a.offset > b.offset;
  });
  return result;
}

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
