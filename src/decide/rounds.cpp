#include "decide/rounds.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rankwise {

namespace {

class Rounds {
 public:
  explicit Rounds(LinkedSchedules& part) : part_(part) {
    std::size_t next = 0;
    for (const RankSchedule& schedule : part.schedules) {
      std::vector<std::size_t>& first = first_.emplace_back();  // of each step's operations
      for (const Step& step : schedule.steps) {
        first.push_back(next);
        next += step.ops.size();
      }
    }
  }

  void fold() {
    const std::size_t steps = first_.front().size();
    if (!std::ranges::all_of(first_, [steps](const auto& first) { return first.size() == steps; })) return;
    std::unordered_map<std::size_t, std::vector<std::size_t>> known;  // of a hash: steps, and which of the kept ones they are
    bool one = true;  // whether a rank has one message in it; the first step stays as if one before it had
    for (std::size_t step = 0; step < steps; ++step) {
      const bool one_before = std::exchange(one, sends_one(step));
      if (!one_before && !one && is_alone(step)) {
        std::vector<std::size_t>& alike = known[hash_of(step)];
        const auto found = std::ranges::find_if(alike, [&](std::size_t i) { return are_alike(original_[i], step); });
        if (found != alike.end()) {
          ++part_.rounds[*found];
          continue;
        }
        alike.push_back(original_.size());
      }
      original_.push_back(step);
      part_.rounds.push_back(1);
    }
    keep();
  }

 private:
  [[nodiscard]] const std::vector<Op>& ops(std::size_t rank, std::size_t step) const {
    return part_.schedules[rank].steps[step].ops;
  }

  // Whether every message of a step is to the one who stands for its sender.
  [[nodiscard]] bool is_alone(std::size_t step) const {
    for (std::size_t rank = 0; rank < first_.size(); ++rank) {
      const auto is_own = [rank](const Op& op) { return op.peer == static_cast<Index>(rank); };
      if (!std::ranges::all_of(ops(rank, step), is_own)) return false;
    }
    return true;
  }

  // Whether what a rank does next may change how long its only message takes.
  [[nodiscard]] bool sends_one(std::size_t step) const {
    for (std::size_t rank = 0; rank < first_.size(); ++rank) {
      if (std::ranges::count_if(ops(rank, step), &Op::moves) == 1) return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t hash_of(std::size_t step) const {
    std::size_t hash = 0;
    const auto add = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
    for (std::size_t rank = 0; rank < first_.size(); ++rank) {
      const std::vector<Op>& of_rank = ops(rank, step);
      add(of_rank.size());
      for (std::size_t i = 0; i < of_rank.size(); ++i) {
        add(part_.partners[first_[rank][step] + i]);
        add(static_cast<std::size_t>(of_rank[i].blocks()));
      }
    }
    return hash;
  }

  [[nodiscard]] bool are_alike(std::size_t one, std::size_t other) const {
    for (std::size_t rank = 0; rank < first_.size(); ++rank) {
      const std::vector<Op>& a = ops(rank, one);
      const std::vector<Op>& b = ops(rank, other);
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (part_.partners[first_[rank][one] + i] != part_.partners[first_[rank][other] + i]) return false;
        const auto all_of = [](const Op& op) { return std::tuple(op.kind, op.blocks(), op.adds, op.times, op.compute_s); };
        if (all_of(a[i]) != all_of(b[i]) || a[i].after != b[i].after) return false;
      }
    }
    return true;
  }

  void keep() {
    if (original_.size() == first_.front().size()) {
      part_.rounds.clear();
      return;
    }
    std::vector<std::uint32_t> partners;
    for (std::size_t rank = 0; rank < first_.size(); ++rank) {
      std::vector<Step> steps;
      for (const std::size_t step : original_) {
        Step& kept = steps.emplace_back(std::move(part_.schedules[rank].steps[step]));
        const auto begin = part_.partners.begin() + static_cast<std::ptrdiff_t>(first_[rank][step]);
        partners.insert(partners.end(), begin, begin + static_cast<std::ptrdiff_t>(kept.ops.size()));
      }
      part_.schedules[rank].steps = std::move(steps);
    }
    part_.partners = std::move(partners);
  }

  LinkedSchedules& part_;
  std::vector<std::vector<std::size_t>> first_;  // of each rank and step: the number of its first operation
  std::vector<std::size_t> original_;            // of each step that is kept: which it was
};

}  // namespace

void fold_rounds(LinkedSchedules& part) { Rounds(part).fold(); }

}  // namespace rankwise
