// How long a decision takes: all candidates of `auto` walked and ranked, on grids of a program's size. Exit 1 when one
// of those with k = 1 or 2 takes 1 ms or more, or k = 4 in 3-D (728 partners) 3 ms.
#include <algorithm>
#include <cstdio>
#include <ctime>
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

// Of this thread, so that what else the machine does is left out.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median_s(const Problem& problem) {
  const auto ndim = problem.dims.size();
  const rankwise::Question question{rankwise::Grid(problem.dims, std::vector<bool>(ndim, problem.periodic)),
                                    std::vector<int>(ndim, problem.cutoff),
                                    rankwise::Shell::full,
                                    {"direct", "comb", "shift"},
                                    {},
                                    {}};
  const rankwise::Placement placement = rankwise::Placement::blocked(question.grid.size(), 48);
  std::vector<double> times_s;
  for (int i = 0; i < 51; ++i) {
    const double start_s = processor_s();
    const rankwise::Contest contest(question, placement);
    const auto ranked = contest.ranked(4096, rankwise::default_machine());
    const auto text = rankwise::reason(ranked);
    times_s.push_back(processor_s() - start_s);
    if (text.empty()) return -1.0;
  }
  std::nth_element(times_s.begin(), times_s.begin() + 25, times_s.end());
  return times_s[25];
}

}  // namespace

int main() {
  std::printf("one decision of auto, processor's time, median of 51\n%-14s %-9s %3s %12s\n", "grid", "borders", "k", "time");
  bool quick = true;
  for (const Problem& problem : std::vector<Problem>{{{2}, true, 1},
                                                     {{512}, true, 2},
                                                     {{2, 1, 1}, true, 1},
                                                     {{2, 2, 2}, true, 2},
                                                     {{32, 16}, true, 2},
                                                     {{8, 8, 8}, true, 1},
                                                     {{8, 8, 8}, true, 2},
                                                     {{8, 8, 8}, false, 2},
                                                     {{32, 32, 32}, true, 2},
                                                     {{3, 8, 8}, false, 2},
                                                     {{4, 4, 4}, false, 2},
                                                     {{5, 5, 5}, false, 2},
                                                     {{32, 32, 32}, true, 4},
                                                     {{8, 8, 8}, false, 4},
                                                     {{100, 100, 100}, true, 1},
                                                     {{100, 100, 100}, true, 2}}) {
    const double time_s = median_s(problem);
    std::string grid;
    for (const Index length : problem.dims) grid += (grid.empty() ? "" : "x") + std::to_string(length);
    std::printf("%-14s %-9s %3d %9.1f us\n", grid.c_str(), problem.periodic ? "periodic" : "open", problem.cutoff,
                1e6 * time_s);
    if (time_s >= (problem.cutoff <= 2 ? 1e-3 : 3e-3)) quick = false;
  }
  return quick ? 0 : 1;
}
