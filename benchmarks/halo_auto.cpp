// Every algorithm of a halo, and what auto takes, in memory that ranks of a node share: JSON Lines for halo_auto.py.
//
// usage: halo_auto ROUNDS N,G,F ...   an exchange of F fields of boxes of N^3 doubles with a halo of G
//        halo_auto links PPN          what messages take inside a node and between nodes of PPN ranks: one way, both ways at
//                                     once, and each further one in flight
//        halo_auto setup EDGE         what it takes to set up the halo of a box, and how much memory the library holds then, of all
//                                     ranks of the process, where halo_held.cpp counts it (else 0)
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "halo_cases.hpp"
#include "turns.hpp"

namespace {

constexpr const char* names[] = {"auto", "direct", "staged", "persistent", "window", "two-step", "three-step", "leader"};

void exchange(rankwise_halo halo) {
  check(rankwise_halo_start(halo, 0, nullptr, nullptr));
  check(rankwise_halo_wait(halo));
}

double slowest(MPI_Comm comm, double time_s) {
  MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, comm);
  return time_s;
}

// What a cache line takes from rank 0 to rank 1 of a node, the least of many: cores that share a cache, or not.
double line_time(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  using Flag = std::atomic<int>;
  Flag* flags[2];
  Flag* own = nullptr;
  MPI_Win_allocate_shared(128, 1, MPI_INFO_NULL, node, &own, &window);
  own->store(0);
  MPI_Barrier(node);
  for (int r = 0; r < 2 && ranks > 1; ++r) {
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window, r, &bytes, &unit, &flags[r]);
  }
  double least_s = ranks > 1 ? 1.0 : 0.0;
  constexpr int bounces = 100;
  for (int k = 0; k < 20 && ranks > 1; ++k) {
    MPI_Barrier(node);
    const double start_s = MPI_Wtime();
    for (int i = k * bounces + 1; i <= (k + 1) * bounces && rank < 2; ++i) {
      if (rank == 0) flags[0]->store(i, std::memory_order_release);
      while (flags[1 - rank]->load(std::memory_order_acquire) < i) {
      }
      if (rank == 1) flags[1]->store(i, std::memory_order_release);
    }
    least_s = std::min(least_s, (MPI_Wtime() - start_s) / (2 * bounces));
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  return least_s;
}

void run(const Case& c, int rounds, bool node_aware, MPI_Comm cart) {
  constexpr int announced = 1000;
  int rank = 0;
  MPI_Comm_rank(cart, &rank);
  const std::size_t volume = c.volume();
  const int own[3] = {c.n, c.n, c.n};
  const int width[3] = {c.g, c.g, c.g};
  std::vector<void*> memory(static_cast<std::size_t>(c.fields));
  std::vector<rankwise_field> fields(memory.size());
  for (std::size_t f = 0; f < memory.size(); ++f) {
    check(rankwise_halo_alloc(volume * sizeof(double), &memory[f]));
    std::fill_n(static_cast<double*>(memory[f]), volume, 1.0 + rank);
    check(rankwise_field_default(&fields[f]));
    check(rankwise_field_array(&fields[f], memory[f], sizeof(double), 3, own, width, width));
  }
  rankwise_halo_options options;
  check(rankwise_halo_options_default(&options));
  std::copy(width, width + 3, options.lower);
  std::copy(width, width + 3, options.upper);
  options.exchanges = announced;
  std::vector<int> ways;
  std::vector<rankwise_halo> halos;
  for (int way = RANKWISE_HALO_DIRECT; way <= (node_aware ? RANKWISE_HALO_LEADER : RANKWISE_HALO_WINDOW); ++way) {
    options.algorithm = way;
    rankwise_halo halo = nullptr;
    if (rankwise_halo_create(cart, c.fields, fields.data(), &options, &halo) != RANKWISE_SUCCESS) continue;
    ways.push_back(way);
    halos.push_back(halo);
    exchange(halo);
  }
  // The trial, as a program would meet it; and as many first exchanges of a new plan that takes the same without a trial.
  char text[4096];
  const auto first_exchanges = [&](rankwise_halo halo, int most) {
    double time_s = 0.0;
    int made = 0;
    MPI_Barrier(cart);
    do {
      const double start_s = MPI_Wtime();
      exchange(halo);
      time_s += MPI_Wtime() - start_s;
      check(rankwise_halo_explain(halo, text, sizeof text, nullptr));
    } while (++made < most && (most < announced || std::strstr(text, "to be tried") != nullptr));
    return std::pair(slowest(cart, time_s), made);
  };
  const auto create = [&](int algorithm) {
    options.algorithm = algorithm;
    rankwise_halo halo = nullptr;
    check(rankwise_halo_create(cart, c.fields, fields.data(), &options, &halo));
    return halo;
  };
  rankwise_halo chosen = nullptr;
  std::string taken;
  std::vector<double> costs_s;  // of several trials: of a single one something else may take the processor
  for (int repeat = 0; repeat < (node_aware ? 1 : 5); ++repeat) {
    rankwise_halo halo = create(RANKWISE_HALO_AUTO);
    const auto [trial_s, tried] = first_exchanges(halo, announced);
    int found = 0;
    for (const int way : ways) {
      if (std::strstr(text, (std::string(": ") + names[way] + ";").c_str()) != nullptr) found = way;
    }
    rankwise_halo fresh = create(found);
    costs_s.push_back(trial_s - first_exchanges(fresh, tried).first);
    check(rankwise_halo_destroy(&fresh));
    if (repeat > 0) {
      check(rankwise_halo_destroy(&halo));
      continue;
    }
    chosen = halo;
    taken = names[found];
  }
  std::sort(costs_s.begin(), costs_s.end());
  halos.push_back(chosen);
  std::vector<std::vector<double>> times(halos.size());
  const std::size_t cells = volume * static_cast<std::size_t>(c.fields);
  const int batch = node_aware ? 2 : std::max(2, static_cast<int>(600000 / (cells / 4 + 2000)));
  for (int r = 0; r < rounds; ++r) {
    for (std::size_t k = 0; k < halos.size(); ++k) {
      const std::size_t way = r % 2 == 0 ? k : halos.size() - 1 - k;
      MPI_Barrier(cart);
      exchange(halos[way]);
      const double start_s = MPI_Wtime();
      for (int i = 0; i < batch; ++i) exchange(halos[way]);
      times[way].push_back(slowest(cart, (MPI_Wtime() - start_s) / batch));
    }
  }
  const double line_s = node_aware ? 0.0 : line_time(cart);
  if (rank == 0) {
    std::printf("{\"n\": %d, \"g\": %d, \"f\": %d, \"taken\": \"%s\", \"cost_s\": %.9g, \"announced\": %d, \"line_s\": %.9g, ",
                c.n, c.g, c.fields, taken.c_str(), costs_s[costs_s.size() / 2], announced, line_s);
    for (std::size_t way = 0; way < ways.size(); ++way) print(names[ways[way]], times[way], ", ");
    print("auto", times.back(), "}\n");
    std::fflush(stdout);
  }
  for (rankwise_halo& halo : halos) check(rankwise_halo_destroy(&halo));
  for (void*& each : memory) check(rankwise_halo_free(&each));
}

// Both ranks send so many messages of a size to each other at once: the time until all have come, mean of a few.
double swap(int partner, int size_bytes, int messages) {
  constexpr int repeats = 5;
  std::vector<char> out(static_cast<std::size_t>(size_bytes) + 1);
  std::vector<std::vector<char>> in(static_cast<std::size_t>(messages), out);
  std::vector<MPI_Request> requests;
  MPI_Sendrecv(nullptr, 0, MPI_CHAR, partner, 0, nullptr, 0, MPI_CHAR, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double start_s = MPI_Wtime();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    requests.assign(2 * in.size(), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < in.size(); ++i)
      MPI_Irecv(in[i].data(), size_bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD, &requests[i]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      MPI_Isend(out.data(), size_bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD, &requests[in.size() + i]);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  return (MPI_Wtime() - start_s) / repeats;
}

double bounce(int partner, int size_bytes, bool first) {
  constexpr int repeats = 5;
  std::vector<char> data(static_cast<std::size_t>(size_bytes) + 1);
  const double start_s = MPI_Wtime();
  for (int turn = 0; turn < 2 * repeats; ++turn) {
    if ((turn % 2 == 0) == first) {
      MPI_Send(data.data(), size_bytes, MPI_CHAR, partner, 2, MPI_COMM_WORLD);
    } else {
      MPI_Recv(data.data(), size_bytes, MPI_CHAR, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  return (MPI_Wtime() - start_s) / (2 * repeats);
}

// Rank 0 with rank 1, a rank of its node, and with the first one of the next.
int links(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int next = std::atoi(argv[2]);
  for (const int partner : {1, next}) {
    for (int size_bytes = 0; size_bytes <= 1 << 20; size_bytes = size_bytes == 0 ? 64 : 2 * size_bytes) {
      if (rank == 0 || rank == partner) {
        constexpr int many = 9;
        const int other = partner - rank;
        const double send_s = bounce(other, size_bytes, rank == 0);
        const double one_s = swap(other, size_bytes, 1);
        const double further_s = std::max(0.0, swap(other, size_bytes, many) - one_s) / (many - 1);
        if (rank == 0) {
          std::printf("{\"class\": \"%s\", \"size_bytes\": %d, \"send\": %.9g, \"exchange\": %.9g, \"exchange-gap\": %.9g}\n",
                      partner == next ? "other-node" : "same-socket", size_bytes, send_s, one_s, further_s);
        }
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

int setup(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm cart = periodic_grid();
  const Case c{std::atoi(argv[2]), 1, 1};
  const int own[3] = {c.n, c.n, c.n};
  const int width[3] = {c.g, c.g, c.g};
  std::vector<double> array(c.volume());
  rankwise_field field;
  check(rankwise_field_default(&field));
  check(rankwise_field_array(&field, array.data(), sizeof(double), 3, own, width, width));
  auto* const held_bytes = reinterpret_cast<std::int64_t (*)()>(dlsym(RTLD_DEFAULT, "rankwise_held_bytes"));
  const auto held = [&] { return held_bytes == nullptr ? 0 : held_bytes(); };
  for (const int algorithm :
       {RANKWISE_HALO_DIRECT, RANKWISE_HALO_STAGED, RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP, RANKWISE_HALO_AUTO}) {
    rankwise_halo_options options;
    check(rankwise_halo_options_default(&options));
    options.algorithm = algorithm;
    MPI_Barrier(cart);
    const std::int64_t before = held();
    MPI_Barrier(cart);
    const double start_s = MPI_Wtime();
    rankwise_halo halo = nullptr;
    check(rankwise_halo_create(cart, 1, &field, &options, &halo));
    const double took_s = slowest(cart, MPI_Wtime() - start_s);
    const std::int64_t after = held();
    MPI_Barrier(cart);
    if (rank == 0) {
      std::printf("{\"ranks\": %d, \"algorithm\": \"%s\", \"create_s\": %.4g, \"memory_bytes\": %lld}\n", ranks,
                  names[algorithm], took_s, static_cast<long long>(after - before));
    }
    check(rankwise_halo_destroy(&halo));
  }
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "setup") == 0) return setup(argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "links") == 0) return links(argc, argv);
  const bool node_aware = std::getenv("NODE_AWARE") != nullptr;
  return run_cases(argc, argv, [&](const Case& c, int rounds, MPI_Comm cart) { run(c, rounds, node_aware, cart); });
}
