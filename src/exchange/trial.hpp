// A short trial of several ways to do the same, in the program's own exchanges. It goes in rounds: each way that is left takes so
// many exchanges in a row, forwards and backwards by turns so that what drifts counts alike for all, twice as many in every round.
// The first of a row does not count: caches hold what the other way left. After a round the ranks tell each other what they found;
// then ways go that were slower in all rounds, or in nearly all of many. It ends when one way is left, when those that are cannot
// be told apart, or when it would lose more than it may. What takes four times as long once was disturbed, and proves nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rankwise {

class Trial {
 public:
  // exchanges: that the program will make, about. The trial may cost a hundredth of their time.
  Trial(std::size_t variants, std::size_t exchanges) : variants_(variants), exchanges_(exchanges) {
    for (std::size_t i = 0; i < variants; ++i) left_.push_back(i);
    if (variants < 2 || variants > most_variants(exchanges)) left_.resize(std::min(variants, std::size_t{1}));
    start_round();
  }

  // How many ways may be tried where so many exchanges are to come: a first round takes two of each.
  static constexpr std::size_t most_variants(std::size_t exchanges) { return exchanges / 150; }

  [[nodiscard]] bool is_over() const { return left_.size() < 2; }
  // Whether a round is complete: before the next exchange what measured_s() gives is reduced to the largest of all ranks, for
  // compare().
  [[nodiscard]] bool is_round_over() const { return !is_over() && taken_ == exchanges_of_round(); }
  // The way of the next exchange.
  [[nodiscard]] std::size_t now() const {
    const std::size_t place = taken_ / row();
    return left_[round_ % 2 == 0 ? place : left_.size() - 1 - place];
  }
  void took(double time_s) {
    Variant& variant = variants_[now()];
    variant.row_s += time_s;
    if (taken_ % row() > 0) variant.counted_s.push_back(time_s);
    ++taken_;
  }

  // Of each way that is left the time of an exchange and of the row; then what the last meeting took, negative.
  [[nodiscard]] std::vector<double> measured_s() const {
    std::vector<double> numbers;
    for (const std::size_t i : left_) numbers.insert(numbers.end(), {middle(variants_[i].counted_s), variants_[i].row_s});
    numbers.push_back(-meeting_s_);
    return numbers;
  }
  void compare(const std::vector<double>& largest) {
    for (std::size_t k = 0; k < left_.size(); ++k) {
      Variant& variant = variants_[left_[k]];
      variant.rounds_s.push_back(largest[2 * k]);
      variant.rows_s.push_back(largest[2 * k + 1]);
      variant.exchanges += row();
      variant.extra_s = std::max(0.0, largest[2 * k + 1] - static_cast<double>(row()) * largest[2 * k]);
    }
    met_s_ += -largest.back();
    const double meeting_s = -largest.back();
    drop();
    ++round_;
    if (!is_over() && (are_alike() || loss_s() + next_loss_s(meeting_s) > budget_s() || round_ == most_rounds)) {
      left_ = {best()};
    }
    start_round();
  }
  // What the ranks took to agree.
  void met(double time_s) { meeting_s_ = time_s; }

  [[nodiscard]] std::size_t best() const {
    return *std::ranges::min_element(left_, {}, [&](std::size_t i) { return middle(variants_[i].rounds_s); });
  }
  // Of each way, on its slowest rank.
  [[nodiscard]] std::vector<double> medians() const {
    std::vector<double> all;
    for (const Variant& variant : variants_) all.push_back(middle(variant.rounds_s));
    return all;
  }
  [[nodiscard]] std::size_t exchanges() const {
    std::size_t all = 0;
    for (const Variant& variant : variants_) all += variant.exchanges;
    return all;
  }
  // What it cost: how much longer its exchanges took than as many by the best way, and the meetings.
  [[nodiscard]] double loss_s() const {
    const double best_s = middle(variants_[best()].rounds_s);
    double loss_s = met_s_;
    for (const Variant& variant : variants_) {
      for (std::size_t r = 0; r < variant.rows_s.size(); ++r) {
        const double usual_s = static_cast<double>(row(r)) * best_s;
        loss_s += std::clamp(variant.rows_s[r] - usual_s, 0.0, (disturbed - 1.0) * usual_s);
      }
    }
    return loss_s;
  }

 private:
  static constexpr std::size_t most_rounds = 7;
  static constexpr double disturbed = 4.0;
  struct Variant {
    std::vector<double> counted_s;  // of this round, on this rank
    double row_s = 0.0;
    std::vector<double> rounds_s;  // of each round, on the slowest rank
    std::vector<double> rows_s;    // likewise, all exchanges of its row
    double extra_s = 0.0;          // of the last row, by which its first exchange was slower
    std::size_t exchanges = 0;
  };

  static double middle(std::vector<double> values) {
    if (values.empty()) return 0.0;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }
  static std::size_t row(std::size_t round) { return 1 + (std::size_t{1} << round); }
  [[nodiscard]] std::size_t row() const { return row(round_); }
  [[nodiscard]] std::size_t exchanges_of_round() const { return row() * left_.size(); }
  void start_round() {
    taken_ = 0;
    for (Variant& variant : variants_) {
      variant.counted_s.clear();
      variant.counted_s.reserve(row());
      variant.row_s = 0.0;
    }
  }
  // A way's time by that of the best, round by round, ascending.
  [[nodiscard]] std::vector<double> ratios(std::size_t variant, std::size_t best) const {
    std::vector<double> all;
    for (std::size_t r = 0; r < variants_[variant].rounds_s.size(); ++r)
      all.push_back(variants_[variant].rounds_s[r] / variants_[best].rounds_s[r]);
    std::ranges::sort(all);
    return all;
  }
  // Slower by half after one round, by a quarter after two, by an eighth after four: but for one round in four.
  void drop() {
    const std::size_t quickest = best();
    const std::size_t rounds = round_ + 1;
    std::erase_if(left_, [&](std::size_t i) {
      if (i == quickest) return false;
      const double ratio = ratios(i, quickest)[(rounds - 1) / 4];
      return ratio > 1.0 + 0.5 / static_cast<double>(rounds) && (rounds > 1 || ratio < disturbed);
    });
  }
  // All within three percent, in three rounds of four.
  [[nodiscard]] bool are_alike() const {
    if (round_ < 4) return false;
    const std::size_t quickest = best();
    return std::ranges::all_of(left_, [&](std::size_t i) { return ratios(i, quickest)[round_ - 1 - round_ / 4] < 1.03; });
  }
  [[nodiscard]] double budget_s() const { return 0.01 * static_cast<double>(exchanges_) * middle(variants_[best()].rounds_s); }
  [[nodiscard]] double next_loss_s(double meeting_s) const {
    const double best_s = middle(variants_[best()].rounds_s);
    double loss_s = meeting_s;
    for (const std::size_t i : left_) {
      const double slower_s = static_cast<double>(row()) * (middle(variants_[i].rounds_s) - best_s) + variants_[i].extra_s;
      loss_s += std::min(slower_s, (disturbed - 1.0) * static_cast<double>(row()) * best_s);
    }
    return loss_s;
  }

  std::vector<Variant> variants_;
  std::size_t exchanges_;
  std::vector<std::size_t> left_;
  std::size_t round_ = 0;
  std::size_t taken_ = 0;  // exchanges of this round
  double meeting_s_ = 0.0;
  double met_s_ = 0.0;
};

}  // namespace rankwise
