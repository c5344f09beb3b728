// The kernels of the 3-D FFT: the transform on all ranks (fft3d), the local library alone (local-fft), memory (triad).
#include <mpi.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "fft/choice.hpp"
#include "fft/memory.hpp"
#include "fft/timed.hpp"
#include "grid/names.hpp"
#include "kernels/interface.hpp"
#include "measure/together.hpp"
#include "mpi/mpi.hpp"
#include "profile/profile.hpp"

namespace rankwise {

namespace {

// A transform takes long, so that fewer are enough.
constexpr Repetitions of_transforms{0.5, 10, 500, 2};

constexpr std::array<Name<Direction>, 2> directions{{{"forward", Direction::forward}, {"backward", Direction::backward}}};
constexpr std::array<Name<bool>, 2> precisions{{{"double", true}, {"single", false}}};  // whether it is double

Direction parse_direction(Arguments& arguments) {
  return parsed(directions, arguments.text("direction", "forward"), "direction");
}
bool parse_double(Arguments& arguments) { return parsed(precisions, arguments.text("precision", "double"), "precision"); }

// Runs work that needs the library; where there is none, says so in a record, which is no failure of a rank.
template <typename Work>
void with_library(const std::string& name, Work work) {
  try {
    work(FftLibrary(name));
  } catch (const FftUnavailable& error) {
    if (rank_of(MPI_COMM_WORLD) == 0) JsonLine("unavailable").add("what", error.what()).print();
  }
}

FftSpec parse_spec(Arguments& arguments) {
  const std::vector<long long> n = arguments.integers("n", "64,64,64");
  const std::vector<long long> grid = arguments.integers("grid", "1,1");
  if (n.size() != 3 || grid.size() != 2) throw std::invalid_argument("--n takes three numbers and --grid two");
  FftSpec spec;
  spec.decomposition = {{n[0], n[1], n[2]}, arguments.integer("real", 0) != 0, {grid[0], grid[1]}};
  spec.order = parse_order(arguments.text("order", "transposed"));
  spec.method = parse_transpose_method(arguments.text("method", "alltoall"));
  spec.chunks = arguments.integer("chunks", 1);
  if (spec.chunks < 1 || spec.chunks > 1024) throw std::invalid_argument("--chunks must be 1 to 1024");
  spec.planning = parse_planning(arguments.text("planning", "measure"));
  spec.ranks_per_node = static_cast<int>(arguments.integer("ranks-per-node", 0));
  spec.knowledge = arguments.text("knowledge", "");
  return spec;
}

// On rank 0 all complex values of a distributed array, in global row-major order; `axes` are its points an axis.
template <typename Real>
std::vector<double> gathered(const std::array<Index, 3>& axes, const Box& box, Index line, const Real* reals, Index parts) {
  std::vector<double> all(static_cast<std::size_t>(axes[0] * axes[1] * axes[2] * parts), 0.0);
  for (Index x = 0; x < box[0].count; ++x) {
    for (Index y = 0; y < box[1].count; ++y) {
      const Index from = (x * box[1].count + y) * line;
      const Index into = ((box[0].first + x) * axes[1] + box[1].first + y) * axes[2] + box[2].first;
      for (Index i = 0; i < box[2].count * parts; ++i) {
        all[static_cast<std::size_t>(into * parts + i)] = static_cast<double>(reals[from + i]);
      }
    }
  }
  const auto count = static_cast<int>(all.size());
  MPI_Reduce(rank_of(MPI_COMM_WORLD) == 0 ? MPI_IN_PLACE : all.data(), all.data(), count, MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  return all;
}

template <typename Real>
void print_values(const FftSpec& spec, const FftLibrary& library) {
  const Decomposition& d = spec.decomposition;
  Fft3d<Real> fft(MPI_COMM_WORLD, spec, library);
  fill_field(d, rank_of(MPI_COMM_WORLD), fft.data());
  const auto* const reals = reinterpret_cast<const Real*>(fft.data());
  Box in = fft.input_box();
  in[2].count = d.n[2];
  const Index parts = d.real ? 1 : 2;
  const std::vector<double> field = gathered(d.n, in, 2 * d.complex_points(), reals, parts);
  fft.run(Direction::forward);
  const Box out = fft.output_box();
  const std::vector<double> spectrum = gathered({d.n[0], d.n[1], d.complex_points()}, out, 2 * out[2].count, reals, Index{2});
  fft.run(Direction::backward);
  const std::vector<double> back = gathered(d.n, in, 2 * d.complex_points(), reals, parts);
  if (rank_of(MPI_COMM_WORLD) != 0) return;
  JsonLine("values").add("field", field).add("spectrum", spectrum).add("back", back).print();
}

std::string phases_json(const std::vector<std::vector<PhaseTimes>>& phases) {
  std::string json = "[";
  for (std::size_t rank = 0; rank < phases.size(); ++rank) {
    std::vector<double> compute_s, shuffle_s, exchange_s;
    for (const PhaseTimes& times : phases[rank]) {
      compute_s.push_back(times.compute_s);
      shuffle_s.push_back(times.shuffle_s);
      exchange_s.push_back(times.exchange_s);
    }
    JsonLine line("phases");
    line.add("rank", static_cast<long long>(rank)).add("compute_s", compute_s).add("shuffle_s", shuffle_s);
    json += (rank > 0 ? "," : "") + line.add("exchange_s", exchange_s).text();
  }
  return json + "]";
}

}  // namespace

void run_fft3d(Arguments& arguments) {
  const FftSpec spec = parse_spec(arguments);
  const auto& [n, real, grid] = spec.decomposition;
  const Direction direction = parse_direction(arguments);
  const bool is_double = parse_double(arguments);
  const std::string library_name = arguments.text("library", "auto");
  const bool turns = arguments.integer("turns", 0) != 0;  // with shortened transforms, which the model is made of
  const Repetitions repetitions = parse_counts(arguments, of_transforms);
  arguments.expect_all_used();
  with_library(library_name, [&](const FftLibrary& library) {
    const TimedFft timed = is_double ? time_fft3d<double>(MPI_COMM_WORLD, spec, direction, library, repetitions, turns)
                                     : time_fft3d<float>(MPI_COMM_WORLD, spec, direction, library, repetitions, turns);
    if (rank_of(MPI_COMM_WORLD) != 0) return;
    JsonLine line("samples");
    line.add("kernel", "fft3d")
        .add("n", std::vector<long long>(n.begin(), n.end()))
        .add("grid", std::vector<long long>(grid.begin(), grid.end()))
        .add("real", real)
        .add("precision", named(precisions, is_double))
        .add("order", to_string(spec.order))
        .add("method", to_string(spec.method))
        .add("chunks", static_cast<long long>(spec.chunks))
        .add("direction", named(directions, direction))
        .add("library", library.version())
        .add("plan_s", timed.plan_s)
        .add("array_bytes", static_cast<long long>(timed.array_bytes))
        .add("memory_bytes", static_cast<long long>(timed.memory_bytes))
        .add("spectrum_error", timed.spectrum_error)
        .add("parseval_error", timed.parseval_error)
        .add("round_trip_error", timed.round_trip_error)
        .add("error_bound", timed.error_bound)
        .add("verified", timed.verified)
        .add("alltoall_s", timed.alltoall_s)
        .add("fft_s", timed.fft_s)
        .add_json("phases", phases_json(timed.phases))
        .add("time_s", timed.time_s);
    if (turns)
      line.add_json("shortened", phases_json({timed.shortened}))
          .add("imbalance_s", timed.imbalance_s)
          .add("lost_s", timed.lost_s)
          .add("shortened_lost_s", timed.shortened_lost_s);
    line.print();
  });
}

// The local work of the first ranks of a grid, on as many as run.
void run_fft3d_stages(Arguments& arguments) {
  FftSpec spec = parse_spec(arguments);
  spec.alone = true;
  const Direction direction = parse_direction(arguments);
  const bool is_double = parse_double(arguments);
  const std::string library_name = arguments.text("library", "auto");
  const Repetitions repetitions = parse_counts(arguments, of_transforms);
  arguments.expect_all_used();
  with_library(library_name, [&](const FftLibrary& library) {
    const TimedStages timed = is_double ? time_stages<double>(MPI_COMM_WORLD, spec, direction, library, repetitions)
                                        : time_stages<float>(MPI_COMM_WORLD, spec, direction, library, repetitions);
    if (rank_of(MPI_COMM_WORLD) != 0) return;
    JsonLine line("samples");
    line.add("kernel", "fft3d-stages").add("library", library.version()).add_json("shortened", phases_json({timed.phases}));
    line.add("imbalance_s", timed.imbalance_s).add("shortened_lost_s", timed.lost_s).print();
  });
}

// Which way a plan takes that chooses by itself: the very choice of rankwise_fft_create, with the profile named.
void run_fft3d_choice(Arguments& arguments) {
  const std::vector<long long> n = arguments.integers("n", "64,64,64");
  const std::vector<long long> grid = arguments.integers("grid", "0,0");
  if (n.size() != 3 || grid.size() != 2) throw std::invalid_argument("--n takes three numbers and --grid two");
  FftQuestion question{.n = {n[0], n[1], n[2]}, .is_real = arguments.integer("real", 0) != 0, .grid = {grid[0], grid[1]}};
  question.is_double = parse_double(arguments);
  question.order = parse_order(arguments.text("order", "transposed"));
  question.planning = parse_planning(arguments.text("planning", "measure"));
  question.batch = arguments.integer("batch", 1);
  const std::string library_name = arguments.text("library", "auto");
  const std::string path = arguments.text("profile", "");
  arguments.expect_all_used();
  if (question.batch < 1) throw std::invalid_argument("--batch must be 1 field or more");
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const Machine machine = path.empty() ? default_machine() : read_machine(text.str());
  // All fields at once, and buffers for one of them.
  const int ranks = size_of(MPI_COMM_WORLD);
  const Decomposition slabs{question.n, question.is_real, {ranks, 1}};
  require_memory(MPI_COMM_WORLD, (question.is_double ? 16.0 : 8.0) * static_cast<double>(question.batch + 1) *
                                     static_cast<double>(slabs.local_values(rank_of(MPI_COMM_WORLD))));
  with_library(library_name, [&](const FftLibrary& library) {
    const FftChoice choice =
        choose_fft(MPI_COMM_WORLD, question, library, machine, path.empty() ? "the default machine" : path, true);
    if (rank_of(MPI_COMM_WORLD) != 0) return;
    std::string candidates;
    for (const FftCandidate& candidate : choice.candidates) {
      const FftVariant& variant = candidate.variant;
      JsonLine line("candidate");
      line.add("grid", std::vector<long long>(variant.grid.begin(), variant.grid.end()))
          .add("method", to_string(variant.method))
          .add("chunks", static_cast<long long>(variant.chunks))
          .add("together", static_cast<long long>(variant.together))
          .add("in_flight", static_cast<long long>(variant.in_flight))
          .add("predicted_s", candidate.predicted_s)
          .add("chosen", variant == choice.variant);
      if (candidate.tried_s) line.add("tried_s", *candidate.tried_s);
      candidates += (candidates.empty() ? "" : ",") + line.text();
    }
    JsonLine("choice")
        .add("kernel", "fft3d-choice")
        .add("library", library.version())
        .add("why", choice.why)
        .add("kept", choice.is_kept)
        .add_json("candidates", "[" + candidates + "]")
        .print();
  });
}

// The field, its spectrum and what comes back, value by value, for comparison with another program.
void run_fft3d_values(Arguments& arguments) {
  const FftSpec spec = parse_spec(arguments);
  const bool is_double = parse_double(arguments);
  const std::string library_name = arguments.text("library", "auto");
  arguments.expect_all_used();
  const auto& n = spec.decomposition.n;
  if (n[0] > 4096 || n[1] > 4096 || n[2] > 4096 || n[0] * n[1] * n[2] > 32768) {
    throw std::invalid_argument("an array of more than 32768 points is not printed");
  }
  with_library(library_name, [&](const FftLibrary& library) {
    is_double ? print_values<double>(spec, library) : print_values<float>(spec, library);
  });
}

// `executions` transforms of one line of n double complex points, in place: few enough to count their cache misses.
void run_local_fft(Arguments& arguments) {
  const long long n = arguments.integer("n", 1 << 18);
  const long long lines = arguments.integer("lines", 1);
  const long long executions = arguments.integer("executions", 1);
  const Planning planning = parse_planning(arguments.text("planning", "estimate"));
  const std::string library_name = arguments.text("library", "auto");
  arguments.expect_all_used();
  if (n < 1 || lines < 1 || executions < 0 || n * lines > (1LL << 28)) {
    throw std::invalid_argument("--n and --lines must be positive, their product at most 2^28, --executions not negative");
  }
  with_library(library_name, [&](const FftLibrary& library) {
    Buffer array(static_cast<std::size_t>(n * lines) * sizeof(std::complex<double>));
    auto* const data = array.as<std::complex<double>>();
    const auto fft = library.plan<double>({{static_cast<int>(n)}, static_cast<int>(lines), 1, static_cast<int>(n)},
                                          Direction::forward, planning, data);
    std::fill_n(data, n * lines, std::complex<double>{});
    std::vector<double> time_s;
    for (long long i = 0; i < executions; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start_s = steady_s();
      fft->run(data);
      const double own_s = most_of(MPI_COMM_WORLD, steady_s() - start_s);
      time_s.push_back(own_s);
    }
    if (rank_of(MPI_COMM_WORLD) != 0) return;
    JsonLine("samples")
        .add("kernel", "local-fft")
        .add("n", n)
        .add("lines", lines)
        .add("library", library.version())
        .add("time_s", time_s)
        .print();
  });
}

void run_triad(Arguments& arguments) {
  const long long array_bytes = arguments.integer("bytes", 1 << 26);
  const Repetitions repetitions = parse_counts(arguments, of_transforms);
  arguments.expect_all_used();
  if (array_bytes < 0) throw std::invalid_argument("--bytes must be positive");
  const std::vector<double> rates = measure_triad(MPI_COMM_WORLD, static_cast<std::size_t>(array_bytes),
                                                  {repetitions.budget_s, repetitions.least, repetitions.most});
  if (rank_of(MPI_COMM_WORLD) != 0) return;
  JsonLine("samples").add("kernel", "triad").add("size_bytes", array_bytes).add("bytes_per_s", rates).print();
}

}  // namespace rankwise
