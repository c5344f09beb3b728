#include "mapping/annealing.hpp"

#include <algorithm>
#include <limits>

namespace rankwise {

namespace {

const ExponentialDraws& draws() {
  static const ExponentialDraws table;
  return table;
}

std::int64_t beyond(std::int64_t out, std::int64_t ceiling) { return std::max<std::int64_t>(0, out - ceiling); }

}  // namespace

void anneal(Partition& partition, const Cooling& cooling, Random& random, Effort& effort) {
  constexpr Index block = 1024;
  const StencilGraph& graph = partition.graph();
  const std::int64_t unit = graph.mean_weight();
  const std::int64_t peak = cooling.peak;
  const auto cells = static_cast<std::uint64_t>(graph.cells());
  const Index steps = std::min(cooling.steps, effort.left());
  const ExponentialDraws& exponential = draws();
  Index done = 0;
  while (done < steps && !effort.over()) {
    const std::int64_t rest = ((steps - done) << 10) / steps;  // 1024 at the start, 0 at the end
    const std::int64_t temperature =
        (cooling.cold + (((cooling.hot - cooling.cold) * rest >> 10) * rest >> 10)) * unit;
    const std::int64_t balance =
        (cooling.cold_balance + ((cooling.hot_balance - cooling.cold_balance) * rest >> 10)) * unit;
    Index spent = 0;
    for (Index i = 0; i < block; ++i) {
      const std::uint64_t bits = random.bits();  // 32 for the cell, 16 for where it goes, 12 for the odds
      const auto cell = static_cast<Partition::Cell>(((bits >> 32) * cells) >> 32);
      const auto edges = graph.edges(cell);
      ++spent;
      if (edges.empty()) continue;
      const auto towards = (((bits >> 16) & 0xffff) * edges.size()) >> 16;
      const Partition::Part to = partition.part(edges[towards].cell);
      const Partition::Part from = partition.part(cell);
      if (to == from) continue;
      spent += static_cast<Index>(edges.size());
      const Partition::Change change = partition.change(cell, to);
      std::int64_t energy = change.j_sum << 10;
      energy += balance * 2 * (partition.surplus(to) - partition.surplus(from) + 1);
      if (peak != 0) {
        const std::int64_t out_from = partition.out(from);
        const std::int64_t out_to = partition.out(to);
        energy += peak * (beyond(out_from + change.out_from, cooling.ceiling) - beyond(out_from, cooling.ceiling) +
                          beyond(out_to + change.out_to, cooling.ceiling) - beyond(out_to, cooling.ceiling));
      }
      if (energy > 0 && energy << 10 > temperature * exponential.draw(bits >> 3)) continue;
      if (partition.cells_in(from) == 1) continue;
      partition.move(cell, to, change);
    }
    done += spent;
    effort.spend(spent);
  }
}

namespace {

// The cheapest cell that each part can give to each neighbouring part.
class Gifts {
 public:
  struct Gift {
    Partition::Part to;
    Partition::Cell cell;
    std::int64_t price;
  };

  Gifts(const Partition& partition, Effort& effort) : of_part_(static_cast<std::size_t>(partition.parts())) {
    const StencilGraph& graph = partition.graph();
    for (Partition::Cell cell = 0; cell < graph.cells(); ++cell) {
      const Partition::Part from = partition.part(cell);
      Partition::Part last = from;
      for (const StencilGraph::Edge& edge : graph.edges(cell)) {
        const Partition::Part to = partition.part(edge.cell);
        if (to == from || to == last) continue;
        last = to;
        effort.spend(static_cast<Index>(graph.edges(cell).size()));
        offer(from, {to, cell, partition.change(cell, to).j_sum});
      }
    }
    effort.spend(static_cast<Index>(graph.edge_count()));
  }

  [[nodiscard]] const std::vector<Gift>& from(Partition::Part part) const {
    return of_part_[static_cast<std::size_t>(part)];
  }

 private:
  void offer(Partition::Part from, const Gift& gift) {
    auto& gifts = of_part_[static_cast<std::size_t>(from)];
    const auto same = std::ranges::find(gifts, gift.to, &Gift::to);
    if (same == gifts.end()) {
      gifts.push_back(gift);
    } else if (gift.price < same->price) {
      *same = gift;
    }
  }

  std::vector<std::vector<Gift>> of_part_;
};

struct Hop {
  std::int64_t price = std::numeric_limits<std::int64_t>::max();
  Partition::Part from = -1;
};

// The cheapest chain of gifts from a part with too many cells to one with too few, as parts in order; empty where
// none exists.
std::vector<Partition::Part> cheapest_chain(const Partition& partition, const Gifts& gifts) {
  // Bellman and Ford in rounds: after k rounds a part knows its cheapest chain of at most k gifts. Few rounds do: a
  // long chain of cheap gifts whose prices change on the way is worth no more than a short one.
  constexpr int longest = 12;
  const auto parts = static_cast<std::size_t>(partition.parts());
  std::vector<std::vector<Hop>> rounds(1, std::vector<Hop>(parts));
  for (std::size_t part = 0; part < parts; ++part) {
    if (partition.surplus(static_cast<Partition::Part>(part)) > 0) rounds[0][part].price = 0;
  }
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::size_t best_round = 0;
  Partition::Part best_part = -1;
  for (std::size_t round = 1; round <= std::max<std::size_t>(longest, parts); ++round) {
    if (round > longest && best_part >= 0) break;
    rounds.emplace_back(parts);
    bool reached = false;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::int64_t so_far = rounds[round - 1][part].price;
      if (so_far == std::numeric_limits<std::int64_t>::max()) continue;
      for (const Gifts::Gift& gift : gifts.from(static_cast<Partition::Part>(part))) {
        Hop& hop = rounds[round][static_cast<std::size_t>(gift.to)];
        if (so_far + gift.price >= hop.price) continue;
        hop = {so_far + gift.price, static_cast<Partition::Part>(part)};
        reached = true;
      }
    }
    for (std::size_t part = 0; part < parts; ++part) {
      const auto id = static_cast<Partition::Part>(part);
      if (partition.surplus(id) < 0 && rounds[round][part].price < best) {
        best = rounds[round][part].price;
        best_round = round;
        best_part = id;
      }
    }
    if (!reached) break;
  }
  std::vector<Partition::Part> chain;
  if (best_part < 0) return chain;
  for (Partition::Part part = best_part; best_round > 0; --best_round) {
    chain.push_back(part);
    part = rounds[best_round][static_cast<std::size_t>(part)].from;
    if (best_round == 1) chain.push_back(part);
  }
  std::ranges::reverse(chain);
  return chain;
}

struct Candidate {
  Partition::Cell cell = -1;
  Partition::Change change{};
};

// The cell of a part that costs least to give to another, neighbouring or not.
Candidate cheapest_cell(const Partition& partition, Partition::Part from, Partition::Part to) {
  Candidate best;
  for (Partition::Cell cell = 0; cell < partition.graph().cells(); ++cell) {
    if (partition.part(cell) != from) continue;
    const Partition::Change change = partition.change(cell, to);
    if (best.cell < 0 || change.j_sum < best.change.j_sum) best = {cell, change};
  }
  return best;
}

}  // namespace

void repair(Partition& partition, Effort& effort) {
  for (;;) {
    Partition::Part over = 0;
    Partition::Part under = 0;
    for (Partition::Part part = 0; part < partition.parts(); ++part) {
      if (partition.surplus(part) > partition.surplus(over)) over = part;
      if (partition.surplus(part) < partition.surplus(under)) under = part;
    }
    if (partition.surplus(over) <= 0) return;
    const Gifts gifts(partition, effort);
    std::vector<Partition::Part> chain = cheapest_chain(partition, gifts);
    if (chain.empty()) chain = {over, under};
    // From the end that lacks a cell: each part gains before it gives, so none runs empty.
    for (std::size_t i = chain.size() - 1; i-- > 0;) {
      const Candidate given = cheapest_cell(partition, chain[i], chain[i + 1]);
      partition.move(given.cell, chain[i + 1], given.change);
    }
  }
}

}  // namespace rankwise
