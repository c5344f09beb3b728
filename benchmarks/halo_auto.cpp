// Every algorithm of a halo, and what auto takes, in memory that ranks of a node share: JSON Lines for halo_auto.py.
//
// usage: halo_auto ROUNDS N,G,F ...   an exchange of F fields of boxes of N^3 doubles with a halo of G
#include <mpi.h>

#include <algorithm>
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
  options.algorithm = RANKWISE_HALO_AUTO;
  rankwise_halo chosen = nullptr;
  check(rankwise_halo_create(cart, c.fields, fields.data(), &options, &chosen));
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
  const auto [trial_s, tried] = first_exchanges(chosen, announced);
  std::string taken;
  for (const int way : ways) {
    if (std::strstr(text, (std::string(": ") + names[way] + ";").c_str()) != nullptr) taken = names[way];
  }
  options.algorithm = static_cast<int>(std::find(names, names + 8, taken) - names);
  rankwise_halo fresh = nullptr;
  check(rankwise_halo_create(cart, c.fields, fields.data(), &options, &fresh));
  const double fresh_s = first_exchanges(fresh, tried).first;
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
    std::printf("{\"n\": %d, \"g\": %d, \"f\": %d, \"taken\": \"%s\", \"trial_s\": %.9g, \"fresh_s\": %.9g, \"tried\": %d, \"announced\": %d",
                c.n, c.g, c.fields, taken.c_str(), trial_s, fresh_s, tried, announced);
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
