#include "mapping/chains.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace rankwise {

Quality quality(const Partition& partition, Objective objective) {
  const std::int64_t peak = partition.j_max();
  std::int64_t at_peak = 0;
  for (Partition::Part part = 0; part < partition.parts(); ++part) at_peak += partition.out(part) == peak ? 1 : 0;
  if (objective == Objective::j_sum) return {partition.j_sum(), peak, at_peak};
  return {peak, at_peak, partition.j_sum()};
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

  [[nodiscard]] const std::vector<Gift>& from(Partition::Part part) const { return of_part_[static_cast<std::size_t>(part)]; }

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

// What a chain of gifts has changed, so that it can be taken back.
struct Step {
  Partition::Cell cell;
  Partition::Part from;
};

// Moves a cell along each hop of a chain, from its end: each part gains before it gives, so none runs empty.
void give_along(Partition& partition, const std::vector<Partition::Part>& chain, std::vector<Step>& steps, Effort& effort) {
  for (std::size_t i = chain.size() - 1; i-- > 0;) {
    const Candidate given = cheapest_cell(partition, chain[i], chain[i + 1]);
    effort.spend(partition.graph().cells() / 8 + partition.cells_in(chain[i]) * 4);
    steps.push_back({given.cell, chain[i]});
    partition.move(given.cell, chain[i + 1], given.change);
  }
}

void take_back(Partition& partition, std::vector<Step>& steps) {
  for (; !steps.empty(); steps.pop_back()) {
    const Step& step = steps.back();
    partition.move(step.cell, step.from, partition.change(step.cell, step.from));
  }
}

struct Cycle {
  std::int64_t price;
  std::vector<Partition::Part> chain;  // begins and ends with the same part
};

// For each part and each length the cheapest cycle of gifts through it, cheapest first.
std::vector<Cycle> cheap_cycles(const Partition& partition, const Gifts& gifts, std::int64_t dearest, Effort& effort) {
  constexpr std::size_t longest = 6;
  const auto parts = static_cast<std::size_t>(partition.parts());
  std::vector<Cycle> cycles;
  std::vector<std::vector<Hop>> rounds(longest + 1, std::vector<Hop>(parts));
  for (std::size_t source = 0; source < parts && !effort.over(); ++source) {
    effort.spend(static_cast<Index>(parts));
    for (auto& round : rounds) std::ranges::fill(round, Hop{});
    rounds[0][source].price = 0;
    for (std::size_t length = 1; length <= longest; ++length) {
      for (std::size_t part = 0; part < parts; ++part) {
        const std::int64_t so_far = rounds[length - 1][part].price;
        if (so_far == std::numeric_limits<std::int64_t>::max()) continue;
        const auto& from = gifts.from(static_cast<Partition::Part>(part));
        effort.spend(static_cast<Index>(from.size()));
        for (const Gifts::Gift& gift : from) {
          Hop& hop = rounds[length][static_cast<std::size_t>(gift.to)];
          if (so_far + gift.price < hop.price) hop = {so_far + gift.price, static_cast<Partition::Part>(part)};
        }
      }
      const std::int64_t price = rounds[length][source].price;
      if (length < 2 || price > dearest) continue;
      Cycle cycle{price, {}};
      auto part = static_cast<Partition::Part>(source);
      for (std::size_t left = length; left > 0; --left) {
        cycle.chain.push_back(part);
        part = rounds[left][static_cast<std::size_t>(part)].from;
      }
      cycle.chain.push_back(part);
      std::ranges::reverse(cycle.chain);
      cycles.push_back(std::move(cycle));
    }
  }
  std::ranges::stable_sort(cycles, {}, &Cycle::price);
  return cycles;
}

}  // namespace

void polish(Partition& partition, Objective objective, Effort& effort) {
  const std::int64_t dearest = 2 * partition.graph().mean_weight();
  std::vector<Step> steps;
  for (bool better = true; better && !effort.over();) {
    better = false;
    const Gifts gifts(partition, effort);
    for (const Cycle& cycle : cheap_cycles(partition, gifts, dearest, effort)) {
      const Quality before = quality(partition, objective);
      steps.clear();
      give_along(partition, cycle.chain, steps, effort);
      if (quality(partition, objective) < before) {
        better = true;
        break;
      }
      take_back(partition, steps);
      if (effort.left() <= 0) break;
    }
  }
}

bool repair(Partition& partition, Effort& effort) {
  std::vector<Step> steps;
  for (;;) {
    Partition::Part over = 0;
    Partition::Part under = 0;
    for (Partition::Part part = 0; part < partition.parts(); ++part) {
      if (partition.surplus(part) > partition.surplus(over)) over = part;
      if (partition.surplus(part) < partition.surplus(under)) under = part;
    }
    if (partition.surplus(over) <= 0) return true;
    if (effort.over()) return false;
    const Gifts gifts(partition, effort);
    std::vector<Partition::Part> chain = cheapest_chain(partition, gifts);
    if (chain.empty()) chain = {over, under};
    steps.clear();
    give_along(partition, chain, steps, effort);
  }
}

}  // namespace rankwise
