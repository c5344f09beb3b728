#include "mapping/search.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mapping/annealing.hpp"
#include "mapping/chains.hpp"

namespace rankwise {

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
constexpr Index few_rounds = 6;
constexpr std::int64_t melting = 5000;
constexpr Recipe touch_up{400, 512, 1536};
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
  const StencilGraph& graph = best.graph();
  if (options.left_s) {  // how fast is this machine, with this graph?
    Partition trial = best;
    Random other(options.seed);
    anneal(trial, {cold, cold, touch_up.hot_balance, touch_up.cold_balance, 0, 0, probe}, other, effort);
    effort.recount();
  }
  // A round too short to cool slowly is of no use: little effort means fewer rounds.
  const Index shortest = 150 * sweep_of(graph);
  const Index all = options.left_s ? effort.left() : options.steps;
  const Index rounds = std::clamp<Index>(all / shortest, 1, most_rounds);
  Index steps = all / rounds;
  // No map has a smaller j_max: the nodes cannot all send less than the mean.
  const std::int64_t least_peak = (bound + best.parts() - 1) / best.parts();
  polish(best, objective, effort);
  for (Index round = 0; !effort.over(); ++round) {
    if (best.j_sum() <= bound && best.j_max() <= least_peak) break;
    // The last rounds, and all where no smaller j_sum can be, look for a smaller j_max.
    const bool is_for_peak = objective == Objective::j_max || best.j_sum() <= bound ||
                             (round >= rounds - rounds / 3 && round > 0);
    if (options.left_s) {  // a little is kept for the repair at the end
      effort.recount();
      steps = effort.left() * 15 / (16 * std::max<Index>(1, rounds - round));
    }
    const Recipe& recipe =
        rounds <= few_rounds ? touch_up : recipes[static_cast<std::size_t>(round) % recipes.size()];
    // With much time some rounds melt everything: the best start may lead nowhere.
    const bool melts = round % 4 == 3 && !is_for_peak && steps >= 4 * shortest;
    Cooling cooling{melts ? melting : recipe.hot, cold, recipe.hot_balance, recipe.cold_balance, 0, 0, steps};
    if (is_for_peak) {
      cooling.peak = objective == Objective::j_max ? 1024 : 256;
      cooling.ceiling = best.j_max() - 1;
      cooling.hot = std::min<std::int64_t>(cooling.hot, 800);
    }
    Partition trial = best;
    anneal(trial, cooling, random, effort);
    if (!repair(trial, effort)) break;
    polish(trial, objective, effort);
    if (quality(trial, objective) < quality(best, objective)) best = std::move(trial);
  }
  return best;
}

std::vector<Partition> search_front(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound,
                                    Effort& effort) {
  Front front;
  for (const Partition& start : starts) front.offer(start);
  MappingOptions half = options;
  half.objective = Objective::j_sum;
  half.steps = options.steps / 2;
  if (options.left_s) half.left_s = [all = options.left_s, kept = options.left_s() / 2] { return all() - kept; };
  Effort first(half);
  Partition best = search(std::move(starts), half, bound, first);
  front.offer(best);
  effort.spend(first.spent());
  effort.recount();
  const StencilGraph& graph = best.graph();
  const Index rounds = std::clamp<Index>(effort.left() / (150 * sweep_of(graph)), 1, most_rounds);
  Index steps = effort.left() / rounds;
  Random random(options.seed + 1);
  const std::int64_t least_peak = (bound + best.parts() - 1) / best.parts();
  Partition roaming = best;
  const auto value = [](const Partition& map) { return 2 * map.parts() * map.j_max() + map.j_sum(); };
  for (Index round = 0; !effort.over() && best.j_max() > least_peak; ++round) {
    if (options.left_s && round > 0) {
      effort.recount();
      steps = effort.left() * 15 / (16 * std::max<Index>(1, rounds - round));
    }
    const Recipe& recipe = recipes[static_cast<std::size_t>(round) % recipes.size()];
    // The least j_sum is often too regular to leave by little heat: every other round goes on from where the last has ended,
    // the first of them from a melt.
    const bool roams = round % 2 == 1;
    const Cooling cooling{round == 1 ? recipes[0].hot : std::min(recipe.hot, peak_heat), cold, recipe.hot_balance,
                          recipe.cold_balance, peak_price, best.j_max() - graph.mean_weight(), steps};
    Partition trial = roams ? roaming : best;
    anneal(trial, cooling, random, effort);
    if (!repair(trial, effort)) break;
    polish(trial, Objective::j_max, effort);
    front.offer(trial);
    if (roams) roaming = trial;
    if (value(trial) < value(best)) best = std::move(trial);
  }
  return front.take();
}

}  // namespace rankwise
