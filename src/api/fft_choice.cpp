#include "api/fft_choice.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <vector>

#include "api/communicator.hpp"
#include "api/known_machine.hpp"
#include "decide/fft_judge.hpp"

namespace rankwise::api {

namespace {

constexpr std::size_t most_tried = 5;
constexpr int least_rounds = 5;
constexpr int most_rounds = 50;
constexpr double least_s = 0.05;  // of trials in all, rounds permitting
constexpr double most_s = 1.0;    // beyond the least rounds
constexpr double gain = 0.97;     // another than the judge's first must be as much quicker

std::string milliseconds(double time_s) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", 1e3 * time_s);
  return text.data();
}

std::string name_of(const FftWay& way) {
  return std::to_string(way.grid[0]) + "x" + std::to_string(way.grid[1]) + " " + to_string(way.method);
}

Placement placement_of(MPI_Comm comm) {
  ScopedComm node;
  int rank = 0;
  int ranks = 1;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  std::int32_t first = rank;
  check_mpi(MPI_Bcast(&first, 1, MPI_INT32_T, 0, node.get()), "MPI_Bcast");
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&first, 1, MPI_INT32_T, nodes.data(), 1, MPI_INT32_T, comm), "MPI_Allgather");
  // Numbered one after the other, in the order of their first ranks.
  std::vector<std::int32_t> firsts = nodes;
  std::ranges::sort(firsts);
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  for (std::int32_t& each : nodes) each = static_cast<std::int32_t>(std::ranges::lower_bound(firsts, each) - firsts.begin());
  return Placement::on_nodes(nodes);
}

struct FftCandidate {
  FftWay way;
  double time_s = 0.0;  // of its exchanges
};

// Every grid that leaves nobody idle and both methods, as far as the request leaves them open; those whose exchanges take the
// least time first, of equals the one with the most slabs. One where nothing is open.
std::vector<FftCandidate> candidates_of(const FftRequest& request, const Placement& placement, const Machine& machine) {
  const Index ranks = placement.ranks();
  const Decomposition whole{request.n, request.is_real, {1, 1}};
  std::vector<std::array<Index, 2>> grids{request.grid};
  if (request.grid[0] == 0) grids = fft_grids(request.n, whole.complex_points(), ranks);
  if (grids.empty()) grids.push_back(usual_grid(request.n, request.is_real, ranks));
  std::vector<TransposeMethod> methods{TransposeMethod::alltoall, TransposeMethod::pairwise};
  if (request.method) methods = {*request.method};
  if (ranks == 1) methods.resize(1);
  const double value_bytes = request.is_double ? 16.0 : 8.0;
  const double bytes = static_cast<double>(whole.local_values(0)) / static_cast<double>(ranks) * value_bytes;
  std::vector<FftCandidate> candidates;
  for (const auto& grid : grids) {
    for (const TransposeMethod method : methods) {
      const FftExchanges exchanges{grid, method == TransposeMethod::pairwise};
      const double time_s = fft_exchanges_s(exchanges, bytes, placement, machine);
      candidates.push_back({{grid, method}, request.order == Order::natural ? 2.0 * time_s : time_s});
    }
  }
  std::ranges::stable_sort(candidates, {}, &FftCandidate::time_s);
  return candidates;
}

// The candidates as the first rank sees them, on all ranks.
std::vector<FftCandidate> agreed_candidates(MPI_Comm comm, const FftRequest& request, std::string& source) {
  const Placement placement = placement_of(comm);
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  Agreement agreement;
  std::vector<FftCandidate> candidates;
  agreement.attempt([&] {
    const KnownMachine& known = known_machine();
    source = known.source;
    if (rank == 0) candidates = candidates_of(request, placement, known.machine);
  });
  agreement.reach(comm);
  std::array<double, 1 + 4 * most_tried> told{};
  candidates.resize(std::min(candidates.size(), most_tried));
  told[0] = static_cast<double>(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [way, time_s] = candidates[i];
    const std::array<double, 4> numbers{static_cast<double>(way.grid[0]), static_cast<double>(way.grid[1]),
                                        way.method == TransposeMethod::pairwise ? 1.0 : 0.0, time_s};
    std::ranges::copy(numbers, told.begin() + 1 + static_cast<std::ptrdiff_t>(4 * i));
  }
  check_mpi(MPI_Bcast(told.data(), static_cast<int>(told.size()), MPI_DOUBLE, 0, comm), "MPI_Bcast");
  candidates.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(told[0]); ++i) {
    const double* const numbers = told.data() + 1 + 4 * i;
    candidates.push_back({{{static_cast<Index>(numbers[0]), static_cast<Index>(numbers[1])},
                           numbers[2] > 0.0 ? TransposeMethod::pairwise : TransposeMethod::alltoall},
                          numbers[3]});
  }
  return candidates;
}

// One engine on all ranks, or none on any: no memory, or the library cannot.
std::unique_ptr<FftEngine> engine_to_try(MPI_Comm comm, const FftRequest& request, const FftWay& way,
                                         const FftLibrary& library) {
  Agreement agreement;
  std::unique_ptr<FftEngine> engine;
  agreement.attempt([&] { engine = make_fft_engine(comm, request, way, {}, library); });
  try {
    agreement.reach(comm);
  } catch (const Failure& failure) {
    if (failure.result() == RANKWISE_ERROR_MPI) throw;
    return nullptr;
  }
  return engine;
}

}  // namespace

FftChoice choose_fft(MPI_Comm comm, const FftRequest& request, const FftLibrary& library) {
  std::string source;
  const std::vector<FftCandidate> candidates = agreed_candidates(comm, request, source);
  FftChoice choice{candidates.front().way, "nothing to choose"};
  if (candidates.size() == 1) return choice;
  choice.why = "exchanges by " + source + ":";
  for (const auto& [way, time_s] : candidates) {
    choice.why += (&way == &candidates.front().way ? " " : ", ") + name_of(way) + " " + milliseconds(time_s);
  }
  if (request.effort == RANKWISE_FFT_EFFORT_MODEL) return choice;

  struct Trial {
    FftWay way;
    std::unique_ptr<FftEngine> engine;
    double best_s = std::numeric_limits<double>::max();
  };
  std::vector<Trial> trials;
  for (const FftCandidate& candidate : candidates) {
    auto engine = engine_to_try(comm, request, candidate.way, library);
    if (engine) trials.push_back({candidate.way, std::move(engine)});
  }
  if (trials.empty()) return choice;  // what is in the way of all is told when the plan makes its own
  double spent_s = 0.0;
  for (int round = 0; round < least_rounds || (spent_s < least_s && round < most_rounds); ++round) {
    if (round > 1 && spent_s > most_s) break;
    for (std::size_t turn = 0; turn < trials.size(); ++turn) {
      // Who begins changes.
      Trial& trial = trials[(turn + static_cast<std::size_t>(round)) % trials.size()];
      check_mpi(MPI_Barrier(comm), "MPI_Barrier");
      double time_s = MPI_Wtime();
      trial.engine->run_own(Direction::forward);
      time_s = MPI_Wtime() - time_s;
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
      spent_s += time_s;
      trial.best_s = std::min(trial.best_s, time_s);
    }
    const double best_s = std::ranges::min_element(trials, {}, &Trial::best_s)->best_s;
    // The judge's first stays: a burst of other load must not decide.
    std::erase_if(trials, [&](const Trial& trial) {
      return round > 0 && trial.best_s > 2.0 * best_s && trial.way != candidates.front().way;
    });
  }
  const Trial* chosen = &trials.front();
  choice.why += "; tried for " + milliseconds(spent_s) + ", least times:";
  for (const Trial& trial : trials) {
    if (trial.best_s < gain * chosen->best_s) chosen = &trial;
    choice.why += (&trial == &trials.front() ? " " : ", ") + name_of(trial.way) + " " + milliseconds(trial.best_s);
  }
  choice.way = chosen->way;
  return choice;
}

}  // namespace rankwise::api
