// How fast mapping is on one core, in processor time: plans, one rank's cell, whole maps, scores. Prints a table; no result is checked.
//
//   cmake -S . -B build/benchmarks -DRANKWISE_BENCHMARKS=ON -DRANKWISE_KERNELS=OFF
//   cmake --build build/benchmarks --target mapping_speed
//   build/benchmarks/mapping_speed [LARGEST]     largest number of ranks, default 100000000
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "mapping/mapping.hpp"
#include "mapping/random.hpp"

namespace {

using rankwise::Index;

// Of this process on its core: what others do there must not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
double seconds(Work work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

// The most memory this process has had so far, in bytes.
double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

void run(std::vector<Index> dims, Index ranks_per_node) {
  const rankwise::Grid grid(std::move(dims));
  const Index ranks = grid.size();
  const rankwise::MappingProblem problem(grid, rankwise::NodeSizes(ranks / ranks_per_node, ranks_per_node),
                                         rankwise::parse_stencil("nearest-neighbor", grid.ndim()));
  std::string shape;
  for (const Index size : grid.dims()) shape += (shape.empty() ? "" : "x") + std::to_string(size);
  std::vector<rankwise::NodeId> node_of_cell(static_cast<std::size_t>(ranks), 0);
  for (const char* name : {"hyperplane", "kd-tree", "stencil-strips", "nodecart", "refined"}) {
    std::unique_ptr<rankwise::Mapping> mapping;
    const double plan_s = seconds([&] { mapping = rankwise::mapping_algorithm(name).prepare(problem); });
    constexpr Index asked = 200'000;
    rankwise::Random random(1);
    Index sum = 0;
    const double one_s = seconds([&] {
      for (Index i = 0; i < asked; ++i) {
        sum += mapping->cell_of_rank(static_cast<Index>(random.bits() >> 1) % ranks);
      }
    });
    double whole_s = 1e9;
    for (int repetition = 0; repetition < 3; ++repetition) {
      whole_s = std::min(whole_s, seconds([&] { fill_node_of_cell(*mapping, problem.nodes, node_of_cell); }));
    }
    rankwise::Score found;
    const double score_s = seconds([&] { found = score(problem.grid, problem.stencil, node_of_cell); });
    const double edges = static_cast<double>(ranks) * 2 * grid.ndim();
    std::printf(
        "%-16s %-15s plan %9.3f ms  one rank %6.1f ns  whole map %7.1f M ranks/s  score %7.1f M edges/s  "
        "J_sum %lld%s\n",
        shape.c_str(), name, 1e3 * plan_s, 1e9 * one_s / asked, 1e-6 * static_cast<double>(ranks) / whole_s,
        1e-6 * edges / score_s, static_cast<long long>(found.j_sum), sum == 42 ? " " : "");
    std::fflush(stdout);
  }
  std::printf("%-16s at most %.1f bytes a rank in this process so far, program and tables included\n", shape.c_str(),
              peak_bytes() / static_cast<double>(ranks));
}

}  // namespace

int main(int argc, char** argv) {
  const Index largest = argc > 1 ? std::atoll(argv[1]) : 100'000'000;
  for (const auto& [dims, ranks_per_node] : std::vector<std::pair<std::vector<Index>, Index>>{
           {{50, 48}, 48}, {{1008, 1000}, 48}, {{120, 96, 90}, 48}, {{10'080, 10'000}, 48}, {{480, 470, 448}, 64}}) {
    Index ranks = 1;
    for (const Index size : dims) ranks *= size;
    if (ranks <= largest * 11 / 10) run(dims, ranks_per_node);
  }
}
