// One exchange of neighbours three ways, interleaved in one run: import of a `direct` plan through the C API, the same
// messages written by hand (Irecv, Isend, Waitall), and MPI_Neighbor_alltoallv. The grid is periodic; with few ranks all
// partners may be the same rank. Blocks that a rank needs of itself are copied by the first two.
//
//   mpiexec -n 2 exchange_direct REPETITIONS GRID CUTOFF      as in: 200 2x1 1
//
// Prints a JSON line a block size, {"bytes": ..., "ours_s": [...], "by_hand_s": [...], "collective_s": [...]}: the time
// of one exchange (mean of a batch), the maximum over ranks, repetition by repetition. beside.py makes ratios.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "halo_cases.hpp"
#include "turns.hpp"

namespace {

// The slots of a full window as a plan sees them.
struct Window {
  int slots = 0;
  int own = 0;
  int rank = 0;
  std::vector<int> from;  // the rank whose block belongs in each slot
  std::vector<int> to;    // the rank that has our block at the same offset

  explicit Window(rankwise_exchange plan, MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    check(rankwise_exchange_slots(plan, &slots));
    check(rankwise_exchange_own_slot(plan, &own));
    for (int slot = 0; slot < slots; ++slot) {
      int origin = 0;
      int mirrored = 0;
      check(rankwise_exchange_slot_rank(plan, slot, &origin));
      check(rankwise_exchange_slot_rank(plan, slots - 1 - slot, &mirrored));
      from.push_back(origin);
      to.push_back(mirrored);
    }
  }
};

class ByHand {
 public:
  ByHand(const Window& window, std::byte* data, int bytes, MPI_Comm comm)
      : window_(window), data_(data), bytes_(bytes), comm_(comm), requests_(2 * static_cast<std::size_t>(window.slots)) {}

  void operator()() {
    int posted = 0;
    for (int slot = 0; slot < window_.slots; ++slot) {
      const auto s = static_cast<std::size_t>(slot);
      if (window_.from[s] == window_.rank) continue;
      MPI_Irecv(block(slot), bytes_, MPI_BYTE, window_.from[s], 0, comm_, &requests_[static_cast<std::size_t>(posted++)]);
    }
    for (int slot = 0; slot < window_.slots; ++slot) {
      const auto s = static_cast<std::size_t>(slot);
      if (window_.to[s] == window_.rank) continue;
      MPI_Isend(block(window_.own), bytes_, MPI_BYTE, window_.to[s], 0, comm_, &requests_[static_cast<std::size_t>(posted++)]);
    }
    for (int slot = 0; slot < window_.slots; ++slot) {
      if (slot == window_.own || window_.from[static_cast<std::size_t>(slot)] != window_.rank) continue;
      std::memcpy(block(slot), block(window_.own), static_cast<std::size_t>(bytes_));
    }
    MPI_Waitall(posted, requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  [[nodiscard]] std::byte* block(int slot) const {
    return data_ + static_cast<std::size_t>(slot) * static_cast<std::size_t>(bytes_);
  }
  const Window& window_;
  std::byte* data_;
  int bytes_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

class Collective {
 public:
  Collective(const Window& window, std::byte* data, int bytes, MPI_Comm comm) : data_(data) {
    std::vector<int> sources, destinations;
    for (int slot = 0; slot < window.slots; ++slot) {
      if (slot == window.own) continue;
      sources.push_back(window.from[static_cast<std::size_t>(slot)]);
      destinations.push_back(window.to[static_cast<std::size_t>(slot)]);
      counts_.push_back(bytes);
      sent_.push_back(window.own * bytes);
      received_.push_back(slot * bytes);
    }
    const int n = static_cast<int>(sources.size());
    MPI_Dist_graph_create_adjacent(comm, n, sources.data(), MPI_UNWEIGHTED, n, destinations.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph_);
  }
  ~Collective() { MPI_Comm_free(&graph_); }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  void operator()() {
    MPI_Neighbor_alltoallv(data_, counts_.data(), sent_.data(), MPI_BYTE, data_, counts_.data(), received_.data(), MPI_BYTE,
                           graph_);
  }

 private:
  std::byte* data_;
  std::vector<int> counts_, sent_, received_;
  MPI_Comm graph_ = MPI_COMM_NULL;
};

double batch_s(MPI_Comm comm, const std::function<void()>& exchange, int exchanges) {
  MPI_Barrier(comm);
  const double start_s = MPI_Wtime();
  for (int i = 0; i < exchanges; ++i) exchange();
  double each_s = (MPI_Wtime() - start_s) / exchanges;
  MPI_Allreduce(MPI_IN_PLACE, &each_s, 1, MPI_DOUBLE, MPI_MAX, comm);
  return each_s;
}

std::vector<int> parse_grid(const std::string& text) {
  std::vector<int> dims{0};
  for (const char c : text) {
    if (c == 'x') {
      dims.push_back(0);
    } else {
      dims.back() = 10 * dims.back() + (c - '0');
    }
  }
  return dims;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::vector<int> dims = parse_grid(argc > 2 ? argv[2] : "2x1");
  const std::vector<int> cutoff(dims.size(), argc > 3 ? std::atoi(argv[3]) : 1);
  const std::vector<int> periods(dims.size(), 1);
  const int ndims = static_cast<int>(dims.size());
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, ndims, dims.data(), periods.data(), 0, &cart);

  rankwise_exchange_options options;
  check(rankwise_exchange_options_default(&options));
  options.algorithm = RANKWISE_ALGORITHM_DIRECT;
  rankwise_exchange plan = nullptr;
  check(rankwise_exchange_create(cart, ndims, cutoff.data(), &options, &plan));
  const Window window(plan, cart);

  for (const int bytes : {8, 32, 128, 512, 2048, 8192, 32768, 131072, 524288, 1048576}) {
    check(rankwise_exchange_set_sizes(plan, static_cast<std::size_t>(bytes), 1));
    // All three in the same memory: where a buffer lies can matter more than who fills it.
    std::vector<std::byte> data(static_cast<std::size_t>(window.slots) * static_cast<std::size_t>(bytes));
    ByHand by_hand(window, data.data(), bytes, cart);
    Collective collective(window, data.data(), bytes, cart);
    const std::array<std::function<void()>, 3> ways{[&] {
                                                      check(rankwise_exchange_import_start(plan, data.data(), 1));
                                                      check(rankwise_exchange_import_wait(plan));
                                                    },
                                                    std::ref(by_hand), std::ref(collective)};
    constexpr double batch_length_s = 3e-4;
    const double estimate_s = batch_s(cart, ways[1], 20);
    const int exchanges = std::clamp(static_cast<int>(batch_length_s / estimate_s), 2, 1000);
    const auto times_s =
        by_turns(ways.size(), repetitions, [&](std::size_t way) { return batch_s(cart, ways[way], exchanges); });
    if (window.rank != 0) continue;
    std::printf("{\"bytes\": %d, ", bytes);
    print("ours_s", times_s[0], ", ");
    print("by_hand_s", times_s[1], ", ");
    print("collective_s", times_s[2], "}\n");
  }
  check(rankwise_exchange_destroy(&plan));
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
