// How long a decision takes: all candidates of `auto` walked and ranked, on grids of a program's size. Exit 1 when one
// of those with k = 1 or 2 takes 1 ms or more. k = 4 in 3-D is printed, too: 728 partners.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "decide/contest.hpp"
#include "profile/profile.hpp"

namespace {

using rankwise::Index;

struct Problem {
  std::vector<Index> dims;
  bool periodic;
  int cutoff;
};

double median_s(const Problem& problem) {
  using Clock = std::chrono::steady_clock;
  const auto ndim = problem.dims.size();
  const rankwise::Question question{rankwise::Grid(problem.dims, std::vector<bool>(ndim, problem.periodic)),
                                    std::vector<int>(ndim, problem.cutoff), rankwise::Shell::full,
                                    {"direct", "comb", "shift"}, {}, {}};
  const rankwise::AxisLinks links(ndim, rankwise::LinkClass::other_node);
  std::vector<double> times_s;
  for (int i = 0; i < 51; ++i) {
    const auto start = Clock::now();
    const rankwise::Contest contest(question, links);
    const auto ranked = contest.ranked(4096, rankwise::default_machine());
    const auto text = rankwise::reason(ranked);
    const auto end = Clock::now();
    times_s.push_back(std::chrono::duration<double>(end - start).count());
    if (text.empty()) return -1.0;
  }
  std::nth_element(times_s.begin(), times_s.begin() + 25, times_s.end());
  return times_s[25];
}

}  // namespace

int main() {
  std::printf("one decision of auto, median of 51\n%-14s %-9s %3s %12s\n", "grid", "borders", "k", "time");
  bool quick = true;
  for (const Problem& problem : std::vector<Problem>{
           {{2}, true, 1}, {{512}, true, 2}, {{2, 1, 1}, true, 1}, {{2, 2, 2}, true, 2}, {{32, 16}, true, 2},
           {{8, 8, 8}, true, 1}, {{8, 8, 8}, true, 2}, {{8, 8, 8}, false, 2}, {{32, 32, 32}, true, 2},
           {{3, 8, 8}, false, 2}, {{4, 4, 4}, false, 2}, {{5, 5, 5}, false, 2}, {{32, 32, 32}, true, 4},
           {{8, 8, 8}, false, 4}}) {
    const double time_s = median_s(problem);
    std::string grid;
    for (const Index length : problem.dims) grid += (grid.empty() ? "" : "x") + std::to_string(length);
    std::printf("%-14s %-9s %3d %9.1f us\n", grid.c_str(), problem.periodic ? "periodic" : "open", problem.cutoff,
                1e6 * time_s);
    if (problem.cutoff <= 2 && time_s >= 1e-3) quick = false;
  }
  return quick ? 0 : 1;
}
