// Streams between all pairs of ranks, or between those that are named. --rounds holds rounds of the circle method (numbers)
// and rounds of named pairs (0-3+1-2), in the order in which they are streamed; --order who stands where on the circle.
// Of each round rank 0 prints a `round` record, with each rank's partner and processors, and a `samples` record for each size:
// the times of senders, rank by rank, repeat by repeat.
#include "measure/all_pairs.hpp"

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "kernels/json_line.hpp"
#include "kernels/kernels.hpp"
#include "kernels/witness.hpp"

namespace rankwise {

namespace {

std::vector<int> named_pairs(const std::string& text, int ranks) {
  std::vector<int> partner(static_cast<std::size_t>(ranks), nobody);
  for (const std::string& pair : split(text, '+')) {
    const std::vector<std::string> ends = split(pair, '-');
    const long long a = to_integer(ends.front(), "rank of a pair");
    const long long b = to_integer(ends.back(), "rank of a pair");
    if (ends.size() != 2 || a == b || std::min(a, b) < 0 || std::max(a, b) >= ranks ||
        partner[static_cast<std::size_t>(a)] != nobody || partner[static_cast<std::size_t>(b)] != nobody) {
      throw std::invalid_argument("round '" + text + "' is not one of disjoint pairs of the " + std::to_string(ranks) +
                                  " ranks");
    }
    partner[static_cast<std::size_t>(a)] = static_cast<int>(b);
    partner[static_cast<std::size_t>(b)] = static_cast<int>(a);
  }
  return partner;
}

std::vector<StreamShape> shapes_of(Arguments& arguments) {
  const std::vector<long long> sizes = arguments.integers("sizes", "8,1000000");
  const std::vector<long long> messages = arguments.integers("messages", "");
  const std::vector<long long> repeats = arguments.integers("repeats", "");
  std::vector<StreamShape> shapes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > (1LL << 27)) throw std::invalid_argument("--sizes must be 0 to 128 MiB");
    const auto given = [i](const std::vector<long long>& values) {
      if (values.empty()) return 0;
      if (i >= values.size() || values[i] < 1 || values[i] > 20) {
        throw std::invalid_argument("--messages and --repeats must be 1 to 20, one for each size");
      }
      return static_cast<int>(values[i]);
    };
    shapes.push_back({static_cast<std::size_t>(sizes[i]), given(messages), given(repeats)});
  }
  return shapes;
}

// The doubles of all ranks, rank by rank; on rank 0.
std::vector<double> gathered(const std::vector<double>& own, int ranks) {
  std::vector<double> all(own.size() * static_cast<std::size_t>(ranks));
  const int count = static_cast<int>(own.size());
  MPI_Gather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

std::vector<double> every(const std::vector<double>& values, std::size_t step, std::size_t first) {
  std::vector<double> chosen;
  for (std::size_t i = first; i < values.size(); i += step) chosen.push_back(values[i]);
  return chosen;
}

}  // namespace

void run_all_pairs(Arguments& arguments) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<long long> order = arguments.integers("order", "");
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0LL);
  }
  if (ranks < 2 || order.size() != static_cast<std::size_t>(ranks)) {
    throw std::invalid_argument("--order must hold each of two or more ranks once");
  }
  std::vector<std::vector<int>> rounds;
  for (const std::string& text : arguments.list("rounds", "0")) {
    rounds.push_back(text.find('-') == std::string::npos ? circle_partners(order, to_integer(text, "round"))
                                                         : named_pairs(text, ranks));
  }
  PairStreams streams(MPI_COMM_WORLD, shapes_of(arguments));
  const double stream_s = arguments.number("stream-s", 0.02);
  arguments.expect_all_used();

  const auto me = static_cast<std::size_t>(rank);
  streams.find_shapes(rounds.front()[me], stream_s);
  Work before = work_so_far();
  double begun_s = MPI_Wtime();
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    const std::vector<int>& partner = rounds[number];
    const std::vector<double> times_s = gathered(streams.round(partner[me]), ranks);
    // At one moment everywhere: ranks on one machine are told apart by their own work.
    MPI_Barrier(MPI_COMM_WORLD);
    const Work after = work_so_far();
    const double ended_s = MPI_Wtime();
    const std::vector<double> work =
        gathered({ended_s - begun_s, after.busy_s - before.busy_s, after.own_s - before.own_s}, ranks);
    before = after;
    begun_s = ended_s;
    int verified = streams.verified() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &verified, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank != 0) continue;
    JsonLine("round")
        .add("round", static_cast<long long>(number))
        .add("partner", std::vector<long long>(partner.begin(), partner.end()))
        .add("seconds", every(work, 3, 0))
        .add("busy_s", every(work, 3, 1))
        .add("own_s", every(work, 3, 2))
        .print();
    const std::size_t each = times_s.size() / static_cast<std::size_t>(ranks);
    std::size_t first = 0;
    for (const StreamShape& shape : streams.shapes()) {
      std::vector<double> of_size;
      for (std::size_t sender = 0; sender < partner.size(); ++sender) {
        if (partner[sender] == nobody) continue;
        const auto begin = times_s.begin() + static_cast<std::ptrdiff_t>(sender * each + first);
        of_size.insert(of_size.end(), begin, begin + shape.repeats);
      }
      first += static_cast<std::size_t>(shape.repeats);
      JsonLine("samples")
          .add("kernel", "all-pairs")
          .add("operation", "all-pairs")
          .add("size_bytes", static_cast<long long>(shape.size_bytes))
          .add("round", static_cast<long long>(number))
          .add("messages", static_cast<long long>(shape.messages))
          .add("repeats", static_cast<long long>(shape.repeats))
          .add("verified", verified == 1)
          .add("time_s", of_size)
          .print();
    }
  }
}

}  // namespace rankwise
