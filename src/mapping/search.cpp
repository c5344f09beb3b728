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
  MappingOptions half = options;
  half.objective = Objective::j_sum;
  half.steps = options.steps / 2;
  if (options.left_s) half.left_s = [all = options.left_s, kept = options.left_s() / 2] { return all() - kept; };
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

}  // namespace rankwise
