// What the kernels read and print, and which ones there are.
#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grid/grid.hpp"
#include "measure/sampling.hpp"
#include "measure/together.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// The kernels' command line: --name value pairs, each known and each used.

class Arguments {
 public:
  // Throws std::invalid_argument when a name lacks its value or does not start with --.
  Arguments(int argc, char** argv, int first);

  // The value of --name, or the fallback. The integer and number forms throw std::invalid_argument on anything else.
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback);
  [[nodiscard]] long long integer(const std::string& name, long long fallback);
  [[nodiscard]] double number(const std::string& name, double fallback);
  [[nodiscard]] std::vector<std::string> list(const std::string& name, const std::string& fallback);
  [[nodiscard]] std::vector<long long> integers(const std::string& name, const std::string& fallback);

  // Throws std::invalid_argument naming the first argument that nobody asked for.
  void expect_all_used() const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, bool> used_;
};

// Throws std::invalid_argument unless the whole text is an integer.
[[nodiscard]] long long to_integer(const std::string& text, const std::string& what);

// The parts between marks: one more than there are marks, some of them perhaps empty.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char mark);

// A process grid as it stands on the command line.
struct GridShape {
  std::vector<Index> dims;
  std::vector<bool> periodic;  // one flag an axis, or none
};

// --grid and --periodic; periodic: what stands for the latter where it is not given.
[[nodiscard]] GridShape parse_shape(Arguments& arguments, const std::string& periodic);

// Collective over these ranks of MPI_COMM_WORLD: a communicator in which they follow each other like this.
[[nodiscard]] OwnedComm comm_of_ranks(const std::vector<int>& ranks);

// What the kernels that repeat a collective exchange have in common on their command line.

// --budget-s, --least, --most, --warm-up. Throws std::invalid_argument.
[[nodiscard]] inline Repetitions parse_counts(Arguments& arguments, Repetitions repetitions = {}) {
  repetitions.budget_s = arguments.number("budget-s", repetitions.budget_s);
  repetitions.least = static_cast<int>(arguments.integer("least", repetitions.least));
  repetitions.most = static_cast<int>(arguments.integer("most", repetitions.most));
  repetitions.warm_up = static_cast<int>(arguments.integer("warm-up", repetitions.warm_up));
  require_sensible(repetitions);
  return repetitions;
}

// The same, --window-s and --start. Throws std::invalid_argument.
[[nodiscard]] inline Repetitions parse_repetitions(Arguments& arguments) {
  Repetitions repetitions = parse_counts(arguments);
  repetitions.window_s = arguments.number("window-s", repetitions.window_s);
  repetitions.start = parse_start(arguments.text("start", "clock"));
  require_sensible(repetitions);
  return repetitions;
}

// One line of JSON, built field by field and printed whole.

class JsonLine {
 public:
  explicit JsonLine(const std::string& record) { add("record", record); }

  JsonLine& add(const std::string& key, const std::string& value);
  JsonLine& add(const std::string& key, const char* value) { return add(key, std::string(value)); }
  JsonLine& add(const std::string& key, double value);  // must be finite
  JsonLine& add(const std::string& key, long long value);
  JsonLine& add(const std::string& key, bool value);
  JsonLine& add(const std::string& key, const std::vector<double>& values);
  JsonLine& add(const std::string& key, const std::vector<long long>& values);
  // A value that is JSON already.
  JsonLine& add_json(const std::string& key, const std::string& json);

  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }
  void print() const;  // on stdout, flushed, so that a reader has it even if we die next

 private:
  void key(const std::string& key);
  std::string fields_;
};

// The kernels that the executable offers. Each is collective over MPI_COMM_WORLD, reads its arguments, and lets rank 0
// print JSON Lines. Wrong arguments: std::invalid_argument, on all ranks alike, before anything is sent.

void run_pingpong(Arguments& arguments);
void run_bandwidth(Arguments& arguments);
void run_one_to_all(Arguments& arguments);
void run_all_pairs(Arguments& arguments);
void run_alltoall(Arguments& arguments);
void run_ring(Arguments& arguments);
void run_transpose(Arguments& arguments);
void run_collective(Arguments& arguments);
void run_combine(Arguments& arguments);
void run_token(Arguments& arguments);
void run_loggp(Arguments& arguments);
void run_exchange(Arguments& arguments);
void run_paired(Arguments& arguments);
void run_stencil(Arguments& arguments);
void run_fft3d(Arguments& arguments);
void run_fft3d_values(Arguments& arguments);
void run_fft3d_choice(Arguments& arguments);
void run_fft3d_stages(Arguments& arguments);
void run_local_fft(Arguments& arguments);
void run_triad(Arguments& arguments);
void run_pack(Arguments& arguments);
void run_replay(Arguments& arguments);

// Where a rank really runs, read from inside the program, and putting it where it was asked to run.

// Binds this process to one CPU out of a list, by the rank that the launcher's environment names (before MPI_Init, so
// that MPI's own memory is first touched there). Does nothing for an empty list or an unknown environment.
void pin_before_init(const std::vector<long long>& cpus);

// The same by the actual rank; harmless where it has been done. Throws std::runtime_error when the system refuses.
void pin(const std::vector<long long>& cpus, int rank);

// Collective. On rank 0: a JSON list with one {rank, host, machine, pid, cpu, cpus_allowed, numa_node, memory_group,
// network_bytes, network_faults} for each rank. machine: a number that hosts which are containers or namespaces of one machine
// share; memory_group: the lowest rank that it shares memory with, by MPI; network_bytes: interface to [received, sent],
// network_faults: to [changes of its carrier, damaged packets], since the system's start.
[[nodiscard]] std::string placements_json(MPI_Comm comm);

// What the processors that this process may use have worked so far, whoever for (the hypervisor's other guests included), and
// what this process itself has, in seconds since some moment. Steps of the first are as coarse as the system counts (10 ms).
struct Work {
  double busy_s = 0.0;
  double own_s = 0.0;
};
[[nodiscard]] Work work_so_far();

// What the measuring kernels share: a list of cells, measured in the order in which they are named, each with the
// observations of the machine meanwhile.

struct Cell {
  std::string operation;
  std::size_t size_bytes = 0;
};

// What a cell gave: its samples, how many messages (or operations) one sample's time stands for, and what else to tell.
struct Outcome {
  Samples samples;
  double parts = 1.0;
  std::vector<std::pair<std::string, long long>> counts{};  // JSON keys and values
  std::vector<std::pair<std::string, double>> figures{};
};

class Cells {
 public:
  // Reads --cells operation:size,..., --budget-s, --least, --most and --seconds (of all cells together: when they are
  // spent the rest is left out, and so is a cell that will not end in time); the first --needed ones have --patience-s more,
  // where a machine is so busy that it would not come to them. Throws std::invalid_argument.
  Cells(Arguments& arguments, const std::string& fallback);

  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

  // Collective over comm: measures each cell and lets rank 0 print its `samples` record.
  void run(const std::string& kernel, MPI_Comm comm, const std::function<Outcome(const Cell&, const Sampling&)>& measure) const;

 private:
  std::vector<Cell> cells_;
  Sampling sampling_;
  double seconds_ = 0.0;
  long long needed_ = 0;
  double patience_s_ = 0.0;
};

// A number at the end of an operation's name: 64 of bandwidth-window-64 after "bandwidth-window-"; -1 where the name
// does not begin so or no number of at least 1 follows.
[[nodiscard]] long long number_after(const std::string& operation, const std::string& beginning);

}  // namespace rankwise
