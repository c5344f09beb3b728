#include "api/fft_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "api/communicator.hpp"
#include "api/known_machine.hpp"
#include "decide/fft_judge.hpp"
#include "fft/knowledge.hpp"

namespace rankwise::api {

namespace {

constexpr std::size_t most_tried = 5;
constexpr int least_rounds = 9;
constexpr int most_rounds = 50;
constexpr double least_s = 0.3;   // of trials in all, rounds permitting
constexpr double most_s = 1.0;    // beyond the least rounds
constexpr Index usual_chunks = 8;
constexpr double guessed_flop_per_s = 4e9;  // of a core's FFTs: only weighs slices against none before any is tried
constexpr double gain = 0.97;     // another than the judge's first must be as much quicker

std::string milliseconds(double time_s) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", 1e3 * time_s);
  return text.data();
}

std::string name_of(const FftWay& way) {
  return std::to_string(way.grid[0]) + "x" + std::to_string(way.grid[1]) + " " + to_string(way.method) +
         (way.chunks > 1 ? " in " + std::to_string(way.chunks) + " slices" : "");
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
  double time_s = 0.0;  // by the judge, with a guess of the local work
};

FftMessages messages_of(TransposeMethod method) {
  return method == TransposeMethod::alltoall   ? FftMessages::at_once
         : method == TransposeMethod::pairwise ? FftMessages::pairwise
                                               : FftMessages::by_node;
}

// Every grid that leaves nobody idle, every method, and slabs in slices or whole, as far as the request leaves them open; those
// that take the least time by the judge first, of equals the one with the most slabs. One where nothing is open.
std::vector<FftCandidate> candidates_of(const FftRequest& request, const Placement& placement, const Machine& machine) {
  const Index ranks = placement.ranks();
  const Decomposition whole{request.n, request.is_real, {1, 1}};
  std::vector<std::array<Index, 2>> grids{request.grid};
  if (request.grid[0] == 0) grids = fft_grids(request.n, whole.complex_points(), ranks);
  if (grids.empty()) grids.push_back(usual_grid(request.n, request.is_real, ranks));
  std::vector<TransposeMethod> methods{TransposeMethod::alltoall, TransposeMethod::pairwise};
  if (placement.nodes() > 1 && placement.most_on_a_node() > 1) methods.push_back(TransposeMethod::node_aware);
  if (request.method) methods = {*request.method};
  if (ranks == 1) methods.resize(1);
  const double value_bytes = request.is_double ? 16.0 : 8.0;
  const double bytes = static_cast<double>(whole.local_values(0)) / static_cast<double>(ranks) * value_bytes;
  double points = 1.0;
  for (const Index along : request.n) points *= static_cast<double>(along);
  const double local_s = 5.0 * points * std::log2(points + 1.0) / static_cast<double>(ranks) / guessed_flop_per_s;
  std::vector<FftCandidate> candidates;
  for (const auto& grid : grids) {
    std::vector<Index> slices{1};
    if (grid[1] == 1 && ranks > 1 && placement.nodes() > 1) slices.push_back(usual_chunks);
    if (request.chunks != 0) slices = {request.chunks};
    for (const TransposeMethod method : methods) {
      for (const Index chunks : slices) {
        const double time_s = fft_s({grid, messages_of(method), chunks}, bytes, local_s, placement, machine);
        candidates.push_back({{grid, method, chunks}, request.order == Order::natural ? 2.0 * time_s - local_s : time_s});
      }
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
  constexpr std::size_t width = 5;
  std::array<double, 1 + width * most_tried> told{};
  candidates.resize(std::min(candidates.size(), most_tried));
  told[0] = static_cast<double>(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [way, time_s] = candidates[i];
    const std::array<double, width> numbers{static_cast<double>(way.grid[0]), static_cast<double>(way.grid[1]),
                                            static_cast<double>(way.method), static_cast<double>(way.chunks), time_s};
    std::ranges::copy(numbers, told.begin() + 1 + static_cast<std::ptrdiff_t>(width * i));
  }
  check_mpi(MPI_Bcast(told.data(), static_cast<int>(told.size()), MPI_DOUBLE, 0, comm), "MPI_Bcast");
  candidates.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(told[0]); ++i) {
    const double* const numbers = told.data() + 1 + width * i;
    candidates.push_back({{{static_cast<Index>(numbers[0]), static_cast<Index>(numbers[1])},
                           static_cast<TransposeMethod>(static_cast<int>(numbers[2])),
                           static_cast<Index>(numbers[3])},
                          numbers[4]});
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

// What names a choice that was made by trials, on one line: on another machine, MPI, library or question it does not hold.
std::string key_of(const FftRequest& request, const FftLibrary& library, const Placement& placement) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  check_mpi(MPI_Get_library_version(mpi.data(), &length), "MPI_Get_library_version");
  std::string key = library.version() + " ";
  for (const char* c = mpi.data(); *c != '\0' && *c != '\n'; ++c) key += *c == '\t' ? ' ' : *c;
  for (const Index points : request.n) key += " " + std::to_string(points);
  for (const Index number : {Index{request.is_real}, Index{request.is_double}, Index{request.order == Order::natural},
                             Index{request.effort}, request.chunks, request.grid[0], request.grid[1],
                             request.method ? 1 + static_cast<Index>(*request.method) : 0}) {
    key += " " + std::to_string(number);
  }
  key += " on";
  Index count = 0;
  for (Index rank = 0; rank < placement.ranks(); ++rank) {
    ++count;
    if (rank + 1 < placement.ranks() && placement.node(rank + 1) == placement.node(rank)) continue;
    key += " " + std::to_string(placement.node(rank)) + "x" + std::to_string(count);
    count = 0;
  }
  return key;
}

// Lines of a key, a tab, and a way in four numbers.
constexpr const char* choices_file = "choices";

// The way that was found best before, as all ranks hear it from the first; nothing where none was kept.
std::optional<FftWay> kept_way(MPI_Comm comm, const std::string& key) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  std::array<std::int64_t, 4> numbers{0, 0, 0, 0};
  if (rank == 0) {
    std::istringstream text(read_file(knowledge_file(choices_file)));
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with(key + "\t")) continue;
      std::istringstream of_line(line.substr(key.size() + 1));
      std::array<std::int64_t, 4> read{0, 0, 0, 0};
      if (of_line >> read[0] >> read[1] >> read[2] >> read[3]) numbers = read;
    }
  }
  check_mpi(MPI_Bcast(numbers.data(), 4, MPI_INT64_T, 0, comm), "MPI_Bcast");
  int ranks = 1;
  check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  const auto& [p1, p2, method, chunks] = numbers;
  if (p1 < 1 || p2 < 1 || p1 > ranks || p1 * p2 != ranks || method < 0 || method > 2 || chunks < 1 || chunks > 1024) return {};
  return FftWay{{p1, p2}, static_cast<TransposeMethod>(method), chunks};
}

void keep_way(const std::string& key, const FftWay& way) {
  const std::string path = knowledge_file(choices_file);
  if (path.empty()) return;
  std::istringstream text(read_file(path));
  std::string kept;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(key + "\t")) kept += line + "\n";
  }
  std::ostringstream line;
  line << key << '\t' << way.grid[0] << ' ' << way.grid[1] << ' ' << static_cast<int>(way.method) << ' ' << way.chunks << '\n';
  replace_file(path, kept + line.str());
}

}  // namespace

FftChoice choose_fft(MPI_Comm comm, const FftRequest& request, const FftLibrary& library) {
  std::string source;
  const std::vector<FftCandidate> candidates = agreed_candidates(comm, request, source);
  FftChoice choice{candidates.front().way, "nothing to choose"};
  if (candidates.size() == 1) return choice;
  std::string key;
  if (request.effort != RANKWISE_FFT_EFFORT_MODEL) {
    key = key_of(request, library, placement_of(comm));
    if (const auto way = kept_way(comm, key)) return {*way, "kept from trials before"};
  }
  choice.why = "by " + source + ", local work guessed:";
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
    const double lost = round < 4 ? 2.0 : 1.25;
    std::erase_if(trials, [&](const Trial& trial) {
      return round > 0 && trial.best_s > lost * best_s && trial.way != candidates.front().way;
    });
  }
  const Trial* chosen = &trials.front();
  choice.why += "; tried for " + milliseconds(spent_s) + ", least times:";
  for (const Trial& trial : trials) {
    if (trial.best_s < gain * chosen->best_s) chosen = &trial;
    choice.why += (&trial == &trials.front() ? " " : ", ") + name_of(trial.way) + " " + milliseconds(trial.best_s);
  }
  choice.way = chosen->way;
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  if (rank == 0) keep_way(key, choice.way);
  return choice;
}

}  // namespace rankwise::api
