#include "mapping/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "mapping/algorithms.hpp"

namespace rankwise {

namespace {

const ExponentialDraws& draws() {
  static const ExponentialDraws made;
  return made;
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
  const double begun_s = effort.left_s();
  Index done = 0;
  while (done < steps && !effort.over()) {
    std::int64_t rest = ((steps - done) << 10) / steps;  // 1024 at the start, 0 at the end
    if (cooling.until_left_s > 0) {
      const double now_s = effort.left_s();
      if (now_s <= cooling.until_left_s) break;
      const double share = (now_s - cooling.until_left_s) / (begun_s - cooling.until_left_s);
      rest = std::min<std::int64_t>(1024, std::lround(1024 * share));
    }
    const std::int64_t temperature = (cooling.cold + (((cooling.hot - cooling.cold) * rest >> 10) * rest >> 10)) * unit;
    const std::int64_t balance = (cooling.cold_balance + ((cooling.hot_balance - cooling.cold_balance) * rest >> 10)) * unit;
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

namespace {

// How hot a round starts and how dear a wrong size is, in 1/1024 of a mean edge. Found by trial on instances of
// hunold2020: rounds that melt most of the map and rounds that only touch it up find more in turns than either alone.
struct Recipe {
  std::int64_t hot, hot_balance, cold_balance;
};
constexpr std::array<Recipe, 4> recipes{{{1500, 512, 1536}, {600, 512, 1536}, {1500, 512, 1536}, {900, 400, 1100}}};
constexpr std::int64_t cold = 150;
constexpr Index most_rounds = 40;
// With so few rounds there is no time to cool down from a melt.
constexpr Index few_rounds = 2;
constexpr Index many_rounds = 8;
constexpr std::int64_t melting = 5000;
constexpr Recipe touch_up{700, 512, 1536};
constexpr Index probe = 32'768;
// A ceiling at the least j_max so far, with this price for each unit above it, and no more heat than that.
constexpr std::int64_t peak_price = 1024;
constexpr std::int64_t peak_heat = 800;

// Keeps of all maps those of which none is better in both.
class Front {
 public:
  void offer(const Partition& map) {
    const auto beats = [](const Partition& a, const Partition& b) { return a.j_sum() <= b.j_sum() && a.j_max() <= b.j_max(); };
    if (std::ranges::any_of(maps_, [&](const Partition& other) { return beats(other, map); })) return;
    std::erase_if(maps_, [&](const Partition& other) { return beats(map, other); });
    maps_.push_back(map);
  }
  std::vector<Partition> take() {
    std::ranges::sort(maps_, {}, &Partition::j_sum);
    return std::move(maps_);
  }

 private:
  std::vector<Partition> maps_;
};

Index sweep_of(const StencilGraph& graph) { return static_cast<Index>(graph.edge_count()) / 2 + graph.cells(); }

// Rounds of a search, each an annealing, a repair and a polish: of so many steps, or of a share of the time that is left.
class Rounds {
 public:
  // A round too short to cool slowly is of no use: little effort means fewer rounds.
  Rounds(const Partition& start, std::uint64_t seed, Effort& effort)
      : effort_(effort), shortest_(200 * sweep_of(start.graph())), steps_(effort.left()) {
    if (effort.has_clock()) {  // how fast is this machine, with this graph?
      Partition trial = start;
      Random random(seed);
      const double begun_s = effort.left_s();
      anneal(trial, {cold, cold, touch_up.hot_balance, touch_up.cold_balance, 0, 0, probe}, random, effort);
      pace_ = static_cast<double>(probe) / std::max(1e-6, begun_s - effort.left_s());
      steps_ = static_cast<Index>(std::min(1e18, pace_ * effort.left_s()));
    }
    count_ = std::clamp<Index>(steps_ / shortest_, 1, most_rounds);
    steps_ /= count_;
  }

  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] bool are_few() const { return count_ <= few_rounds; }
  // Whether a round is long enough to melt everything.
  [[nodiscard]] bool are_long() const { return steps_ >= 4 * shortest_; }
  // Anneals, mends the sizes and polishes; false where the effort has ended before the sizes were exact.
  bool run(Partition& trial, Cooling cooling, Index round, Objective objective, Random& random) {
    cooling.steps = steps_;
    if (effort_.has_clock()) {
      const double left_s = effort_.left_s();
      const double share_s = left_s / static_cast<double>(std::max<Index>(1, count_ - round));
      const double mending_s = std::clamp(mending_s_ * 1.25, share_s / 16, share_s / 2);
      cooling.steps = effort_.left();
      cooling.until_left_s = left_s - share_s + mending_s;
    }
    anneal(trial, cooling, random, effort_);
    const double annealed_s = effort_.left_s();
    if (!repair(trial, effort_)) return false;
    mending_s_ = annealed_s - effort_.left_s();
    polish(trial, objective, effort_);
    return true;
  }

 private:
  Effort& effort_;
  Index shortest_;
  Index steps_;  // of a round
  Index count_;
  double pace_ = 0;
  double mending_s_ = 0;  // what the last repair took
};

}  // namespace

Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound) {
  Effort effort(options);
  return search(std::move(starts), options, bound, effort);
}

Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound, Effort& effort) {
  const Objective objective = options.objective;
  std::ranges::stable_sort(starts, {}, [&](const Partition& start) { return quality(start, objective); });
  Partition best = starts.front();
  Random random(options.seed);
  Rounds rounds(best, options.seed, effort);
  // No map has a smaller j_max: the nodes cannot all send less than the mean.
  const std::int64_t least_peak = (bound + best.parts() - 1) / best.parts();
  polish(best, objective, effort);
  for (Index round = 0; !effort.over(); ++round) {
    if (best.j_sum() <= bound && best.j_max() <= least_peak) break;
    // The last rounds, and all where no smaller j_sum can be, look for a smaller j_max.
    const bool is_for_peak =
        objective == Objective::j_max || best.j_sum() <= bound || (round >= rounds.count() - rounds.count() / 3 && round > 0);
    const Recipe& recipe = rounds.are_few() ? touch_up : recipes[static_cast<std::size_t>(round) % recipes.size()];
    // With many rounds some begin elsewhere, and with much time some melt everything: the best start may lead nowhere.
    const bool leaves = round % 4 == 3 && !is_for_peak;
    const bool melts = leaves && rounds.are_long() && (round % 8 == 3 || starts.size() == 1);
    const bool restarts = leaves && !melts && rounds.count() >= many_rounds && starts.size() > 1;
    Cooling cooling{melts ? melting : recipe.hot, cold, recipe.hot_balance, recipe.cold_balance, 0, 0, 0};
    if (is_for_peak) {
      cooling.peak = objective == Objective::j_max ? 1024 : 256;
      cooling.ceiling = best.j_max() - 1;
      cooling.hot = std::min<std::int64_t>(cooling.hot, 800);
    }
    Partition trial = restarts ? starts[1 + static_cast<std::size_t>(round / 4) % (starts.size() - 1)] : best;
    if (!rounds.run(trial, cooling, round, objective, random)) break;
    if (quality(trial, objective) < quality(best, objective)) best = std::move(trial);
  }
  return best;
}

std::vector<Partition> search_front(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound,
                                    Effort& effort) {
  Front front;
  for (const Partition& start : starts) front.offer(start);
  MappingOptions half = first_half(options);
  half.objective = Objective::j_sum;
  Effort first(half);
  Partition best = search(std::move(starts), half, bound, first);
  front.offer(best);
  effort.spend(first.spent());
  Rounds rounds(best, options.seed, effort);
  const std::int64_t unit = best.graph().mean_weight();
  Random random(options.seed + 1);
  const std::int64_t least_peak = (bound + best.parts() - 1) / best.parts();
  Partition roaming = best;
  const auto value = [](const Partition& map) { return 2 * map.parts() * map.j_max() + map.j_sum(); };
  for (Index round = 0; !effort.over() && best.j_max() > least_peak; ++round) {
    const Recipe& recipe = recipes[static_cast<std::size_t>(round) % recipes.size()];
    // The least j_sum is often too regular to leave by little heat: every other round goes on from where the last has ended,
    // the first of them from a melt.
    const bool roams = round % 2 == 1;
    const Cooling cooling{round == 1 ? recipes[0].hot : std::min(recipe.hot, peak_heat),
                          cold,
                          recipe.hot_balance,
                          recipe.cold_balance,
                          peak_price,
                          best.j_max() - unit,
                          0};
    Partition trial = roams ? roaming : best;
    if (!rounds.run(trial, cooling, round, Objective::j_max, random)) break;
    front.offer(trial);
    if (roams) roaming = trial;
    if (value(trial) < value(best)) best = std::move(trial);
  }
  return front.take();
}

namespace {

// Gives the cells of a part, in this order, to its parts one after the other.
std::vector<NodeId> dealt(const std::vector<std::size_t>& order, const NodeSizes& sizes) {
  std::vector<NodeId> part(order.size());
  std::size_t next = 0;
  for (Index i = 0; i < sizes.nodes(); ++i) {
    for (Index left = sizes.size(i); left > 0; --left) part[order[next++]] = static_cast<NodeId>(i);
  }
  return part;
}

// The part of each of these cells.
std::vector<NodeId> divided(const Grid& grid, const Stencil& stencil, std::span<const Index> cells, const NodeSizes& sizes,
                            const MappingOptions& options) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<NodeId> plain = dealt(order, sizes);
  if (options.steps <= 0 || sizes.nodes() == 1 || !StencilGraph::fits(static_cast<Index>(cells.size()), stencil)) {
    return plain;
  }
  const StencilGraph graph(grid, stencil, cells);
  const AxisValues strides = strides_of(grid);
  std::vector<Partition> starts;
  starts.emplace_back(graph, sizes, plain);
  // Slices across each axis.
  for (int axis = 0; axis < grid.ndim(); ++axis) {
    const Index stride = strides[static_cast<std::size_t>(axis)];
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return cells[i] / stride % grid.dim(axis); });
    starts.emplace_back(graph, sizes, dealt(order, sizes));
  }
  const Partition best = search(std::move(starts), options, 0);
  return {best.part_of_cell().begin(), best.part_of_cell().end()};
}

}  // namespace

Level divide(const Grid& grid, const Stencil& stencil, const Level& level, Index parts_of_each, const MappingOptions& options) {
  if (parts_of_each < 1) invalid("a level has " + std::to_string(parts_of_each) + " parts: give at least 1");
  if (stencil.ndim() != grid.ndim()) invalid("the stencil is for another number of axes than the grid");
  if (static_cast<Index>(level.part_of_cell.size()) != grid.size()) {
    invalid("the map has " + std::to_string(level.part_of_cell.size()) + " entries but the grid has " +
            std::to_string(grid.size()) + " cells: give one node a cell");
  }
  const std::size_t parts = level.sizes.size();
  // The cells of each part one after the other, ascending.
  std::vector<std::size_t> first(parts + 1, 0);
  Index count = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    first[part + 1] = first[part] + static_cast<std::size_t>(level.sizes[part]);
    count += std::min(parts_of_each, level.sizes[part]);
  }
  if (count > std::numeric_limits<NodeId>::max()) invalid("the levels have 2^31 parts or more: give fewer");
  std::vector<Index> cells(level.part_of_cell.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const auto part = static_cast<std::size_t>(level.part_of_cell[cell]);
    if (part >= parts || next[part] == first[part + 1]) invalid("the map does not fill its nodes exactly");
    cells[next[part]++] = static_cast<Index>(cell);
  }
  Level result{std::vector<NodeId>(cells.size()), {}};
  result.sizes.reserve(static_cast<std::size_t>(count));
  for (std::size_t part = 0; part < parts; ++part) {
    const Index size = level.sizes[part];
    const Index inner = std::min(parts_of_each, size);
    std::vector<Index> sizes;
    for (Index i = 0; i < inner; ++i) sizes.push_back(size / inner + (i < size % inner ? 1 : 0));
    MappingOptions share = options;
    share.steps =
        static_cast<Index>(static_cast<double>(options.steps) * static_cast<double>(size) / static_cast<double>(grid.size()));
    const std::span<const Index> own(cells.data() + first[part], static_cast<std::size_t>(size));
    const std::vector<NodeId> inside = divided(grid, stencil, own, NodeSizes(sizes), share);
    const auto before = static_cast<NodeId>(result.sizes.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      result.part_of_cell[static_cast<std::size_t>(own[i])] = before + inside[i];
    }
    result.sizes.insert(result.sizes.end(), sizes.begin(), sizes.end());
  }
  return result;
}

}  // namespace rankwise
