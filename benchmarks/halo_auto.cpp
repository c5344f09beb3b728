// Every algorithm of a halo, and what auto takes, in memory that ranks of a node share: JSON Lines for halo_auto.py.
//
// usage: halo_auto ROUNDS N,G,F ...   an exchange of F fields of boxes of N^3 doubles with a halo of G
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "halo_cases.hpp"

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

void run(const Case& c, int rounds, bool relays, MPI_Comm cart) {
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
  for (int way = RANKWISE_HALO_DIRECT; way <= (relays ? RANKWISE_HALO_LEADER : RANKWISE_HALO_WINDOW); ++way) {
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
  for (int repeat = 0; repeat < (relays ? 1 : 5); ++repeat) {
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
  const int batch = relays ? 2 : std::max(2, static_cast<int>(600000 / (cells / 4 + 2000)));
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
  const double line_s = relays ? 0.0 : line_time(cart);
  if (rank == 0) {
    std::printf("{\"n\": %d, \"g\": %d, \"f\": %d, \"taken\": \"%s\", \"cost_s\": %.9g, \"announced\": %d, \"line_s\": %.9g", c.n, c.g,
                c.fields, taken.c_str(), costs_s[costs_s.size() / 2], announced, line_s);
    for (std::size_t way = 0; way < halos.size(); ++way) {
      std::printf(", \"%s\": [", way < ways.size() ? names[ways[way]] : "auto");
      for (std::size_t i = 0; i < times[way].size(); ++i) std::printf("%s%.9g", i > 0 ? ", " : "", times[way][i]);
      std::printf("]");
    }
    std::printf("}\n");
    std::fflush(stdout);
  }
  for (rankwise_halo& halo : halos) check(rankwise_halo_destroy(&halo));
  for (void*& each : memory) check(rankwise_halo_free(&each));
}

}  // namespace

int main(int argc, char** argv) {
  const bool relays = std::getenv("RELAYS") != nullptr;
  return run_cases(argc, argv, [&](const Case& c, int rounds, MPI_Comm cart) { run(c, rounds, relays, cart); });
}
