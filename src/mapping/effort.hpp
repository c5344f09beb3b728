// How much work a search may be, and how much of it is left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <limits>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// Work left to a search, in steps of MappingOptions; where it has a clock that alone ends it.
class Effort {
 public:
  explicit Effort(const MappingOptions& options)
      : left_(options.left_s ? std::numeric_limits<Index>::max() / 2 : options.steps),
        stop_(options.stop),
        left_s_(options.left_s),
        begin_s_(left_s_ ? left_s_() : 0) {}

  void spend(Index steps) {
    left_ -= steps;
    spent_ += steps;
  }
  [[nodiscard]] Index left() const { return left_; }
  [[nodiscard]] Index spent() const { return spent_; }
  // Whether the search must end: asks the caller and the clock, so not for every move.
  bool over() {
    if (left_ > 0 && ((left_s_ && left_s_() <= 0) || (stop_ && stop_()))) left_ = 0;
    return left_ <= 0;
  }
  [[nodiscard]] bool has_clock() const { return static_cast<bool>(left_s_); }
  // Where a clock ends the search: what is left, in steps as long as those so far.
  void recount() {
    if (!left_s_ || left_ <= 0 || spent_ == 0) return;
    const double now_s = std::max(0.0, left_s_());
    const double share = now_s / std::max(1e-6, begin_s_ - now_s);
    left_ = static_cast<Index>(std::min(1e18, share * static_cast<double>(spent_)));
  }
  // Where a clock ends the search: of a round of so many steps, of which some are done since begun_s seconds were left, those
  // for which there is time at that pace; no more than were planned.
  [[nodiscard]] Index fitting(Index steps, Index done, double begun_s) const {
    if (!left_s_) return steps;
    const double now_s = left_s();
    const double more = static_cast<double>(done) * now_s / std::max(1e-9, begun_s - now_s);
    return std::min(steps, done + static_cast<Index>(std::min(1e18, more * 15 / 16)) + 1);
  }
  [[nodiscard]] double left_s() const { return left_s_ ? std::max(0.0, left_s_()) : 0.0; }

 private:
  Index left_;
  Index spent_ = 0;
  std::function<bool()> stop_;
  std::function<double()> left_s_;
  double begin_s_;
};

// A search that ends so many seconds from now by the caller's clock; none at 0.
[[nodiscard]] MappingOptions by_clock(double seconds, double (*now_s)());

// What leaves half of the effort.
[[nodiscard]] MappingOptions first_half(const MappingOptions& options);

// How many steps are worth spending where the caller names no time: a millisecond for each message that a node could
// still be spared (what is between the best of all algorithms without a search and the lower bound, over the nodes), as
// if a message across nodes cost a microsecond more than one within, a thousand times. At least a millisecond, for the
// busiest node may still gain where the sum cannot; at most a second. The same on every machine. Takes O(cells * offsets)
// time and memory.
Index worthwhile_steps(const MappingProblem& problem);

// Work shared among threads: the only place of the core that starts any. What the work throws comes back to the caller.

// Calls work(i, thread) for all i below count, each once; so many threads (0 to threads - 1) take the next i as they are free.
template <class Work>
void for_all(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto share = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) work(i, thread);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads && thread < count; ++thread) {
    others.push_back(std::async(std::launch::async, share, thread));
  }
  share(0);
  for (auto& other : others) other.get();
}

// Calls both, at the same time or one after the other.
template <class First, class Second>
void run_both(bool at_once, const First& first, const Second& second) {
  if (!at_once) {
    first();
    second();
    return;
  }
  auto other = std::async(std::launch::async, first);
  second();
  other.get();
}

}  // namespace rankwise
