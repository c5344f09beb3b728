// Every algorithm of a halo, and what auto takes, in memory that ranks of a node share: JSON Lines for halo_auto.py.
//
// usage: halo_auto ROUNDS N,G,F ...   an exchange of F fields of boxes of N^3 doubles with a halo of G
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "rankwise/rankwise.h"

namespace {

void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  std::fprintf(stderr, "%s\n", rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

constexpr const char* names[] = {"auto", "direct", "staged", "persistent", "window", "two-step", "three-step", "leader"};

struct Case {
  int n, g, fields;
};

void exchange(rankwise_halo halo) {
  check(rankwise_halo_start(halo, 0, nullptr, nullptr));
  check(rankwise_halo_wait(halo));
}

double slowest(MPI_Comm comm, double time_s) {
  MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, comm);
  return time_s;
}

void run(const Case& c, int rounds, bool relays, MPI_Comm cart) {
  constexpr int announced = 1000;
  int rank = 0;
  MPI_Comm_rank(cart, &rank);
  const auto whole = static_cast<std::size_t>(c.n + 2 * c.g);
  const std::size_t volume = whole * whole * whole;
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
  options.algorithm = RANKWISE_HALO_AUTO;
  rankwise_halo chosen = nullptr;
  check(rankwise_halo_create(cart, c.fields, fields.data(), &options, &chosen));
  // The trial, as a program would meet it; and as many first exchanges of a new plan that takes the same without a trial.
  const auto first_exchanges = [&](rankwise_halo halo) {
    MPI_Barrier(cart);
    const double start_s = MPI_Wtime();
    for (int i = 0; i <= announced / 100; ++i) exchange(halo);
    return slowest(cart, MPI_Wtime() - start_s);
  };
  const double trial_s = first_exchanges(chosen);
  char text[4096];
  check(rankwise_halo_explain(chosen, text, sizeof text, nullptr));
  std::string taken;
  for (const int way : ways) {
    if (std::strstr(text, (std::string(": ") + names[way] + ";").c_str()) != nullptr) taken = names[way];
  }
  options.algorithm = static_cast<int>(std::find(names, names + 8, taken) - names);
  rankwise_halo fresh = nullptr;
  check(rankwise_halo_create(cart, c.fields, fields.data(), &options, &fresh));
  const double fresh_s = first_exchanges(fresh);
  check(rankwise_halo_destroy(&fresh));
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
  if (rank == 0) {
    std::printf("{\"n\": %d, \"g\": %d, \"f\": %d, \"taken\": \"%s\", \"trial_s\": %.9g, \"fresh_s\": %.9g, \"announced\": %d",
                c.n, c.g, c.fields, taken.c_str(), trial_s, fresh_s, announced);
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
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int dims[3] = {0, 0, 0};
  const int periods[3] = {1, 1, 1};
  MPI_Dims_create(ranks, 3, dims);
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
  const bool relays = std::getenv("RELAYS") != nullptr;
  for (int i = 2; i < argc; ++i) {
    Case c{};
    if (std::sscanf(argv[i], "%d,%d,%d", &c.n, &c.g, &c.fields) != 3 || c.g < 1 || c.n < c.g || c.fields < 1) {
      std::fprintf(stderr, "usage: halo_auto ROUNDS N,G,F ...\n");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    run(c, std::atoi(argv[1]), relays, cart);
  }
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
